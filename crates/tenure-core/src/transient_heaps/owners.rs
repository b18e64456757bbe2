//! The last owner of each byte of a heap.

use std::ops::Range;

use smallvec::SmallVec;

use crate::time::SyncPoint;

/// The resource that used some bytes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// An object of the heap's cache, by its key.
    Cached(usize),
    /// An object that is destroyed, or will be once this sync point is complete.
    Past(SyncPoint),
}

/// Bytes with one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    start: u64,
    end: u64,
    owner: Owner,
}

/// The last owner of each byte of a heap. Bytes that were never used have none.
///
/// Segments are in order of address and do not overlap. Taking a range is O(log n + the segments that it
/// touches or moves); there are at most about twice as many segments as cached objects.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    segments: Vec<Segment>,
}

impl Owners {
    /// Assigns `range` to the cached object `key`; returns the other previous owners of bytes in it. `before`
    /// receives the segments that [`undo_take`](Self::undo_take) restores.
    pub(crate) fn take(
        &mut self,
        range: Range<u64>,
        key: usize,
        before: &mut Vec<Segment>,
    ) -> SmallVec<[Owner; 4]> {
        let first = self.segments.partition_point(|segment| segment.end <= range.start);
        let behind = self.segments.partition_point(|segment| segment.start < range.end);
        let mut previous_owners = SmallVec::new();
        let touched = self.segments.get(first..behind).unwrap_or_default();
        before.clear();
        before.extend(touched.iter().map(|segment| Segment {
            start: segment.start.max(range.start),
            end: segment.end.min(range.end),
            owner: segment.owner,
        }));
        if let [only] = touched
            && only.owner == Owner::Cached(key)
            && only.start <= range.start
            && only.end >= range.end
        {
            return previous_owners;
        }
        let mut parts: SmallVec<[Segment; 3]> = SmallVec::new();
        for segment in touched {
            if segment.owner != Owner::Cached(key) && !previous_owners.contains(&segment.owner) {
                previous_owners.push(segment.owner);
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
        previous_owners
    }

    /// Undoes a [`take`](Self::take) of `range` whose object never used it. Since then none of it may have been
    /// taken, and no object in `before` destroyed.
    pub(crate) fn undo_take(&mut self, range: Range<u64>, before: &[Segment]) {
        let first = self.segments.partition_point(|segment| segment.end <= range.start);
        let behind = self.segments.partition_point(|segment| segment.start < range.end);
        // A segment that the object owned before may extend beyond either end.
        let touched = self.segments.get(first..behind).unwrap_or_default();
        let left = touched.first().filter(|segment| segment.start < range.start);
        let right = touched.last().filter(|segment| segment.end > range.end);
        let left = left.map(|segment| Segment { end: range.start, ..*segment });
        let right = right.map(|segment| Segment { start: range.end, ..*segment });
        let parts: SmallVec<[Segment; 4]> =
            left.into_iter().chain(before.iter().copied()).chain(right).collect();
        self.segments.splice(first..behind, parts);
    }

    /// Notes the destruction of the object `key`, whose last use ends at `point`.
    pub(crate) fn note_destroyed(&mut self, key: usize, point: SyncPoint) {
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

    use super::{Owner, Owners, Segment};
    use crate::device::QueueId;
    use crate::time::SyncPoint;

    #[test]
    fn the_sole_owner_of_a_range_has_no_previous_owners() {
        let mut owners = Owners::default();
        let take = |owners: &mut Owners, range, key| owners.take(range, key, &mut Vec::new());
        assert!(take(&mut owners, 0..10, 1).is_empty());
        assert!(take(&mut owners, 0..10, 1).is_empty());
        assert_eq!(take(&mut owners, 5..15, 2).as_slice(), [Owner::Cached(1)]);
        assert_eq!(take(&mut owners, 0..10, 1).as_slice(), [Owner::Cached(2)]);
        owners.note_destroyed(2, SyncPoint::at(QueueId(0), 3));
        assert_eq!(
            take(&mut owners, 8..12, 3).as_slice(),
            [Owner::Cached(1), Owner::Past(SyncPoint::at(QueueId(0), 3))]
        );
    }

    /// An operation on a range.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Take,
        /// A take that is undone after other objects have taken the bytes behind it.
        TakeUnused,
        Retire,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![6 => Just(Step::Take), 3 => Just(Step::TakeUnused), 1 => Just(Step::Retire)]
    }

    /// The owners, and a reference model with one owner for each byte.
    struct Model {
        owners: Owners,
        bytes: [Option<Owner>; 64],
    }

    impl Model {
        fn take(&mut self, range: std::ops::Range<u64>, key: usize) -> Result<Vec<Segment>, TestCaseError> {
            let bytes = &mut self.bytes[range.start as usize..range.end as usize];
            let others = bytes.iter().flatten().filter(|owner| **owner != Owner::Cached(key));
            let had: BTreeSet<String> = others.map(|owner| format!("{owner:?}")).collect();
            let mut before = Vec::new();
            let previous_owners = self.owners.take(range, key, &mut before);
            let found: BTreeSet<String> = previous_owners.iter().map(|owner| format!("{owner:?}")).collect();
            prop_assert_eq!(found.len(), previous_owners.len());
            prop_assert_eq!(found, had);
            bytes.fill(Some(Owner::Cached(key)));
            Ok(before)
        }

        fn check(&self) -> Result<(), TestCaseError> {
            let segments = &self.owners.segments;
            prop_assert!(segments.is_sorted_by(|one, next| one.end <= next.start));
            prop_assert!(segments.iter().all(|segment| segment.start < segment.end));
            let mut bytes = [None; 64];
            for segment in segments {
                bytes[segment.start as usize..segment.end as usize].fill(Some(segment.owner));
            }
            prop_assert_eq!(bytes, self.bytes);
            Ok(())
        }
    }

    proptest! {
        /// Compares with a reference model of one owner for each byte.
        #[test]
        fn every_byte_remembers_its_last_owner(
            steps in prop::collection::vec((0_u64..40, 1_u64..12, 0_usize..8, step()), 1..60),
        ) {
            let mut model = Model { owners: Owners::default(), bytes: [None; 64] };
            for (start, size, key, step) in steps {
                let range = start..start + size;
                match step {
                    Step::Take => drop(model.take(range, key)?),
                    Step::TakeUnused => {
                        let had = model.bytes;
                        let before = model.take(range.clone(), key)?;
                        model.take(range.end..range.end + 5, 8)?;
                        model.owners.undo_take(range.clone(), &before);
                        let taken = range.start as usize..range.end as usize;
                        model.bytes[taken.clone()].copy_from_slice(&had[taken]);
                    }
                    Step::Retire => {
                        let point = SyncPoint::at(QueueId(1), 100 + key as u64);
                        model.owners.note_destroyed(key, point);
                        let gone = model.bytes.iter_mut().filter(|byte| **byte == Some(Owner::Cached(key)));
                        gone.for_each(|byte| *byte = Some(Owner::Past(point)));
                    }
                }
                model.check()?;
            }
        }
    }
}
