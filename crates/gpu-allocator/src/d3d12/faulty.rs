//! Allocators on a device with simulated driver faults. The tests need a device: `cargo xtask test d3d12` runs them
//! in the device lab.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, LazyLock};
use std::thread;

use tenure_d3d12::drivers::{AdapterId, DriverVersion, INTEL, Workarounds};
use windows::Win32::Graphics::Direct3D::D3D_FEATURE_LEVEL_11_0;
use windows::Win32::Graphics::Direct3D12::{
    D3D12_RESOURCE_DESC, D3D12_RESOURCE_DIMENSION_BUFFER, D3D12_RESOURCE_DIMENSION_TEXTURE2D,
    D3D12_RESOURCE_STATE_COMMON, D3D12_TEXTURE_LAYOUT_ROW_MAJOR, D3D12_TEXTURE_LAYOUT_UNKNOWN,
    D3D12CreateDevice,
};
use windows::Win32::Graphics::Dxgi::Common::{
    DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_UNKNOWN, DXGI_SAMPLE_DESC,
};

use super::*;
use crate::{AllocationSizes, AllocatorDebugSettings, MemoryLocation};

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
        let mut made: Option<ID3D12Device> = None;
        // SAFETY: the pointer is to a local that outlives the call.
        unsafe { D3D12CreateDevice(None, D3D_FEATURE_LEVEL_11_0, &raw mut made) }.expect("a device");
        made.unwrap()
    })
}

#[test]
fn adapters_are_known_by_number() {
    let device = device();
    let found = call(move || faults::adapter(&device)).unwrap();
    assert!(found.vendor != 0 && found.device != 0 && found.windows_build.is_some(), "{found:?}");
}

fn allocator(device_number: u32, driver: [u16; 4]) -> Allocator {
    let desc = AllocatorCreateDesc {
        device: ID3D12DeviceVersion::Device(device()),
        debug_settings: AllocatorDebugSettings::default(),
        allocation_sizes: AllocationSizes::default(),
    };
    let driver = Some(DriverVersion(driver));
    let id = AdapterId { vendor: INTEL, device: device_number, driver, windows_build: Some(26_100) };
    call(move || Allocator::with_faults(&desc, Faults::new(Arc::new(Workarounds::of(&id))))).unwrap()
}

const NEWEST: [u16; 4] = [u16::MAX; 4];

fn buffer() -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: 1000,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_UNKNOWN,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        ..Default::default()
    }
}

fn texture(width: u64, height: u32, layers: u16) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: width,
        Height: height,
        DepthOrArraySize: layers,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        Layout: D3D12_TEXTURE_LAYOUT_UNKNOWN,
        ..buffer()
    }
}

fn placed<'a>(resource_desc: &'a D3D12_RESOURCE_DESC, location: MemoryLocation) -> ResourceCreateDesc<'a> {
    ResourceCreateDesc {
        name: "thing",
        memory_location: location,
        resource_category: resource_desc.into(),
        resource_desc,
        castable_formats: &[],
        clear_value: None,
        initial_state_or_layout: ResourceStateOrBarrierLayout::ResourceState(D3D12_RESOURCE_STATE_COMMON),
        resource_type: &ResourceType::Placed,
    }
}

/// Iris Xe: placed resources become committed, and allocations share no heap.
#[test]
fn resources_that_cannot_be_placed_are_committed() {
    let mut allocator = allocator(0x46a6, NEWEST);
    let (buffer, texture) = (buffer(), texture(64, 64, 1));
    for (desc, location) in [
        (&texture, MemoryLocation::GpuOnly),
        (&buffer, MemoryLocation::CpuToGpu),
        (&buffer, MemoryLocation::GpuToCpu),
        (&buffer, MemoryLocation::Unknown),
    ] {
        let made = allocator.create_resource(&placed(desc, location)).unwrap();
        assert!(made.allocation.is_none() && made.size > 0, "{location:?}");
        assert_eq!((allocator.capacity(), allocator.committed.num_allocations), (0, 1), "{location:?}");
        allocator.free_resource(made).unwrap();
        assert_eq!((allocator.committed.num_allocations, allocator.committed.total_size), (0, 0));
    }
    let bad = D3D12_RESOURCE_DESC { Width: u64::MAX, ..buffer };
    let refused = allocator.create_resource(&placed(&bad, MemoryLocation::GpuOnly)).map(|_| ());
    assert!(matches!(refused, Err(AllocationError::InvalidAllocationCreateDesc)), "{refused:?}");
    let wanted = AllocationCreateDesc {
        name: "thing",
        location: MemoryLocation::GpuOnly,
        size: 64 << 10,
        alignment: 64 << 10,
        resource_category: ResourceCategory::OtherTexture,
    };
    let alone = [allocator.allocate(&wanted).unwrap(), allocator.allocate(&wanted).unwrap()];
    assert!(alone.iter().all(|found| found.offset() == 0));
    assert_eq!((allocator.generate_report().blocks.len(), allocator.capacity()), (2, 2 * (64 << 10)));
    alone.into_iter().for_each(|found| allocator.free(found).unwrap());
    assert_eq!(allocator.capacity(), 0, "such heaps are freed immediately");
}

/// Gen 12 before the driver's fix: memory suffices for the layers that the driver should have counted.
#[test]
fn arrays_have_spare_layers() {
    let narrow = texture(1, 1024, 64);
    let layers = |driver| {
        let mut allocator = allocator(0x4680, driver);
        let made = allocator.create_resource(&placed(&narrow, MemoryLocation::GpuOnly)).unwrap();
        assert!(made.allocation.is_some());
        // SAFETY: a query without pointers.
        let layers = unsafe { made.resource().GetDesc() }.DepthOrArraySize;
        allocator.free_resource(made).unwrap();
        layers
    };
    assert_eq!((layers([30, 0, 101, 1691]), layers([30, 0, 101, 1692])), (2048, 64));
}
