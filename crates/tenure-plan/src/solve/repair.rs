//! Takes out what lies on top, around the highest item, and places it anew in another order.
//!
//! This is large neighbourhood search (Shaw, 1998): most of a good plan is good.

use std::time::Instant;

use super::hole::Hole;
use crate::mix::mix;
use crate::order::{Weights, weighted};
use crate::problem::Problem;
use crate::search::{Outcome, Watch, solver};
use crate::skyline::{Placing, Skyline};

/// More items than these are not taken out at once.
const MOST: usize = 1500;

/// Lowers the highest item once, if that can be done. Returns how many placements were tried.
pub(super) fn repair(
    problem: &Problem,
    placing: &mut Placing,
    goal: u64,
    chance: u64,
    deadline: Option<Instant>,
) -> u64 {
    let tops = (0..problem.len()).map(|item| (problem.top(item, placing.offsets[item]), item));
    let Some((peak, highest)) = tops.max() else { return 1 };
    // Looking through all items costs, too.
    let mut tried = 1 + problem.len() as u64 / 16;
    let draw = |which: u64, below: u64| ((u128::from(mix(chance ^ which)) * u128::from(below)) >> 64) as u64;
    // All of the height or less is taken out, down to 1/64 of it, and of the time as well.
    let depth = (peak / problem.unit) >> (draw(1, 8).saturating_sub(2));
    let from = (placing.offsets[highest] + problem.size[highest]).saturating_sub(depth);
    let from = from.min(placing.offsets[highest]);
    // How many sections beside the highest item are looked at: which power of two less than all.
    let mut shift = draw(2, 12) as u32;
    let reach = |shift: u32| (problem.sections() as u64 >> shift.min(63)) as u32;
    let around = |shift: u32| {
        let reach = reach(shift);
        let sections =
            (problem.start[highest].saturating_sub(reach), problem.end[highest].saturating_add(reach));
        Hole::new(problem, placing, from, sections)
    };
    let mut hole = around(shift);
    while hole.members.len() > MOST {
        if reach(shift) == 0 {
            return tried;
        }
        tried += problem.len() as u64 / 64;
        shift += 1;
        hole = around(shift);
    }
    let mut part = hole.problem(problem, placing);
    tried += hole.members.len() as u64;
    let order = weighted(&part, &Weights::anywhere(chance), chance);
    let mut offsets = Skyline::new(&part).pass(&order, peak, || false).map(|placing| placing.offsets);
    if offsets.is_none() && part.len() <= SEARCHED {
        part.base_to_pins();
        let mut solver = solver(&part, goal, chance);
        let watch = Watch { deadline, quickest: None };
        if solver.advance(4 * part.len() as u64, &watch) == Outcome::Solved {
            offsets = Some(solver.offsets());
        }
        tried += solver.nodes();
    }
    let Some(offsets) = offsets else { return tried };
    for (&item, offset) in hole.members.iter().zip(offsets) {
        placing.offsets[item as usize] = offset;
    }
    placing.peak = problem.peak(&placing.offsets);
    tried
}

/// Of up to this many items there is a search, too.
const SEARCHED: usize = 500;
