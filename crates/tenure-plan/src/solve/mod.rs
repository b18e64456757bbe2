//! Improves the first plan of a class.

mod improve;
mod neighbourhood;
mod orders;

use crate::Item;
use crate::config::Budget;
use crate::order::{Key, order, orders};
use crate::part::Part;
use crate::problem::{Pin, Problem};
use crate::skyline::{FEW, Layout, Skyline};
use neighbourhood::{GoalRepair, Neighbourhood};
use orders::SqueakyWheel;

/// The number of passes that each change the previous order.
const REORDERED_PASSES: usize = 8;
/// The fractions of the height, in units of 1/16, above which the items of a plan are placed again, if there are too
/// many items to search.
const PLACED_AGAIN_ABOVE: [u64; 8] = [4, 5, 6, 7, 8, 9, 10, 11];
/// The number of those passes that belong to the first plan.
const FREE_REORDERED_PASSES: usize = 6;
/// The fraction of the goal by which a plan with too many items to search may exceed it before all of them are placed
/// in other orders. Below that, placing the upper ones again helps more.
const FAR: u64 = 64;

/// The maximum average number of live items in a sparse problem.
const SPARSE: u64 = 64;

/// The options for the improvement of a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) threads: usize,
    pub(crate) seed: u64,
}

/// The items of a class, with the best plan so far.
pub(crate) struct ClassPlanner {
    problem: Problem,
    layout: Layout,
    /// The sort keys of the best pass.
    keys: [Key; 3],
    /// The order of the next pass.
    squeaky_wheel: SqueakyWheel,
    /// A lower bound of the peak, in bytes.
    pub(crate) lower_bound: u64,
}

impl ClassPlanner {
    /// The first plan of the items at the indices `origin`, made in one pass, or in several if few items differ in
    /// alignment.
    pub(crate) fn new(items: &[Item], origin: &[u32], pinned: impl Fn(u32) -> Option<u64>) -> Self {
        let problem = Problem::new(items, origin, |k| pinned(origin[k]));
        let (squeaky_wheel, layout) = first(&problem, &mut || false);
        let layout = layout.unwrap_or_else(|| stack(&problem));
        Self { lower_bound: problem.floor, keys: orders(&problem)[0], squeaky_wheel, problem, layout }
    }

    /// Like `new`, with `pinned` by index in `origin`; `None` if `stop` returns true.
    pub(crate) fn within(
        items: &[Item],
        origin: &[u32],
        pinned: impl Fn(usize) -> Option<u64>,
        mut stop: impl FnMut() -> bool,
    ) -> Option<Self> {
        let problem = Problem::new(items, origin, pinned);
        let (squeaky_wheel, layout) = first(&problem, &mut stop);
        let keys = orders(&problem)[0];
        Some(Self { lower_bound: problem.floor, keys, squeaky_wheel, layout: layout?, problem })
    }

    /// The offsets of the items without a pin, in bytes.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = (u32, u64)> {
        let offsets = self.layout.offsets.iter().map(|offset| offset * self.problem.unit);
        self.problem.origin.iter().copied().zip(offsets)
    }

    /// The highest end, in bytes.
    pub(crate) const fn peak(&self) -> u64 {
        self.layout.peak
    }

    /// Spends a budget on lowering the peak to `goal` bytes.
    pub(crate) fn improve(&mut self, goal: u64, budget: &mut Budget, effort: Effort) {
        let goal = goal.max(self.lower_bound);
        self.repair_peaks(goal, budget, effort);
        self.other_orders(goal, budget);
        if self.layout.peak > goal && !budget.is_over() {
            self.part_by_part(goal, budget, effort);
        }
    }

    /// If few of many items are alive at a time, the peak exceeds the load only at few times, and searches among the
    /// items alive at these times are enough.
    fn repair_peaks(&mut self, goal: u64, budget: &mut Budget, effort: Effort) {
        if self.problem.len() <= improve::SEARCHED || improve::alive(&self.problem) > SPARSE {
            return;
        }
        let end = budget.spent().saturating_add(2 * self.problem.len() as u64);
        let mut repair = GoalRepair::new(&self.problem, self.layout.clone(), goal, effort.seed);
        while repair.is_needed() && budget.spent() < end && !budget.is_over() {
            budget.spend(repair.advance(budget.deadline()));
        }
        if repair.layout.peak < self.layout.peak {
            self.layout = repair.layout;
        }
    }

    /// Places the upper items again, in an order for the items left above the lower ones: it counts the bytes left
    /// empty below. Half of the items take less than half of the time of a pass.
    fn upper_again(&mut self, goal: u64, budget: &mut Budget) {
        let (problem, keys) = (&self.problem, self.keys);
        for sixteenths in PLACED_AGAIN_ABOVE {
            if self.layout.peak <= goal || budget.is_over() {
                return;
            }
            let from = self.layout.peak / problem.unit / 16 * sixteenths;
            let upper = Neighbourhood::new(problem, &self.layout, from, (0, problem.sections() as u32));
            // Iterating over all items counts, too.
            budget.spend(1 + problem.len() as u64 / 16);
            if upper.members.is_empty() {
                return;
            }
            let part = upper.problem(problem, &self.layout);
            let (order, peak) = (order(&part, keys), self.layout.peak);
            let pass = Skyline::new(&part).pass_towards(u64::MAX, &order, peak, || budget.is_over());
            budget.spend(pass.placed);
            if let Some(found) = pass.layout {
                upper.adopt(problem, &mut self.layout, &found.offsets);
            }
        }
    }

    /// Makes more passes: each takes some microseconds for a frame, while a search takes a hundred.
    ///
    /// If there are too many items to search, all are placed in other orders first only if the plan is [`FAR`] above
    /// the goal.
    fn other_orders(&mut self, goal: u64, budget: &mut Budget) {
        if self.problem.len() > improve::SEARCHED {
            let is_far = self.layout.peak.saturating_sub(goal) > goal / FAR;
            if !is_far {
                self.upper_again(goal, budget);
            }
            let mut skyline = Skyline::new(&self.problem);
            known_orders(&mut skyline, (&mut self.layout, &mut self.keys), goal, budget);
            if is_far {
                self.upper_again(goal, budget);
            }
            return;
        }
        let mut skyline = Skyline::new(&self.problem);
        for _ in 0..REORDERED_PASSES {
            if self.layout.peak <= goal || budget.is_over() {
                return;
            }
            let Some(pass) =
                self.squeaky_wheel.pass(&mut skyline, goal, self.layout.peak, || budget.is_over())
            else {
                break;
            };
            budget.spend(pass.placed.max(1));
            if let Some(layout) = pass.layout {
                self.layout = layout;
            }
        }
        known_orders(&mut skyline, (&mut self.layout, &mut self.keys), goal, budget);
    }

    /// Plans the parts in disjoint time ranges independently, with the same goal.
    fn part_by_part(&mut self, goal: u64, budget: &mut Budget, effort: Effort) {
        let ranges = self.problem.part_ranges();
        let mut parts = self.problem.parts(&ranges);
        parts.retain(|part| !part.members.is_empty());
        let top = |&item: &u32| self.problem.top(item as usize, self.layout.offsets[item as usize]);
        let peak = |part: &Part| part.members.iter().map(top).max().unwrap_or(0);
        let mut peaks: Vec<u64> = parts.iter().map(peak).collect();
        // A second round, with other seeds, spends the budget that parts leave over.
        for round in 0..2 {
            let effort = Effort { seed: effort.seed.wrapping_add(round << 60), ..effort };
            self.round(&parts, &mut peaks, goal.max(self.lower_bound), budget, effort);
        }
        self.layout.peak = peaks.into_iter().max().unwrap_or(0).max(self.problem.pinned_top());
    }

    /// Improves the parts, highest first: the others need only become as low as the result.
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
            // Parts that are not improved yet are still as high as before, and in order.
            let waiting = order[done..].partition_point(|&at| peaks[at] > goal);
            let mut share = budget.share(u32::try_from(waiting).unwrap_or(u32::MAX));
            let part = &parts[at];
            let offsets = part.members.iter().map(|&item| self.layout.offsets[item as usize]).collect();
            let layout = Layout { offsets, peak: peaks[at] };
            let better = improve::improve(&part.problem, &layout, goal, &mut share, effort);
            budget.spend(share.spent());
            self.lower_bound = self.lower_bound.max(better.floor);
            if let Some(layout) = better.layout {
                peaks[at] = layout.peak;
                for (&item, offset) in part.members.iter().zip(layout.offsets) {
                    self.layout.offsets[item as usize] = offset;
                }
            }
            goal = goal.max(peaks[at]);
        }
    }
}

/// Makes the first passes. There is no plan if `stop` returns true during the first one.
fn first(problem: &Problem, stop: &mut impl FnMut() -> bool) -> (SqueakyWheel, Option<Layout>) {
    let order = order(problem, orders(problem)[0]);
    let mut skyline = Skyline::new(problem);
    let (mut squeaky_wheel, pass) = SqueakyWheel::new(order, &mut skyline, problem.floor, &mut *stop);
    let mut layout = pass.layout;
    if problem.len() <= FEW && !problem.align.is_empty() {
        for _ in 0..FREE_REORDERED_PASSES {
            let Some(Layout { peak, .. }) = layout else { break };
            let next = squeaky_wheel.pass(&mut skyline, problem.floor, peak, &mut *stop);
            layout = next.and_then(|pass| pass.layout).or(layout);
        }
    }
    (squeaky_wheel, layout)
}

/// Makes a pass in each known order except the first, and keeps the best plan with its keys.
fn known_orders(
    skyline: &mut Skyline<'_>,
    (layout, best): (&mut Layout, &mut [Key; 3]),
    goal: u64,
    budget: &mut Budget,
) {
    let problem = skyline.problem();
    for keys in &orders(problem)[1..] {
        if layout.peak <= goal || budget.is_over() {
            break;
        }
        let order = order(problem, *keys);
        let pass = skyline.pass_towards(goal, &order, layout.peak, || budget.is_over());
        budget.spend(pass.placed.max(1));
        if let Some(lower) = pass.layout {
            (*layout, *best) = (lower, *keys);
        }
    }
}

/// Stacks all items above the pinned ones. Only a fallback: a pass without a ceiling succeeds.
fn stack(problem: &Problem) -> Layout {
    let mut free = problem.pins.iter().map(Pin::top).max().unwrap_or(0);
    let mut layout = Layout { offsets: Vec::with_capacity(problem.len()), peak: problem.pinned_top() };
    for item in 0..problem.len() {
        let offset = free.next_multiple_of(problem.align(item));
        layout.offsets.push(offset);
        layout.peak = layout.peak.max(problem.top(item, offset));
        free = offset + problem.size[item];
    }
    layout
}
