//! The pool of a class, shared by threads: one shard of it, and its blocks.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, MutexGuard};
use tenure_heap::{CompactionBudget, Growth, Pool, PoolSuballocator, PoolTotals, RangeNeeds, Unfit};
use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator as _, Handle};

use super::Class;
use super::freeing::{OpenRemoteFrees, RemoteFreeList};
use super::movable::{MovableBacking, PlannedMove};
use crate::api_resource::ApiResource;
use crate::block_set::BlockKey;
use crate::config::CompactionConfig;
use crate::device::{Device, Usage};

/// A heap with its size in bytes.
pub(crate) struct HeapBlock<D: Device> {
    pub(crate) heap: D::Heap,
    pub(crate) size: u64,
    /// The key of the block, if it is evictable.
    pub(crate) block: Option<BlockKey>,
}

/// The API object behind a block of a pool.
pub(crate) enum Store<D: Device> {
    /// A heap, for placed resources, and the pool that owns its memory.
    Heap { heap: Arc<HeapBlock<D>>, pool: PoolId },
    /// A committed buffer of `size` bytes, for ranges, and the pool that owns its memory.
    Buffer { buffer: Arc<ApiResource<D>>, size: u64, pool: PoolId },
    /// A buffer of `size` bytes, for ranges, placed in a heap of another pool.
    Slot { buffer: Arc<ApiResource<D>>, size: u64, suballocation: Suballocation },
}

impl<D: Device> Clone for Store<D> {
    fn clone(&self) -> Self {
        match self {
            Self::Heap { heap, pool } => Self::Heap { heap: heap.clone(), pool: *pool },
            Self::Buffer { buffer, size, pool } => {
                Self::Buffer { buffer: buffer.clone(), size: *size, pool: *pool }
            }
            Self::Slot { buffer, size, suballocation } => {
                Self::Slot { buffer: buffer.clone(), size: *size, suballocation: *suballocation }
            }
        }
    }
}

impl<D: Device> Store<D> {
    /// The buffer whose ranges the block allocates, or the heap in which it places resources.
    pub(crate) fn as_buffer(&self) -> Option<&Arc<ApiResource<D>>> {
        match self {
            Self::Heap { .. } => None,
            Self::Buffer { buffer, .. } | Self::Slot { buffer, .. } => Some(buffer),
        }
    }
}

/// A block that a pool suballocates.
pub(crate) struct Block<D: Device> {
    pub(crate) store: Store<D>,
    /// The range of the first shard's block that this block is; `None` for a whole block.
    pub(crate) lease: Option<Suballocation>,
}

impl<D: Device> Block<D> {
    /// The byte of the API object at which the block begins.
    #[inline]
    fn base(&self) -> u64 {
        self.lease.as_ref().map_or(0, |lease| lease.offset)
    }

    /// The block of another pool or shard that contains it.
    pub(super) fn lies_in(&self) -> Option<(PoolId, BlockId)> {
        let slot = match &self.store {
            Store::Slot { suballocation, .. } => Some(suballocation),
            Store::Heap { .. } | Store::Buffer { .. } => None,
        };
        self.lease.as_ref().or(slot).map(|around| (around.pool, around.block))
    }

    /// Bytes in a heap of another pool. Those of a piece count with the block that lent it.
    fn borrowed(&self) -> u64 {
        match self {
            Self { store: Store::Slot { size, .. }, lease: None } => *size,
            _ => 0,
        }
    }
}

/// The number of a pool: the index of its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolId(pub(crate) u16);

/// A range of a block of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suballocation {
    pub(crate) pool: PoolId,
    pub(crate) block: BlockId,
    pub(crate) handle: Handle,
    pub(crate) offset: u64,
    /// Bytes requested.
    pub(crate) size: u64,
    /// Bytes taken, including rounding.
    pub(crate) reserved: u64,
}

impl Suballocation {
    /// A range of a block that begins at byte `base` of its API object; `size` bytes were requested.
    #[inline(always)]
    const fn new(pool: PoolId, found: &BlockAllocation, base: u64, size: u64) -> Self {
        let BlockAllocation { block, handle, offset, size: reserved, .. } = *found;
        Self { pool, block, handle, offset: base + offset, size, reserved }
    }

    /// The token that frees the range.
    #[inline]
    pub(crate) const fn free_token(&self) -> FreeToken {
        FreeToken { pool: self.pool, block: self.block, handle: self.handle, size: self.size }
    }
}

/// The id of a range, without its sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeId {
    pub(crate) pool: PoolId,
    pub(crate) handle: Handle,
}

/// The token that frees a range.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreeToken {
    pub(crate) pool: PoolId,
    block: BlockId,
    pub(crate) handle: Handle,
    /// Bytes requested.
    pub(crate) size: u64,
}

impl FreeToken {
    /// A number that is unique until the range is freed. The block is part of it, because each block of small
    /// uploads numbers its own ranges, which are at most 2²⁶.
    pub(crate) fn key(&self) -> u64 {
        let in_pool = (u64::from(u32::from(self.block)) << 27).wrapping_add(self.handle.index() as u64);
        1 << 63 | u64::from(self.pool.0) << 47 | in_pool & ((1 << 47) - 1)
    }
}

struct State<D: Device> {
    pool: Pool<Block<D>, PoolSuballocator>,
    /// Bytes of blocks in heaps of another pool.
    borrowed: u64,
    /// Remote frees in progress; empty between calls.
    remote_frees: Vec<FreeToken>,
    /// There were remote frees at the end of the last frame, and they were left to the shard's own thread.
    has_old_remote_frees: bool,
    /// The movable resources in the ranges, by index of range. A resource that left its range stays here until
    /// another takes the slot.
    movables: Vec<Weak<MovableBacking<D>>>,
    /// Frames since a block was added.
    quiet_frames: u32,
    /// Used and total bytes when the last compaction had finished.
    compact_at: Option<(u64, u64)>,
}

/// Totals of one shard, in O(1) except the largest free range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardTotals {
    /// Ranges in lent pieces count in the borrowing shard, the bytes of the pieces in the lending one.
    pub(crate) pool: PoolTotals,
    /// Bytes of blocks in heaps of another pool.
    pub(crate) borrowed: u64,
}

impl ShardTotals {
    /// The totals of two shards together.
    pub(super) fn with(self, other: Self) -> Self {
        Self { pool: self.pool.with(other.pool), borrowed: self.borrowed + other.borrowed }
    }
}

/// Blocks of one class, shared by all threads, or one shard of them.
///
/// A short lock guards the ranges. Another lock is held while the driver makes a block, so that other threads
/// that need one wait for it instead of making one each. A thread that finds room or frees never waits for the
/// driver.
pub(crate) struct PoolShard<D: Device> {
    pub(crate) id: PoolId,
    pub(crate) class: Class,
    pub(crate) growth: Growth,
    /// Alignment of new heaps, in bytes.
    pub(crate) heap_alignment: u64,
    /// The usage of the buffers of range pools.
    pub(crate) buffer_usage: Usage,
    growing: Mutex<()>,
    /// The thread that owns the shard, as far as known: the last one that took ranges.
    resident: AtomicUsize,
    remote_frees: RemoteFreeList,
    state: Mutex<State<D>>,
}

/// A locked shard, for freeing ranges.
pub(crate) struct LockedShard<'a, D: Device>(MutexGuard<'a, State<D>>);

impl<D: Device> LockedShard<'_, D> {
    /// Touches ranges that are about to be freed, so that their cache misses overlap.
    #[inline]
    pub(crate) fn expect<'r>(&self, free_tokens: impl Iterator<Item = &'r FreeToken>) {
        self.0.pool.suballocator().expect_frees(free_tokens.map(|free_token| free_token.handle));
    }

    /// Frees a range.
    #[inline]
    pub(crate) fn free(&mut self, free_token: &FreeToken) {
        self.0.free(free_token);
    }
}

/// Remote frees that a shard's own thread carries out each time it takes a range: few, so that no single call
/// frees everything that a frame has dropped.
const BATCH: usize = 64;

/// Frames for which a block must be empty before it makes way for others: blocks that each frame fills and
/// empties stay.
const MAKE_WAY: u32 = 3;

impl<D: Device> PoolShard<D> {
    pub(crate) fn new(
        id: PoolId,
        class: Class,
        growth: Growth,
        heap_alignment: u64,
        buffer_usage: Usage,
        suballocator: PoolSuballocator,
        idle_frames: u32,
    ) -> Self {
        let state = State {
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
            remote_frees: RemoteFreeList::new(),
            state: Mutex::new(state),
        }
    }

    /// Locks the shard, and carries out all remote frees.
    fn lock(&self) -> MutexGuard<'_, State<D>> {
        let mut state = self.state.lock();
        if self.remote_frees.has_some() {
            self.free_remotes(&mut state, usize::MAX);
        }
        state
    }

    /// Carries out frees from other threads.
    #[cold]
    fn free_remotes(&self, state: &mut State<D>, most: usize) {
        let mut free_tokens = std::mem::take(&mut state.remote_frees);
        self.remote_frees.take(most, &mut free_tokens);
        for batch in free_tokens.chunks(BATCH) {
            state.pool.suballocator().expect_frees(batch.iter().map(|free_token| free_token.handle));
            batch.iter().for_each(|free_token| state.free(free_token));
        }
        free_tokens.clear();
        state.remote_frees = free_tokens;
        state.has_old_remote_frees = false;
    }

    /// A range of the existing blocks, with its block.
    #[inline]
    pub(crate) fn allocate(&self, size: u64, align: u64) -> Option<(Suballocation, Store<D>)> {
        self.lock().allocate(self.id, size, align)
    }

    /// A range of the existing blocks, also the first range in an empty block of at most `most` bytes that was
    /// made for a larger range.
    pub(crate) fn allocate_anywhere(
        &self,
        size: u64,
        align: u64,
        most: u64,
    ) -> Option<(Suballocation, Store<D>)> {
        let state = &mut *self.lock();
        let (found, block) = state.pool.allocate_anywhere(size, align, most)?;
        Some((Suballocation::new(self.id, &found, block.base(), size), block.store.clone()))
    }

    /// Lends a range of a block to another shard; tries `sizes` in turn.
    pub(crate) fn lend_piece(&self, mut sizes: impl Iterator<Item = u64>, align: u64) -> Option<Block<D>> {
        let state = &mut *self.lock();
        let (size, found) = sizes.find_map(|size| Some((size, state.pool.lend(size, align)?)))?;
        let block = state.pool.block(found.block)?;
        let lease = Suballocation::new(self.id, &found, 0, size);
        Some(Block { store: block.store.clone(), lease: Some(lease) })
    }

    /// Takes back a range lent by [`lend_piece`](Self::lend_piece).
    pub(crate) fn take_back(&self, lease: &Suballocation) {
        let freed = self.lock().pool.take_back(lease.handle);
        debug_assert!(freed.is_ok(), "a piece is given back once, to where it comes from");
    }

    /// A range with its buffer.
    #[inline]
    pub(crate) fn take(&self, size: u64, align: u64) -> Option<(Suballocation, Arc<ApiResource<D>>)> {
        let mut state = self.state.lock();
        if self.remote_frees.has_some() {
            self.free_remotes(&mut state, BATCH);
        }
        let (suballocation, block) = state.take(self.id, size, align)?;
        Some((suballocation, block.store.as_buffer()?.clone()))
    }

    /// Notes that the thread regularly takes ranges here, unlike a thread that only found no room in its own
    /// shard. True if another such thread was here last, and the shard is locked at this moment.
    #[inline]
    pub(crate) fn meets(&self, thread: usize) -> bool {
        let is_same = self.resident.load(Ordering::Relaxed) == thread;
        if !is_same {
            self.resident.store(thread, Ordering::Relaxed);
        }
        !is_same && self.state.is_locked()
    }

    /// Locks the shard for freeing ranges.
    #[inline]
    pub(crate) fn lock_to_free(&self) -> LockedShard<'_, D> {
        LockedShard(self.state.lock())
    }

    /// Opens the list of remote frees: they are carried out when the shard is next used, without disturbing its
    /// thread now.
    #[inline]
    pub(crate) fn open_remote_frees(&self) -> OpenRemoteFrees<'_> {
        self.remote_frees.open()
    }

    /// Whether this shard owns the blocks; the others suballocate pieces that it lends.
    #[inline]
    pub(super) fn is_first(&self) -> bool {
        self.id.shard() == 0
    }

    /// Prevents other threads from growing the shard at the same time.
    pub(crate) fn lock_growth(&self) -> MutexGuard<'_, ()> {
        self.growing.lock()
    }

    /// Bytes of live ranges and of lent pieces.
    pub(crate) fn taken(&self) -> u64 {
        self.lock().pool.taken()
    }

    /// Adds a block in place of the empty ones, which go to `retired`, and takes a range of it or of another.
    ///
    /// # Errors
    /// [`Unfit`] with the store; the shard is unchanged then.
    pub(crate) fn add_and_allocate(
        &self,
        store: Store<D>,
        capacity: u64,
        size: u64,
        align: u64,
        retired: &mut Vec<Block<D>>,
    ) -> Result<(Suballocation, Store<D>), Unfit<Store<D>>> {
        let state = &mut *self.state.lock();
        let block = Block { store: store.clone(), lease: None };
        let (borrowed, before) = (block.borrowed(), retired.len());
        let found = state.pool.add_and_allocate(block, capacity, size, align, retired);
        let found = found.map_err(|Unfit { block, reason }| Unfit { block: block.store, reason })?;
        state.quiet_frames = 0;
        state.borrowed += borrowed;
        state.forget(&retired[before..]);
        let block = state.pool.block(found.block);
        let (base, store) = block.map_or((0, store), |block| (block.base(), block.store.clone()));
        Ok((Suballocation::new(self.id, &found, base, size), store))
    }

    /// Adds a range lent by the first shard as a block, and takes a range of it or of another.
    ///
    /// # Errors
    /// The range, when the suballocator refuses it; the shard is unchanged then.
    pub(crate) fn add_piece(
        &self,
        piece: Block<D>,
        size: u64,
        align: u64,
    ) -> Result<Option<(Suballocation, Store<D>)>, Block<D>> {
        let state = &mut *self.state.lock();
        let capacity = piece.lease.map_or(0, |lease| lease.size);
        state.pool.add_borrowed(piece, capacity).map_err(|Unfit { block, .. }| block)?;
        Ok(state.allocate(self.id, size, align))
    }

    /// Removes the blocks that were empty for longer than the pool keeps them; true when there were any.
    pub(crate) fn end_frame(&self, retired: &mut Vec<Block<D>>) -> bool {
        let state = &mut *self.state.lock();
        state.quiet_frames = state.quiet_frames.saturating_add(1);
        // The shard's own thread has a frame's time to carry out remote frees itself.
        if self.remote_frees.has_some() && std::mem::replace(&mut state.has_old_remote_frees, true) {
            self.free_remotes(state, usize::MAX);
        }
        state.retire(retired, Pool::end_frame)
    }

    /// Removes every empty block, except the last one if it ran empty lately, and all empty lent pieces; true
    /// when there were any.
    pub(crate) fn trim(&self, retired: &mut Vec<Block<D>>) -> bool {
        if self.is_first() { self.lock().retire(retired, Pool::trim) } else { self.reclaim(retired) }
    }

    /// Removes blocks that were empty for some frames before this one, until `bytes` are covered.
    pub(crate) fn make_way(&self, bytes: u64, retired: &mut Vec<Block<D>>) {
        self.lock().retire(retired, |pool, blocks| pool.make_way(MAKE_WAY, bytes, blocks));
    }

    /// Removes every empty block; true when there were any.
    pub(crate) fn reclaim(&self, retired: &mut Vec<Block<D>>) -> bool {
        self.lock().retire(retired, Pool::reclaim)
    }

    /// Removes a block if it is empty.
    pub(crate) fn remove_if_empty(&self, block: BlockId) -> Option<Block<D>> {
        let state = &mut *self.lock();
        let block = state.pool.remove_if_empty(block)?;
        state.borrowed -= block.borrowed();
        Some(block)
    }

    /// Removes all blocks, even with live ranges; returns the stores that the shard owns. For shutting down.
    pub(crate) fn take_stores(&self) -> Vec<Store<D>> {
        let state = &mut *self.lock();
        state.borrowed = 0;
        state.pool.take_blocks().filter(|block| block.lease.is_none()).map(|block| block.store).collect()
    }

    /// The totals. Ranges in lent pieces count in the borrowing shard, the bytes of the pieces in the lending
    /// one.
    pub(crate) fn totals(&self) -> ShardTotals {
        let state = self.lock();
        let totals = state.pool.totals();
        let capacity = if self.is_first() { totals.capacity } else { 0 };
        ShardTotals { pool: PoolTotals { capacity, ..totals }, borrowed: state.borrowed }
    }

    /// Bytes of the shard's own empty blocks, except those in heaps of another pool.
    pub(crate) fn idle(&self) -> u64 {
        if !self.is_first() {
            return 0;
        }
        let state = self.lock();
        let is_own = |block: &Block<D>| !matches!(block.store, Store::Slot { .. });
        let empty = state.pool.blocks().filter(|(_, block, _, used)| *used == 0 && is_own(block));
        empty.map(|(_, _, capacity, _)| capacity).sum()
    }

    /// Whether a block has room for a range of this size and alignment.
    pub(crate) fn has_room(&self, size: u64, align: u64) -> bool {
        let pool = &mut self.lock().pool;
        let found = pool.lend(size, align);
        found.is_some_and(|found| pool.take_back(found.handle).is_ok())
    }

    /// The range of the first shard's block that a block is; `None` for a whole block, or a removed one.
    pub(crate) fn lease(&self, block: BlockId) -> Option<Suballocation> {
        self.lock().pool.block(block)?.lease
    }

    /// Notes the movable resource in a range.
    pub(crate) fn note_movable(&self, range: Handle, movable: &Arc<MovableBacking<D>>) {
        self.state.lock().note_movable(range, Arc::downgrade(movable));
    }

    /// The movable resources in the ranges.
    pub(crate) fn movables(&self, found: &mut Vec<Arc<MovableBacking<D>>>) {
        found.extend(self.lock().movables.iter().filter_map(Weak::upgrade));
    }

    /// Whether blocks are being emptied, or enough is free, for long enough, to make compaction worthwhile.
    pub(crate) fn wants_compaction(&self, config: &CompactionConfig) -> bool {
        let state = self.lock();
        let (taken, capacity) = (state.pool.taken(), state.pool.suballocator().capacity());
        let free = u128::from(capacity.saturating_sub(taken)) * 100;
        let is_sparse = free >= u128::from(capacity) * u128::from(config.min_free);
        let is_new = state.compact_at != Some((taken, capacity));
        let is_quiet = state.quiet_frames >= config.quiet_frames;
        state.pool.is_compacting() || (is_sparse && is_new && is_quiet)
    }

    /// Continues emptying blocks, as [`Pool::compact`] does: appends the moves to `moves`, and empty blocks to
    /// `retired`. True when nothing is left to do.
    pub(crate) fn compact(
        &self,
        budget: CompactionBudget,
        moves: &mut Vec<PlannedMove<D>>,
        retired: &mut Vec<Block<D>>,
    ) -> bool {
        let state = &mut *self.lock();
        let (id, movables, before) = (self.id, &state.movables, retired.len());
        let needs = |range: &BlockAllocation| {
            let movable = movables.get(range.handle.index())?.upgrade()?;
            let needs = movable.needs_at(RangeId { pool: id, handle: range.handle })?;
            Some(RangeNeeds { size: needs.size, alignment: needs.alignment })
        };
        let mut found = Vec::new();
        let is_done = state.pool.compact(budget, needs, &mut found, retired);
        let now = (state.pool.taken(), state.pool.suballocator().capacity());
        state.compact_at = is_done.then_some(now);
        state.forget(&retired[before..]);
        for moved in found {
            let base = state.pool.block(moved.to.block).map_or(0, Block::base);
            let to = Suballocation::new(id, &moved.to, base, moved.size);
            let movable = state.movables.get(moved.from.handle.index()).cloned().unwrap_or_default();
            state.note_movable(moved.to.handle, movable.clone());
            moves.push(PlannedMove { movable, from: RangeId { pool: id, handle: moved.from.handle }, to });
        }
        is_done
    }

    /// Makes the free ranges of blocks that are being emptied available again; true when there were any.
    pub(crate) fn stop_compaction(&self) -> bool {
        self.lock().pool.stop_compaction()
    }

    /// Notes that a planned move did not happen: the resource can be chosen again.
    pub(crate) fn keep_in_place(&self, range: Handle) {
        self.lock().pool.keep_in_place(range);
    }

    /// The API object behind a block.
    pub(crate) fn store(&self, block: BlockId) -> Option<Store<D>> {
        self.lock().pool.block(block).map(|block| block.store.clone())
    }

    /// The number, size and used bytes of each block that the shard owns; lent pieces count as used.
    pub(crate) fn blocks(&self) -> Vec<(usize, u64, u64)> {
        if !self.is_first() {
            return Vec::new();
        }
        self.lock().pool.blocks().map(|(id, _, capacity, used)| (id.index(), capacity, used)).collect()
    }
}

impl<D: Device> State<D> {
    fn note_movable(&mut self, range: Handle, movable: Weak<MovableBacking<D>>) {
        let index = range.index();
        if self.movables.len() <= index {
            self.movables.resize_with(index + 1, Weak::new);
        }
        self.movables[index] = movable;
    }

    /// Removes the empty blocks chosen by `choose`; true when there were any.
    fn retire<T>(
        &mut self,
        retired: &mut Vec<Block<D>>,
        choose: impl FnOnce(&mut Pool<Block<D>, PoolSuballocator>, &mut Vec<Block<D>>) -> T,
    ) -> T {
        let before = retired.len();
        let chosen = choose(&mut self.pool, retired);
        self.forget(&retired[before..]);
        chosen
    }

    /// Updates the counts after blocks have left the pool.
    fn forget(&mut self, retired: &[Block<D>]) {
        self.borrowed -= retired.iter().map(Block::borrowed).sum::<u64>();
    }

    /// A range of a block, with the block's API object.
    #[inline(never)]
    fn allocate(&mut self, shard: PoolId, size: u64, align: u64) -> Option<(Suballocation, Store<D>)> {
        let (suballocation, block) = self.take(shard, size, align)?;
        Some((suballocation, block.store.clone()))
    }

    /// A range of a block, with the block. Inlined: a call, with a result of a dozen words through memory,
    /// would take 6 ns.
    #[inline(always)]
    fn take(&mut self, shard: PoolId, size: u64, align: u64) -> Option<(Suballocation, &Block<D>)> {
        let (found, block) = self.pool.allocate(size, align)?;
        Some((Suballocation::new(shard, &found, block.base(), size), block))
    }

    /// Frees a range.
    #[inline]
    fn free(&mut self, free_token: &FreeToken) {
        let freed = self.pool.free(free_token.handle, free_token.size);
        debug_assert!(freed.is_ok(), "a suballocation is freed once, in its own shard");
    }
}
