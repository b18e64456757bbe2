//! Dependencies between uses, by enhanced barriers or resource states.

mod discard;
mod enhanced;
mod legacy;

pub use enhanced::to_barrier_layout;
pub(crate) use enhanced::{Seen, Takeovers};

use std::sync::Arc;

use smallvec::SmallVec;
use tenure_core::device::{
    Barrier, CallRule, DeviceError, MemoryTypeId, QueueId, QueueTransfer, State, Subresource, Usage, check,
};

use crate::Device;
use crate::device::inner::Inner;
use crate::device::memory::requirements::{READBACK, UPLOAD};
use crate::device::record::list::List;
use crate::device::resource::object::{Memory, Resource};

/// The states that creation flags open: without the flag the resource cannot be in them, nor can
/// depth that was not created to be read by shaders.
fn check_usage(resource: &Resource, state: State) -> Result<(), DeviceError> {
    const FLAGGED: State = State::RENDER_TARGET
        .union(State::DEPTH_READ)
        .union(State::DEPTH_WRITE)
        .union(State::UNORDERED)
        .union(State::ACCELERATION_STRUCTURE);
    let usage = resource.desc.usage();
    let is_depth = usage.contains(Usage::DEPTH_STENCIL);
    let flagged = if is_depth { FLAGGED | State::SHADER_READ } else { FLAGGED };
    let allowed = State::allowed_for(usage);
    if allowed.contains(state & flagged) {
        return Ok(());
    }
    let rule = CallRule::UsageAllowsState;
    Err(DeviceError::InvalidState { rule, state, allowed })
}

/// The states allowed for CPU-visible memory.
fn check_heap(resource: &Resource, state: State) -> Result<(), DeviceError> {
    const COPIED_TO: State = State::COPY_DST.union(State::RESOLVE_DST);
    match resource.memory_type {
        UPLOAD if state.is_write() => {
            let allowed = State::all() - State::WRITES;
            Err(DeviceError::InvalidState { rule: CallRule::UploadOnlyRead, state, allowed })
        }
        READBACK if !COPIED_TO.contains(state) => {
            let rule = CallRule::ReadbackOnlyCopied;
            Err(DeviceError::InvalidState { rule, state, allowed: COPIED_TO })
        }
        _ => Ok(()),
    }
}

/// Refuses transitions of resources whose state is fixed: acceleration structure buffers, and, with legacy states,
/// upload and readback memory.
fn check_changeable(
    (memory_type, usage): (MemoryTypeId, Usage),
    (before, after): (State, State),
    has_states: bool,
) -> Result<(), DeviceError> {
    let allowed = match usage.contains(Usage::ACCELERATION_STRUCTURE) {
        true => State::ACCELERATION_STRUCTURE,
        false if has_states && matches!(memory_type, UPLOAD | READBACK) => before,
        false => return Ok(()),
    };
    if before == allowed && after == allowed {
        return Ok(());
    }
    Err(DeviceError::InvalidState { rule: CallRule::FixedState, state: after, allowed })
}

/// True for a barrier between this device and another.
const fn is_handed_over(barrier: &Barrier<'_, Device>) -> bool {
    matches!(barrier, Barrier::Transition { transfer: Some(_), .. })
}

impl List {
    /// Records barriers. All of them are checked before the first is recorded.
    pub(crate) fn record_barriers(&mut self, barriers: &[Barrier<'_, Device>]) -> Result<(), DeviceError> {
        for barrier in barriers {
            self.check_barrier(barrier)?;
        }
        // A transfer of ownership needs no barrier: the end of the submission orders and flushes everything.
        let own: SmallVec<[Barrier<'_, Device>; 16]>;
        let barriers = match barriers.iter().any(is_handed_over) {
            false => barriers,
            true => {
                own = barriers.iter().filter(|barrier| !is_handed_over(barrier)).copied().collect();
                &own
            }
        };
        if self.device.caps.enhanced_barriers {
            self.enhanced_barriers(barriers)
        } else {
            self.legacy_barriers(barriers);
            Ok(())
        }
    }

    fn check_barrier(&self, barrier: &Barrier<'_, Device>) -> Result<(), DeviceError> {
        match *barrier {
            Barrier::Transition { resource, subresource, before, after, transfer } => {
                self.check_owner(resource)?;
                check::subresource(&resource.desc, subresource)?;
                for state in [before, after] {
                    check_usage(resource, state)?;
                    check_heap(resource, state)?;
                }
                if let Some(transfer) = transfer {
                    return self.check_transfer(resource, subresource, [before, after], transfer);
                }
                check::state(self.kind, before)?;
                check::state(self.kind, after)?;
                let is_enhanced = self.device.caps.enhanced_barriers;
                if is_enhanced && after.is_empty() {
                    return Err(DeviceError::broken_rule(CallRule::NeverToCommon));
                }
                let kept = (resource.memory_type, resource.desc.usage());
                check_changeable(kept, (before, after), !is_enhanced)
            }
            Barrier::Unordered { resource } => {
                self.check_owner(resource)?;
                let usage = resource.desc.usage();
                if !usage.intersects(Usage::UNORDERED_ACCESS | Usage::ACCELERATION_STRUCTURE) {
                    return Err(DeviceError::MissingUsage { needs: Usage::UNORDERED_ACCESS, has: usage });
                }
                check::state(self.kind, State::UNORDERED_ACCESS)
            }
            Barrier::Aliasing { before, after, .. } => {
                for resource in before.into_iter().chain([after]) {
                    self.check_owner(resource)?;
                    if matches!(resource.memory, Memory::Committed) {
                        let rule = CallRule::AliasingPlaced;
                        return Err(DeviceError::broken_rule(rule));
                    }
                }
                Ok(())
            }
        }
    }

    /// Refuses transfers between queues. Only transfers to and from other devices exist.
    fn check_transfer(
        &self,
        resource: &Resource,
        subresource: Subresource,
        [before, after]: [State; 2],
        QueueTransfer { from, to }: QueueTransfer,
    ) -> Result<(), DeviceError> {
        if ![from, to].contains(&QueueId::PEER) {
            return Err(DeviceError::broken_rule(
                "Direct3D 12 knows no transfers: all queues are of one family",
            ));
        }
        if !resource.desc.usage().contains(Usage::SHARED) {
            return Err(DeviceError::broken_rule(CallRule::PeerTakesShared));
        }
        match subresource == Subresource::All && before == after {
            true => Ok(()),
            false => Err(DeviceError::broken_rule(CallRule::PeerTakesAll)),
        }
    }

    pub(crate) fn check_owner(&self, resource: &Resource) -> Result<(), DeviceError> {
        self.check_device(&resource.device)
    }

    fn check_device(&self, owner: &Arc<Inner>) -> Result<(), DeviceError> {
        if Arc::ptr_eq(&self.device, owner) {
            return Ok(());
        }
        Err(DeviceError::broken_rule(CallRule::SameDevice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::memory::requirements::GPU_ONLY;

    #[test]
    fn structures_and_memory_of_the_cpu_keep_their_state() {
        let (structure, other) = (State::ACCELERATION_STRUCTURE, State::UNORDERED_ACCESS);
        let usage = Usage::ACCELERATION_STRUCTURE | Usage::UNORDERED_ACCESS;
        for has_states in [true, false] {
            let check = |memory, usage, states| check_changeable((memory, usage), states, has_states).is_ok();
            assert!(check(GPU_ONLY, usage, (structure, structure)));
            for states in [(structure, other), (other, structure), (State::COMMON, structure), (other, other)]
            {
                assert!(!check(GPU_ONLY, usage, states), "{states:?}");
            }
            assert!(check(GPU_ONLY, Usage::UNORDERED_ACCESS, (other, State::COPY_SRC)));
            let read = (State::COPY_SRC, State::INDEX);
            assert_eq!(
                check(UPLOAD, Usage::INDEX, read),
                !has_states,
                "accesses are named, and no state changes"
            );
            assert!(check(UPLOAD, Usage::INDEX, (State::INDEX, State::INDEX)));
        }
    }
}
