//! Unordered accesses to the same bytes need a barrier between them; on Vulkan copies to the same
//! bytes are such accesses, on Direct3D 12 they are in order.

use tenure_core::device::{QueueId, State};

use crate::execute::{Execution, Use};
use crate::hazard::{Checks, HazardKind};
use crate::interval::IntervalSet;
use crate::layout::Ranges;

/// Bytes touched by unordered accesses since the last barrier.
#[derive(Default)]
pub(crate) struct Unordered {
    touched: IntervalSet,
    last: Option<(QueueId, u64)>,
}

impl Unordered {
    /// A barrier: everything before is done.
    pub(crate) fn settle(&mut self) {
        self.touched.clear();
        self.last = None;
    }
}

impl Execution<'_> {
    pub(crate) fn check_unordered(&self, used: &Use<'_>, ranges: &Ranges) {
        let copies =
            if self.shared.promotes() { State::COMMON } else { State::COPY_DST | State::RESOLVE_DST };
        let unordered = State::UNORDERED_ACCESS | copies;
        if !used.state.is_some_and(|state| state.intersects(unordered)) || !self.is_on(Checks::STATES) {
            return;
        }
        let mut unordered = used.resource.unordered.lock();
        if unordered.last.is_some_and(|last| self.is_settled(last)) {
            unordered.settle();
        }
        unordered.last = Some((self.queue, self.serial));
        let clash = ranges.iter().find(|range| unordered.touched.intersects((*range).clone())).cloned();
        for range in ranges {
            unordered.touched.insert(range.clone());
        }
        drop(unordered);
        if let Some(range) = clash {
            let detail =
                format!("bytes {}..{} were accessed before without a barrier since", range.start, range.end);
            self.report(HazardKind::MissingBarrier, &[&used.resource.label], detail);
        }
    }

    /// Direct3D 12 orders submissions to a queue among themselves; Vulkan only by what the CPU
    /// has seen. Other queues are the business of the race check.
    fn is_settled(&self, (queue, serial): (QueueId, u64)) -> bool {
        if queue != self.queue {
            return true;
        }
        serial != self.serial && (self.shared.promotes() || serial <= self.observed.get(queue))
    }
}
