//! Unordered accesses to the same bytes need a barrier between them; on Vulkan copies to the same
//! bytes are such accesses, on Direct3D 12 they are in order.

use std::ops::Range;

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
    /// Bytes of such accesses that a barrier came after without leading to a state in which they would be
    /// accessed again.
    led: IntervalSet,
    /// Where barriers have led those.
    reach: State,
    last: Option<(QueueId, u64)>,
}

impl Unordered {
    /// A barrier: everything before is done.
    pub(crate) fn settle(&mut self) {
        self.touched.clear();
        self.states = State::COMMON;
        self.led.clear();
        self.reach = State::COMMON;
        self.last = None;
    }

    /// A barrier on these bytes; `is_end`: what it comes after is in order with all accesses after it.
    fn barrier(&mut self, ranges: &Ranges, (before, after): (State, State), is_end: bool) {
        let (is_after_uses, is_after_led) = (before.intersects(self.states), before.intersects(self.reach));
        for range in ranges {
            if is_after_led && is_end {
                self.led.remove(range.clone());
            }
            if is_after_uses && self.touched.intersects(range.clone()) {
                self.touched.remove(range.clone());
                if !is_end {
                    self.led.insert(range.clone());
                }
            }
        }
        if is_after_uses || is_after_led {
            self.reach |= after;
        }
    }

    fn forget(&mut self, ranges: &Ranges) {
        for range in ranges {
            self.touched.remove(range.clone());
            self.led.remove(range.clone());
        }
    }

    fn intersects(&self, range: &Range<u64>) -> bool {
        self.touched.intersects(range.clone()) || self.led.intersects(range.clone())
    }
}

impl Execution<'_> {
    pub(crate) fn check_unordered(&self, used: &Use<'_>, ranges: &Ranges) {
        let unordered = self.unordered_states();
        if !used.state.is_some_and(|state| state.intersects(unordered)) || !self.is_on(Checks::STATES) {
            return;
        }
        let mut unordered = used.resource.unordered.lock();
        if unordered.last.is_some_and(|last| self.is_settled(last)) {
            unordered.settle();
        }
        unordered.last = Some((self.queue, self.serial));
        unordered.states |= used.state.unwrap_or_default();
        let clash = ranges.iter().find(|range| unordered.intersects(range)).cloned();
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

    /// The states in which accesses to the same bytes have no order of their own.
    fn unordered_states(&self) -> State {
        let copies =
            if self.shared.promotes() { State::COMMON } else { State::COPY_DST | State::RESOLVE_DST };
        State::UNORDERED_ACCESS | copies
    }

    /// A transition of these bytes: the accesses that it comes after, by themselves or by barriers before
    /// it, are in order with those in the state that it leads to; all are with one that `rewrites` the
    /// bytes.
    pub(crate) fn settle_unordered(
        &self,
        resource: &ResourceState,
        ranges: &Ranges,
        (before, after): (State, State),
        rewrites: bool,
    ) {
        let mut unordered = resource.unordered.lock();
        if rewrites {
            unordered.forget(ranges);
        } else {
            unordered.barrier(ranges, (before, after), after.intersects(self.unordered_states()));
        }
    }

    /// Direct3D 12 orders submissions to a queue among themselves; Vulkan only by what the CPU
    /// has seen, or other queues that the queue has waited for. Other queues are the business of the
    /// race check.
    pub(crate) fn is_settled(&self, (queue, serial): (QueueId, u64)) -> bool {
        if queue != self.queue {
            return true;
        }
        let heard_of = self.observed.get(queue).max(self.heard_of);
        serial != self.serial && (self.shared.is_d3d12() || serial <= heard_of)
    }
}
