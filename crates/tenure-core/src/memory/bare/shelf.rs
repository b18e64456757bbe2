//! The blocks of one sort and the suballocator that divides them.

use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator, FreeError, GeneralBlocks, Handle};

use super::shelves::Sort;
use crate::device::Device;
use crate::memory::growth::Growth;
use crate::memory::patience::Patience;
use crate::memory::pool::HeapBlock;

/// A heap that the suballocator could not use as a block.
pub(super) struct Unfit<D: Device>(pub(super) HeapBlock<D>);

/// Blocks that share everything that ranges must have in common.
pub(super) struct Shelf<D: Device> {
    pub(super) sort: Sort,
    pub(super) growth: Growth,
    ranges: GeneralBlocks,
    /// By block number.
    heaps: Vec<Option<HeapBlock<D>>>,
    /// Blocks on their way out; empty between calls.
    leaving: Vec<BlockId>,
    patience: Patience,
}

impl<D: Device> Shelf<D> {
    pub(super) fn new(sort: Sort, growth: Growth, ranges: GeneralBlocks, idle_grace: u32) -> Self {
        let patience = Patience::new(idle_grace);
        Self { sort, growth, ranges, heaps: Vec::new(), leaving: Vec::new(), patience }
    }

    /// A range of the blocks there are.
    #[inline]
    pub(super) fn allocate(&mut self, size: u64, align: u64) -> Option<BlockAllocation> {
        self.ranges.allocate(size, align).ok()
    }

    /// As [`allocate`](Self::allocate), with the heap that the range's block is: every block has one.
    #[inline(always)]
    pub(super) fn allocate_with_heap(
        &mut self,
        size: u64,
        align: u64,
    ) -> Option<(BlockAllocation, &HeapBlock<D>)> {
        let found = self.allocate(size, align)?;
        let heap = self.heap(found.block)?;
        Some((found, heap))
    }

    /// The heap that a block is.
    #[inline]
    pub(super) fn heap(&self, block: BlockId) -> Option<&HeapBlock<D>> {
        self.heaps.get(block.index()).and_then(Option::as_ref)
    }

    /// Adds a block in place of those that are empty, and takes a range of it or of another. `retired`
    /// gets the empty ones: the new block serves what they did, so that none of them was given away too
    /// soon.
    ///
    /// # Errors
    /// [`Unfit`] with the heap; nothing was changed then.
    pub(super) fn add_and_allocate(
        &mut self,
        heap: HeapBlock<D>,
        size: u64,
        align: u64,
        retired: &mut Vec<HeapBlock<D>>,
    ) -> Result<BlockAllocation, Unfit<D>> {
        let Ok(block) = self.ranges.add_block(heap.size) else { return Err(Unfit(heap)) };
        let Some(found) = self.allocate(size, align) else {
            let removed = self.ranges.remove_block(block);
            debug_assert!(removed.is_ok(), "nothing lives in a block that is new");
            return Err(Unfit(heap));
        };
        if self.heaps.len() <= block.index() {
            self.heaps.resize_with(block.index() + 1, || None);
        }
        self.heaps[block.index()] = Some(heap);
        self.reclaim(retired);
        self.patience.took();
        Ok(found)
    }

    /// Gives a range back; true when nothing else lives in its block.
    ///
    /// # Errors
    /// [`FreeError`] when it is not a live range of this shelf.
    #[inline]
    pub(super) fn free(&mut self, handle: Handle) -> Result<bool, FreeError> {
        self.ranges.free(handle).map(|freed| freed.block_is_empty)
    }

    /// A block has run empty: those that did so longer ago than the shelf's patience lasts are removed.
    pub(super) fn age(&mut self, retired: &mut Vec<HeapBlock<D>>) {
        self.patience.end_frame();
        let grace = self.patience.grace();
        if self.retire(grace, retired) {
            self.patience.gave_away();
        }
    }

    /// Removes every empty block.
    pub(super) fn reclaim(&mut self, retired: &mut Vec<HeapBlock<D>>) {
        self.retire(0, retired);
    }

    /// Removes the blocks that have been empty for so long; true when there were any.
    fn retire(&mut self, grace: u32, retired: &mut Vec<HeapBlock<D>>) -> bool {
        self.ranges.end_frame(grace, &mut self.leaving);
        let has_some = !self.leaving.is_empty();
        let heaps = &mut self.heaps;
        let heap_of = |block: BlockId| heaps.get_mut(block.index()).and_then(Option::take);
        retired.extend(self.leaving.drain(..).filter_map(heap_of));
        has_some
    }

    /// Removes all blocks, whatever lives in them. For shutting down.
    pub(super) fn take_heaps(&mut self) -> impl Iterator<Item = HeapBlock<D>> + '_ {
        self.heaps.drain(..).flatten()
    }

    /// Bytes that live ranges take.
    pub(super) fn used(&self) -> u64 {
        self.ranges.capacity() - self.ranges.free_bytes()
    }

    /// Bytes of the largest free range.
    pub(super) fn largest_free(&self) -> u64 {
        self.ranges.largest_free()
    }

    /// Each block with its bytes.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (BlockId, u64)> + '_ {
        self.ranges.blocks().filter_map(|block| Some((block, self.heap(block)?.size)))
    }
}
