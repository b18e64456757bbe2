//! The unplaced items as points (start, end) in nested cells, for many items.
//!
//! A k-d tree (Bentley, 1975) in which each cell stores the best rank of its items and their bounding box. The items
//! within a segment are a quadrant; those in its corner are usually the best, so few cells are visited. For items
//! with different alignments each cell also stores the set of their alignments, and for each alignment the best rank
//! of the items that need at most it, so a search for an item that suits a height costs the same for any number of
//! alignments.

use core::ops::Range;

use super::{Segment, Unplaced};
use crate::problem::Problem;

/// The unplaced items, and the location of each in the tree.
pub(super) struct Cells {
    tree: Tree,
    /// For each item, its index in the tree and the node of its cell.
    tree_position: Vec<(u32, u32)>,
    order: Vec<u32>,
}

struct Tree {
    /// The items, cell by cell.
    points: Vec<Point>,
    /// Node k has the children 2k and 2k + 1; the second half are cells.
    nodes: Vec<Node>,
    /// The first point of each cell, and the end.
    bounds: Vec<u32>,
    levels: Levels,
}

/// The alignments of the items in the tree; empty if all are equal.
struct Levels {
    /// The number of alignments.
    count: usize,
    /// For each point, the index of its alignment.
    of_point: Vec<u8>,
    /// For each node, a bit mask of its items' alignments. Alignments are powers of two, so there are at most 64.
    of_node: Vec<u64>,
    /// For each node, the best rank of its items that need at most the first alignment, the second, and so on;
    /// without the last, which equals the best of the node.
    best: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Point {
    start: u32,
    end: u32,
    /// The rank of the item in the order of placement; [`NONE`] once it is placed.
    rank: u32,
    item: u32,
}

impl Point {
    const fn is_within(&self, segment: Segment) -> bool {
        self.start >= segment.start && self.end <= segment.end
    }
}

/// Bounding box and best rank of the unplaced items below a node.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Node {
    least_start: u32,
    most_start: u32,
    least_end: u32,
    most_end: u32,
    best: u32,
}

const NONE: u32 = u32::MAX;
/// The maximum number of items of a cell.
const CELL: usize = 8;
/// The number of misfits per alignment after which a search among pins gives up.
const LOOKS: usize = 256;

/// The number of powers of two in 64 bits.
const MOST_LEVELS: usize = 64;

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

    fn is_within(&self, segment: Segment) -> bool {
        self.least_start >= segment.start && self.most_end <= segment.end
    }

    fn may_hold(&self, segment: Segment) -> bool {
        self.most_start >= segment.start && self.least_end <= segment.end
    }
}

impl Cells {
    pub(super) fn new(problem: &Problem, levels: &[u64]) -> Self {
        let point = |item: usize| Point {
            start: problem.start[item],
            end: problem.end[item],
            rank: NONE,
            item: item as u32,
        };
        let level = |item: u32| levels.partition_point(|&level| level < problem.align(item as usize));
        let tree = Tree::new((0..problem.len()).map(point).collect(), levels.len(), level);
        let mut tree_position = vec![(0, 0); problem.len()];
        for cell in tree.cells()..tree.nodes.len() {
            for at in tree.range(cell) {
                tree_position[tree.points[at].item as usize] = (at as u32, cell as u32);
            }
        }
        Self { tree, tree_position, order: Vec::new() }
    }

    /// Marks all items as unplaced, with this order.
    pub(super) fn refill(&mut self, order: &[u32]) {
        self.order.clear();
        self.order.extend_from_slice(order);
        for (rank, &item) in order.iter().enumerate() {
            let (at, _) = self.tree_position[item as usize];
            self.tree.points[at as usize].rank = rank as u32;
        }
        self.tree.refresh();
    }
}

impl Unplaced for Cells {
    fn take(&mut self, segment: Segment, fits: Option<&dyn Fn(u32) -> bool>) -> Option<u32> {
        let best = match fits {
            None => self.suited(segment)?,
            Some(fits) => self.tree.best_that(segment, |rank| fits(self.order[rank as usize]))?,
        };
        Some(self.remove(best))
    }

    fn first(&self, segment: Segment) -> Option<u32> {
        self.tree.best(segment)
    }

    fn suited(&self, segment: Segment) -> Option<u32> {
        let levels = &self.tree.levels;
        if segment.levels >= levels.count { self.tree.best(segment) } else { self.tree.best_suited(segment) }
    }

    fn next_level(&self, segment: Segment, within: u32) -> Option<usize> {
        if self.tree.levels.is_one() {
            return (segment.levels < self.tree.levels.count).then_some(0);
        }
        let (at, _) = self.tree_position[self.item(within) as usize];
        let known = usize::from(self.tree.levels.of_point[at as usize]);
        self.tree.next_level(segment, Some(known).filter(|&level| level >= segment.levels))
    }

    fn item(&self, rank: u32) -> u32 {
        self.order[rank as usize]
    }

    fn remove(&mut self, rank: u32) -> u32 {
        let item = self.item(rank);
        let (at, cell) = self.tree_position[item as usize];
        self.tree.remove(at as usize, cell as usize);
        item
    }
}

impl Levels {
    const fn is_one(&self) -> bool {
        self.count <= 1
    }

    /// The best rank in a node among the items that need less than `levels` of the alignments, less than their count.
    fn best(&self, node: usize, levels: usize) -> u32 {
        match levels {
            0 => NONE,
            levels => self.best[node * (self.count - 1) + levels - 1],
        }
    }

    /// Updates a leaf from the levels and ranks of its items. Returns whether it changed.
    fn set_of_cell(&mut self, node: usize, items: impl Iterator<Item = (u8, u32)>) -> bool {
        let width = self.count - 1;
        let mut best = [NONE; MOST_LEVELS];
        let mut mask = 0;
        for (level, rank) in items.filter(|&(_, rank)| rank != NONE) {
            mask |= 1 << level;
            best[usize::from(level)] = best[usize::from(level)].min(rank);
        }
        let mut least = NONE;
        let mut is_new = core::mem::replace(&mut self.of_node[node], mask) != mask;
        for (known, best) in self.best[node * width..][..width].iter_mut().zip(best) {
            least = least.min(best);
            is_new |= core::mem::replace(known, least) != least;
        }
        is_new
    }

    /// Updates an inner node from its children. Returns whether it changed.
    fn set_of_children(&mut self, node: usize) -> bool {
        let width = self.count - 1;
        let mask = self.of_node[2 * node] | self.of_node[2 * node + 1];
        let mut is_new = core::mem::replace(&mut self.of_node[node], mask) != mask;
        let (front, back) = self.best.split_at_mut(2 * node * width);
        let (left, right) = back[..2 * width].split_at(width);
        for (known, (left, right)) in front[node * width..][..width].iter_mut().zip(left.iter().zip(right)) {
            let least = *left.min(right);
            is_new |= *known != least;
            *known = least;
        }
        is_new
    }
}

impl Tree {
    fn new(mut points: Vec<Point>, levels: usize, level: impl Fn(u32) -> usize) -> Self {
        let cells = points.len().div_ceil(CELL).max(1).next_power_of_two();
        let mut bounds: Vec<u32> =
            (0..=cells).map(|cell| (points.len() as u64 * cell as u64 / cells as u64) as u32).collect();
        divide(&mut points, &bounds, true);
        bounds.shrink_to_fit();
        let mut levels =
            Levels { count: levels, of_point: Vec::new(), of_node: Vec::new(), best: Vec::new() };
        if !levels.is_one() {
            levels.of_point = points.iter().map(|point| level(point.item) as u8).collect();
            levels.of_node = vec![0; 2 * cells];
            levels.best = vec![NONE; 2 * cells * (levels.count - 1)];
        }
        Self { points, nodes: vec![EMPTY; 2 * cells], bounds, levels }
    }

    fn cells(&self) -> usize {
        self.nodes.len() / 2
    }

    fn range(&self, node: usize) -> Range<usize> {
        let cell = node - self.cells();
        self.bounds[cell] as usize..self.bounds[cell + 1] as usize
    }

    fn cell(&self, node: usize) -> &[Point] {
        &self.points[self.range(node)]
    }

    /// The points of a cell whose items need less than `levels` of the alignments.
    fn suited(&self, node: usize, levels: usize) -> impl Iterator<Item = &Point> {
        let range = self.range(node);
        let points = self.points[range.clone()].iter().zip(&self.levels.of_point[range]);
        points.filter(move |(_, level)| usize::from(**level) < levels).map(|(point, _)| point)
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
            self.update(node);
        }
    }

    /// Updates a node; returns whether it changed.
    fn update(&mut self, node: usize) -> bool {
        let summary = self.summary(node);
        let is_new = core::mem::replace(&mut self.nodes[node], summary) != summary;
        if self.levels.is_one() {
            return is_new;
        }
        let is_level_new = if node >= self.cells() {
            let range = self.range(node);
            let levels = self.levels.of_point[range.clone()].to_vec();
            self.levels
                .set_of_cell(node, levels.into_iter().zip(self.points[range].iter().map(|point| point.rank)))
        } else {
            self.levels.set_of_children(node)
        };
        is_new | is_level_new
    }

    fn remove(&mut self, at: usize, cell: usize) {
        self.points[at].rank = NONE;
        let mut node = cell;
        while node > 0 && self.update(node) {
            node /= 2;
        }
    }

    /// The best rank within a segment.
    fn best(&self, segment: Segment) -> Option<u32> {
        self.search(segment, |node| self.nodes[node].best, |node| self.cell(node).iter())
    }

    /// The best rank among the items whose alignment suits the segment, if not all do.
    fn best_suited(&self, segment: Segment) -> Option<u32> {
        let levels = segment.levels;
        self.search(segment, |node| self.levels.best(node, levels), |node| self.suited(node, levels))
    }

    /// The best rank within a segment. `best` returns it for a node, and `points` the points of a cell.
    #[inline(always)]
    fn search<'a, P: Iterator<Item = &'a Point>>(
        &'a self,
        segment: Segment,
        best_of: impl Fn(usize) -> u32,
        points: impl Fn(usize) -> P,
    ) -> Option<u32> {
        let mut best = NONE;
        let mut stack = Stack::new();
        while let Some(at) = stack.pop() {
            let node = &self.nodes[at];
            let best_here = best_of(at);
            if best_here >= best || !node.may_hold(segment) {
                continue;
            }
            if node.is_within(segment) {
                best = best_here;
            } else if at >= self.cells() {
                for point in points(at) {
                    if point.rank < best && point.is_within(segment) {
                        best = point.rank;
                    }
                }
            } else {
                stack.push_children(at, best_of(2 * at) < best_of(2 * at + 1));
            }
        }
        (best != NONE).then_some(best)
    }

    /// The first alignment of an item within a segment that does not suit the segment. `known` is one of them.
    fn next_level(&self, segment: Segment, known: Option<usize>) -> Option<usize> {
        let coarser = u64::MAX.checked_shl(segment.levels as u32).unwrap_or(0);
        let below = |level: Option<usize>| level.map_or(u64::MAX, |level| (1 << level) - 1);
        let mut next = known;
        let mut stack = Stack::new();
        while let Some(at) = stack.pop() {
            let wanted = coarser & below(next);
            if wanted == 0 {
                break;
            }
            let (node, levels) = (&self.nodes[at], self.levels.of_node[at] & wanted);
            if levels == 0 || !node.may_hold(segment) {
                continue;
            }
            if node.is_within(segment) {
                next = Some(levels.trailing_zeros() as usize);
            } else if at >= self.cells() {
                for point in self.range(at) {
                    let level = usize::from(self.levels.of_point[point]);
                    let is_wanted = coarser & below(next) & 1 << level != 0;
                    if is_wanted && self.points[point].rank != NONE && self.points[point].is_within(segment) {
                        next = Some(level);
                    }
                }
            } else {
                let least = |node: usize| (self.levels.of_node[node] & wanted).trailing_zeros();
                stack.push_children(at, least(2 * at) < least(2 * at + 1));
            }
        }
        next
    }

    /// The best rank among the items with a suitable alignment that meet a condition. May give up.
    fn best_that(&self, segment: Segment, holds: impl Fn(u32) -> bool) -> Option<u32> {
        let (levels, count) = (segment.levels, self.levels.count);
        let has_all = levels >= count;
        let best_of = |node: usize| {
            if has_all { self.nodes[node].best } else { self.levels.best(node, levels) }
        };
        let is_suited = |point: usize| has_all || usize::from(self.levels.of_point[point]) < levels;
        let mut best = NONE;
        let mut stack = Stack::new();
        let mut looks = LOOKS * levels.min(count).max(1);
        while let Some(at) = stack.pop() {
            if best_of(at) >= best || !self.nodes[at].may_hold(segment) || looks == 0 {
                continue;
            }
            if at < self.cells() {
                stack.push_children(at, best_of(2 * at) < best_of(2 * at + 1));
                continue;
            }
            for point in self.range(at).filter(|&point| is_suited(point)) {
                let point = self.points[point];
                if point.rank < best && point.is_within(segment) {
                    if holds(point.rank) {
                        best = point.rank;
                    }
                    looks = looks.saturating_sub(1);
                }
            }
        }
        (best != NONE).then_some(best)
    }
}

/// The nodes still to be visited. A tree has less than 32 levels, and one child per level waits.
struct Stack {
    nodes: [u32; 64],
    depth: usize,
}

impl Stack {
    #[inline(always)]
    fn new() -> Self {
        let mut nodes = [0; 64];
        nodes[0] = 1;
        Self { nodes, depth: 1 }
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<usize> {
        self.depth = self.depth.checked_sub(1)?;
        Some(self.nodes[self.depth] as usize)
    }

    /// Pushes both children, the better one last, to be visited first.
    #[inline(always)]
    fn push_children(&mut self, node: usize, is_left_better: bool) {
        let (first, second) = if is_left_better { (0, 1) } else { (1, 0) };
        self.nodes[self.depth] = (2 * node + second) as u32;
        self.nodes[self.depth + 1] = (2 * node + first) as u32;
        self.depth += 2;
    }
}

/// Orders points such that each half of the cells has the earlier starts or, on every other level, the earlier ends.
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

#[cfg(test)]
mod tests;
