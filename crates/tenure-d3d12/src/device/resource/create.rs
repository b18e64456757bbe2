//! Creation of heaps and resources.

use std::sync::Arc;

use tenure_core::device::{
    CallRule, DeviceError, HeapBudget, HeapCategory, HeapDesc, MemoryDevice, MemoryTypeId, Permit, Priority,
    Requirements, ResourceDesc, Usage, check,
};
use tenure_core::emit;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_LAYOUT, D3D12_BARRIER_LAYOUT_COMMON, D3D12_BARRIER_LAYOUT_UNDEFINED, D3D12_CLEAR_VALUE,
    D3D12_CPU_PAGE_PROPERTY_UNKNOWN, D3D12_HEAP_DESC, D3D12_HEAP_FLAG_ALLOW_ALL_BUFFERS_AND_TEXTURES,
    D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
    D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES, D3D12_HEAP_FLAGS, D3D12_HEAP_PROPERTIES, D3D12_HEAP_TYPE,
    D3D12_HEAP_TYPE_DEFAULT, D3D12_HEAP_TYPE_GPU_UPLOAD, D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_TYPE_UPLOAD,
    D3D12_MEMORY_POOL_UNKNOWN, D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST,
    D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE,
    D3D12_RESOURCE_STATES, ID3D12Device10, ID3D12Heap, ID3D12Pageable, ID3D12ProtectedResourceSession,
    ID3D12Resource,
};
use windows::core::Interface;

use crate::Device;
use crate::device::error::Asked;
use crate::device::inner::{Inner, made};
use crate::device::memory::heap::{Heap, HeapCore};
use crate::device::memory::mapping::Mapping;
use crate::device::memory::requirements::{READBACK, UPLOAD};
use crate::device::memory::residency::residency_priority;
use crate::device::resource::desc::Described;
use crate::device::resource::object::{Memory, Resource};

/// The heap type of a memory type.
const fn heap_type(memory: MemoryTypeId) -> D3D12_HEAP_TYPE {
    match memory.0 {
        1 => D3D12_HEAP_TYPE_UPLOAD,
        2 => D3D12_HEAP_TYPE_READBACK,
        3 => D3D12_HEAP_TYPE_GPU_UPLOAD,
        _ => D3D12_HEAP_TYPE_DEFAULT,
    }
}

const fn heap_properties(memory: MemoryTypeId) -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES {
        Type: heap_type(memory),
        CPUPageProperty: D3D12_CPU_PAGE_PROPERTY_UNKNOWN,
        MemoryPoolPreference: D3D12_MEMORY_POOL_UNKNOWN,
        CreationNodeMask: 0,
        VisibleNodeMask: 0,
    }
}

const fn category_flags(category: HeapCategory) -> D3D12_HEAP_FLAGS {
    match category {
        HeapCategory::Any => D3D12_HEAP_FLAG_ALLOW_ALL_BUFFERS_AND_TEXTURES,
        HeapCategory::Buffers => D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
        HeapCategory::Targets => D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
        HeapCategory::Textures => D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
    }
}

/// The narrowest category of heap that a resource may be in.
fn own_category(desc: &ResourceDesc) -> HeapCategory {
    match desc {
        ResourceDesc::Buffer(_) => HeapCategory::Buffers,
        ResourceDesc::Texture(info) if info.usage.intersects(Usage::TEXTURE_ONLY) => HeapCategory::Targets,
        ResourceDesc::Texture(_) => HeapCategory::Textures,
    }
}

/// The only state that the heap type or the usage allows, or the state of an unused resource.
const fn initial_state(desc: &ResourceDesc, memory: MemoryTypeId) -> D3D12_RESOURCE_STATES {
    match memory {
        UPLOAD => D3D12_RESOURCE_STATE_GENERIC_READ,
        READBACK => D3D12_RESOURCE_STATE_COPY_DEST,
        _ if desc.usage().contains(Usage::ACCELERATION_STRUCTURE) => {
            D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE
        }
        _ => D3D12_RESOURCE_STATE_COMMON,
    }
}

/// The layout of a new resource: none for a buffer, `COMMON` for a texture. Copy queues cannot change a layout, and use
/// textures in `COMMON` without a barrier. A first use on another queue may still discard the contents.
pub(crate) const fn initial_layout(desc: &ResourceDesc) -> D3D12_BARRIER_LAYOUT {
    match desc {
        ResourceDesc::Buffer(_) => D3D12_BARRIER_LAYOUT_UNDEFINED,
        ResourceDesc::Texture(_) => D3D12_BARRIER_LAYOUT_COMMON,
    }
}

pub(crate) const NO_SESSION: Option<&ID3D12ProtectedResourceSession> = None;

impl MemoryDevice for Device {
    type Heap = Heap;
    type Resource = Resource;
    type Mapping = Mapping;

    fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        self.inner.look()?;
        self.inner.requirements(desc)
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap, DeviceError> {
        self.inner.look()?;
        self.inner.check_heap(desc)?;
        let flags = category_flags(desc.category) | self.inner.caps.heap_flags();
        let raw_desc = D3D12_HEAP_DESC {
            SizeInBytes: desc.size,
            Properties: heap_properties(desc.memory),
            Alignment: desc.alignment,
            Flags: flags,
        };
        let mut raw: Option<ID3D12Heap> = None;
        // SAFETY: both pointers are to locals that outlive the call.
        unsafe { self.inner.raw.CreateHeap(&raw const raw_desc, &raw mut raw) }.map_err(|error| {
            self.inner.fail(&error, Asked::Memory { bytes: desc.size, memory: desc.memory })
        })?;
        let raw = made(raw, "CreateHeap makes a heap")?;
        self.inner.set_priority(&raw, desc.priority, desc.size);
        self.inner.messages.deliver();
        Ok(Heap::new(&self.inner, raw, desc.clone()))
    }

    fn destroy_heap(&self, _: Permit<Self>, heap: Heap) {
        let residents = heap.core.residents();
        if residents > 0 {
            self.inner.counters.heap_destroyed_early();
            emit(move || {
                tracing::error!(target: "tenure_d3d12", residents, "a heap is destroyed before what is placed in it");
            });
        }
        drop(heap);
    }

    fn create_committed(&self, desc: &ResourceDesc, memory: MemoryTypeId) -> Result<Resource, DeviceError> {
        self.inner.look()?;
        let (described, needs) = self.inner.needs(desc)?;
        self.inner.check_memory_type(&needs, memory)?;
        self.inner.check_size(needs.size, memory)?;
        let heap = heap_properties(memory);
        let clear = described.clear.as_ref().map(std::ptr::from_ref::<D3D12_CLEAR_VALUE>);
        let mut raw: Option<ID3D12Resource> = None;
        let answer = match self.inner.layouts_for(&described) {
            // SAFETY: all pointers are to locals that outlive the call.
            Some(device) => unsafe {
                device.CreateCommittedResource3(
                    &raw const heap,
                    described.committed,
                    &raw const described.desc,
                    initial_layout(desc),
                    clear,
                    NO_SESSION,
                    (!described.castable.is_empty()).then_some(&described.castable),
                    &raw mut raw,
                )
            },
            // SAFETY: as above.
            None => unsafe {
                self.inner.raw.CreateCommittedResource(
                    &raw const heap,
                    described.committed,
                    &described.older(),
                    initial_state(desc, memory),
                    clear,
                    &raw mut raw,
                )
            },
        };
        answer.map_err(|error| self.inner.fail(&error, Asked::Memory { bytes: needs.size, memory }))?;
        let raw = made(raw, "CreateCommittedResource makes a resource")?;
        self.inner.messages.deliver();
        Ok(Resource::new(&self.inner, raw, desc.clone(), memory, Memory::Committed))
    }

    fn create_placed(
        &self,
        _: Permit<Self>,
        desc: &ResourceDesc,
        heap: &Heap,
        offset: u64,
    ) -> Result<Resource, DeviceError> {
        self.inner.look()?;
        let heap = &heap.core;
        let (described, needs) = self.inner.needs(desc)?;
        self.inner.check_placement(desc, &needs, heap, offset)?;
        let memory = heap.desc.memory;
        let clear = described.clear.as_ref().map(std::ptr::from_ref::<D3D12_CLEAR_VALUE>);
        let mut raw: Option<ID3D12Resource> = None;
        let answer = match self.inner.layouts_for(&described) {
            // SAFETY: the heap is alive and of this device, the range lies inside it, and all
            // pointers are to locals that outlive the call.
            Some(device) => unsafe {
                device.CreatePlacedResource2(
                    &heap.raw,
                    offset,
                    &raw const described.desc,
                    initial_layout(desc),
                    clear,
                    (!described.castable.is_empty()).then_some(&described.castable),
                    &raw mut raw,
                )
            },
            // SAFETY: as above.
            None => unsafe {
                self.inner.raw.CreatePlacedResource(
                    &heap.raw,
                    offset,
                    &described.older(),
                    initial_state(desc, memory),
                    clear,
                    &raw mut raw,
                )
            },
        };
        answer.map_err(|error| self.inner.fail(&error, Asked::Memory { bytes: needs.size, memory }))?;
        let raw = made(raw, "CreatePlacedResource makes a resource")?;
        self.inner.messages.deliver();
        Ok(Resource::new(&self.inner, raw, desc.clone(), memory, Memory::Placed(Arc::clone(heap))))
    }

    fn destroy_resource(&self, _: Permit<Self>, resource: Resource) {
        drop(resource);
    }

    fn map(&self, resource: &Resource) -> Result<Mapping, DeviceError> {
        self.inner.map(resource)
    }

    fn gpu_address(&self, resource: &Resource) -> Option<u64> {
        (resource.address != 0).then_some(resource.address)
    }

    fn budget(&self) -> Result<Vec<HeapBudget>, DeviceError> {
        self.inner.budget()
    }
}

impl Inner {
    /// The interface for layouts and castable formats, if the resource needs it.
    pub(crate) fn layouts_for(&self, described: &Described) -> Option<&ID3D12Device10> {
        let is_needed = self.caps.enhanced_barriers || !described.castable.is_empty();
        self.interfaces.device10.as_ref().filter(|_| is_needed)
    }

    /// Checks that the memory type exists and has the size. Windows would return address space for more.
    fn check_size(&self, size: u64, memory: MemoryTypeId) -> Result<(), DeviceError> {
        let types = &self.properties.memory_types;
        let Some(memory_type) = types.get(usize::from(memory.0)) else {
            return Err(DeviceError::invalid_call(
                CallRule::MemoryTypeExists,
                u64::from(memory.0),
                types.len() as u64,
            ));
        };
        let heap = self.properties.memory_heaps.get(usize::from(memory_type.heap));
        match heap {
            Some(heap) if size <= heap.size => Ok(()),
            _ => Err(DeviceError::OutOfMemory { requested: size, memory }),
        }
    }

    fn check_heap(&self, desc: &HeapDesc) -> Result<(), DeviceError> {
        let (small, large) = (self.properties.heap_alignment, self.properties.msaa_heap_alignment);
        if desc.alignment != small && desc.alignment != large {
            return Err(DeviceError::invalid_call(CallRule::HeapAlignment, desc.alignment, large));
        }
        check::heap_size(desc, self.properties.max_heap_size)?;
        if desc.category == HeapCategory::Any && !self.caps.heap_tier_2 {
            return Err(DeviceError::broken_rule(CallRule::HeapForEverything));
        }
        self.check_size(desc.size, desc.memory)
    }

    /// Sets the priority of a heap, unless it is the default.
    fn set_priority(&self, heap: &ID3D12Heap, priority: Priority, size: u64) {
        if let (true, Ok(pageable)) = (priority != Priority::Normal, heap.cast::<ID3D12Pageable>()) {
            self.hint(pageable, residency_priority(priority, size));
        }
    }

    fn check_memory_type(&self, needs: &Requirements, memory: MemoryTypeId) -> Result<(), DeviceError> {
        self.check_size(0, memory)?;
        check::memory_type(needs.memory_types, memory)
    }

    /// Refuses a heap of another category than the resource's, unless it is for all categories.
    pub(crate) fn check_category(desc: &ResourceDesc, heap: &HeapCore) -> Result<(), DeviceError> {
        check::category(own_category(desc), heap.desc.category, true)
    }

    /// Checks errors that the runtime might accept: they fail on Windows, or silently use separate memory in
    /// other implementations.
    fn check_placement(
        self: &Arc<Self>,
        desc: &ResourceDesc,
        needs: &Requirements,
        heap: &HeapCore,
        offset: u64,
    ) -> Result<(), DeviceError> {
        if !Arc::ptr_eq(self, &heap.device) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        self.check_size(0, heap.desc.memory)?;
        Self::check_category(desc, heap)?;
        check::placement(needs, (heap.desc.memory, heap.desc.size), offset)?;
        let aligned = self.properties.heap_alignment_for(desc, needs);
        check::at_most(CallRule::HeapAlignedAsResource, aligned, heap.desc.alignment)
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::TextureDesc;
    use tenure_core::device::{BufferInfo, Format, HeapCategory, ResourceDesc, Usage};
    use windows::Win32::Graphics::Direct3D12::{
        D3D12_HEAP_FLAG_DENY_BUFFERS, D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES,
        D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES, D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COPY_DEST,
        D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE,
    };

    use super::{category_flags, initial_state, own_category};
    use crate::device::memory::requirements::{GPU_ONLY, GPU_UPLOAD, READBACK, UPLOAD};

    #[test]
    fn each_category_denies_the_others() {
        let (buffers, targets, textures) = (
            D3D12_HEAP_FLAG_DENY_BUFFERS,
            D3D12_HEAP_FLAG_DENY_RT_DS_TEXTURES,
            D3D12_HEAP_FLAG_DENY_NON_RT_DS_TEXTURES,
        );
        for (category, denied) in [
            (HeapCategory::Any, category_flags(HeapCategory::Any)),
            (HeapCategory::Buffers, targets | textures),
            (HeapCategory::Targets, buffers | textures),
            (HeapCategory::Textures, buffers | targets),
        ] {
            assert_eq!(category_flags(category), denied, "{category:?}");
        }
        assert_eq!(category_flags(HeapCategory::Any).0, 0);
        let texture = |usage| ResourceDesc::Texture(TextureDesc::d2(4, 4, Format::R32Float, usage).info);
        assert_eq!(own_category(&texture(Usage::RENDER_TARGET | Usage::SHADER_READ)), HeapCategory::Targets);
        assert_eq!(own_category(&texture(Usage::UNORDERED_ACCESS)), HeapCategory::Textures);
    }

    #[test]
    fn heap_types_fix_the_initial_state() {
        let buffer = |usage| ResourceDesc::Buffer(BufferInfo::new(4, usage));
        let of = |memory| initial_state(&buffer(Usage::COPY_SRC), memory);
        assert_eq!(of(UPLOAD), D3D12_RESOURCE_STATE_GENERIC_READ);
        assert_eq!(of(READBACK), D3D12_RESOURCE_STATE_COPY_DEST);
        assert_eq!(
            (of(GPU_ONLY), of(GPU_UPLOAD)),
            (D3D12_RESOURCE_STATE_COMMON, D3D12_RESOURCE_STATE_COMMON)
        );
        let structure = initial_state(&buffer(Usage::ACCELERATION_STRUCTURE), GPU_ONLY);
        assert_eq!(structure, D3D12_RESOURCE_STATE_RAYTRACING_ACCELERATION_STRUCTURE);
    }
}
