//! What is logged about memory, without a line for each of thousands of equal events.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Class, PoolKind};

/// Counts events that may repeat each frame.
///
/// The 1st, 2nd, 4th, 8th … of a kind is logged, with its number, so that a program whose memory is
/// short for 7,300 allocations writes 13 lines.
#[derive(Debug, Default)]
pub(crate) struct Repeated(AtomicU64);

impl Repeated {
    /// Counts an event; its number when it is to be logged.
    pub(crate) fn note(&self) -> Option<u64> {
        let number = self.0.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        number.is_power_of_two().then_some(number)
    }
}

/// Allocations that failed, and steps of the ladder that did, by kind of pool.
#[derive(Debug)]
pub(crate) struct Notices {
    failures: Box<[Repeated]>,
    refusals: Box<[Repeated]>,
}

impl Default for Notices {
    fn default() -> Self {
        let counters = || PoolKind::ALL.iter().map(|_| Repeated::default()).collect();
        Self { failures: counters(), refusals: counters() }
    }
}

impl Notices {
    /// An allocation failed for good; its number among those of its kind when it is to be logged.
    pub(crate) fn failure(&self, class: Class) -> Option<u64> {
        self.failures.get(class.kind as usize)?.note()
    }

    /// The driver refused memory of one type; as above.
    pub(crate) fn refusal(&self, class: Class) -> Option<u64> {
        self.refusals.get(class.kind as usize)?.note()
    }
}

#[cfg(test)]
mod tests {
    use super::Repeated;

    #[test]
    fn thousands_of_events_are_a_dozen_lines() {
        let repeated = Repeated::default();
        let logged: Vec<u64> = (0..7300).filter_map(|_| repeated.note()).collect();
        assert_eq!(logged, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]);
    }
}
