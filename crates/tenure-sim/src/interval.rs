//! A set of byte ranges.

use std::collections::BTreeMap;
use std::ops::Range;

/// Disjoint, non-adjacent ranges, by their starts. Every operation is O(log n) plus the ranges it
/// swallows.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntervalSet(BTreeMap<u64, u64>);

impl IntervalSet {
    pub(crate) fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        let Range { mut start, mut end } = range;
        if let Some((&left, &left_end)) = self.0.range(..=start).next_back()
            && left_end >= start
        {
            if left_end >= end {
                return;
            }
            start = left;
        }
        while let Some((&next, &next_end)) = self.0.range(start..=end).next() {
            end = end.max(next_end);
            self.0.remove(&next);
        }
        self.0.insert(start, end);
    }

    pub(crate) fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        if let Some((&left, &left_end)) = self.0.range(..range.start).next_back()
            && left_end > range.start
        {
            self.0.insert(left, range.start);
            if left_end > range.end {
                self.0.insert(range.end, left_end);
                return;
            }
        }
        while let Some((&next, &next_end)) = self.0.range(range.clone()).next() {
            self.0.remove(&next);
            if next_end > range.end {
                self.0.insert(range.end, next_end);
            }
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The first part of `range` that is not in the set; `None` if the set contains all of it.
    pub(crate) fn first_gap(&self, range: Range<u64>) -> Option<Range<u64>> {
        if range.is_empty() {
            return None;
        }
        let covered_to =
            self.0.range(..=range.start).next_back().map_or(range.start, |(_, &end)| end.max(range.start));
        if covered_to >= range.end {
            return None;
        }
        let next = self.0.range(covered_to..range.end).next().map_or(range.end, |(&start, _)| start);
        Some(covered_to..next)
    }

    /// The ranges, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        self.0.iter().map(|(&start, &end)| start..end)
    }

    /// The number of bytes in the set.
    pub(crate) fn bytes(&self) -> u64 {
        self.iter().map(|range| range.end - range.start).sum()
    }

    pub(crate) fn intersects(&self, range: Range<u64>) -> bool {
        !range.is_empty() && self.0.range(..range.end).next_back().is_some_and(|(_, &end)| end > range.start)
    }

    /// The parts of the set inside `range`.
    pub(crate) fn within(&self, range: Range<u64>) -> impl Iterator<Item = Range<u64>> + '_ {
        let before = self.0.range(..range.start).next_back();
        before
            .into_iter()
            .chain(self.0.range(range.clone()))
            .map(move |(&start, &end)| start.max(range.start)..end.min(range.end))
            .filter(|part| !part.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn same_as_a_bit_set(ops in prop::collection::vec((any::<bool>(), 0_u64..200, 0_u64..60), 1..80), probe in 0_u64..200, length in 0_u64..80) {
            let mut set = IntervalSet::default();
            let mut oracle = [false; 300];
            for (insert, start, length) in ops {
                if insert { set.insert(start..start + length) } else { set.remove(start..start + length) }
                oracle[start as usize..(start + length) as usize].fill(insert);
            }
            let wanted = probe..probe + length;
            let gap = wanted.clone().find(|&at| !oracle[at as usize]);
            prop_assert_eq!(set.first_gap(wanted.clone()).map(|gap| gap.start), gap);
            if let Some(gap) = set.first_gap(wanted.clone()) {
                prop_assert!(gap.clone().all(|at| !oracle[at as usize]));
                prop_assert!(gap.end == wanted.end || oracle[gap.end as usize]);
            }
            prop_assert_eq!(set.intersects(wanted.clone()), wanted.clone().any(|at| oracle[at as usize]));
            let inside: Vec<u64> = set.within(wanted.clone()).flatten().collect();
            let expected: Vec<u64> = wanted.filter(|&at| oracle[at as usize]).collect();
            prop_assert_eq!(inside, expected);
            prop_assert_eq!(set.bytes(), oracle.iter().filter(|is_in| **is_in).count() as u64);
        }
    }
}
