//! Heaps: `CreateHeap`.

use tenure_heap::{
    HeapBudget, HeapCategory, HeapDesc, HeapDevice, HeapError, HeapProperties, MemoryFlags, MemoryHeap,
    MemoryType, MemoryTypeId,
};
use windows::Win32::Foundation::E_OUTOFMEMORY;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE,
    D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT, D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT,
    D3D12_FEATURE, D3D12_FEATURE_ARCHITECTURE, D3D12_FEATURE_D3D12_OPTIONS, D3D12_FEATURE_DATA_ARCHITECTURE,
    D3D12_FEATURE_DATA_D3D12_OPTIONS, D3D12_HEAP_DESC, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
    D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES, D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
    D3D12_HEAP_FLAG_NONE, D3D12_HEAP_PROPERTIES, D3D12_HEAP_TYPE_CUSTOM, D3D12_HEAP_TYPE_DEFAULT,
    D3D12_MEMORY_POOL_L0, D3D12_RESOURCE_HEAP_TIER_1, ID3D12Device, ID3D12Heap,
};
use windows::Win32::Graphics::Dxgi::{
    DXGI_ERROR_DEVICE_HUNG, DXGI_ERROR_DEVICE_REMOVED, DXGI_ERROR_DEVICE_RESET,
};
use windows::core::Error;

use super::ResourceCategory;
use super::budget::Budget;
use super::faults::Faults;
use crate::engine::MemoryCount;
use crate::{AllocationError, MemoryLocation, Result};

/// The largest heap to request, in bytes. The runtime refuses large heaps well below that.
const MAX_HEAP: u64 = 1 << 40;

/// The memory types: GPU only, CPU writes, CPU reads.
pub(super) const GPU_ONLY: MemoryTypeId = MemoryTypeId(0);
const CPU_TO_GPU: MemoryTypeId = MemoryTypeId(1);
const GPU_TO_CPU: MemoryTypeId = MemoryTypeId(2);

/// A heap, with its memory type and size for the count.
pub(super) struct Heap {
    pub(super) raw: ID3D12Heap,
    memory: MemoryTypeId,
    size: u64,
}

// SAFETY: Direct3D 12 allows heaps to be used by any threads concurrently. Only `windows` 0.59 does not declare it.
unsafe impl Send for Heap {}
// SAFETY: as above.
unsafe impl Sync for Heap {}

/// The memory of a device.
pub(super) struct Heaps {
    properties: HeapProperties,
    is_tier_1: bool,
    count: MemoryCount,
    faults: Faults,
    /// `None` if DXGI reports no budget; then `count` replaces it.
    budget: Option<Budget>,
    device: ID3D12Device,
}

// SAFETY: Direct3D 12 devices and DXGI adapters may be used by any threads concurrently. Only `windows` 0.59 does not
// declare it.
unsafe impl Send for Heaps {}
// SAFETY: as above.
unsafe impl Sync for Heaps {}

/// The memory types for a location. There is only one: the types differ in CPU access, and Windows itself pages
/// default heaps out if they do not fit.
pub(super) const fn order(location: MemoryLocation) -> &'static [MemoryTypeId] {
    match location {
        MemoryLocation::Unknown => &[GPU_ONLY, CPU_TO_GPU, GPU_TO_CPU],
        MemoryLocation::GpuOnly => &[GPU_ONLY],
        MemoryLocation::CpuToGpu => &[CPU_TO_GPU],
        MemoryLocation::GpuToCpu => &[GPU_TO_CPU],
    }
}

/// Queries a feature of the device.
fn query<T: Default>(device: &ID3D12Device, feature: D3D12_FEATURE) -> Result<T> {
    let mut data = T::default();
    let bytes = size_of::<T>() as u32;
    // SAFETY: the pointer is to a local of the given size, which outlives the call.
    let answer = unsafe { device.CheckFeatureSupport(feature, (&raw mut data).cast(), bytes) };
    answer.map_err(|error| AllocationError::Internal(format!("CheckFeatureSupport: {error}")))?;
    Ok(data)
}

/// The heap type of a memory type. Resources in custom heaps may have any state.
pub(super) fn heap_properties(memory: MemoryTypeId) -> D3D12_HEAP_PROPERTIES {
    let custom = |page| D3D12_HEAP_PROPERTIES {
        Type: D3D12_HEAP_TYPE_CUSTOM,
        CPUPageProperty: page,
        MemoryPoolPreference: D3D12_MEMORY_POOL_L0,
        ..Default::default()
    };
    match memory {
        CPU_TO_GPU => custom(D3D12_CPU_PAGE_PROPERTY_WRITE_COMBINE),
        GPU_TO_CPU => custom(D3D12_CPU_PAGE_PROPERTY_WRITE_BACK),
        _ => D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() },
    }
}

impl Heaps {
    pub(super) fn new(device: ID3D12Device, faults: Faults) -> Result<Self> {
        let options: D3D12_FEATURE_DATA_D3D12_OPTIONS = query(&device, D3D12_FEATURE_D3D12_OPTIONS)?;
        let architecture: D3D12_FEATURE_DATA_ARCHITECTURE = query(&device, D3D12_FEATURE_ARCHITECTURE)?;
        // If CPU and GPU share their memory, Windows counts all of it as device-local.
        let beside = if architecture.UMA.as_bool() { 0 } else { 1 };
        let mapped = MemoryFlags::HOST_VISIBLE | MemoryFlags::HOST_COHERENT;
        let properties = HeapProperties {
            memory_types: vec![
                MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 },
                MemoryType { flags: mapped, heap: beside },
                MemoryType { flags: mapped | MemoryFlags::HOST_CACHED, heap: beside },
            ],
            memory_heaps: (0..=beside)
                .map(|heap| MemoryHeap { size: MAX_HEAP, device_local: heap == 0 })
                .collect(),
            heap_alignment: u64::from(D3D12_DEFAULT_RESOURCE_PLACEMENT_ALIGNMENT),
            msaa_heap_alignment: u64::from(D3D12_DEFAULT_MSAA_RESOURCE_PLACEMENT_ALIGNMENT),
            non_coherent_atom: 1,
            max_heap_size: MAX_HEAP,
            max_allocations: u64::from(u32::MAX),
        };
        Ok(Self {
            count: MemoryCount::new(properties.memory_heaps.len()),
            properties,
            is_tier_1: options.ResourceHeapTier == D3D12_RESOURCE_HEAP_TIER_1,
            faults,
            budget: Budget::of(&device),
            device,
        })
    }

    pub(super) const fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The heap category for these resources.
    pub(super) const fn category(&self, category: ResourceCategory) -> HeapCategory {
        match (self.is_tier_1, category) {
            (false, _) => HeapCategory::Any,
            (true, ResourceCategory::Buffer) => HeapCategory::Buffers,
            (true, ResourceCategory::RtvDsvTexture) => HeapCategory::Targets,
            (true, ResourceCategory::OtherTexture) => HeapCategory::Textures,
        }
    }

    /// Converts the error of a call.
    pub(super) fn refusal(
        &self,
        call: &'static str,
        error: &Error,
        requested: u64,
        memory: MemoryTypeId,
    ) -> HeapError {
        match error.code() {
            E_OUTOFMEMORY => HeapError::OutOfMemory { requested, memory },
            DXGI_ERROR_DEVICE_REMOVED | DXGI_ERROR_DEVICE_HUNG | DXGI_ERROR_DEVICE_RESET => {
                // SAFETY: a query without pointers.
                let reason = unsafe { self.device.GetDeviceRemovedReason() };
                let reason = reason.map_or_else(|reason| reason.to_string(), |()| error.to_string());
                HeapError::Lost { reason: format!("{call}: {reason}") }
            }
            code => {
                let code = u64::from(code.0.cast_unsigned());
                HeapError::Failed { call, code }
            }
        }
    }

    fn make(&self, desc: &HeapDesc) -> Result<ID3D12Heap, HeapError> {
        let raw_desc = D3D12_HEAP_DESC {
            SizeInBytes: desc.size,
            Properties: heap_properties(desc.memory),
            // Targets may be multisampled, which no description of a heap tells, also with an alignment of 64 KiB.
            Alignment: match desc.category {
                HeapCategory::Any | HeapCategory::Targets => self.properties.msaa_heap_alignment,
                HeapCategory::Buffers | HeapCategory::Textures => desc.alignment,
            },
            Flags: match desc.category {
                HeapCategory::Any => D3D12_HEAP_FLAG_NONE,
                HeapCategory::Buffers => D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS,
                HeapCategory::Targets => D3D12_HEAP_FLAG_ALLOW_ONLY_RT_DS_TEXTURES,
                HeapCategory::Textures => D3D12_HEAP_FLAG_ALLOW_ONLY_NON_RT_DS_TEXTURES,
            },
        };
        let mut raw: Option<ID3D12Heap> = None;
        // SAFETY: both pointers are to locals that outlive the call.
        unsafe { self.device.CreateHeap(&raw const raw_desc, &raw mut raw) }
            .map_err(|error| self.refusal("CreateHeap", &error, desc.size, desc.memory))?;
        raw.ok_or(HeapError::Failed { call: "CreateHeap", code: 0 })
    }
}

impl HeapDevice for Heaps {
    type Heap = Heap;
    type Error = HeapError;

    fn properties(&self) -> HeapProperties {
        self.properties.clone()
    }

    fn create_heap(&self, desc: &HeapDesc) -> Result<Heap, HeapError> {
        self.count.add(&self.properties, desc.memory, desc.size)?;
        match self.make(desc) {
            Ok(raw) => Ok(Heap { raw, memory: desc.memory, size: desc.size }),
            Err(error) => {
                self.count.remove(&self.properties, desc.memory, desc.size);
                Err(error)
            }
        }
    }

    fn destroy_heap(&self, heap: Heap) {
        self.count.remove(&self.properties, heap.memory, heap.size);
    }

    fn budget(&self) -> Vec<HeapBudget> {
        let granted = self.budget.as_ref().and_then(|budget| budget.ask(self.properties.memory_heaps.len()));
        granted.unwrap_or_else(|| self.count.budget(&self.properties))
    }
}
