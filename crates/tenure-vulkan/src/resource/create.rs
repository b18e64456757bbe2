//! Creation of committed, placed and reserved resources from their requirements.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::{
    Allowed, CallRule, DeviceError, Dimension, MemoryTypeId, Priority, Requirements, ResourceDesc,
    TextureInfo, TileLayout, Usage, check,
};

use super::Resources;
use super::handle::{Backing, Resource};
use super::image::{ImagePlan, KnownImage, SPARSE_IMAGE};
use super::object::{Bare, Handles, Object, Plan, SPARSE_BUFFER};
use crate::error::unsupported;
use crate::features::OptionalFeatures;
use crate::memory::{Allocation, HandleTypes, Heap, Import, Memory};
use crate::sparse::{Sparse, Tiling};

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

    /// A resource in memory that others allocated. `choose` gets the resource's requirements, and returns the
    /// memory type and size of the memory.
    pub(crate) fn create_imported<E: From<DeviceError>>(
        self: &Arc<Self>,
        (desc, plan): (&ResourceDesc, &Plan<'_>),
        is_dedicated: bool,
        import: Import<'_>,
        choose: impl FnOnce(Requirements) -> Result<(MemoryTypeId, u64), E>,
    ) -> Result<Resource, E> {
        let bare = self.create(plan)?;
        let needs = self.needs_of(bare.object);
        // Without the padding of shared heaps.
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

    /// The structure that marks an allocation as dedicated to one object.
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
        let (plan, needs) = match desc {
            // The requirements of all images of one description are equal.
            ResourceDesc::Texture(info) => {
                let KnownImage { plan, needs } = self.known_image(info, KnownImage::clone)?;
                (Plan::Image { info, plan }, Some(needs))
            }
            ResourceDesc::Buffer(_) => (self.plan(desc)?, None),
        };
        self.memory.check_category(desc, heap.category)?;
        let bare = self.create(&plan)?;
        let needs = needs.unwrap_or_else(|| self.needs_of(bare.object));
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

    /// Binds a new object to memory that it fits in.
    pub(crate) fn bind(&self, object: Object, memory: &Memory, offset: u64) -> Result<(), DeviceError> {
        let device = &self.api.device;
        match object {
            Object::Buffer(buffer) => {
                // SAFETY: the buffer is new, and its memory requirements were checked.
                let bound = unsafe { device.bind_buffer_memory(buffer, memory.handle, offset) };
                bound.map_err(|result| self.error("vkBindBufferMemory", result))
            }
            Object::Image(image) => {
                // SAFETY: the image is new, and its memory requirements were checked.
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

    /// The GPU address of a buffer that was created for having one, or of an image whose address the driver reports.
    pub(crate) fn address_of(&self, object: Object) -> Option<u64> {
        let buffer = match object {
            Object::Buffer(buffer) => buffer,
            Object::Image(image) => return self.address_of_image(image),
        };
        let calls = self.api.address?;
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

/// The driver's memory requirements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    pub(crate) memory: vk::MemoryRequirements,
    pub(crate) prefers_dedicated: bool,
    pub(crate) requires_dedicated: bool,
}

impl Needs {
    fn new(memory: vk::MemoryRequirements, dedicated: &vk::MemoryDedicatedRequirements<'_>) -> Self {
        let on = |flag: vk::Bool32| flag == vk::TRUE;
        Self {
            memory,
            prefers_dedicated: on(dedicated.prefers_dedicated_allocation),
            requires_dedicated: on(dedicated.requires_dedicated_allocation),
        }
    }
}

impl Resources {
    pub(crate) fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        self.alive()?;
        let needs = match desc {
            ResourceDesc::Buffer(_) => self.needs_of_plan(&self.plan(desc)?)?,
            ResourceDesc::Texture(info) => self.known_image(info, |known| known.needs)?,
        };
        self.contract(desc, needs)
    }

    /// Queries the requirements without an object if the device supports that, otherwise with a temporary one.
    pub(crate) fn needs_of_plan(&self, plan: &Plan<'_>) -> Result<Needs, DeviceError> {
        let Some(calls) = self.api.requirements else {
            return Ok(self.needs_of(self.create(plan)?.object));
        };
        let device = self.api.handle();
        let mut dedicated = vk::MemoryDedicatedRequirements::default();
        let mut found = vk::MemoryRequirements2::default().push_next(&mut dedicated);
        match plan {
            Plan::Buffer { size, usage, flags, external } => {
                self.with_buffer_info(*size, *usage, *flags, *external, |info| {
                    let info = vk::DeviceBufferMemoryRequirements::default().create_info(info);
                    // SAFETY: `info` describes a buffer that could be created.
                    unsafe { (calls.buffer)(device, &raw const info, &raw mut found) };
                });
            }
            Plan::Image { info, plan } => self.with_image_info(info, plan, |info| {
                let info = vk::DeviceImageMemoryRequirements::default().create_info(info);
                // SAFETY: `info` describes an image that could be created.
                unsafe { (calls.image)(device, &raw const info, &raw mut found) };
            }),
        }
        let memory = found.memory_requirements;
        Ok(Needs::new(memory, &dedicated))
    }

    /// Queries the requirements of an object.
    pub(crate) fn needs_of(&self, object: Object) -> Needs {
        let device = &self.api.device;
        let mut dedicated = vk::MemoryDedicatedRequirements::default();
        let mut found = vk::MemoryRequirements2::default().push_next(&mut dedicated);
        match object {
            Object::Buffer(buffer) => {
                let info = vk::BufferMemoryRequirementsInfo2::default().buffer(buffer);
                // SAFETY: the buffer is alive.
                unsafe { device.get_buffer_memory_requirements2(&info, &mut found) };
            }
            Object::Image(image) => {
                let info = vk::ImageMemoryRequirementsInfo2::default().image(image);
                // SAFETY: the image is alive.
                unsafe { device.get_image_memory_requirements2(&info, &mut found) };
            }
        }
        let memory = found.memory_requirements;
        Needs::new(memory, &dedicated)
    }

    /// Converts the driver's requirements to the contract's: padded to `bufferImageGranularity` if heaps hold all
    /// categories.
    pub(crate) fn contract(&self, desc: &ResourceDesc, needs: Needs) -> Result<Requirements, DeviceError> {
        let Needs { memory, prefers_dedicated, requires_dedicated } = needs;
        let alignment = memory.alignment.max(self.tables.padding).max(1);
        // The largest alignments are not a granularity.
        let rounded = memory.size.checked_next_multiple_of(alignment.min(64 << 10));
        let uses = self.api.uses(OptionalFeatures::DEDICATED_ALLOCATION);
        // Other processes see the whole allocation.
        let requires_dedicated = requires_dedicated || desc.usage().contains(Usage::SHARED);
        Ok(Requirements {
            size: rounded.ok_or_else(|| {
                DeviceError::invalid_desc("size", memory.size, Allowed::Rule("less than 2^64 when aligned"))
            })?,
            alignment,
            memory_types: memory.memory_type_bits & self.tables.general_types,
            category: self.memory.category(desc),
            prefers_dedicated: requires_dedicated || (uses && prefers_dedicated),
            requires_dedicated,
        })
    }
}

impl Resource {
    pub(crate) fn sparse(&self) -> Result<&Sparse, DeviceError> {
        match &self.backing {
            Backing::Reserved(sparse) => Ok(sparse),
            _ => Err(DeviceError::broken_rule(CallRule::IsReserved)),
        }
    }

    pub(crate) fn tile_layout(&self) -> Result<TileLayout, DeviceError> {
        self.owner.alive()?;
        Ok(self.sparse()?.tiling.layout.clone())
    }
}

impl Resources {
    pub(crate) fn create_reserved(self: &Arc<Self>, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        self.alive()?;
        let plan = self.plan_reserved(desc)?;
        let bytes = self.needs_of_plan(&plan)?.memory.size;
        self.take_sparse(bytes)?;
        self.make_reserved(desc, &plan, bytes).inspect_err(|_| self.release_sparse(bytes))
    }

    fn make_reserved(
        self: &Arc<Self>,
        desc: &ResourceDesc,
        plan: &Plan<'_>,
        bytes: u64,
    ) -> Result<Resource, DeviceError> {
        let bare = self.create(plan)?;
        let needs = self.needs_of(bare.object).memory;
        let memory_types = needs.memory_type_bits & self.tables.general_types;
        let tiling = match (desc, bare.object) {
            (ResourceDesc::Texture(info), Object::Image(image)) => {
                Tiling::image(info, (needs.alignment, memory_types), &self.sparse_requirements(image)?)
            }
            _ => Tiling::buffer(needs.size, needs.alignment, memory_types),
        };
        let sparse = Box::new(Sparse { tiling, bytes, table: Mutex::default() });
        Ok(self.resource(bare.keep(), desc, plan, Backing::Reserved(sparse)))
    }

    /// Allocates address space for a sparse resource: all together have `sparseAddressSpaceSize`.
    fn take_sparse(&self, bytes: u64) -> Result<(), DeviceError> {
        let more = |taken: u64| taken.checked_add(bytes).filter(|sum| *sum <= self.tables.sparse_space);
        let taken = self.sparse_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        taken.map(drop).map_err(|_| DeviceError::OutOfDeviceMemory { what: "sparseAddressSpaceSize" })
    }

    /// Returns bytes from [`take_sparse`](Self::take_sparse).
    pub(crate) fn release_sparse(&self, bytes: u64) {
        self.sparse_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn plan_reserved<'a>(&self, desc: &'a ResourceDesc) -> Result<Plan<'a>, DeviceError> {
        check::reserved_usage(desc)?;
        match desc {
            ResourceDesc::Buffer(info) => {
                if !self.api.uses(OptionalFeatures::SPARSE_BUFFERS) {
                    return Err(unsupported("reserved (sparse) buffers"));
                }
                desc.validate()?;
                let most = self.tables.max_buffer.min(self.tables.sparse_space);
                self.plan_buffer(info, most, SPARSE_BUFFER, Handles::None)
            }
            ResourceDesc::Texture(info) => {
                self.check_sparse_texture(info)?;
                let plan = self.plan_image(info, SPARSE_IMAGE, Handles::None)?;
                self.check_sparse_format(&plan)?;
                Ok(Plan::Image { info, plan })
            }
        }
    }

    fn check_sparse_texture(&self, info: &TextureInfo) -> Result<(), DeviceError> {
        if !self.api.uses(OptionalFeatures::SPARSE_TEXTURES) {
            return Err(unsupported("reserved (sparse) textures"));
        }
        if info.dimension != Dimension::D2 {
            return Err(unsupported("reserved (sparse) 3D textures"));
        }
        if info.samples > 1 || info.usage.contains(Usage::DEPTH_STENCIL) || info.format.is_depth() {
            return Err(unsupported("reserved (sparse) depth-stencil or multisampled textures"));
        }
        Ok(())
    }

    fn check_sparse_format(&self, plan: &ImagePlan) -> Result<(), DeviceError> {
        let info = vk::PhysicalDeviceSparseImageFormatInfo2::default()
            .format(plan.format)
            .ty(plan.kind)
            .samples(vk::SampleCountFlags::TYPE_1)
            .usage(plan.usage)
            .tiling(vk::ImageTiling::OPTIMAL);
        let (instance, physical) = (&self.api.instance, self.api.physical);
        // SAFETY: the physical device is one of the instance's, the version at least 1.1.
        let kinds =
            unsafe { instance.get_physical_device_sparse_image_format_properties2_len(physical, &info) };
        if kinds == 0 { Err(unsupported("reserved (sparse) textures of this format")) } else { Ok(()) }
    }

    /// The tiling of the colour aspect of a sparse image.
    fn sparse_requirements(
        &self,
        image: vk::Image,
    ) -> Result<vk::SparseImageMemoryRequirements, DeviceError> {
        // SAFETY: the image is alive and was created for sparse residency.
        let found = unsafe { self.api.device.get_image_sparse_memory_requirements(image) };
        let is_of = |aspect| {
            move |found: &&vk::SparseImageMemoryRequirements| {
                found.format_properties.aspect_mask.contains(aspect)
            }
        };
        if found.iter().any(|found| is_of(vk::ImageAspectFlags::METADATA)(&found)) {
            return Err(unsupported("reserved (sparse) textures with metadata to be mapped"));
        }
        let color = found.iter().find(is_of(vk::ImageAspectFlags::COLOR)).copied();
        color.ok_or(unsupported("reserved (sparse) textures of this format"))
    }
}
