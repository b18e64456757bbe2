//! Search for a range that contains other bytes.

use std::collections::BTreeMap;

/// Ranges with ids, by magnitude and start. A search looks at two ranges per magnitude if those of one magnitude
/// do not overlap, so it takes O(log n) per magnitude.
#[derive(Default)]
pub(super) struct Ranges(BTreeMap<(u32, u64, u64), u64>);

impl Ranges {
    /// `start` must be less than `end`, here and below.
    pub(super) fn insert(&mut self, id: u64, start: u64, end: u64) {
        self.0.insert((magnitude(start, end), start, id), end);
    }

    pub(super) fn remove(&mut self, id: u64, start: u64, end: u64) {
        self.0.remove(&(magnitude(start, end), start, id));
    }

    /// A range that contains all of these bytes.
    pub(super) fn around(&self, start: u64, end: u64) -> Option<u64> {
        (magnitude(start, end)..u64::BITS).find_map(|magnitude| {
            // A range that starts earlier also ends too early.
            let longest = u64::MAX >> (u64::BITS - 1 - magnitude);
            let first = (magnitude, start.saturating_sub(longest), 0);
            let nearest = self.0.range(first..=(magnitude, start, u64::MAX)).rev();
            nearest.map(|(key, found)| (key.2, *found)).find(|(_, found)| end <= *found).map(|(id, _)| id)
        })
    }
}

/// The index of the size's highest bit.
const fn magnitude(start: u64, end: u64) -> u32 {
    (end - start).ilog2()
}

#[cfg(test)]
mod tests {
    use super::Ranges;

    #[test]
    fn ranges_are_found_as_by_a_search_of_all() {
        // Small ranges with every kind of overlap, and the largest numbers.
        let starts = (0..12).chain([u64::MAX - 9, 1 << 63]);
        let all: Vec<_> =
            starts.flat_map(|start| [1, 2, 3, 5, 8, 9].map(|size| (start, start + size))).collect();
        let mut ranges = Ranges::default();
        let mut known: Vec<(u64, u64, u64)> = Vec::new();
        for (id, step) in (0_u64..).zip(0..400_usize) {
            if step % 3 == 2 {
                let (id, start, end) = known.remove(step * 7 % known.len());
                ranges.remove(id, start, end);
            } else {
                let (start, end) = all[step * 31 % all.len()];
                known.push((id, start, end));
                ranges.insert(id, start, end);
            }
            for &(start, end) in all.iter().chain(&[(0, u64::MAX), (1, u64::MAX)]) {
                let around: Vec<_> = known.iter().filter(|it| it.1 <= start && end <= it.2).collect();
                let found = ranges.around(start, end);
                assert_eq!(found.is_some(), !around.is_empty(), "{start}..{end}");
                assert!(found.is_none_or(|id| around.iter().any(|it| it.0 == id)), "{start}..{end}");
            }
        }
    }
}
