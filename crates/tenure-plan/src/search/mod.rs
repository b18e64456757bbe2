//! The backtracking search for a plan within a capacity.
//!
//! Items are placed in order of offset. A state is the set of remaining items, each with its lowest offset above the
//! placed ones. The search branches by *schedule or postpone*: an item is placed at its lowest offset, or postponed
//! until another placement raises that offset. Bounds detect infeasible states, conflict analysis finds the
//! placements that a failure depends on, and the search jumps back to the latest of them.

mod arena;
mod bound;
mod conflict;
mod domain;
mod nogoods;
mod number_types;
mod portfolio;
mod sets;

use crate::numbers::mix;
use crate::problem::Problem;
use arena::{Arena, Node, Top, View};
use bound::{Bounds, Failure};
use conflict::{ConflictAnalysis, Placements, StateContext};
use domain::{Capacity, Domain};
use nogoods::{FailedStates, Fingerprint, LearnedNogoods};
use number_types::Unit;
use portfolio::{BranchingOrder, SearchKey};
pub(crate) use portfolio::{Solver, StopCondition, solver};
use sets::Sets;

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All items are placed.
    Solved,
    /// No plan within the capacity exists.
    Infeasible,
    /// The limit was reached.
    Undecided,
}

/// The state of a search.
struct Search<'a, T> {
    problem: &'a Problem,
    capacity: Capacity<T>,
    domain: Domain<T>,
    /// A class for each item. Interchangeable items share one.
    symmetry_classes: Vec<u32>,
    /// The number of failures in each section.
    failures: Vec<u32>,
    failed_states: FailedStates,
    learned: LearnedNogoods,
    zobrist: Vec<Fingerprint>,
    arena: Arena<T>,
    frames: Vec<Frame>,
    bounds: Bounds<T>,
    placements: Placements<T>,
    /// For each reason of a postponement, the placements that it depends on.
    reasons: Sets,
    analysis: ConflictAnalysis<T>,
    /// The number of placements of all runs.
    nodes: u64,
}

enum Frame {
    /// A connected set of items, tried in turn as the next to place.
    Choice { node: Node, tried: Option<usize>, since: usize, reasons: usize },
    /// Independent sets of items in disjoint time ranges.
    Split { nodes: Vec<Node>, top: Top },
}

/// The next step of the search.
enum Step {
    /// Try the next item of the innermost node.
    Try,
    /// The innermost set of items is planned.
    Solved,
    /// The innermost node has no plan.
    Failed,
}

impl<'a, T: Unit> Search<'a, T> {
    fn new(problem: &'a Problem, capacity: u64) -> Self {
        let n = problem.len();
        Self {
            problem,
            capacity: Capacity::new(problem, capacity),
            domain: Domain::new(problem),
            symmetry_classes: symmetry_classes(problem),
            failures: vec![0; problem.sections()],
            failed_states: FailedStates::new(),
            learned: LearnedNogoods::new(n),
            zobrist: (0..n as u64).map(|k| [mix(2 * k) | 1, mix(2 * k + 1) | 1]).collect(),
            arena: Arena::new(),
            frames: Vec::new(),
            bounds: Bounds::new(),
            placements: Placements::new(problem),
            reasons: Sets::new(n, 0),
            analysis: ConflictAnalysis::new(n),
            nodes: 0,
        }
    }

    /// The offset of each item in units, after a run with the result `Solved`.
    fn offsets(&self) -> Vec<u64> {
        self.placements.offsets.iter().map(|offset| offset.units()).collect()
    }

    /// Reduces the weight of old failures.
    fn decay(&mut self) {
        for failures in &mut self.failures {
            *failures -= *failures / 4;
        }
    }

    /// Searches with at most `limit` more placements.
    fn run(&mut self, order: &BranchingOrder, limit: u64, stop: &StopCondition<'_>) -> Outcome {
        let limit = self.nodes.saturating_add(limit);
        self.frames.clear();
        self.placements.undo(0);
        self.reasons.truncate(0);
        let root = self.arena.root(self.problem, &self.domain);
        if !self.is_feasible(&root, Some(root.changed)) {
            return Outcome::Infeasible;
        }
        let mut step = self.split(&root, order);
        loop {
            step = match step {
                Step::Try if self.nodes >= limit => return Outcome::Undecided,
                Step::Try if stop.is_over(self.nodes) => return Outcome::Undecided,
                Step::Try => self.next(order),
                Step::Solved => match self.solved() {
                    Some(step) => step,
                    None => return Outcome::Solved,
                },
                Step::Failed => match self.frames.pop() {
                    None => return Outcome::Infeasible,
                    Some(Frame::Split { .. }) => Step::Failed,
                    Some(Frame::Choice { node, tried, since, reasons }) => {
                        self.backtrack(node, tried, since, reasons)
                    }
                },
            }
        }
    }

    /// Continues with the next part of the innermost split.
    fn solved(&mut self) -> Option<Step> {
        while let Some(frame) = self.frames.pop() {
            if let Frame::Split { mut nodes, top } = frame
                && let Some(node) = nodes.pop()
            {
                self.arena.cut(top);
                self.frames.push(Frame::Split { nodes, top });
                return Some(self.choose(node));
            }
        }
        None
    }

    /// Divides a node into its independent parts, the smallest first.
    fn split(&mut self, node: &Node, order: &BranchingOrder) -> Step {
        let mut nodes = Vec::new();
        for part in self.arena.parts(node) {
            let members = order.rank(self.problem, self.arena.view(node), &self.failures, &part);
            nodes.push(self.arena.part(node, part, &members));
        }
        // Nodes are taken from the end.
        nodes.sort_by_key(|node| core::cmp::Reverse(node.len));
        let Some(first) = nodes.pop() else { return Step::Solved };
        let top = self.arena.top();
        self.frames.push(Frame::Split { nodes, top });
        self.choose(first)
    }

    /// Descends to a connected node.
    fn choose(&mut self, mut node: Node) -> Step {
        node.top = self.arena.top();
        node.fingerprint = self.arena.view(&node).fingerprint(&self.zobrist);
        if self.failed_states.holds(node.fingerprint) {
            return self.fail_by_all(&node);
        }
        let (since, reasons) = (self.placements.now(), self.reasons.len());
        self.frames.push(Frame::Choice { node, tried: None, since, reasons });
        Step::Try
    }

    /// Tries the next item of the innermost node.
    fn next(&mut self, order: &BranchingOrder) -> Step {
        let Some(Frame::Choice { node, tried, .. }) = self.frames.last_mut() else { return Step::Failed };
        let view = self.arena.view(node);
        let Some(at) = candidate(view, view.limit(self.capacity.most)) else {
            let node = *node;
            return self.fail_by_all(&node);
        };
        let (item, offset) = (view.item[at], view.low[at]);
        let node = *node;
        let nogood = self.learned.find(item, offset.units(), &self.placements.placed, |set| {
            hash_of(set, &self.zobrist, &self.placements.offsets)
        });
        if let Some(nogood) = nogood {
            let reason = self.reasons.len();
            self.reasons.push(nogood);
            *tried = None;
            return self.postpone(&node, at, reason);
        }
        *tried = Some(at);
        self.nodes += 1;
        self.placements.place(view, at);
        let (child, has_parts) = self.arena.child(&node, at, &self.domain);
        if child.len == 0 {
            return Step::Solved;
        }
        if !self.is_feasible(&child, Some(child.changed)) || !self.is_feasible_by_forced(&child) {
            return Step::Failed;
        }
        if has_parts { self.split(&child, order) } else { self.choose(child) }
    }

    /// Backtracks to a node after its last item could not be placed, or all its items were tried.
    fn backtrack(&mut self, node: Node, tried: Option<usize>, since: usize, reasons: usize) -> Step {
        self.placements.undo(since);
        let item = tried.map(|at| self.arena.item[node.items + at]);
        // If the failure does not depend on the item, replacing it does not help.
        let Some((at, item)) =
            tried.zip(item).filter(|(_, item)| sets::holds(&self.analysis.conflict, *item))
        else {
            self.reasons.truncate(reasons);
            self.failed_states.keep(node.fingerprint);
            return Step::Failed;
        };
        let offset = self.arena.low[node.items + at];
        let conflict = &mut self.analysis.conflict;
        sets::remove(conflict, item);
        self.placements.add_raisers(conflict, &self.domain, item, offset);
        let sum = hash_of(conflict, &self.zobrist, &self.placements.offsets);
        self.learned.keep(item, offset.units(), conflict, sum);
        let reason = self.reasons.len();
        self.reasons.push(conflict);
        self.arena.cut(node.top);
        self.frames.push(Frame::Choice { node, tried: None, since, reasons });
        self.postpone(&node, at, reason)
    }

    /// Postpones the item `at` of a node and the items interchangeable with it. They cannot be at their lowest
    /// offset, so another placement must raise it first.
    fn postpone(&mut self, node: &Node, at: usize, reason: usize) -> Step {
        let class = self.symmetry_classes[self.arena.item[node.items + at] as usize];
        for k in node.items..node.items + node.len {
            if self.symmetry_classes[self.arena.item[k] as usize] == class
                && self.arena.postponed[k] == T::default()
            {
                self.arena.postponed[k] = T::of(1);
                self.arena.reason[k] = reason as u32;
            }
        }
        if self.is_feasible(node, None) { Step::Try } else { Step::Failed }
    }

    fn context(&self, node: &Node) -> StateContext<'_, T> {
        StateContext {
            view: self.arena.view(node),
            lower: self.arena.lower(node),
            domain: &self.domain,
            capacity: &self.capacity,
            placements: &self.placements,
            reasons: &self.reasons,
        }
    }

    /// Whether the bounds prove no failure. Otherwise `analysis` has its conflict set. `changed` is the range of
    /// sections that changed, apart from postponed items.
    fn is_feasible(&mut self, node: &Node, changed: Option<(usize, usize)>) -> bool {
        let ((view, derived), failures) = (self.arena.with_derived(node), &mut self.failures);
        let failed = |x: usize| failures[view.origin[x] as usize] += 1;
        let failure = self.bounds.first(view, derived, changed, &self.domain, &self.capacity, failed);
        self.has_no_failure(node, failure)
    }

    /// Like `is_feasible`, which must be called before, with sharper bounds.
    fn is_feasible_by_forced(&mut self, node: &Node) -> bool {
        let ((view, derived), failures) = (self.arena.with_derived(node), &mut self.failures);
        let failed = |x: usize| failures[view.origin[x] as usize] += 1;
        let failure = self.bounds.second(view, derived, &self.domain, &self.capacity, failed);
        self.has_no_failure(node, failure)
    }

    fn has_no_failure(&mut self, node: &Node, failure: Option<Failure>) -> bool {
        let Some(failure) = failure else { return true };
        let mut analysis = core::mem::take(&mut self.analysis);
        analysis.find(self.context(node), &self.bounds, failure);
        self.analysis = analysis;
        false
    }

    fn fail_by_all(&mut self, node: &Node) -> Step {
        let mut analysis = core::mem::take(&mut self.analysis);
        analysis.all(self.context(node));
        self.analysis = analysis;
        Step::Failed
    }
}

/// The lowest item that is not postponed; of equally low ones the first in order.
fn candidate<T: Unit>(view: View<'_, T>, limit: T) -> Option<usize> {
    let mut best = limit;
    let mut at = None;
    for k in 0..view.len() {
        if view.low[k] < best && !view.is_postponed(k) {
            best = view.low[k];
            at = Some(k);
        }
    }
    at
}

/// A hash of placements.
fn hash_of<T: Unit>(set: &[u64], zobrist: &[Fingerprint], offsets: &[T]) -> Fingerprint {
    let mut sum: Fingerprint = [0; 2];
    for item in sets::numbers(set.iter().copied()) {
        let offset = offsets[item].units() + 0x1_0000_0001;
        sum[0] = sum[0].wrapping_add(zobrist[item][0].wrapping_mul(offset));
        sum[1] = sum[1].wrapping_add(zobrist[item][1].wrapping_mul(offset));
    }
    sum
}

/// A class for each item. Items share one if they are equal in every property that placing depends on.
fn symmetry_classes(problem: &Problem) -> Vec<u32> {
    let alike = |item: usize| {
        let (start, end, size) = (problem.start[item], problem.end[item], problem.size[item]);
        (start, end, size, problem.align(item), problem.padding(item))
    };
    let mut items: Vec<usize> = (0..problem.len()).collect();
    items.sort_unstable_by_key(|&item| alike(item));
    let mut symmetry_classes = vec![0; problem.len()];
    for group in items.chunk_by(|&a, &b| alike(a) == alike(b)) {
        for &item in group {
            symmetry_classes[item] = group[0] as u32;
        }
    }
    symmetry_classes
}
