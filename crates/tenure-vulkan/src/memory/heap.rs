//! Heaps.

use core::fmt;
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{CallRule, DeviceError, HeapCategory, HeapDesc, MemoryTypeId, ResourceDesc, check};

use super::Memories;
use super::allocation::{Allocation, HandleTypes, Memory};

/// A block of device memory: a handle for
/// [`Device::destroy_heap`](tenure_core::device::Device::destroy_heap). Dropping it without that
/// leaks the memory.
pub struct Heap {
    pub(crate) memory: Arc<Memory>,
    pub(crate) category: HeapCategory,
}

impl Heap {
    /// The memory. Do not free, map or unmap it.
    #[must_use]
    pub fn memory(&self) -> vk::DeviceMemory {
        self.memory.handle
    }

    /// Bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.memory.size
    }

    /// The memory type.
    #[must_use]
    pub fn memory_type(&self) -> MemoryTypeId {
        self.memory.kind
    }
}

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Heap").field("memory", &self.memory).field("category", &self.category).finish()
    }
}

impl Memories {
    fn check_heap(&self, desc: &HeapDesc) -> Result<(), DeviceError> {
        let properties = &self.tables.properties;
        self.memory_flags(desc.memory)?;
        let least = properties.heap_alignment;
        if !desc.alignment.is_power_of_two() || desc.alignment < least {
            let rule = CallRule::HeapAlignment;
            return Err(DeviceError::invalid_call(rule, desc.alignment, least));
        }
        check::heap_size(desc, properties.max_heap_size)
    }

    pub(crate) fn create_heap(self: &Arc<Self>, desc: &HeapDesc) -> Result<Heap, DeviceError> {
        self.alive()?;
        self.check_heap(desc)?;
        let memory = self.allocate(Allocation {
            size: desc.size,
            kind: desc.memory,
            priority: desc.priority,
            holds_buffers: matches!(desc.category, HeapCategory::Any | HeapCategory::Buffers),
            dedicated: None,
            exported: HandleTypes::empty(),
            import: None,
        })?;
        Ok(Heap { memory, category: desc.category })
    }

    /// The category of heap that a resource asks for.
    pub(crate) fn category(&self, desc: &ResourceDesc) -> HeapCategory {
        if self.tables.split { own_category(desc) } else { HeapCategory::Any }
    }

    /// A heap takes its own category, or everything where `bufferImageGranularity` allows that.
    pub(crate) fn check_category(&self, desc: &ResourceDesc, heap: HeapCategory) -> Result<(), DeviceError> {
        check::category(own_category(desc), heap, !self.tables.split)
    }
}

/// The narrowest category of heap that a resource may be in.
const fn own_category(desc: &ResourceDesc) -> HeapCategory {
    match desc {
        ResourceDesc::Buffer(_) => HeapCategory::Buffers,
        ResourceDesc::Texture(_) => HeapCategory::Textures,
    }
}
