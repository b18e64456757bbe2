//! The public surface: the same list is compiled with this crate and with the original, so both have all of its
//! items.

#![allow(
    dead_code,
    unused_variables,
    clippy::unwrap_used,
    clippy::clone_on_copy,
    reason = "what compiles is what is tested"
)]

macro_rules! surface {
    ($name:ident, $krate:ident) => {
        mod $name {
            use core::fmt::{Debug, Display};
            use core::ops::Range;

            use $krate::{
                AllocationError, AllocationReport, AllocationSizes, AllocatorDebugSettings, AllocatorReport,
                MemoryBlockReport, MemoryLocation,
            };

            fn is<T>() {}
            fn copy<T: Copy + Clone + Debug>() {}
            fn equal<T: PartialEq + Eq>() {}
            fn send<T: Send>() {}
            fn sync<T: Sync>() {}

            fn errors(error: AllocationError) -> String {
                match error {
                    AllocationError::OutOfMemory
                    | AllocationError::NoCompatibleMemoryTypeFound
                    | AllocationError::InvalidAllocationCreateDesc
                    | AllocationError::BarrierLayoutNeedsDevice10
                    | AllocationError::CastableFormatsRequiresEnhancedBarriers
                    | AllocationError::CastableFormatsRequiresAtLeastDevice12 => String::new(),
                    AllocationError::FailedToMap(text)
                    | AllocationError::InvalidAllocatorCreateDesc(text)
                    | AllocationError::Internal(text) => text,
                }
            }

            fn is_error<T: std::error::Error + Debug + Display + Send + Sync + 'static>() {}

            fn root() {
                is_error::<AllocationError>();
                is::<$krate::Result<()>>();
                is::<$krate::Result<(), ()>>();
                copy::<MemoryLocation>();
                equal::<MemoryLocation>();
                fn hash<T: core::hash::Hash>() {}
                hash::<MemoryLocation>();
                copy::<AllocatorDebugSettings>();
                copy::<AllocationSizes>();
                let _: fn(u64, u64) -> AllocationSizes = AllocationSizes::new;
                let _: fn(AllocationSizes, u64) -> AllocationSizes =
                    AllocationSizes::with_max_device_memblock_size;
                let _: fn(AllocationSizes, u64) -> AllocationSizes =
                    AllocationSizes::with_max_host_memblock_size;
                let _: AllocationSizes = Default::default();
            }

            fn locations(location: MemoryLocation) {
                match location {
                    MemoryLocation::Unknown
                    | MemoryLocation::GpuOnly
                    | MemoryLocation::CpuToGpu
                    | MemoryLocation::GpuToCpu => {}
                }
            }

            fn reports(report: AllocatorReport) {
                let AllocatorReport { allocations, blocks, total_allocated_bytes, total_capacity_bytes } =
                    report.clone();
                let (_, _): (u64, u64) = (total_allocated_bytes, total_capacity_bytes);
                let _: Vec<AllocationReport> = allocations.clone();
                let _: Vec<MemoryBlockReport> = blocks.clone();
                for MemoryBlockReport { size, allocations } in blocks {
                    let (_, _): (u64, Range<usize>) = (size, allocations);
                }
                for mut found in allocations {
                    let (_, _, _): (String, u64, u64) =
                        (core::mem::take(&mut found.name), found.offset, found.size);
                    let _ = format!("{found:?}");
                }
                let _ = format!("{report:.3?}");
            }

            /// The visible default values.
            #[test]
            fn defaults() {
                let mut settings = AllocatorDebugSettings::default();
                assert!(settings.log_leaks_on_shutdown);
                assert!(!settings.log_memory_information && !settings.log_allocations && !settings.log_frees);
                assert!(!settings.store_stack_traces && !settings.log_stack_traces);
                settings.log_allocations = true;
                let _ = format!("{settings:?}");
                assert_eq!(AllocationError::OutOfMemory.to_string(), "Out of memory");
                assert_eq!(AllocationError::Internal("x".into()).to_string(), "Internal error: x");
            }

            #[cfg(feature = "vulkan")]
            mod vulkan {
                use core::ffi::c_void;
                use core::num::NonZeroU64;
                use core::ptr::NonNull;

                use ash::vk;
                use $krate::vulkan::{
                    Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc,
                    MappedAllocationSlab,
                };
                use $krate::{
                    AllocationSizes, AllocatorDebugSettings, AllocatorReport, MemoryLocation, Result,
                };

                use super::*;

                fn types() {
                    copy::<AllocationScheme>();
                    equal::<AllocationScheme>();
                    send::<Allocator>();
                    sync::<Allocator>();
                    send::<Allocation>();
                    sync::<Allocation>();
                    send::<AllocatorCreateDesc>();
                    fn slab<T: presser::Slab>() {}
                    slab::<Allocation>();
                    slab::<MappedAllocationSlab<'static>>();
                    fn debug<T: Debug>() {}
                    debug::<Allocation>();
                    debug::<Allocator>();
                    debug::<AllocationCreateDesc<'static>>();
                    fn default<T: Default>() {}
                    default::<Allocation>();
                    fn clone<T: Clone>() {}
                    clone::<AllocationCreateDesc<'static>>();
                }

                fn schemes(scheme: AllocationScheme) {
                    match scheme {
                        AllocationScheme::DedicatedBuffer(buffer) => is_a::<vk::Buffer>(buffer),
                        AllocationScheme::DedicatedImage(image) => is_a::<vk::Image>(image),
                        AllocationScheme::GpuAllocatorManaged => {}
                    }
                }

                fn is_a<T>(_: T) {}

                fn descs<'a>(desc: AllocatorCreateDesc, wanted: AllocationCreateDesc<'a>) {
                    let AllocatorCreateDesc {
                        instance,
                        device,
                        physical_device,
                        debug_settings,
                        buffer_device_address,
                        allocation_sizes,
                    } = desc;
                    let _: (ash::Instance, ash::Device, vk::PhysicalDevice) =
                        (instance, device, physical_device);
                    let _: (AllocatorDebugSettings, bool, AllocationSizes) =
                        (debug_settings, buffer_device_address, allocation_sizes);
                    let AllocationCreateDesc { name, requirements, location, linear, allocation_scheme } =
                        wanted;
                    let _: (&'a str, vk::MemoryRequirements, MemoryLocation, bool, AllocationScheme) =
                        (name, requirements, location, linear, allocation_scheme);
                }

                fn methods() {
                    let _: fn(&AllocatorCreateDesc) -> Result<Allocator> = Allocator::new;
                    let _: fn(&mut Allocator, &AllocationCreateDesc<'_>) -> Result<Allocation> =
                        Allocator::allocate;
                    let _: fn(&mut Allocator, Allocation) -> Result<()> = Allocator::free;
                    let _: fn(&mut Allocator, &mut Allocation, &str) -> Result<()> =
                        Allocator::rename_allocation;
                    let _: fn(&Allocator, log::Level) = Allocator::report_memory_leaks;
                    let _: fn(&Allocator) -> AllocatorReport = Allocator::generate_report;
                    let _: fn(&Allocator) -> u64 = Allocator::capacity;
                    let _: for<'a> fn(&'a mut Allocation) -> Option<MappedAllocationSlab<'a>> =
                        Allocation::try_as_mapped_slab;
                    let _: fn(&Allocation) -> Option<NonZeroU64> = Allocation::chunk_id;
                    let _: fn(&Allocation) -> vk::MemoryPropertyFlags = Allocation::memory_properties;
                    let _: unsafe fn(&Allocation) -> vk::DeviceMemory = Allocation::memory;
                    let _: fn(&Allocation) -> bool = Allocation::is_dedicated;
                    let _: fn(&Allocation) -> u64 = Allocation::offset;
                    let _: fn(&Allocation) -> u64 = Allocation::size;
                    let _: fn(&Allocation) -> Option<NonNull<c_void>> = Allocation::mapped_ptr;
                    let _: fn(&Allocation) -> Option<&[u8]> = Allocation::mapped_slice;
                    let _: fn(&mut Allocation) -> Option<&mut [u8]> = Allocation::mapped_slice_mut;
                    let _: fn(&Allocation) -> bool = Allocation::is_null;
                }
            }

            #[cfg(all(windows, feature = "d3d12"))]
            mod d3d12 {
                use core::num::NonZeroU64;
                use core::ops::Deref;

                use windows::Win32::Graphics::Direct3D12::*;
                use windows::Win32::Graphics::Dxgi::Common::DXGI_FORMAT;
                use $krate::d3d12::{
                    Allocation, AllocationCreateDesc, Allocator, AllocatorCreateDesc,
                    CommittedAllocationStatistics, ID3D12DeviceVersion, Resource, ResourceCategory,
                    ResourceCreateDesc, ResourceStateOrBarrierLayout, ResourceType,
                };
                use $krate::{
                    AllocationSizes, AllocatorDebugSettings, AllocatorReport, MemoryLocation, Result,
                };

                use super::*;

                fn types() {
                    copy::<ResourceCategory>();
                    equal::<ResourceCategory>();
                    copy::<ResourceStateOrBarrierLayout>();
                    equal::<ResourceStateOrBarrierLayout>();
                    send::<Allocator>();
                    sync::<Allocator>();
                    send::<Allocation>();
                    sync::<Allocation>();
                    send::<Resource>();
                    fn debug<T: Debug>() {}
                    debug::<Allocation>();
                    debug::<Allocator>();
                    debug::<AllocatorCreateDesc>();
                    debug::<AllocationCreateDesc<'static>>();
                    debug::<Resource>();
                    debug::<CommittedAllocationStatistics>();
                    debug::<ID3D12DeviceVersion>();
                    fn clone<T: Clone>() {}
                    clone::<ID3D12DeviceVersion>();
                    clone::<AllocationCreateDesc<'static>>();
                    clone::<ResourceCreateDesc<'static>>();
                    fn category<T: for<'a> From<&'a D3D12_RESOURCE_DESC>>() {}
                    category::<ResourceCategory>();
                    fn device<T: Deref<Target = ID3D12Device>>() {}
                    device::<ID3D12DeviceVersion>();
                }

                fn matches(
                    category: ResourceCategory,
                    state: ResourceStateOrBarrierLayout,
                    kind: ResourceType<'_>,
                    device: ID3D12DeviceVersion,
                ) {
                    match category {
                        ResourceCategory::Buffer
                        | ResourceCategory::RtvDsvTexture
                        | ResourceCategory::OtherTexture => {}
                    }
                    match state {
                        ResourceStateOrBarrierLayout::ResourceState(state) => {
                            is_a::<D3D12_RESOURCE_STATES>(state)
                        }
                        ResourceStateOrBarrierLayout::BarrierLayout(layout) => {
                            is_a::<D3D12_BARRIER_LAYOUT>(layout)
                        }
                    }
                    match kind {
                        ResourceType::Committed { heap_properties, heap_flags } => {
                            is_a::<&D3D12_HEAP_PROPERTIES>(heap_properties);
                            is_a::<D3D12_HEAP_FLAGS>(heap_flags);
                        }
                        ResourceType::Placed => {}
                    }
                    match device {
                        ID3D12DeviceVersion::Device(device) => is_a::<ID3D12Device>(device),
                        ID3D12DeviceVersion::Device10(device) => is_a::<ID3D12Device10>(device),
                        ID3D12DeviceVersion::Device12(device) => is_a::<ID3D12Device12>(device),
                    }
                }

                fn is_a<T>(_: T) {}

                fn descs<'a>(
                    desc: AllocatorCreateDesc,
                    wanted: AllocationCreateDesc<'a>,
                    resource: ResourceCreateDesc<'a>,
                    made: &Resource,
                    statistics: CommittedAllocationStatistics,
                ) {
                    let AllocatorCreateDesc { device, debug_settings, allocation_sizes } = desc;
                    let _: (ID3D12DeviceVersion, AllocatorDebugSettings, AllocationSizes) =
                        (device, debug_settings, allocation_sizes);
                    let AllocationCreateDesc { name, location, size, alignment, resource_category } = wanted;
                    let _: (&'a str, MemoryLocation, u64, u64, ResourceCategory) =
                        (name, location, size, alignment, resource_category);
                    let ResourceCreateDesc {
                        name,
                        memory_location,
                        resource_category,
                        resource_desc,
                        castable_formats,
                        clear_value,
                        initial_state_or_layout,
                        resource_type,
                    } = resource;
                    let _: (&'a str, MemoryLocation, ResourceCategory) =
                        (name, memory_location, resource_category);
                    let _: (&'a D3D12_RESOURCE_DESC, &'a [DXGI_FORMAT], Option<&'a D3D12_CLEAR_VALUE>) =
                        (resource_desc, castable_formats, clear_value);
                    let _: (ResourceStateOrBarrierLayout, &'a ResourceType<'a>) =
                        (initial_state_or_layout, resource_type);
                    let _: (&Option<Allocation>, MemoryLocation, u64) =
                        (&made.allocation, made.memory_location, made.size);
                    let CommittedAllocationStatistics { num_allocations, total_size } = statistics;
                    let _: (usize, u64) = (num_allocations, total_size);
                }

                fn methods<'a>(name: &'a str) {
                    let _: fn(
                        &ID3D12Device,
                        &D3D12_RESOURCE_DESC,
                        &'a str,
                        MemoryLocation,
                    ) -> AllocationCreateDesc<'a> = AllocationCreateDesc::from_d3d12_resource_desc;
                    let _: fn(&Allocator) -> &ID3D12DeviceVersion = Allocator::device;
                    let _: fn(&AllocatorCreateDesc) -> Result<Allocator> = Allocator::new;
                    let _: fn(&mut Allocator, &AllocationCreateDesc<'_>) -> Result<Allocation> =
                        Allocator::allocate;
                    let _: fn(&mut Allocator, Allocation) -> Result<()> = Allocator::free;
                    let _: fn(&mut Allocator, &mut Allocation, &str) -> Result<()> =
                        Allocator::rename_allocation;
                    let _: fn(&Allocator, log::Level) = Allocator::report_memory_leaks;
                    let _: fn(&mut Allocator, &ResourceCreateDesc<'_>) -> Result<Resource> =
                        Allocator::create_resource;
                    let _: fn(&mut Allocator, Resource) -> Result<()> = Allocator::free_resource;
                    let _: fn(&Allocator) -> AllocatorReport = Allocator::generate_report;
                    let _: fn(&Allocator) -> u64 = Allocator::capacity;
                    let _: fn(&Resource) -> &ID3D12Resource = Resource::resource;
                    let _: fn(&Allocation) -> Option<NonZeroU64> = Allocation::chunk_id;
                    let _: unsafe fn(&Allocation) -> &ID3D12Heap = Allocation::heap;
                    let _: fn(&Allocation) -> u64 = Allocation::offset;
                    let _: fn(&Allocation) -> u64 = Allocation::size;
                    let _: fn(&Allocation) -> bool = Allocation::is_null;
                }
            }
        }
    };
}

surface!(ours, gpu_allocator);
surface!(theirs, original);
