//! tenure's allocators, over one range and over blocks.

use tenure_suballoc::{
    Allocation, BlockAllocation, BlockError, BlockFreed, BlockId, BlockSuballocator, General, GeneralBlocks,
    Handle, Suballocator,
};

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// How an allocator is made for a trace.
pub(super) trait Make {
    /// The allocator.
    type Made;

    fn make(trace: &Trace, capacity: u64) -> Result<Self::Made, BlockError>;

    /// Frees unused metadata, where that is done on request.
    fn trim(_: &mut Self::Made) {}
}

/// Nodes are allocated as needed.
pub(super) struct Growing;
/// All nodes are allocated at the beginning, as in `offset-allocator`.
pub(super) struct Reserved;
/// The general allocator over blocks.
pub(super) struct InBlocks;

impl Make for Growing {
    type Made = General;

    fn make(trace: &Trace, capacity: u64) -> Result<General, BlockError> {
        General::new(capacity, trace.granule)
    }

    fn trim(made: &mut General) {
        made.trim();
    }
}

impl Make for Reserved {
    type Made = General;

    fn make(trace: &Trace, capacity: u64) -> Result<General, BlockError> {
        let mut general = General::new(capacity, trace.granule)?;
        general.reserve(trace.peak_live);
        Ok(general)
    }

    fn trim(made: &mut General) {
        made.trim();
    }
}

impl Make for InBlocks {
    type Made = GeneralBlocks;

    fn make(trace: &Trace, _: u64) -> Result<GeneralBlocks, BlockError> {
        GeneralBlocks::new(trace.granule)
    }
}

fn made<M: Make>(trace: &Trace, capacity: u64) -> M::Made {
    M::make(trace, capacity).unwrap_or_else(|error| panic!("{}: {error}", trace.name))
}

/// One of tenure's allocators over one range.
pub(super) struct OneRange<M: Make>(M::Made);

impl<M: Make<Made: Suballocator>> Peer for OneRange<M> {
    type Handle = Handle;

    fn new(trace: &Trace, capacity: u64) -> Self {
        Self(made::<M>(trace, capacity))
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Handle>> {
        self.0.allocate(size, align).ok().map(placed)
    }

    #[inline]
    fn free(&mut self, handle: Handle) {
        std::hint::black_box(self.0.free(handle).is_ok());
    }

    fn trim(&mut self) {
        M::trim(&mut self.0);
    }
}

/// Converts an allocation of a [`Suballocator`].
#[inline]
fn placed(allocation: Allocation) -> Placed<Handle> {
    let Allocation { offset, size, padding, handle } = allocation;
    Placed { handle, block: 0, offset, taken: offset - padding..offset + size }
}

/// One of tenure's allocators over blocks that are added as needed.
pub(super) struct Blocks<M: Make> {
    set: M::Made,
    block_bytes: u64,
    spare: Option<BlockId>,
}

impl<M: Make<Made: BlockSuballocator>> Peer for Blocks<M> {
    type Handle = Handle;

    fn new(trace: &Trace, capacity: u64) -> Self {
        Self { set: made::<M>(trace, capacity), block_bytes: trace.block_bytes, spare: None }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Handle>> {
        allocate_growing(&mut self.set, self.block_bytes, size, align)
    }

    #[inline]
    fn free(&mut self, handle: Handle) {
        free_shrinking(&mut self.set, &mut self.spare, handle);
    }

    fn trim(&mut self) {
        self.set.trim(&mut Vec::new());
    }

    fn reserved(&self) -> u64 {
        self.set.capacity()
    }
}

/// Allocates, and adds a block if the request fits into no block.
#[inline(always)]
pub(crate) fn allocate_growing(
    set: &mut impl BlockSuballocator,
    block_bytes: u64,
    size: u64,
    align: u64,
) -> Option<Placed<Handle>> {
    match set.allocate(size, align) {
        Ok(allocation) => Some(placed_in_block(allocation)),
        Err(_) => grow_and_allocate(set, block_bytes, size, align),
    }
}

#[cold]
fn grow_and_allocate(
    set: &mut impl BlockSuballocator,
    block_bytes: u64,
    size: u64,
    align: u64,
) -> Option<Placed<Handle>> {
    set.add_block(block_bytes).ok()?;
    set.allocate(size, align).ok().map(placed_in_block)
}

/// Converts an allocation of a [`BlockSuballocator`].
#[inline]
fn placed_in_block(allocation: BlockAllocation) -> Placed<Handle> {
    let BlockAllocation { block, offset, size, padding, handle } = allocation;
    Placed { handle, block: block.index() as u64, offset, taken: offset - padding..offset + size }
}

/// Frees; if the block is then empty and the block `spare` is empty, too, removes one of them.
#[inline]
pub(crate) fn free_shrinking(set: &mut impl BlockSuballocator, spare: &mut Option<BlockId>, handle: Handle) {
    if let Ok(BlockFreed { block, block_is_empty: true, .. }) = set.free(handle) {
        keep_one(set, spare, block);
    }
}

#[cold]
fn keep_one(set: &mut impl BlockSuballocator, spare: &mut Option<BlockId>, empty: BlockId) {
    let other = spare.filter(|&other| other != empty && set.block_used(other) == Some(0));
    *spare = Some(match other {
        Some(other) => {
            std::hint::black_box(set.remove_block(empty.max(other)).is_ok());
            empty.min(other)
        }
        None => empty,
    });
}
