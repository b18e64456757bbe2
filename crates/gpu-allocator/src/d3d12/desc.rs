//! The descriptions of allocators, allocations and resources.

use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_LAYOUT, D3D12_CLEAR_VALUE, D3D12_HEAP_FLAGS, D3D12_HEAP_PROPERTIES, D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_DIMENSION_BUFFER, D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL,
    D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, D3D12_RESOURCE_STATES, ID3D12Device,
};
use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT;

use super::ID3D12DeviceVersion;
use super::faults::with_spare_layers;
use crate::{AllocationSizes, AllocatorDebugSettings, MemoryLocation};

/// Categories that must not share a heap on devices of heap tier 1; tier 2 does not separate them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceCategory {
    /// Buffers.
    Buffer,
    /// Render and depth targets.
    RtvDsvTexture,
    /// All other textures.
    OtherTexture,
}

impl From<&D3D12_RESOURCE_DESC> for ResourceCategory {
    fn from(desc: &D3D12_RESOURCE_DESC) -> Self {
        let targets = D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET | D3D12_RESOURCE_FLAG_ALLOW_DEPTH_STENCIL;
        match desc.Dimension {
            D3D12_RESOURCE_DIMENSION_BUFFER => Self::Buffer,
            _ if (desc.Flags & targets).0 != 0 => Self::RtvDsvTexture,
            _ => Self::OtherTexture,
        }
    }
}

/// The initial state or layout of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceStateOrBarrierLayout {
    /// A state, for legacy barriers.
    ResourceState(D3D12_RESOURCE_STATES),
    /// A layout, for enhanced barriers.
    BarrierLayout(D3D12_BARRIER_LAYOUT),
}

/// The description of a resource to create.
#[derive(Clone, Copy)]
pub struct ResourceCreateDesc<'a> {
    /// A name for reports and leaks.
    pub name: &'a str,
    /// The access by CPU and GPU.
    pub memory_location: MemoryLocation,
    /// The category of the resource.
    pub resource_category: ResourceCategory,
    /// The Direct3D description.
    pub resource_desc: &'a D3D12_RESOURCE_DESC,
    /// Formats of future views.
    pub castable_formats: &'a [DXGI_FORMAT],
    /// Its most common clear value.
    pub clear_value: Option<&'a D3D12_CLEAR_VALUE>,
    /// Its initial state or layout.
    pub initial_state_or_layout: ResourceStateOrBarrierLayout,
    /// Committed or placed.
    pub resource_type: &'a ResourceType<'a>,
}

/// The description of an allocation.
#[derive(Clone, Debug)]
pub struct AllocationCreateDesc<'a> {
    /// A name for reports and leaks.
    pub name: &'a str,
    /// The access by CPU and GPU.
    pub location: MemoryLocation,
    /// Bytes, as the device reports them.
    pub size: u64,
    /// Bytes, as the device reports them.
    pub alignment: u64,
    /// The kind of resource to place there.
    pub resource_category: ResourceCategory,
}

impl<'a> AllocationCreateDesc<'a> {
    /// The requirements of a resource, as reported by the device; increased for arrays on drivers that reserve too
    /// little memory.
    pub fn from_d3d12_resource_desc(
        device: &ID3D12Device,
        desc: &D3D12_RESOURCE_DESC,
        name: &'a str,
        location: MemoryLocation,
    ) -> Self {
        let asked = with_spare_layers(device, desc);
        // SAFETY: a query about a description that outlives the call.
        let info = unsafe { device.GetResourceAllocationInfo(0, core::slice::from_ref(&asked)) };
        let (size, alignment) = (info.SizeInBytes, info.Alignment);
        Self { name, location, size, alignment, resource_category: desc.into() }
    }
}

/// The description of an allocator.
#[derive(Debug)]
pub struct AllocatorCreateDesc {
    /// The device.
    pub device: ID3D12DeviceVersion,
    /// The log settings.
    pub debug_settings: AllocatorDebugSettings,
    /// Sizes of blocks.
    pub allocation_sizes: AllocationSizes,
}

/// The source of a resource's memory.
pub enum ResourceType<'a> {
    /// Dedicated memory from the driver.
    Committed {
        /// The kind of memory.
        heap_properties: &'a D3D12_HEAP_PROPERTIES,
        /// The purpose of the memory.
        heap_flags: D3D12_HEAP_FLAGS,
    },
    /// Memory from the allocator.
    Placed,
}
