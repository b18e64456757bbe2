//! The set of all ids used so far.

use std::collections::BTreeMap;

/// A set of numbers as a map of runs: first number to last number.
///
/// Recorders number their allocations upwards, so millions of ids are one run, or a few runs if several threads
/// allocate. The memory grows with the number of *gaps* between ids, not with the largest id; in the worst case, ids
/// without order, each takes an entry of 16 bytes. Every operation takes O(log runs).
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenIds {
    runs: BTreeMap<u64, u64>,
}

impl SeenIds {
    pub(crate) fn contains(&self, id: u64) -> bool {
        self.runs.range(..=id).next_back().is_some_and(|(_, &last)| id <= last)
    }

    /// Adds `id`, which must not be in the set.
    pub(crate) fn insert(&mut self, id: u64) {
        let after = id.checked_add(1).and_then(|next| self.runs.remove(&next));
        let last = after.unwrap_or(id);
        match self.runs.range_mut(..id).next_back() {
            Some((_, end)) if end.checked_add(1) == Some(id) => *end = last,
            _ => {
                self.runs.insert(id, last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn consecutive_ids_are_one_run_in_any_order() {
        let mut seen = SeenIds::default();
        for id in [5, 3, 1, 2, 4, 0, u64::MAX, u64::MAX - 1] {
            seen.insert(id);
        }
        assert_eq!(seen.runs.into_iter().collect::<Vec<_>>(), [(0, 5), (u64::MAX - 1, u64::MAX)]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_set(ids in prop::collection::vec(
            prop_oneof![0..64_u64, (u64::MAX - 8)..=u64::MAX, any::<u64>()], 0..200)
        ) {
            let mut seen = SeenIds::default();
            let mut oracle = BTreeSet::new();
            for id in ids {
                prop_assert_eq!(seen.contains(id), oracle.contains(&id));
                if oracle.insert(id) {
                    seen.insert(id);
                }
                for near in [id.saturating_sub(1), id, id.saturating_add(1)] {
                    prop_assert_eq!(seen.contains(near), oracle.contains(&near));
                }
            }
            let gaps = oracle.iter().filter(|id| !id.checked_sub(1).is_some_and(|p| oracle.contains(&p)));
            prop_assert_eq!(seen.runs.len(), gaps.count());
        }
    }
}
