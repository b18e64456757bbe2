//! The device's findings, and their log.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use bitflags::bitflags;
use parking_lot::Mutex;
use tenure_core::device::QueueId;

bitflags! {
    /// The enabled checks. All by default; with none, commands only move bytes and a mapped write is a bounds
    /// check and the copy.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Checks: u32 {
        /// Use of destroyed objects, destruction of objects in use, wrong order of destruction.
        const LIFETIME = 1 << 0;
        /// Reads of bytes that were never written, and targets that were not initialised.
        const INITIALIZED = 1 << 1;
        /// Overlapping placed resources used without an aliasing barrier between them.
        const ALIASING = 1 << 2;
        /// States, promotion and decay, ownership by queue families, unordered-access barriers.
        const STATES = 1 << 3;
        /// CPU accesses to bytes that the GPU may be using, or has written without making them visible.
        const MAPPING = 1 << 4;
        /// Unordered accesses from several queues.
        const RACES = 1 << 5;
        /// Descriptors: of destroyed resources, of the wrong kind, overwritten in use.
        const DESCRIPTORS = 1 << 6;
        /// Uses that the resource was not created for.
        const USAGE = 1 << 7;
        /// Queries: not ready for use, or resolved before they are written.
        const QUERIES = 1 << 8;
        /// Acceleration structures: read before they are built, used without a barrier, too small.
        const STRUCTURES = 1 << 9;
        /// Residency, where paging is simulated: blocks that are used while they are evicted, or evicted in use.
        const RESIDENCY = 1 << 10;
        /// Resources shared with other devices: their ownership.
        const SHARING = 1 << 11;
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self::all()
    }
}

/// The kind of a [`Hazard`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HazardKind {
    /// A command or the CPU reads a destroyed resource, or one whose heap is destroyed.
    ReadOfFreed,
    /// A command or the CPU writes a destroyed resource, or one whose heap is destroyed.
    WriteOfFreed,
    /// An object was destroyed before the CPU had seen the submissions complete that use it.
    DestroyedInUse,
    /// A heap was destroyed before the resources placed in it.
    HeapDestroyedFirst,
    /// A list was begun again before the CPU had seen its last submission complete.
    ListInUse,
    /// Bytes are read that were never written.
    UninitializedRead,
    /// A target is written before its compression data is set up: by a clear, a discard, or a copy to all of a
    /// subresource, after it was created or had new memory (Direct3D 12's legacy barriers).
    UninitializedTarget,
    /// A resource is used after another live resource used its bytes, without an aliasing barrier.
    MissingAliasingBarrier,
    /// A resource is used in another state than its current one, or a transition has a wrong state before it.
    WrongState,
    /// Unordered accesses, or on Vulkan copies, to the same bytes without a barrier between them.
    MissingBarrier,
    /// The CPU touches bytes that a submission, not seen complete, writes, or writes bytes that
    /// it reads.
    MappingHazard,
    /// The CPU reads bytes that the GPU wrote and that no
    /// [`make_visible_to_cpu`](tenure_core::device::CommandList::make_visible_to_cpu) has made visible to it
    /// (Vulkan).
    NotVisibleToCpu,
    /// Two queues touch the same bytes without synchronisation, and one writes.
    QueueRace,
    /// A descriptor is used that was never written, was freed, or refers to a destroyed resource.
    DeadDescriptor,
    /// A descriptor is used as another kind.
    WrongDescriptor,
    /// A descriptor, or on Vulkan a set or a view, was overwritten or freed before the CPU had seen the
    /// submissions complete that read it; or a set was changed after it was recorded.
    DescriptorInUse,
    /// A descriptor is used of a heap that is not set on the list (Direct3D 12).
    HeapNotSet,
    /// A set layout was destroyed before its blocks.
    LayoutDestroyedFirst,
    /// A query is written or begun that was not reset or resolved since it was made or used (Vulkan).
    QueryNotReady,
    /// A query is resolved that was not written, or not ended.
    QueryNotWritten,
    /// An acceleration structure is read that was never built or copied to.
    UnbuiltStructure,
    /// An acceleration structure is compacted into one with too few bytes.
    StructureTooSmall,
    /// A submission uses a block that is evicted, or that was made resident at a point that its queue has not waited
    /// for.
    UsedWhileEvicted,
    /// A block was evicted before the CPU had seen the submissions complete that use it.
    EvictedInUse,
    /// A block was evicted more often than it was made resident.
    EvictedTooOften,
    /// A submission waits for a point of the program's own fence or semaphore without a signal.
    NeverSignalled,
    /// On Vulkan, an image is presented before the signal of a value is submitted that its frame waits for.
    PresentedBeforeSignal,
    /// A fence is signalled to a value that it reaches without this signal, or a binary semaphore before a wait
    /// for it.
    SignalledTwice,
    /// A submission uses a fence or semaphore that is destroyed.
    DeadFence,
    /// A submission uses a fence or semaphore of another device.
    ForeignFence,
    /// A shared resource is used, or handed over, by a device that does not own it: a peer does, or it was not acquired.
    HeldByPeer,
    /// A shared resource is acquired without a handover by a peer, or in another state than that of the handover.
    NotHandedOver,
    /// A use that the resource's usage does not include.
    InvalidUse,
    /// [`List::expect_bytes`](crate::List::expect_bytes) found different bytes.
    WrongBytes,
}

impl fmt::Display for HazardKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReadOfFreed => "read of freed memory",
            Self::WriteOfFreed => "write to freed memory",
            Self::DestroyedInUse => "destroyed in use",
            Self::HeapDestroyedFirst => "heap destroyed before its resources",
            Self::ListInUse => "command list reset in use",
            Self::UninitializedRead => "read of bytes never written",
            Self::UninitializedTarget => "target not initialised",
            Self::MissingAliasingBarrier => "missing aliasing barrier",
            Self::WrongState => "wrong state",
            Self::MissingBarrier => "missing barrier",
            Self::MappingHazard => "CPU access races the GPU",
            Self::NotVisibleToCpu => "not visible to the CPU",
            Self::QueueRace => "queues race",
            Self::DeadDescriptor => "dead descriptor",
            Self::WrongDescriptor => "wrong descriptor",
            Self::DescriptorInUse => "descriptor changed in use",
            Self::HeapNotSet => "descriptor heap not set",
            Self::LayoutDestroyedFirst => "set layout destroyed before its blocks",
            Self::QueryNotReady => "query not ready",
            Self::QueryNotWritten => "query not written",
            Self::UnbuiltStructure => "acceleration structure not built",
            Self::StructureTooSmall => "acceleration structure too small",
            Self::UsedWhileEvicted => "used while evicted",
            Self::EvictedInUse => "evicted in use",
            Self::EvictedTooOften => "evicted too often",
            Self::NeverSignalled => "never signalled",
            Self::PresentedBeforeSignal => "presented before a signal",
            Self::SignalledTwice => "signalled twice",
            Self::DeadFence => "dead fence",
            Self::ForeignFence => "foreign fence",
            Self::HeldByPeer => "held by a peer",
            Self::NotHandedOver => "not handed over",
            Self::InvalidUse => "invalid use",
            Self::WrongBytes => "wrong bytes",
        })
    }
}

/// The call that caused a hazard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A call of the CPU, by name.
    Call(&'static str),
    /// A command of a submission.
    Command {
        /// The command's name.
        name: &'static str,
        /// The index in its list.
        index: usize,
        /// The list.
        list: String,
        /// The queue.
        queue: QueueId,
        /// The submission.
        serial: u64,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(name) => write!(f, "in {name}"),
            Self::Command { name, index, list, queue, serial } => {
                write!(f, "in command {index} ({name}) of {list}, submission {serial} on queue {}", queue.0)
            }
        }
    }
}

/// A mistake that a real driver would not report.
///
/// `Display` gives one line: the kind, the objects by name, the fault, and the call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hazard {
    /// The kind.
    pub kind: HazardKind,
    /// The objects involved, the offender first: `texture 'bloom' (#7)`.
    pub objects: Vec<String>,
    /// The fault, with the numbers.
    pub detail: String,
    /// The call that caused it.
    pub origin: Origin,
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}, {}", self.kind, self.objects.join(" and "), self.detail, self.origin)
    }
}

/// Hazards kept in the log; more are only counted.
pub const HAZARD_LOG_LIMIT: usize = 4096;

/// The log of hazards. Bounded, because a program with an error in each frame must not exhaust the memory.
#[derive(Default)]
pub(crate) struct HazardLog {
    kept: Mutex<Vec<Hazard>>,
    found: AtomicU64,
}

impl HazardLog {
    pub(crate) fn push(
        &self,
        kind: HazardKind,
        objects: &[&dyn fmt::Display],
        detail: &dyn fmt::Display,
        origin: Origin,
    ) {
        let objects = objects.iter().map(ToString::to_string).collect();
        let hazard = Hazard { kind, objects, detail: detail.to_string(), origin };
        self.found.fetch_add(1, Ordering::Relaxed);
        let mut kept = self.kept.lock();
        if kept.len() < HAZARD_LOG_LIMIT {
            kept.push(hazard);
        }
    }

    pub(crate) fn snapshot(&self) -> Vec<Hazard> {
        self.kept.lock().clone()
    }

    pub(crate) fn take(&self) -> Vec<Hazard> {
        std::mem::take(&mut *self.kept.lock())
    }

    pub(crate) fn found(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }
}
