//! The bound bytes of a block while ranges are added and removed: a segment tree over the ends of all ranges.

use std::ops::Range;

/// The bytes of a block, some of them bound, possibly several times.
#[derive(Debug)]
pub(super) struct Coverage {
    /// The ends of all ranges in order, with 0 and the size of the block. A leaf lies between each two neighbours.
    marks: Vec<u64>,
    /// The children of node `n` are `2n` and `2n + 1`; the root is 1.
    nodes: Vec<Node>,
}

/// A part of the block, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Ranges that cover this node but not its parent.
    ranges: u32,
    bound: u64,
    /// Free bytes at its beginning.
    before: u64,
    /// Free bytes at its end.
    after: u64,
    /// Largest free range.
    hole: u64,
}

impl Coverage {
    /// A block of this size without ranges. `marks` are the ends of all future ranges, within the size and in order.
    /// O(marks).
    pub(super) fn new(size: u64, marks: &[u64]) -> Self {
        let mut marks: Vec<_> = [0].into_iter().chain(marks.iter().copied()).chain([size]).collect();
        marks.dedup();
        let leaves = marks.len() - 1;
        let mut coverage = Self { marks, nodes: vec![Node::default(); 2 * leaves.next_power_of_two()] };
        coverage.begin(1, 0..leaves);
        coverage
    }

    fn begin(&mut self, node: usize, leaves: Range<usize>) {
        if leaves.len() > 1 {
            let middle = leaves.start + leaves.len() / 2;
            self.begin(2 * node, leaves.start..middle);
            self.begin(2 * node + 1, middle..leaves.end);
        }
        self.add_up(node, &leaves);
    }

    pub(super) fn bound(&self) -> u64 {
        self.nodes[1].bound
    }

    /// The bytes of the largest free range.
    pub(super) fn hole(&self) -> u64 {
        self.nodes[1].hole
    }

    /// Adds a range, whose ends are among the marks. O(log marks).
    pub(super) fn add(&mut self, range: &Range<u64>) {
        self.change(range, |ranges| ranges + 1);
    }

    /// Removes a range that was added. O(log marks).
    pub(super) fn remove(&mut self, range: &Range<u64>) {
        self.change(range, |ranges| ranges.saturating_sub(1));
    }

    fn change(&mut self, range: &Range<u64>, change: fn(u32) -> u32) {
        let [begin, end] = [range.start, range.end].map(|mark| self.marks.partition_point(|it| *it < mark));
        self.change_in(1, 0..self.marks.len() - 1, &(begin..end), change);
    }

    fn change_in(&mut self, node: usize, leaves: Range<usize>, range: &Range<usize>, change: fn(u32) -> u32) {
        if range.end <= leaves.start || leaves.end <= range.start {
            return;
        }
        if range.start <= leaves.start && leaves.end <= range.end {
            self.nodes[node].ranges = change(self.nodes[node].ranges);
        } else {
            let middle = leaves.start + leaves.len() / 2;
            self.change_in(2 * node, leaves.start..middle, range, change);
            self.change_in(2 * node + 1, middle..leaves.end, range, change);
        }
        self.add_up(node, &leaves);
    }

    /// Computes the figures of a node from its children.
    fn add_up(&mut self, node: usize, leaves: &Range<usize>) {
        let size = self.marks[leaves.end] - self.marks[leaves.start];
        let ranges = self.nodes[node].ranges;
        self.nodes[node] = if ranges > 0 {
            Node { ranges, bound: size, ..Node::default() }
        } else if leaves.len() == 1 {
            Node { ranges, bound: 0, before: size, after: size, hole: size }
        } else {
            let (left, right) = (self.nodes[2 * node], self.nodes[2 * node + 1]);
            let middle = self.marks[leaves.start + leaves.len() / 2];
            let halves = [middle - self.marks[leaves.start], self.marks[leaves.end] - middle];
            Node {
                ranges,
                bound: left.bound + right.bound,
                before: if left.bound == 0 { halves[0] + right.before } else { left.before },
                after: if right.bound == 0 { halves[1] + left.after } else { right.after },
                hole: left.hole.max(right.hole).max(left.after + right.before),
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bound bytes and the largest hole, byte by byte.
    fn naive(size: u64, ranges: &[Range<u64>]) -> (u64, u64) {
        let (mut bound, mut hole, mut largest) = (0, 0, 0);
        for byte in 0..size {
            let is_bound = ranges.iter().any(|range| range.contains(&byte));
            hole = if is_bound { 0 } else { hole + 1 };
            bound += u64::from(is_bound);
            largest = largest.max(hole);
        }
        (bound, largest)
    }

    proptest! {
        #[test]
        fn counts_equal_those_of_a_search_byte_by_byte(
            size in 1..40_u64,
            steps in prop::collection::vec((any::<u64>(), any::<u64>(), any::<prop::sample::Index>()), 1..40),
        ) {
            let range = |a: u64, b: u64| (a % size).min(b % size)..(a % size).max(b % size) + 1;
            let mut marks: Vec<_> =
                steps.iter().map(|(a, b, _)| range(*a, *b)).flat_map(|range| [range.start, range.end]).collect();
            marks.sort_unstable();
            let mut coverage = Coverage::new(size, &marks);
            prop_assert_eq!((coverage.bound(), coverage.hole()), (0, size));
            let mut live = Vec::new();
            for (a, b, which) in steps {
                // Remove ranges in between.
                if live.len() > 3 {
                    coverage.remove(&live.swap_remove(which.index(live.len())));
                }
                live.push(range(a, b));
                coverage.add(&range(a, b));
                prop_assert_eq!((coverage.bound(), coverage.hole()), naive(size, &live));
            }
            live.drain(..).for_each(|range| coverage.remove(&range));
            prop_assert_eq!((coverage.bound(), coverage.hole()), (0, size));
        }
    }
}
