//! The crate `buddy_system_allocator`.

use std::alloc::Layout;

use buddy_system_allocator::FrameAllocator;

use super::buddy::min_block;
use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// Its allocator of frames, whose frames are the smallest blocks here.
pub(super) struct Frames {
    frames: FrameAllocator<33>,
    frame_log2: u32,
    capacity: u64,
}

impl Peer for Frames {
    /// First frame, and the layout that was asked for.
    type Handle = (usize, Layout);

    fn new(trace: &Trace, capacity: u64) -> Self {
        let frame_log2 = min_block(trace).trailing_zeros();
        let mut frames = FrameAllocator::new();
        frames.add_frame(0, (capacity >> frame_log2) as usize);
        Self { frames, frame_log2, capacity }
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

    fn reserved(&self) -> u64 {
        self.capacity
    }
}
