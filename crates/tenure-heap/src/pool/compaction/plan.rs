//! The search of new locations for the content of the blocks to empty.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use tenure_suballoc::{BlockAllocation, BlockSuballocator};

use super::victim::{Content, Destination, Piece, State, Victim};
use super::{Left, Phase, RangeMove, RangeNeeds};
use crate::Pool;

/// A range that needs a new location. Ordered by size.
#[derive(Debug, PartialEq, Eq)]
struct Unplaced {
    /// Reserved bytes.
    bytes: u64,
    needs: RangeNeeds,
    /// Index of its block among the victims.
    victim: u32,
    /// Index among the victim's pieces.
    piece: u32,
}

impl Ord for Unplaced {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |it: &Self| (it.bytes, Reverse((it.victim, it.piece)));
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Unplaced {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The ranges of the victims without a new location.
#[derive(Debug, Default)]
pub(super) struct Plan {
    unplaced: BinaryHeap<Unplaced>,
    /// The ranges that fit nowhere.
    left_over: Vec<Unplaced>,
}

impl Plan {
    /// Adds a range of a victim.
    pub(super) fn add(&mut self, victim: usize, piece: usize, range: &BlockAllocation, needs: RangeNeeds) {
        let (victim, piece) = (victim as u32, piece as u32);
        self.unplaced.push(Unplaced { bytes: range.size, needs, victim, piece });
    }
}

impl<B, S: BlockSuballocator> Pool<B, S> {
    /// Searches a location for the largest untried range.
    pub(super) fn plan_on(&mut self, left: &mut Left) -> bool {
        left.take_pieces(1);
        let Some(next) = self.compaction.plan.unplaced.pop() else {
            self.end_plan();
            return true;
        };
        if !is_waiting(&self.compaction.victims, &next) {
            return true;
        }
        let RangeNeeds { size, alignment } = next.needs;
        match self.lend(size, alignment) {
            Some(to) => {
                let place = Destination { piece: next.piece, to: to.handle, size };
                self.compaction.victims[next.victim as usize].places.push(place);
            }
            None => self.compaction.plan.left_over.push(next),
        }
        true
    }

    /// Ends the search: the ranges move if each has a location. Otherwise one more block is kept.
    fn end_plan(&mut self) {
        let compaction = &mut self.compaction;
        compaction.plan.left_over.retain(|range| is_waiting(&compaction.victims, range));
        let mut left_over = std::mem::take(&mut compaction.plan.left_over);
        if left_over.is_empty() {
            compaction.choice.note_done();
            compaction.phase = Phase::Moving;
            return;
        }
        let kept = self.best_to_keep(&left_over);
        self.compaction.plan.unplaced.extend(left_over.drain(..));
        self.compaction.plan.left_over = left_over;
        kept.into_iter().for_each(|number| self.keep_block(number));
    }

    /// The smallest victim with space for the ranges without a location, or the largest if none has. On a tie, the
    /// one with the most used bytes. O(victims + ranges without a location).
    fn best_to_keep(&self, left_over: &[Unplaced]) -> Option<usize> {
        let victims = &self.compaction.victims;
        let bytes: u64 = left_over.iter().map(|range| range.bytes).sum();
        let largest = Largest::of(left_over);
        let chosen = victims.iter().enumerate().filter(|(_, victim)| victim.state == State::Chosen);
        let fullest = chosen.clone().map(|(_, victim)| victim.used).max()?;
        let choice = &self.compaction.choice;
        let is_allowed = |(_, victim): &(usize, &Victim)| {
            let rest = choice.moved.saturating_sub(victim.used);
            let count = choice.count.saturating_sub(usize::from(victim.used > 0));
            victim.used == fullest || choice.is_worth_it(rest, count)
        };
        let allowed = chosen.filter(is_allowed);
        // The locations of this block's ranges become available to others.
        let has_room = |(number, victim): &(usize, &Victim)| {
            victim.capacity >= bytes && victim.largest_hole >= largest.outside(*number)
        };
        // With little more space than that, some ranges would again find no location, and another block would be kept
        // for them.
        let least = allowed.clone().map(|(_, victim)| victim.capacity).min()?;
        let expected = |victim: &Victim| {
            let is_tight = victim.capacity - victim.capacity / 64 < bytes;
            victim.capacity.saturating_add(if is_tight { least } else { 0 })
        };
        let smallest = allowed.clone().filter(has_room);
        let smallest = smallest.min_by_key(|(_, victim)| (expected(victim), Reverse(victim.used)));
        let largest = || allowed.max_by_key(|(_, victim)| (victim.capacity, victim.used));
        smallest.or_else(largest).map(|(number, _)| number)
    }

    /// Keeps a chosen block: allows allocations in it, and frees the new locations of its ranges.
    pub(super) fn keep_block(&mut self, number: usize) {
        let compaction = &mut self.compaction;
        let victim = &mut compaction.victims[number];
        compaction.unneeded.extend(victim.lent());
        victim.state = State::Kept;
        victim.is_filled = true;
        (victim.pieces, victim.places) = (Vec::new(), Vec::new());
        compaction.numbers[victim.block.index()] = None;
        compaction.choice.note_kept(victim.block, victim.used);
    }

    /// Appends the moves of the next block; false when the budget is spent, or all moves are returned.
    pub(super) fn tell_on(&mut self, left: &mut Left, moves: &mut Vec<RangeMove>) -> bool {
        let next = self.compaction.next;
        let Some(victim) = self.compaction.victims.get_mut(next) else { return false };
        let chosen = victim.state == State::Chosen;
        let Some(place) = victim.places.pop().filter(|_| chosen) else {
            if chosen {
                victim.state = State::Leaving;
            }
            self.compaction.next += 1;
            return true;
        };
        let piece: &mut Piece = &mut victim.pieces[place.piece as usize];
        let ranges = &self.suballocator;
        let found = ranges.get(piece.handle).zip(ranges.get(place.to));
        let Some((from, to)) = found.filter(|_| piece.content == Content::Range) else {
            // It was freed.
            left.take_pieces(1);
            self.free_held(place.to);
            return true;
        };
        if !left.take_move(place.size) {
            victim.places.push(place);
            return false;
        }
        left.take_pieces(1);
        piece.content = Content::Told;
        self.compaction.choice.note_received(to.block);
        let told = RangeMove { from, to, size: place.size };
        self.count_place(&told);
        moves.push(told);
        true
    }

    /// Counts a new location as a used range.
    fn count_place(&mut self, place: &RangeMove) {
        self.lent = self.lent.saturating_sub(place.to.size + place.to.padding);
        self.requested = self.requested.saturating_add(place.size);
        self.padding += place.to.padding;
        self.allocations += 1;
        self.peak_used = self.peak_used.max(self.used());
    }
}

/// Whether a range is still in a block that is being emptied.
fn is_waiting(victims: &[Victim], range: &Unplaced) -> bool {
    let victim = &victims[range.victim as usize];
    let piece = victim.pieces.get(range.piece as usize);
    victim.state == State::Chosen && piece.is_some_and(|piece| piece.content == Content::Range)
}

/// The largest range without a location, and the largest in another victim.
struct Largest {
    bytes: u64,
    victim: u32,
    elsewhere: u64,
}

impl Largest {
    fn of(left_over: &[Unplaced]) -> Self {
        let first = left_over.iter().max_by_key(|range| range.bytes);
        let (bytes, victim) = first.map_or((0, 0), |range| (range.bytes, range.victim));
        let others = left_over.iter().filter(|range| range.victim != victim);
        Self { bytes, victim, elsewhere: others.map(|range| range.bytes).max().unwrap_or(0) }
    }

    /// Bytes of the largest range outside a victim.
    const fn outside(&self, victim: usize) -> u64 {
        if victim == self.victim as usize { self.elsewhere } else { self.bytes }
    }
}
