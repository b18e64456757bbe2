//! The descriptors that submissions in flight read.

use std::collections::BTreeMap;
use std::ops::Range;

use tenure_core::device::QueueId;

use crate::clock::Clock;

/// The newest reads of each descriptor, kept until the CPU has seen them complete.
#[derive(Default)]
pub(crate) struct Reads {
    latest: BTreeMap<u32, Clock>,
    sweep_at: usize,
}

impl Reads {
    pub(crate) fn note(&mut self, index: u32, queue: QueueId, serial: u64, observed: &Clock) {
        const FEW: usize = 64;
        self.latest.entry(index).or_default().raise(queue, serial);
        if self.latest.len() > self.sweep_at.max(FEW) {
            self.latest.retain(|_, reads| reads.first_after(observed).is_some());
            self.sweep_at = self.latest.len() * 2;
        }
    }

    /// The first of these descriptors that is read by a submission not in `observed`, and that
    /// submission. O(log n + descriptors of the range that were read lately).
    pub(crate) fn first_after(&self, range: Range<u32>, observed: &Clock) -> Option<(u32, QueueId, u64)> {
        self.latest.range(range).find_map(|(index, reads)| {
            reads.first_after(observed).map(|(queue, serial)| (*index, queue, serial))
        })
    }
}
