//! tenure's general allocator, over one range and over blocks.

use tenure_suballoc::{
    Allocation, BlockAllocation, BlockFreed, BlockId, BlockSuballocator, General, GeneralBlocks, Handle,
    Suballocator,
};

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// Nodes are allocated as needed.
pub(super) type Growing = OneRange<false>;
/// All nodes are allocated at the beginning, as in `offset-allocator`.
pub(super) type Reserved = OneRange<true>;

/// tenure's general allocator over one range.
pub(super) struct OneRange<const RESERVED: bool>(General);

impl<const RESERVED: bool> Peer for OneRange<RESERVED> {
    type Handle = Handle;

    fn new(trace: &Trace, capacity: u64) -> Self {
        match General::new(capacity, trace.granule) {
            Ok(mut general) => {
                if RESERVED {
                    general.reserve(trace.peak_live);
                }
                Self(general)
            }
            Err(error) => panic!("{}: {error}", trace.name),
        }
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
        self.0.trim();
    }

    fn reserved(&self) -> u64 {
        self.0.capacity()
    }
}

/// Converts an allocation of a [`Suballocator`].
#[inline]
pub(super) fn placed(allocation: Allocation) -> Placed<Handle> {
    let Allocation { offset, size, padding, handle } = allocation;
    Placed { handle, block: 0, offset, taken: offset - padding..offset + size }
}

/// tenure's general allocator over blocks that are added as needed.
pub(super) struct Blocks {
    set: GeneralBlocks,
    block_bytes: u64,
    spare: Option<BlockId>,
}

impl Peer for Blocks {
    type Handle = Handle;

    fn new(trace: &Trace, _capacity: u64) -> Self {
        match GeneralBlocks::new(trace.granule) {
            Ok(set) => Self { set, block_bytes: trace.block_bytes, spare: None },
            Err(error) => panic!("{}: {error}", trace.name),
        }
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
