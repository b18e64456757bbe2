//! Other policies, reimplemented from their descriptions: each plays a trace on the [model](super::model).

use super::model::Model;
use super::trace::{FRAME_NS, Outcome, Submission, Trace};

/// A policy. Functions that it does not override are left to the operating system.
pub(super) trait Policy {
    fn created(&mut self, _model: &mut Model<'_>, _thing: usize, _frame: u64) {}
    fn before(&mut self, _model: &mut Model<'_>, _submission: &Submission, _frame: u64) {}
    fn end_frame(&mut self, _model: &mut Model<'_>, _frame: u64) {}
}

/// Plays a trace.
pub(super) fn play(trace: &Trace, policy: &mut dyn Policy) -> Outcome {
    let mut model = Model::new(trace);
    for (number, frame) in (0..).zip(&trace.frames) {
        frame.dropped.iter().for_each(|thing| model.drop(*thing));
        for thing in &frame.created {
            policy.created(&mut model, *thing, number);
            model.create(*thing);
        }
        for submission in &frame.submissions {
            policy.before(&mut model, submission, number);
            model.submit(&submission.uses);
        }
        model.budget = frame.budget.unwrap_or(model.budget);
        model.flight.pass(trace);
        model.demote_excess();
        policy.end_frame(&mut model, number);
        model.end_frame(frame.submissions.len());
    }
    model.outcome
}

/// The policy evicts nothing, and the operating system demotes the least recently used objects.
pub(super) struct Nothing;

impl Policy for Nothing {}

/// The number of frames in some milliseconds.
const fn frames(milliseconds: u64) -> u64 {
    milliseconds * 1_000_000 / FRAME_NS
}

/// `D3DX12Residency`: least recently used first. Below 70 % of the budget nothing ages; from there to 100 %
/// objects unused for 60 s, down to 1 s, are evicted. The objects of a submission are made resident before it;
/// if that exceeds the budget, the least recently used are evicted, and the CPU waits for the GPU if they are
/// in use.
///
/// Better than the library in one point: it considers only local memory, while the library compares the sum of
/// both segments, so that a shortage of local memory alone goes unnoticed.
pub(super) struct LeastRecentlyUsed {
    /// For each thing, the frame and the number of its last use.
    last: Vec<(u64, u64)>,
    uses: u64,
}

impl LeastRecentlyUsed {
    pub(super) fn new(trace: &Trace) -> Self {
        Self { last: vec![(0, 0); trace.things.len()], uses: 0 }
    }

    fn note(&mut self, thing: usize, frame: u64) {
        self.uses += 1;
        self.last[thing] = (frame, self.uses);
    }

    /// Things whose last use is not after the use `before`.
    fn oldest_first(&self, model: &Model<'_>, before: u64) -> Vec<usize> {
        let leaves = |thing: &usize| model.is_claimed(*thing) && self.last[*thing].1 <= before;
        let mut things: Vec<_> = (0..self.last.len()).filter(leaves).collect();
        things.sort_by_key(|thing| self.last[*thing].1);
        things
    }

    /// Evicts objects that have been unused for longer than the current pressure allows.
    fn age(&self, model: &mut Model<'_>, before: u64, frame: u64) {
        if model.budget == 0 {
            return;
        }
        let used = model.claimed as f64 / model.budget as f64;
        if used < 0.7 {
            return;
        }
        let seconds = 60.0 - 59.0 * ((used - 0.7) / 0.3).min(1.0);
        let age = frames((seconds * 1000.0) as u64);
        for thing in self.oldest_first(model, before) {
            if frame.saturating_sub(self.last[thing].0) < age {
                break;
            }
            if !model.flight.uses(thing) {
                model.evict(thing);
            }
        }
    }

    fn make_room(&self, model: &mut Model<'_>, more: u64, before: u64) {
        if model.excess(more) == 0 {
            return;
        }
        for thing in self.oldest_first(model, before) {
            if model.excess(more) == 0 {
                return;
            }
            while model.flight.uses(thing) {
                model.outcome.waits += 1;
                model.flight.complete_one(model.trace);
            }
            model.evict(thing);
        }
    }
}

impl Policy for LeastRecentlyUsed {
    fn created(&mut self, model: &mut Model<'_>, thing: usize, frame: u64) {
        self.make_room(model, model.trace.local(&[thing]), self.uses);
        self.note(thing, frame);
    }

    fn before(&mut self, model: &mut Model<'_>, submission: &Submission, frame: u64) {
        // Objects of this submission stay.
        let before = self.uses;
        submission.uses.iter().for_each(|thing| self.note(*thing, frame));
        self.age(model, before, frame);
        let missing: Vec<_> =
            submission.uses.iter().copied().filter(|thing| !model.is_claimed(*thing)).collect();
        let coming = model.trace.local(&missing);
        if coming > 0 {
            self.make_room(model, coming, before);
        }
        missing.into_iter().for_each(|thing| model.page_in(thing));
    }
}

/// dxvk's policy: a clock over the blocks. Every 500 ms, if the usage exceeds the budget minus 1 % and two
/// chunks, the hand advances: a block used since its last visit gets another chance, others move to system
/// memory, until the rest fits or 16 MiB have moved. A use of a demoted block brings it back, at most 16 MiB
/// per frame and only within the budget; until then it is read remotely.
pub(super) struct Clock {
    is_used: Vec<bool>,
    hand: usize,
    /// Bytes that came back in this frame.
    moved: u64,
}

/// Bytes of a chunk of dxvk's allocator, at the sizes of these traces.
const CHUNK: u64 = 4 << 20;
/// Bytes that it moves at once.
const MOVES: u64 = 16 << 20;

impl Clock {
    pub(super) fn new(trace: &Trace) -> Self {
        Self { is_used: vec![false; trace.things.len()], hand: 0, moved: 0 }
    }

    fn sweep(&mut self, model: &mut Model<'_>) {
        let room = model.budget - model.budget / 100;
        let room = room.saturating_sub(2 * CHUNK);
        let mut moved = 0;
        for _ in 0..2 * self.is_used.len() {
            if model.budget == 0 || model.claimed <= room || moved >= MOVES {
                return;
            }
            let thing = self.hand;
            self.hand = (self.hand + 1) % self.is_used.len();
            let is_used = std::mem::take(&mut self.is_used[thing]);
            if model.is_claimed(thing) && !is_used && !model.flight.uses(thing) {
                model.evict(thing);
                moved += model.trace.local(&[thing]);
            }
        }
    }
}

impl Policy for Clock {
    fn before(&mut self, model: &mut Model<'_>, submission: &Submission, _frame: u64) {
        for thing in &submission.uses {
            self.is_used[*thing] = true;
            let bytes = model.trace.local(&[*thing]);
            let fits = self.moved + bytes <= MOVES && model.excess(bytes) == 0;
            if fits && bytes > 0 && !model.is_claimed(*thing) {
                self.moved += bytes;
                model.page_in(*thing);
            }
        }
    }

    fn end_frame(&mut self, model: &mut Model<'_>, frame: u64) {
        self.moved = 0;
        if frame.is_multiple_of(frames(500)) {
            self.sweep(model);
        }
    }
}
