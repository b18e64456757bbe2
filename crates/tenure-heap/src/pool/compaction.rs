//! Defragmentation: empties sparse blocks of a pool by moving their ranges into the holes of others.

use std::collections::HashSet;

use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator, FilledPiece, Handle};

use super::Pool;

mod choice;
mod plan;
mod victim;

use choice::Choice;
use plan::Plan;
use victim::{State, Victim};

/// Size and alignment that a range needs in its new location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeNeeds {
    /// Requested bytes.
    pub size: u64,
    /// Bytes; a power of two.
    pub alignment: u64,
}

/// The limits of one call of [`Pool::compact`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionBudget {
    /// Maximum bytes copied by the moves. The first move of a call may exceed this limit, so that every range can
    /// move eventually.
    pub bytes: u64,
    /// Maximum number of moves.
    pub moves: usize,
    /// Maximum number of visited pieces of blocks, used or free, which limits the time.
    pub pieces: usize,
}

/// A move of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeMove {
    /// The old location: [free](Pool::free) it after its last use.
    pub from: BlockAllocation,
    /// The new location, which is already allocated, as if by [`Pool::allocate`].
    pub to: BlockAllocation,
    /// Requested bytes.
    pub size: u64,
}

/// The progress of emptying blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Idle.
    #[default]
    Idle,
    /// The chosen blocks are being filled.
    Filling,
    /// New locations are being searched.
    Planning,
    /// Every range has a new location: moves are returned, and empty blocks are removed.
    Moving,
}

/// The blocks being emptied.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    /// Whether frees are tracked: see [`Pool::note_free`].
    pub(super) watches: bool,
    phase: Phase,
    /// Frames ended since the last call of [`Pool::compact`].
    quiet_frames: u32,
    choice: Choice,
    /// The blocks to empty, fewest used bytes first.
    victims: Vec<Victim>,
    /// The index of each block among the victims, by block index.
    numbers: Vec<Option<u32>>,
    plan: Plan,
    /// The first victim with ranges whose moves are not returned yet.
    next: usize,
    /// Fillers and new locations to free before anything else continues.
    unneeded: Vec<Handle>,
    /// Block and offset of ranges whose moves were returned before the emptying of their block was stopped, and that
    /// have not been freed since.
    told: HashSet<(BlockId, u64)>,
    /// Empty between calls.
    found: Vec<FilledPiece<BlockAllocation>>,
}

/// Minimum number of fillers merged at a time: greater than a buddy's number of free ranges between any two
/// addresses.
const MERGED: usize = 64;

/// The remaining budget.
#[derive(Debug)]
pub(crate) struct Left {
    bytes: u64,
    moves: usize,
    pieces: usize,
    /// Whether no range has moved within this budget yet.
    is_first: bool,
}

impl Left {
    pub(crate) const fn new(budget: CompactionBudget) -> Self {
        let CompactionBudget { bytes, moves, pieces } = budget;
        Self { bytes, moves, pieces, is_first: true }
    }

    /// Counts visited pieces.
    const fn take_pieces(&mut self, count: usize) {
        self.pieces = self.pieces.saturating_sub(count);
    }

    /// Counts a move if the budget allows it. The first may exceed the budget, because it would never move otherwise.
    const fn take_move(&mut self, bytes: u64) -> bool {
        if self.moves == 0 || (bytes > self.bytes && !self.is_first) {
            return false;
        }
        self.moves -= 1;
        self.bytes = self.bytes.saturating_sub(bytes);
        self.is_first = false;
        true
    }
}

impl<B, S: BlockSuballocator> Pool<B, S> {
    /// Continues emptying the blocks whose content fits into free ranges of others, within the budget. Appends moves
    /// of ranges to `moves`, and empty blocks to `retired`. `needs` returns the needs of an allocated range, or
    /// `None` if it cannot move; it is called once for each range of a candidate block, when the block is first
    /// visited.
    ///
    /// Call it repeatedly, for example once per frame, until it returns true: then there is no work until ranges are
    /// allocated or freed. Without a call for as many frames as empty blocks are kept, the emptying of blocks
    /// [stops](Self::stop_compaction). Ranges can be allocated and freed in between; if an allocation finds the pool
    /// full, [`stop_compaction`](Self::stop_compaction) makes the free bytes of these blocks available again. A range
    /// freed in a block that is being emptied stays unavailable until then, or until the block is kept.
    ///
    /// # Algorithm
    /// The blocks to empty are those with the fewest used bytes, up to the free bytes of the remaining blocks, so
    /// that no range moves into a block that is emptied later. They are filled, so that nothing is placed there. Then
    /// a location is allocated for each of their ranges, largest first (first fit decreasing). Ranges without a
    /// location are set aside. When all have been tried, the smallest chosen block with space for these ranges is
    /// kept, and its free ranges are used, too, until every range has a location. Ranges move only after that, so no
    /// byte moves in vain. A block is not kept in favour of a fuller one if that would move over a tenth more bytes
    /// than the minimum: the content of the same number of the emptiest blocks. Nothing moves twice before true is
    /// returned. Already empty blocks are also moved to `retired`.
    ///
    /// O(pieces of the budget), plus O(blocks · log blocks) to choose blocks. In a block that is being emptied,
    /// freeing costs O(log pieces) more; allocating costs no more.
    ///
    /// ```
    /// use tenure_heap::{CompactionBudget, Pool, RangeNeeds};
    /// use tenure_suballoc::GeneralBlocks;
    ///
    /// let (mut pool, mut retired) = (Pool::new(GeneralBlocks::new(16)?, 16), Vec::new());
    /// let old: Vec<_> = (0..3).map(|heap| {
    ///     let range = pool.add_and_allocate(heap, 1024, 800, 16, &mut retired).unwrap();
    ///     pool.free(range.handle, 800).unwrap();
    ///     pool.allocate(400, 16).unwrap().0
    /// }).collect();
    /// # drop(old);
    /// let budget = CompactionBudget { bytes: 1 << 20, moves: 10, pieces: 1000 };
    /// let mut moves = Vec::new();
    /// while !pool.compact(budget, |_| Some(RangeNeeds { size: 400, alignment: 16 }), &mut moves, &mut retired) {
    ///     for moved in moves.drain(..) {
    ///         // Copy its bytes here, and update its owner.
    ///         pool.free(moved.from.handle, moved.size)?;
    ///     }
    /// }
    /// assert_eq!(pool.totals().capacity, 2048, "two ranges share a block");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact(
        &mut self,
        budget: CompactionBudget,
        needs: impl FnMut(&BlockAllocation) -> Option<RangeNeeds>,
        moves: &mut Vec<RangeMove>,
        retired: &mut Vec<B>,
    ) -> bool {
        self.compact_within(&mut Left::new(budget), needs, moves, retired)
    }

    /// Like [`compact`](Self::compact), within the remaining budget.
    pub(crate) fn compact_within(
        &mut self,
        left: &mut Left,
        mut needs: impl FnMut(&BlockAllocation) -> Option<RangeNeeds>,
        moves: &mut Vec<RangeMove>,
        retired: &mut Vec<B>,
    ) -> bool {
        self.compaction.quiet_frames = 0;
        if self.compaction.phase == Phase::Idle && !self.choose() {
            return true;
        }
        self.release_emptied(left, retired);
        while left.pieces > 0 {
            if let Some(unneeded) = self.compaction.unneeded.pop() {
                left.take_pieces(1);
                self.free_held(unneeded);
                continue;
            }
            let goes_on = match self.compaction.phase {
                Phase::Idle => false,
                Phase::Filling => self.fill_on(left, &mut needs),
                Phase::Planning => self.plan_on(left),
                Phase::Moving => self.tell_on(left, moves),
            };
            if !goes_on {
                break;
            }
        }
        false
    }

    /// Whether blocks are being emptied.
    #[must_use]
    pub fn is_compacting(&self) -> bool {
        self.compaction.phase != Phase::Idle
    }

    /// Makes the free bytes of blocks that are being emptied available again; true if there were any. Returned moves
    /// stay valid, and are not returned again. O(pieces of those blocks).
    pub fn stop_compaction(&mut self) -> bool {
        let Compaction { victims, unneeded, mut told, .. } = std::mem::take(&mut self.compaction);
        told.extend(victims.iter().flat_map(Victim::told));
        let lent = victims.iter().flat_map(Victim::lent).chain(unneeded);
        let mut is_any = false;
        for handle in lent {
            self.free_held(handle);
            is_any = true;
        }
        self.compaction.watches = !told.is_empty();
        self.compaction.told = told;
        is_any
    }

    /// Ends a frame: stops emptying if it was not continued for as many frames as an empty block is kept. Its blocks
    /// are filled, so they could not be removed even after all their ranges are freed.
    pub(super) fn end_frame_of_compaction(&mut self) {
        if self.compaction.phase == Phase::Idle {
            return;
        }
        self.compaction.quiet_frames += 1;
        // The first of these frames is that of the last call.
        if self.compaction.quiet_frames > self.retention.frames().max(1) {
            self.stop_compaction();
        }
    }

    /// Notes that a move failed and its range stays in place; the caller frees the new location. The emptying of
    /// blocks [stops](Self::stop_compaction), and the range may be returned again. O(pieces of the blocks being
    /// emptied).
    ///
    /// ```
    /// use tenure_heap::{CompactionBudget, Pool, RangeNeeds};
    /// use tenure_suballoc::GeneralBlocks;
    ///
    /// let (mut pool, mut retired) = (Pool::new(GeneralBlocks::new(16)?, 16), Vec::new());
    /// for heap in 0..2 {
    ///     let range = pool.add_and_allocate(heap, 1024, 800, 16, &mut retired).unwrap();
    ///     pool.free(range.handle, 800)?;
    ///     pool.allocate(400, 16).unwrap();
    /// #   pool.allocate(400, 16).map(|(range, _)| range.handle).filter(|_| heap == 0).map(|it| pool.free(it, 400));
    /// }
    /// let (budget, mut moves) = (CompactionBudget { bytes: 1 << 20, moves: 10, pieces: 1000 }, Vec::new());
    /// let needs = |_: &_| Some(RangeNeeds { size: 400, alignment: 16 });
    /// while moves.is_empty() && !pool.compact(budget, needs, &mut moves, &mut retired) {}
    /// for moved in moves {
    ///     // The copy was refused.
    ///     pool.free(moved.to.handle, moved.size)?;
    ///     pool.keep_in_place(moved.from.handle);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_in_place(&mut self, range: Handle) {
        self.stop_compaction();
        if let Some(found) = self.suballocator.get(range) {
            let compaction = &mut self.compaction;
            compaction.told.remove(&(found.block, found.offset));
            compaction.watches = !compaction.told.is_empty();
        }
    }

    /// Notes a freed range, if blocks are being emptied or the range's block has become empty.
    #[cold]
    #[inline(never)]
    pub(super) fn note_free(&mut self, block: BlockId, offset: u64) {
        if self.suballocator.block_used(block) == Some(0) {
            self.large.note_empty(block);
        }
        let compaction = &mut self.compaction;
        let number = compaction.numbers.get(block.index()).copied().flatten();
        if let Some(number) = number {
            self.lent += compaction.victims[number as usize].refill(offset, &mut self.suballocator);
        } else if compaction.watches && compaction.told.remove(&(block, offset)) {
            compaction.watches = !(compaction.told.is_empty() && compaction.victims.is_empty());
        }
    }

    /// Frees a filler, or an unused new location.
    fn free_held(&mut self, lent: Handle) {
        let freed = self.suballocator.free(lent);
        debug_assert!(freed.is_ok(), "lent ranges are freed once");
        let Ok(freed) = freed else { return };
        self.lent = self.lent.saturating_sub(freed.size + freed.padding);
        if freed.block_is_empty {
            self.large.note_empty(freed.block);
        }
    }

    /// Removes the blocks whose ranges have all moved, within the budget. Ends the run if no block is left to wait
    /// for.
    fn release_emptied(&mut self, left: &mut Left, retired: &mut Vec<B>) {
        if self.compaction.phase != Phase::Moving {
            return;
        }
        let mut is_any_left = self.compaction.next < self.compaction.victims.len();
        for number in 0..self.compaction.victims.len() {
            let victim = &mut self.compaction.victims[number];
            if victim.state != State::Leaving {
                continue;
            }
            let block = victim.block;
            if victim.live > 0 || left.pieces == 0 {
                is_any_left = true;
                continue;
            }
            let (mut pieces, looked_at) = (std::mem::take(&mut victim.pieces), left.pieces.max(MERGED));
            left.take_pieces(pieces.len().min(looked_at));
            self.merge_fillers(block, &mut pieces, looked_at);
            let victim = &mut self.compaction.victims[number];
            victim.pieces = pieces;
            if !victim.pieces.is_empty() {
                is_any_left = true;
                continue;
            }
            victim.state = State::Gone;
            self.compaction.numbers[block.index()] = None;
            retired.extend(self.remove_if_empty(block));
        }
        if !is_any_left {
            self.end_round();
        }
    }

    /// Merges the last fillers of a block without other ranges into one, or into few if buddies do not merge; into
    /// none if these are all. This spreads the freeing of many fillers over several calls, and nothing is placed in
    /// the block in between.
    fn merge_fillers(&mut self, block: BlockId, pieces: &mut Vec<victim::Piece>, most: usize) {
        let kept = pieces.len().saturating_sub(most);
        for piece in pieces.drain(kept..) {
            self.free_held(piece.handle);
        }
        let Some(last) = pieces.last() else { return };
        let after = Some(last.handle);
        self.suballocator.fill_block(block, after, usize::MAX, &mut self.compaction.found);
        for FilledPiece { range, .. } in self.compaction.found.drain(..) {
            self.lent += range.size + range.padding;
            pieces.push(victim::Piece::filler(&range));
        }
    }

    fn end_round(&mut self) {
        let compaction = &mut self.compaction;
        compaction.victims.clear();
        compaction.next = 0;
        compaction.phase = Phase::Idle;
        compaction.watches = !compaction.told.is_empty();
    }
}
