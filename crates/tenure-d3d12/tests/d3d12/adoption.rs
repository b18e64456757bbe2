//! Devices, queues and resources created by the program.

use tenure_core::device::{MemoryFlags, ResourceDesc, prelude::*};
use tenure_core::{
    BufferDesc, BufferInfo, Config, DeviceError, Format, Gpu, LocationKind, MemoryUse, Queue, QueueKind,
    State, TextureDesc, Usage,
};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D12_COMMAND_LIST_TYPE, D3D12_COMMAND_LIST_TYPE_COPY, D3D12_COMMAND_LIST_TYPE_DIRECT,
    D3D12_COMMAND_QUEUE_DESC, D3D12_CPU_PAGE_PROPERTY_WRITE_BACK, D3D12_HEAP_FLAG_NONE,
    D3D12_HEAP_PROPERTIES, D3D12_HEAP_TYPE, D3D12_HEAP_TYPE_CUSTOM, D3D12_HEAP_TYPE_DEFAULT,
    D3D12_HEAP_TYPE_READBACK, D3D12_HEAP_TYPE_UPLOAD, D3D12_MEMORY_POOL_L0, D3D12_RESOURCE_DESC,
    D3D12_RESOURCE_DIMENSION_BUFFER, D3D12_RESOURCE_DIMENSION_TEXTURE2D, D3D12_RESOURCE_STATE_COMMON,
    D3D12_RESOURCE_STATE_COPY_DEST, D3D12_RESOURCE_STATE_GENERIC_READ, D3D12_RESOURCE_STATES,
    D3D12_TEXTURE_LAYOUT_ROW_MAJOR, ID3D12CommandQueue, ID3D12Resource,
};
use tenure_d3d12::windows::Win32::Graphics::Dxgi::Common::{DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_SAMPLE_DESC};
use tenure_d3d12::{Device, DeviceConfig, Resource};

use crate::bench::{Bench, GPU_ONLY, GRAPHICS, LONG, device, distinct_from, pattern, refused};
use crate::device_thread::on_device_thread;

fn own_queue(device: &Device, kind: D3D12_COMMAND_LIST_TYPE) -> ID3D12CommandQueue {
    let desc = D3D12_COMMAND_QUEUE_DESC { Type: kind, ..Default::default() };
    // SAFETY: the description outlives the call.
    unsafe { device.raw().CreateCommandQueue(&raw const desc) }.unwrap()
}

fn wrap(own: &Device, queues: &[ID3D12CommandQueue]) -> Result<Device, DeviceError> {
    let (own, queues) = (own.raw().clone(), queues.to_vec());
    on_device_thread(move || Device::new(&own, &queues, &DeviceConfig::default()))
}

/// A device and queues that the program has created.
#[test]
fn the_programs_own_device_is_wrapped() {
    let own = device();
    let queues =
        [own_queue(&own, D3D12_COMMAND_LIST_TYPE_DIRECT), own_queue(&own, D3D12_COMMAND_LIST_TYPE_COPY)];
    let wrapped = wrap(&own, &queues).unwrap();
    let kinds: Vec<_> = wrapped.properties().queues.iter().map(|queue| queue.kind).collect();
    assert_eq!(kinds, [QueueKind::Graphics, QueueKind::Copy]);
    assert_eq!(wrapped.adapter(), own.adapter(), "found again by its number");
    assert_eq!(wrapped.queue(GRAPHICS), Some(&queues[0]));
    assert_eq!(wrapped.raw(), own.raw());
    let gpu = Gpu::new(wrapped, Config::default()).unwrap();
    let staging =
        gpu.create_buffer(&BufferDesc::new(5000, Usage::COPY_SRC).memory(MemoryUse::Upload)).unwrap();
    let readback =
        gpu.create_buffer(&BufferDesc::new(5000, Usage::COPY_DST).memory(MemoryUse::Readback)).unwrap();
    staging.write(0, &pattern(5000, 1)).unwrap();
    let mut recording = gpu.record(Queue::Compute, "there is no compute queue").unwrap();
    recording.copy_buffer(&staging, 0, &readback, 0, 5000).unwrap();
    assert!(gpu.wait(&recording.submit().unwrap(), LONG).unwrap());
    let mut found = vec![0; 5000];
    readback.read(0, &mut found).unwrap();
    assert_eq!(found, pattern(5000, 1));
}

#[test]
fn queues_that_do_not_fit_are_refused() {
    let own = device();
    let new = |queues: &[ID3D12CommandQueue]| wrap(&own, queues);
    refused(new(&[]), "there are 1 to 8 queues");
    let direct = own_queue(&own, D3D12_COMMAND_LIST_TYPE_DIRECT);
    refused(new(&vec![direct.clone(); 9]), "there are 1 to 8 queues");
    refused(new(&vec![direct.clone(); 2]), "each queue is there once");
    let copy = own_queue(&own, D3D12_COMMAND_LIST_TYPE_COPY);
    refused(new(&[copy]), "the first queue is a direct one");
    match distinct_from(&own) {
        Some(other) => {
            let foreign = own_queue(&other, D3D12_COMMAND_LIST_TYPE_DIRECT);
            refused(new(&[direct, foreign]), "an object is used with the device that made it");
        }
        // Both devices are the same object, and so are their queues.
        None => drop(new(&[direct, own_queue(&device(), D3D12_COMMAND_LIST_TYPE_DIRECT)]).unwrap()),
    }
}

fn own_resource(
    device: &Device,
    heap: &D3D12_HEAP_PROPERTIES,
    desc: &D3D12_RESOURCE_DESC,
    state: D3D12_RESOURCE_STATES,
) -> ID3D12Resource {
    let mut made = None;
    // SAFETY: all pointers are to locals that outlive the call.
    unsafe {
        device.raw().CreateCommittedResource(heap, D3D12_HEAP_FLAG_NONE, desc, state, None, &raw mut made)
    }
    .unwrap();
    made.unwrap()
}

fn heap_of(kind: D3D12_HEAP_TYPE) -> D3D12_HEAP_PROPERTIES {
    D3D12_HEAP_PROPERTIES { Type: kind, ..Default::default() }
}

fn buffer_desc(size: u64) -> D3D12_RESOURCE_DESC {
    D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_BUFFER,
        Width: size,
        Height: 1,
        DepthOrArraySize: 1,
        MipLevels: 1,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        Layout: D3D12_TEXTURE_LAYOUT_ROW_MAJOR,
        ..Default::default()
    }
}

fn own_buffer(device: &Device, size: u64, heap: D3D12_HEAP_TYPE) -> ID3D12Resource {
    let state = match heap {
        D3D12_HEAP_TYPE_UPLOAD => D3D12_RESOURCE_STATE_GENERIC_READ,
        D3D12_HEAP_TYPE_READBACK => D3D12_RESOURCE_STATE_COPY_DEST,
        _ => D3D12_RESOURCE_STATE_COMMON,
    };
    own_resource(device, &heap_of(heap), &buffer_desc(size), state)
}

fn own_texture(device: &Device, side: u32) -> ID3D12Resource {
    let desc = D3D12_RESOURCE_DESC {
        Dimension: D3D12_RESOURCE_DIMENSION_TEXTURE2D,
        Width: u64::from(side),
        Height: side,
        DepthOrArraySize: 1,
        MipLevels: 1,
        Format: DXGI_FORMAT_R8G8B8A8_UNORM,
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    };
    own_resource(device, &heap_of(D3D12_HEAP_TYPE_DEFAULT), &desc, D3D12_RESOURCE_STATE_COMMON)
}

/// Buffers of every heap type are adopted, mapped where they can be, and copied.
#[test]
fn the_programs_own_resources_are_adopted() {
    let device = device();
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let desc = |memory: MemoryUse| {
        BufferDesc::new(3000, Usage::COPY_SRC)
            .usage(Usage::COPY_SRC | Usage::COPY_DST)
            .memory(memory)
            .name("own")
    };
    let adopt = |heap, memory, state| {
        let desc = desc(memory);
        let info = ResourceDesc::Buffer(BufferInfo::new(3000, desc.usage));
        let wrapped = Resource::from_raw(&device, own_buffer(&device, 4096, heap), info).unwrap();
        gpu.adopt_buffer(wrapped, &desc, state).unwrap()
    };
    let staging = adopt(D3D12_HEAP_TYPE_UPLOAD, MemoryUse::Upload, State::COPY_SRC);
    let local = adopt(D3D12_HEAP_TYPE_DEFAULT, MemoryUse::GpuOnly, State::COMMON);
    let readback = adopt(D3D12_HEAP_TYPE_READBACK, MemoryUse::Readback, State::COPY_DST);
    assert_eq!(local.location(), LocationKind::Adopted);
    staging.write(0, &pattern(3000, 4)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "adopted").unwrap();
    recording.copy_buffer(&staging, 0, &local, 0, 3000).unwrap();
    recording.copy_buffer(&local, 0, &readback, 0, 3000).unwrap();
    assert!(gpu.wait(&recording.submit().unwrap(), LONG).unwrap());
    let mut found = vec![0; 3000];
    readback.read(0, &mut found).unwrap();
    assert_eq!(found, pattern(3000, 4));
    drop((staging, local, readback));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    assert_eq!(device.live_objects(), Default::default(), "adopted ones are not the device's");
}

/// Memory of a custom heap is mapped and has no fixed state: it serves uploads and readbacks.
#[test]
fn custom_heaps_are_read_and_written_by_both() {
    let mut bench = Bench::new(device());
    let custom = D3D12_HEAP_PROPERTIES {
        Type: D3D12_HEAP_TYPE_CUSTOM,
        CPUPageProperty: D3D12_CPU_PAGE_PROPERTY_WRITE_BACK,
        MemoryPoolPreference: D3D12_MEMORY_POOL_L0,
        ..Default::default()
    };
    let usage = Usage::COPY_SRC | Usage::COPY_DST;
    let raw = own_resource(&bench.device, &custom, &buffer_desc(4096), D3D12_RESOURCE_STATE_COMMON);
    let info = ResourceDesc::Buffer(BufferInfo::new(4096, usage));
    let shared = Resource::from_raw(&bench.device, raw, info).unwrap();
    let mapping = bench.device.map(&shared).unwrap();
    mapping.write(0, &pattern(1000, 6)).unwrap();
    let far = bench.device.create_committed(&crate::bench::buffer(1000, usage), GPU_ONLY).unwrap();
    bench.run(GRAPHICS, |list| list.copy_buffer(&shared, 0, &far, 0, 1000));
    bench.run(GRAPHICS, |list| list.copy_buffer(&far, 0, &shared, 2000, 1000));
    let mut found = vec![0; 1000];
    mapping.read(2000, &mut found).unwrap();
    assert_eq!(found, pattern(1000, 6));
}

#[test]
fn textures_are_adopted_with_their_state() {
    let device = device();
    let raw = own_texture(&device, 16);
    let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, usage);
    let info = ResourceDesc::Texture(desc.info.clone());
    let wrapped = Resource::from_raw(&device, raw.clone(), info).unwrap();
    assert_eq!(wrapped.raw(), &raw);
    let gpu = Gpu::new(device, Config::default()).unwrap();
    let image = gpu.adopt_texture(wrapped, &desc, State::COMMON).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "sample").unwrap();
    recording.use_resource(&image, tenure_core::Subresource::All, State::PIXEL_SHADER).unwrap();
    assert!(gpu.wait(&recording.submit().unwrap(), LONG).unwrap());
    drop(image);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    // SAFETY: the program's own reference is as good as before.
    assert_eq!(unsafe { raw.GetDesc() }.Width, 16);
}

#[test]
fn adopted_resources_match_their_description() {
    let one = device();
    let buffer = |size| ResourceDesc::Buffer(BufferInfo::new(size, Usage::COPY_SRC));
    let texture = |desc: TextureDesc| ResourceDesc::Texture(desc.info);
    let square = |side| TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::SHADER_READ);
    let raw = own_buffer(&one, 4096, D3D12_HEAP_TYPE_DEFAULT);
    match distinct_from(&one) {
        Some(other) => {
            let foreign = Resource::from_raw(&other, raw.clone(), buffer(4096));
            refused(foreign, "an object is used with the device that made it");
        }
        // Both devices are the same object, and so are their resources.
        None => drop(Resource::from_raw(&device(), raw.clone(), buffer(4096)).unwrap()),
    }
    let field = |answer: Result<Resource, DeviceError>| match answer {
        Err(DeviceError::InvalidDesc { field, .. }) => field,
        answer => panic!("{answer:?}"),
    };
    assert_eq!(field(Resource::from_raw(&one, raw.clone(), buffer(4097))), "size");
    assert_eq!(field(Resource::from_raw(&one, raw.clone(), buffer(0))), "size");
    assert_eq!(field(Resource::from_raw(&one, raw, texture(square(16)))), "dimension");
    let image = own_texture(&one, 16);
    let wrap = |desc| Resource::from_raw(&one, image.clone(), desc);
    assert_eq!(field(wrap(buffer(64))), "dimension");
    assert_eq!(field(wrap(texture(square(17)))), "width");
    assert_eq!(field(wrap(texture(square(16).mips(2)))), "mips");
    assert_eq!(field(wrap(texture(square(16).layers(2)))), "depth_or_layers");
    let target = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    assert_eq!(field(wrap(texture(target))), "usage");
    let other = TextureDesc::d2(16, 16, Format::R32Float, Usage::SHADER_READ);
    assert_eq!(field(wrap(texture(other))), "format");
    wrap(texture(square(16))).unwrap();
    assert!(one.properties().memory_types[1].flags.contains(MemoryFlags::HOST_VISIBLE));
}
