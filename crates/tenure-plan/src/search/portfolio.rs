//! Many orders, each for a while.

use super::SearchKey::{
    AllFailures as S, Area as A, ExactFailures as G, Failures as F, Load as T, NoisyArea as M,
    NoisyWidth as N, Overlaps as O, Sections as C, Width as W,
};
use super::{Guide, Outcome, Search, SearchKey, Unit, Watch};
use crate::problem::Problem;

const FIXED: [&[SearchKey]; 6] = [&[T, W, A], &[T, C, A], &[T, A, W], &[W, A, T], &[C, A, T], &[T, O]];
const NOISY: [&[SearchKey]; 4] = [&[F, N], &[F, M], &[S, A], &[G, C, A]];

/// A search that can be taken up again where its last limit ended it.
pub(crate) trait Solver: Send {
    /// Searches until about `limit` placements more.
    fn advance(&mut self, limit: u64, watch: &Watch<'_>) -> Outcome;

    /// Placements so far.
    fn nodes(&self) -> u64;

    /// Where each item is, once it is solved, in units.
    fn offsets(&self) -> Vec<u64>;
}

/// A search for a plan of at most `capacity` bytes, which is no less than the problem's floor.
/// Those with other seeds look elsewhere.
pub(crate) fn solver(problem: &Problem, capacity: u64, seed: u64) -> Box<dyn Solver + '_> {
    // The greatest numbers that a search meets are sums of two of these.
    let units = capacity / problem.unit + 1;
    let align = problem.align.iter().copied().max().unwrap_or(0);
    let reach = units.saturating_add(align).max(problem.sections() as u64).saturating_mul(2);
    if reach < i16::FAR.units() {
        Box::new(Portfolio::<i16>::new(problem, capacity, seed))
    } else if reach < i32::FAR.units() {
        Box::new(Portfolio::<i32>::new(problem, capacity, seed))
    } else {
        Box::new(Portfolio::<i64>::new(problem, capacity, seed))
    }
}

struct Portfolio<'a, T> {
    search: Search<'a, T>,
    items: u64,
    seed: u64,
    /// Runs of fixed and of noisy orders, and their placements.
    fixed: u64,
    noisy: u64,
    fixed_work: u64,
    noisy_work: u64,
}

impl<'a, T: Unit> Portfolio<'a, T> {
    fn new(problem: &'a Problem, capacity: u64, seed: u64) -> Self {
        let search = Search::new(problem, capacity);
        let items = problem.len() as u64;
        Self { search, items, seed, fixed: 0, noisy: 0, fixed_work: 0, noisy_work: 0 }
    }

    /// The next order, and how many placements it gets.
    fn next(&mut self, is_fixed: bool) -> (Guide, u64) {
        if is_fixed {
            let (cycle, at) =
                (self.fixed / FIXED.len() as u64, (self.fixed + self.seed) as usize % FIXED.len());
            self.fixed += 1;
            return (Guide { keys: FIXED[at], seed: 0 }, (2 * self.items) << cycle.min(40));
        }
        let keys = NOISY[(self.noisy + self.seed) as usize % NOISY.len()];
        self.noisy += 1;
        (Guide { keys, seed: self.noisy ^ self.seed << 40 }, 2 * self.items * (64 + self.noisy) / 64)
    }
}

impl<T: Unit> Solver for Portfolio<'_, T> {
    fn advance(&mut self, limit: u64, watch: &Watch<'_>) -> Outcome {
        let end = self.search.nodes.saturating_add(limit);
        while self.search.nodes < end && !watch.is_over(self.search.nodes) {
            let before = self.search.nodes;
            let is_fixed = self.fixed < FIXED.len() as u64 || self.fixed_work <= self.noisy_work / 4;
            let (guide, most) = self.next(is_fixed);
            let outcome = self.search.run(&guide, most.min(end - before), watch);
            if outcome != Outcome::Open {
                return outcome;
            }
            self.search.decay();
            let work = self.search.nodes - before;
            *(if is_fixed { &mut self.fixed_work } else { &mut self.noisy_work }) += work;
        }
        Outcome::Open
    }

    fn nodes(&self) -> u64 {
        self.search.nodes
    }

    fn offsets(&self) -> Vec<u64> {
        self.search.offsets()
    }
}
