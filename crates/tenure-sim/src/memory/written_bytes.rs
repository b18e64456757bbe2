//! The written bytes of a resource.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::interval::IntervalSet;

/// The set of written bytes.
pub(crate) struct Written {
    /// Set once all bytes are written. Most resources are written as a whole once, and then used for many frames.
    all: AtomicBool,
    size: u64,
    ranges: Mutex<IntervalSet>,
}

impl Written {
    pub(crate) fn new(size: u64) -> Self {
        Self { all: AtomicBool::new(false), size, ranges: Mutex::default() }
    }

    pub(crate) fn insert(&self, range: Range<u64>) {
        if self.all.load(Ordering::Acquire) {
            return;
        }
        let mut ranges = self.ranges.lock();
        ranges.insert(range);
        if ranges.first_gap(0..self.size).is_none() {
            self.all.store(true, Ordering::Release);
        }
    }

    pub(crate) fn remove(&self, range: Range<u64>) {
        let mut ranges = self.ranges.lock();
        self.all.store(false, Ordering::Release);
        ranges.remove(range);
    }

    pub(crate) fn clear(&self) {
        let mut ranges = self.ranges.lock();
        self.all.store(false, Ordering::Release);
        ranges.clear();
    }

    /// The first part of `range` that was never written.
    pub(crate) fn first_gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        if self.all.load(Ordering::Acquire) {
            return None;
        }
        self.ranges.lock().first_gap(range)
    }

    /// The written parts of `range`.
    pub(crate) fn within(&self, range: Range<u64>) -> Vec<Range<u64>> {
        self.ranges.lock().within(range).collect()
    }
}
