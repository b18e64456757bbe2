//! Events that may repeat each frame, with a logarithmic number of log entries.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts events of one kind.
///
/// Only the 1st, 2nd, 4th, 8th, … event of a kind is logged, with its number as the field `times`: 7,300 allocations with a
/// shortage write 13 lines.
#[derive(Debug, Default)]
pub struct Repeated(AtomicU64);

impl Repeated {
    /// Counts an event. Returns its number if it should be logged.
    pub fn note(&self) -> Option<u64> {
        let number = self.0.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        number.is_power_of_two().then_some(number)
    }

    /// Number of events.
    #[cfg(feature = "metrics")]
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
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
