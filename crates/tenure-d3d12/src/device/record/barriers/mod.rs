//! Dependencies between uses, in whichever of Direct3D's two ways.

mod discard;
mod enhanced;
mod legacy;

pub use enhanced::to_barrier_layout;
pub(crate) use enhanced::{Seen, Takeovers};
pub(crate) use legacy::transition;

use std::sync::Arc;

use smallvec::SmallVec;
use tenure_core::device::{
    Barrier, CallRule, DeviceError, QueueId, QueueTransfer, State, Subresource, Usage, check,
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
        .union(State::UNORDERED_ACCESS)
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

/// What the GPU may do in memory that the CPU reaches.
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

/// With resource states some are kept for life: those of heap types, and that of acceleration
/// structures.
fn check_changeable(resource: &Resource, before: State, after: State) -> Result<(), DeviceError> {
    let is_fixed = matches!(resource.memory_type, UPLOAD | READBACK)
        || resource.desc.usage().contains(Usage::ACCELERATION_STRUCTURE);
    if is_fixed && before != after {
        let rule = CallRule::FixedState;
        return Err(DeviceError::InvalidState { rule, state: after, allowed: before });
    }
    Ok(())
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
        // To hand a resource over takes no barrier: the end of the submission orders and flushes all of it.
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
                if self.device.caps.enhanced_barriers {
                    let rule = CallRule::NeverToCommon;
                    return if after.is_empty() { Err(DeviceError::broken_rule(rule)) } else { Ok(()) };
                }
                check_changeable(resource, before, after)
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

    /// Resources go to other devices and come from them, and not between queues.
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
