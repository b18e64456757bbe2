//! The pool of a class, for several threads: a shard of it, and what its blocks are.

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
    /// Where it is evictable.
    pub(crate) block: Option<BlockKey>,
}

/// What a block of a pool is made of.
pub(crate) enum Store<D: Device> {
    /// A heap, for placed resources, and the pool whose memory it is.
    Heap { heap: Arc<HeapBlock<D>>, pool: PoolId },
    /// A committed buffer of so many bytes, for ranges, and the pool whose memory it is.
    Buffer { buffer: Arc<ApiResource<D>>, size: u64, pool: PoolId },
    /// A buffer of so many bytes placed in another pool's heap, for ranges.
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
    /// The buffer whose ranges the block gives out, or the heap in which resources are placed.
    pub(crate) fn as_buffer(&self) -> Option<&Arc<ApiResource<D>>> {
        match self {
            Self::Heap { .. } => None,
            Self::Buffer { buffer, .. } | Self::Slot { buffer, .. } => Some(buffer),
        }
    }
}

/// A block that a pool divides.
pub(crate) struct Block<D: Device> {
    pub(crate) store: Store<D>,
    /// The range of the first shard's block that it is; `None` for a whole block of the pool's own.
    pub(crate) lease: Option<Suballocation>,
}

impl<D: Device> Block<D> {
    /// Byte of the API object at which it begins.
    #[inline]
    fn base(&self) -> u64 {
        self.lease.as_ref().map_or(0, |lease| lease.offset)
    }

    /// The block of another pool or shard that it lies in.
    pub(super) fn lies_in(&self) -> Option<(PoolId, BlockId)> {
        let slot = match &self.store {
            Store::Slot { suballocation, .. } => Some(suballocation),
            Store::Heap { .. } | Store::Buffer { .. } => None,
        };
        self.lease.as_ref().or(slot).map(|around| (around.pool, around.block))
    }

    /// Bytes that lie in a heap of another pool. Those of a piece count with the block that it is a piece of.
    fn borrowed(&self) -> u64 {
        match self {
            Self { store: Store::Slot { size, .. }, lease: None } => *size,
            _ => 0,
        }
    }
}

/// The number of a pool: its class's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PoolId(pub(crate) u16);

/// A range of a block of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suballocation {
    pub(crate) pool: PoolId,
    pub(crate) block: BlockId,
    pub(crate) handle: Handle,
    pub(crate) offset: u64,
    /// Bytes asked for.
    pub(crate) size: u64,
    /// Bytes taken, with what rounding adds.
    pub(crate) reserved: u64,
}

impl Suballocation {
    /// A range of a block that begins at byte `base` of its API object; `size` bytes were asked for.
    #[inline(always)]
    const fn new(pool: PoolId, found: &BlockAllocation, base: u64, size: u64) -> Self {
        let BlockAllocation { block, handle, offset, size: reserved, .. } = *found;
        Self { pool, block, handle, offset: base + offset, size, reserved }
    }

    /// What gives it back.
    #[inline]
    pub(crate) const fn free_token(&self) -> FreeToken {
        FreeToken { pool: self.pool, block: self.block, handle: self.handle, size: self.size }
    }
}

/// A range, whatever lies there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RangeId {
    pub(crate) pool: PoolId,
    pub(crate) handle: Handle,
}

/// What a range is given back by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreeToken {
    pub(crate) pool: PoolId,
    block: BlockId,
    pub(crate) handle: Handle,
    /// Bytes asked for.
    pub(crate) size: u64,
}

impl FreeToken {
    /// A number that no other range has until this one is given back. The block is part of it, because each block of small
    /// uploads numbers its ranges by itself: they are at most 2²⁶.
    pub(crate) fn key(&self) -> u64 {
        let in_pool = (u64::from(u32::from(self.block)) << 27).wrapping_add(self.handle.index() as u64);
        1 << 63 | u64::from(self.pool.0) << 47 | in_pool & ((1 << 47) - 1)
    }
}

struct State<D: Device> {
    pool: Pool<Block<D>, PoolSuballocator>,
    /// Bytes of blocks that lie in heaps of another pool.
    borrowed: u64,
    /// Remote frees that are being carried out; empty between calls.
    remote_frees: Vec<FreeToken>,
    /// There were remote frees at the end of the last frame, and they were left for the shard's own thread.
    has_old_remote_frees: bool,
    /// What lies in the ranges, by their index, where it can move. What has left its range stays here until another
    /// takes its place.
    movables: Vec<Weak<MovableBacking<D>>>,
    /// Frames since a block was added.
    quiet_frames: u32,
    /// Bytes taken and bytes in all when nothing was left to move.
    compact_at: Option<(u64, u64)>,
}

/// Totals of one shard, in O(1) but for the largest free range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardTotals {
    /// What lives in pieces that were lent counts where it lives, their bytes where they come from.
    pub(crate) pool: PoolTotals,
    /// Bytes of blocks that lie in heaps of another pool.
    pub(crate) borrowed: u64,
}

impl ShardTotals {
    /// Those of two shards together.
    pub(super) fn with(self, other: Self) -> Self {
        Self { pool: self.pool.with(other.pool), borrowed: self.borrowed + other.borrowed }
    }
}

/// Blocks of one class, shared by all threads, or a shard of them.
///
/// A short lock guards the ranges; another, held while the driver makes a block, makes other
/// threads that need one wait for it instead of asking for one each. A thread that finds room or frees
/// never waits for the driver.
pub(crate) struct PoolShard<D: Device> {
    pub(crate) id: PoolId,
    pub(crate) class: Class,
    pub(crate) growth: Growth,
    /// Bytes; of new heaps.
    pub(crate) heap_alignment: u64,
    /// What the buffers of range pools are created with.
    pub(crate) buffer_usage: Usage,
    growing: Mutex<()>,
    /// The thread whose shard it is, as far as is known: the one that took ranges last.
    resident: AtomicUsize,
    remote_frees: RemoteFreeList,
    state: Mutex<State<D>>,
}

/// A shard, locked to give ranges back to it.
pub(crate) struct LockedShard<'a, D: Device>(MutexGuard<'a, State<D>>);

impl<D: Device> LockedShard<'_, D> {
    /// Looks at ranges that are about to be given back, so that the waits for memory overlap.
    #[inline]
    pub(crate) fn expect<'r>(&self, free_tokens: impl Iterator<Item = &'r FreeToken>) {
        self.0.pool.suballocator().expect_frees(free_tokens.map(|free_token| free_token.handle));
    }

    /// Gives a range back.
    #[inline]
    pub(crate) fn free(&mut self, free_token: &FreeToken) {
        self.0.free(free_token);
    }
}

/// Remote frees that a shard's own thread carries out each time it takes a range: few, so that no one call has to
/// give back all that a frame has dropped.
const BATCH: usize = 64;

/// Frames for which a block is empty before it makes way for others: what each frame fills and empties stays.
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

    /// The shard with all that was given back to it.
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

    /// A range of the blocks there are, with its block.
    #[inline]
    pub(crate) fn allocate(&self, size: u64, align: u64) -> Option<(Suballocation, Store<D>)> {
        self.lock().allocate(self.id, size, align)
    }

    /// A range of the blocks there are, also the first in an empty one of at most `most` bytes that was made for a larger
    /// range.
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

    /// A range of a block, for another shard to divide; `sizes` are tried in turn.
    pub(crate) fn lend_piece(&self, mut sizes: impl Iterator<Item = u64>, align: u64) -> Option<Block<D>> {
        let state = &mut *self.lock();
        let (size, found) = sizes.find_map(|size| Some((size, state.pool.lend(size, align)?)))?;
        let block = state.pool.block(found.block)?;
        let lease = Suballocation::new(self.id, &found, 0, size);
        Some(Block { store: block.store.clone(), lease: Some(lease) })
    }

    /// Takes back what [`lend_piece`](Self::lend_piece) gave.
    pub(crate) fn take_back(&self, lease: &Suballocation) {
        let freed = self.lock().pool.take_back(lease.handle);
        debug_assert!(freed.is_ok(), "a piece is given back once, to where it comes from");
    }

    /// A range with the buffer that it is a part of.
    #[inline]
    pub(crate) fn take(&self, size: u64, align: u64) -> Option<(Suballocation, Arc<ApiResource<D>>)> {
        let mut state = self.state.lock();
        if self.remote_frees.has_some() {
            self.free_remotes(&mut state, BATCH);
        }
        let (suballocation, block) = state.take(self.id, size, align)?;
        Some((suballocation, block.store.as_buffer()?.clone()))
    }

    /// Notes that a thread takes ranges here that is there to stay, not one that only found no room in its
    /// own shard. Whether another such thread was here last, and has the shard locked at this moment.
    #[inline]
    pub(crate) fn meets(&self, thread: usize) -> bool {
        let is_same = self.resident.load(Ordering::Relaxed) == thread;
        if !is_same {
            self.resident.store(thread, Ordering::Relaxed);
        }
        !is_same && self.state.is_locked()
    }

    /// Locks the shard, to give ranges back.
    #[inline]
    pub(crate) fn lock_to_free(&self) -> LockedShard<'_, D> {
        LockedShard(self.state.lock())
    }

    /// Opens the list of remote frees: what is queued there is given back when the shard is next used, without
    /// disturbing the thread that uses it now.
    #[inline]
    pub(crate) fn open_remote_frees(&self) -> OpenRemoteFrees<'_> {
        self.remote_frees.open()
    }

    /// Whether it is the shard that has blocks of its own; the others divide what it lends them.
    #[inline]
    pub(super) fn is_first(&self) -> bool {
        self.id.shard() == 0
    }

    /// Keeps other threads from growing the shard at the same time.
    pub(crate) fn lock_growth(&self) -> MutexGuard<'_, ()> {
        self.growing.lock()
    }

    /// Bytes that live ranges take, and what is lent.
    pub(crate) fn taken(&self) -> u64 {
        self.lock().pool.taken()
    }

    /// Adds a block in place of those that are empty, which go to `retired`, and takes a range of it or of
    /// another.
    ///
    /// # Errors
    /// [`Unfit`] with the store; nothing was changed then.
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

    /// Adds a range that the first shard has lent as a block, and takes a range of it or of another.
    ///
    /// # Errors
    /// The range, when the suballocator cannot divide it; nothing was changed then.
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

    /// Removes the blocks that have been empty for longer than the pool keeps them; true when there
    /// were any.
    pub(crate) fn end_frame(&self, retired: &mut Vec<Block<D>>) -> bool {
        let state = &mut *self.state.lock();
        state.quiet_frames = state.quiet_frames.saturating_add(1);
        // The thread whose shard it is has a frame's time to carry out remote frees itself.
        if self.remote_frees.has_some() && std::mem::replace(&mut state.has_old_remote_frees, true) {
            self.free_remotes(state, usize::MAX);
        }
        state.retire(retired, Pool::end_frame)
    }

    /// Removes every empty block, but for the last one if it ran empty lately, and all that were lent; true when
    /// there were any.
    pub(crate) fn trim(&self, retired: &mut Vec<Block<D>>) -> bool {
        if self.is_first() { self.lock().retire(retired, Pool::trim) } else { self.reclaim(retired) }
    }

    /// Removes blocks that were empty for some frames before this one, until they have at least `bytes`.
    pub(crate) fn make_way(&self, bytes: u64, retired: &mut Vec<Block<D>>) {
        self.lock().retire(retired, |pool, blocks| pool.make_way(MAKE_WAY, bytes, blocks));
    }

    /// Removes every empty block; true when there were any.
    pub(crate) fn reclaim(&self, retired: &mut Vec<Block<D>>) -> bool {
        self.lock().retire(retired, Pool::reclaim)
    }

    /// Removes a block if nothing lives in it.
    pub(crate) fn remove_if_empty(&self, block: BlockId) -> Option<Block<D>> {
        let state = &mut *self.lock();
        let block = state.pool.remove_if_empty(block)?;
        state.borrowed -= block.borrowed();
        Some(block)
    }

    /// Removes all blocks, whatever lives in them; the stores of those that are the shard's own. For
    /// shutting down.
    pub(crate) fn take_stores(&self) -> Vec<Store<D>> {
        let state = &mut *self.lock();
        state.borrowed = 0;
        state.pool.take_blocks().filter(|block| block.lease.is_none()).map(|block| block.store).collect()
    }

    /// What lives in pieces that were lent counts where it lives, their bytes where they come from.
    pub(crate) fn totals(&self) -> ShardTotals {
        let state = self.lock();
        let totals = state.pool.totals();
        let capacity = if self.is_first() { totals.capacity } else { 0 };
        ShardTotals { pool: PoolTotals { capacity, ..totals }, borrowed: state.borrowed }
    }

    /// Bytes of its own blocks that are empty, but for those that lie in heaps of another pool.
    pub(crate) fn idle(&self) -> u64 {
        if !self.is_first() {
            return 0;
        }
        let state = self.lock();
        let is_own = |block: &Block<D>| !matches!(block.store, Store::Slot { .. });
        let empty = state.pool.blocks().filter(|(_, block, _, used)| *used == 0 && is_own(block));
        empty.map(|(_, _, capacity, _)| capacity).sum()
    }

    /// Whether a block has room for such a range.
    pub(crate) fn has_room(&self, size: u64, align: u64) -> bool {
        let pool = &mut self.lock().pool;
        let found = pool.lend(size, align);
        found.is_some_and(|found| pool.take_back(found.handle).is_ok())
    }

    /// The range of the first shard's block that a block is; `None` for a whole block, or for one that is gone.
    pub(crate) fn lease(&self, block: BlockId) -> Option<Suballocation> {
        self.lock().pool.block(block)?.lease
    }

    /// Notes what lies in a range and can move.
    pub(crate) fn note_movable(&self, range: Handle, movable: &Arc<MovableBacking<D>>) {
        self.state.lock().note_movable(range, Arc::downgrade(movable));
    }

    /// What lies in ranges and can move.
    pub(crate) fn movables(&self, found: &mut Vec<Arc<MovableBacking<D>>>) {
        found.extend(self.lock().movables.iter().filter_map(Weak::upgrade));
    }

    /// Whether blocks are being emptied, or so much is free, and has been for so long, that it is worth while.
    pub(crate) fn wants_compaction(&self, config: &CompactionConfig) -> bool {
        let state = self.lock();
        let (taken, capacity) = (state.pool.taken(), state.pool.suballocator().capacity());
        let free = u128::from(capacity.saturating_sub(taken)) * 100;
        let is_sparse = free >= u128::from(capacity) * u128::from(config.min_free);
        let is_new = state.compact_at != Some((taken, capacity));
        let is_quiet = state.quiet_frames >= config.quiet_frames;
        state.pool.is_compacting() || (is_sparse && is_new && is_quiet)
    }

    /// Goes on emptying blocks, as [`Pool::compact`] does: appends what is to move to `moves`, and blocks that are empty
    /// to `retired`. True when nothing is left to do.
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

    /// Makes all that is free in the blocks that are being emptied available again; true when there was any.
    pub(crate) fn stop_compaction(&self) -> bool {
        self.lock().pool.stop_compaction()
    }

    /// What was to leave a range stays there, and may be asked to leave again.
    pub(crate) fn keep_in_place(&self, range: Handle) {
        self.lock().pool.keep_in_place(range);
    }

    /// What a block is made of.
    pub(crate) fn store(&self, block: BlockId) -> Option<Store<D>> {
        self.lock().pool.block(block).map(|block| block.store.clone())
    }

    /// Each block of its own: its number, its bytes and its used bytes, those lent included.
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

    /// Removes the empty blocks that `choose` names; true when there were any.
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

    /// Blocks have left the pool.
    fn forget(&mut self, retired: &[Block<D>]) {
        self.borrowed -= retired.iter().map(Block::borrowed).sum::<u64>();
    }

    /// A range of a block, with whatever the block is made of.
    #[inline(never)]
    fn allocate(&mut self, shard: PoolId, size: u64, align: u64) -> Option<(Suballocation, Store<D>)> {
        let (suballocation, block) = self.take(shard, size, align)?;
        Some((suballocation, block.store.clone()))
    }

    /// A range of a block, with the block. A call, and a result of a dozen words through memory, take 6 ns.
    #[inline(always)]
    fn take(&mut self, shard: PoolId, size: u64, align: u64) -> Option<(Suballocation, &Block<D>)> {
        let (found, block) = self.pool.allocate(size, align)?;
        Some((Suballocation::new(shard, &found, block.base(), size), block))
    }

    /// Gives a range back.
    #[inline]
    fn free(&mut self, free_token: &FreeToken) {
        let freed = self.pool.free(free_token.handle, free_token.size);
        debug_assert!(freed.is_ok(), "a suballocation is freed once, in its own shard");
    }
}
