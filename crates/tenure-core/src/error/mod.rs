//! Errors above the device.

mod awaited;
mod descriptors;
mod kind;
mod rules;

pub use awaited::Awaited;
pub use descriptors::{DescriptorPart, DescriptorUser, NoDescriptors};
pub use kind::ErrorKind;
pub use rules::{ContractRule, QueryRule, StructureRule, SwapchainRule, TileRule, TransientRule};

use std::fmt;

use tenure_heap::{Answer, Answers, InvalidProperties};

use crate::device::{DeviceError, HeapBudget, QueueId, State};
use crate::memory::{Class, MemoryUse};
use crate::state::StateError;
use crate::time::{RecordingId, SyncPoint};
use crate::{ConfigError, Name};

/// An error in the declaration of a graph; see [`tenure_graph::GraphError`].
pub type GraphError = tenure_graph::GraphError<MemoryUse>;

/// No memory was found for a resource, after every step of the fallback chain of [`memory`](crate::memory).
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
    /// Bytes requested.
    pub size: u64,
    /// Requested alignment, in bytes.
    pub alignment: u64,
    /// The preferred class of memory.
    pub class: Class,
    /// Budget and usage of that memory's heap, as reported by the OS.
    pub budget: HeapBudget,
    /// Bytes of the largest free range in the pool of that class.
    pub largest_free: u64,
    /// The result of each step in each memory type, in order.
    pub answers: Vec<Answer<DeviceError>>,
    /// Bytes of dropped objects that were not freed yet, because the GPU or an open recording may still use
    /// them.
    pub pending_bytes: u64,
    /// The open recordings that delay the release of objects dropped since they were opened: the oldest
    /// [`MOST_NAMED`](Self::MOST_NAMED).
    pub open_recordings: Vec<Name>,
}

impl OutOfMemory {
    /// Maximum number of named open recordings.
    pub const MOST_NAMED: usize = 8;

    /// The last refusal.
    #[must_use]
    pub fn refusal(&self) -> Option<&DeviceError> {
        self.answers.last().map(|answer| &answer.refusal)
    }
}

/// The error of [`Frame::submit_all`](crate::Frame::submit_all), which submitted only some recordings, or none. The others were
/// discarded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{error}; {} of {} recordings were submitted", self.submitted(), points.len())]
#[non_exhaustive]
pub struct SubmitAllError {
    /// The first error, which names its recording.
    #[source]
    pub error: Error,
    /// The sync point of each recording, in the given order; [`SyncPoint::NONE`] for a discarded one.
    pub points: Vec<SyncPoint>,
}

impl SubmitAllError {
    /// The number of recordings that were submitted.
    #[must_use]
    pub fn submitted(&self) -> usize {
        self.points.iter().filter(|point| **point != SyncPoint::NONE).count()
    }
}

impl From<SubmitAllError> for Error {
    fn from(all: SubmitAllError) -> Self {
        all.error
    }
}

/// The part of the message about dropped memory that was not freed yet.
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

/// The reason for a failed call of [`Gpu`](crate::Gpu). A failed call changes nothing.
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
        /// The object concerned; empty for the device as a whole.
        name: Name,
        /// The error of the device.
        source: DeviceError,
    },
    /// A resource cannot be used in the requested state.
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
    /// A slice of the program's memory is too short, or differs in length from the bytes to read.
    #[error("{name}: {given} B were given, {needed} B are needed")]
    WrongLength {
        /// The object of the read or write.
        name: Name,
        /// The required number of bytes.
        needed: u64,
        /// Bytes of the slice.
        given: u64,
    },
    /// The resource's memory is not mapped for the CPU.
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
        /// The target of the wait.
        what: Awaited,
        /// Milliseconds waited.
        waited_ms: u64,
    },
    /// The maximum number of frames is already in flight.
    #[error(
        "{open} frames are open, and no more than {limit} may be in flight: end one, or raise \
         the setting frames.in_flight"
    )]
    TooManyFrames {
        /// Frames begun and not ended.
        open: u32,
        /// [`FrameConfig::in_flight`](crate::FrameConfig::in_flight).
        limit: u32,
    },
    /// A wait for a submission that was never made, which would not end.
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
    /// The device already has a manager, or live handles of an earlier one.
    #[error("the device already has a Gpu, or live handles of an earlier one: drop them first")]
    DeviceInUse,
    /// An object was created, begun, recorded or uploaded after [`Gpu::shutdown`](crate::Gpu::shutdown).
    #[error("the Gpu was shut down: it no longer creates, records or uploads")]
    ShutDown,
    /// A resource, a recording, an upload or a sync point of another manager.
    #[error("{name}: belongs to a different Gpu")]
    Foreign {
        /// The object.
        name: Name,
    },
    /// The queries of a recording are not properly begun and ended.
    #[error("{recording} ({id}): {rule}")]
    Query {
        /// The recording.
        recording: Name,
        /// The number.
        id: RecordingId,
        /// The rule that it breaks.
        rule: QueryRule,
    },
    /// The recording that should read bytes back was not submitted.
    #[error("{name}: not read back, because recording {recording} was dropped and not submitted")]
    Discarded {
        /// The resource to read.
        name: Name,
        /// The recording.
        recording: Name,
    },
    /// A request larger than an upload ring.
    #[error(
        "{name}: {size} B never fit into its {capacity} B: create a larger ring, or one with WhenTooLarge::Dedicate"
    )]
    TooLarge {
        /// The ring.
        name: Name,
        /// Bytes requested.
        size: u64,
        /// Bytes of the ring.
        capacity: u64,
    },
    /// An upload ring is full, and an open recording may use its oldest bytes.
    #[error(
        "{name}: no room for {size} B: {used} of its {capacity} B are in use, and recording {recording}, open since \
         frame {frame}, may use the oldest of them: submit or drop it"
    )]
    HeldByRecording {
        /// The ring.
        name: Name,
        /// Bytes requested.
        size: u64,
        /// Bytes in use.
        used: u64,
        /// Bytes of the ring.
        capacity: u64,
        /// The recording that has been open for the longest time.
        recording: Name,
        /// The frame in which it was opened.
        frame: u64,
    },
    /// Constants, descriptors or slices of one recording are used in another.
    #[error(
        "constants or slices of recording {name} ({id}) are used in recording {used_name} ({used_id}): make them in \
         the recording that uses them"
    )]
    OtherRecording {
        /// The recording for which they were made.
        name: Name,
        /// The number.
        id: RecordingId,
        /// The recording that uses them.
        used_name: Name,
        /// The number.
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
        /// The number of the recording that acquired it.
        acquired_by: u64,
        /// The recording that uses it.
        recording: Name,
        /// The number.
        id: RecordingId,
    },
    /// A declared graph is invalid, or cannot be planned.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A transient resource was passed to a call that accepts only lasting ones.
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
        /// CPU and GPU access to its memory.
        memory: MemoryUse,
        /// The requested state.
        state: State,
    },
    /// The device's tables contradict the contract, for example no memory type at all.
    #[error("the device breaks the contract: {rule}")]
    Contract {
        /// The rule.
        rule: ContractRule,
    },
    /// Internal tables of tenure contradict each other: a bug to report.
    #[error("a bug of tenure, please report it: {what}")]
    Internal {
        /// The inconsistency.
        what: &'static str,
    },
    /// A tile of a reserved resource or of a tile pool does not exist, or is not free.
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

    /// Adds the name of the recording to an error without a name.
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

    /// True once the device is lost: every later call fails.
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
