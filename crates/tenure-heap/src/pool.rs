//! A pool: blocks divided by one suballocator.

use tenure_suballoc::{BlockAllocation, BlockFreed, BlockId, BlockSuballocator, FreeError, Handle};

use crate::retention::BlockRetention;

mod compaction;
mod large;

use compaction::Compaction;
pub(crate) use compaction::Left;
pub use compaction::{CompactionBudget, RangeMove, RangeNeeds};
use large::LargeBlocks;

/// A block that a pool could not use, with the reason.
#[derive(Debug)]
pub struct Unfit<B> {
    /// The unchanged block.
    pub block: B,
    /// The unsupported feature.
    pub reason: &'static str,
}

/// Totals of a pool. Bytes, except for `allocations`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolTotals {
    /// Bytes of its current blocks.
    pub capacity: u64,
    /// Bytes of live ranges, with rounding and alignment padding.
    pub used: u64,
    /// Requested bytes of live ranges.
    pub requested: u64,
    /// Bytes skipped before live ranges for their alignment.
    pub padding: u64,
    /// The number of live ranges.
    pub allocations: u64,
    /// The peak of `used`.
    pub peak_used: u64,
    /// The peak of `capacity`.
    pub peak_capacity: u64,
    /// The largest free range.
    pub largest_free: u64,
}

impl PoolTotals {
    /// The sum of two pools' statistics, with the larger of the largest free ranges.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            capacity: self.capacity + other.capacity,
            used: self.used + other.used,
            requested: self.requested + other.requested,
            padding: self.padding + other.padding,
            allocations: self.allocations + other.allocations,
            peak_used: self.peak_used + other.peak_used,
            peak_capacity: self.peak_capacity + other.peak_capacity,
            largest_free: self.largest_free.max(other.largest_free),
        }
    }
}

/// Blocks of memory of any kind (`B`), divided by one suballocator (`S`).
///
/// It never creates blocks: if it is full, the caller creates one, with [`Growth`](crate::Growth), and adds it. Empty
/// blocks are kept for a while, see [`end_frame`](Self::end_frame).
///
/// Must be used by one thread at a time.
///
/// ```
/// use tenure_heap::Pool;
/// use tenure_suballoc::GeneralBlocks;
/// let mut pool = Pool::new(GeneralBlocks::new(16)?, 2);
/// assert!(pool.allocate(100, 16).is_none(), "no block yet");
///
/// let mut retired = Vec::new();
/// let range = pool.add_and_allocate("heap", 1024, 100, 16, &mut retired).unwrap();
/// assert_eq!((range.offset, pool.block(range.block)), (0, Some(&"heap")));
/// assert_eq!(pool.totals().requested, 100);
///
/// pool.free(range.handle, 100)?;
/// (0..3).for_each(|_| { pool.end_frame(&mut retired); });
/// assert_eq!(retired, ["heap"], "empty for two whole frames");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pool<B, S> {
    suballocator: S,
    /// The blocks by index.
    blocks: Vec<Option<B>>,
    /// Blocks being removed; empty between calls.
    leaving: Vec<BlockId>,
    retention: BlockRetention,
    /// Bytes of ranges lent to another pool.
    lent: u64,
    /// Requested bytes of live ranges.
    requested: u64,
    /// Bytes skipped before live ranges for their alignment.
    padding: u64,
    allocations: u64,
    peak_used: u64,
    peak_capacity: u64,
    /// The blocks being emptied.
    compaction: Compaction,
    /// The blocks reserved for large ranges.
    large: LargeBlocks,
}

impl<B, S: BlockSuballocator> Pool<B, S> {
    /// A pool without blocks. A block is removed after `idle_frames` frames without allocations, or later if the pool
    /// has recently needed a removed block again.
    #[must_use]
    pub fn new(suballocator: S, idle_frames: u32) -> Self {
        Self {
            suballocator,
            blocks: Vec::new(),
            leaving: Vec::new(),
            retention: BlockRetention::new(idle_frames),
            lent: 0,
            requested: 0,
            padding: 0,
            allocations: 0,
            peak_used: 0,
            peak_capacity: 0,
            compaction: Compaction::default(),
            large: LargeBlocks::default(),
        }
    }

    /// The suballocator of the blocks.
    #[inline]
    pub const fn suballocator(&self) -> &S {
        &self.suballocator
    }

    /// Allocates a range of the existing blocks, and returns it with its block. `None` if all are full, or if the
    /// only space is in an empty block that was created for one range of 4 MiB or more, and the request is less than
    /// three quarters of it: [`allocate_anywhere`](Self::allocate_anywhere) uses such a block. If the pool's blocks
    /// were often recreated, this function also does, for a while.
    ///
    /// Inlined: a call, and a result of a dozen words through memory, take 6 ns.
    #[inline(always)]
    pub fn allocate(&mut self, size: u64, align: u64) -> Option<(BlockAllocation, &B)> {
        let found = self.take(size, align, 0)?;
        // Empty entries have no block in the suballocator.
        Some((found, self.blocks.get(found.block.index())?.as_ref()?))
    }

    /// Like [`allocate`](Self::allocate), but also uses an empty block that was created for a larger range, if it has
    /// at most `most` bytes. Try it before creating a new block that would not be much smaller, and after a new block
    /// was refused.
    ///
    /// ```
    /// use tenure_heap::Pool;
    /// use tenure_suballoc::GeneralBlocks;
    /// let (mut pool, mut retired) = (Pool::new(GeneralBlocks::new(16)?, 2), Vec::new());
    /// let level = pool.add_and_allocate("heap", 16 << 20, 16 << 20, 16, &mut retired).unwrap();
    /// pool.free(level.handle, 16 << 20)?;
    /// assert!(pool.allocate(256, 16).is_none(), "it would keep 16 MiB from being freed");
    /// assert!(pool.allocate_anywhere(256, 16, 1 << 20).is_none());
    /// assert!(pool.allocate_anywhere(256, 16, u64::MAX).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allocate_anywhere(&mut self, size: u64, align: u64, most: u64) -> Option<(BlockAllocation, &B)> {
        let found = self.take(size, align, most)?;
        Some((found, self.blocks.get(found.block.index())?.as_ref()?))
    }

    #[inline(always)]
    fn take(&mut self, size: u64, align: u64, most: u64) -> Option<BlockAllocation> {
        let found = self.place(size, align, most)?;
        self.note_taken(size, found.padding);
        Some(found)
    }

    /// Counts a range of `size` requested bytes.
    #[inline(always)]
    fn note_taken(&mut self, size: u64, padding: u64) {
        self.requested = self.requested.saturating_add(size);
        self.padding += padding;
        self.allocations += 1;
        self.peak_used = self.peak_used.max(self.used());
    }

    /// A range of any block, except for empty blocks of more than `most` bytes that were created for larger ranges.
    #[inline(always)]
    fn place(&mut self, size: u64, align: u64, most: u64) -> Option<BlockAllocation> {
        let found = self.suballocator.allocate(size, align).ok()?;
        if self.large.is_small(found.size) { self.unless_begun(found, most) } else { Some(found) }
    }

    /// Frees a range again if it is the first in a block that was created for a larger one.
    #[cold]
    fn unless_begun(&mut self, found: BlockAllocation, most: u64) -> Option<BlockAllocation> {
        let Some(capacity) = self.large.begun_by(&found, &self.suballocator) else { return Some(found) };
        if capacity > most && !self.large.are_shared() {
            let freed = self.suballocator.take_back(found.handle);
            debug_assert!(freed.is_ok(), "it was allocated a moment ago");
            return None;
        }
        self.large.forget(&[found.block], &self.suballocator);
        Some(found)
    }

    /// Frees a range of `size` requested bytes.
    ///
    /// # Errors
    /// [`FreeError`] if it is not a live range of this pool; nothing is changed then.
    #[inline(always)]
    pub fn free(&mut self, handle: Handle, size: u64) -> Result<BlockFreed, FreeError> {
        let freed = self.suballocator.free(handle)?;
        // A caller that mixes up ranges gets wrong totals only.
        self.padding = self.padding.saturating_sub(freed.padding);
        self.requested = self.requested.saturating_sub(size);
        self.allocations = self.allocations.saturating_sub(1);
        if freed.block_is_empty | self.compaction.watches {
            self.note_free(freed.block, freed.offset);
        }
        Ok(freed)
    }

    /// Lends a range of a block to another pool. It counts as lent, not as live.
    pub fn lend(&mut self, size: u64, align: u64) -> Option<BlockAllocation> {
        let found = self.place(size, align, 0)?;
        self.lent += found.size + found.padding;
        Some(found)
    }

    /// Whether [`allocate`](Self::allocate) would succeed. Changes nothing.
    pub fn has_room(&mut self, size: u64, align: u64) -> bool {
        self.has_room_in(size, align, 0)
    }

    /// Whether [`allocate_anywhere`](Self::allocate_anywhere) would succeed, with blocks of any size. Changes
    /// nothing.
    pub fn has_room_anywhere(&mut self, size: u64, align: u64) -> bool {
        self.has_room_in(size, align, u64::MAX)
    }

    fn has_room_in(&mut self, size: u64, align: u64, most: u64) -> bool {
        let Ok(found) = self.suballocator.allocate(size, align) else { return false };
        let begun = self.large.begun_by(&found, &self.suballocator);
        let has_room = begun.is_none_or(|capacity| capacity <= most || self.large.are_shared());
        self.suballocator.take_back(found.handle).is_ok() && has_room
    }

    /// Bytes of the empty blocks. O(blocks).
    #[must_use]
    pub fn empty_bytes(&self) -> u64 {
        self.blocks().filter(|(.., used)| *used == 0).map(|(_, _, capacity, _)| capacity).sum()
    }

    /// Frees a range from [`lend`](Self::lend). Allocated ranges must use [`free`](Self::free).
    ///
    /// # Errors
    /// [`FreeError`] if it is not a live range of this pool; nothing is changed then.
    pub fn free_lent(&mut self, handle: Handle) -> Result<(), FreeError> {
        let freed = self.suballocator.free(handle)?;
        self.lent = self.lent.saturating_sub(freed.size + freed.padding);
        self.note_free(freed.block, freed.offset);
        Ok(())
    }

    /// Adds a block, and allocates a range of it or of another. Moves the empty blocks, which were too small, to
    /// `retired`: the new block replaces them, so none counts as removed too early. If the pool's blocks were often
    /// recreated, moves only those that exceed its peak.
    ///
    /// # Errors
    /// [`Unfit`] with the block; nothing is changed then.
    pub fn add_and_allocate(
        &mut self,
        block: B,
        capacity: u64,
        size: u64,
        align: u64,
        retired: &mut Vec<B>,
    ) -> Result<BlockAllocation, Unfit<B>> {
        let Ok(id) = self.suballocator.add_block(capacity) else {
            return Err(Unfit { block, reason: "a block of this size in the suballocator" });
        };
        let Some(found) = self.take(size, align, u64::MAX) else {
            let removed = self.suballocator.remove_block(id);
            debug_assert!(removed.is_ok(), "nothing lives in a block that is new");
            return Err(Unfit { block, reason: "a range of this size and alignment in a new block" });
        };
        self.keep(id, block);
        self.large.note_new(id, capacity, size);
        let before = self.suballocator.capacity();
        if self.large.are_shared() {
            self.trim_oldest(0, 0, before.saturating_sub(self.peak_capacity), retired);
        } else {
            self.take_empty(retired);
        }
        let after = self.suballocator.capacity();
        self.large.note_removed(before - after);
        if after > self.peak_capacity {
            self.large.end_sharing(after, self.peak_used);
            self.peak_capacity = after;
        } else {
            self.large.share_after_turnover(self.peak_capacity);
        }
        self.retention.note_growth();
        Ok(found)
    }

    /// Adds a block lent by another pool.
    ///
    /// # Errors
    /// [`Unfit`] with the block; nothing is changed then.
    pub fn add_borrowed(&mut self, block: B, capacity: u64) -> Result<(), Unfit<B>> {
        let Ok(id) = self.suballocator.add_block(capacity) else {
            return Err(Unfit { block, reason: "a block of this size in the suballocator" });
        };
        self.keep(id, block);
        self.retention.note_growth();
        Ok(())
    }

    /// Stores the owner's data of a suballocator block.
    fn keep(&mut self, id: BlockId, block: B) {
        if self.blocks.len() <= id.index() {
            self.blocks.resize_with(id.index() + 1, || None);
        }
        self.blocks[id.index()] = Some(block);
    }

    /// Ends a frame: moves blocks that have been empty for longer than the retention to `retired`. True if there were
    /// any.
    pub fn end_frame(&mut self, retired: &mut Vec<B>) -> bool {
        self.end_frame_of_compaction();
        self.retention.end_frame();
        self.large.end_frame();
        let frames = self.retention.frames();
        let has_some = self.remove(retired, |suballocator, leaving| suballocator.end_frame(frames, leaving));
        if has_some {
            self.retention.note_release();
        }
        has_some
    }

    /// Moves all empty blocks to `retired`, except for the last one if it became empty recently. True if there were
    /// any.
    pub fn trim(&mut self, retired: &mut Vec<B>) -> bool {
        self.remove(retired, |suballocator, leaving| suballocator.trim(leaving))
    }

    /// Moves empty blocks to `retired` during a frame, until they have at least `bytes`: first those that have been
    /// empty for `idle_frames` whole frames; then, unless `all_wait`, those not in alternating use with a period
    /// shorter than the retention of empty blocks. For some time after the pool soon needed such a block again, it
    /// keeps all blocks for their idle frames. Called before the program's memory reaches a new peak. Returns the
    /// moved bytes.
    pub fn make_way(&mut self, idle_frames: u32, all_wait: bool, bytes: u64, retired: &mut Vec<B>) -> u64 {
        let idle = self.trim_oldest(idle_frames, u32::MAX, bytes, retired);
        if idle >= bytes || all_wait || self.retention.is_extended() {
            return idle;
        }
        let young = self.trim_oldest(idle_frames, self.retention.frames(), bytes - idle, retired);
        if young > 0 {
            self.retention.note_release();
        }
        idle + young
    }

    fn trim_oldest(&mut self, idle_frames: u32, turn_frames: u32, bytes: u64, retired: &mut Vec<B>) -> u64 {
        let mut moved = 0;
        self.remove(retired, |suballocator, leaving| {
            moved = suballocator.trim_oldest(idle_frames, turn_frames, bytes, leaving);
        });
        moved
    }

    /// Moves all empty blocks to `retired`. True if there were any.
    pub fn take_empty(&mut self, retired: &mut Vec<B>) -> bool {
        self.remove(retired, |suballocator, leaving| suballocator.end_frame(0, leaving))
    }

    fn remove(&mut self, retired: &mut Vec<B>, choose: impl FnOnce(&mut S, &mut Vec<BlockId>)) -> bool {
        choose(&mut self.suballocator, &mut self.leaving);
        if self.leaving.is_empty() {
            return false;
        }
        self.large.forget(&self.leaving, &self.suballocator);
        let blocks = &mut self.blocks;
        let block_of = |id: BlockId| blocks.get_mut(id.index()).and_then(Option::take);
        retired.extend(self.leaving.drain(..).filter_map(block_of));
        true
    }

    /// Removes a block if it is empty.
    pub fn remove_if_empty(&mut self, id: BlockId) -> Option<B> {
        self.suballocator.remove_block(id).ok()?;
        self.large.forget(&[id], &self.suballocator);
        self.blocks.get_mut(id.index()).and_then(Option::take)
    }

    /// Removes all blocks, including blocks with live ranges. For shutdown.
    pub fn take_blocks(&mut self) -> impl Iterator<Item = B> + '_ {
        self.blocks.drain(..).flatten()
    }

    /// The owner's data of a block; `None` if there is no such block.
    #[inline]
    #[must_use]
    pub fn block(&self, id: BlockId) -> Option<&B> {
        self.blocks.get(id.index()).and_then(Option::as_ref)
    }

    /// Each block with its id, its capacity, and its used and lent bytes.
    pub fn blocks(&self) -> impl Iterator<Item = (BlockId, &B, u64, u64)> + '_ {
        self.suballocator.blocks().filter_map(|id| {
            let capacity = self.suballocator.block_capacity(id)?;
            Some((id, self.block(id)?, capacity, self.suballocator.block_used(id)?))
        })
    }

    /// Bytes of live ranges, without lent ranges.
    #[inline]
    #[must_use]
    pub fn used(&self) -> u64 {
        self.taken().saturating_sub(self.lent)
    }

    /// Bytes of live and lent ranges, which determine the size of the next block.
    #[inline]
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.suballocator.capacity() - self.suballocator.free_bytes()
    }

    /// Totals. O(1), except for the largest free range: see the suballocator.
    #[must_use]
    pub fn totals(&self) -> PoolTotals {
        PoolTotals { largest_free: self.suballocator.largest_free(), ..self.counts() }
    }

    /// Like [`totals`](Self::totals), without the largest free range. O(1).
    #[must_use]
    pub fn counts(&self) -> PoolTotals {
        PoolTotals {
            capacity: self.suballocator.capacity(),
            used: self.used(),
            requested: self.requested,
            padding: self.padding,
            allocations: self.allocations,
            peak_used: self.peak_used,
            peak_capacity: self.peak_capacity,
            largest_free: 0,
        }
    }
}
