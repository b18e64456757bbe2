//! What the calls of a script took.

use crate::timing::medians;

/// Nanoseconds of each call, round by round.
#[derive(Default)]
pub(super) struct Times {
    allocations: Vec<Vec<u32>>,
    frees: Vec<Vec<u32>>,
    pub(super) peak_reserved: u64,
}

impl Times {
    pub(super) fn add(&mut self, allocations: Vec<u32>, frees: Vec<u32>, peak_reserved: u64) {
        self.allocations.push(allocations);
        self.frees.push(frees);
        self.peak_reserved = self.peak_reserved.max(peak_reserved);
    }

    /// Of each allocation its median.
    pub(super) fn allocations(&self) -> Vec<u32> {
        medians(&self.allocations)
    }

    /// Of each free its median.
    pub(super) fn frees(&self) -> Vec<u32> {
        medians(&self.frees)
    }
}
