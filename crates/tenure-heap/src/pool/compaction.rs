//! Emptying blocks of a pool on purpose: what lies in them moves into the holes of others.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator, Handle};

use super::Pool;

/// What a range needs of its new place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeNeeds {
    /// Bytes that were asked for.
    pub size: u64,
    /// Bytes; a power of two.
    pub alignment: u64,
}

/// How much one call of [`Pool::compact`] may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionBudget {
    /// Bytes that the moves copy.
    pub bytes: u64,
    /// Moves.
    pub moves: usize,
    /// Pieces of blocks, in use or free, that are looked at: what bounds the time, but for a block, which is filled as a
    /// whole.
    pub pieces: usize,
}

/// A range that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeMove {
    /// Where it is: to be [freed](Pool::free) once nothing uses it any more.
    pub from: BlockAllocation,
    /// Where it goes: allocated from here on, as if by [`Pool::allocate`].
    pub to: BlockAllocation,
    /// Bytes that were asked for.
    pub size: u64,
}

/// A block that is being emptied, or is kept empty until others are.
#[derive(Debug)]
struct Victim {
    block: BlockId,
    /// What keeps other ranges out.
    fillers: Vec<Handle>,
    /// Where its content goes, as far as places were found.
    places: Vec<RangeMove>,
    /// What was told to move.
    told: Vec<BlockAllocation>,
    /// It is not emptied after all.
    is_kept: bool,
}

impl Victim {
    const fn new(block: BlockId) -> Self {
        Self { block, fillers: Vec::new(), places: Vec::new(), told: Vec::new(), is_kept: false }
    }
}

/// A range that needs a place; the largest is the greatest.
#[derive(Debug, PartialEq, Eq)]
struct Unplaced {
    /// Bytes that it takes.
    size: u64,
    /// The number of its block among the victims.
    victim: usize,
    range: BlockAllocation,
}

impl Ord for Unplaced {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |it: &Self| (it.size, Reverse((it.victim, it.range.offset)));
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Unplaced {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// How far the emptying of blocks has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Nothing is to be done.
    #[default]
    Idle,
    /// The chosen blocks are filled.
    Filling,
    /// Places are looked for.
    Planning,
    /// There are places for everything: ranges are told to move.
    Moving,
}

/// The blocks that a pool is emptying.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    phase: Phase,
    /// Blocks that are to be filled, in the order in which they were chosen.
    chosen: VecDeque<BlockId>,
    /// Blocks that are to be emptied, the one with the least in it first.
    victims: Vec<Victim>,
    /// What lies in them and has no place yet.
    unplaced: BinaryHeap<Unplaced>,
    /// Blocks that were empty when they were chosen.
    empty: Vec<Victim>,
    /// The first of the victims of which not every range was told to move.
    next: usize,
    /// Blocks of which every range was told to move, with those ranges.
    leaving: Vec<Victim>,
    /// Blocks that could not be emptied when the pool had so many used bytes and bytes in all: not tried again before
    /// that changes.
    stuck: Vec<BlockId>,
    stuck_at: (u64, u64),
}

impl<B, S: BlockSuballocator> Pool<B, S> {
    /// Goes on emptying the blocks whose content fits into the holes of others, as far as the budget allows: appends
    /// the ranges that are to move to `moves`, and blocks that are empty to `retired`. `needs` says what an allocated
    /// range needs, or `None` if it cannot move; it is asked once for each range of the blocks that are to be emptied.
    ///
    /// To be called again, such as once a frame, until it returns true: then nothing is left to do until ranges are
    /// allocated or freed. Ranges can be allocated and freed in between; where that finds no room,
    /// [`stop_compaction`](Self::stop_compaction) makes the room in the blocks available again. What is freed in a block
    /// that is being emptied can be allocated again until the next call, and keeps the block if it is: the next round
    /// looks at it anew.
    ///
    /// # Algorithm
    /// The blocks to empty are those with the fewest bytes in them, as many as the holes of the others have bytes for,
    /// so that no range moves into a block that is emptied later. They are filled, so that nothing is placed there.
    /// Then a place is allocated for each range in them, the largest first (first fit decreasing); where there is none,
    /// the fullest of the blocks is kept, and its holes are used, too. Only when all have one, they move, so that no
    /// byte moves in vain. What moves for `k` blocks is what lies in the `k` emptiest ones, which is the least possible.
    /// Blocks that are empty already are given back with them.
    ///
    /// O(blocks) and O(pieces of the budget); allocating costs nothing more meanwhile.
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
    ///         // Here its bytes are copied, and whoever has it is told.
    ///         pool.free(moved.from.handle, moved.size)?;
    ///     }
    /// }
    /// assert_eq!(pool.totals().capacity, 2048, "two ranges share a block");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact(
        &mut self,
        budget: CompactionBudget,
        mut needs: impl FnMut(&BlockAllocation) -> Option<RangeNeeds>,
        moves: &mut Vec<RangeMove>,
        retired: &mut Vec<B>,
    ) -> bool {
        let mut compaction = std::mem::take(&mut self.compaction);
        let mut left = budget;
        self.retire_emptied(&mut compaction, retired);
        let is_over = compaction.phase == Phase::Idle && compaction.leaving.is_empty();
        let is_done = is_over && !self.choose(&mut compaction);
        while left.pieces > 0 {
            let goes_on = match compaction.phase {
                Phase::Idle => false,
                Phase::Filling => self.fill_next(&mut compaction, &mut left),
                Phase::Planning => self.plan(&mut compaction, &mut left, &mut needs),
                Phase::Moving => self.hand_out(&mut compaction, &mut left, moves),
            };
            if !goes_on {
                break;
            }
        }
        if compaction.phase == Phase::Idle {
            self.retire_empty(&mut compaction, retired);
        }
        self.compaction = compaction;
        is_done
    }

    /// Makes all that is free in blocks that are being emptied available again; true when there was any. What was told
    /// to move goes on. O(pieces of those blocks).
    pub fn stop_compaction(&mut self) -> bool {
        let Compaction { victims, empty, leaving, .. } = std::mem::take(&mut self.compaction);
        let mut is_any = false;
        for mut victim in victims.into_iter().chain(empty).chain(leaving) {
            is_any |= !victim.fillers.is_empty() || !victim.places.is_empty();
            self.abandon(&mut victim);
        }
        is_any
    }

    /// Chooses the blocks with the fewest bytes, as many as the others have room for; false if there are none.
    fn choose(&self, compaction: &mut Compaction) -> bool {
        let now = (self.taken(), self.suballocator.capacity());
        if compaction.stuck_at != now {
            (compaction.stuck_at, compaction.stuck) = (now, Vec::new());
        }
        let chosen = self.emptiest(&compaction.stuck);
        let is_any = chosen.iter().any(|(used, _)| *used > 0);
        if is_any {
            compaction.chosen = chosen.into_iter().map(|(_, block)| block).collect();
            compaction.phase = Phase::Filling;
        }
        is_any
    }

    /// The blocks with the fewest used bytes, but for those that are stuck, as many as the free bytes of the others
    /// allow to be emptied; the one with the fewest first.
    fn emptiest(&self, stuck: &[BlockId]) -> Vec<(u64, BlockId)> {
        let blocks = self.blocks().filter(|(block, ..)| !stuck.contains(block));
        let mut blocks: Vec<_> = blocks.map(|(block, _, capacity, used)| (used, capacity, block)).collect();
        // Of two with as many bytes, the larger one is worth more.
        blocks.sort_unstable_by_key(|(used, capacity, block)| (*used, u64::MAX - capacity, block.index()));
        let (mut free, mut moved) = (self.suballocator.free_bytes(), 0);
        let fits = |(used, capacity, _): &&(u64, u64, BlockId)| {
            (moved, free) = (moved + used, free - (capacity - used));
            moved <= free
        };
        blocks.iter().take_while(fits).map(|(used, _, block)| (*used, *block)).collect()
    }

    /// Keeps other ranges out of the next block, and notes what lies in it.
    fn fill_next(&mut self, compaction: &mut Compaction, left: &mut CompactionBudget) -> bool {
        let Some(block) = compaction.chosen.pop_front() else {
            compaction.phase = Phase::Planning;
            return true;
        };
        let content: Vec<_> = self.suballocator.allocations_in(block).collect();
        left.pieces = left.pieces.saturating_sub(1 + content.len());
        let mut victim = Victim::new(block);
        self.fill(&mut victim);
        if content.is_empty() {
            compaction.empty.push(victim);
            return true;
        }
        let number = compaction.victims.len();
        let unplaced = content.into_iter().map(|range| Unplaced { size: range.size, victim: number, range });
        compaction.unplaced.extend(unplaced);
        compaction.victims.push(victim);
        true
    }

    /// Fills what is free in a block.
    fn fill(&mut self, victim: &mut Victim) {
        let mut fillers = Vec::new();
        self.suballocator.fill_block(victim.block, &mut fillers);
        for filler in fillers {
            self.lent += filler.size + filler.padding;
            victim.fillers.push(filler.handle);
        }
    }

    /// Frees what fills a block.
    fn open(&mut self, victim: &mut Victim) {
        victim.fillers.drain(..).for_each(|filler| self.give_up(filler));
    }

    /// Frees a filler, or a place to which nothing moves.
    fn give_up(&mut self, lent: Handle) {
        let freed = self.take_back(lent);
        debug_assert!(freed.is_ok(), "what was lent is taken back once");
    }

    fn is_there(&self, range: &BlockAllocation) -> bool {
        self.suballocator.get(range.handle) == Some(*range)
    }

    /// Looks for a place for the largest range that has none.
    fn plan(
        &mut self,
        compaction: &mut Compaction,
        left: &mut CompactionBudget,
        needs: &mut impl FnMut(&BlockAllocation) -> Option<RangeNeeds>,
    ) -> bool {
        let Some(next) = compaction.unplaced.pop() else {
            compaction.phase = Phase::Moving;
            return true;
        };
        left.pieces -= 1;
        let from = next.range;
        if compaction.victims[next.victim].is_kept || !self.is_there(&from) {
            return true;
        }
        let Some(RangeNeeds { size, alignment }) = needs(&from) else {
            self.keep_block(compaction, next.victim);
            return true;
        };
        match self.lend(size, alignment) {
            Some(to) => compaction.victims[next.victim].places.push(RangeMove { from, to, size }),
            None => {
                // The fullest of the blocks stays, and has holes for it.
                let fullest = compaction.victims.iter().rposition(|victim| !victim.is_kept);
                compaction.unplaced.push(next);
                fullest.into_iter().for_each(|fullest| self.keep_block(compaction, fullest));
            }
        }
        true
    }

    /// Does not empty a block after all.
    fn keep_block(&mut self, compaction: &mut Compaction, number: usize) {
        let victim = &mut compaction.victims[number];
        victim.is_kept = true;
        compaction.stuck.push(victim.block);
        self.abandon(victim);
    }

    /// Gives up the places of what lies in a block, and lets others be placed there.
    fn abandon(&mut self, victim: &mut Victim) {
        victim.places.drain(..).for_each(|place| self.give_up(place.to.handle));
        self.open(victim);
    }

    /// Appends moves of the next block; false when the budget is spent.
    fn hand_out(
        &mut self,
        compaction: &mut Compaction,
        left: &mut CompactionBudget,
        moves: &mut Vec<RangeMove>,
    ) -> bool {
        let Some(victim) = compaction.victims.get_mut(compaction.next) else {
            compaction.victims.clear();
            (compaction.phase, compaction.next) = (Phase::Idle, 0);
            return false;
        };
        while let Some(place) = victim.places.pop() {
            if !self.is_there(&place.from) {
                self.give_up(place.to.handle);
                continue;
            }
            // The first of a call may be larger than the budget, or it would never move.
            if left.moves == 0 || (place.size > left.bytes && !moves.is_empty()) {
                victim.places.push(place);
                return false;
            }
            left.moves -= 1;
            left.bytes = left.bytes.saturating_sub(place.size);
            self.count_place(&place);
            victim.told.push(place.from);
            moves.push(place);
        }
        compaction.next += 1;
        if !victim.is_kept {
            let victim = std::mem::replace(victim, Victim::new(victim.block));
            compaction.leaving.push(victim);
        }
        true
    }

    /// A place that was found is a range like others from here on.
    fn count_place(&mut self, place: &RangeMove) {
        self.lent = self.lent.saturating_sub(place.to.size + place.to.padding);
        self.requested = self.requested.saturating_add(place.size);
        self.padding += place.to.padding;
        self.allocations += 1;
        self.peak_used = self.peak_used.max(self.used());
    }

    /// Moves the blocks that were empty from the start to `retired`.
    fn retire_empty(&mut self, compaction: &mut Compaction, retired: &mut Vec<B>) {
        for mut victim in compaction.empty.drain(..) {
            self.open(&mut victim);
            retired.extend(self.remove_if_empty(victim.block));
        }
    }

    /// Moves blocks of which everything has left to `retired`.
    fn retire_emptied(&mut self, compaction: &mut Compaction, retired: &mut Vec<B>) {
        for mut victim in std::mem::take(&mut compaction.leaving) {
            while victim.told.pop_if(|range| !self.is_there(range)).is_some() {}
            if !victim.told.is_empty() {
                self.fill(&mut victim);
                compaction.leaving.push(victim);
                continue;
            }
            self.open(&mut victim);
            // What was allocated in it meanwhile, where something else was freed, keeps it until the next time.
            retired.extend(self.remove_if_empty(victim.block));
        }
    }
}
