//! Bytes written by the GPU and not yet visible to the CPU (Vulkan).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;
use tenure_core::device::{MAX_QUEUES, QueueId, State};

use crate::interval::IntervalSet;
use crate::layout::Ranges;
use crate::states::covered;

/// The last time at which each queue made its writes in each state visible. Times are logical: each write and
/// each barrier is one later than the one executed before it.
#[derive(Default)]
pub(crate) struct HostBarriers {
    now: AtomicU64,
    last: [[AtomicU64; 32]; MAX_QUEUES],
}

impl HostBarriers {
    fn tick(&self) -> u64 {
        self.now.fetch_add(1, Ordering::AcqRel) + 1
    }

    /// A barrier on a queue.
    pub(crate) fn note(&self, queue: QueueId, written: State) {
        let now = self.tick();
        for state in covered(written).iter() {
            self.at(queue, state).store(now, Ordering::Release);
        }
    }

    /// The last barrier on a queue for writes in a state; 0: none.
    fn at(&self, queue: QueueId, state: State) -> &AtomicU64 {
        &self.last[queue.index()][state.bits().trailing_zeros() as usize % 32]
    }
}

/// Bytes that one queue wrote in one state since its last barrier for it.
struct Writes {
    queue: QueueId,
    state: State,
    newest: u64,
    ranges: IntervalSet,
}

impl Writes {
    fn are_shown(&self, barriers: &HostBarriers) -> bool {
        barriers.at(self.queue, self.state).load(Ordering::Acquire) > self.newest
    }
}

/// The bytes of a resource that the GPU wrote last. The bytes of one entry are either all visible to the CPU, or
/// all invisible.
#[derive(Default)]
pub(crate) struct Hidden(SmallVec<[Writes; 1]>);

impl Hidden {
    pub(crate) fn write(
        &mut self,
        barriers: &HostBarriers,
        (queue, state): (QueueId, State),
        ranges: &Ranges,
    ) {
        self.0.retain(|writes| !writes.are_shown(barriers));
        ranges.iter().for_each(|range| self.forget(range.clone()));
        let newest = barriers.tick();
        let found = self.0.iter().position(|writes| (writes.queue, writes.state) == (queue, state));
        let index = found.unwrap_or_else(|| {
            self.0.push(Writes { queue, state, newest, ranges: IntervalSet::default() });
            self.0.len() - 1
        });
        let writes = &mut self.0[index];
        writes.newest = newest;
        ranges.iter().for_each(|range| writes.ranges.insert(range.clone()));
    }

    /// Notes that another write has replaced these bytes, or they were made visible.
    pub(crate) fn forget(&mut self, range: Range<u64>) {
        self.0.iter_mut().for_each(|writes| writes.ranges.remove(range.clone()));
    }

    /// The first bytes of a range that are not visible to the CPU, and how they were written.
    pub(crate) fn first(
        &self,
        barriers: &HostBarriers,
        range: &Range<u64>,
    ) -> Option<(Range<u64>, QueueId, State)> {
        let hidden = self.0.iter().filter(|writes| !writes.are_shown(barriers));
        let mut parts = hidden.filter_map(|writes| {
            let part = writes.ranges.within(range.clone()).next()?;
            Some((part, writes.queue, writes.state))
        });
        parts.next()
    }
}
