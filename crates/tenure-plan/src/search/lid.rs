//! How high items may reach.

use super::Unit;
use crate::problem::Problem;

/// A capacity in bytes, as seen in units.
pub(super) struct Lid<T> {
    /// Where the highest item ends at most, with its padding.
    pub(super) most: T,
    /// Where each item does; empty if none is padded.
    each: Vec<T>,
}

impl<T: Unit> Lid<T> {
    pub(super) fn new(problem: &Problem, capacity: u64) -> Self {
        let reach = |padding: u64| (capacity + padding) / problem.unit;
        let pinned = problem.pins.iter().map(|pin| pin.padding);
        let most = problem.padding.iter().copied().chain(pinned).max().unwrap_or(0);
        let each = problem.padding.iter().map(|&padding| T::of(reach(padding))).collect();
        Self { most: T::of(reach(most)), each }
    }

    /// Whether all items reach equally high.
    pub(super) const fn is_flat(&self) -> bool {
        self.each.is_empty()
    }

    pub(super) fn of(&self, item: u32) -> T {
        self.each.get(item as usize).copied().unwrap_or(self.most)
    }
}
