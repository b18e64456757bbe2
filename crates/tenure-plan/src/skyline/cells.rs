//! What is not placed yet, as points (start, end) in nested cells: for many items.
//!
//! A k-d tree (Bentley, 1975) in which each cell knows the best of its items and how far they reach.
//! The items within a place are a quadrant; what lies in its corner is usually the best, so that few
//! cells are looked at.

use super::{Left, Look, Place};
use crate::problem::Problem;

/// A tree for each alignment.
pub(super) struct Cells {
    trees: Vec<Tree>,
    /// For each item, its tree, its place there, and the node of its cell.
    home: Vec<(u32, u32, u32)>,
    order: Vec<u32>,
}

struct Tree {
    /// The items, cell by cell.
    points: Vec<Point>,
    /// Node k has the children 2k and 2k + 1; the last half are cells.
    nodes: Vec<Node>,
    /// The first point of each cell, and the end.
    bounds: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Point {
    start: u32,
    end: u32,
    /// In the order; [`NONE`] once the item is placed.
    rank: u32,
    item: u32,
}

/// What is left in a part of the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Node {
    least_start: u32,
    most_start: u32,
    least_end: u32,
    most_end: u32,
    best: u32,
}

const NONE: u32 = u32::MAX;
/// Items a cell, at most.
const CELL: usize = 8;
/// With obstacles in the way, this many items that do not fit are enough.
const LOOKS: usize = 256;

const EMPTY: Node = Node { least_start: NONE, most_start: 0, least_end: NONE, most_end: 0, best: NONE };

impl Node {
    fn join(self, other: Self) -> Self {
        Self {
            least_start: self.least_start.min(other.least_start),
            most_start: self.most_start.max(other.most_start),
            least_end: self.least_end.min(other.least_end),
            most_end: self.most_end.max(other.most_end),
            best: self.best.min(other.best),
        }
    }

    fn of(point: &Point) -> Self {
        if point.rank == NONE {
            return EMPTY;
        }
        Self {
            least_start: point.start,
            most_start: point.start,
            least_end: point.end,
            most_end: point.end,
            best: point.rank,
        }
    }

    fn is_within(&self, place: Place) -> bool {
        self.least_start >= place.start && self.most_end <= place.end
    }

    fn may_hold(&self, place: Place) -> bool {
        self.most_start >= place.start && self.least_end <= place.end
    }
}

impl Cells {
    pub(super) fn new(problem: &Problem, levels: &[u64]) -> Self {
        let mut home = vec![(0, 0, 0); problem.len()];
        let mut trees = Vec::new();
        for level in 0..levels.len().max(1) {
            let is_here = |item: &usize| levels.is_empty() || problem.align(*item) == levels[level];
            let point = |item: usize| Point {
                start: problem.start[item],
                end: problem.end[item],
                rank: NONE,
                item: item as u32,
            };
            let tree = Tree::new((0..problem.len()).filter(is_here).map(point).collect());
            for cell in tree.cells()..tree.nodes.len() {
                let first = tree.bounds[cell - tree.cells()];
                for (at, point) in (first..).zip(tree.cell(cell)) {
                    home[point.item as usize] = (level as u32, at, cell as u32);
                }
            }
            trees.push(tree);
        }
        Self { trees, home, order: Vec::new() }
    }

    /// Nothing is placed, and this is the order.
    pub(super) fn refill(&mut self, order: &[u32]) {
        self.order.clear();
        self.order.extend_from_slice(order);
        for (rank, &item) in order.iter().enumerate() {
            let (tree, at, _) = self.home[item as usize];
            self.trees[tree as usize].points[at as usize].rank = rank as u32;
        }
        for tree in &mut self.trees {
            tree.refresh();
        }
    }
}

impl Left for Cells {
    fn take(&mut self, place: Place, fits: Option<&dyn Fn(u32) -> bool>) -> Option<u32> {
        let levels = if self.trees.len() == 1 { 1 } else { place.levels };
        let mut best = NONE;
        for tree in &self.trees[..levels] {
            best = match fits {
                None => tree.best(place, best),
                Some(fits) => tree.best_that(place, best, |rank| fits(self.order[rank as usize])),
            };
        }
        (best != NONE).then(|| self.remove(best))
    }

    fn look(&self, place: Place) -> Look {
        let (finer, coarser) = self.trees.split_at(place.levels);
        let mut best = finer.iter().fold(NONE, |best, tree| tree.best(place, best));
        let suited = (best != NONE).then_some(best);
        let mut next_level = None;
        for (level, tree) in (place.levels..).zip(coarser) {
            let better = tree.best(place, best);
            if best == NONE && better != NONE {
                next_level = Some(level);
            }
            best = better;
        }
        Look { first: self.order.get(best as usize).copied(), suited, next_level }
    }

    fn next_level(&self, place: Place) -> Option<usize> {
        (place.levels..self.trees.len()).find(|&level| self.trees[level].best(place, NONE) != NONE)
    }

    fn remove(&mut self, rank: u32) -> u32 {
        let item = self.order[rank as usize];
        let (tree, at, cell) = self.home[item as usize];
        self.trees[tree as usize].remove(at as usize, cell as usize);
        item
    }
}

impl Tree {
    fn new(mut points: Vec<Point>) -> Self {
        let cells = points.len().div_ceil(CELL).max(1).next_power_of_two();
        let mut bounds: Vec<u32> =
            (0..=cells).map(|cell| (points.len() as u64 * cell as u64 / cells as u64) as u32).collect();
        divide(&mut points, &bounds, true);
        bounds.shrink_to_fit();
        Self { points, nodes: vec![EMPTY; 2 * cells], bounds }
    }

    fn cells(&self) -> usize {
        self.nodes.len() / 2
    }

    fn cell(&self, node: usize) -> &[Point] {
        let cell = node - self.cells();
        &self.points[self.bounds[cell] as usize..self.bounds[cell + 1] as usize]
    }

    fn summary(&self, node: usize) -> Node {
        if node >= self.cells() {
            self.cell(node).iter().fold(EMPTY, |sum, point| sum.join(Node::of(point)))
        } else {
            self.nodes[2 * node].join(self.nodes[2 * node + 1])
        }
    }

    fn refresh(&mut self) {
        for node in (1..self.nodes.len()).rev() {
            self.nodes[node] = self.summary(node);
        }
    }

    fn remove(&mut self, at: usize, cell: usize) {
        self.points[at].rank = NONE;
        let mut node = cell;
        while node > 0 {
            let summary = self.summary(node);
            if self.nodes[node] == summary {
                break;
            }
            self.nodes[node] = summary;
            node /= 2;
        }
    }

    /// The best rank below `best` within a place, or `best`.
    fn best(&self, place: Place, mut best: u32) -> u32 {
        let mut stack = [0u32; 64];
        let mut depth = 1;
        stack[0] = 1;
        while depth > 0 {
            depth -= 1;
            let at = stack[depth] as usize;
            let node = &self.nodes[at];
            if node.best >= best || !node.may_hold(place) {
                continue;
            }
            if node.is_within(place) {
                best = node.best;
            } else if at >= self.cells() {
                for point in self.cell(at) {
                    if point.rank < best && point.start >= place.start && point.end <= place.end {
                        best = point.rank;
                    }
                }
            } else {
                // The better child is looked at first.
                let is_left_better = self.nodes[2 * at].best < self.nodes[2 * at + 1].best;
                let (first, second) = if is_left_better { (0, 1) } else { (1, 0) };
                stack[depth] = (2 * at + second) as u32;
                stack[depth + 1] = (2 * at + first) as u32;
                depth += 2;
            }
        }
        best
    }

    /// The same among those that a condition holds for. May give up.
    fn best_that(&self, place: Place, mut best: u32, holds: impl Fn(u32) -> bool) -> u32 {
        let mut stack = vec![1];
        let mut looks = LOOKS;
        while let Some(at) = stack.pop() {
            let node = &self.nodes[at];
            if node.best >= best || !node.may_hold(place) || looks == 0 {
                continue;
            }
            if at < self.cells() {
                let is_left_better = self.nodes[2 * at].best < self.nodes[2 * at + 1].best;
                stack.extend(if is_left_better { [2 * at + 1, 2 * at] } else { [2 * at, 2 * at + 1] });
                continue;
            }
            for point in self.cell(at) {
                if point.rank < best && point.start >= place.start && point.end <= place.end {
                    if holds(point.rank) {
                        best = point.rank;
                    }
                    looks = looks.saturating_sub(1);
                }
            }
        }
        best
    }
}

/// Orders points such that each half of the cells holds the earlier starts, or ends, in turns.
fn divide(points: &mut [Point], bounds: &[u32], by_start: bool) {
    let cells = bounds.len() - 1;
    if cells < 2 {
        return;
    }
    let middle = (bounds[cells / 2] - bounds[0]) as usize;
    if middle < points.len() {
        if by_start {
            points.select_nth_unstable_by_key(middle, |point| (point.start, point.item));
        } else {
            points.select_nth_unstable_by_key(middle, |point| (point.end, point.item));
        }
    }
    let (left, right) = points.split_at_mut(middle);
    divide(left, &bounds[..=cells / 2], !by_start);
    divide(right, &bounds[cells / 2..], !by_start);
}
