//! One shard of the pool of a class.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use tenure_heap::{CompactionBudget, Growth, Pool, PoolSuballocator, PoolTotals, RangeNeeds, Unfit};
use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator as _, Handle};

use super::Class;
use super::block::{Block, FreeToken, PoolId, RangeId, Source, Store, Suballocation};
use super::movable::{MovableBacking, PlannedMove};
use super::remote_frees::{OpenRemoteFrees, RemoteFreeList};
use crate::api_resource::ApiResource;
use crate::config::CompactionConfig;
use crate::device::{Device, Usage};

/// The blocks of a shard, under its lock.
pub(super) struct ShardBlocks<D: Device> {
    id: PoolId,
    pub(super) pool: Pool<Block<D>, PoolSuballocator>,
    /// Bytes of blocks in heaps of another pool.
    borrowed: u64,
    /// Remote frees in progress; empty between calls.
    remote_frees: Vec<FreeToken>,
    /// Whether the remote frees at the end of the last frame were left to the shard's own thread.
    has_old_remote_frees: bool,
    /// The movable resources in the ranges, by index of range. A resource that left its range is kept until
    /// another takes the slot.
    movables: Vec<Weak<MovableBacking<D>>>,
    /// Frames since a block was added.
    quiet_frames: u32,
    /// Used and total bytes at the end of the last compaction.
    compact_at: Option<(u64, u64)>,
}

/// Totals of one shard, in O(1) except the largest free range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardTotals {
    /// Ranges in lent pieces count in the borrowing shard, the bytes of the pieces in the lending one.
    pub pool: PoolTotals,
    /// Bytes of blocks in heaps of another pool.
    pub borrowed: u64,
}

impl ShardTotals {
    /// The totals of two shards together.
    pub(super) fn with(self, other: Self) -> Self {
        Self { pool: self.pool.with(other.pool), borrowed: self.borrowed + other.borrowed }
    }
}

/// Blocks of one class, shared by all threads, or one shard of them.
///
/// A short lock guards the ranges. Another lock is held while the driver creates a block, so that other threads
/// that need one wait for it instead of creating one each. A thread that finds room or frees never waits for the
/// driver.
pub struct PoolShard<D: Device> {
    pub id: PoolId,
    pub class: Class,
    pub growth: Growth,
    /// Alignment of new heaps, in bytes.
    pub heap_alignment: u64,
    /// The usage of the buffers of range pools.
    pub buffer_usage: Usage,
    growing: Mutex<()>,
    /// The thread that owns the shard: the last one known to have allocated ranges.
    resident: AtomicUsize,
    remote_frees: RemoteFreeList,
    blocks: Mutex<ShardBlocks<D>>,
}

/// Maximum number of remote frees that a shard's own thread processes at each allocation: few, so that no single
/// call frees everything that a frame has dropped.
const BATCH: usize = 64;

impl<D: Device> PoolShard<D> {
    pub(super) fn new(
        id: PoolId,
        class: Class,
        growth: Growth,
        heap_alignment: u64,
        buffer_usage: Usage,
        suballocator: PoolSuballocator,
        idle_frames: u32,
    ) -> Self {
        let blocks = ShardBlocks {
            id,
            pool: Pool::new(suballocator, idle_frames),
            borrowed: 0,
            remote_frees: Vec::new(),
            has_old_remote_frees: false,
            movables: Vec::new(),
            quiet_frames: 0,
            compact_at: None,
        };
        Self {
            id,
            class,
            growth,
            heap_alignment,
            buffer_usage,
            growing: Mutex::new(()),
            resident: AtomicUsize::new(usize::MAX),
            remote_frees: RemoteFreeList::default(),
            blocks: Mutex::new(blocks),
        }
    }

    /// Locks the shard, and processes all remote frees.
    pub(super) fn lock(&self) -> MutexGuard<'_, ShardBlocks<D>> {
        self.lock_after(usize::MAX)
    }

    /// Locks the shard, and processes remote frees, at most about `most`.
    #[inline]
    fn lock_after(&self, most: usize) -> MutexGuard<'_, ShardBlocks<D>> {
        let mut blocks = self.blocks.lock();
        if self.remote_frees.has_some() {
            blocks.free_remotes(&self.remote_frees, most);
        }
        blocks
    }

    /// Locks the shard, and leaves remote frees to the next user.
    #[inline]
    pub(super) fn lock_as_it_is(&self) -> MutexGuard<'_, ShardBlocks<D>> {
        self.blocks.lock()
    }

    /// A range with its buffer.
    #[inline]
    pub(super) fn take(&self, size: u64, align: u64) -> Option<(Suballocation, Arc<ApiResource<D>>)> {
        let mut blocks = self.lock_after(BATCH);
        match blocks.take(size, align)? {
            (range, Block { store: Store::Buffer(buffer), .. }) => Some((range, buffer.clone())),
            _ => None,
        }
    }

    /// Notes that the thread regularly allocates ranges here, unlike a thread that only found no room in its own
    /// shard. True if another such thread was here last, and the shard is locked at this moment.
    #[inline]
    pub(super) fn meets(&self, thread: usize) -> bool {
        let is_same = self.resident.load(Ordering::Relaxed) == thread;
        if !is_same {
            self.resident.store(thread, Ordering::Relaxed);
        }
        !is_same && self.blocks.is_locked()
    }

    /// Opens the list of remote frees: they are processed when the shard is next used, without disturbing its
    /// thread now.
    #[inline]
    pub(super) fn open_remote_frees(&self) -> OpenRemoteFrees<'_> {
        self.remote_frees.open()
    }

    /// Whether this shard owns the blocks; the others suballocate pieces that it lends.
    #[inline]
    pub(super) const fn is_first(&self) -> bool {
        self.id.shard() == 0
    }

    /// Prevents other threads from growing the shard at the same time.
    pub(super) fn lock_growth(&self) -> MutexGuard<'_, ()> {
        self.growing.lock()
    }

    /// Removes the blocks that have been empty for longer than the retention.
    pub(super) fn end_frame(&self, retired: &mut Vec<Block<D>>) {
        let blocks = &mut *self.blocks.lock();
        blocks.quiet_frames = blocks.quiet_frames.saturating_add(1);
        // The shard's own thread has one frame to process remote frees itself.
        if self.remote_frees.has_some() && std::mem::replace(&mut blocks.has_old_remote_frees, true) {
            blocks.free_remotes(&self.remote_frees, usize::MAX);
        }
        blocks.remove(retired, Pool::end_frame);
    }

    /// Removes every empty block, except the last one if it became empty recently, and all empty lent pieces; true
    /// if there were any.
    pub(super) fn trim(&self, retired: &mut Vec<Block<D>>) -> bool {
        self.lock().remove(retired, if self.is_first() { Pool::trim } else { Pool::take_empty })
    }

    /// Removes every empty block; true when there were any.
    pub(super) fn take_empty(&self, retired: &mut Vec<Block<D>>) -> bool {
        self.lock().remove(retired, Pool::take_empty)
    }

    /// The totals. Ranges in lent pieces count in the borrowing shard, the bytes of the pieces in the lending
    /// one.
    pub fn totals(&self) -> ShardTotals {
        let blocks = self.lock();
        let mut pool = blocks.pool.totals();
        if !self.is_first() {
            pool.capacity = 0;
        }
        ShardTotals { pool, borrowed: blocks.borrowed }
    }

    /// Bytes of the shard's own empty blocks, except those in heaps of another pool.
    pub fn idle(&self) -> u64 {
        let blocks = self.lock();
        let is_own = |block: &Block<D>| matches!(block.source, Source::Driver(_));
        let empty = blocks.pool.blocks().filter(|(_, block, _, used)| *used == 0 && is_own(block));
        empty.map(|(_, _, capacity, _)| capacity).sum()
    }

    /// The number, size and used bytes of each block that the shard owns; lent pieces count as used.
    pub fn blocks(&self) -> Vec<(usize, u64, u64)> {
        if !self.is_first() {
            return Vec::new();
        }
        self.lock().pool.blocks().map(|(id, _, capacity, used)| (id.index(), capacity, used)).collect()
    }

    /// Whether blocks are being emptied, or enough is free, for long enough, to make compaction worthwhile.
    pub(super) fn wants_compaction(&self, config: &CompactionConfig) -> bool {
        let blocks = self.lock();
        let (taken, capacity) = (blocks.pool.taken(), blocks.pool.suballocator().capacity());
        let free = u128::from(capacity.saturating_sub(taken)) * 100;
        let is_sparse = free >= u128::from(capacity) * u128::from(config.min_free);
        let is_new = blocks.compact_at != Some((taken, capacity));
        let is_quiet = blocks.quiet_frames >= config.quiet_frames;
        blocks.pool.is_compacting() || (is_sparse && is_new && is_quiet)
    }

    /// Continues emptying blocks, as [`Pool::compact`] does: appends the moves to `moves`, and empty blocks to
    /// `retired`. True when nothing is left to do.
    pub(super) fn compact(
        &self,
        budget: CompactionBudget,
        moves: &mut Vec<PlannedMove<D>>,
        retired: &mut Vec<Block<D>>,
    ) -> bool {
        let blocks = &mut *self.lock();
        let (id, movables, mut found) = (self.id, std::mem::take(&mut blocks.movables), Vec::new());
        let needs = |range: &BlockAllocation| {
            let movable = movables.get(range.handle.index())?.upgrade()?;
            let needs = movable.needs_at(RangeId { pool: id, handle: range.handle })?;
            Some(RangeNeeds { size: needs.size, alignment: needs.alignment })
        };
        let is_done =
            blocks.remove(retired, |pool, retired| pool.compact(budget, needs, &mut found, retired));
        blocks.movables = movables;
        let now = (blocks.pool.taken(), blocks.pool.suballocator().capacity());
        blocks.compact_at = is_done.then_some(now);
        for moved in found {
            let to = blocks.range(&moved.to, moved.size);
            let from = RangeId { pool: id, handle: moved.from.handle };
            let movable = blocks.movables.get(from.handle.index()).cloned().unwrap_or_default();
            // The pool chose the range some calls ago. The resource may have moved to faster memory meanwhile.
            if movable.upgrade().is_some_and(|movable| movable.plan(from)) {
                blocks.note_movable(moved.to.handle, movable.clone());
                moves.push(PlannedMove { movable, from, to });
            } else {
                blocks.free(&to.free_token());
            }
        }
        is_done
    }
}

impl<D: Device> ShardBlocks<D> {
    /// Processes frees from other threads.
    #[cold]
    fn free_remotes(&mut self, list: &RemoteFreeList, most: usize) {
        let mut free_tokens = std::mem::take(&mut self.remote_frees);
        list.take(most, &mut free_tokens);
        for batch in free_tokens.chunks(BATCH) {
            self.expect_frees(batch.iter());
            batch.iter().for_each(|free_token| self.free(free_token));
        }
        free_tokens.clear();
        self.remote_frees = free_tokens;
        self.has_old_remote_frees = false;
    }

    /// Touches ranges that are about to be freed, so that their cache misses overlap.
    #[inline]
    pub(super) fn expect_frees<'r>(&self, free_tokens: impl Iterator<Item = &'r FreeToken>) {
        self.pool.suballocator().expect_frees(free_tokens.map(|free_token| free_token.handle));
    }

    /// Frees a range.
    #[inline]
    pub(super) fn free(&mut self, free_token: &FreeToken) {
        let freed = self.pool.free(free_token.handle, free_token.size);
        debug_assert!(freed.is_ok(), "a suballocation is freed once, in its own shard");
    }

    /// A range of the existing blocks, with the block's API object.
    #[inline(never)]
    pub(super) fn allocate(&mut self, size: u64, align: u64) -> Option<(Suballocation, Store<D>)> {
        let (range, block) = self.take(size, align)?;
        Some((range, block.store.clone()))
    }

    /// A range of the existing blocks, with the block. Inlined: a call, with a result of a dozen words through
    /// memory, would take 6 ns.
    #[inline(always)]
    fn take(&mut self, size: u64, align: u64) -> Option<(Suballocation, &Block<D>)> {
        let (found, block) = self.pool.allocate(size, align)?;
        Some((Suballocation::new(self.id, &found, block.base(), size), block))
    }

    /// As [`allocate`](Self::allocate), but may also use an empty block of at most `most` bytes that was created
    /// for a larger range.
    pub(super) fn allocate_anywhere(
        &mut self,
        size: u64,
        align: u64,
        most: u64,
    ) -> Option<(Suballocation, Store<D>)> {
        let (found, block) = self.pool.allocate_anywhere(size, align, most)?;
        let store = block.store.clone();
        Some((self.range(&found, size), store))
    }

    /// A range of a block, as the pool has found it.
    fn range(&self, found: &BlockAllocation, size: u64) -> Suballocation {
        let base = self.pool.block(found.block).map_or(0, Block::base);
        Suballocation::new(self.id, found, base, size)
    }

    /// Lends a range of a block to another shard; tries `sizes` in turn.
    pub(super) fn lend(&mut self, mut sizes: impl Iterator<Item = u64>, align: u64) -> Option<Block<D>> {
        let (size, found) = sizes.find_map(|size| Some((size, self.pool.lend(size, align)?)))?;
        let source = Source::Lent(Suballocation::new(self.id, &found, 0, size));
        Some(Block { store: self.pool.block(found.block)?.store.clone(), size, source })
    }

    /// Adds a range lent by the first shard as a block, and allocates a range of it or of another.
    ///
    /// # Errors
    /// The lent range if the suballocator refuses it; the shard is unchanged then.
    pub(super) fn add_lent(
        &mut self,
        block: Block<D>,
        size: u64,
        align: u64,
    ) -> Result<Option<(Suballocation, Store<D>)>, Block<D>> {
        let capacity = block.size;
        self.pool.add_borrowed(block, capacity).map_err(|Unfit { block, .. }| block)?;
        Ok(self.allocate(size, align))
    }

    /// Adds a block in place of the empty ones, which are moved to `retired`, and allocates a range of it or of
    /// another.
    ///
    /// # Errors
    /// [`Unfit`] with the block; the shard is unchanged then.
    pub(super) fn add_and_allocate(
        &mut self,
        block: Block<D>,
        size: u64,
        align: u64,
        retired: &mut Vec<Block<D>>,
    ) -> Result<(Suballocation, Store<D>), Unfit<Block<D>>> {
        let (store, borrowed, capacity) = (block.store.clone(), block.borrowed(), block.size);
        let found = self
            .remove(retired, |pool, retired| pool.add_and_allocate(block, capacity, size, align, retired))?;
        self.quiet_frames = 0;
        self.borrowed += borrowed;
        let range = self.range(&found, size);
        Ok((range, self.pool.block(found.block).map_or(store, |block| block.store.clone())))
    }

    /// Removes the empty blocks that `choose` moves to `retired`.
    pub(super) fn remove<T>(
        &mut self,
        retired: &mut Vec<Block<D>>,
        choose: impl FnOnce(&mut Pool<Block<D>, PoolSuballocator>, &mut Vec<Block<D>>) -> T,
    ) -> T {
        let before = retired.len();
        let chosen = choose(&mut self.pool, retired);
        self.borrowed -= retired[before..].iter().map(Block::borrowed).sum::<u64>();
        chosen
    }

    /// Removes a block if it is empty.
    pub(super) fn remove_if_empty(&mut self, block: BlockId) -> Option<Block<D>> {
        let block = self.pool.remove_if_empty(block)?;
        self.borrowed -= block.borrowed();
        Some(block)
    }

    /// Removes all blocks, even with live ranges; returns those that the shard owns. For shutting down.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Block<D>> + '_ {
        self.borrowed = 0;
        self.pool.take_blocks().filter(|block| !matches!(block.source, Source::Lent(_)))
    }

    /// Whether a block has room for a range of this size and alignment.
    pub(super) fn has_room(&mut self, size: u64, align: u64) -> bool {
        self.pool.has_room(size, align)
    }

    /// Notes the movable resource in a range.
    pub(super) fn note_movable(&mut self, range: Handle, movable: Weak<MovableBacking<D>>) {
        let index = range.index();
        if self.movables.len() <= index {
            self.movables.resize_with(index + 1, Weak::new);
        }
        self.movables[index] = movable;
    }

    /// The movable resources in the ranges.
    pub(super) fn movables(&self) -> impl Iterator<Item = Arc<MovableBacking<D>>> + '_ {
        self.movables.iter().filter_map(Weak::upgrade)
    }
}
