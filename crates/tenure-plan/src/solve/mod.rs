//! From a first plan of the items of a class to a better one.

mod bump;
mod hole;
mod improve;
mod mend;
mod repair;
mod sample;
mod team;

use crate::Item;
use crate::budget::Budget;
use crate::order::{order, orders};
use crate::part::Part;
use crate::problem::{Pin, Problem};
use crate::skyline::{FEW, Placing, Skyline};
use bump::Bumps;
use mend::Mender;

/// Passes with the order of the one before, changed.
const BUMPS: usize = 8;
/// The same for too many items to be searched.
const BUMPS_OF_MANY: usize = 2;
/// Those that belong to the first plan.
const FREE_BUMPS: usize = 6;
/// So many items alive at a time, on average, are few.
const SPARSE: u64 = 64;

/// What the caller asked for, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) threads: usize,
    pub(crate) seed: u64,
}

/// The items of a class, with the best plan so far.
pub(crate) struct Space {
    problem: Problem,
    placing: Placing,
    /// Where passes go on.
    bumps: Bumps,
    /// No plan has a lower peak, in bytes.
    pub(crate) lower_bound: u64,
}

impl Space {
    /// The first plan, made in one pass, or a few where few items differ in alignment. `origin` names
    /// the items.
    pub(crate) fn new(items: &[Item], origin: &[u32], pinned: impl Fn(u32) -> Option<u64>) -> Self {
        let problem = Problem::new(items, origin, |k| pinned(origin[k]));
        let (bumps, placing) = first(&problem, &mut || false);
        let placing = placing.unwrap_or_else(|| stack(&problem));
        Self { lower_bound: problem.floor, bumps, problem, placing }
    }

    /// The same, with `pinned` for places in `origin`; nothing when told to stop.
    pub(crate) fn within(
        items: &[Item],
        origin: &[u32],
        pinned: impl Fn(usize) -> Option<u64>,
        mut stop: impl FnMut() -> bool,
    ) -> Option<Self> {
        let problem = Problem::new(items, origin, pinned);
        let (bumps, placing) = first(&problem, &mut stop);
        Some(Self { lower_bound: problem.floor, bumps, placing: placing?, problem })
    }

    /// The offsets of the items that are not pinned, in bytes.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = (u32, u64)> {
        let offsets = self.placing.offsets.iter().map(|offset| offset * self.problem.unit);
        self.problem.origin.iter().copied().zip(offsets)
    }

    /// The highest end, in bytes.
    pub(crate) const fn peak(&self) -> u64 {
        self.placing.peak
    }

    /// Spends a budget on lowering the peak to `goal` bytes.
    pub(crate) fn improve(&mut self, goal: u64, budget: &mut Budget, effort: Effort) {
        let goal = goal.max(self.lower_bound);
        self.mend_spikes(goal, budget, effort);
        self.other_orders(goal, budget);
        if self.placing.peak > goal && !budget.is_over() {
            self.part_by_part(goal, budget, effort);
        }
    }

    /// Where few of many items are alive at a time, the peak is above the load in few places, and in
    /// each of these a search among what lives there does.
    fn mend_spikes(&mut self, goal: u64, budget: &mut Budget, effort: Effort) {
        if self.problem.len() <= improve::SEARCHED || improve::alive(&self.problem) > SPARSE {
            return;
        }
        let end = budget.spent().saturating_add(2 * self.problem.len() as u64);
        let mut mender = Mender::new(&self.problem, self.placing.clone(), goal, effort.seed);
        while mender.is_needed() && budget.spent() < end && !budget.is_over() {
            budget.spend(mender.advance(budget.deadline()));
        }
        if mender.placing.peak < self.placing.peak {
            self.placing = mender.placing;
        }
    }

    /// Some passes more: each takes some microseconds in a frame, a search a hundred.
    fn other_orders(&mut self, goal: u64, budget: &mut Budget) {
        let mut skyline = Skyline::new(&self.problem);
        let is_searched = self.problem.len() <= improve::SEARCHED;
        for _ in 0..if is_searched { BUMPS } else { BUMPS_OF_MANY } {
            if self.placing.peak <= goal || budget.is_over() {
                return;
            }
            let Some(pass) = self.bumps.pass(&mut skyline, goal, self.placing.peak, || budget.is_over())
            else {
                break;
            };
            budget.spend(pass.placed.max(1));
            if let Some(placing) = pass.placing {
                self.placing = placing;
            }
        }
        if !is_searched {
            return;
        }
        for keys in &orders(&self.problem)[1..] {
            if self.placing.peak <= goal || budget.is_over() {
                break;
            }
            let order = order(&self.problem, *keys);
            let pass = skyline.pass_towards(goal, &order, self.placing.peak, || budget.is_over());
            budget.spend(pass.placed.max(1));
            if let Some(placing) = pass.placing {
                self.placing = placing;
            }
        }
    }

    /// Parts that do not touch in time have plans of their own, under one goal.
    fn part_by_part(&mut self, goal: u64, budget: &mut Budget, effort: Effort) {
        let ranges = self.problem.part_ranges();
        let mut parts = self.problem.parts(&ranges);
        parts.retain(|part| !part.members.is_empty());
        let top = |&item: &u32| self.problem.top(item as usize, self.placing.offsets[item as usize]);
        let peak = |part: &Part| part.members.iter().map(top).max().unwrap_or(0);
        let mut peaks: Vec<u64> = parts.iter().map(peak).collect();
        // What one part does not spend of its share is left for a second round, which looks elsewhere.
        for round in 0..2 {
            let effort = Effort { seed: effort.seed.wrapping_add(round << 60), ..effort };
            self.round(&parts, &mut peaks, goal.max(self.lower_bound), budget, effort);
        }
        self.placing.peak = peaks.into_iter().max().unwrap_or(0).max(self.problem.pinned_top());
    }

    /// The highest first: what is below the best that can be done there is low enough.
    fn round(
        &mut self,
        parts: &[Part],
        peaks: &mut [u64],
        mut goal: u64,
        budget: &mut Budget,
        effort: Effort,
    ) {
        let mut order: Vec<usize> = (0..parts.len()).collect();
        order.sort_by_key(|&at| core::cmp::Reverse(peaks[at]));
        for (done, &at) in order.iter().enumerate() {
            if peaks[at] <= goal || budget.is_over() {
                break;
            }
            // Those not yet looked at are as high as they were, and in order.
            let waiting = order[done..].partition_point(|&at| peaks[at] > goal);
            let mut share = budget.share(u32::try_from(waiting).unwrap_or(u32::MAX));
            let part = &parts[at];
            let offsets = part.members.iter().map(|&item| self.placing.offsets[item as usize]).collect();
            let placing = Placing { offsets, peak: peaks[at] };
            let better = improve::improve(&part.problem, &placing, goal, &mut share, effort);
            budget.spend(share.spent());
            self.lower_bound = self.lower_bound.max(better.floor);
            if let Some(placing) = better.placing {
                peaks[at] = placing.peak;
                for (&item, offset) in part.members.iter().zip(placing.offsets) {
                    self.placing.offsets[item as usize] = offset;
                }
            }
            goal = goal.max(peaks[at]);
        }
    }
}

/// The first passes; no plan when told to stop before the first one is made.
fn first(problem: &Problem, stop: &mut impl FnMut() -> bool) -> (Bumps, Option<Placing>) {
    let order = order(problem, orders(problem)[0]);
    let mut skyline = Skyline::new(problem);
    let (mut bumps, pass) = Bumps::new(order, &mut skyline, problem.floor, &mut *stop);
    let mut placing = pass.placing;
    if problem.len() <= FEW && !problem.align.is_empty() {
        for _ in 0..FREE_BUMPS {
            let Some(Placing { peak, .. }) = placing else { break };
            let next = bumps.pass(&mut skyline, problem.floor, peak, &mut *stop);
            placing = next.and_then(|pass| pass.placing).or(placing);
        }
    }
    (bumps, placing)
}

/// One above the other, above what is pinned. Nothing needs it, as a pass without a ceiling succeeds.
fn stack(problem: &Problem) -> Placing {
    let mut free = problem.pins.iter().map(Pin::top).max().unwrap_or(0);
    let mut placing = Placing { offsets: Vec::with_capacity(problem.len()), peak: problem.pinned_top() };
    for item in 0..problem.len() {
        let offset = free.next_multiple_of(problem.align(item));
        placing.offsets.push(offset);
        placing.peak = placing.peak.max(problem.top(item, offset));
        free = offset + problem.size[item];
    }
    placing
}
