//! Heaps of descriptors.

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::{Allowed, DescriptorHeapDesc, DescriptorKind, DescriptorLimits, DeviceError};

use crate::descriptors::content::Slot;
use crate::descriptors::reads::Reads;
use crate::object::Label;
use crate::record::invalid;

/// The most descriptors of a heap that shaders do not see, or of a block of sets: real drivers
/// run out of memory for them somewhere.
pub(crate) const MOST_SLOTS: u64 = 1 << 22;

/// So many empty slots, or what is short for them.
pub(crate) fn empty_slots(count: u64) -> Result<Vec<Slot>, DeviceError> {
    let short = DeviceError::OutOfHostMemory { what: "descriptors" };
    let count = usize::try_from(count).ok().filter(|_| count <= MOST_SLOTS);
    let mut slots = Vec::new();
    match count {
        Some(count) if slots.try_reserve_exact(count).is_ok() => {
            slots.resize(count, Slot::Empty);
            Ok(slots)
        }
        _ => Err(short),
    }
}

/// The state of a heap, shared with the lists that use it.
pub(crate) struct DescriptorHeapState {
    pub(crate) label: Arc<Label>,
    pub(crate) desc: DescriptorHeapDesc,
    pub(crate) slots: Mutex<Vec<Slot>>,
    pub(crate) reads: Mutex<Reads>,
}

impl DescriptorHeapState {
    pub(crate) fn new(label: Arc<Label>, desc: DescriptorHeapDesc, slots: Vec<Slot>) -> Self {
        Self { label, desc, slots: Mutex::new(slots), reads: Mutex::default() }
    }

    pub(crate) const fn kind(&self) -> DescriptorKind {
        self.desc.kind
    }

    pub(crate) fn check_index(&self, index: u32) -> Result<(), DeviceError> {
        let count = self.desc.count;
        if index < count {
            return Ok(());
        }
        Err(invalid("the descriptor is in the heap", u64::from(index), u64::from(count)))
    }

    /// What is at an index; nothing is outside.
    pub(crate) fn slot(&self, index: u32) -> Slot {
        self.slots.lock().get(index as usize).cloned().unwrap_or_default()
    }
}

/// Checks a heap against what the device has.
pub(crate) fn check_desc(limits: &DescriptorLimits, desc: &DescriptorHeapDesc) -> Result<(), DeviceError> {
    let bad = |field, value: u32, allowed| Err(DeviceError::invalid_desc(field, value, allowed));
    if desc.count == 0 {
        return bad("count", 0, Allowed::AtLeast(1));
    }
    if !desc.shader_visible {
        return Ok(());
    }
    if !desc.kind.is_for_shaders() {
        return bad("shader_visible", 1, Allowed::Rule("0: shaders do not see targets"));
    }
    match limits.visible(desc.kind) {
        0 => Err(DeviceError::Unsupported { feature: "descriptor indexing" }),
        limit if desc.count > limit => bad("count", desc.count, Allowed::AtMost(u64::from(limit))),
        _ => Ok(()),
    }
}

/// Descriptors in a row: a handle for
/// [`Device::destroy_descriptor_heap`](tenure_core::device::Device::destroy_descriptor_heap).
/// Dropping it without that is a leak and is reported as one.
///
/// As on real hardware a descriptor does not keep its resource alive; unlike there, using it
/// afterwards is found.
pub struct DescriptorHeap {
    pub(crate) state: Arc<DescriptorHeapState>,
}

impl std::fmt::Debug for DescriptorHeap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DescriptorHeap({})", self.state.label)
    }
}
