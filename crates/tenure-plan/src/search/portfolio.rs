//! A portfolio of branching orders, each searched with a limit and restarts.

use core::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::SearchKey::{
    AllFailures as S, Area as A, ExactFailures as G, Failures as F, Load as T, NoisyArea as M,
    NoisyWidth as N, Overlaps as O, Sections as C, Width as W,
};
use super::arena::View;
use super::{Outcome, Search, Unit};
use crate::config::is_past;
use crate::numbers::{log2, mix};
use crate::problem::Problem;

const FIXED: [&[SearchKey]; 6] = [&[T, W, A], &[T, C, A], &[T, A, W], &[W, A, T], &[C, A, T], &[T, O]];
const NOISY: [&[SearchKey]; 4] = [&[F, N], &[F, M], &[S, A], &[G, C, A]];

/// A search that can be continued after it reached its limit.
pub(crate) trait Solver: Send {
    /// Searches with about `limit` more placements.
    fn advance(&mut self, limit: u64, stop: &StopCondition<'_>) -> Outcome;

    /// The number of placements so far.
    fn nodes(&self) -> u64;

    /// The offset of each item in units, after it is solved.
    fn offsets(&self) -> Vec<u64>;
}

/// A search for a plan of at most `capacity` bytes, which must be at least the problem's floor. The seed selects the
/// first orders.
pub(crate) fn solver(problem: &Problem, capacity: u64, seed: u64) -> Box<dyn Solver + '_> {
    // The greatest numbers in a search are sums of two of these.
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
    /// The numbers of runs with fixed and noisy orders, and their placements.
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

    /// The next order, and its limit of placements.
    fn next(&mut self, is_fixed: bool) -> (BranchingOrder, u64) {
        if is_fixed {
            let (cycle, at) =
                (self.fixed / FIXED.len() as u64, (self.fixed + self.seed) as usize % FIXED.len());
            self.fixed += 1;
            return (BranchingOrder { keys: FIXED[at], seed: 0 }, (2 * self.items) << cycle.min(40));
        }
        let keys = NOISY[(self.noisy + self.seed) as usize % NOISY.len()];
        self.noisy += 1;
        (BranchingOrder { keys, seed: self.noisy ^ self.seed << 40 }, 2 * self.items * (64 + self.noisy) / 64)
    }
}

impl<T: Unit> Solver for Portfolio<'_, T> {
    fn advance(&mut self, limit: u64, stop: &StopCondition<'_>) -> Outcome {
        let end = self.search.nodes.saturating_add(limit);
        while self.search.nodes < end && !stop.is_over(self.search.nodes) {
            let before = self.search.nodes;
            let is_fixed = self.fixed < FIXED.len() as u64 || self.fixed_work <= self.noisy_work / 4;
            let (order, most) = self.next(is_fixed);
            let outcome = self.search.run(&order, most.min(end - before), stop);
            if outcome != Outcome::Undecided {
                return outcome;
            }
            self.search.decay();
            let work = self.search.nodes - before;
            *(if is_fixed { &mut self.fixed_work } else { &mut self.noisy_work }) += work;
        }
        Outcome::Undecided
    }

    fn nodes(&self) -> u64 {
        self.search.nodes
    }

    fn offsets(&self) -> Vec<u64> {
        self.search.offsets()
    }
}

/// A sort key of a branching order; greater is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchKey {
    /// The greatest remaining load during the item's lifetime.
    Load,
    /// The length of its lifetime.
    Width,
    /// The number of covered sections.
    Sections,
    /// Width times size.
    Area,
    /// The number of overlapping items.
    Overlaps,
    /// log2 of the maximum failures of a section during its lifetime.
    Failures,
    /// The maximum failures of a section during its lifetime.
    ExactFailures,
    /// log2 of all failures of the sections during its lifetime.
    AllFailures,
    /// Its width times a random factor between 1 and 2.
    NoisyWidth,
    /// Its area times a random factor between 1 and e^2.
    NoisyArea,
}

/// The order in which the search tries items.
#[derive(Clone, Debug)]
pub(super) struct BranchingOrder {
    pub(super) keys: &'static [SearchKey],
    pub(super) seed: u64,
}

impl BranchingOrder {
    /// The items in a part of a state, best first.
    pub(super) fn rank<T: Unit>(
        &self,
        problem: &Problem,
        view: View<'_, T>,
        failures: &[u32],
        part: &Range<usize>,
    ) -> Vec<usize> {
        let overlaps =
            if self.keys.contains(&SearchKey::Overlaps) { Overlaps::new(view) } else { Overlaps::default() };
        let value = |k: usize, key: SearchKey| {
            let item = view.item[k] as usize;
            let (start, end) = (problem.start[item], problem.end[item]);
            let (width, area) = (problem.width[item], problem.width[item].saturating_mul(problem.size[item]));
            let failures = &failures[start as usize..end as usize];
            let most = || u64::from(failures.iter().copied().max().unwrap_or(0));
            let noise = || mix(self.seed ^ (item as u64) << 32) >> 54;
            match key {
                SearchKey::Load => {
                    view.remaining[view.range(k)].iter().copied().max().unwrap_or_default().units()
                }
                SearchKey::Width => width,
                SearchKey::Sections => u64::from(end - start),
                SearchKey::Area => area,
                SearchKey::Overlaps => overlaps.of(view, k),
                SearchKey::Failures => log2(most()) / 1024,
                SearchKey::ExactFailures => most(),
                SearchKey::AllFailures => log2(failures.iter().map(|&f| u64::from(f)).sum()) / 1024,
                SearchKey::NoisyWidth => width.saturating_mul(1024 + noise()),
                SearchKey::NoisyArea => log2(area) + noise() * 2955 / 1024,
            }
        };
        let members = (0..view.len()).filter(|&k| part.contains(&view.start[k].index()));
        let mut ranked: Vec<_> = members
            .map(|k| {
                let mut keys = [0; 3];
                for (slot, &key) in keys.iter_mut().zip(self.keys) {
                    *slot = !value(k, key);
                }
                (keys, view.item[k], k)
            })
            .collect();
        ranked.sort_unstable();
        ranked.into_iter().map(|(.., k)| k).collect()
    }
}

/// The numbers of a state's items that have begun and ended up to each section.
#[derive(Default)]
struct Overlaps {
    begun: Vec<u64>,
    ended: Vec<u64>,
}

impl Overlaps {
    fn new<T: Unit>(view: View<'_, T>) -> Self {
        let sections = view.remaining.len();
        let mut counts = Self { begun: vec![0; sections + 1], ended: vec![0; sections + 1] };
        for k in 0..view.len() {
            let range = view.range(k);
            counts.begun[range.start + 1] += 1;
            counts.ended[range.end] += 1;
        }
        for x in 0..sections {
            counts.begun[x + 1] += counts.begun[x];
            counts.ended[x + 1] += counts.ended[x];
        }
        counts
    }

    /// The number of items that overlap this one, including itself: those that begin before it ends, minus those that
    /// end before it begins.
    fn of<T: Unit>(&self, view: View<'_, T>, k: usize) -> u64 {
        let range = view.range(k);
        self.begun[range.end] - self.ended[range.start]
    }
}

/// Conditions to stop a search before its limit: a deadline, or another thread's search with fewer placements.
#[derive(Clone, Copy)]
pub(crate) struct StopCondition<'a> {
    pub(crate) deadline: Option<Instant>,
    /// The fewest placements of a finished search in another thread. A search that needs more stops, so that the
    /// result does not depend on scheduling.
    pub(crate) fewest_nodes: Option<&'a AtomicU64>,
}

impl StopCondition<'_> {
    /// Whether a search with `nodes` placements can stop.
    pub(crate) fn is_over(&self, nodes: u64) -> bool {
        let is_beaten = |fewest_nodes: &AtomicU64| fewest_nodes.load(Ordering::Relaxed) < nodes;
        self.fewest_nodes.is_some_and(is_beaten) || is_past(self.deadline)
    }
}
