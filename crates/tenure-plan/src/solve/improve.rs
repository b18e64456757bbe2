//! A better plan of one part.

use super::Effort;
use super::mend::Mender;
use super::repair::repair;
use super::sample::Sampler;
use super::team::Team;
use crate::budget::Budget;
use crate::mix::mix;
use crate::problem::Problem;
use crate::search::Outcome;
use crate::skyline::Placing;

/// What an effort came to.
pub(super) struct Improved {
    /// A plan that is better than what there was.
    pub(super) placing: Option<Placing>,
    /// No plan has a lower peak, in bytes.
    pub(super) floor: u64,
}

/// Up to this many items (and pins) there is a search; its memory grows with the square.
pub(super) const SEARCHED: usize = 2048;

/// Spends a budget on a plan of at most `goal` bytes, or one that is lower than `placing` at least.
pub(super) fn improve(
    problem: &Problem,
    placing: &Placing,
    goal: u64,
    budget: &mut Budget,
    effort: Effort,
) -> Improved {
    let mut work = Work { problem, peak: placing.peak, placing: None, floor: problem.floor, effort };
    if problem.len() + problem.pins.len() <= SEARCHED {
        work.search(placing, goal, budget);
    } else {
        work.repair(placing, goal, budget);
    }
    Improved { placing: work.placing, floor: work.floor }
}

/// How many items are alive at a time, on average.
pub(super) fn alive(problem: &Problem) -> u64 {
    let sections = problem.start.iter().zip(&problem.end).map(|(start, end)| u64::from(end - start));
    sections.sum::<u64>() / problem.sections().max(1) as u64
}

/// So many items alive at a time are too many to be taken out at once.
const DENSE: u64 = 400;

struct Work<'a> {
    problem: &'a Problem,
    peak: u64,
    placing: Option<Placing>,
    floor: u64,
    effort: Effort,
}

impl<'a> Work<'a> {
    /// Most of the budget goes into the search for a plan at the goal. As long as there is none, the
    /// rest goes into making room in a plan that there is, and into searches above the goal and orders
    /// at random, so that the plan gets better at all.
    fn search(&mut self, placing: &Placing, goal: u64, budget: &mut Budget) {
        let items = self.problem.len() as u64;
        let mut sampler = Sampler::new(self.problem, self.effort);
        let mut step = 64 * items;
        let mut capacity = goal.max(self.floor);
        let mut team = self.team(capacity, 0);
        let mut mender = self.mender(placing.clone(), capacity);
        let mut probe = Probe::default();
        while self.peak > capacity && !budget.is_over() {
            match team.advance(step, budget) {
                Outcome::Solved => self.adopt(capacity, team.offsets()),
                Outcome::Impossible => {
                    self.floor = self.problem.reachable(capacity + 1);
                }
                Outcome::Open => {
                    self.mend(&mut mender, step / 2, budget);
                    let samples = (step / 16 / items.max(1)).max(1);
                    for _ in 0..samples {
                        if self.peak > capacity && !budget.is_over() {
                            self.sample(&mut sampler, budget);
                        }
                    }
                    self.probe(&mut probe, capacity, step / 8, budget);
                    step = step.saturating_mul(2);
                }
            }
            if self.floor > capacity {
                capacity = self.floor;
                team = self.team(capacity, 0);
                mender = self.mender(mender.placing, capacity);
            }
        }
    }

    fn mender(&self, placing: Placing, goal: u64) -> Mender<'a> {
        Mender::new(self.problem, placing, goal, self.effort.seed)
    }

    /// Makes room below the goal, with about `limit` placements.
    fn mend(&mut self, mender: &mut Mender<'_>, limit: u64, budget: &mut Budget) {
        let end = budget.spent().saturating_add(limit);
        while mender.is_needed() && budget.spent() < end && !budget.is_over() {
            budget.spend(mender.advance(budget.deadline()));
            if mender.placing.peak < self.peak {
                self.peak = mender.placing.peak;
                self.placing = Some(mender.placing.clone());
            }
        }
    }

    /// Repairs the plan, and makes another one now and then.
    fn repair(&mut self, placing: &Placing, goal: u64, budget: &mut Budget) {
        let mut sampler = Sampler::new(self.problem, self.effort);
        let mut placing = placing.clone();
        // What either has cost. Where too much is alive at one time to be taken out at once, repairs
        // wait.
        let (mut repairing, mut sampling, mut tries) = (0, self.problem.len() as u64 / 2, 0);
        if alive(self.problem) > DENSE {
            repairing = 2 * self.problem.len() as u64;
        }
        while placing.peak > goal.max(self.floor) && !budget.is_over() {
            let before = (budget.spent(), placing.peak);
            if repairing > sampling {
                if let Some(better) = sampler.sample(placing.peak, budget) {
                    placing = better;
                }
                sampling += budget.spent() - before.0;
                continue;
            }
            tries += 1;
            let goal = goal.max(self.floor);
            let chance = mix(self.effort.seed ^ tries);
            budget.spend(repair(self.problem, &mut placing, goal, chance, budget.deadline()));
            // What helps costs nothing.
            if placing.peak == before.1 {
                repairing += budget.spent() - before.0;
            }
        }
        if placing.peak < self.peak {
            self.peak = placing.peak;
            self.placing = Some(placing);
        }
    }

    /// Searches once between a capacity and the best peak.
    fn probe(&mut self, probe: &mut Probe, capacity: u64, limit: u64, budget: &mut Budget) {
        let least = self.problem.reachable(capacity + 1);
        if self.peak <= least || budget.is_over() {
            return;
        }
        probe.tries += 1;
        let below = (self.peak - 1 - least) >> (probe.failures + 1).min(63);
        let at = self.peak - 1 - below;
        let mut team = self.team(at, probe.tries << 20);
        match team.advance(limit, budget) {
            Outcome::Solved => {
                self.adopt(at, team.offsets());
                probe.failures = 0;
            }
            Outcome::Impossible => self.floor = self.floor.max(self.problem.reachable(at + 1)),
            Outcome::Open => probe.failures += 1,
        }
    }

    fn sample(&mut self, sampler: &mut Sampler<'_>, budget: &mut Budget) {
        if let Some(placing) = sampler.sample(self.peak, budget) {
            self.peak = placing.peak;
            self.placing = Some(placing);
        }
    }

    fn team(&self, capacity: u64, salt: u64) -> Team<'a> {
        Team::new(self.problem, capacity, self.effort.threads, self.effort.seed.wrapping_add(salt))
    }

    fn adopt(&mut self, capacity: u64, offsets: Vec<u64>) {
        let peak = self.problem.peak(&offsets);
        debug_assert!(peak <= capacity, "the search passed its capacity");
        if peak < self.peak {
            self.peak = peak;
            self.placing = Some(Placing { offsets, peak });
        }
    }
}

/// Where between the capacity and the best peak to search: the more failures, the nearer to what is
/// known to do.
#[derive(Default)]
struct Probe {
    tries: u64,
    failures: u32,
}
