//! Making resources: committed and placed ones.

use std::sync::Arc;

use ash::vk;
use tenure_core::device::{CallRule, DeviceError, MemoryTypeId, Priority, Requirements, ResourceDesc, check};

use super::Resources;
use super::handle::{Backing, Resource};
use super::object::{Bare, Object, Plan};
use super::requirements::Needs;
use crate::features::OptionalFeatures;
use crate::memory::HandleTypes;
use crate::memory::{Allocation, Heap, Import, Memory};

impl Resources {
    fn check_memory_type(&self, allowed: u32, kind: MemoryTypeId) -> Result<(), DeviceError> {
        self.memory_flags(kind)?;
        check::memory_type(allowed, kind)
    }

    pub(crate) fn create_committed(
        self: &Arc<Self>,
        desc: &ResourceDesc,
        kind: MemoryTypeId,
        priority: Priority,
    ) -> Result<Resource, DeviceError> {
        self.alive()?;
        let plan = self.plan(desc)?;
        let bare = self.create(&plan)?;
        let needs = self.needs_of(bare.object);
        self.check_memory_type(self.contract(desc, needs)?.memory_types, kind)?;
        let (size, most) = (needs.memory.size, self.tables.properties.max_heap_size);
        check::at_most(CallRule::ResourceTooLarge, size, most)?;
        let memory = self.memory.allocate(Allocation {
            size,
            kind,
            priority,
            holds_buffers: matches!(bare.object, Object::Buffer(_)),
            dedicated: self.dedicated(bare.object, needs, plan.external()),
            exported: plan.external(),
            import: None,
        })?;
        self.commit(bare, desc, &plan, memory)
    }

    /// A resource of an object and the memory that was allocated for it.
    fn commit(
        self: &Arc<Self>,
        bare: Bare<'_>,
        desc: &ResourceDesc,
        plan: &Plan<'_>,
        memory: Arc<Memory>,
    ) -> Result<Resource, DeviceError> {
        if let Err(error) = self.bind(bare.object, &memory, 0) {
            drop(bare);
            memory.destroy();
            return Err(error);
        }
        Ok(self.resource(bare.keep(), desc, plan, Backing::Committed { memory, offset: 0 }))
    }

    /// A resource in memory that others allocated. `choose` gets what the resource needs, and says which memory type
    /// and how many bytes the memory has.
    pub(crate) fn create_imported<E: From<DeviceError>>(
        self: &Arc<Self>,
        (desc, plan): (&ResourceDesc, &Plan<'_>),
        is_dedicated: bool,
        import: Import<'_>,
        choose: impl FnOnce(Requirements) -> Result<(MemoryTypeId, u64), E>,
    ) -> Result<Resource, E> {
        let bare = self.create(plan)?;
        let needs = self.needs_of(bare.object);
        // Without the padding of heaps that it shares with others.
        let needed = Requirements { size: needs.memory.size, ..self.contract(desc, needs)? };
        let (kind, size) = choose(needed)?;
        let memory = self.memory.allocate(Allocation {
            size,
            kind,
            priority: desc.usage().priority(),
            holds_buffers: matches!(bare.object, Object::Buffer(_)),
            dedicated: (is_dedicated || needs.requires_dedicated).then(|| dedicated_to(bare.object)),
            exported: HandleTypes::empty(),
            import: Some(import),
        })?;
        Ok(self.commit(bare, desc, plan, memory)?)
    }

    /// The mark of an allocation for one object.
    fn dedicated(
        &self,
        object: Object,
        needs: Needs,
        exported: HandleTypes,
    ) -> Option<vk::MemoryDedicatedAllocateInfo<'static>> {
        let wanted = needs.requires_dedicated || self.api.uses(OptionalFeatures::DEDICATED_ALLOCATION);
        (wanted || !exported.is_empty()).then(|| dedicated_to(object))
    }

    pub(crate) fn create_placed(
        self: &Arc<Self>,
        desc: &ResourceDesc,
        heap: &Heap,
        offset: u64,
    ) -> Result<Resource, DeviceError> {
        self.alive()?;
        self.check_same(heap.memory.owner())?;
        let plan = self.plan(desc)?;
        self.memory.check_category(desc, heap.category)?;
        let bare = self.create(&plan)?;
        let needs = self.needs_of(bare.object);
        self.check_placement(desc, needs, heap, offset)?;
        self.bind(bare.object, &heap.memory, offset)?;
        let backing = Backing::Placed { memory: heap.memory.clone(), offset };
        Ok(self.resource(bare.keep(), desc, &plan, backing))
    }

    fn check_placement(
        &self,
        desc: &ResourceDesc,
        needs: Needs,
        heap: &Heap,
        offset: u64,
    ) -> Result<(), DeviceError> {
        if needs.requires_dedicated {
            return Err(DeviceError::broken_rule(CallRule::RequiresDedicated));
        }
        let needs = self.contract(desc, needs)?;
        check::placement(&needs, (heap.memory.kind, heap.memory.size), offset)
    }

    fn bind(&self, object: Object, memory: &Memory, offset: u64) -> Result<(), DeviceError> {
        let device = &self.api.device;
        match object {
            Object::Buffer(buffer) => {
                // SAFETY: the buffer is new, and what it needs of the memory was checked.
                let bound = unsafe { device.bind_buffer_memory(buffer, memory.handle, offset) };
                bound.map_err(|result| self.error("vkBindBufferMemory", result))
            }
            Object::Image(image) => {
                // SAFETY: the image is new, and what it needs of the memory was checked.
                let bound = unsafe { device.bind_image_memory(image, memory.handle, offset) };
                bound.map_err(|result| self.error("vkBindImageMemory", result))
            }
        }
    }

    pub(crate) fn resource(
        self: &Arc<Self>,
        object: Object,
        desc: &ResourceDesc,
        plan: &Plan<'_>,
        backing: Backing,
    ) -> Resource {
        self.note_usage(desc.usage());
        Resource {
            address: self.address_of(object),
            owner: self.clone(),
            object,
            desc: desc.clone(),
            backing,
            usage: plan.usage(),
            is_ours: true,
        }
    }

    /// The GPU address of a buffer that was created for having one.
    pub(crate) fn address_of(&self, object: Object) -> Option<u64> {
        let (Object::Buffer(buffer), Some(calls)) = (object, self.api.address) else { return None };
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        // SAFETY: the buffer has the usage for it, and memory unless it is sparse.
        let address = unsafe { (calls.get)(self.api.handle(), &raw const info) };
        (address != 0).then_some(address)
    }
}

fn dedicated_to(object: Object) -> vk::MemoryDedicatedAllocateInfo<'static> {
    let info = vk::MemoryDedicatedAllocateInfo::default();
    match object {
        Object::Buffer(buffer) => info.buffer(buffer),
        Object::Image(image) => info.image(image),
    }
}
