//! Large neighbourhood search (Shaw, 1998): some items of a plan are removed and placed again.
//!
//! [`GoalRepair`] searches for a plan below a goal: it removes an item that ends above the goal together with items
//! near it. Unlike a search over all items, it keeps the rest of the plan. [`lower_highest`] is for problems too
//! large for that: it removes the upper items around the highest one, and places them in another order.

use std::time::Instant;

use crate::bound;
use crate::numbers::mix;
use crate::order::{Weights, weighted};
use crate::problem::{Pin, Problem};
use crate::search::{Outcome, StopCondition, solver};
use crate::skyline::{Layout, Skyline};

/// Items removed from a plan to be placed again.
pub(super) struct Neighbourhood {
    pub(super) members: Vec<u32>,
    /// The minimum offset of the members.
    from: u64,
    /// The first section of the members.
    start: u32,
    end: u32,
}

impl Neighbourhood {
    /// The items at offset `from` or above that overlap the sections from `first` to `last`.
    pub(super) fn new(problem: &Problem, layout: &Layout, from: u64, (first, last): (u32, u32)) -> Self {
        let is_in = |&item: &usize| {
            layout.offsets[item] >= from && problem.start[item] < last && first < problem.end[item]
        };
        let members: Vec<u32> = (0..problem.len()).filter(is_in).map(|item| item as u32).collect();
        let start = members.iter().map(|&item| problem.start[item as usize]).min().unwrap_or(0);
        let end = members.iter().map(|&item| problem.end[item as usize]).max().unwrap_or(0);
        Self { members, from, start, end }
    }

    /// The problem of placing the members above and around the remaining items.
    pub(super) fn problem(&self, problem: &Problem, layout: &Layout) -> Problem {
        let mut part = Problem {
            load: vec![0; (self.end - self.start) as usize],
            unit: problem.unit,
            ..Problem::default()
        };
        let mut base = Base::new((self.end - self.start) as usize);
        let clip = |start: u32, end: u32| {
            (start.max(self.start) - self.start, end.min(self.end).saturating_sub(self.start))
        };
        let mut members = self.members.iter().copied().peekable();
        for item in 0..problem.len() {
            let (start, end) = (problem.start[item], problem.end[item]);
            let (offset, size) = (layout.offsets[item], problem.size[item]);
            if members.next_if_eq(&(item as u32)).is_some() {
                part.start.push(start - self.start);
                part.end.push(end - self.start);
                part.size.push(size);
                part.width.push(problem.width[item]);
                part.align.extend(problem.align.get(item));
                part.padding.extend(problem.padding.get(item));
                continue;
            }
            if end <= self.start || self.end <= start {
                continue;
            }
            let (start, end) = clip(start, end);
            if offset < self.from {
                base.raise(start as usize, end as usize, offset + size);
            } else {
                part.pins.push(Pin { start, end, offset, size, padding: problem.padding(item) });
            }
        }
        for pin in problem.pins.iter().filter(|pin| pin.start < self.end && self.start < pin.end) {
            let (start, end) = clip(pin.start, pin.end);
            part.pins.push(Pin { start, end, ..*pin });
        }
        part.base = base.heights();
        // The minimum height of each section.
        let ranges = part.start.iter().copied().zip(part.end.iter().copied());
        bound::add_up(&mut part.load, ranges, part.size.iter().copied());
        for (load, base) in part.load.iter_mut().zip(&part.base) {
            *load += base;
        }
        part
    }

    /// Moves the members to their offsets in a plan of [their problem](Self::problem).
    pub(super) fn adopt(&self, problem: &Problem, layout: &mut Layout, offsets: &[u64]) {
        for (&item, offset) in self.members.iter().zip(offsets) {
            layout.offsets[item as usize] = *offset;
        }
        layout.peak = problem.peak(&layout.offsets);
    }
}

/// The maximum height of each section, while ranges of sections are raised: a segment tree.
struct Base {
    /// Node k covers nodes 2k and 2k + 1; the sections follow the inner nodes.
    nodes: Vec<u64>,
}

impl Base {
    fn new(sections: usize) -> Self {
        Self { nodes: vec![0; 2 * sections] }
    }

    fn raise(&mut self, start: usize, end: usize, height: u64) {
        let sections = self.nodes.len() / 2;
        let (mut left, mut right) = (start + sections, end + sections);
        while left < right {
            if left % 2 == 1 {
                self.nodes[left] = self.nodes[left].max(height);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                self.nodes[right] = self.nodes[right].max(height);
            }
            left /= 2;
            right /= 2;
        }
    }

    fn heights(mut self) -> Vec<u64> {
        let sections = self.nodes.len() / 2;
        for node in 2..self.nodes.len() {
            self.nodes[node] = self.nodes[node].max(self.nodes[node / 2]);
        }
        self.nodes.split_off(sections)
    }
}

/// Repairs a plan until no item ends above the goal.
pub(super) struct GoalRepair<'a> {
    problem: &'a Problem,
    goal: u64,
    seed: u64,
    tries: u64,
    pub(super) layout: Layout,
    /// The total excess of items above the goal.
    excess: u64,
}

/// The minimum number of removed items, and the maximum number of times that it is doubled.
const LEAST: u64 = 16;
const DOUBLINGS: u64 = 5;

impl<'a> GoalRepair<'a> {
    pub(super) fn new(problem: &'a Problem, layout: Layout, goal: u64, seed: u64) -> Self {
        let excess = excess(problem, &layout.offsets, goal);
        Self { problem, goal, seed, tries: 0, layout, excess }
    }

    /// Whether an item ends above the goal.
    pub(super) const fn is_needed(&self) -> bool {
        self.excess > 0
    }

    /// Tries a change, and keeps it unless it is worse. Returns the number of tried placements.
    pub(super) fn advance(&mut self, deadline: Option<Instant>) -> u64 {
        self.tries += 1;
        let random_bits = mix(self.seed ^ self.tries.rotate_left(32));
        let Some(neighbourhood) = self.neighbourhood(random_bits) else { return 1 };
        let mut part = neighbourhood.problem(self.problem, &self.layout);
        part.base_to_pins();
        let mut solver = solver(&part, self.goal, random_bits);
        let outcome = solver.advance(4 * part.len() as u64, &StopCondition { deadline, fewest_nodes: None });
        // Iterating over all items counts, too.
        let tried = solver.nodes() + (self.problem.len() / 16 + part.len() / 4) as u64;
        let offsets = if outcome == Outcome::Solved {
            Some(solver.offsets())
        } else {
            random_order(&part, random_bits)
        };
        if let Some(offsets) = offsets {
            self.adopt(&neighbourhood, offsets);
        }
        tried
    }

    /// A random neighbourhood of an item above the goal: all items alive at about the same time, or only the upper
    /// ones.
    fn neighbourhood(&self, random_bits: u64) -> Option<Neighbourhood> {
        let draw = |which: u64, below: u64| {
            ((u128::from(mix(random_bits ^ which)) * u128::from(below)) >> 64) as u64
        };
        let problem = self.problem;
        let offsets = &self.layout.offsets;
        let is_high = |&item: &usize| problem.top(item, offsets[item]) > self.goal;
        let high = (0..problem.len()).filter(is_high).count() as u64;
        let item = (0..problem.len()).filter(is_high).nth(draw(1, high) as usize)?;
        let wanted = ((LEAST << draw(2, DOUBLINGS)) * (16 + draw(3, 16)) / 16).min(problem.len() as u64);
        let depth = (self.layout.peak / problem.unit) >> if draw(4, 2) == 0 { 0 } else { draw(5, 3) };
        let from = (offsets[item] + problem.size[item]).saturating_sub(depth).min(offsets[item]);
        // A random share of the range before the item, the rest after it.
        let skew = draw(6, 9);
        let sections = |reach: u64| {
            let before = u32::try_from(reach * skew / 8).unwrap_or(u32::MAX);
            let after = u32::try_from(reach * (8 - skew) / 8).unwrap_or(u32::MAX);
            (problem.start[item].saturating_sub(before), problem.end[item].saturating_add(after))
        };
        let is_enough = |reach: u64| {
            let (first, last) = sections(reach);
            let overlaps = |item: &usize| problem.start[*item] < last && first < problem.end[*item];
            let members = (0..problem.len()).filter(|item| offsets[*item] >= from && overlaps(item));
            members.count() as u64 >= wanted
        };
        let (mut low, mut high) = (0, 8 * problem.sections() as u64);
        while low < high {
            let middle = (low + high) / 2;
            if is_enough(middle) { high = middle } else { low = middle + 1 }
        }
        Some(Neighbourhood::new(problem, &self.layout, from, sections(low)))
    }

    fn adopt(&mut self, neighbourhood: &Neighbourhood, offsets: Vec<u64>) {
        let mut all = self.layout.offsets.clone();
        for (&item, offset) in neighbourhood.members.iter().zip(offsets) {
            all[item as usize] = offset;
        }
        let excess = excess(self.problem, &all, self.goal);
        if excess <= self.excess {
            self.excess = excess;
            self.layout = Layout { peak: self.problem.peak(&all), offsets: all };
        }
    }
}

fn excess(problem: &Problem, offsets: &[u64], goal: u64) -> u64 {
    let above = (0..problem.len()).map(|item| problem.top(item, offsets[item]).saturating_sub(goal));
    above.fold(0, u64::saturating_add)
}

/// A plan of the removed items in a random order.
fn random_order(part: &Problem, random_bits: u64) -> Option<Vec<u64>> {
    let order = weighted(part, &Weights::anywhere(random_bits), random_bits);
    Skyline::new(part).pass(&order, u64::MAX, || false).map(|layout| layout.offsets)
}

/// The maximum number of items that are removed at once.
const MOST: usize = 1500;

/// Tries once to lower the highest item. Returns the number of tried placements.
pub(super) fn lower_highest(
    problem: &Problem,
    layout: &mut Layout,
    goal: u64,
    random_bits: u64,
    deadline: Option<Instant>,
) -> u64 {
    let tops = (0..problem.len()).map(|item| (problem.top(item, layout.offsets[item]), item));
    let Some((peak, highest)) = tops.max() else { return 1 };
    // Iterating over all items counts, too.
    let mut tried = 1 + problem.len() as u64 / 16;
    let draw =
        |which: u64, below: u64| ((u128::from(mix(random_bits ^ which)) * u128::from(below)) >> 64) as u64;
    // A random fraction of the height is removed, from all of it to 1/64, and of the time as well.
    let depth = (peak / problem.unit) >> (draw(1, 8).saturating_sub(2));
    let from = (layout.offsets[highest] + problem.size[highest]).saturating_sub(depth);
    let from = from.min(layout.offsets[highest]);
    // The fraction of the sections beside the highest item, as a power of two.
    let mut shift = draw(2, 12) as u32;
    let reach = |shift: u32| (problem.sections() as u64 >> shift.min(63)) as u32;
    let around = |shift: u32| {
        let reach = reach(shift);
        let sections =
            (problem.start[highest].saturating_sub(reach), problem.end[highest].saturating_add(reach));
        Neighbourhood::new(problem, layout, from, sections)
    };
    let mut neighbourhood = around(shift);
    while neighbourhood.members.len() > MOST {
        if reach(shift) == 0 {
            return tried;
        }
        tried += problem.len() as u64 / 64;
        shift += 1;
        neighbourhood = around(shift);
    }
    let mut part = neighbourhood.problem(problem, layout);
    tried += neighbourhood.members.len() as u64;
    let order = weighted(&part, &Weights::anywhere(random_bits), random_bits);
    let mut offsets = Skyline::new(&part).pass(&order, peak, || false).map(|layout| layout.offsets);
    if offsets.is_none() && part.len() <= SEARCHED {
        part.base_to_pins();
        let mut solver = solver(&part, goal, random_bits);
        let watch = StopCondition { deadline, fewest_nodes: None };
        if solver.advance(4 * part.len() as u64, &watch) == Outcome::Solved {
            offsets = Some(solver.offsets());
        }
        tried += solver.nodes();
    }
    let Some(offsets) = offsets else { return tried };
    neighbourhood.adopt(problem, layout, &offsets);
    tried
}

/// The maximum number of removed items for a search.
const SEARCHED: usize = 500;
