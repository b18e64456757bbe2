//! Buffers and textures.

mod accesses;
mod hidden;
mod owners;

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::{MemoryFlags, MemoryTypeId, ResourceDesc};

pub(crate) use self::accesses::{StructureAccesses, Unordered};
pub(crate) use self::hidden::{Hidden, HostBarriers};
pub(crate) use self::owners::{Owners, Part};
use crate::clock::SharedClock;
use crate::layout::Layout;
use crate::memory::{HeapState, Memory, SharedMemory, Written};
use crate::object::{Label, debug_by_label};
use crate::states::States;

/// The state of a resource, shared with lists and mappings that use it.
pub(crate) struct ResourceState {
    pub(crate) label: Arc<Label>,
    pub(crate) desc: ResourceDesc,
    pub(crate) layout: Layout,
    pub(crate) memory: Memory,
    /// The flags of its memory; empty for a reserved resource.
    pub(crate) flags: MemoryFlags,
    /// The address that the API returns.
    pub(crate) address: Option<u64>,
    /// The address of its first byte for the GPU.
    pub(crate) virtual_address: u64,
    pub(crate) last_use: SharedClock,
    pub(crate) written: Arc<Written>,
    /// The initialised bytes of a target, if its writes require an initialisation.
    pub(crate) initialized: Option<Written>,
    /// The memory shared with other devices.
    pub(crate) sharing: Option<Arc<SharedMemory>>,
    /// The number of the device that made it.
    pub(crate) device: u64,
    pub(crate) states: Arc<Mutex<States>>,
    pub(crate) unordered: Mutex<Unordered>,
    /// Accesses to the acceleration structures in it.
    pub(crate) structures: Mutex<StructureAccesses>,
    pub(crate) owners: Owners,
    /// The GPU's writes to mappable bytes that no barrier has made visible to the CPU.
    pub(crate) hidden: Mutex<Hidden>,
}

impl ResourceState {
    pub(crate) fn is_buffer(&self) -> bool {
        matches!(self.desc, ResourceDesc::Buffer(_))
    }

    pub(crate) fn is_host_visible(&self) -> bool {
        self.flags.contains(MemoryFlags::HOST_VISIBLE)
    }

    /// Whether the CPU's writes have to be flushed, which takes whole atoms.
    pub(crate) fn needs_flushes(&self) -> bool {
        self.is_host_visible() && !self.flags.contains(MemoryFlags::HOST_COHERENT)
    }

    /// The object whose destruction freed the bytes, if any.
    pub(crate) fn freed(&self) -> Option<&Label> {
        if self.label.is_destroyed() {
            return Some(&self.label);
        }
        match &self.memory {
            Memory::Placed { heap, .. } if heap.label.is_destroyed() => Some(&heap.label),
            _ => None,
        }
    }

    /// The memory type and bytes, if it is committed.
    pub(crate) fn committed(&self) -> Option<(MemoryTypeId, u64)> {
        match self.memory {
            Memory::Committed { memory, size, .. } => Some((memory, size)),
            Memory::Placed { .. } | Memory::Reserved(_) => None,
        }
    }

    pub(crate) fn heap(&self) -> Option<&Arc<HeapState>> {
        match &self.memory {
            Memory::Placed { heap, .. } => Some(heap),
            _ => None,
        }
    }
}

/// A buffer or texture: a handle for
/// [`Device::destroy_resource`](tenure_core::device::MemoryDevice::destroy_resource). Dropping it
/// without that is a leak and is reported as one.
pub struct Resource {
    pub(crate) state: Arc<ResourceState>,
}

impl Resource {
    /// The number in hazards and the journal.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.state.label.id
    }
}

debug_by_label!(Resource);
