//! Makes room for what ends above the goal: takes it out with what lies around it, and searches for a
//! place for all of that.
//!
//! This is large neighbourhood search (Shaw, 1998). A search through all items fails at one place and
//! loses what it had done elsewhere; this one keeps it.

use std::time::Instant;

use super::hole::Hole;
use crate::mix::mix;
use crate::order::{Weights, weighted};
use crate::problem::Problem;
use crate::search::{Outcome, Watch, solver};
use crate::skyline::{Placing, Skyline};

/// A plan that is changed until nothing ends above the goal.
pub(super) struct Mender<'a> {
    problem: &'a Problem,
    goal: u64,
    seed: u64,
    tries: u64,
    pub(super) placing: Placing,
    /// How far items end above the goal, added up.
    excess: u64,
}

/// The fewest items that are taken out, and how often that is doubled at most.
const LEAST: u64 = 16;
const DOUBLINGS: u64 = 5;

impl<'a> Mender<'a> {
    pub(super) fn new(problem: &'a Problem, placing: Placing, goal: u64, seed: u64) -> Self {
        let excess = excess(problem, &placing.offsets, goal);
        Self { problem, goal, seed, tries: 0, placing, excess }
    }

    /// Whether something ends above the goal.
    pub(super) const fn is_needed(&self) -> bool {
        self.excess > 0
    }

    /// Changes the plan once, if that does not make it worse. Returns how many placements were tried.
    pub(super) fn advance(&mut self, deadline: Option<Instant>) -> u64 {
        self.tries += 1;
        let chance = mix(self.seed ^ self.tries.rotate_left(32));
        let Some(hole) = self.hole(chance) else { return 1 };
        let mut part = hole.problem(self.problem, &self.placing);
        part.base_to_pins();
        let mut solver = solver(&part, self.goal, chance);
        let outcome = solver.advance(4 * part.len() as u64, &Watch { deadline, quickest: None });
        // Looking through all items costs, too.
        let tried = solver.nodes() + (self.problem.len() / 16 + part.len() / 4) as u64;
        let offsets = if outcome == Outcome::Solved { Some(solver.offsets()) } else { shaken(&part, chance) };
        if let Some(offsets) = offsets {
            self.adopt(&hole, offsets);
        }
        tried
    }

    /// Takes out one of the items that end too high, with others: at times all of those that live at
    /// about the same time, at times only the upper ones.
    fn hole(&self, chance: u64) -> Option<Hole> {
        let draw =
            |which: u64, below: u64| ((u128::from(mix(chance ^ which)) * u128::from(below)) >> 64) as u64;
        let problem = self.problem;
        let offsets = &self.placing.offsets;
        let is_high = |&item: &usize| problem.top(item, offsets[item]) > self.goal;
        let high = (0..problem.len()).filter(is_high).count() as u64;
        let item = (0..problem.len()).filter(is_high).nth(draw(1, high) as usize)?;
        let wanted = ((LEAST << draw(2, DOUBLINGS)) * (16 + draw(3, 16)) / 16).min(problem.len() as u64);
        let depth = (self.placing.peak / problem.unit) >> if draw(4, 2) == 0 { 0 } else { draw(5, 3) };
        let from = (offsets[item] + problem.size[item]).saturating_sub(depth).min(offsets[item]);
        // More to one side than to the other.
        let lean = draw(6, 9);
        let sections = |reach: u64| {
            let before = u32::try_from(reach * lean / 8).unwrap_or(u32::MAX);
            let after = u32::try_from(reach * (8 - lean) / 8).unwrap_or(u32::MAX);
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
        Some(Hole::new(problem, &self.placing, from, sections(low)))
    }

    fn adopt(&mut self, hole: &Hole, offsets: Vec<u64>) {
        let mut all = self.placing.offsets.clone();
        for (&item, offset) in hole.members.iter().zip(offsets) {
            all[item as usize] = offset;
        }
        let excess = excess(self.problem, &all, self.goal);
        if excess <= self.excess {
            self.excess = excess;
            self.placing = Placing { peak: self.problem.peak(&all), offsets: all };
        }
    }
}

fn excess(problem: &Problem, offsets: &[u64], goal: u64) -> u64 {
    let above = (0..problem.len()).map(|item| problem.top(item, offsets[item]).saturating_sub(goal));
    above.fold(0, u64::saturating_add)
}

/// Another plan of what was taken out, by chance.
fn shaken(part: &Problem, chance: u64) -> Option<Vec<u64>> {
    let order = weighted(part, &Weights::anywhere(chance), chance);
    Skyline::new(part).pass(&order, u64::MAX, || false).map(|placing| placing.offsets)
}
