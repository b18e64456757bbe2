//! The number of driver calls of each kind, and their modelled cost.

mod costs;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

pub use self::costs::Costs;
pub(crate) use self::costs::Request;

macro_rules! call_kinds {
    ($($(#[$doc:meta])* $name:ident, $text:literal, $fallible:literal;)*) => {
        /// A call that reaches the driver.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum CallKind { $($(#[$doc])* $name,)* }

        impl CallKind {
            /// Every kind, each once.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The call's name in the contract.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// True for the calls that [faults](crate::Faults) may make fail.
            #[must_use]
            pub const fn can_fail(self) -> bool {
                match self { $(Self::$name => $fallible,)* }
            }
        }
    };
}

call_kinds! {
    /// `Device::create_heap`
    CreateHeap, "create_heap", true;
    /// `Device::create_committed`
    CreateCommitted, "create_committed", true;
    /// `Device::create_placed`
    CreatePlaced, "create_placed", true;
    /// `Device::create_reserved`
    CreateReserved, "create_reserved", true;
    /// `Device::map`
    Map, "map", true;
    /// `Device::write_texture`
    WriteTexture, "write_texture", true;
    /// `Device::create_list`
    CreateList, "create_list", true;
    /// `Device::submit`
    Submit, "submit", true;
    /// `Device::update_tiles`
    UpdateTiles, "update_tiles", true;
    /// `Device::make_resident`
    MakeResident, "make_resident", true;
    /// `Device::evict`
    Evict, "evict", true;
    /// `Device::set_priority`
    SetPriority, "set_priority", true;
    /// `Device::create_descriptor_heap`
    CreateDescriptorHeap, "create_descriptor_heap", true;
    /// `Device::write_descriptor`
    WriteDescriptor, "write_descriptor", true;
    /// `Device::fill_descriptors`
    FillDescriptors, "fill_descriptors", true;
    /// `Device::create_set_layout`
    CreateSetLayout, "create_set_layout", true;
    /// `Device::create_set_pool`
    CreateSetPool, "create_set_pool", true;
    /// `Device::write_set`
    WriteSet, "write_set", true;
    /// `Device::create_query_heap`
    CreateQueryHeap, "create_query_heap", true;
    /// `Device::create_acceleration_structure`
    CreateAccelerationStructure, "create_acceleration_structure", true;
    /// `Device::destroy_heap`
    DestroyHeap, "destroy_heap", false;
    /// `Device::destroy_resource`
    DestroyResource, "destroy_resource", false;
    /// `Device::destroy_list`
    DestroyList, "destroy_list", false;
    /// `Device::destroy_descriptor_heap`
    DestroyDescriptorHeap, "destroy_descriptor_heap", false;
    /// `Device::clear_descriptors`
    ClearDescriptors, "clear_descriptors", false;
    /// `Device::destroy_set_layout`
    DestroySetLayout, "destroy_set_layout", false;
    /// `Device::destroy_set_pool`
    DestroySetPool, "destroy_set_pool", false;
    /// `Device::clear_set`
    ClearSet, "clear_set", false;
    /// `Device::destroy_query_heap`
    DestroyQueryHeap, "destroy_query_heap", false;
    /// `Device::destroy_acceleration_structure`
    DestroyAccelerationStructure, "destroy_acceleration_structure", false;
    /// `CommandList::begin`
    BeginList, "begin", true;
    /// `CommandList::close`
    CloseList, "close", true;
    /// `Device::requirements`
    Requirements, "requirements", false;
    /// `Device::completed`
    Completed, "completed", false;
    /// `Device::wait`
    Wait, "wait", false;
    /// `Device::budget`
    Budget, "budget", false;
}

const KINDS: usize = CallKind::ALL.len();

/// One for each kind of call.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PerKind<T>([T; KINDS]);

impl<T: Default> Default for PerKind<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| T::default()))
    }
}

/// A snapshot of the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    made: PerKind<u64>,
    failed: PerKind<u64>,
    /// Heaps alive.
    pub live_heaps: u64,
    /// Buffers and textures alive.
    pub live_resources: u64,
    /// Command lists alive.
    pub live_lists: u64,
    /// Heaps of descriptors alive.
    pub live_descriptor_heaps: u64,
    /// Set layouts alive.
    pub live_set_layouts: u64,
    /// Number of live pools of descriptor sets.
    pub live_set_pools: u64,
    /// Heaps of queries alive.
    pub live_query_heaps: u64,
    /// Acceleration structures alive.
    pub live_acceleration_structures: u64,
    /// Driver memory allocations alive: heaps and committed resources.
    pub allocations: u64,
    /// Bytes of them.
    pub reserved_bytes: u64,
    /// The peak of the reserved bytes.
    pub peak_reserved_bytes: u64,
    /// Modelled duration of the calls in nanoseconds, by the [cost model](crate::Costs).
    pub cost_ns: u64,
}

impl Calls {
    /// Calls of that kind, including failed ones.
    #[must_use]
    pub const fn made(&self, kind: CallKind) -> u64 {
        self.made.0[kind as usize]
    }

    /// Failed calls of that kind.
    #[must_use]
    pub const fn failed(&self, kind: CallKind) -> u64 {
        self.failed.0[kind as usize]
    }

    /// All calls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.made.0.iter().sum()
    }
}

/// The counters themselves.
#[derive(Default)]
pub(crate) struct Counters {
    made: PerKind<AtomicU64>,
    failed: PerKind<AtomicU64>,
    cost_ns: AtomicU64,
    log: Option<Mutex<Vec<String>>>,
}

impl Counters {
    pub(crate) fn new(keep_log: bool) -> Self {
        Self { log: keep_log.then(Mutex::default), ..Self::default() }
    }

    pub(crate) fn made(&self, kind: CallKind, cost_ns: u64) {
        self.made.0[kind as usize].fetch_add(1, Relaxed);
        self.cost_ns.fetch_add(cost_ns, Relaxed);
    }

    pub(crate) fn failed(&self, kind: CallKind) {
        self.failed.0[kind as usize].fetch_add(1, Relaxed);
    }

    /// Adds a line if the log was requested; otherwise the line is not created.
    pub(crate) fn log(&self, line: impl FnOnce() -> String) {
        if let Some(log) = &self.log {
            log.lock().push(line());
        }
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.log.as_ref().map_or_else(Vec::new, |log| log.lock().clone())
    }

    pub(crate) fn cost_ns(&self) -> u64 {
        self.cost_ns.load(Relaxed)
    }

    pub(crate) fn snapshot(&self) -> Calls {
        let read = |counters: &PerKind<AtomicU64>| {
            PerKind(std::array::from_fn(|kind| counters.0[kind].load(Relaxed)))
        };
        Calls {
            made: read(&self.made),
            failed: read(&self.failed),
            cost_ns: self.cost_ns.load(Relaxed),
            ..Calls::default()
        }
    }
}
