//! Checks that resources that share bytes of a heap are used one after the other, with an aliasing barrier
//! in between.

use std::fmt::Display;
use std::sync::Arc;

use tenure_core::device::{State, Subresource};

use crate::execution::Execution;
use crate::hazard::{Checks, HazardKind};
use crate::journal::Step;
use crate::layout::Span;
use crate::memory::{Memory, Written};
use crate::resource::ResourceState;
use crate::states::Shown;

impl Execution<'_> {
    /// Checks that no other live resource has used the bytes since.
    pub(crate) fn check_aliasing(&self, resource: &Arc<ResourceState>) {
        let (Memory::Placed { heap, tenant, offset, size }, true) =
            (&resource.memory, self.is_on(Checks::ALIASING))
        else {
            return;
        };
        for previous in heap.claim(*offset..offset + size, tenant) {
            let detail = format!("{} used their common bytes of {} last", previous.label, heap.label);
            let objects: [&dyn Display; 2] = [&resource.label, &previous.label];
            self.report(Checks::ALIASING, HazardKind::MissingAliasingBarrier, &objects, detail);
        }
    }

    /// An aliasing barrier, unless it gets lost: `after` has the bytes from here on, with undefined
    /// contents.
    pub(crate) fn activate(
        &self,
        before: Option<&Arc<ResourceState>>,
        after: &Arc<ResourceState>,
        (from, to): (State, State),
    ) {
        if self.shared.faults.loses_aliasing_barrier() || !self.is_alive(after, true) {
            return;
        }
        if let (Memory::Placed { heap, tenant, offset, size }, true) =
            (&after.memory, self.is_on(Checks::ALIASING))
        {
            let previous_owners = heap.claim(*offset..offset + size, tenant);
            for previous in previous_owners {
                let wrong = if before.is_some_and(|named| named.label.id != previous.label.id) {
                    format!("the barrier names another resource, but {} used the bytes last", previous.label)
                } else if let Some(missing) = previous.states.lock().left_open(self.point, from) {
                    let (missing, from) = (Shown(missing), Shown(from));
                    format!(
                        "the barrier comes after {from}, but {} used the bytes as {missing}",
                        previous.label
                    )
                } else {
                    continue;
                };
                let objects: [&dyn Display; 2] = [&after.label, &previous.label];
                self.report(Checks::ALIASING, HazardKind::MissingAliasingBarrier, &objects, wrong);
            }
        }
        self.forget_contents(after);
        after.states.lock().activate(self.point, to);
        after.unordered.lock().settle();
    }

    /// `discard`: the contents become undefined. A write without data.
    pub(crate) fn discard(&mut self, resource: &Arc<ResourceState>, which: Subresource, state: State) {
        let span = Span::Subresource(which);
        self.initialize(resource, &span);
        let is_alive = self.uses_one(resource, span, state);
        let (discarded, subresources) = (resource.label.id, resource.layout.subresources(&span));
        self.shared.journal.note(|| Step::Discard { resource: discarded, subresources });
        if self.shared.promotes() {
            // "Synchronous Copy, Discard and Resolve" of the specification of enhanced barriers.
            self.settle_unordered(resource, &resource.layout.ranges(&span), (state, state), true);
        }
        if is_alive && self.is_on(Checks::INITIALIZED) {
            for range in resource.layout.ranges(&span) {
                resource.written.remove(range);
            }
        }
    }

    fn forget_contents(&self, resource: &ResourceState) {
        if self.is_on(Checks::INITIALIZED) {
            resource.written.clear();
            resource.initialized.iter().for_each(Written::clear);
        }
    }
}
