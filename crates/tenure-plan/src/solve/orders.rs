//! Orders of further passes: squeaky wheel optimisation, and random variants of the best orders.
//!
//! In squeaky wheel optimisation (Joslin and Clements, 1999) an item that was placed too high comes first in the next
//! pass. Most passes end early, when an item reaches the best peak so far.

use std::thread::Builder;

use super::Effort;
use super::improve::SEARCHED;
use crate::config::{Budget, is_past};
use crate::numbers::mix;
use crate::order::{Weights, order, orders, weighted};
use crate::problem::Problem;
use crate::skyline::{Layout, Pass, Skyline};

/// The order of the last pass, and its first item above the goal.
pub(super) struct SqueakyWheel {
    order: Vec<u32>,
    above: Option<u32>,
}

impl SqueakyWheel {
    /// Makes the first pass.
    pub(super) fn new(
        order: Vec<u32>,
        skyline: &mut Skyline<'_>,
        goal: u64,
        stop: impl FnMut() -> bool,
    ) -> (Self, Pass) {
        let pass = skyline.pass_towards(goal, &order, u64::MAX, stop);
        (Self { order, above: pass.above }, pass)
    }

    /// Makes the next pass, for a plan below `peak`. None follows after the goal was reached.
    pub(super) fn pass(
        &mut self,
        skyline: &mut Skyline<'_>,
        goal: u64,
        peak: u64,
        stop: impl FnMut() -> bool,
    ) -> Option<Pass> {
        let item = self.above?;
        let at = self.order.iter().position(|other| *other == item)?;
        self.order[..=at].rotate_right(1);
        let pass = skyline.pass_towards(goal, &self.order, peak, stop);
        self.above = pass.above;
        Some(pass)
    }
}

/// Tries random orders, in the allowed number of threads.
pub(super) struct Sampler<'a> {
    problem: &'a Problem,
    skylines: Vec<Skyline<'a>>,
    seed: u64,
    tries: u64,
    best: Option<Weights>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(problem: &'a Problem, effort: Effort) -> Self {
        // Starting a thread takes longer than a pass over few items.
        let threads = if problem.len() < 4096 { 1 } else { effort.threads.max(1) };
        let skylines = (0..threads).map(|_| Skyline::new(problem)).collect();
        Self { problem, skylines, seed: effort.seed, tries: 0, best: None }
    }

    /// A plan below `peak`, if one of the next orders finds one.
    pub(super) fn sample(&mut self, peak: u64, budget: &mut Budget) -> Option<Layout> {
        let first = self.tries;
        self.tries += self.skylines.len() as u64;
        let (problem, seed, best, clock) = (self.problem, self.seed, self.best, &*budget);
        let run = |skyline: &mut Skyline<'_>, at: u64| {
            if is_past(clock.deadline()) {
                return None;
            }
            let (order, weights) = draw(problem, best, seed, at);
            let layout = skyline.pass(&order, peak, || clock.is_over())?;
            Some((layout, weights))
        };
        let found: Vec<Option<(Layout, Option<Weights>)>> = if let [skyline] = &mut self.skylines[..] {
            vec![run(skyline, first)]
        } else {
            std::thread::scope(|scope| {
                let run = &run;
                let skylines = (first..).zip(&mut self.skylines);
                let threads: Vec<_> = skylines
                    .map(|(at, skyline)| Builder::new().spawn_scoped(scope, move || run(skyline, at)))
                    .collect();
                // A thread that fails to start contributes no result.
                threads.into_iter().map(|thread| thread.ok()?.join().ok().flatten()).collect()
            })
        };
        budget.spend((problem.len() as u64).saturating_mul(found.len() as u64));
        let (layout, weights) = found.into_iter().flatten().min_by_key(|(layout, _)| layout.peak)?;
        self.best = weights.or(self.best);
        Some(layout)
    }
}

/// First the orders known to be good, then random ones, anywhere or near the best. If there are too many items to
/// search, all known orders were tried before, and the first order here is [`Weights::BLENDED`].
fn draw(problem: &Problem, best: Option<Weights>, seed: u64, at: u64) -> (Vec<u32>, Option<Weights>) {
    if problem.len() > SEARCHED {
        if at == 0 {
            return (weighted(problem, &Weights::BLENDED, 0), Some(Weights::BLENDED));
        }
    } else if let Some(keys) = orders(problem).get(at as usize + 1) {
        return (order(problem, *keys), None);
    }
    let random_bits = mix(seed ^ at << 8);
    let weights = match best.filter(|_| !random_bits.is_multiple_of(4)) {
        Some(best) => best.near(random_bits),
        None => Weights::anywhere(random_bits),
    };
    (weighted(problem, &weights, random_bits), Some(weights))
}
