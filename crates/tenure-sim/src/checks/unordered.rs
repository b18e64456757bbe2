//! Checks that unordered accesses to the same bytes have a barrier between them; on Vulkan copies to the same
//! bytes are such accesses, on Direct3D 12 they are ordered.

use tenure_core::device::State;

use crate::execution::{Execution, Use};
use crate::hazard::{Checks, HazardKind};
use crate::layout::Ranges;
use crate::resource::{Part, ResourceState};
use crate::states::covered;

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
            self.report(
                Checks::STATES,
                HazardKind::MissingBarrier,
                &[&Part { resource: used.resource, range }],
                detail,
            );
        }
    }

    /// The states in which accesses to the same bytes are not ordered by themselves.
    fn unordered_states(&self) -> State {
        let copies =
            if self.shared.promotes() { State::COMMON } else { State::COPY_DST | State::RESOLVE_DST };
        State::UNORDERED | copies
    }

    /// Applies a transition of these bytes: the accesses that it follows, directly or by earlier barriers, are
    /// ordered before accesses in the state after; a transition that `rewrites` the bytes orders all.
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
            let is_end = after.intersects(self.unordered_states());
            unordered.barrier(ranges, (covered(before), after), is_end);
        }
    }
}
