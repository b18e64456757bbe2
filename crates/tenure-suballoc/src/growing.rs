//! A growing set of blocks, each with a suballocator.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

use crate::block::full_block;
use crate::block_table::{BlockIds, BlockTable};
use crate::buckets::Buckets;
use crate::error::ensure;
use crate::suballocator::check_request;
use crate::{
    AllocError, Allocation, BlockAllocation, BlockError, BlockFreed, BlockId, BlockSuballocator, FilledPiece,
    FreeError, Handle, Inconsistency, Suballocator,
};

/// A [`Suballocator`] for many blocks made from one for a single block.
///
/// Suitable for an algorithm that only manages one range, such as [`Buddy`](crate::Buddy): each block has its own
/// instance. Its downside is an update of the block's bucket in each call, which the general algorithm avoids
/// with [`GeneralBlocks`](crate::GeneralBlocks).
///
/// # Algorithm
/// Each block is in a bucket by its largest free range, four buckets per power of two. A request tries the lowest
/// block of the first bucket that may fit: its largest range is about the smallest that fits, so it is usually
/// the fullest block, and emptier ones become empty. If that fails, the first bucket that certainly fits is
/// tried, and then an empty block.
///
/// # Efficiency
/// At most four blocks are tried, for any number of blocks, and finding each is O(log₆₄ blocks), in addition to
/// the block's own cost.
///
/// # Guarantees
/// A request fails only if every block's largest free range is below the size that its allocator guarantees to
/// serve ([`Suballocator::sure_fit`]), rounded up to a bucket (by less than 1/4, and for `Buddy` not at all), and
/// if the block that ran empty last cannot serve it either.
///
/// # Origin
/// Superblocks in bins by fullness: Berger, McKinley, Blumofe, Wilson, *Hoard*, 2000.
///
/// ```
/// use tenure_suballoc::{BlockSuballocator, Buddy, Growing};
///
/// let mut pool = Growing::new(Buddy::new);
/// pool.add_block(4 << 20)?;
/// let constants = pool.allocate(1000, 256)?;
/// assert_eq!(constants.size, 1024);
/// pool.free(constants.handle)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Growing<A> {
    make: Box<Make<A>>,
    allocators: Vec<Option<A>>,
    table: BlockTable,
    buckets: Buckets,
}

type Make<A> = dyn Fn(u64) -> Result<A, BlockError> + Send + Sync;

impl<A: Suballocator> Growing<A> {
    /// A set without blocks; `make` creates the allocator of a block with the given capacity in bytes.
    ///
    /// The allocators should differ only in their capacities: the range that one of them needs for a request
    /// ([`Suballocator::sure_fit`]) is assumed for all.
    pub fn new(make: impl Fn(u64) -> Result<A, BlockError> + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(make),
            allocators: Vec::new(),
            table: BlockTable::default(),
            buckets: Buckets::default(),
        }
    }

    /// The allocator of a block, to read its own statistics.
    #[must_use]
    pub fn block(&self, block: BlockId) -> Option<&A> {
        self.allocators.get(block.index())?.as_ref()
    }

    /// Tries the best fitting blocks in turn.
    fn allocate_somewhere(&mut self, size: u64, align: u64) -> Option<BlockAllocation> {
        let likely = self.buckets.may_fit(size)?;
        let need = self.block(BlockId(likely))?.sure_fit(size, align);
        let best = self.buckets.may_fit(need).filter(|&id| self.has_free(id, need));
        let sure = || self.buckets.surely_fits(need);
        if let Some(id) = best.or_else(sure)
            && let Some(allocation) = self.allocate_with(id, size, align)
        {
            return Some(allocation);
        }
        let lucky = self.allocate_with(likely, size, align);
        lucky.or_else(|| self.allocate_with(self.table.last_idle()?, size, align))
    }

    fn has_free(&self, id: u32, bytes: u64) -> bool {
        let block = self.block(BlockId(id));
        block.is_some_and(|block| block.largest_free_floor() >= bytes)
    }

    fn allocate_with(&mut self, id: u32, size: u64, align: u64) -> Option<BlockAllocation> {
        let allocator = self.allocators.get_mut(id as usize)?.as_mut()?;
        let allocation = allocator.allocate(size, align).ok()?;
        self.buckets.update(id, allocator.largest_free_floor());
        self.table.charge(id, allocation.size + allocation.padding);
        Some(in_block(BlockId(id), allocation))
    }

    fn forget(&mut self, removed: &[BlockId]) {
        for id in removed {
            self.buckets.update(id.0, 0);
            self.allocators[id.index()] = None;
        }
    }

    #[cold]
    fn full(&self, size: u64, align: u64) -> AllocError {
        let fullest = self.buckets.one_of_last().map(BlockId);
        let largest_free = fullest.and_then(|id| self.block(id)).map_or(0, A::largest_free_floor);
        AllocError::Full { size, align, free_bytes: self.free_bytes(), largest_free }
    }
}

/// A block's allocation as an allocation of the set.
#[inline(always)]
fn in_block(block: BlockId, allocation: Allocation) -> BlockAllocation {
    BlockAllocation {
        block,
        offset: allocation.offset,
        size: allocation.size,
        padding: allocation.padding,
        handle: allocation.handle.in_block(block.0),
    }
}

impl<A: Suballocator> BlockSuballocator for Growing<A> {
    fn add_block(&mut self, capacity: u64) -> Result<BlockId, BlockError> {
        self.table.next_id()?;
        let allocator = (self.make)(capacity)?;
        let id = self.table.add(allocator.capacity())?;
        self.buckets.add(id);
        self.buckets.update(id, allocator.largest_free_floor());
        match self.allocators.get_mut(id as usize) {
            Some(place) => *place = Some(allocator),
            None => self.allocators.push(Some(allocator)),
        }
        Ok(BlockId(id))
    }

    fn remove_block(&mut self, block: BlockId) -> Result<(), BlockError> {
        self.table.remove(block)?;
        self.forget(&[block]);
        Ok(())
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Result<BlockAllocation, AllocError> {
        check_request(size, align)?;
        let allocation = self.allocate_somewhere(size, align);
        allocation.ok_or_else(|| self.full(size, align))
    }

    fn allocate_in(&mut self, block: BlockId, size: u64, align: u64) -> Result<BlockAllocation, AllocError> {
        check_request(size, align)?;
        let allocation = self.allocate_with(block.0, size, align);
        allocation.ok_or_else(|| full_block(self, block, size, align))
    }

    #[inline]
    fn free(&mut self, handle: Handle) -> Result<BlockFreed, FreeError> {
        let id = handle.block();
        let block = self.allocators.get_mut(id as usize).and_then(Option::as_mut);
        let block = block.ok_or(FreeError::Foreign)?;
        let freed = block.free(handle)?;
        self.buckets.update(id, block.largest_free_floor());
        Ok(BlockFreed {
            block: BlockId(id),
            offset: freed.offset,
            size: freed.size,
            padding: freed.padding,
            block_is_empty: self.table.refund(id, freed.size + freed.padding),
        })
    }

    fn take_back(&mut self, handle: Handle) -> Result<BlockFreed, FreeError> {
        let freed = self.free(handle)?;
        if freed.block_is_empty {
            self.table.undo_use(freed.block);
        }
        Ok(freed)
    }

    fn fill_block(
        &mut self,
        block: BlockId,
        after: Option<Handle>,
        most: usize,
        pieces: &mut Vec<FilledPiece<BlockAllocation>>,
    ) -> bool {
        let Some(Some(allocator)) = self.allocators.get_mut(block.index()) else { return true };
        let mut found = Vec::new();
        let is_end = allocator.fill(after.filter(|handle| handle.block() == block.0), most, &mut found);
        self.buckets.update(block.0, allocator.largest_free_floor());
        for FilledPiece { range, was_free } in found {
            if was_free {
                self.table.charge(block.0, range.size + range.padding);
            }
            pieces.push(FilledPiece { range: in_block(block, range), was_free });
        }
        is_end
    }

    fn clear(&mut self) {
        self.table.clear();
        for (id, allocator) in (0..).zip(&mut self.allocators) {
            if let Some(allocator) = allocator {
                allocator.clear();
                self.buckets.update(id, allocator.largest_free_floor());
            }
        }
    }

    #[inline]
    fn get(&self, handle: Handle) -> Option<BlockAllocation> {
        let id = BlockId(handle.block());
        Some(in_block(id, self.block(id)?.get(handle)?))
    }

    fn allocations_in(&self, block: BlockId) -> impl Iterator<Item = BlockAllocation> {
        let allocations = self.block(block).into_iter().flat_map(A::allocations);
        allocations.map(move |allocation| in_block(block, allocation))
    }

    fn holes_in(&self, block: BlockId) -> impl Iterator<Item = Range<u64>> {
        self.block(block).into_iter().flat_map(A::holes)
    }

    fn block_capacity(&self, block: BlockId) -> Option<u64> {
        self.table.block_capacity(block)
    }

    fn block_used(&self, block: BlockId) -> Option<u64> {
        self.table.block_used(block)
    }

    fn blocks(&self) -> BlockIds<'_> {
        self.table.ids()
    }

    fn capacity(&self) -> u64 {
        self.table.capacity()
    }

    fn free_bytes(&self) -> u64 {
        self.table.free_bytes()
    }

    /// O(blocks): it searches the blocks of the last bucket, plus the cost of `largest_free` for each.
    fn largest_free(&self) -> u64 {
        let blocks = self.buckets.last().filter_map(|id| self.block(BlockId(id)));
        blocks.map(A::largest_free).max().unwrap_or(0)
    }

    fn end_frame(&mut self, idle_frames: u32, retired: &mut Vec<BlockId>) {
        let before = retired.len();
        self.table.end_frame(idle_frames, retired);
        self.forget(&retired[before..]);
    }

    fn trim_oldest(
        &mut self,
        idle_frames: u32,
        turn_frames: u32,
        bytes: u64,
        retired: &mut Vec<BlockId>,
    ) -> u64 {
        let before = retired.len();
        let removed = self.table.trim_oldest(idle_frames, turn_frames, bytes, retired);
        self.forget(&retired[before..]);
        removed
    }

    fn trim(&mut self, retired: &mut Vec<BlockId>) {
        let before = retired.len();
        self.table.trim(retired);
        self.forget(&retired[before..]);
    }

    fn validate(&self) -> Result<(), Inconsistency> {
        self.table.validate()?;
        for id in self.blocks() {
            let Some(block) = self.block(id) else {
                ensure!(false, "block {} has no allocator", id.index());
                continue;
            };
            block.validate()?;
            let used = block.capacity() - block.free_bytes();
            ensure!(self.block_used(id) == Some(used), "block {} uses {used}", id.index());
            let largest = block.largest_free_floor();
            ensure!(self.buckets.holds(id.0, largest), "block {} is misfiled", id.index());
        }
        Ok(())
    }
}

impl<A: fmt::Debug> fmt::Debug for Growing<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Growing").field("allocators", &self.allocators).finish_non_exhaustive()
    }
}
