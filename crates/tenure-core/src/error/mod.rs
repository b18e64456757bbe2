//! What can go wrong above the device.

mod awaited;
mod descriptors;
mod graph;
mod kind;
mod rules;

pub use awaited::Awaited;
pub use descriptors::{DescriptorPart, DescriptorUser, NoDescriptors};
pub use graph::GraphError;
pub use kind::ErrorKind;
pub use rules::{ContractRule, QueryRule, StructureRule, SwapchainRule, TileRule, TransientRule};

use std::fmt;

use tenure_heap::{Answer, Answers, InvalidProperties};

use crate::device::{DeviceError, HeapBudget, QueueId, State};
use crate::memory::{Class, MemoryUse};
use crate::state::StateError;
use crate::time::RecordingId;
use crate::{ConfigError, Name};

/// No memory could be found for a resource, after every step of the fallback chain of
/// [`memory`](crate::memory).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "out of memory for {name}: {size} B aligned to {alignment} in {class} (heap budget {} B, used {} B; largest free \
     range of the pool {largest_free} B; tried: {}){}",
    budget.budget, budget.usage, Answers(answers), PendingText { bytes: *pending_bytes, recordings: open_recordings }
)]
#[non_exhaustive]
pub struct OutOfMemory {
    /// The resource.
    pub name: Name,
    /// Bytes asked for.
    pub size: u64,
    /// Bytes.
    pub alignment: u64,
    /// The class of memory that was preferred.
    pub class: Class,
    /// What the OS grants and counts for that memory's heap.
    pub budget: HeapBudget,
    /// Bytes of the largest free range in the pool of that class.
    pub largest_free: u64,
    /// What each step was answered in each memory type, in order.
    pub answers: Vec<Answer<DeviceError>>,
    /// Bytes of what was dropped and not given back yet: the GPU may still use it, or an open recording.
    pub pending_bytes: u64,
    /// The recordings that are open, and hold back what was dropped since they were opened; the oldest
    /// [`MOST_NAMED`](Self::MOST_NAMED).
    pub open_recordings: Vec<Name>,
}

impl OutOfMemory {
    /// The most open recordings that are named.
    pub const MOST_NAMED: usize = 8;

    /// The last refusal.
    #[must_use]
    pub fn refusal(&self) -> Option<&DeviceError> {
        self.answers.last().map(|answer| &answer.refusal)
    }
}

/// What is said of memory that was dropped and not given back.
struct PendingText<'a> {
    bytes: u64,
    recordings: &'a [Name],
}

impl fmt::Display for PendingText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, recordings } = self;
        match recordings {
            _ if *bytes == 0 => Ok(()),
            [] => write!(f, "; {bytes} B were dropped, and the GPU has not finished with them"),
            [first, rest @ ..] => {
                write!(f, "; {bytes} B were dropped, and wait for the GPU or for open recordings: {first}")?;
                rest.iter().try_for_each(|name| write!(f, ", {name}"))
            }
        }
    }
}

/// Why a call of [`Gpu`](crate::Gpu) failed. A failed call changes nothing.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A field of the configuration is out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No memory.
    #[error(transparent)]
    OutOfMemory(Box<OutOfMemory>),
    /// No descriptors.
    #[error(transparent)]
    NoDescriptors(Box<NoDescriptors>),
    /// The device refused, or is lost.
    #[error("{name}: {source}")]
    Device {
        /// The object concerned; empty when it is the device as a whole.
        name: Name,
        /// The device's answer.
        source: DeviceError,
    },
    /// A resource cannot be used in the state asked for.
    #[error("{name}: {source}")]
    State {
        /// The resource.
        name: Name,
        /// The rule that it breaks.
        source: StateError,
    },
    /// An access outside a resource.
    #[error("{name}: {size} B at {offset} are outside its {capacity} B")]
    OutOfRange {
        /// The resource.
        name: Name,
        /// First byte of the access.
        offset: u64,
        /// Bytes of the access.
        size: u64,
        /// Bytes of the resource.
        capacity: u64,
    },
    /// A slice of the program's own memory has too few bytes, or another number than is there to read.
    #[error("{name}: {given} B were given, {needed} B are needed")]
    WrongLength {
        /// What they are for.
        name: Name,
        /// Bytes that are needed.
        needed: u64,
        /// Bytes of the slice.
        given: u64,
    },
    /// The CPU cannot reach the resource's memory.
    #[error(
        "{name}: not mapped: the CPU writes buffers in Upload or GpuUpload memory, and reads those in Readback memory"
    )]
    NotMapped {
        /// The resource.
        name: Name,
    },
    /// The GPU did not finish in time.
    #[error("{what} within {waited_ms} ms")]
    Timeout {
        /// What was waited for.
        what: Awaited,
        /// Milliseconds waited.
        waited_ms: u64,
    },
    /// As many frames as may be in flight have begun and not ended.
    #[error(
        "{open} frames have begun and not ended, and no more than {limit} may be in flight: end one, or raise \
         FrameConfig::in_flight"
    )]
    TooManyFrames {
        /// Frames begun and not ended.
        open: u32,
        /// [`FrameConfig::in_flight`](crate::FrameConfig::in_flight).
        limit: u32,
    },
    /// Something waits for a submission that was never made, and would wait for ever.
    #[error(
        "serial {serial} of queue {} was never submitted (the newest is {newest}), and a wait for it would never end", queue.0
    )]
    NeverSubmitted {
        /// The queue.
        queue: QueueId,
        /// The serial.
        serial: u64,
        /// The newest serial submitted.
        newest: u64,
    },
    /// A device that has a manager already, or handles of one that is gone.
    #[error(
        "the device has a Gpu, or handles of one that is gone: it can have one at a time, which counts its submissions; \
         drop that one and its handles first"
    )]
    DeviceInUse,
    /// Something was to be created, begun, recorded or uploaded after [`Gpu::shutdown`](crate::Gpu::shutdown).
    #[error("the Gpu was shut down: it creates, records and uploads nothing any more")]
    ShutDown,
    /// A resource, a recording, an upload or a sync point of another manager.
    #[error("{name}: belongs to another Gpu, and can be used with that one alone")]
    Foreign {
        /// What it is.
        name: Name,
    },
    /// Queries of a recording that do not begin and end in pairs.
    #[error("{recording} ({id}): {rule}")]
    Query {
        /// The recording.
        recording: Name,
        /// Its number.
        id: RecordingId,
        /// The rule that it breaks.
        rule: QueryRule,
    },
    /// The recording that was to read bytes back was not submitted.
    #[error("{name}: not read back, because recording {recording} was dropped and not submitted")]
    Discarded {
        /// What was to be read.
        name: Name,
        /// The recording.
        recording: Name,
    },
    /// More than an upload ring could ever hold.
    #[error(
        "{name}: {size} B never fit into its {capacity} B: create a larger ring, or one with WhenTooLarge::Dedicate"
    )]
    TooLarge {
        /// The ring.
        name: Name,
        /// Bytes asked for.
        size: u64,
        /// Bytes of the ring.
        capacity: u64,
    },
    /// What keeps an upload ring full may be used by a recording that is still open.
    #[error(
        "{name}: no room for {size} B: {used} of its {capacity} B are in use, and recording {recording}, open since \
         frame {frame}, may use the oldest of them: submit or drop it"
    )]
    HeldByRecording {
        /// The ring.
        name: Name,
        /// Bytes asked for.
        size: u64,
        /// Bytes in use.
        used: u64,
        /// Bytes of the ring.
        capacity: u64,
        /// The recording that has been open for longest.
        recording: Name,
        /// The frame in which it was opened.
        frame: u64,
    },
    /// What one recording was given is used in another.
    #[error(
        "constants of recording {name} ({id}) are used in recording {used_name} ({used_id}): make them in the recording \
         that uses them"
    )]
    OtherRecording {
        /// The recording that they were made for.
        name: Name,
        /// Its number.
        id: RecordingId,
        /// The recording that they are used in.
        used_name: Name,
        /// Its number.
        used_id: RecordingId,
    },
    /// A transient resource is used in a recording that may be submitted before the one that acquired it.
    #[error(
        "{name}: acquired in recording #{acquired_by}, which is still open, and used in recording {recording} ({id}): submit \
         the former first"
    )]
    NotAcquired {
        /// The resource.
        name: Name,
        /// The number of the recording in which it was acquired.
        acquired_by: u64,
        /// The recording in which it was used.
        recording: Name,
        /// Its number.
        id: RecordingId,
    },
    /// A declared graph is wrong, or cannot be planned.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A transient resource in a call that only lasting ones allow.
    #[error("{name}: {rule}")]
    Transient {
        /// The resource.
        name: Name,
        /// The rule that it breaks.
        rule: TransientRule,
    },
    /// A call of a swap chain, or with an image of one, breaks a rule.
    #[error("{name}: {rule}")]
    Swapchain {
        /// The swap chain, or the image.
        name: Name,
        /// The rule that it breaks.
        rule: SwapchainRule,
    },
    /// A copy of an acceleration structure breaks a rule.
    #[error("{name}: {rule}")]
    AccelerationStructure {
        /// The destination, or the source where there is none yet.
        name: Name,
        /// The rule that it breaks.
        rule: StructureRule,
    },
    /// The memory of a mapped buffer fixes its state on this API.
    #[error(
        "{name}: a buffer in {memory:?} memory cannot be in the state {state}{}",
        if state.is_write() && !matches!(memory, MemoryUse::Readback) { ": the CPU fills it, with write()" } else { "" }
    )]
    FixedState {
        /// The buffer.
        name: Name,
        /// Who reads and writes it.
        memory: MemoryUse,
        /// The state asked for.
        state: State,
    },
    /// The device's tables contradict the contract, for example no memory type at all.
    #[error("the device breaks the contract: {rule}")]
    Contract {
        /// The rule.
        rule: ContractRule,
    },
    /// Tables of tenure's own contradict each other: a bug to be reported.
    #[error("a bug of tenure, please report it: {what}")]
    Internal {
        /// What was found.
        what: &'static str,
    },
    /// A tile of a reserved resource or of a tile pool that does not exist, or is not free.
    #[error("{name}: {rule}")]
    Tiles {
        /// The resource.
        name: Name,
        /// The rule that it breaks.
        rule: TileRule,
    },
}

impl Error {
    pub(crate) fn device(name: &Name, source: DeviceError) -> Self {
        Self::Device { name: name.clone(), source }
    }

    /// Names the recording in an error of nothing in particular.
    pub(crate) fn named(self, recording: &Name) -> Self {
        match self {
            Self::Device { name, source } if name.is_empty() => {
                Self::Device { name: recording.clone(), source }
            }
            Self::State { name, source } if name.is_empty() => {
                Self::State { name: recording.clone(), source }
            }
            other => other,
        }
    }

    /// True once the device is lost: nothing works any more.
    #[must_use]
    pub const fn is_device_lost(&self) -> bool {
        matches!(self, Self::Device { source: DeviceError::Lost { .. }, .. })
    }
}

impl From<DeviceError> for Error {
    fn from(source: DeviceError) -> Self {
        Self::Device { name: Name::default(), source }
    }
}

impl From<InvalidProperties> for Error {
    fn from(invalid: InvalidProperties) -> Self {
        Self::Contract { rule: invalid.into() }
    }
}
