//! Counts of memory shortages, for the log and the metrics.

use super::{Class, PoolKind};
use crate::repeated::Repeated;

/// Failed allocations, memory types short of memory, and resources that went to other memory, by kind of pool.
#[derive(Debug)]
pub(crate) struct Notices {
    failures: Box<[Repeated]>,
    refusals: Box<[Repeated]>,
    spills: Box<[Repeated]>,
}

impl Default for Notices {
    fn default() -> Self {
        let counters = || PoolKind::ALL.iter().map(|_| Repeated::default()).collect();
        Self { failures: counters(), refusals: counters(), spills: counters() }
    }
}

impl Notices {
    /// Counts an allocation that failed for good; returns its number within its kind when it should be logged.
    pub(crate) fn failure(&self, class: Class) -> Option<u64> {
        self.failures.get(class.kind as usize)?.note()
    }

    /// Counts a resource that went to memory unlike the preferred; returns a number as
    /// [`failure`](Self::failure) does.
    pub(crate) fn spill(&self, class: Class) -> Option<u64> {
        self.spills.get(class.kind as usize)?.note()
    }

    /// Counts a refusal of the driver for one memory type; returns a number as [`failure`](Self::failure) does.
    pub(crate) fn refusal(&self, class: Class) -> Option<u64> {
        self.refusals.get(class.kind as usize)?.note()
    }

    /// Failed allocations, and resources that went to other memory, so far.
    #[cfg(feature = "metrics")]
    pub(crate) fn totals(&self) -> (u64, u64) {
        let sum = |all: &[Repeated]| all.iter().map(Repeated::count).sum();
        (sum(&self.failures), sum(&self.spills))
    }
}
