//! How much it matters that an allocation stays in the memory of the device.

use std::sync::Arc;

use tenure_core::device::{CallRule, DeviceError, MemoryBlock, Priority};

use super::allocation::Memory;
use crate::Device;
use crate::resource::Backing;
use crate::shared::Shared;

/// As the extension counts: 0.5 is what an allocation without a priority has.
pub(super) const fn weight(priority: Priority) -> f32 {
    match priority {
        Priority::Low => 0.25,
        Priority::Normal => 0.5,
        Priority::High => 1.0,
    }
}

impl Shared {
    /// Changes the priority of a block's memory, where the device takes that after the allocation.
    pub(crate) fn set_priority(
        &self,
        block: &MemoryBlock<'_, Device>,
        priority: Priority,
    ) -> Result<(), DeviceError> {
        self.alive()?;
        let memory = self.memory_of_block(block)?;
        if let Some(set) = self.api.set_priority {
            // SAFETY: the memory is alive and of this device, and the weight is from 0 to 1.
            unsafe { set(self.api.handle(), memory.handle, weight(priority)) };
        }
        Ok(())
    }

    fn memory_of_block<'a>(&self, block: &MemoryBlock<'a, Device>) -> Result<&'a Memory, DeviceError> {
        let owner = match block {
            MemoryBlock::Heap(heap) => heap.memory.shared(),
            MemoryBlock::Resource(resource) => &resource.shared,
        };
        if !std::ptr::eq(self, Arc::as_ptr(owner)) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        match block {
            MemoryBlock::Heap(heap) => Ok(&heap.memory),
            MemoryBlock::Resource(resource) => match &resource.backing {
                Backing::Committed { memory, .. } => Ok(memory),
                _ => Err(DeviceError::broken_rule(CallRule::IsBlock)),
            },
        }
    }
}
