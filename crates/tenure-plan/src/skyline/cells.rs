//! What is not placed yet, as points (start, end) in nested cells: for many items.
//!
//! A k-d tree (Bentley, 1975) in which each cell knows the best of its items and how far they reach.
//! The items within a place are a quadrant; what lies in its corner is usually the best, so that few
//! cells are looked at. Of items with different alignments each cell knows as well which alignments
//! they have, and the best of those that need each alignment or a finer one: a search for what suits a
//! height thus costs what a search without alignments does, however many there are.

use core::ops::Range;

use super::{Left, Place};
use crate::problem::Problem;

/// The items that are left, and where each of them is in the tree.
pub(super) struct Cells {
    tree: Tree,
    /// For each item, its place in the tree, and the node of its cell.
    home: Vec<(u32, u32)>,
    order: Vec<u32>,
}

struct Tree {
    /// The items, cell by cell.
    points: Vec<Point>,
    /// Node k has the children 2k and 2k + 1; the last half are cells.
    nodes: Vec<Node>,
    /// The first point of each cell, and the end.
    bounds: Vec<u32>,
    levels: Levels,
}

/// What the tree knows of alignments; nothing if there is one.
struct Levels {
    /// How many there are.
    count: usize,
    /// Of each point, which of them it needs.
    of_point: Vec<u8>,
    /// Of each node, those that its items need: a bit each. (They are powers of two, and so at most 64.)
    of_node: Vec<u64>,
    /// Of each node, the best of its items that need at most the first alignment, the second, and so on; not the
    /// last, as the node knows the best of all.
    best: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Point {
    start: u32,
    end: u32,
    /// In the order; [`NONE`] once the item is placed.
    rank: u32,
    item: u32,
}

impl Point {
    const fn is_within(&self, place: Place) -> bool {
        self.start >= place.start && self.end <= place.end
    }
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
/// With obstacles in the way, this many items that do not fit are enough, for each alignment.
const LOOKS: usize = 256;

/// Powers of two that a number of 64 bits holds.
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

    fn is_within(&self, place: Place) -> bool {
        self.least_start >= place.start && self.most_end <= place.end
    }

    fn may_hold(&self, place: Place) -> bool {
        self.most_start >= place.start && self.least_end <= place.end
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
        let mut home = vec![(0, 0); problem.len()];
        for cell in tree.cells()..tree.nodes.len() {
            for at in tree.range(cell) {
                home[tree.points[at].item as usize] = (at as u32, cell as u32);
            }
        }
        Self { tree, home, order: Vec::new() }
    }

    /// Nothing is placed, and this is the order.
    pub(super) fn refill(&mut self, order: &[u32]) {
        self.order.clear();
        self.order.extend_from_slice(order);
        for (rank, &item) in order.iter().enumerate() {
            let (at, _) = self.home[item as usize];
            self.tree.points[at as usize].rank = rank as u32;
        }
        self.tree.refresh();
    }
}

impl Left for Cells {
    fn take(&mut self, place: Place, fits: Option<&dyn Fn(u32) -> bool>) -> Option<u32> {
        let best = match fits {
            None => self.suited(place)?,
            Some(fits) => self.tree.best_that(place, |rank| fits(self.order[rank as usize]))?,
        };
        Some(self.remove(best))
    }

    fn first(&self, place: Place) -> Option<u32> {
        self.tree.best(place)
    }

    fn suited(&self, place: Place) -> Option<u32> {
        let levels = &self.tree.levels;
        if place.levels >= levels.count { self.tree.best(place) } else { self.tree.best_suited(place) }
    }

    fn next_level(&self, place: Place, within: u32) -> Option<usize> {
        if self.tree.levels.is_one() {
            return (place.levels < self.tree.levels.count).then_some(0);
        }
        let (at, _) = self.home[self.item(within) as usize];
        let known = usize::from(self.tree.levels.of_point[at as usize]);
        self.tree.next_level(place, Some(known).filter(|&level| level >= place.levels))
    }

    fn item(&self, rank: u32) -> u32 {
        self.order[rank as usize]
    }

    fn remove(&mut self, rank: u32) -> u32 {
        let item = self.item(rank);
        let (at, cell) = self.home[item as usize];
        self.tree.remove(at as usize, cell as usize);
        item
    }
}

impl Levels {
    const fn is_one(&self) -> bool {
        self.count <= 1
    }

    /// The best rank in a node of those that need less than `levels` of the alignments, but not all.
    fn best(&self, node: usize, levels: usize) -> u32 {
        match levels {
            0 => NONE,
            levels => self.best[node * (self.count - 1) + levels - 1],
        }
    }

    /// Sets what a node knows by what its items are: their levels and ranks. Says whether that is new.
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

    /// The same by its children.
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

    /// The points of a cell whose items need less than `levels` of the alignments, but not all.
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

    /// Sets what a node knows; says whether that is new.
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

    /// The best rank within a place.
    fn best(&self, place: Place) -> Option<u32> {
        self.search(place, |node| self.nodes[node].best, |node| self.cell(node).iter())
    }

    /// The same of the items whose alignment suits the place, where not all do.
    fn best_suited(&self, place: Place) -> Option<u32> {
        let levels = place.levels;
        self.search(place, |node| self.levels.best(node, levels), |node| self.suited(node, levels))
    }

    /// The best rank within a place, where `best` knows it for each node, and `points` has those of a cell.
    #[inline(always)]
    fn search<'a, P: Iterator<Item = &'a Point>>(
        &'a self,
        place: Place,
        best_of: impl Fn(usize) -> u32,
        points: impl Fn(usize) -> P,
    ) -> Option<u32> {
        let mut best = NONE;
        let mut stack = Stack::new();
        while let Some(at) = stack.pop() {
            let node = &self.nodes[at];
            let best_here = best_of(at);
            if best_here >= best || !node.may_hold(place) {
                continue;
            }
            if node.is_within(place) {
                best = best_here;
            } else if at >= self.cells() {
                for point in points(at) {
                    if point.rank < best && point.is_within(place) {
                        best = point.rank;
                    }
                }
            } else {
                stack.push_children(at, best_of(2 * at) < best_of(2 * at + 1));
            }
        }
        (best != NONE).then_some(best)
    }

    /// The first alignment that an item within a place needs, of those that do not suit the place. `known` is
    /// one of them.
    fn next_level(&self, place: Place, known: Option<usize>) -> Option<usize> {
        let coarser = u64::MAX.checked_shl(place.levels as u32).unwrap_or(0);
        let below = |level: Option<usize>| level.map_or(u64::MAX, |level| (1 << level) - 1);
        let mut next = known;
        let mut stack = Stack::new();
        while let Some(at) = stack.pop() {
            let wanted = coarser & below(next);
            if wanted == 0 {
                break;
            }
            let (node, levels) = (&self.nodes[at], self.levels.of_node[at] & wanted);
            if levels == 0 || !node.may_hold(place) {
                continue;
            }
            if node.is_within(place) {
                next = Some(levels.trailing_zeros() as usize);
            } else if at >= self.cells() {
                for point in self.range(at) {
                    let level = usize::from(self.levels.of_point[point]);
                    let is_wanted = coarser & below(next) & 1 << level != 0;
                    if is_wanted && self.points[point].rank != NONE && self.points[point].is_within(place) {
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

    /// The best rank among those suited that a condition holds for. May give up.
    fn best_that(&self, place: Place, holds: impl Fn(u32) -> bool) -> Option<u32> {
        let (levels, count) = (place.levels, self.levels.count);
        let has_all = levels >= count;
        let best_of = |node: usize| {
            if has_all { self.nodes[node].best } else { self.levels.best(node, levels) }
        };
        let is_suited = |point: usize| has_all || usize::from(self.levels.of_point[point]) < levels;
        let mut best = NONE;
        let mut stack = Stack::new();
        let mut looks = LOOKS * levels.min(count).max(1);
        while let Some(at) = stack.pop() {
            if best_of(at) >= best || !self.nodes[at].may_hold(place) || looks == 0 {
                continue;
            }
            if at < self.cells() {
                stack.push_children(at, best_of(2 * at) < best_of(2 * at + 1));
                continue;
            }
            for point in self.range(at).filter(|&point| is_suited(point)) {
                let point = self.points[point];
                if point.rank < best && point.is_within(place) {
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

/// The nodes that a search has not looked at yet. A tree is less than 32 nodes deep, and of two children the
/// second waits.
struct Stack {
    nodes: [u32; 64],
    depth: usize,
}

impl Stack {
    /// With the root.
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

    /// The better child is looked at first.
    #[inline(always)]
    fn push_children(&mut self, node: usize, is_left_better: bool) {
        let (first, second) = if is_left_better { (0, 1) } else { (1, 0) };
        self.nodes[self.depth] = (2 * node + second) as u32;
        self.nodes[self.depth + 1] = (2 * node + first) as u32;
        self.depth += 2;
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

#[cfg(test)]
mod tests {
    use super::super::bits::Bits;
    use super::*;
    use crate::Item;
    use crate::mix::mix;

    /// Items of up to so many alignments, from 1 on.
    fn problem(seed: u64, count: u64, alignments: u64) -> Problem {
        let draw = |which: u64, below: u64| mix(seed << 32 ^ which) % below;
        let item = |at: u64| {
            let first = draw(4 * at, 100);
            let item = Item::new(first..first + 1 + draw(4 * at + 1, 40), 1 + draw(4 * at + 2, 500));
            item.aligned(if at == 0 { 1 } else { 1 << draw(4 * at + 3, alignments) })
        };
        let items: Vec<Item> = (0..count).map(item).collect();
        let origin: Vec<u32> = (0..count as u32).collect();
        Problem::new(&items, &origin, |_| None)
    }

    #[test]
    fn a_tree_and_sets_of_bits_say_the_same() {
        for seed in 0..60 {
            let problem = problem(seed, 1 + mix(seed) % 300, 1 + seed % 40);
            let mut levels = problem.align.clone();
            levels.sort_unstable();
            levels.dedup();
            let mut order: Vec<u32> = (0..problem.len() as u32).collect();
            order.sort_by_key(|&item| mix(seed ^ u64::from(item) << 20));
            let (mut cells, mut bits) = (Cells::new(&problem, &levels), Bits::new(&problem, &levels, &order));
            cells.refill(&order);
            for ask in 0..2_000 {
                let draw = |which: u64, below: u64| (mix(seed << 40 ^ ask << 8 ^ which) % below) as u32;
                let start = draw(0, problem.sections() as u64);
                let end = start + 1 + draw(1, problem.sections() as u64 - u64::from(start));
                let place = Place { start, end, levels: draw(2, levels.len() as u64 + 1) as usize };
                let first = bits.first(place);
                assert_eq!(cells.first(place), first);
                if place.levels < levels.len() {
                    assert_eq!(cells.suited(place), bits.suited(place));
                    let left = cells.tree.points.iter().filter(|point| point.rank != NONE);
                    let within = left.filter(|point| point.is_within(place));
                    let level =
                        |point: &Point| levels.binary_search(&problem.align(point.item as usize)).ok();
                    let next = within.filter_map(level).filter(|level| *level >= place.levels).min();
                    assert_eq!(first.and_then(|first| cells.next_level(place, first)), next);
                }
                let odd = |item: u32| item % 2 == 1;
                let fits = (draw(3, 2) == 0).then_some(&odd as &dyn Fn(u32) -> bool);
                if draw(4, 4) == 0 {
                    assert_eq!(cells.take(place, fits), bits.take(place, fits), "{seed} {ask}");
                }
            }
        }
    }
}
