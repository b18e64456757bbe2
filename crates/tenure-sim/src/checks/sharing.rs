//! Checks that a shared resource is used by the device that owns it, and is transferred by a barrier
//! on each side.

use std::sync::Arc;

use tenure_core::device::{State, Subresource};

use crate::execution::Execution;
use crate::hazard::{Checks, HazardKind};
use crate::layout::Span;
use crate::memory::Handover;
use crate::resource::ResourceState;
use crate::states::Role;

impl Execution<'_> {
    /// Checks that the device owns the shared resource that it uses.
    pub(super) fn check_held(&self, resource: &ResourceState) {
        if let Some(sharing) = &resource.sharing {
            self.report_handover(resource, sharing.check_use(resource.device));
        }
    }

    /// Transfers the resource to a peer, or from one, in `state`.
    pub(crate) fn change_hands(&mut self, resource: &Arc<ResourceState>, state: State, role: Role) {
        let Some(sharing) = &resource.sharing else { return };
        match role {
            Role::Release => {
                if self.is_on(Checks::STATES) {
                    self.check_released(resource, state);
                }
                // A peer may write it: earlier reads of this device must be complete.
                self.check_race(
                    resource,
                    &resource.layout.ranges(&Span::Subresource(Subresource::All)),
                    true,
                );
                self.report_handover(resource, sharing.release(resource.device, state));
            }
            Role::Acquire => {
                self.report_handover(resource, sharing.acquire(resource.device, state));
                self.touch(resource);
                let point = self.point;
                resource.states.lock().acquire_from_peer(point, state);
                resource.unordered.lock().settle();
                let all = resource.layout.ranges(&Span::Subresource(Subresource::All));
                self.check_race(resource, &all, true);
            }
        }
    }

    /// Checks that it is in the state of its release, ordered after all earlier accesses.
    fn check_released(&mut self, resource: &Arc<ResourceState>, state: State) {
        self.touch(resource);
        let which = resource.layout.subresources(&Span::Subresource(Subresource::All));
        let point = self.point;
        let released = resource.states.lock().release_to_peer(point, which, state);
        self.report_wrong(resource, released);
    }

    fn report_handover(&self, resource: &ResourceState, found: Result<(), Handover>) {
        if let Err(wrong) = found {
            let is_held = wrong == Handover::NotHeld;
            let kind = if is_held { HazardKind::HeldByPeer } else { HazardKind::NotHandedOver };
            self.report(Checks::SHARING, kind, &[&resource.label], wrong);
        }
    }
}
