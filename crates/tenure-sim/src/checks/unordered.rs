//! Unordered accesses to the same bytes need a barrier between them; on Vulkan copies to the same
//! bytes are such accesses, on Direct3D 12 they are in order.

use tenure_core::device::{QueueId, State};

use crate::execute::{Execution, Use};
use crate::hazard::{Checks, HazardKind};
use crate::interval::IntervalSet;
use crate::layout::Ranges;
use crate::owners::Part;
use crate::resource::ResourceState;

/// Bytes touched by unordered accesses since the last barrier.
#[derive(Default)]
pub(crate) struct Unordered {
    touched: IntervalSet,
    /// The states of those accesses.
    states: State,
    last: Option<(QueueId, u64)>,
}

impl Unordered {
    /// A barrier: everything before is done.
    pub(crate) fn settle(&mut self) {
        self.touched.clear();
        self.states = State::COMMON;
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
        unordered.states |= used.state.unwrap_or_default();
        let clash = ranges.iter().find(|range| unordered.touched.intersects((*range).clone())).cloned();
        for range in ranges {
            unordered.touched.insert(range.clone());
        }
        drop(unordered);
        if let Some(range) = clash {
            let detail =
                format!("bytes {}..{} were accessed before without a barrier since", range.start, range.end);
            self.report(HazardKind::MissingBarrier, &[&Part { resource: used.resource, range }], detail);
        }
    }

    /// A transition from `before` of these bytes: accesses in that state come before it, and all do
    /// before one that `rewrites` the bytes.
    pub(crate) fn settle_unordered(
        &self,
        resource: &ResourceState,
        ranges: &Ranges,
        before: State,
        rewrites: bool,
    ) {
        let mut unordered = resource.unordered.lock();
        if rewrites || before.intersects(unordered.states) {
            ranges.iter().for_each(|range| unordered.touched.remove(range.clone()));
        }
    }

    /// Direct3D 12 orders submissions to a queue among themselves; Vulkan only by what the CPU
    /// has seen, or other queues that the queue has waited for. Other queues are the business of the
    /// race check.
    fn is_settled(&self, (queue, serial): (QueueId, u64)) -> bool {
        if queue != self.queue {
            return true;
        }
        let heard_of = self.observed.get(queue).max(self.heard_of);
        serial != self.serial && (self.shared.is_d3d12() || serial <= heard_of)
    }
}
