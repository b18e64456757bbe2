//! Which ranges of a heap are taken, and which may be taken again.
//!
//! A range that was given back may still be used by the recordings that were open then. Whoever
//! comes later in the order of submission may take it: a recording that was opened after all of
//! those ended, or the only one of them that is still open.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dropped {
    start: u64,
    end: u64,
    /// The newest recording that was open.
    newest: u64,
}

/// The ranges of a heap that are in use.
///
/// First fit, as in the transient allocators of engines that know no graph ahead: O(ranges) a look,
/// and a frame has some dozens.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// In order of address; none overlaps another.
    live: Vec<Range<u64>>,
    /// In order of address; may overlap each other, and live ones that took their place.
    dropped: Vec<Dropped>,
    /// At so many dropped ones it is time to see which of them matter.
    crowd: usize,
}

/// Fewer dropped ranges are not worth a look.
const LEAST_CROWD: usize = 32;

impl Taken {
    /// The lowest offset at which `size` bytes are free. `others` is the oldest recording that is open,
    /// apart from the one that asks.
    pub(super) fn first_fit(&self, size: u64, alignment: u64, capacity: u64, others: u64) -> Option<u64> {
        let mut live = self.live.iter().map(|range| (range.start, range.end)).peekable();
        let mut dropped = self.blocking(others).map(|dropped| (dropped.start, dropped.end)).peekable();
        let mut offset = 0_u64;
        loop {
            let next = match (live.peek(), dropped.peek()) {
                (Some(one), Some(other)) if one.0 <= other.0 => live.next(),
                (Some(_), None) => live.next(),
                (_, Some(_)) => dropped.next(),
                (None, None) => None,
            };
            let end = offset.checked_add(size)?;
            match next {
                Some((start, taken)) if end > start => {
                    offset = offset.max(taken.checked_next_multiple_of(alignment)?);
                }
                _ => return (end <= capacity).then_some(offset),
            }
        }
    }

    /// True when nobody but the recording that asks can use any of the range.
    pub(super) fn is_free(&self, range: &Range<u64>, others: u64) -> bool {
        let first = self.live.partition_point(|live| live.end <= range.start);
        let is_live = self.live.get(first).is_some_and(|live| live.start < range.end);
        let overlaps = |dropped: &Dropped| dropped.start < range.end && range.start < dropped.end;
        !is_live && !self.blocking(others).any(overlaps)
    }

    fn blocking(&self, others: u64) -> impl Iterator<Item = &Dropped> {
        self.dropped.iter().filter(move |dropped| dropped.newest >= others)
    }

    /// Takes a range that is free.
    pub(super) fn take(&mut self, range: Range<u64>) {
        let at = self.live.partition_point(|live| live.start < range.start);
        self.live.insert(at, range);
    }

    /// Gives a range back that `newest`, and every recording before it that is open, may use; `oldest` is
    /// the oldest that is open. O(ranges).
    pub(super) fn drop_range(&mut self, range: &Range<u64>, newest: u64, oldest: u64) {
        let Some(at) = self.live.iter().position(|live| live == range) else { return };
        self.live.remove(at);
        // Joined to what was given back at the same time, and in place of what is in it and was given back before,
        // so that a long recording adds few.
        let mut joined = Dropped { start: range.start, end: range.end, newest };
        self.dropped.retain(|other| {
            let joins = other.newest == newest && other.start <= joined.end && joined.start <= other.end;
            if joins {
                joined.start = joined.start.min(other.start);
                joined.end = joined.end.max(other.end);
            }
            let is_covered = other.newest <= newest && joined.start <= other.start && other.end <= joined.end;
            !joins && !is_covered
        });
        let at = self.dropped.partition_point(|other| other.start < joined.start);
        self.dropped.insert(at, joined);
        // The end of a frame forgets, too; but not every program has frames.
        if self.dropped.len() >= self.crowd.max(LEAST_CROWD) {
            self.forget(oldest);
            self.crowd = 2 * self.dropped.len();
        }
    }

    /// Forgets what no open recording can use; `oldest` is the oldest that is open.
    pub(super) fn forget(&mut self, oldest: u64) {
        self.dropped.retain(|dropped| dropped.newest >= oldest);
    }

    /// True when nothing is taken, nor may be in use by a recording that is open.
    pub(super) fn is_empty(&self) -> bool {
        self.live.is_empty() && self.dropped.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LEAST_CROWD, Taken};

    #[test]
    fn only_the_recording_that_may_use_a_dropped_range_takes_it_again() {
        let mut taken = Taken::default();
        taken.take(0..100);
        taken.drop_range(&(0..100), 7, 7);
        // Recording 7 asks, and nothing older is open.
        assert_eq!(taken.first_fit(100, 1, 200, 8), Some(0));
        // Recording 8 asks while 7 is open.
        assert_eq!(taken.first_fit(100, 1, 200, 7), Some(100));
        assert!(!taken.is_free(&(99..120), 7) && taken.is_free(&(99..120), 8));
        taken.forget(8);
        assert!(taken.is_empty());
    }

    #[test]
    fn what_does_not_fit_is_refused_without_overflow() {
        let mut taken = Taken::default();
        assert_eq!(taken.first_fit(101, 1, 100, 1), None);
        assert_eq!(taken.first_fit(u64::MAX, 1, u64::MAX, 1), Some(0));
        taken.take(0..u64::MAX);
        assert_eq!(taken.first_fit(1, 4096, u64::MAX, 1), None);
    }

    /// Without anybody who forgets for it, as where there are no frames: what no open recording can use does not
    /// pile up.
    #[test]
    fn what_was_dropped_long_ago_is_forgotten() {
        let mut taken = Taken::default();
        for recording in 1..10_000_u64 {
            let range = recording % 100 * 7..recording % 100 * 7 + 9;
            taken.take(range.clone());
            taken.drop_range(&range, recording, recording);
            assert!(taken.dropped.len() <= LEAST_CROWD, "{}", taken.dropped.len());
        }
    }

    proptest! {
        /// Against every offset, tried in turn.
        #[test]
        fn the_lowest_offset_is_found(
            steps in prop::collection::vec((1_u64..20, 0_u32..3, any::<prop::sample::Index>(), 0_u64..5), 1..60),
            others in 0_u64..6,
        ) {
            let mut taken = Taken::default();
            let mut live: Vec<std::ops::Range<u64>> = Vec::new();
            let mut dropped: Vec<(std::ops::Range<u64>, u64)> = Vec::new();
            for (size, alignment, which, newest) in steps {
                let alignment = 1 << alignment;
                let is_free = |range: &std::ops::Range<u64>| {
                    let meets = |other: &std::ops::Range<u64>| other.start < range.end && range.start < other.end;
                    !live.iter().any(meets)
                        && !dropped.iter().any(|(other, newest)| *newest >= others && meets(other))
                };
                let best = (0..=100 - size)
                    .filter(|offset: &u64| offset.is_multiple_of(alignment))
                    .find(|offset| is_free(&(*offset..offset + size)));
                let found = taken.first_fit(size, alignment, 100, others);
                prop_assert_eq!(found, best);
                match found {
                    Some(offset) => {
                        let range = offset..offset + size;
                        prop_assert!(taken.is_free(&range, others));
                        taken.take(range.clone());
                        live.push(range);
                    }
                    None if live.is_empty() => {}
                    None => {
                        let range = live.swap_remove(which.index(live.len()));
                        taken.drop_range(&range, newest, 0);
                        dropped.push((range, newest));
                    }
                }
                prop_assert!(live.iter().all(|range| !taken.is_free(range, others)));
            }
        }
    }
}
