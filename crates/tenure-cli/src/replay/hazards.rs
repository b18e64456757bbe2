//! Hazards of a device without its own log.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

/// The number of hazards that are kept; all are counted.
const KEPT: usize = 16;

/// Counts the hazards reported from any thread, and keeps the first ones.
#[derive(Debug, Default)]
pub struct Hazards {
    found: AtomicU64,
    kept: Mutex<Vec<String>>,
}

impl Hazards {
    /// Reports a hazard.
    pub fn report(&self, hazard: impl Display) {
        self.found.fetch_add(1, Relaxed);
        let mut kept = self.kept.lock();
        if kept.len() < KEPT {
            kept.push(hazard.to_string());
        }
    }

    /// The number of hazards reported so far.
    pub fn found(&self) -> u64 {
        self.found.load(Relaxed)
    }

    /// The texts of the first hazards.
    pub fn kept(&self) -> Vec<String> {
        self.kept.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{Hazards, KEPT};

    #[test]
    fn all_are_counted_and_the_first_are_kept() {
        let hazards = Hazards::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10).for_each(|number| hazards.report(format_args!("number {number}"))));
            }
        });
        assert_eq!((hazards.found(), hazards.kept().len()), (40, KEPT));
        assert!(hazards.kept().contains(&"number 0".to_owned()));
    }
}
