//! The search for a plan within a capacity.

mod arena;
mod bound;
mod conflict;
mod ground;
mod lessons;
mod lid;
mod nogood;
mod portfolio;
mod rank;
mod sets;
mod support;
mod unit;
mod watch;

pub(crate) use portfolio::{Solver, solver};
use rank::{Guide, SearchKey};
use unit::Unit;
pub(crate) use watch::Watch;

use crate::mix;
use crate::problem::Problem;
use arena::{Arena, Node, Top, View};
use bound::{Bounds, Dead};
use conflict::{Blame, Placements, Scene};
use ground::Ground;
use lessons::Lessons;
use lid::Lid;
use nogood::{Fingerprint, Nogoods};
use sets::Sets;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All are placed.
    Solved,
    /// There is no plan within the capacity.
    Impossible,
    /// The limit was reached.
    Open,
}

/// A search among the plans of a problem within a capacity.
struct Search<'a, T> {
    problem: &'a Problem,
    lid: Lid<T>,
    ground: Ground<T>,
    /// Items that cannot be told apart have the same number.
    twins: Vec<u32>,
    /// Failures of each section.
    failures: Vec<u32>,
    nogoods: Nogoods,
    lessons: Lessons,
    salt: Vec<Fingerprint>,
    arena: Arena<T>,
    frames: Vec<Frame>,
    bounds: Bounds<T>,
    placements: Placements<T>,
    /// For each reason for which an item is held, the placements that it depends on.
    reasons: Sets,
    blame: Blame<T>,
    /// Placements so far, of all runs.
    nodes: u64,
}

enum Frame {
    /// A set of items that hang together, of which one after the other is tried as the next.
    Choice { node: Node, tried: Option<usize>, since: usize, reasons: usize },
    /// Sets that do not touch in time, each of which needs a plan.
    Split { nodes: Vec<Node>, top: Top },
}

/// What to do next.
enum Step {
    /// Try the next item of the innermost node.
    Try,
    /// The innermost set of items has its plan.
    Solved,
    /// The innermost node has none.
    Failed,
}

impl<'a, T: Unit> Search<'a, T> {
    fn new(problem: &'a Problem, capacity: u64) -> Self {
        let n = problem.len();
        Self {
            problem,
            lid: Lid::new(problem, capacity),
            ground: Ground::new(problem),
            twins: twins(problem),
            failures: vec![0; problem.sections()],
            nogoods: Nogoods::new(),
            lessons: Lessons::new(n),
            salt: (0..n as u64).map(|k| [mix::mix(2 * k) | 1, mix::mix(2 * k + 1) | 1]).collect(),
            arena: Arena::new(),
            frames: Vec::new(),
            bounds: Bounds::new(),
            placements: Placements::new(problem),
            reasons: Sets::new(n, 0),
            blame: Blame::new(n),
            nodes: 0,
        }
    }

    /// Where each item is, after a run that solved it, in units.
    fn offsets(&self) -> Vec<u64> {
        self.placements.offsets.iter().map(|offset| offset.units()).collect()
    }

    /// Makes old failures count less.
    fn decay(&mut self) {
        for failures in &mut self.failures {
            *failures -= *failures / 4;
        }
    }

    /// Searches until `limit` placements more.
    fn run(&mut self, guide: &Guide, limit: u64, watch: &Watch<'_>) -> Outcome {
        let limit = self.nodes.saturating_add(limit);
        self.frames.clear();
        self.placements.undo(0);
        self.reasons.truncate(0);
        let root = self.arena.root(self.problem, &self.ground);
        if !self.is_open(&root, Some(root.news)) {
            return Outcome::Impossible;
        }
        let mut step = self.split(&root, guide);
        loop {
            step = match step {
                Step::Try if self.nodes >= limit => return Outcome::Open,
                Step::Try if watch.is_over(self.nodes) => return Outcome::Open,
                Step::Try => self.next(guide),
                Step::Solved => match self.solved() {
                    Some(step) => step,
                    None => return Outcome::Solved,
                },
                Step::Failed => match self.frames.pop() {
                    None => return Outcome::Impossible,
                    Some(Frame::Split { .. }) => Step::Failed,
                    Some(Frame::Choice { node, tried, since, reasons }) => {
                        self.back(node, tried, since, reasons)
                    }
                },
            }
        }
    }

    /// A component has a plan: on to the next one of the innermost split.
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

    /// The parts of a node one after the other, the smallest first.
    fn split(&mut self, node: &Node, guide: &Guide) -> Step {
        let mut nodes = Vec::new();
        for part in self.arena.parts(node) {
            let members = guide.rank(self.problem, self.arena.view(node), &self.failures, &part);
            nodes.push(self.arena.part(node, part, &members));
        }
        // Taken from the end.
        nodes.sort_by_key(|node| core::cmp::Reverse(node.len));
        let Some(first) = nodes.pop() else { return Step::Solved };
        let top = self.arena.top();
        self.frames.push(Frame::Split { nodes, top });
        self.choose(first)
    }

    /// Goes down to a node that does not fall apart.
    fn choose(&mut self, mut node: Node) -> Step {
        node.top = self.arena.top();
        node.fingerprint = self.arena.view(&node).fingerprint(&self.salt);
        if self.nogoods.holds(node.fingerprint) {
            return self.fail_all(&node);
        }
        let (since, reasons) = (self.placements.now(), self.reasons.len());
        self.frames.push(Frame::Choice { node, tried: None, since, reasons });
        Step::Try
    }

    /// Tries the next item of the innermost node.
    fn next(&mut self, guide: &Guide) -> Step {
        let Some(Frame::Choice { node, tried, .. }) = self.frames.last_mut() else { return Step::Failed };
        let view = self.arena.view(node);
        let Some(at) = candidate(view, view.limit(self.lid.most)) else {
            let node = *node;
            return self.fail_all(&node);
        };
        let (item, offset) = (view.item[at], view.low[at]);
        let node = *node;
        let lesson = self.lessons.find(item, offset.units(), &self.placements.placed, |set| {
            sum(set, &self.salt, &self.placements.offsets)
        });
        if let Some(lesson) = lesson {
            let reason = self.reasons.len();
            self.reasons.push(lesson);
            *tried = None;
            return self.hold(&node, at, reason);
        }
        *tried = Some(at);
        self.nodes += 1;
        self.placements.place(view, at);
        let (child, falls_apart) = self.arena.child(&node, at, &self.ground);
        if child.len == 0 {
            return Step::Solved;
        }
        if !self.is_open(&child, Some(child.news)) || !self.is_open_further(&child) {
            return Step::Failed;
        }
        if falls_apart { self.split(&child, guide) } else { self.choose(child) }
    }

    /// The item tried last at a node could not be placed, or nothing more can be tried.
    fn back(&mut self, node: Node, tried: Option<usize>, since: usize, reasons: usize) -> Step {
        self.placements.undo(since);
        let item = tried.map(|at| self.arena.item[node.items + at]);
        // Where the item has nothing to do with the failure, nothing else in its place helps.
        let Some((at, item)) = tried.zip(item).filter(|(_, item)| sets::holds(&self.blame.conflict, *item))
        else {
            self.reasons.truncate(reasons);
            self.nogoods.keep(node.fingerprint);
            return Step::Failed;
        };
        let offset = self.arena.low[node.items + at];
        let conflict = &mut self.blame.conflict;
        sets::remove(conflict, item);
        self.placements.add_raisers(conflict, &self.ground, item, offset);
        let sum = sum(conflict, &self.salt, &self.placements.offsets);
        self.lessons.keep(item, offset.units(), conflict, sum);
        let reason = self.reasons.len();
        self.reasons.push(conflict);
        self.arena.cut(node.top);
        self.frames.push(Frame::Choice { node, tried: None, since, reasons });
        self.hold(&node, at, reason)
    }

    /// The item `at` of a node cannot be where it could be: something must raise it first. The same
    /// is true of what cannot be told apart from it.
    fn hold(&mut self, node: &Node, at: usize, reason: usize) -> Step {
        let twin = self.twins[self.arena.item[node.items + at] as usize];
        for k in node.items..node.items + node.len {
            if self.twins[self.arena.item[k] as usize] == twin && self.arena.held[k] == T::default() {
                self.arena.held[k] = T::of(1);
                self.arena.why[k] = reason as u32;
            }
        }
        if self.is_open(node, None) { Step::Try } else { Step::Failed }
    }

    fn scene(&self, node: &Node) -> Scene<'_, T> {
        Scene {
            view: self.arena.view(node),
            eff: self.arena.eff(node),
            ground: &self.ground,
            lid: &self.lid,
            placements: &self.placements,
            reasons: &self.reasons,
        }
    }

    /// Whether the bounds leave a chance; if not, `blame` says because of what. `news` is from and to
    /// which section something has changed besides what is held.
    fn is_open(&mut self, node: &Node, news: Option<(usize, usize)>) -> bool {
        let ((view, marks), failures) = (self.arena.marked(node), &mut self.failures);
        let failed = |x: usize| failures[view.home[x] as usize] += 1;
        let dead = self.bounds.first(view, marks, news, &self.ground, &self.lid, failed);
        self.is_alive(node, dead)
    }

    /// The same with sharper bounds. Needs what `is_open` left.
    fn is_open_further(&mut self, node: &Node) -> bool {
        let ((view, marks), failures) = (self.arena.marked(node), &mut self.failures);
        let failed = |x: usize| failures[view.home[x] as usize] += 1;
        let dead = self.bounds.second(view, marks, &self.ground, &self.lid, failed);
        self.is_alive(node, dead)
    }

    fn is_alive(&mut self, node: &Node, dead: Option<Dead>) -> bool {
        let Some(dead) = dead else { return true };
        let mut blame = core::mem::take(&mut self.blame);
        blame.find(self.scene(node), &self.bounds, dead);
        self.blame = blame;
        false
    }

    fn fail_all(&mut self, node: &Node) -> Step {
        let mut blame = core::mem::take(&mut self.blame);
        blame.all(self.scene(node));
        self.blame = blame;
        Step::Failed
    }
}

/// The lowest item that is not held, the first in order among equals.
fn candidate<T: Unit>(view: View<'_, T>, limit: T) -> Option<usize> {
    let mut best = limit;
    let mut at = None;
    for k in 0..view.len() {
        if view.low[k] < best && !view.is_held(k) {
            best = view.low[k];
            at = Some(k);
        }
    }
    at
}

/// A number that tells placements from others.
fn sum<T: Unit>(set: &[u64], salt: &[Fingerprint], offsets: &[T]) -> Fingerprint {
    let mut sum: Fingerprint = [0; 2];
    for item in sets::numbers(set.iter().copied()) {
        let offset = offsets[item].units() + 0x1_0000_0001;
        sum[0] = sum[0].wrapping_add(salt[item][0].wrapping_mul(offset));
        sum[1] = sum[1].wrapping_add(salt[item][1].wrapping_mul(offset));
    }
    sum
}

/// A number for each item, the same for those that are alike in everything that matters.
fn twins(problem: &Problem) -> Vec<u32> {
    let alike = |item: usize| {
        let (start, end, size) = (problem.start[item], problem.end[item], problem.size[item]);
        (start, end, size, problem.align(item), problem.padding(item))
    };
    let mut items: Vec<usize> = (0..problem.len()).collect();
    items.sort_unstable_by_key(|&item| alike(item));
    let mut twins = vec![0; problem.len()];
    for group in items.chunk_by(|&a, &b| alike(a) == alike(b)) {
        for &item in group {
            twins[item] = group[0] as u32;
        }
    }
    twins
}
