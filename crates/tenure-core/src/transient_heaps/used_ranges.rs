//! Ranges of a heap in use, and ranges that can be acquired again.
//!
//! Open recordings may still use a released range. Only a recording submitted after all of them can take it: one that acquires
//! after they have ended, or the only one of them that is still open.

use std::ops::Range;

/// The recordings that may use released bytes, while they are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Users {
    /// The recording with this number.
    One(u64),
    /// The recording with this number, and all older ones.
    UpTo(u64),
}

impl Users {
    /// Whether `those` includes all of these.
    const fn are_among(self, those: Self) -> bool {
        match (self, those) {
            (Self::One(one) | Self::UpTo(one), Self::UpTo(newest)) => one <= newest,
            (Self::One(one), Self::One(other)) => one == other,
            (Self::UpTo(_), Self::One(_)) => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dropped {
    start: u64,
    end: u64,
    users: Users,
}

/// The ranges of a heap in use.
///
/// First fit, as in the transient allocators of engines without a graph: O(ranges) for each search, and a frame has some
/// dozens.
#[derive(Debug, Default)]
pub(crate) struct UsedRanges {
    /// The ranges in use, in the order of their addresses. They do not overlap one another.
    live: Vec<Range<u64>>,
    /// The dropped ranges, in the order of their addresses. They may overlap one another, and live ranges acquired since.
    dropped: Vec<Dropped>,
    /// The number of dropped ranges at which ranges without effect are removed next.
    next_sweep: usize,
}

/// Minimum number of dropped ranges for a sweep.
const MIN_SWEEP: usize = 32;

impl UsedRanges {
    /// The lowest offset at which `size` bytes are free. `blocks` reports whether any of the users is open, other than the
    /// requesting recording.
    pub(crate) fn first_fit(
        &self,
        size: u64,
        alignment: u64,
        capacity: u64,
        blocks: impl Fn(Users) -> bool,
    ) -> Option<u64> {
        let mut live = self.live.iter().map(|range| (range.start, range.end)).peekable();
        let blocking = self.dropped.iter().filter(|dropped| blocks(dropped.users));
        let mut dropped = blocking.map(|dropped| (dropped.start, dropped.end)).peekable();
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
                Some((start, used)) if end > start => {
                    offset = offset.max(used.checked_next_multiple_of(alignment)?);
                }
                _ => return (end <= capacity).then_some(offset),
            }
        }
    }

    /// True when no recording but the requesting one can use any byte of the range.
    pub(crate) fn is_free(&self, range: &Range<u64>, blocks: impl Fn(Users) -> bool) -> bool {
        let first = self.live.partition_point(|live| live.end <= range.start);
        let is_live = self.live.get(first).is_some_and(|live| live.start < range.end);
        let overlaps = |dropped: &Dropped| dropped.start < range.end && range.start < dropped.end;
        !is_live && !self.dropped.iter().any(|dropped| overlaps(dropped) && blocks(dropped.users))
    }

    /// Takes a range that is free.
    pub(crate) fn take(&mut self, range: Range<u64>) {
        let at = self.live.partition_point(|live| live.start < range.start);
        self.live.insert(at, range);
    }

    /// Releases a range that `users` may use, `None` for no recording; `is_over` reports whether all of the users have ended.
    /// O(ranges).
    pub(crate) fn drop_range(
        &mut self,
        range: &Range<u64>,
        users: Option<Users>,
        is_over: impl Fn(Users) -> bool,
    ) {
        let Some(at) = self.live.iter().position(|live| live == range) else { return };
        self.live.remove(at);
        let Some(users) = users else { return };
        // Ranges dropped at the same time are joined, and older ones inside the range are replaced, so that a
        // long recording adds few.
        let mut joined = Dropped { start: range.start, end: range.end, users };
        self.dropped.retain(|other| {
            let joins = other.users == users && other.start <= joined.end && joined.start <= other.end;
            if joins {
                joined.start = joined.start.min(other.start);
                joined.end = joined.end.max(other.end);
            }
            let is_inside = joined.start <= other.start && other.end <= joined.end;
            let is_covered = is_inside && other.users.are_among(users);
            !joins && !is_covered
        });
        let at = self.dropped.partition_point(|other| other.start < joined.start);
        self.dropped.insert(at, joined);
        // The end of a frame removes them, too, but not every program has frames.
        if self.dropped.len() >= self.next_sweep.max(MIN_SWEEP) {
            self.forget(is_over);
            self.next_sweep = 2 * self.dropped.len();
        }
    }

    /// Removes the dropped ranges that no open recording can use; `is_over` reports whether all of the users have ended.
    pub(crate) fn forget(&mut self, is_over: impl Fn(Users) -> bool) {
        self.dropped.retain(|dropped| !is_over(dropped.users));
    }

    /// True when no range is in use, or may be used by an open recording.
    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_empty() && self.dropped.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{MIN_SWEEP, UsedRanges, Users};

    /// Recordings up to this one have ended.
    fn before(oldest: u64) -> impl Fn(Users) -> bool + Copy {
        move |users| match users {
            Users::One(number) | Users::UpTo(number) => number < oldest,
        }
    }

    /// Recordings from this one on are open.
    fn from(oldest: u64) -> impl Fn(Users) -> bool + Copy {
        move |users| !before(oldest)(users)
    }

    #[test]
    fn dropped_ranges_are_taken_again_only_by_their_recording() {
        let mut used = UsedRanges::default();
        used.take(0..100);
        used.drop_range(&(0..100), Some(Users::UpTo(7)), before(7));
        // Recording 7 acquires, and no older one is open.
        assert_eq!(used.first_fit(100, 1, 200, from(8)), Some(0));
        // Recording 8 acquires while 7 is open.
        assert_eq!(used.first_fit(100, 1, 200, from(7)), Some(100));
        assert!(!used.is_free(&(99..120), from(7)) && used.is_free(&(99..120), from(8)));
        used.forget(before(8));
        assert!(used.is_empty());
    }

    #[test]
    fn a_range_that_no_recording_uses_is_free_at_once() {
        let mut used = UsedRanges::default();
        used.take(0..100);
        used.drop_range(&(0..100), None, before(0));
        assert!(used.is_empty());
    }

    /// The users of a dropped range inside another one, and whether the outer range covers both.
    #[test]
    fn ranges_replace_inner_ranges_with_a_subset_of_their_users() {
        for (inside, outside, replaces) in [
            (Users::One(3), Users::UpTo(3), true),
            (Users::One(4), Users::UpTo(3), false),
            (Users::UpTo(2), Users::UpTo(3), true),
            (Users::UpTo(2), Users::One(3), false),
            (Users::One(2), Users::One(3), false),
        ] {
            let mut used = UsedRanges::default();
            for (range, users) in [(10..20, inside), (0..100, outside)] {
                used.take(range.clone());
                used.drop_range(&range, Some(users), before(0));
            }
            assert_eq!(used.dropped.len(), if replaces { 1 } else { 2 }, "{inside:?} in {outside:?}");
        }
    }

    #[test]
    fn oversized_ranges_are_refused_without_overflow() {
        let mut used = UsedRanges::default();
        assert_eq!(used.first_fit(101, 1, 100, from(1)), None);
        assert_eq!(used.first_fit(u64::MAX, 1, u64::MAX, from(1)), Some(0));
        used.take(0..u64::MAX);
        assert_eq!(used.first_fit(1, 4096, u64::MAX, from(1)), None);
    }

    /// Without calls of `forget`, as in a program without frames: ranges that no open recording can use do not
    /// accumulate.
    #[test]
    fn ranges_dropped_long_ago_are_forgotten() {
        let mut used = UsedRanges::default();
        for recording in 1..10_000_u64 {
            let range = recording % 100 * 7..recording % 100 * 7 + 9;
            used.take(range.clone());
            used.drop_range(&range, Some(Users::UpTo(recording)), before(recording));
            assert!(used.dropped.len() <= MIN_SWEEP, "{}", used.dropped.len());
        }
    }

    proptest! {
        /// Compares with a search over every offset.
        #[test]
        fn the_lowest_offset_is_found(
            steps in prop::collection::vec((1_u64..20, 0_u32..3, any::<prop::sample::Index>(), 0_u64..5), 1..60),
            oldest_other in 0_u64..6,
        ) {
            let mut used = UsedRanges::default();
            let mut live: Vec<std::ops::Range<u64>> = Vec::new();
            let mut dropped: Vec<(std::ops::Range<u64>, u64)> = Vec::new();
            for (size, alignment, which, newest) in steps {
                let alignment = 1 << alignment;
                let is_free = |range: &std::ops::Range<u64>| {
                    let meets = |other: &std::ops::Range<u64>| other.start < range.end && range.start < other.end;
                    !live.iter().any(meets)
                        && !dropped.iter().any(|(other, newest)| *newest >= oldest_other && meets(other))
                };
                let best = (0..=100 - size)
                    .filter(|offset: &u64| offset.is_multiple_of(alignment))
                    .find(|offset| is_free(&(*offset..offset + size)));
                let found = used.first_fit(size, alignment, 100, from(oldest_other));
                prop_assert_eq!(found, best);
                match found {
                    Some(offset) => {
                        let range = offset..offset + size;
                        prop_assert!(used.is_free(&range, from(oldest_other)));
                        used.take(range.clone());
                        live.push(range);
                    }
                    None if live.is_empty() => {}
                    None => {
                        let range = live.swap_remove(which.index(live.len()));
                        used.drop_range(&range, Some(Users::UpTo(newest)), before(0));
                        dropped.push((range, newest));
                    }
                }
                prop_assert!(live.iter().all(|range| !used.is_free(range, from(oldest_other))));
            }
        }
    }
}
