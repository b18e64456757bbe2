//! Dependencies between uses, in whichever of Direct3D's two ways.

mod discard;
mod enhanced;
mod legacy;

pub use enhanced::to_barrier_layout;
pub(crate) use enhanced::{Seen, Takeovers};

use std::sync::Arc;

use tenure_core::device::{Barrier, DeviceError, QueueKind, State, Subresource, Usage};

use crate::Device;
use crate::error::invalid;
use crate::inner::Inner;
use crate::list::List;
use crate::requirements::{READBACK, UPLOAD};
use crate::resource::{Memory, Resource};

/// A write state stands alone, and each queue knows only some states.
fn check_state(kind: QueueKind, state: State) -> Result<(), DeviceError> {
    if !state.is_valid() {
        return Err(DeviceError::write_state_alone(state));
    }
    let allowed = State::allowed_on(kind);
    if !allowed.contains(state) {
        let rule = "the queue must know the state";
        return Err(DeviceError::InvalidState { rule, state, allowed });
    }
    Ok(())
}

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
    let rule = "the usage of the resource must allow the state";
    Err(DeviceError::InvalidState { rule, state, allowed })
}

fn check_subresource(resource: &Resource, subresource: Subresource) -> Result<(), DeviceError> {
    let count = resource.desc.subresources();
    match subresource {
        Subresource::One(index) if index >= count => {
            Err(invalid("the subresource exists", u64::from(index), u64::from(count)))
        }
        _ => Ok(()),
    }
}

/// What the GPU may do in memory that the CPU reaches.
fn check_heap(resource: &Resource, state: State) -> Result<(), DeviceError> {
    const COPIED_TO: State = State::COPY_DST.union(State::RESOLVE_DST);
    match resource.memory_type {
        UPLOAD if state.is_write() => {
            let allowed = State::all() - State::WRITES;
            Err(DeviceError::InvalidState { rule: "upload heaps are only read", state, allowed })
        }
        READBACK if !COPIED_TO.contains(state) => {
            let rule = "readback heaps are only copied to";
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
        let rule = "upload and readback memory and acceleration structures keep their state";
        return Err(DeviceError::InvalidState { rule, state: after, allowed: before });
    }
    Ok(())
}

impl List {
    /// Records barriers. All of them are checked before the first is recorded.
    pub(crate) fn record_barriers(&mut self, barriers: &[Barrier<'_, Device>]) -> Result<(), DeviceError> {
        for barrier in barriers {
            self.check_barrier(barrier)?;
        }
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
                check_subresource(resource, subresource)?;
                for state in [before, after] {
                    check_usage(resource, state)?;
                    check_heap(resource, state)?;
                }
                if transfer.is_some() {
                    return Err(invalid(
                        "Direct3D 12 knows no transfers: all queues are of one family",
                        1,
                        0,
                    ));
                }
                check_state(self.kind, before)?;
                check_state(self.kind, after)?;
                if self.device.caps.enhanced_barriers {
                    let rule = "nothing is moved to COMMON (undefined contents)";
                    return if after.is_empty() { Err(invalid(rule, 0, 1)) } else { Ok(()) };
                }
                check_changeable(resource, before, after)
            }
            Barrier::Unordered { resource } => {
                self.check_owner(resource)?;
                let usage = resource.desc.usage();
                if !usage.intersects(Usage::UNORDERED_ACCESS | Usage::ACCELERATION_STRUCTURE) {
                    return Err(DeviceError::MissingUsage { needs: Usage::UNORDERED_ACCESS, has: usage });
                }
                check_state(self.kind, State::UNORDERED_ACCESS)
            }
            Barrier::Aliasing { before, after, .. } => {
                for resource in before.into_iter().chain([after]) {
                    self.check_owner(resource)?;
                    if matches!(resource.memory, Memory::Committed) {
                        let rule = "aliasing barriers are for placed and reserved resources";
                        return Err(invalid(rule, 0, 1));
                    }
                }
                Ok(())
            }
        }
    }

    pub(crate) fn check_owner(&self, resource: &Resource) -> Result<(), DeviceError> {
        self.check_device(&resource.device)
    }

    fn check_device(&self, owner: &Arc<Inner>) -> Result<(), DeviceError> {
        if Arc::ptr_eq(&self.device, owner) {
            return Ok(());
        }
        Err(invalid("the resource belongs to the device", 0, 1))
    }
}
