//! Shortages of memory: the interface that frees memory, and counts for the log and the metrics.

use super::api_objects::MemorySize;
use super::class::first_allowed;
use super::{Class, PoolKind};
use crate::device::{DeviceError, MemoryTypeId};
use crate::repeated::Repeated;

/// Frees unused memory: passed to each function that may need new memory.
pub trait MakeRoom {
    /// Frees all unused memory, and evicts blocks to make room for the wanted bytes.
    fn make_room(&self, wanted: Option<Wanted>);

    /// Returns ranges that the GPU has finished with to their blocks.
    fn release_completed(&self);

    /// Called before a request allocates from the driver, to reclaim memory that may be sufficient for it.
    fn prepare_growth(&self) {}

    /// The number of finished reclaims of all threads.
    fn reclaims(&self) -> usize;

    /// Waits, for a bounded time, for memory that the GPU still uses, and reclaims it. False if there was none, and no thread has
    /// reclaimed memory after the first `since` reclaims.
    fn wait_for_room(&self, wanted: Option<Wanted>, since: usize) -> bool;
}

impl dyn MakeRoom + '_ {
    /// Calls `ask`; if the device is short of memory, frees memory and calls it once more.
    pub fn retry<T>(&self, mut ask: impl FnMut() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
        match ask() {
            Err(error) if error.is_shortage() => {
                self.make_room(None);
                ask()
            }
            answer => answer,
        }
    }
}

/// The minimum bytes of a request, in its preferred memory type.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub own: MemorySize,
    /// The driver has refused the request: it has less memory than the budget says.
    pub is_refused: bool,
    /// Whether it may wait for the GPU.
    pub may_wait: bool,
}

impl Wanted {
    /// A request for `size` bytes of the first allowed memory type; `None` if no type is allowed.
    pub fn new(order: &[MemoryTypeId], memory_types: u32, size: u64, may_wait: bool) -> Option<Self> {
        first_allowed(order, memory_types).map(|memory| Self {
            own: MemorySize { memory, size },
            is_refused: false,
            may_wait,
        })
    }

    /// Notes that a memory type was short.
    pub fn note_refusal(this: &mut Option<Self>, memory: MemoryTypeId, refusal: &DeviceError) {
        if let (Some(wanted), DeviceError::OutOfMemory { .. }) = (this, refusal) {
            wanted.is_refused |= wanted.own.memory == memory;
        }
    }
}

/// Counts of failed allocations, of memory types short of memory, and of resources placed in other memory, by
/// kind of pool.
#[derive(Debug)]
pub struct Notices {
    failures: Box<[Repeated]>,
    refusals: Box<[Repeated]>,
    pub(super) spills: Box<[Repeated]>,
}

impl Default for Notices {
    fn default() -> Self {
        let counters = || PoolKind::ALL.iter().map(|_| Repeated::default()).collect();
        Self { failures: counters(), refusals: counters(), spills: counters() }
    }
}

impl Notices {
    /// Counts an allocation that finally failed; returns its number within its kind if it should be logged.
    pub fn failure(&self, class: Class) -> Option<u64> {
        self.failures.get(class.kind as usize)?.note()
    }

    /// Counts a refusal of the driver for one memory type; returns a number as [`failure`](Self::failure) does.
    pub fn refusal(&self, class: Class) -> Option<u64> {
        self.refusals.get(class.kind as usize)?.note()
    }

    /// Number of failed allocations, and of resources placed in other memory, so far.
    #[cfg(feature = "metrics")]
    pub fn totals(&self) -> (u64, u64) {
        let sum = |all: &[Repeated]| all.iter().map(Repeated::count).sum();
        (sum(&self.failures), sum(&self.spills))
    }
}
