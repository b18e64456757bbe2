//! The bound on bytes paged in: fractional Belady, offline.
//!
//! Each byte is a separate page, and all uses are known. If the kept bytes exceed the memory, the bytes with
//! the latest next use are evicted, also parts of a block (L. Belady, "A study of replacement algorithms for a
//! virtual-storage computer", 1966). Used bytes need not be kept: a use may read and forget them. A use costs
//! its bytes unless they were kept, as it does for a player that reads them remotely. New objects cost nothing
//! at first, as for the players.
//!
//! This is a lower bound for every policy that pages in, or reads remotely, all bytes that submissions use, and
//! that keeps at most the budget, or the bytes used by submissions in flight if these are more, or the same of
//! a few submissions before, while the operating system waits, and in addition newly created objects. The
//! reason: keeping bytes between two uses is keeping an interval, all bytes have equal weight, and dropping the
//! interval that ends last wherever too many overlap keeps the most, also with changing budgets.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::trace::{Flight, LAG, Trace};

/// Bytes that any such policy pages in.
pub(super) fn bytes_in(trace: &Trace) -> u64 {
    let mut bound = Bound::new(trace);
    for frame in &trace.frames {
        frame.dropped.iter().for_each(|thing| bound.drop(*thing));
        for thing in &frame.created {
            bound.keep_all(*thing);
            bound.fresh.push_back((bound.now, trace.local(&[*thing])));
        }
        for submission in &frame.submissions {
            bound.submit(&submission.uses);
        }
        bound.budget = frame.budget.unwrap_or(bound.budget);
        bound.shrink();
    }
    bound.paged
}

struct Bound<'a> {
    trace: &'a Trace,
    budget: u64,
    /// For each thing, the submissions that use it, the next one last.
    uses: Vec<Vec<u64>>,
    now: u64,
    /// For each thing, the bytes that are kept.
    kept: Vec<u64>,
    sum: u64,
    /// By the next use; entries with others than the present ones are stale.
    last_needed: BinaryHeap<(u64, Reverse<usize>)>,
    flight: Flight,
    /// The room at the last submissions.
    rooms: VecDeque<u64>,
    /// Bytes that were created, with the number of submissions by then: for a while they may exceed the room.
    fresh: VecDeque<(u64, u64)>,
    paged: u64,
}

impl<'a> Bound<'a> {
    fn new(trace: &'a Trace) -> Self {
        let mut uses = vec![Vec::new(); trace.things.len()];
        let submissions = trace.frames.iter().flat_map(|frame| &frame.submissions);
        for (number, submission) in (1..).zip(submissions) {
            submission.uses.iter().for_each(|thing| uses[*thing].push(number));
        }
        uses.iter_mut().for_each(|uses| uses.reverse());
        Self {
            trace,
            budget: trace.budget,
            uses,
            now: 0,
            kept: vec![0; trace.things.len()],
            sum: 0,
            last_needed: BinaryHeap::new(),
            // Twice the lag of the players: some of them keep completed submissions longer.
            flight: Flight::new(trace, 2 * LAG),
            rooms: VecDeque::new(),
            fresh: VecDeque::new(),
            paged: 0,
        }
    }

    fn next_use(&self, thing: usize) -> u64 {
        self.uses[thing].last().copied().unwrap_or(u64::MAX)
    }

    /// Keeps all bytes of a local thing.
    fn keep_all(&mut self, thing: usize) {
        let bytes = self.trace.things[thing].bytes;
        if self.trace.is_local(thing) {
            self.sum += bytes - self.kept[thing];
            self.kept[thing] = bytes;
            self.last_needed.push((self.next_use(thing), Reverse(thing)));
        }
    }

    fn drop(&mut self, thing: usize) {
        self.sum -= std::mem::take(&mut self.kept[thing]);
    }

    fn submit(&mut self, uses: &[usize]) {
        self.now += 1;
        for thing in uses.iter().copied().filter(|thing| self.trace.is_local(*thing)) {
            self.paged += self.trace.things[thing].bytes - self.kept[thing];
            self.uses[thing].pop();
        }
        uses.iter().for_each(|thing| self.keep_all(*thing));
        self.flight.submit(self.trace, uses);
        self.rooms.push_back(self.room());
        let end = self.now.saturating_sub(self.trace.demotion_delay + LAG);
        while self.fresh.front().is_some_and(|(at, _)| *at < end) {
            self.fresh.pop_front();
        }
        while self.rooms.len() as u64 > self.trace.demotion_delay + LAG {
            self.rooms.pop_front();
        }
        self.shrink();
    }

    fn room(&self) -> u64 {
        if self.budget == 0 { u64::MAX } else { self.budget.max(self.flight.bytes()) }
    }

    /// Forgets the bytes that are needed last until the rest fits.
    fn shrink(&mut self) {
        let fresh = self.fresh.iter().map(|(_, bytes)| bytes).sum();
        let room = self.rooms.iter().copied().fold(self.room(), u64::max).saturating_add(fresh);
        while self.sum > room {
            let Some((at, Reverse(thing))) = self.last_needed.pop() else { return };
            if at != self.next_use(thing) || self.kept[thing] == 0 {
                continue;
            }
            let gone = self.kept[thing].min(self.sum - room);
            self.kept[thing] -= gone;
            self.sum -= gone;
            if self.kept[thing] > 0 {
                self.last_needed.push((at, Reverse(thing)));
            }
        }
    }
}
