//! The crates `offset-allocator`, `buddy_system_allocator` and `range-alloc`.

use std::alloc::Layout;
use std::ops::Range;

use buddy_system_allocator::FrameAllocator;
use offset_allocator::{Allocation, Allocator};
use range_alloc::RangeAllocator;

use super::buddy::min_block;
use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// The port of OffsetAllocator to Rust. It has no alignment parameter and 32-bit offsets: here they
/// count granules, and each request includes the largest padding.
pub(super) struct Offsets {
    allocator: Allocator,
    granule_log2: u32,
}

/// The default number of nodes; each allocation and each hole needs one.
const DEFAULT_NODES: u32 = 128 * 1024;

impl Peer for Offsets {
    type Handle = Allocation;

    fn new(trace: &Trace, capacity: u64) -> Self {
        let granule_log2 = trace.granule.trailing_zeros();
        let units = u32::try_from(capacity >> granule_log2).unwrap_or(u32::MAX);
        let nodes = (2 * trace.slots as u32).max(DEFAULT_NODES);
        Self { allocator: Allocator::with_max_allocs(units, nodes), granule_log2 }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Allocation>> {
        let units = ((size - 1) >> self.granule_log2) + 1;
        let padding = (align >> self.granule_log2).saturating_sub(1);
        let allocation = self.allocator.allocate((units + padding) as u32)?;
        let start = u64::from(allocation.offset) << self.granule_log2;
        let offset = (start + align - 1) & !(align - 1);
        let taken = start..start + ((units + padding) << self.granule_log2);
        Some(Placed { handle: allocation, block: 0, offset, taken })
    }

    #[inline]
    fn free(&mut self, allocation: Allocation) {
        self.allocator.free(allocation);
    }
}

/// The frame allocator of `buddy_system_allocator`; a frame is the smallest block here.
pub(super) struct Frames {
    frames: FrameAllocator<33>,
    frame_log2: u32,
}

impl Peer for Frames {
    /// The first frame, and the requested layout.
    type Handle = (usize, Layout);

    fn new(trace: &Trace, capacity: u64) -> Self {
        let frame_log2 = min_block(trace).trailing_zeros();
        let mut frames = FrameAllocator::new();
        frames.add_frame(0, (capacity >> frame_log2) as usize);
        Self { frames, frame_log2 }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Self::Handle>> {
        let count = ((size - 1) >> self.frame_log2) + 1;
        let align = (align >> self.frame_log2).max(1);
        let layout = Layout::from_size_align(count as usize, align as usize).ok()?;
        let frame = self.frames.alloc_aligned(layout)?;
        let offset = (frame as u64) << self.frame_log2;
        let taken = count.next_power_of_two().max(align) << self.frame_log2;
        Some(Placed::new((frame, layout), offset, taken))
    }

    #[inline]
    fn free(&mut self, (frame, layout): Self::Handle) {
        self.frames.dealloc_aligned(frame, layout);
    }
}

/// `range-alloc`: best fit by a linear search through all holes.
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
}
