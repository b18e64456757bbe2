//! The suballocator of a pool, chosen by the configuration.

use std::ops::Range;

use tenure_suballoc::{
    AllocError, BlockAllocation, BlockError, BlockFreed, BlockId, BlockIds, BlockSuballocator, Buddy,
    FilledPiece, FreeError, GeneralBlocks, Growing, Handle, Inconsistency,
};

/// The general suballocator, or a growing set of buddies.
///
/// ```
/// use tenure_heap::PoolSuballocator;
/// use tenure_suballoc::BlockSuballocator;
/// for mut ranges in [PoolSuballocator::general(16)?, PoolSuballocator::buddy(256)] {
///     ranges.add_block(1 << 20)?;
///     let range = ranges.allocate(1000, 16)?;
///     assert!(range.size >= 1000);
///     ranges.free(range.handle)?;
///     assert!(ranges.is_empty());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub enum PoolSuballocator {
    /// Packs like best fit.
    General(Box<GeneralBlocks>),
    /// Powers of two.
    Buddy(Box<Growing<Buddy>>),
}

impl PoolSuballocator {
    /// The general suballocator, in units of `granule` bytes, a power of two.
    ///
    /// # Errors
    /// [`BlockError`] if the granule is not a power of two.
    pub fn general(granule: u64) -> Result<Self, BlockError> {
        GeneralBlocks::new(granule).map(|ranges| Self::General(Box::new(ranges)))
    }

    /// Buddies with a minimum range size of `min_range` bytes, a power of two.
    #[must_use]
    pub fn buddy(min_range: u64) -> Self {
        let make = move |capacity| Buddy::with_min_block(capacity, min_range);
        Self::Buddy(Box::new(Growing::new(make)))
    }

    /// Prefetches metadata of ranges that will soon be freed: see [`GeneralBlocks::expect_frees`].
    #[inline]
    pub fn expect_frees(&self, handles: impl Iterator<Item = Handle>) {
        match self {
            Self::General(ranges) => ranges.expect_frees(handles),
            // No prefetch: a buddy allocator's metadata is a tree that is mostly in the cache.
            Self::Buddy(_) => {}
        }
    }
}

macro_rules! delegate {
    ($self:ident, $ranges:ident => $call:expr) => {
        match $self {
            Self::General($ranges) => $call,
            Self::Buddy($ranges) => $call,
        }
    };
}

impl BlockSuballocator for PoolSuballocator {
    fn add_block(&mut self, capacity: u64) -> Result<BlockId, BlockError> {
        delegate!(self, ranges => ranges.add_block(capacity))
    }

    fn remove_block(&mut self, block: BlockId) -> Result<(), BlockError> {
        delegate!(self, ranges => ranges.remove_block(block))
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Result<BlockAllocation, AllocError> {
        delegate!(self, ranges => ranges.allocate(size, align))
    }

    fn allocate_in(&mut self, block: BlockId, size: u64, align: u64) -> Result<BlockAllocation, AllocError> {
        delegate!(self, ranges => ranges.allocate_in(block, size, align))
    }

    #[inline]
    fn free(&mut self, handle: Handle) -> Result<BlockFreed, FreeError> {
        delegate!(self, ranges => ranges.free(handle))
    }

    fn take_back(&mut self, handle: Handle) -> Result<BlockFreed, FreeError> {
        delegate!(self, ranges => ranges.take_back(handle))
    }

    fn fill_block(
        &mut self,
        block: BlockId,
        after: Option<Handle>,
        most: usize,
        pieces: &mut Vec<FilledPiece<BlockAllocation>>,
    ) -> bool {
        delegate!(self, ranges => ranges.fill_block(block, after, most, pieces))
    }

    fn clear(&mut self) {
        delegate!(self, ranges => ranges.clear());
    }

    fn get(&self, handle: Handle) -> Option<BlockAllocation> {
        delegate!(self, ranges => ranges.get(handle))
    }

    fn allocations_in(&self, block: BlockId) -> impl Iterator<Item = BlockAllocation> {
        let all: Vec<BlockAllocation> = delegate!(self, ranges => ranges.allocations_in(block).collect());
        all.into_iter()
    }

    fn holes_in(&self, block: BlockId) -> impl Iterator<Item = Range<u64>> {
        let all: Vec<Range<u64>> = delegate!(self, ranges => ranges.holes_in(block).collect());
        all.into_iter()
    }

    fn block_capacity(&self, block: BlockId) -> Option<u64> {
        delegate!(self, ranges => ranges.block_capacity(block))
    }

    fn block_used(&self, block: BlockId) -> Option<u64> {
        delegate!(self, ranges => ranges.block_used(block))
    }

    fn blocks(&self) -> BlockIds<'_> {
        delegate!(self, ranges => ranges.blocks())
    }

    #[inline]
    fn capacity(&self) -> u64 {
        delegate!(self, ranges => ranges.capacity())
    }

    #[inline]
    fn free_bytes(&self) -> u64 {
        delegate!(self, ranges => ranges.free_bytes())
    }

    fn largest_free(&self) -> u64 {
        delegate!(self, ranges => ranges.largest_free())
    }

    fn end_frame(&mut self, idle_frames: u32, retired: &mut Vec<BlockId>) {
        delegate!(self, ranges => ranges.end_frame(idle_frames, retired));
    }

    fn trim_oldest(
        &mut self,
        idle_frames: u32,
        turn_frames: u32,
        bytes: u64,
        retired: &mut Vec<BlockId>,
    ) -> u64 {
        delegate!(self, ranges => ranges.trim_oldest(idle_frames, turn_frames, bytes, retired))
    }

    fn trim(&mut self, retired: &mut Vec<BlockId>) {
        delegate!(self, ranges => ranges.trim(retired));
    }

    fn validate(&self) -> Result<(), Inconsistency> {
        delegate!(self, ranges => ranges.validate())
    }
}
