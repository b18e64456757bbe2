//! Names and priorities of objects of all kinds.

use std::ffi::CString;

use tenure_core::device::{CallRule, DeviceError, MemoryBlock, ObjectRef, Priority};

use super::Device;
use crate::loaded::Loaded;
use crate::memory::{Memory, weight};
use crate::resource::{Backing, Object};

impl Device {
    pub(super) fn name_object(&self, object: &ObjectRef<'_, Device>, name: &str) {
        let loaded = self.loaded();
        if loaded.api.names.is_none() || loaded.alive().is_err() {
            return;
        }
        // The API's strings end at the first zero, so zeros are removed.
        let bytes: Vec<u8> = name.bytes().filter(|byte| *byte != 0).collect();
        let Ok(name) = CString::new(bytes) else { return };
        match object {
            ObjectRef::Heap(heap) => loaded.name(heap.memory.handle, &name),
            ObjectRef::Resource(resource) => {
                match resource.object {
                    Object::Buffer(buffer) => loaded.name(buffer, &name),
                    Object::Image(image) => loaded.name(image, &name),
                }
                if let Backing::Committed { memory, .. } = &resource.backing {
                    loaded.name(memory.handle, &name);
                }
            }
            ObjectRef::List(list) => {
                loaded.name(list.command_buffer(), &name);
                loaded.name(list.command_pool(), &name);
            }
            ObjectRef::DescriptorHeap(heap) => heap.set_name(&name),
            ObjectRef::AccelerationStructure(structure) => loaded.name(structure.raw(), &name),
            ObjectRef::QueryHeap(heap) => loaded.name(heap.raw(), &name),
            ObjectRef::SetPool(block) => {
                loaded.name(block.pool(), &name);
                block.sets().iter().for_each(|set| loaded.name(*set, &name));
            }
        }
    }

    /// Changes the priority of a block's memory, if the device supports that after the allocation.
    pub(super) fn change_priority(
        &self,
        block: &MemoryBlock<'_, Device>,
        priority: Priority,
    ) -> Result<(), DeviceError> {
        let loaded = self.loaded();
        loaded.alive()?;
        let memory = self.memory_of_block(block)?;
        if let Some(calls) = loaded.api.priority {
            // SAFETY: the memory is alive and of this device, and the weight is from 0 to 1.
            unsafe { (calls.set)(loaded.api.handle(), memory.handle, weight(priority)) };
        }
        Ok(())
    }

    fn memory_of_block<'a>(&self, block: &MemoryBlock<'a, Device>) -> Result<&'a Memory, DeviceError> {
        let owner: &Loaded = match block {
            MemoryBlock::Heap(heap) => heap.memory.owner(),
            MemoryBlock::Resource(resource) => &resource.owner,
        };
        self.loaded().check_same(owner)?;
        match block {
            MemoryBlock::Heap(heap) => Ok(&heap.memory),
            MemoryBlock::Resource(resource) => match &resource.backing {
                Backing::Committed { memory, .. } => Ok(memory),
                _ => Err(DeviceError::broken_rule(CallRule::IsBlock)),
            },
        }
    }
}
