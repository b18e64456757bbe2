//! What the device found wrong, and the log of it.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use bitflags::bitflags;
use parking_lot::Mutex;
use tenure_core::device::QueueId;

use crate::object::displayed;

bitflags! {
    /// Which checks are made. All by default; with none, commands only move bytes and a mapped
    /// write is a bounds check and the copy.
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
        /// Resources shared with other devices: who may use them.
        const SHARING = 1 << 11;
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self::all()
    }
}

displayed! {
    /// What kind of mistake a [`Hazard`] is.
    #[non_exhaustive]
    enum HazardKind {
        /// A command or the CPU reads a destroyed resource, or one whose heap is destroyed.
        ReadOfFreed, "read of freed memory";
        /// A command or the CPU writes a destroyed resource, or one whose heap is destroyed.
        WriteOfFreed, "write to freed memory";
        /// An object was destroyed while the CPU had not seen a submission complete that uses it.
        DestroyedInUse, "destroyed in use";
        /// A heap was destroyed before the resources placed in it.
        HeapDestroyedFirst, "heap destroyed before its resources";
        /// A list was begun anew while the CPU had not seen its last submission complete.
        ListInUse, "command list reset in use";
        /// Bytes are read that were never written.
        UninitializedRead, "read of bytes never written";
        /// A target is written before its compression data is set up: by a clear, a discard, or a copy to all of a
        /// subresource, after it was created or had new memory (Direct3D 12's legacy barriers).
        UninitializedTarget, "target not initialised";
        /// A resource is used whose bytes another live resource used last, without an aliasing
        /// barrier.
        MissingAliasingBarrier, "missing aliasing barrier";
        /// A resource is used in a state it is not in, or a transition names a wrong state.
        WrongState, "wrong state";
        /// Unordered accesses, or on Vulkan copies, to the same bytes without a barrier between them.
        MissingBarrier, "missing barrier";
        /// The CPU touches bytes that a submission, not seen complete, writes, or writes bytes that
        /// it reads.
        MappingHazard, "CPU access races the GPU";
        /// The CPU reads bytes that the GPU wrote and that no
        /// [`make_visible_to_cpu`](tenure_core::device::CommandList::make_visible_to_cpu) has made visible to it
        /// (Vulkan).
        NotVisibleToCpu, "not visible to the CPU";
        /// Two queues touch the same bytes, one writes, and nothing orders them.
        QueueRace, "queues race";
        /// A descriptor is used that was never written, or was freed, or whose resource is destroyed.
        DeadDescriptor, "dead descriptor";
        /// A descriptor is used as what it is not.
        WrongDescriptor, "wrong descriptor";
        /// A descriptor, or on Vulkan a set or a view, was overwritten or freed while the CPU had not
        /// seen a submission complete that reads it; or a set was changed after it was recorded.
        DescriptorInUse, "descriptor changed in use";
        /// A descriptor is used of a heap that is not set on the list (Direct3D 12).
        HeapNotSet, "descriptor heap not set";
        /// A set layout was destroyed before its blocks.
        LayoutDestroyedFirst, "set layout destroyed before its blocks";
        /// A query is written or begun that was not reset or resolved since it was made or used (Vulkan).
        QueryNotReady, "query not ready";
        /// A query is resolved that was not written, or not ended.
        QueryNotWritten, "query not written";
        /// An acceleration structure is read in which nothing was built, and to which nothing was copied.
        UnbuiltStructure, "acceleration structure not built";
        /// An acceleration structure is compacted into one with too few bytes.
        StructureTooSmall, "acceleration structure too small";
        /// A submission uses a block that is evicted, or that was made resident at a point that its queue has not waited
        /// for.
        UsedWhileEvicted, "used while evicted";
        /// A block was evicted while the CPU had not seen a submission complete that uses it.
        EvictedInUse, "evicted in use";
        /// A block was evicted more often than it was made resident.
        EvictedTooOften, "evicted too often";
        /// A submission waits for a point of the program's own fence or semaphore that nothing signals.
        NeverSignalled, "never signalled";
        /// On Vulkan, an image is presented before the signal of a value is submitted that its frame waits for.
        PresentedBeforeSignal, "presented before a signal";
        /// A fence is signalled to a value that it reaches without that, or a binary semaphore before anything
        /// waits for it.
        SignalledTwice, "signalled twice";
        /// A submission uses a fence or semaphore that is destroyed.
        DeadFence, "dead fence";
        /// A submission uses a fence or semaphore of another device.
        ForeignFence, "foreign fence";
        /// A shared resource is used, or handed over, by a device that does not have it: a peer does, or it was not acquired.
        HeldByPeer, "held by a peer";
        /// A shared resource is acquired that no peer has handed over, or in another state than it was handed over in.
        NotHandedOver, "not handed over";
        /// A use that is not among those the resource was created for.
        InvalidUse, "invalid use";
        /// [`List::expect_bytes`](crate::List::expect_bytes) found other bytes.
        WrongBytes, "wrong bytes";
    }
}

/// The call in which a hazard came to light.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A call of the CPU, by name.
    Call(&'static str),
    /// A command of a submission.
    Command {
        /// The command's name.
        name: &'static str,
        /// Its index in its list.
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

/// One mistake that a real driver would have let pass.
///
/// `Display` gives one line: the kind, the objects by name, what is wrong, and the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// What kind of mistake.
    pub kind: HazardKind,
    /// The objects involved, the offender first: `texture 'bloom' (#7)`.
    pub objects: Vec<String>,
    /// What is wrong, with the numbers.
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

/// The log. A program that errs each frame must not eat the machine, so it is bounded.
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
