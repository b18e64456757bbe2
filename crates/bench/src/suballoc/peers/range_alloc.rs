//! The crate `range-alloc`.

use std::ops::Range;

use range_alloc::RangeAllocator;

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// Best fit by looking at every hole.
pub(super) struct Ranges {
    ranges: RangeAllocator<u64>,
    granule: u64,
}

impl Peer for Ranges {
    type Handle = Range<u64>;

    fn new(trace: &Trace, capacity: u64) -> Self {
        let granule = trace.granule;
        Self { ranges: RangeAllocator::new(0..capacity / granule * granule), granule }
    }

    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Range<u64>>> {
        let size = size.next_multiple_of(self.granule);
        let range = self.ranges.allocate_range_aligned(size, align).ok()?;
        Some(Placed { block: 0, offset: range.start, taken: range.clone(), handle: range })
    }

    fn free(&mut self, range: Range<u64>) {
        self.ranges.free_range(range);
    }

    fn reserved(&self) -> u64 {
        self.ranges.initial_range().end
    }
}
