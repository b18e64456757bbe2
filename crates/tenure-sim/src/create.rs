//! Creation and destruction of heaps and resources.

use std::sync::Arc;

use parking_lot::Mutex;
use tenure_core::device::{
    Allowed, BufferInfo, CallRule, DeviceError, Features, HeapCategory, HeapDesc, MemoryFlags, MemoryTypeId,
    Priority, Requirements, ResourceDesc, StateModel, Usage, check,
};

use crate::clock::SharedClock;
use crate::hazard::{Checks, HazardKind};
use crate::layout::{Layout, TILE};
use crate::memory::{Bytes, Heap, HeapState, Memory, SharedMemory, Store, Tenant, TileTable, Written};
use crate::object::{Label, ObjectKind};
use crate::profile::Rules;
use crate::requirements::formats;
use crate::requirements::tiles;
use crate::requirements::{TOO_LARGE, memory_types, requirements};
use crate::resource::{Owners, Resource, ResourceState};
use crate::shared::Shared;
use crate::states::States;

fn kind(desc: &ResourceDesc) -> ObjectKind {
    match desc {
        ResourceDesc::Buffer(_) => ObjectKind::Buffer,
        ResourceDesc::Texture(_) => ObjectKind::Texture,
    }
}

/// The narrowest heap category that a resource may be in.
fn own_category(rules: Rules, desc: &ResourceDesc) -> HeapCategory {
    let target = desc.usage().intersects(Usage::TEXTURE_ONLY);
    match (desc, rules) {
        (ResourceDesc::Buffer(_), _) => HeapCategory::Buffers,
        (ResourceDesc::Texture(_), Rules::D3d12 { .. }) if target => HeapCategory::Targets,
        (ResourceDesc::Texture(_), _) => HeapCategory::Textures,
    }
}

impl Shared {
    fn memory_flags(&self, memory: MemoryTypeId) -> Result<MemoryFlags, DeviceError> {
        let types = &self.properties.memory_types;
        let found = types.get(usize::from(memory.0)).map(|memory| memory.flags);
        found.ok_or_else(|| {
            DeviceError::invalid_call(CallRule::MemoryTypeExists, u64::from(memory.0), types.len() as u64)
        })
    }

    fn check_heap(&self, desc: &HeapDesc) -> Result<(), DeviceError> {
        self.memory_flags(desc.memory)?;
        let smallest = self.properties.heap_alignment;
        if !desc.alignment.is_power_of_two() || desc.alignment < smallest {
            return Err(DeviceError::invalid_call(CallRule::HeapAlignment, desc.alignment, smallest));
        }
        let largest = self.properties.msaa_heap_alignment.max(smallest);
        if self.is_d3d12() && desc.alignment != smallest && desc.alignment != largest {
            return Err(DeviceError::invalid_call(CallRule::HeapAlignment, desc.alignment, largest));
        }
        check::heap_size(desc, self.properties.max_heap_size)
    }

    pub(crate) fn create_heap(&self, desc: &HeapDesc) -> Result<Heap, DeviceError> {
        self.check_heap(desc)?;
        self.memory.take(&self.properties, desc.memory, desc.size)?;
        let address = self.addresses(desc.size, desc.alignment).inspect_err(|_| {
            self.memory.release(&self.properties, desc.memory, desc.size);
        })?;
        let label = self.register.create(ObjectKind::Heap);
        self.note_block(&label, desc.memory, desc.size, desc.priority);
        Ok(Heap { state: Arc::new(HeapState::new(label, desc.clone(), address, self.zeroed)) })
    }

    pub(crate) fn destroy_heap(&self, heap: &Heap) {
        let state = &heap.state;
        if let Some((first, count)) = state.tenants() {
            let detail = format!("{count} resources are still placed in it");
            let kind = HazardKind::HeapDestroyedFirst;
            self.report(Checks::LIFETIME, kind, &[&state.label, &first], detail, "destroy_heap");
        }
        self.check_unused(&state.label, &state.last_use, HazardKind::DestroyedInUse, "destroy_heap");
        self.register.destroy(&state.label);
        self.forget_block(&state.label);
        self.memory.release(&self.properties, state.desc.memory, state.desc.size);
    }

    /// Input attachments exist only in sets, and Direct3D 12 multisamples only targets.
    fn check_usage(&self, desc: &ResourceDesc) -> Result<(), DeviceError> {
        let is_multisampled = matches!(desc, ResourceDesc::Texture(info) if info.samples > 1);
        let usage = desc.usage();
        let is_target = usage.intersects(Usage::TEXTURE_ONLY) && !usage.contains(Usage::UNORDERED_ACCESS);
        if self.is_d3d12() && is_multisampled && !is_target {
            return Err(DeviceError::Unsupported { feature: "multisampled textures that are no targets" });
        }
        if desc.usage().contains(Usage::INPUT_ATTACHMENT) && !self.properties.descriptors.sets {
            return Err(DeviceError::Unsupported { feature: "input attachments" });
        }
        Ok(())
    }

    pub(crate) fn requirements_of(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        let needs = requirements(&self.properties, self.rules, desc)?;
        self.check_usage(desc)?;
        formats::check(self.formats, desc)?;
        let is_shared = desc.usage().contains(Usage::SHARED);
        let requires_dedicated = needs.requires_dedicated || self.requires_dedicated || is_shared;
        let prefers_dedicated = needs.prefers_dedicated || self.prefers_dedicated || requires_dedicated;
        let memory_types =
            if is_shared { needs.memory_types & self.shareable_types() } else { needs.memory_types };
        Ok(Requirements { prefers_dedicated, requires_dedicated, memory_types, ..needs })
    }

    /// The memory types that can be shared: on Direct3D 12 the ones that are not host-visible.
    fn shareable_types(&self) -> u32 {
        let is_d3d12 = self.is_d3d12();
        memory_types(&self.properties, |flags| !is_d3d12 || !flags.contains(MemoryFlags::HOST_VISIBLE))
    }

    fn check_memory_type(
        &self,
        needs: &Requirements,
        memory: MemoryTypeId,
    ) -> Result<MemoryFlags, DeviceError> {
        let flags = self.memory_flags(memory)?;
        check::memory_type(needs.memory_types, memory)?;
        Ok(flags)
    }

    fn layout(desc: &ResourceDesc) -> Result<Layout, DeviceError> {
        let too_large = || DeviceError::invalid_desc("size", u64::MAX, Allowed::Rule(TOO_LARGE));
        Layout::linear(desc).ok_or_else(too_large)
    }

    /// Creates a resource by the description `created`, and reports `desc` as its description.
    pub(crate) fn create_committed(
        &self,
        created: &ResourceDesc,
        desc: &ResourceDesc,
        memory: MemoryTypeId,
    ) -> Result<Resource, DeviceError> {
        let needs = self.requirements_of(created)?;
        let size = self.properties.committed_size(&needs);
        let flags = self.check_memory_type(&needs, memory)?;
        check::at_most(CallRule::ResourceTooLarge, size, self.properties.max_heap_size)?;
        let layout = Self::layout(desc)?;
        self.memory.take(&self.properties, memory, size)?;
        let address = self.addresses(size, needs.alignment).inspect_err(|_| {
            self.memory.release(&self.properties, memory, size);
        })?;
        let written = Written::new(layout.bytes());
        if self.zeroed {
            written.insert(0..layout.bytes());
        }
        let store = Arc::new(Store::new(size, self.zeroed));
        let label = self.register.create(kind(desc));
        self.note_block(&label, memory, size, desc.usage().priority());
        let written = Arc::new(written);
        let sharing = self.share(desc, &store.bytes, &written);
        let memory = Memory::Committed { store, memory, size, is_counted: true };
        Ok(self.resource(label, desc, layout, memory, (flags, address), (written, sharing)))
    }

    /// The memory of a new shared resource.
    fn share(
        &self,
        desc: &ResourceDesc,
        bytes: &Arc<Bytes>,
        written: &Arc<Written>,
    ) -> Option<Arc<SharedMemory>> {
        desc.usage().contains(Usage::SHARED).then(|| {
            let memory = SharedMemory::new(bytes, written, self.number);
            self.shares.note(&memory);
            memory
        })
    }

    /// Creates a resource in the memory of another device's.
    pub(crate) fn create_imported(
        &self,
        desc: &ResourceDesc,
        sharing: &Arc<SharedMemory>,
        (memory, size): (MemoryTypeId, u64),
    ) -> Result<Resource, DeviceError> {
        let needs = self.requirements_of(desc)?;
        let flags = self.check_memory_type(&needs, memory)?;
        let layout = Self::layout(desc)?;
        let address = self.addresses(needs.size, needs.alignment)?;
        let (bytes, written) = sharing.parts();
        let store = Arc::new(Store::over(bytes));
        let memory = Memory::Committed { store, memory, size, is_counted: false };
        let label = self.register.create(kind(desc));
        let parts = (written, Some(Arc::clone(sharing)));
        Ok(self.resource(label, desc, layout, memory, (flags, address), parts))
    }

    /// A heap accepts its own category, or all categories if the device supports such heaps.
    pub(crate) fn check_category(&self, desc: &ResourceDesc, heap: &HeapState) -> Result<(), DeviceError> {
        let apart =
            matches!(self.rules, Rules::D3d12 { tier1: true, .. } | Rules::Vulkan { split: true, .. });
        check::category(own_category(self.rules, desc), heap.desc.category, !apart)
    }

    fn check_placement(
        &self,
        desc: &ResourceDesc,
        needs: &Requirements,
        heap: &HeapState,
        offset: u64,
    ) -> Result<(), DeviceError> {
        self.check_category(desc, heap)?;
        check::placement(needs, (heap.memory(), heap.desc.size), offset)?;
        let heap_alignment = self.properties.heap_alignment_for(desc, needs);
        if self.is_d3d12() {
            check::at_most(CallRule::HeapAlignedAsResource, heap_alignment, heap.desc.alignment)?;
        }
        Ok(())
    }

    pub(crate) fn create_placed(
        &self,
        desc: &ResourceDesc,
        heap: &Heap,
        offset: u64,
    ) -> Result<Resource, DeviceError> {
        let heap = &heap.state;
        let needs = self.requirements_of(desc)?;
        let flags = self.check_memory_type(&needs, heap.memory())?;
        self.check_placement(desc, &needs, heap, offset)?;
        let range = offset..offset + needs.size;
        if self.is_d3d12() && heap.buffer_apart(desc, &range).is_some() {
            return Err(DeviceError::invalid_value(CallRule::StructuresApart, offset));
        }
        let layout = Self::layout(desc)?;
        let label = self.register.create(kind(desc));
        let written = Written::new(layout.bytes());
        let fresh = heap.place(&label, desc, range);
        // Targets come with compression data that zeroes do not initialise.
        if self.zeroed && !desc.usage().intersects(Usage::TEXTURE_ONLY) {
            for range in fresh {
                let end = (range.end - offset).min(layout.bytes());
                written.insert((range.start - offset).min(end)..end);
            }
        }
        let states = Arc::new(Mutex::new(States::new(&self.properties, desc, flags)));
        let tenant = Arc::new(Tenant::new(Arc::clone(&label), states));
        let address = heap.address + offset;
        let memory = Memory::Placed { heap: Arc::clone(heap), tenant, offset, size: needs.size };
        Ok(self.resource(label, desc, layout, memory, (flags, address), (Arc::new(written), None)))
    }

    pub(crate) fn create_reserved(&self, desc: &ResourceDesc) -> Result<Resource, DeviceError> {
        check::reserved_usage(desc)?;
        let layout = tiles::layout(&self.properties, desc, || self.tile_types(desc))?;
        self.check_usage(desc)?;
        formats::check(self.formats, desc)?;
        let address = self.addresses(layout.bytes(), TILE)?;
        let label = self.register.create(kind(desc));
        let written = Written::new(layout.bytes());
        if self.reads_unmapped_tiles() {
            written.insert(0..layout.bytes());
        }
        let memory = Memory::Reserved(Mutex::new(TileTable::default()));
        Ok(self.resource(
            label,
            desc,
            layout,
            memory,
            (MemoryFlags::empty(), address),
            (Arc::new(written), None),
        ))
    }

    /// The memory types that tiles can be mapped to: among the types that the resource can be placed in, the
    /// device-local ones that are not host-visible, as on Direct3D 12 and with NVIDIA's driver for Vulkan.
    pub(crate) fn tile_types(&self, desc: &ResourceDesc) -> Result<u32, DeviceError> {
        let placed = self.requirements_of(&least(desc))?.memory_types;
        let is_local = |flags: MemoryFlags| flags.contains(MemoryFlags::DEVICE_LOCAL);
        let is_own = |flags: MemoryFlags| is_local(flags) && !flags.contains(MemoryFlags::HOST_VISIBLE);
        let own = memory_types(&self.properties, is_own) & placed;
        // On unified memory the CPU sees all of it.
        Ok(if own == 0 { memory_types(&self.properties, is_local) & placed } else { own })
    }

    fn note_block(&self, label: &Arc<Label>, memory: MemoryTypeId, size: u64, priority: Priority) {
        if let Some(pager) = &self.pager {
            pager.created(label, memory, size, priority);
        }
    }

    fn forget_block(&self, label: &Label) {
        if let Some(pager) = &self.pager {
            pager.destroyed(label.id);
        }
    }

    fn resource(
        &self,
        label: Arc<Label>,
        desc: &ResourceDesc,
        layout: Layout,
        memory: Memory,
        (flags, address): (MemoryFlags, u64),
        (written, sharing): (Arc<Written>, Option<Arc<SharedMemory>>),
    ) -> Resource {
        let has_address = self.properties.features.contains(Features::DEVICE_ADDRESS)
            && (matches!(desc, ResourceDesc::Buffer(_)) || self.page_faults);
        let states = match &memory {
            Memory::Placed { tenant, .. } => Arc::clone(&tenant.states),
            _ => Arc::new(Mutex::new(States::new(&self.properties, desc, flags))),
        };
        // Images of swap chains count as initialised, and so do resources that another device has had.
        let is_target = desc.usage().intersects(Usage::RENDER_TARGET | Usage::DEPTH_STENCIL)
            && !desc.usage().contains(Usage::PRESENT)
            && sharing.is_none()
            && self.properties.state_model == StateModel::Promotion;
        let initialized = is_target.then(|| Written::new(layout.bytes()));
        Resource {
            state: Arc::new(ResourceState {
                label,
                desc: desc.clone(),
                layout,
                initialized,
                memory,
                flags,
                address: has_address.then_some(address),
                virtual_address: address,
                last_use: SharedClock::default(),
                written,
                sharing,
                device: self.number,
                states,
                unordered: Mutex::default(),
                structures: Mutex::default(),
                owners: Owners::default(),
                hidden: Mutex::default(),
            }),
        }
    }

    pub(crate) fn destroy_resource(&self, resource: &Resource) {
        let state = &resource.state;
        self.check_unused(&state.label, &state.last_use, HazardKind::DestroyedInUse, "destroy_resource");
        self.register.destroy(&state.label);
        self.forget_block(&state.label);
        match &state.memory {
            Memory::Committed { memory, size, is_counted: true, .. } => {
                self.memory.release(&self.properties, *memory, *size);
            }
            Memory::Placed { heap, tenant, offset, size } => heap.free(tenant, *offset..offset + size),
            Memory::Committed { .. } | Memory::Reserved(_) => {}
        }
    }
}

/// The same resource, but of one byte for buffers: reserved buffers may be larger than any other.
fn least(desc: &ResourceDesc) -> ResourceDesc {
    match desc {
        ResourceDesc::Buffer(info) => ResourceDesc::Buffer(BufferInfo::new(1, info.usage)),
        ResourceDesc::Texture(_) => desc.clone(),
    }
}
