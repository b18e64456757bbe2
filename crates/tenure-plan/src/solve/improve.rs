//! Improves the plan of one part, by parallel searches, repairs and random orders.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Builder;

use super::Effort;
use super::neighbourhood::GoalRepair;
use super::neighbourhood::lower_highest;
use super::orders::Sampler;
use crate::config::Budget;
use crate::numbers::mix;
use crate::problem::Problem;
use crate::search::{Outcome, Solver, StopCondition, solver};
use crate::skyline::Layout;

/// The result of an improvement.
pub(super) struct Improved {
    /// A plan better than the given one, if found.
    pub(super) layout: Option<Layout>,
    /// A lower bound of the peak, in bytes.
    pub(super) floor: u64,
}

/// The maximum number of items and pins to search: the memory of a search grows with the square.
pub(super) const SEARCHED: usize = 2048;

/// Spends a budget on a plan of at most `goal` bytes, or any plan lower than `layout`.
pub(super) fn improve(
    problem: &Problem,
    layout: &Layout,
    goal: u64,
    budget: &mut Budget,
    effort: Effort,
) -> Improved {
    let mut work = Work { problem, peak: layout.peak, layout: None, floor: problem.floor, effort };
    if problem.len() + problem.pins.len() <= SEARCHED {
        work.search(layout, goal, budget);
    } else {
        work.repair_or_sample(layout, goal, budget);
    }
    Improved { layout: work.layout, floor: work.floor }
}

/// The average number of items alive at a time.
pub(super) fn alive(problem: &Problem) -> u64 {
    let sections = problem.start.iter().zip(&problem.end).map(|(start, end)| u64::from(end - start));
    sections.sum::<u64>() / problem.sections().max(1) as u64
}

/// The average number of live items above which repairs begin later, because a neighbourhood is too large for them at
/// first.
const DENSE: u64 = 400;

struct Work<'a> {
    problem: &'a Problem,
    peak: u64,
    layout: Option<Layout>,
    floor: u64,
    effort: Effort,
}

impl<'a> Work<'a> {
    /// Spends most of the budget on a search for a plan at the goal. While that is undecided, the rest is spent on
    /// repairs of the best plan, searches at capacities above the goal, and random orders, which improve the plan in
    /// small steps.
    fn search(&mut self, layout: &Layout, goal: u64, budget: &mut Budget) {
        let items = self.problem.len() as u64;
        let mut sampler = Sampler::new(self.problem, self.effort);
        let mut step = 64 * items;
        let mut capacity = goal.max(self.floor);
        let mut search = self.new_search(capacity, 0);
        let mut repair = self.new_repair(layout.clone(), capacity);
        let mut bisection = Bisection::default();
        while self.peak > capacity && !budget.is_over() {
            match search.advance(step, budget) {
                Outcome::Solved => self.adopt(capacity, search.offsets()),
                Outcome::Infeasible => {
                    self.floor = self.problem.reachable(capacity + 1);
                }
                Outcome::Undecided => {
                    self.repair_towards(&mut repair, step / 2, budget);
                    let samples = (step / 16 / items.max(1)).max(1);
                    for _ in 0..samples {
                        if self.peak > capacity && !budget.is_over() {
                            self.sample(&mut sampler, budget);
                        }
                    }
                    self.bisect(&mut bisection, capacity, step / 8, budget);
                    step = step.saturating_mul(2);
                }
            }
            if self.floor > capacity {
                capacity = self.floor;
                search = self.new_search(capacity, 0);
                repair = self.new_repair(repair.layout, capacity);
            }
        }
    }

    fn new_repair(&self, layout: Layout, goal: u64) -> GoalRepair<'a> {
        GoalRepair::new(self.problem, layout, goal, self.effort.seed)
    }

    /// Repairs the plan towards the goal, with about `limit` placements.
    fn repair_towards(&mut self, repair: &mut GoalRepair<'_>, limit: u64, budget: &mut Budget) {
        let end = budget.spent().saturating_add(limit);
        while repair.is_needed() && budget.spent() < end && !budget.is_over() {
            budget.spend(repair.advance(budget.deadline()));
            if repair.layout.peak < self.peak {
                self.peak = repair.layout.peak;
                self.layout = Some(repair.layout.clone());
            }
        }
    }

    /// Alternates between repairs of the plan and random orders.
    fn repair_or_sample(&mut self, layout: &Layout, goal: u64, budget: &mut Budget) {
        let mut sampler = Sampler::new(self.problem, self.effort);
        let mut layout = layout.clone();
        // The cost of either so far. If too many items are alive at a time, repairs begin later.
        let (mut repairing, mut sampling, mut tries) = (0, self.problem.len() as u64 / 2, 0);
        if alive(self.problem) > DENSE {
            repairing = 2 * self.problem.len() as u64;
        }
        while layout.peak > goal.max(self.floor) && !budget.is_over() {
            let before = (budget.spent(), layout.peak);
            if repairing > sampling {
                if let Some(better) = sampler.sample(layout.peak, budget) {
                    layout = better;
                }
                sampling += budget.spent() - before.0;
                continue;
            }
            tries += 1;
            let goal = goal.max(self.floor);
            let random_bits = mix(self.effort.seed ^ tries);
            budget.spend(lower_highest(self.problem, &mut layout, goal, random_bits, budget.deadline()));
            // The cost of a repair that lowers the peak is not counted.
            if layout.peak == before.1 {
                repairing += budget.spent() - before.0;
            }
        }
        if layout.peak < self.peak {
            self.peak = layout.peak;
            self.layout = Some(layout);
        }
    }

    /// Searches once at a capacity between the goal and the best peak.
    fn bisect(&mut self, bisection: &mut Bisection, capacity: u64, limit: u64, budget: &mut Budget) {
        let least = self.problem.reachable(capacity + 1);
        if self.peak <= least || budget.is_over() {
            return;
        }
        bisection.tries += 1;
        let below = (self.peak - 1 - least) >> (bisection.failures + 1).min(63);
        let at = self.peak - 1 - below;
        let mut search = self.new_search(at, bisection.tries << 20);
        match search.advance(limit, budget) {
            Outcome::Solved => {
                self.adopt(at, search.offsets());
                bisection.failures = 0;
            }
            Outcome::Infeasible => self.floor = self.floor.max(self.problem.reachable(at + 1)),
            Outcome::Undecided => bisection.failures += 1,
        }
    }

    fn sample(&mut self, sampler: &mut Sampler<'_>, budget: &mut Budget) {
        if let Some(layout) = sampler.sample(self.peak, budget) {
            self.peak = layout.peak;
            self.layout = Some(layout);
        }
    }

    fn new_search(&self, capacity: u64, salt: u64) -> ParallelSearch<'a> {
        ParallelSearch::new(self.problem, capacity, self.effort.threads, self.effort.seed.wrapping_add(salt))
    }

    fn adopt(&mut self, capacity: u64, offsets: Vec<u64>) {
        let peak = self.problem.peak(&offsets);
        debug_assert!(peak <= capacity, "the search passed its capacity");
        if peak < self.peak {
            self.peak = peak;
            self.layout = Some(Layout { offsets, peak });
        }
    }
}

/// The next capacity to search, between the goal and the best peak: halfway, and closer to the best peak with each
/// failure.
#[derive(Default)]
struct Bisection {
    tries: u64,
    failures: u32,
}

/// Searches with a different seed per thread. The search with the fewest placements gives the result.
pub(super) struct ParallelSearch<'a> {
    solvers: Vec<Box<dyn Solver + 'a>>,
    winner: usize,
}

impl<'a> ParallelSearch<'a> {
    pub(super) fn new(problem: &'a Problem, capacity: u64, threads: usize, seed: u64) -> Self {
        let member = |at: usize| solver(problem, capacity, seed.wrapping_add(at as u64));
        Self { solvers: (0..threads.max(1)).map(member).collect(), winner: 0 }
    }

    /// Searches with about `limit` more placements, in total.
    pub(super) fn advance(&mut self, limit: u64, budget: &mut Budget) -> Outcome {
        let limit = limit.min(budget.left()).div_ceil(self.solvers.len() as u64);
        if let [solver] = &mut self.solvers[..] {
            let before = solver.nodes();
            let watch = StopCondition { deadline: budget.deadline(), fewest_nodes: None };
            let outcome = solver.advance(limit, &watch);
            budget.spend((solver.nodes() - before).max(1));
            return outcome;
        }
        let before = self.solvers.iter().map(|solver| solver.nodes()).max().unwrap_or(0);
        let fewest_nodes = AtomicU64::new(u64::MAX);
        let watch = StopCondition { deadline: budget.deadline(), fewest_nodes: Some(&fewest_nodes) };
        let run = |solver: &mut Box<dyn Solver + 'a>| {
            let outcome = solver.advance(limit, &watch);
            if outcome != Outcome::Undecided {
                fewest_nodes.fetch_min(solver.nodes(), Ordering::Relaxed);
            }
            outcome
        };
        let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
            let start = |solver| Builder::new().spawn_scoped(scope, || run(solver));
            let threads: Vec<_> = self.solvers.iter_mut().map(start).collect();
            // A thread that fails to start contributes no result.
            let joined = threads.into_iter().map(|thread| thread.ok()?.join().ok());
            joined.map(|outcome| outcome.unwrap_or(Outcome::Undecided)).collect()
        });
        let done = (0..outcomes.len()).filter(|&at| outcomes[at] != Outcome::Undecided);
        let winner = done.min_by_key(|&at| (self.solvers[at].nodes(), at));
        let nodes = match winner {
            Some(at) => self.solvers[at].nodes(),
            None => self.solvers.iter().map(|solver| solver.nodes()).max().unwrap_or(0),
        };
        budget.spend(nodes.saturating_sub(before).max(1).saturating_mul(self.solvers.len() as u64));
        self.winner = winner.unwrap_or(0);
        winner.map_or(Outcome::Undecided, |at| outcomes[at])
    }

    /// The offset of each item in units, after it is solved.
    pub(super) fn offsets(&self) -> Vec<u64> {
        self.solvers[self.winner].offsets()
    }
}
