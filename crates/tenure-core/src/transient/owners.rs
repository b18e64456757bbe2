//! Who had which bytes of a heap last.

use std::ops::Range;

use smallvec::SmallVec;

use crate::time::SyncPoint;

/// Who had some bytes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// An object of the heap's cache, by its key.
    Cached(usize),
    /// One that is destroyed, or will be once this is complete.
    Past(SyncPoint),
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    start: u64,
    end: u64,
    owner: Owner,
}

/// The last owner of each byte of a heap; nobody, where no resource ever was.
///
/// Segments in order of address, none of them overlapping. Taking a range is O(log n) and the
/// segments that it touches or moves; there are at most about twice as many as cached objects.
#[derive(Debug, Default)]
pub(super) struct Owners {
    segments: Vec<Segment>,
}

impl Owners {
    /// Gives `range` to the cached object `key`; returns who else had some of it.
    pub(super) fn take(&mut self, range: Range<u64>, key: usize) -> SmallVec<[Owner; 4]> {
        let first = self.segments.partition_point(|segment| segment.end <= range.start);
        let behind = self.segments.partition_point(|segment| segment.start < range.end);
        let mut losers = SmallVec::new();
        let touched = self.segments.get(first..behind).unwrap_or_default();
        if let [only] = touched
            && only.owner == Owner::Cached(key)
            && only.start <= range.start
            && only.end >= range.end
        {
            return losers;
        }
        let mut parts: SmallVec<[Segment; 3]> = SmallVec::new();
        for segment in touched {
            if segment.owner != Owner::Cached(key) && !losers.contains(&segment.owner) {
                losers.push(segment.owner);
            }
            if segment.start < range.start {
                parts.push(Segment { end: range.start, ..*segment });
            }
        }
        parts.push(Segment { start: range.start, end: range.end, owner: Owner::Cached(key) });
        if let Some(last) = touched.last().filter(|last| last.end > range.end) {
            parts.push(Segment { start: range.end, ..*last });
        }
        self.segments.splice(first..behind, parts);
        losers
    }

    /// The object `key` is gone; `point` is what used it last.
    pub(super) fn retire(&mut self, key: usize, point: SyncPoint) {
        for segment in &mut self.segments {
            if segment.owner == Owner::Cached(key) {
                segment.owner = Owner::Past(point);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::{Owner, Owners};
    use crate::device::QueueId;
    use crate::time::SyncPoint;

    #[test]
    fn the_sole_owner_of_a_range_takes_it_from_nobody() {
        let mut owners = Owners::default();
        assert!(owners.take(0..10, 1).is_empty());
        assert!(owners.take(0..10, 1).is_empty());
        assert_eq!(owners.take(5..15, 2).as_slice(), [Owner::Cached(1)]);
        assert_eq!(owners.take(0..10, 1).as_slice(), [Owner::Cached(2)]);
        owners.retire(2, SyncPoint::at(QueueId(0), 3));
        assert_eq!(
            owners.take(8..12, 3).as_slice(),
            [Owner::Cached(1), Owner::Past(SyncPoint::at(QueueId(0), 3))]
        );
    }

    proptest! {
        /// Against an owner written down for each byte.
        #[test]
        fn every_byte_remembers_its_last_owner(
            takes in prop::collection::vec((0_u64..40, 1_u64..12, 0_usize..8, prop::bool::weighted(0.1)), 1..60),
        ) {
            let mut owners = Owners::default();
            let mut bytes = [None; 64];
            for (start, size, key, retires) in takes {
                if retires {
                    let point = SyncPoint::at(QueueId(1), 100 + key as u64);
                    owners.retire(key, point);
                    bytes.iter_mut().filter(|byte| **byte == Some(Owner::Cached(key))).for_each(|byte| {
                        *byte = Some(Owner::Past(point));
                    });
                    continue;
                }
                let range = start as usize..(start + size) as usize;
                let had: BTreeSet<String> = bytes[range.clone()]
                    .iter()
                    .flatten()
                    .filter(|owner| **owner != Owner::Cached(key))
                    .map(|owner| format!("{owner:?}"))
                    .collect();
                let losers = owners.take(start..start + size, key);
                let found: BTreeSet<String> = losers.iter().map(|owner| format!("{owner:?}")).collect();
                prop_assert_eq!(found.len(), losers.len());
                prop_assert_eq!(found, had);
                bytes[range].fill(Some(Owner::Cached(key)));
                let is_sorted = owners.segments.is_sorted_by(|one, next| one.end <= next.start);
                prop_assert!(is_sorted && owners.segments.iter().all(|segment| segment.start < segment.end));
            }
        }
    }
}
