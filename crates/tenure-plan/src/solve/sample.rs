//! Orders at random, around those that did best.

use std::thread::Builder;

use super::Effort;
use crate::budget::{Budget, is_past};
use crate::mix::mix;
use crate::order::{Weights, order, orders, weighted};
use crate::problem::Problem;
use crate::skyline::{Placing, Skyline};

/// Tries one order after the other, in as many threads as are allowed.
pub(super) struct Sampler<'a> {
    problem: &'a Problem,
    skylines: Vec<Skyline<'a>>,
    seed: u64,
    tries: u64,
    best: Option<Weights>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(problem: &'a Problem, effort: Effort) -> Self {
        // A thread costs more than a pass over a few items.
        let threads = if problem.len() < 4096 { 1 } else { effort.threads.max(1) };
        let skylines = (0..threads).map(|_| Skyline::new(problem)).collect();
        Self { problem, skylines, seed: effort.seed, tries: 0, best: None }
    }

    /// A plan below `peak`, if one of the next orders finds one.
    pub(super) fn sample(&mut self, peak: u64, budget: &mut Budget) -> Option<Placing> {
        let first = self.tries;
        self.tries += self.skylines.len() as u64;
        let (problem, seed, best, clock) = (self.problem, self.seed, self.best, &*budget);
        let run = |skyline: &mut Skyline<'_>, at: u64| {
            if is_past(clock.deadline()) {
                return None;
            }
            let (order, weights) = draw(problem, best, seed, at);
            let placing = skyline.pass(&order, peak, || clock.is_over())?;
            Some((placing, weights))
        };
        let found: Vec<Option<(Placing, Option<Weights>)>> = if let [skyline] = &mut self.skylines[..] {
            vec![run(skyline, first)]
        } else {
            std::thread::scope(|scope| {
                let run = &run;
                let skylines = (first..).zip(&mut self.skylines);
                let threads: Vec<_> = skylines
                    .map(|(at, skyline)| Builder::new().spawn_scoped(scope, move || run(skyline, at)))
                    .collect();
                // One that cannot be started finds nothing.
                threads.into_iter().map(|thread| thread.ok()?.join().ok().flatten()).collect()
            })
        };
        budget.spend((problem.len() as u64).saturating_mul(found.len() as u64));
        let (placing, weights) = found.into_iter().flatten().min_by_key(|(placing, _)| placing.peak)?;
        self.best = weights.or(self.best);
        Some(placing)
    }
}

/// The orders that are known to be good, then any, or near the best.
fn draw(problem: &Problem, best: Option<Weights>, seed: u64, at: u64) -> (Vec<u32>, Option<Weights>) {
    if let Some(keys) = orders(problem).get(at as usize + 1) {
        return (order(problem, *keys), None);
    }
    let chance = mix(seed ^ at << 8);
    let weights = match best.filter(|_| !chance.is_multiple_of(4)) {
        Some(best) => best.near(chance),
        None => Weights::anywhere(chance),
    };
    (weighted(problem, &weights, chance), Some(weights))
}
