//! How often memory was short, for the log and the metrics.

use super::{Class, PoolKind};
use crate::repeated::Repeated;

/// Allocations that failed, memory types that were short of memory, and resources that went elsewhere, by kind of
/// pool.
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
    /// An allocation failed for good; its number among those of its kind when it is to be logged.
    pub(crate) fn failure(&self, class: Class) -> Option<u64> {
        self.failures.get(class.kind as usize)?.note()
    }

    /// A resource went to memory that is not like the preferred; as above.
    pub(crate) fn spill(&self, class: Class) -> Option<u64> {
        self.spills.get(class.kind as usize)?.note()
    }

    /// The driver refused memory of one type; as above.
    pub(crate) fn refusal(&self, class: Class) -> Option<u64> {
        self.refusals.get(class.kind as usize)?.note()
    }

    /// Allocations that failed, and resources that went elsewhere, so far.
    #[cfg(feature = "metrics")]
    pub(crate) fn totals(&self) -> (u64, u64) {
        let sum = |all: &[Repeated]| all.iter().map(Repeated::count).sum();
        (sum(&self.failures), sum(&self.spills))
    }
}
