//! tenure's allocators, over one range and over blocks, and the lower bound for the time of an allocator.

use std::hint::black_box;

use tenure_suballoc::{
    Allocation, BlockAllocation, BlockError, BlockFreed, BlockId, BlockSuballocator, Buddy, General,
    GeneralBlocks, Growing, Handle, Ring, Suballocator,
};

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;
use crate::suballoc::workloads::FRAMES_LIVE;

/// An allocator that is made for a trace.
pub(super) trait Make: Sized {
    fn make(trace: &Trace, capacity: u64) -> Result<Self, BlockError>;

    /// Makes room for all nodes, as `offset-allocator` does.
    fn reserve(&mut self, _trace: &Trace) {}

    /// Frees unused metadata, where that is done on request.
    fn trim(&mut self) {}
}

impl Make for General {
    fn make(trace: &Trace, capacity: u64) -> Result<Self, BlockError> {
        Self::new(capacity, trace.granule)
    }

    fn reserve(&mut self, trace: &Trace) {
        Self::reserve(self, trace.peak_live);
    }

    fn trim(&mut self) {
        Self::trim(self);
    }
}

impl Make for GeneralBlocks {
    fn make(trace: &Trace, _: u64) -> Result<Self, BlockError> {
        Self::new(trace.granule)
    }
}

/// The smallest block of a trace: with a granule of a few bytes, the metadata of the buddy allocator would be larger than
/// the memory that it manages.
fn min_block(trace: &Trace) -> u64 {
    trace.granule.max(64)
}

impl Make for Buddy {
    fn make(trace: &Trace, capacity: u64) -> Result<Self, BlockError> {
        Self::with_min_block(capacity, min_block(trace))
    }
}

impl Make for Growing<Buddy> {
    fn make(trace: &Trace, _: u64) -> Result<Self, BlockError> {
        let min_block = min_block(trace);
        Ok(Self::new(move |capacity| Buddy::with_min_block(capacity, min_block)))
    }
}

fn made<M: Make>(trace: &Trace, capacity: u64) -> M {
    M::make(trace, capacity).unwrap_or_else(|error| panic!("{}: {error}", trace.name))
}

/// One of tenure's allocators over one range, with all nodes `RESERVED` or allocated as needed.
pub(super) struct OneRange<M, const RESERVED: bool = false>(M);

impl<M: Make + Suballocator, const RESERVED: bool> Peer for OneRange<M, RESERVED> {
    type Handle = Handle;

    fn new(trace: &Trace, capacity: u64) -> Self {
        let mut made = made::<M>(trace, capacity);
        if RESERVED {
            made.reserve(trace);
        }
        Self(made)
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Handle>> {
        let Allocation { offset, size, padding, handle } = self.0.allocate(size, align).ok()?;
        Some(Placed { handle, block: 0, offset, taken: offset - padding..offset + size })
    }

    #[inline]
    fn free(&mut self, handle: Handle) {
        black_box(self.0.free(handle).is_ok());
    }

    fn trim(&mut self) {
        self.0.trim();
    }
}

/// One of tenure's allocators over blocks that are added as needed.
pub(super) struct Blocks<M> {
    set: M,
    block_bytes: u64,
    /// A block that is kept while it is empty.
    spare: Option<BlockId>,
}

impl<M: Make + BlockSuballocator> Blocks<M> {
    #[cold]
    fn grow_and_allocate(&mut self, size: u64, align: u64) -> Option<BlockAllocation> {
        self.set.add_block(self.block_bytes).ok()?;
        self.set.allocate(size, align).ok()
    }

    /// Removes one of two empty blocks.
    #[cold]
    fn keep_one(&mut self, empty: BlockId) {
        let is_empty = |other: &BlockId| *other != empty && self.set.block_used(*other) == Some(0);
        self.spare = Some(match self.spare.filter(is_empty) {
            Some(other) => {
                black_box(self.set.remove_block(empty.max(other)).is_ok());
                empty.min(other)
            }
            None => empty,
        });
    }
}

impl<M: Make + BlockSuballocator> Peer for Blocks<M> {
    type Handle = Handle;

    fn new(trace: &Trace, capacity: u64) -> Self {
        Self { set: made(trace, capacity), block_bytes: trace.block_bytes, spare: None }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Handle>> {
        let BlockAllocation { block, offset, size, padding, handle } = match self.set.allocate(size, align) {
            Ok(allocation) => allocation,
            Err(_) => self.grow_and_allocate(size, align)?,
        };
        Some(Placed { handle, block: block.index() as u64, offset, taken: offset - padding..offset + size })
    }

    #[inline]
    fn free(&mut self, handle: Handle) {
        if let Ok(BlockFreed { block, block_is_empty: true, .. }) = self.set.free(handle) {
            self.keep_one(block);
        }
    }

    fn trim(&mut self) {
        BlockSuballocator::trim(&mut self.set, &mut Vec::new());
    }

    fn reserved(&self) -> u64 {
        self.set.capacity()
    }
}

/// tenure's ring, which frees whole frames: the free of a single allocation does nothing.
pub(super) struct FrameRing {
    ring: Ring<usize>,
    frame: usize,
}

impl Peer for FrameRing {
    type Handle = u64;

    fn new(_trace: &Trace, capacity: u64) -> Self {
        Self { ring: Ring::new(capacity), frame: 0 }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<u64>> {
        self.ring.allocate(size, align).map(|offset| Placed::new(offset, offset, size))
    }

    #[inline]
    fn free(&mut self, _offset: u64) {}

    fn end_frame(&mut self) {
        self.ring.close(self.frame);
        self.frame += 1;
        let live_from = (self.frame + 1).saturating_sub(FRAMES_LIVE);
        self.ring.release_while(|&frame| frame < live_from);
    }
}

/// A counter that wraps around, and manages no memory; a free does nothing.
pub(super) struct Bump(u64);

impl Peer for Bump {
    type Handle = u64;

    fn new(_trace: &Trace, _capacity: u64) -> Self {
        Self(0)
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<u64>> {
        let offset = self.0.wrapping_add(align - 1) & !(align - 1);
        self.0 = offset.wrapping_add(size);
        Some(Placed { handle: offset, block: 0, offset, taken: 0..0 })
    }

    #[inline]
    fn free(&mut self, offset: u64) {
        black_box(offset);
    }
}
