//! Descriptor sets: their layouts and pools.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::{Allowed, BindingKind, CallRule, DeviceError, SetBinding, check};

use crate::clock::Clock;
use crate::descriptors::content::Slot;
use crate::object::{Label, debug_by_label};

/// The state of a layout, shared with its blocks.
pub(crate) struct LayoutState {
    pub(crate) label: Arc<Label>,
    /// The bindings, each with the index of its first descriptor in a set.
    bindings: Vec<(SetBinding, u32)>,
    /// Descriptors in a set.
    pub(crate) total: u32,
    pub(crate) blocks: Mutex<BTreeMap<u64, Arc<Label>>>,
}

/// The first descriptor of each binding, and the total number.
fn places(bindings: &[SetBinding]) -> Result<(Vec<(SetBinding, u32)>, u32), DeviceError> {
    let bad = |field, value: u32, allowed| DeviceError::invalid_desc(field, value, allowed);
    check::set_bindings(bindings, u32::MAX)?;
    let mut places: Vec<(SetBinding, u32)> = Vec::new();
    let mut total = 0_u32;
    for binding in bindings {
        places.push((*binding, total));
        let left = Allowed::AtMost(u64::from(u32::MAX - total));
        total = total.checked_add(binding.count).ok_or_else(|| bad("count", binding.count, left))?;
    }
    Ok((places, total))
}

impl LayoutState {
    /// A layout of these bindings; the label is created if they are valid.
    pub(crate) fn new(
        bindings: &[SetBinding],
        label: impl FnOnce() -> Arc<Label>,
    ) -> Result<Self, DeviceError> {
        let (bindings, total) = places(bindings)?;
        Ok(Self { label: label(), bindings, total, blocks: Mutex::default() })
    }

    /// The place of a descriptor in a set, and the kind of its binding.
    pub(crate) fn find(&self, binding: u32, element: u32) -> Result<(u32, BindingKind), DeviceError> {
        let found = self.bindings.iter().find(|(each, _)| each.binding == binding);
        let Some((found, start)) = found else {
            let bindings = self.bindings.len() as u64;
            return Err(DeviceError::invalid_call(CallRule::BindingExists, u64::from(binding), bindings));
        };
        if element >= found.count {
            return Err(DeviceError::invalid_call(CallRule::ElementExists, element, found.count));
        }
        Ok((start + element, found.kind))
    }
}

/// One set of a block.
pub(crate) struct Set {
    pub(crate) slots: Vec<Slot>,
    /// The number of changes: lists recorded with an earlier version are invalid.
    pub(crate) version: u64,
    /// The newest submissions that read it.
    pub(crate) reads: Clock,
}

/// The state of a block, shared with the lists that use its sets.
pub(crate) struct SetPoolState {
    pub(crate) label: Arc<Label>,
    pub(crate) layout: Arc<LayoutState>,
    /// The number of sets.
    pub(crate) count: u32,
    pub(crate) sets: Mutex<Vec<Set>>,
}

impl SetPoolState {
    /// The slot at a place of a set, and the set's version.
    pub(crate) fn slot(&self, set: u32, place: u32) -> (Slot, u64) {
        let sets = self.sets.lock();
        let Some(set) = sets.get(set as usize) else { return (Slot::Empty, 0) };
        (set.slots.get(place as usize).cloned().unwrap_or_default(), set.version)
    }

    pub(crate) fn check_set(&self, set: u32) -> Result<(), DeviceError> {
        if set < self.count {
            return Ok(());
        }
        Err(DeviceError::invalid_call(CallRule::SetExists, set, self.count))
    }
}

/// The form of descriptor sets: a handle for
/// [`Device::destroy_set_layout`](tenure_core::device::SetDevice::destroy_set_layout). Dropping it
/// without that is a leak and is reported as one.
pub struct SetLayout {
    pub(crate) state: Arc<LayoutState>,
}

debug_by_label!(SetLayout);

/// Descriptor sets of one layout: a handle for
/// [`Device::destroy_set_pool`](tenure_core::device::SetDevice::destroy_set_pool). Dropping it
/// without that is a leak and is reported as one.
pub struct SetPool {
    pub(crate) state: Arc<SetPoolState>,
}

debug_by_label!(SetPool);
