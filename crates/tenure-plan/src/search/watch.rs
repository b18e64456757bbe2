//! When a search stops before its limit.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::budget::is_past;

/// Looks at the clock, and at what searches in other threads have come to.
#[derive(Clone, Copy)]
pub(crate) struct Watch<'a> {
    pub(crate) deadline: Option<Instant>,
    /// With how many placements the quickest of the others was done. Who needs more has lost, so
    /// that the winner does not depend on how threads are scheduled.
    pub(crate) quickest: Option<&'a AtomicU64>,
}

impl Watch<'_> {
    /// Whether a search that has tried so many placements need not go on.
    pub(crate) fn is_over(&self, nodes: u64) -> bool {
        let is_beaten = |quickest: &AtomicU64| quickest.load(Ordering::Relaxed) < nodes;
        self.quickest.is_some_and(is_beaten) || is_past(self.deadline)
    }
}
