//! The last accesses of each range of bytes: the memory of the race and mapping checks.
//!
//! As in FastTrack (Flanagan and Freund, 2009): for each byte the last write and, for each queue,
//! the last read since. Bytes of equal history are one segment.

use std::collections::BTreeMap;
use std::ops::Range;

use smallvec::SmallVec;
use tenure_core::device::{MAX_QUEUES, QueueId};

use crate::clock::Clock;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Accesses {
    /// The queue and the serial of the last write; serial 0 if never written.
    write: (u8, u64),
    reads: [u64; MAX_QUEUES],
}

impl Accesses {
    /// True when everything here is ordered before everything that `floor` is known to.
    fn is_ordered(&self, floor: &Clock) -> bool {
        self.write.1 <= floor.get(QueueId(self.write.0))
            && self.reads.iter().zip(0..).all(|(serial, queue)| *serial <= floor.get(QueueId(queue)))
    }

    fn record(&mut self, access: Access) {
        if access.write {
            // Accesses ordered after this write are also ordered after the reads before it.
            *self = Self { write: (access.queue.0, access.serial), reads: [0; MAX_QUEUES] };
        } else {
            self.reads[access.queue.index()] = access.serial;
        }
    }

    fn conflict(&self, write: bool, ordered: &Clock, except: Option<QueueId>) -> Option<Access> {
        let unordered =
            |queue: u8, serial: u64| Some(QueueId(queue)) != except && serial > ordered.get(QueueId(queue));
        let (queue, serial) = self.write;
        if unordered(queue, serial) {
            return Some(Access { queue: QueueId(queue), serial, write: true });
        }
        let mut reads = self.reads.iter().zip(0_u8..);
        let (serial, queue) = reads.find(|(serial, queue)| write && unordered(*queue, **serial))?;
        Some(Access { queue: QueueId(queue), serial: *serial, write: false })
    }
}

/// One access by one submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) queue: QueueId,
    pub(crate) serial: u64,
    pub(crate) write: bool,
}

#[derive(Clone, Copy)]
struct Segment {
    end: u64,
    accesses: Accesses,
}

/// The history of a range of memory.
#[derive(Default)]
pub(crate) struct History {
    segments: BTreeMap<u64, Segment>,
    swept: usize,
}

impl History {
    /// The first earlier access to bytes of `range` that conflicts: at least one of both is a write, and it is
    /// neither in `ordered` nor on the queue `except`. O(log n + segments in the range).
    pub(crate) fn conflict(
        &self,
        range: Range<u64>,
        write: bool,
        ordered: &Clock,
        except: Option<QueueId>,
    ) -> Option<(Range<u64>, Access)> {
        let before = self.segments.range(..range.start).next_back();
        before.into_iter().chain(self.segments.range(range.clone())).find_map(|(&start, segment)| {
            let common = start.max(range.start)..segment.end.min(range.end);
            if common.is_empty() {
                return None;
            }
            segment.accesses.conflict(write, ordered, except).map(|access| (common, access))
        })
    }

    /// Adds an access. Accesses ordered before `floor` are removed now and then, so that the history stays
    /// proportional to the work in flight.
    pub(crate) fn record(&mut self, range: Range<u64>, access: Access, floor: &Clock) {
        if range.is_empty() {
            return;
        }
        self.split(range.start);
        self.split(range.end);
        let mut gaps = SmallVec::<[Range<u64>; 4]>::new();
        let mut at = range.start;
        for (&start, segment) in self.segments.range_mut(range.clone()) {
            if start > at {
                gaps.push(at..start);
            }
            segment.accesses.record(access);
            at = segment.end;
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        let mut fresh = Accesses::default();
        fresh.record(access);
        for gap in gaps {
            self.segments.insert(gap.start, Segment { end: gap.end, accesses: fresh });
        }
        self.merge(range);
        self.sweep(floor);
    }

    fn split(&mut self, at: u64) {
        let Some((_, segment)) = self.segments.range_mut(..at).next_back() else { return };
        if segment.end > at {
            let right = *segment;
            segment.end = at;
            self.segments.insert(at, right);
        }
    }

    fn merge(&mut self, range: Range<u64>) {
        let first = self.segments.range(..range.start).next_back().map_or(range.start, |(&start, _)| start);
        let mut left: Option<(u64, Segment)> = None;
        let mut swallowed = SmallVec::<[(u64, u64, u64); 4]>::new();
        for (&start, &segment) in self.segments.range(first..=range.end) {
            match &mut left {
                Some((head, last)) if last.end == start && last.accesses == segment.accesses => {
                    last.end = segment.end;
                    swallowed.push((*head, start, segment.end));
                }
                _ => left = Some((start, segment)),
            }
        }
        for (head, start, end) in swallowed {
            self.segments.remove(&start);
            if let Some(segment) = self.segments.get_mut(&head) {
                segment.end = end;
            }
        }
    }

    fn sweep(&mut self, floor: &Clock) {
        if self.segments.len() > self.swept.max(32) * 2 {
            self.segments.retain(|_, segment| !segment.accesses.is_ordered(floor));
            self.swept = self.segments.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_neighbours_are_one_segment_and_the_old_is_forgotten() {
        let mut history = History::default();
        let access = |serial| Access { queue: QueueId(0), serial, write: true };
        (0..1000).for_each(|at| history.record(at * 8..at * 8 + 8, access(1), &Clock::default()));
        assert_eq!(history.segments.len(), 1);
        let mut floor = Clock::default();
        for serial in 2..1000 {
            floor.raise(QueueId(0), serial - 2);
            history.record(serial * 8..serial * 8 + 4, access(serial), &floor);
        }
        assert!(history.segments.len() < 70, "{}", history.segments.len());
    }

    proptest! {
        #[test]
        fn same_as_a_history_of_each_byte(
            ops in prop::collection::vec((0_u64..100, 0_u64..40, 0_u8..3, any::<bool>()), 1..120),
            probe in 0_u64..100, length in 0_u64..60, write: bool, seen in prop::array::uniform3(0_u64..130),
        ) {
            let mut history = History::default();
            let mut oracle = vec![Accesses::default(); 200];
            for (serial, (start, length, queue, write)) in (1..).zip(ops) {
                let access = Access { queue: QueueId(queue), serial, write };
                history.record(start..start + length, access, &Clock::default());
                oracle[start as usize..(start + length) as usize].iter_mut().for_each(|byte| byte.record(access));
            }
            let mut ordered = Clock::default();
            for (queue, serial) in seen.into_iter().enumerate() {
                ordered.raise(QueueId(queue as u8), serial);
            }
            let found = history.conflict(probe..probe + length, write, &ordered, Some(QueueId(1)));
            let expected = (probe..probe + length)
                .find_map(|at| Some((at, oracle[at as usize].conflict(write, &ordered, Some(QueueId(1)))?)));
            prop_assert_eq!(found.map(|(range, access)| (range.start, access)), expected);
        }
    }
}
