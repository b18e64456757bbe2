//! Names of objects, for debuggers and messages.

use std::ffi::CString;

use ash::vk;
use tenure_core::device::ObjectRef;

use crate::device::Device;
use crate::resource::{Backing, Object};
use crate::shared::Shared;

impl Shared {
    pub(crate) fn set_name(&self, object: &ObjectRef<'_, Device>, name: &str) {
        if self.api.names.is_none() || self.alive().is_err() {
            return;
        }
        // The API's strings end at the first zero, so none is let through.
        let bytes: Vec<u8> = name.bytes().filter(|byte| *byte != 0).collect();
        let Ok(name) = CString::new(bytes) else { return };
        match object {
            ObjectRef::Heap(heap) => self.name(heap.memory.handle, &name),
            ObjectRef::Resource(resource) => {
                match resource.object {
                    Object::Buffer(buffer) => self.name(buffer, &name),
                    Object::Image(image) => self.name(image, &name),
                }
                if let Backing::Committed { memory, .. } = &resource.backing {
                    self.name(memory.handle, &name);
                }
            }
            ObjectRef::List(list) => {
                self.name(list.command_buffer(), &name);
                self.name(list.command_pool(), &name);
            }
            ObjectRef::DescriptorHeap(heap) => heap.set_name(&name),
            ObjectRef::AccelerationStructure(structure) => self.name(structure.raw(), &name),
            ObjectRef::QueryHeap(heap) => self.name(heap.raw(), &name),
            ObjectRef::SetBlock(block) => {
                self.name(block.pool(), &name);
                block.sets().iter().for_each(|set| self.name(*set, &name));
            }
        }
    }

    pub(crate) fn name<T: vk::Handle>(&self, handle: T, name: &CString) {
        let Some(functions) = &self.api.names else { return };
        let info = vk::DebugUtilsObjectNameInfoEXT::default().object_handle(handle).object_name(name);
        // SAFETY: the object is alive and of this device. A name that is refused is no loss.
        let _refused = unsafe { functions.set_debug_utils_object_name(&info) };
    }
}
