//! Resources that share bytes of a heap take turns, and a barrier says when.

use std::sync::Arc;

use crate::execute::Execution;
use crate::hazard::{Checks, HazardKind};
use crate::resource::{Memory, ResourceState};

impl Execution<'_> {
    /// A use: nobody else alive may have used the bytes since.
    pub(crate) fn check_aliasing(&self, resource: &Arc<ResourceState>) {
        let (Memory::Placed { heap, tenant, offset, size }, true) =
            (&resource.memory, self.is_on(Checks::ALIASING))
        else {
            return;
        };
        for loser in heap.claim(*offset..offset + size, tenant) {
            let detail = format!("{} used their common bytes of {} last", loser.label, heap.label);
            self.report(HazardKind::MissingAliasingBarrier, &[&resource.label, &loser.label], detail);
        }
    }

    /// An aliasing barrier: `after` has the bytes from here on, with undefined contents.
    pub(crate) fn activate(&self, before: Option<&Arc<ResourceState>>, after: &Arc<ResourceState>) {
        if !self.is_alive(after, true) {
            return;
        }
        if let (Memory::Placed { heap, tenant, offset, size }, true) =
            (&after.memory, self.is_on(Checks::ALIASING))
        {
            let losers = heap.claim(*offset..offset + size, tenant);
            for loser in
                losers.iter().filter(|loser| before.is_some_and(|named| named.label.id != loser.label.id))
            {
                let detail =
                    format!("the barrier names another resource, but {} used the bytes last", loser.label);
                self.report(HazardKind::MissingAliasingBarrier, &[&after.label, &loser.label], detail);
            }
        }
        self.forget_contents(after);
        after.states.lock().activate(self.shared.properties.state_model);
        after.unordered.lock().settle();
    }

    /// `discard`: the contents do not matter any more.
    pub(crate) fn discard(&self, resource: &Arc<ResourceState>) {
        if self.is_alive(resource, true) {
            self.check_aliasing(resource);
            self.forget_contents(resource);
        }
    }

    fn forget_contents(&self, resource: &ResourceState) {
        if self.is_on(Checks::INITIALIZED) {
            resource.written.clear();
        }
    }
}
