//! The suballocator of one pool: one of two, chosen by configuration.

use tenure_suballoc::{
    AllocError, BlockAllocation, BlockError, BlockFreed, BlockId, BlockSuballocator, Buddy, FreeError,
    GeneralBlocks, Growing, Handle,
};

/// The general suballocator or a growing set of buddies.
pub(crate) enum Ranges {
    General(Box<GeneralBlocks>),
    Buddy(Box<Growing<Buddy>>),
}

impl Ranges {
    /// The general one, in units of `granule` bytes, a power of two.
    pub(crate) fn general(granule: u64) -> Result<Self, BlockError> {
        GeneralBlocks::new(granule).map(|ranges| Self::General(Box::new(ranges)))
    }

    /// Buddies, with smallest ranges of `min_range` bytes, a power of two.
    pub(crate) fn buddy(min_range: u64) -> Self {
        let make = move |capacity| Buddy::with_min_block(capacity, min_range);
        Self::Buddy(Box::new(Growing::new(make)))
    }

    fn inner(&self) -> &dyn BlockSuballocator {
        match self {
            Self::General(ranges) => &**ranges,
            Self::Buddy(ranges) => &**ranges,
        }
    }

    fn inner_mut(&mut self) -> &mut dyn BlockSuballocator {
        match self {
            Self::General(ranges) => &mut **ranges,
            Self::Buddy(ranges) => &mut **ranges,
        }
    }

    #[inline]
    pub(crate) fn allocate(&mut self, size: u64, align: u64) -> Result<BlockAllocation, AllocError> {
        match self {
            Self::General(ranges) => ranges.allocate(size, align),
            Self::Buddy(ranges) => ranges.allocate(size, align),
        }
    }

    /// Looks at ranges that are about to be freed: see [`GeneralBlocks::expect_frees`].
    #[inline]
    pub(crate) fn expect_frees(&self, handles: impl Iterator<Item = Handle>) {
        match self {
            Self::General(ranges) => ranges.expect_frees(handles),
            // Its metadata is a tree that is mostly in the cache.
            Self::Buddy(_) => {}
        }
    }

    #[inline]
    pub(crate) fn free(&mut self, handle: Handle) -> Result<BlockFreed, FreeError> {
        match self {
            Self::General(ranges) => ranges.free(handle),
            Self::Buddy(ranges) => ranges.free(handle),
        }
    }

    pub(crate) fn add_block(&mut self, capacity: u64) -> Result<BlockId, BlockError> {
        self.inner_mut().add_block(capacity)
    }

    pub(crate) fn remove_block(&mut self, block: BlockId) -> Result<(), BlockError> {
        self.inner_mut().remove_block(block)
    }

    pub(crate) fn end_frame(&mut self, idle_frames: u32, retired: &mut Vec<BlockId>) {
        self.inner_mut().end_frame(idle_frames, retired);
    }

    pub(crate) fn trim(&mut self, retired: &mut Vec<BlockId>) {
        self.inner_mut().trim(retired);
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.inner().capacity()
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.inner().free_bytes()
    }

    pub(crate) fn largest_free(&self) -> u64 {
        self.inner().largest_free()
    }

    /// Each block: its number, its bytes and its used bytes.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (BlockId, u64, u64)> + '_ {
        let ranges = self.inner();
        ranges
            .blocks()
            .map(move |id| (id, ranges.block_capacity(id).unwrap_or(0), ranges.block_used(id).unwrap_or(0)))
    }
}
