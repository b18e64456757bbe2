//! Heaps of descriptors.

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::{DescriptorHeapDesc, DescriptorKind, DescriptorLimits, DeviceError, check};

use crate::descriptors::content::Slot;
use crate::descriptors::reads::Reads;
use crate::object::{Label, debug_by_label};

/// Maximum number of descriptors in a heap that is not shader-visible, or in a pool of sets: real
/// drivers eventually run out of memory for them.
pub(crate) const MOST_SLOTS: u64 = 1 << 22;

/// `count` empty slots, or the shortage.
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
        check::descriptors_inside(index, 1, self.desc.count)
    }

    /// The slot at an index; empty outside the heap.
    pub(crate) fn slot(&self, index: u32) -> Slot {
        self.slots.lock().get(index as usize).cloned().unwrap_or_default()
    }
}

/// Checks a heap against the device's limits.
pub(crate) fn check_desc(limits: &DescriptorLimits, desc: &DescriptorHeapDesc) -> Result<(), DeviceError> {
    match limits.visible(desc.kind) {
        0 if desc.shader_visible && desc.kind.is_for_shaders() => {
            Err(DeviceError::Unsupported { feature: "descriptor indexing" })
        }
        limit => check::descriptor_heap(desc, if desc.shader_visible { limit } else { u32::MAX }),
    }
}

/// Descriptors in a row: a handle for
/// [`Device::destroy_descriptor_heap`](tenure_core::device::DescriptorDevice::destroy_descriptor_heap).
/// Dropping it without that is a leak and is reported as one.
///
/// As on real hardware a descriptor does not keep its resource alive; unlike there, using it
/// afterwards is found.
pub struct DescriptorHeap {
    pub(crate) state: Arc<DescriptorHeapState>,
}

debug_by_label!(DescriptorHeap);
