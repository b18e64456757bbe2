//! The allocator on a real Direct3D 12 device.

#![cfg(all(windows, feature = "d3d12"))]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::mpsc::{self, Sender};
use std::sync::{LazyLock, Mutex};
use std::thread;

use gpu_allocator::d3d12::{
    AllocationCreateDesc, Allocator, AllocatorCreateDesc, ID3D12DeviceVersion, Resource, ResourceCategory,
    ResourceCreateDesc, ResourceStateOrBarrierLayout, ResourceType,
};
use gpu_allocator::{AllocationError, AllocationSizes, AllocatorDebugSettings, MemoryLocation};
use windows::Win32::Graphics::Direct3D::D3D_FEATURE_LEVEL_11_0;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BARRIER_LAYOUT_COMMON, D3D12_CLEAR_VALUE, D3D12_CLEAR_VALUE_0, D3D12_HEAP_FLAG_NONE,
    D3D12_HEAP_PROPERTIES, D3D12_HEAP_TYPE_DEFAULT, D3D12_RESOURCE_DESC, D3D12_RESOURCE_DIMENSION_BUFFER,
    D3D12_RESOURCE_DIMENSION_TEXTURE2D, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET, D3D12_RESOURCE_FLAG_NONE,
    D3D12_RESOURCE_FLAGS, D3D12_RESOURCE_STATE_COMMON, D3D12_TEXTURE_LAYOUT_ROW_MAJOR, D3D12CreateDevice,
    ID3D12Device,
};
use windows::Win32::Graphics::Dxgi::Common::{
    DXGI_FORMAT, DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_UNKNOWN, DXGI_SAMPLE_DESC,
};
use windows::Win32::Graphics::Dxgi::{
    CreateDXGIFactory1, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_QUERY_VIDEO_MEMORY_INFO, IDXGIAdapter3,
    IDXGIFactory4,
};

const MIB: u64 = 1 << 20;

/// Calls a function on a thread that never ends: Wine's window driver connects each thread that calls DXGI to the
/// display, and threads that end afterwards may crash the process.
fn call<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static) -> T {
    type Job = Box<dyn FnOnce() + Send>;
    static CALLER: LazyLock<Sender<Job>> = LazyLock::new(|| {
        let (jobs, queue) = mpsc::channel::<Job>();
        thread::spawn(move || queue.into_iter().for_each(|job| job()));
        jobs
    });
    let (answer, made) = mpsc::channel();
    CALLER.send(Box::new(move || drop(answer.send(what())))).unwrap();
    made.recv().expect("made without a panic")
}

fn device() -> ID3D12Device {
    call(|| {
        let mut device: Option<ID3D12Device> = None;
        // SAFETY: the pointer is to a local that outlives the call.
        unsafe { D3D12CreateDevice(None, D3D_FEATURE_LEVEL_11_0, &raw mut device) }.expect("a device");
        device.unwrap()
    })
}

fn allocator_with(debug_settings: AllocatorDebugSettings) -> Allocator {
    let device = ID3D12DeviceVersion::Device(device());
    let allocation_sizes = AllocationSizes::new(8 * MIB, 4 * MIB).with_max_device_memblock_size(64 * MIB);
    let desc = AllocatorCreateDesc { device, debug_settings, allocation_sizes };
    call(move || Allocator::new(&desc)).unwrap()
}

fn allocator() -> Allocator {
    allocator_with(AllocatorDebugSettings::default())
}

fn buffer(size: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Alignment: 0,
        Width: size,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_UNKNOWN,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        Flags: D3D12_RESOURCE_FLAG_NONE,
    }
}

fn texture(side: u32, flags: D3D12_RESOURCE_FLAGS) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: u64::from(side),
        Height: side,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        Layout: Default::default(),
        Flags: flags,
        ..buffer(0)
    }
}

fn desc<'a>(
    resource_desc: &'a D3D12_RESOURCE_DESC,
    memory_location: MemoryLocation,
    resource_type: &'a ResourceType<'a>,
) -> ResourceCreateDesc<'a> {
    ResourceCreateDesc {
        name: "thing",
        memory_location,
        resource_category: resource_desc.into(),
        resource_desc,
        castable_formats: &[],
        clear_value: None,
        initial_state_or_layout: ResourceStateOrBarrierLayout::ResourceState(D3D12_RESOURCE_STATE_COMMON),
        resource_type,
    }
}

fn fill(resource: &Resource, size: usize, byte: u8) {
    let mut address = std::ptr::null_mut();
    // SAFETY: the buffer has this size, in CPU-writable memory.
    unsafe {
        resource.resource().Map(0, None, Some(&raw mut address)).unwrap();
        std::slice::from_raw_parts_mut(address.cast::<u8>(), size).fill(byte);
        resource.resource().Unmap(0, None);
    }
}

fn holds(resource: &Resource, size: usize, byte: u8) -> bool {
    let mut address = std::ptr::null_mut();
    // SAFETY: as above.
    unsafe {
        resource.resource().Map(0, None, Some(&raw mut address)).unwrap();
        let is_so = std::slice::from_raw_parts(address.cast::<u8>(), size).iter().all(|found| *found == byte);
        resource.resource().Unmap(0, None);
        is_so
    }
}

#[test]
fn placed_buffers_keep_their_bytes() {
    let mut allocator = allocator();
    let mut live = Vec::new();
    for number in 0..60_u8 {
        let size = 1000 + 20_000 * usize::from(number);
        let raw = buffer(size as u64);
        let location = if number % 2 == 0 { MemoryLocation::CpuToGpu } else { MemoryLocation::GpuToCpu };
        let resource = allocator.create_resource(&desc(&raw, location, &ResourceType::Placed)).unwrap();
        let allocation = resource.allocation.as_ref().unwrap();
        assert!(allocation.offset().is_multiple_of(64 << 10) && resource.size >= size as u64);
        fill(&resource, size, number);
        live.push((resource, size, number));
        if number % 3 == 2 {
            let (gone, ..) = live.swap_remove(usize::from(number) % live.len());
            allocator.free_resource(gone).unwrap();
        }
    }
    assert_eq!(allocator.generate_report().allocations.len(), live.len());
    for (resource, size, number) in live {
        assert!(holds(&resource, size, number), "buffer {number}");
        allocator.free_resource(resource).unwrap();
    }
    assert_eq!(allocator.generate_report().total_allocated_bytes, 0);
}

#[test]
fn mapped_bytes_outlive_the_allocator() {
    let mut allocator = allocator();
    let raw = buffer(1000);
    let wanted = desc(&raw, MemoryLocation::CpuToGpu, &ResourceType::Placed);
    let (resource, other) =
        (allocator.create_resource(&wanted).unwrap(), allocator.create_resource(&wanted).unwrap());
    fill(&resource, 1000, 1);
    fill(&other, 1000, 2);
    drop(allocator);
    assert!(holds(&resource, 1000, 1) && holds(&other, 1000, 2));
    fill(&resource, 1000, 3);
    assert!(holds(&resource, 1000, 3) && holds(&other, 1000, 2));
    let allocation = resource.allocation.as_ref().unwrap();
    // SAFETY: a query without pointers.
    assert!(unsafe { allocation.heap().GetDesc() }.SizeInBytes >= allocation.offset() + allocation.size());
}

#[test]
fn placed_targets_take_their_clear_value() {
    let mut allocator = allocator();
    let raw = texture(256, D3D12_RESOURCE_FLAG_ALLOW_RENDER_TARGET);
    let clear = D3D12_CLEAR_VALUE {
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        Anonymous: D3D12_CLEAR_VALUE_0 { Color: [1.0, 0.0, 0.0, 1.0] },
    };
    let placed = ResourceType::Placed;
    let wanted =
        ResourceCreateDesc { clear_value: Some(&clear), ..desc(&raw, MemoryLocation::GpuOnly, &placed) };
    assert_eq!(wanted.resource_category, ResourceCategory::RtvDsvTexture);
    let target = allocator.create_resource(&wanted).unwrap();
    // SAFETY: a query without pointers.
    assert_eq!(unsafe { target.resource().GetDesc() }.Width, 256);
    allocator.free_resource(target).unwrap();
    // The original ignores clear values of placed resources, and the runtime refuses those of others.
    for raw in [texture(256, D3D12_RESOURCE_FLAG_NONE), buffer(1000)] {
        let wanted =
            ResourceCreateDesc { clear_value: Some(&clear), ..desc(&raw, MemoryLocation::GpuOnly, &placed) };
        let other = allocator.create_resource(&wanted).unwrap();
        allocator.free_resource(other).unwrap();
    }
}

#[test]
fn committed_resources_are_counted_and_take_no_block() {
    let mut allocator = allocator();
    let properties = D3D12_HEAP_PROPERTIES { Type: D3D12_HEAP_TYPE_DEFAULT, ..Default::default() };
    let committed =
        ResourceType::Committed { heap_properties: &properties, heap_flags: D3D12_HEAP_FLAG_NONE };
    let raw = texture(64, D3D12_RESOURCE_FLAG_NONE);
    let texture = allocator.create_resource(&desc(&raw, MemoryLocation::GpuOnly, &committed)).unwrap();
    assert!(texture.allocation.is_none() && texture.size >= 64 * 64 * 4);
    assert_eq!(allocator.capacity(), 0);
    allocator.free_resource(texture).unwrap();
}

#[test]
fn unsupported_descriptions_are_refused_without_leaks() {
    let mut allocator = allocator();
    let raw = texture(64, D3D12_RESOURCE_FLAG_NONE);
    let placed = ResourceType::Placed;
    let formats: [DXGI_FORMAT; 1] = [DXGI_FORMAT_R8G8B8A8_UNORM];
    let base = desc(&raw, MemoryLocation::GpuOnly, &placed);
    let layout = ResourceStateOrBarrierLayout::BarrierLayout(D3D12_BARRIER_LAYOUT_COMMON);
    let refused = |allocator: &mut Allocator, wanted: ResourceCreateDesc<'_>| {
        allocator.create_resource(&wanted).map(|_| ()).unwrap_err()
    };
    let error = refused(&mut allocator, ResourceCreateDesc { initial_state_or_layout: layout, ..base });
    assert!(matches!(error, AllocationError::BarrierLayoutNeedsDevice10), "{error:?}");
    let error = refused(&mut allocator, ResourceCreateDesc { castable_formats: &formats, ..base });
    assert!(matches!(error, AllocationError::CastableFormatsRequiresEnhancedBarriers), "{error:?}");
    let both = ResourceCreateDesc { castable_formats: &formats, initial_state_or_layout: layout, ..base };
    let error = refused(&mut allocator, both);
    assert!(matches!(error, AllocationError::CastableFormatsRequiresAtLeastDevice12), "{error:?}");
    // No runtime accepts this; it returns an invalid size.
    let bad = D3D12_RESOURCE_DESC { Width: u64::MAX, ..buffer(0) };
    let error = refused(&mut allocator, desc(&bad, MemoryLocation::GpuOnly, &placed));
    assert!(matches!(error, AllocationError::InvalidAllocationCreateDesc), "{error:?}");
    assert_eq!(allocator.generate_report().allocations.len(), 0);
}

#[test]
fn alignments_have_heaps_that_suit_them() {
    let mut allocator = allocator();
    let raw = device();
    let small =
        AllocationCreateDesc::from_d3d12_resource_desc(&raw, &buffer(100), "small", MemoryLocation::GpuOnly);
    assert_eq!((small.size, small.alignment), (64 << 10, 64 << 10));
    let multisampled = AllocationCreateDesc { size: 4 * MIB, alignment: 4 * MIB, ..small.clone() };
    let first = allocator.allocate(&small).unwrap();
    let second = allocator.allocate(&multisampled).unwrap();
    assert!(second.offset().is_multiple_of(4 * MIB));
    // SAFETY: queries without pointers.
    let alignments = unsafe { [first.heap().GetDesc().Alignment, second.heap().GetDesc().Alignment] };
    assert_eq!(alignments, [4 * MIB; 2], "a small multisampled target needs such a heap, too");
    let mut renamed = first;
    allocator.rename_allocation(&mut renamed, "rock").unwrap();
    assert_eq!(allocator.generate_report().allocations[0].name, "rock");
    allocator.free(renamed).unwrap();
    allocator.free(second).unwrap();
    assert_eq!(allocator.generate_report().total_allocated_bytes, 0);
}

/// Collects the log messages about memory heaps.
struct Heard(Mutex<Vec<String>>);

impl log::Log for Heard {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let said = record.args().to_string();
        if said.starts_with("memory heap") {
            self.0.lock().unwrap().push(said);
        }
    }

    fn flush(&self) {}
}

/// The budget that Windows reports for device-local memory.
fn granted(device: &ID3D12Device) -> u64 {
    let mut info = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
    // SAFETY: queries; the pointer is to a local that outlives the call.
    unsafe {
        let factory: IDXGIFactory4 = CreateDXGIFactory1().unwrap();
        let adapter: IDXGIAdapter3 = factory.EnumAdapterByLuid(device.GetAdapterLuid()).unwrap();
        adapter.QueryVideoMemoryInfo(0, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, &raw mut info).unwrap();
    }
    info.Budget
}

#[test]
fn the_budget_equals_that_of_windows() {
    static HEARD: Heard = Heard(Mutex::new(Vec::new()));
    log::set_logger(&HEARD).unwrap();
    log::set_max_level(log::LevelFilter::Debug);
    let mut settings = AllocatorDebugSettings::default();
    settings.log_memory_information = true;
    let allocator = allocator_with(settings);
    let device: ID3D12Device = (**allocator.device()).clone();
    let granted = call(move || granted(&device));
    let heard = HEARD.0.lock().unwrap();
    assert!(granted > 0 && heard[0].contains(&format!("; {} MiB granted", granted >> 20)), "{heard:?}");
}
