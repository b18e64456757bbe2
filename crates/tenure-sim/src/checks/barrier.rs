//! Checks of states and the barriers that change them.

use std::sync::Arc;

use tenure_core::device::{State, Subresource};

use crate::execution::{Execution, Use};
use crate::hazard::Checks;
use crate::layout::Span;
use crate::resource::ResourceState;
use crate::states::{Role, Wrong};

impl Execution<'_> {
    pub(crate) fn check_state(&mut self, used: &Use<'_>) {
        let (Some(state), true) = (used.state, self.is_on(Checks::STATES)) else { return };
        self.touch(used.resource);
        let which = used.resource.layout.subresources(&used.span);
        let point = self.point;
        let result = used.resource.states.lock().use_as(point, which, state);
        self.report_wrong(used.resource, result);
    }

    pub(crate) fn check_transition(
        &mut self,
        resource: &Arc<ResourceState>,
        subresource: Subresource,
        states: (State, State),
        half: Option<(Role, u32)>,
    ) {
        // A texture's transition may rewrite it: the bytes of an owner in between would be lost, and for another
        // queue or a peer it is a write.
        if !resource.is_buffer() {
            self.check_held(resource);
            self.check_aliasing(resource);
        }
        let span = Span::Subresource(subresource);
        let which = resource.layout.subresources(&span);
        let ranges = resource.layout.ranges(&span);
        let rewrites = half.is_some() || resource.states.lock().rewrites(which.clone(), states);
        if resource.states.lock().discards(which.clone(), states.0) && self.is_on(Checks::INITIALIZED) {
            ranges.iter().for_each(|range| resource.written.remove(range.clone()));
        }
        if self.is_on(Checks::STATES) {
            self.touch(resource);
            let point = self.point;
            let result = resource.states.lock().transition(point, which, states, half);
            self.report_wrong(resource, result);
            self.settle_unordered(resource, &ranges, states, rewrites);
        }
        if !resource.is_buffer() && rewrites {
            self.check_race(resource, &ranges, true);
        }
    }

    pub(super) fn report_wrong(&self, resource: &ResourceState, result: Result<(), Wrong>) {
        if let Err(wrong) = result {
            self.report(Checks::STATES, wrong.kind(), &[&resource.label], wrong);
        }
    }
}
