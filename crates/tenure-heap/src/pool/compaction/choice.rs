//! The choice of the blocks to empty.

use std::collections::VecDeque;

use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator, FilledPiece};

use super::victim::Victim;
use super::{Left, Phase, RangeNeeds};
use crate::Pool;

/// Used bytes and capacity of a pool. A failed attempt is repeated only after one of them changes.
type Totals = (u64, u64);

/// The choice of the blocks to empty.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// Blocks to visit, fewest used bytes first.
    candidates: VecDeque<BlockId>,
    /// Whether the content of the chosen blocks exceeds the free bytes of the others.
    is_more_than_fits: bool,
    /// Used bytes of the chosen blocks, without kept ones.
    pub(super) moved: u64,
    /// The number of these blocks that are not empty.
    pub(super) count: usize,
    /// Used bytes of each block that could be emptied at the beginning of the run, fewest first.
    emptiest: Vec<u64>,
    /// Blocks that have received ranges in this run: no range moves twice.
    received: Vec<BlockId>,
    /// Used bytes of blocks that were emptied in this run, and their count.
    done: (u64, usize),
    /// Blocks that could not be emptied.
    stuck: Vec<BlockId>,
    stuck_at: Totals,
    /// The totals at the last run without work.
    idle_at: Option<Totals>,
}

impl Choice {
    /// Whether emptying `count` blocks with `moved` used bytes moves at most a tenth more than the minimum.
    pub(super) fn is_worth_it(&self, moved: u64, count: usize) -> bool {
        let (done, emptied) = self.done;
        let least: u64 = self.emptiest.iter().take(emptied + count).sum();
        (done + moved).saturating_mul(10) <= least.saturating_mul(11)
    }

    /// Notes that a chosen block is kept.
    pub(super) fn note_kept(&mut self, block: BlockId, used: u64) {
        self.stuck.push(block);
        self.moved -= used.min(self.moved);
        self.count -= usize::from(used > 0).min(self.count);
    }

    /// Notes a block with a range that cannot move.
    fn note_immovable(&mut self, used: u64) {
        if let Ok(place) = self.emptiest.binary_search(&used) {
            self.emptiest.remove(place);
        }
    }

    /// Notes that a range has moved into a block.
    pub(super) fn note_received(&mut self, block: BlockId) {
        if !self.received.contains(&block) {
            self.received.push(block);
        }
    }

    /// Notes that the chosen blocks are empty.
    pub(super) const fn note_done(&mut self) {
        self.done = (self.done.0 + self.moved, self.done.1 + self.count);
    }
}

impl<B, S: BlockSuballocator> Pool<B, S> {
    /// Starts choosing blocks; false if there are none.
    pub(super) fn choose(&mut self) -> bool {
        let now = (self.taken(), self.suballocator.capacity());
        if self.compaction.choice.idle_at == Some(now) {
            return false;
        }
        let choice = &mut self.compaction.choice;
        if choice.stuck_at != now {
            (choice.stuck_at, choice.stuck) = (now, Vec::new());
        }
        let candidates = self.candidates();
        let is_first_round = self.compaction.choice.received.is_empty();
        let choice = &mut self.compaction.choice;
        if is_first_round {
            choice.done = (0, 0);
            choice.emptiest = candidates.iter().map(|(used, ..)| *used).filter(|used| *used > 0).collect();
        }
        (choice.moved, choice.count, choice.is_more_than_fits) = (0, 0, false);
        let least = candidates.iter().find(|(used, ..)| *used > 0);
        let empty: u64 = candidates.iter().filter(|(used, ..)| *used == 0).map(|(_, bytes, _)| *bytes).sum();
        let free = self.suballocator.free_bytes() - empty;
        let choice = &mut self.compaction.choice;
        let fits = |(used, capacity, _): &(u64, u64, BlockId)| {
            *used <= free - (capacity - used) && choice.is_worth_it(*used, 1)
        };
        if !least.is_some_and(fits) {
            (choice.idle_at, choice.received) = (Some(now), Vec::new());
            return false;
        }
        choice.candidates = candidates.into_iter().map(|(.., block)| block).collect();
        self.compaction.phase = Phase::Filling;
        true
    }

    /// The blocks that can be emptied, with their used bytes and capacity, fewest used bytes first; on a tie the
    /// larger block first.
    fn candidates(&self) -> Vec<(u64, u64, BlockId)> {
        let Choice { stuck, received, .. } = &self.compaction.choice;
        let blocks = self.blocks().filter(|(block, ..)| !stuck.contains(block) && !received.contains(block));
        let mut blocks: Vec<_> = blocks.map(|(block, _, capacity, used)| (used, capacity, block)).collect();
        blocks.sort_unstable_by_key(|(used, capacity, block)| (*used, u64::MAX - capacity, block.index()));
        blocks
    }

    /// Fills the free pieces of the next blocks, so that nothing is allocated there, and notes their content.
    pub(super) fn fill_on(
        &mut self,
        left: &mut Left,
        needs: &mut impl FnMut(&BlockAllocation) -> Option<RangeNeeds>,
    ) -> bool {
        let number = self.compaction.victims.len().wrapping_sub(1);
        let last = self.compaction.victims.get_mut(number).filter(|victim| !victim.is_filled);
        let Some(victim) = last else {
            left.take_pieces(1);
            return self.choose_next() || self.end_choice();
        };
        let after = victim.pieces.last().map(|last| last.handle);
        let (block, first) = (victim.block, victim.pieces.len());
        let found = &mut self.compaction.found;
        found.clear();
        victim.is_filled = self.suballocator.fill_block(block, after, left.pieces, found);
        self.lent += victim.note(found);
        left.take_pieces(found.len());
        self.ask(number, first, needs);
        true
    }

    /// Chooses the remaining block with the fewest used bytes, if the others have enough free bytes for its content.
    /// If that block is larger than another, one more is chosen, so that a smaller one can be kept for ranges without
    /// a location.
    fn choose_next(&mut self) -> bool {
        while let Some(block) = self.compaction.choice.candidates.pop_front() {
            let totals = (self.suballocator.block_capacity(block), self.suballocator.block_used(block));
            let (Some(capacity), Some(used)) = totals else { continue };
            let free = self.suballocator.free_bytes() - (capacity - used);
            let compaction = &mut self.compaction;
            let choice = &mut compaction.choice;
            let moved = choice.moved + used;
            let is_larger = |victim: &Victim| victim.used > 0 && victim.capacity < capacity;
            let fits = moved <= free && !choice.is_more_than_fits;
            let is_one_more = !choice.is_more_than_fits && compaction.victims.iter().any(is_larger);
            let count = choice.count + usize::from(used > 0);
            if !(fits || is_one_more) || (used > 0 && !choice.is_worth_it(moved, count)) {
                return false;
            }
            choice.is_more_than_fits |= !fits;
            (choice.moved, choice.count) = (moved, count);
            let number = compaction.victims.len();
            compaction.victims.push(Victim::new(block, capacity, used));
            if compaction.numbers.len() <= block.index() {
                compaction.numbers.resize(block.index() + 1, None);
            }
            compaction.numbers[block.index()] = u32::try_from(number).ok();
            compaction.watches = true;
            return true;
        }
        false
    }

    /// Continues with the search for new locations; false if nothing was chosen because allocations have meanwhile
    /// taken the free bytes.
    fn end_choice(&mut self) -> bool {
        let now = (self.taken(), self.suballocator.capacity());
        let compaction = &mut self.compaction;
        compaction.choice.candidates.clear();
        let is_any = !compaction.victims.is_empty();
        if is_any {
            compaction.phase = Phase::Planning;
        } else {
            (compaction.phase, compaction.choice.idle_at) = (Phase::Idle, Some(now));
            compaction.choice.received.clear();
        }
        is_any
    }

    /// Queries the needs of the ranges among the pieces just found. Keeps their block if one cannot move.
    fn ask(
        &mut self,
        number: usize,
        first: usize,
        needs: &mut impl FnMut(&BlockAllocation) -> Option<RangeNeeds>,
    ) {
        let compaction = &mut self.compaction;
        let found = compaction.found.iter().zip(first..).filter(|(piece, _)| !piece.was_free);
        for (FilledPiece { range, .. }, piece) in found {
            let is_told = compaction.told.contains(&(range.block, range.offset));
            let needed = if is_told { None } else { needs(range) };
            let Some(needed) = needed else {
                let used = compaction.victims[number].used;
                compaction.choice.note_immovable(used);
                self.keep_block(number);
                break;
            };
            compaction.plan.add(number, piece, range, needed);
        }
        self.compaction.found.clear();
    }
}

#[cfg(test)]
mod tests {
    use tenure_suballoc::GeneralBlocks;

    use crate::{CompactionBudget, Pool, RangeNeeds};

    /// A run in which slightly too much has moved, because the fullest block is always kept, and with an empty block,
    /// which costs nothing and must not continue the choice forever.
    #[test]
    fn a_run_that_has_moved_too_much_ends() {
        let ranges = GeneralBlocks::new(16).unwrap_or_else(|error| panic!("{error}"));
        let (mut pool, mut retired) = (Pool::new(ranges, 1000), Vec::new());
        let mut rest = Vec::new();
        for (number, left) in [512, 96, 0, 512].into_iter().enumerate() {
            let range = pool.add_and_allocate(number, 1024, 1024 - left, 16, &mut retired);
            rest.push(range.unwrap_or_else(|unfit| panic!("{unfit:?}")));
            assert!(left == 0 || pool.allocate(left, 16).is_some());
        }
        rest.iter().for_each(|range| assert!(pool.free(range.handle, 1024).is_ok()));
        let choice = &mut pool.compaction.choice;
        (choice.received, choice.done, choice.emptiest) = (vec![rest[0].block], (100, 1), vec![90, 96]);
        let budget = CompactionBudget { bytes: u64::MAX, moves: 10, pieces: 10 };
        let (mut calls, mut moves) = (0, Vec::new());
        while !pool.compact(
            budget,
            |range| Some(RangeNeeds { size: range.size, alignment: 16 }),
            &mut moves,
            &mut retired,
        ) {
            for moved in moves.drain(..) {
                assert!(pool.free(moved.from.handle, moved.size).is_ok());
            }
            calls += 1;
            assert!(calls < 100, "it does not end");
        }
        retired.sort_unstable();
        assert_eq!(retired, [1, 2]);
    }
}
