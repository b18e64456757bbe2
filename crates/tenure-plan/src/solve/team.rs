//! Searches for the same plan, in as many threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Builder;

use crate::budget::Budget;
use crate::problem::Problem;
use crate::search::{Outcome, Solver, Watch, solver};

/// Searches of which each looks elsewhere. The one that needs the fewest placements wins.
pub(super) struct Team<'a> {
    solvers: Vec<Box<dyn Solver + 'a>>,
    winner: usize,
}

impl<'a> Team<'a> {
    pub(super) fn new(problem: &'a Problem, capacity: u64, threads: usize, seed: u64) -> Self {
        let member = |at: usize| solver(problem, capacity, seed.wrapping_add(at as u64));
        Self { solvers: (0..threads.max(1)).map(member).collect(), winner: 0 }
    }

    /// Searches until about `limit` placements more, of all together.
    pub(super) fn advance(&mut self, limit: u64, budget: &mut Budget) -> Outcome {
        let limit = limit.min(budget.left()).div_ceil(self.solvers.len() as u64);
        if let [solver] = &mut self.solvers[..] {
            let before = solver.nodes();
            let watch = Watch { deadline: budget.deadline(), quickest: None };
            let outcome = solver.advance(limit, &watch);
            budget.spend((solver.nodes() - before).max(1));
            return outcome;
        }
        let before = self.solvers.iter().map(|solver| solver.nodes()).max().unwrap_or(0);
        let quickest = AtomicU64::new(u64::MAX);
        let watch = Watch { deadline: budget.deadline(), quickest: Some(&quickest) };
        let run = |solver: &mut Box<dyn Solver + 'a>| {
            let outcome = solver.advance(limit, &watch);
            if outcome != Outcome::Open {
                quickest.fetch_min(solver.nodes(), Ordering::Relaxed);
            }
            outcome
        };
        let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
            let start = |solver| Builder::new().spawn_scoped(scope, || run(solver));
            let threads: Vec<_> = self.solvers.iter_mut().map(start).collect();
            // One that cannot be started searches nothing.
            let joined = threads.into_iter().map(|thread| thread.ok()?.join().ok());
            joined.map(|outcome| outcome.unwrap_or(Outcome::Open)).collect()
        });
        let done = (0..outcomes.len()).filter(|&at| outcomes[at] != Outcome::Open);
        let winner = done.min_by_key(|&at| (self.solvers[at].nodes(), at));
        let nodes = match winner {
            Some(at) => self.solvers[at].nodes(),
            None => self.solvers.iter().map(|solver| solver.nodes()).max().unwrap_or(0),
        };
        budget.spend(nodes.saturating_sub(before).max(1).saturating_mul(self.solvers.len() as u64));
        self.winner = winner.unwrap_or(0);
        winner.map_or(Outcome::Open, |at| outcomes[at])
    }

    /// Where each item is, once it is solved, in units.
    pub(super) fn offsets(&self) -> Vec<u64> {
        self.solvers[self.winner].offsets()
    }
}
