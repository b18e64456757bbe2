//! Resources that an engine made itself.

use crate::harness::PERMIT;
use core::ptr::NonNull;

use conformance::Harness as _;
use tenure_core::device::{MemoryFlags, MemoryTypeId, ResourceDesc, prelude::*};
use tenure_core::{
    BufferDesc, BufferInfo, Config, DeviceError, Format, Gpu, LocationKind, MemoryUse, Queue, State,
    TextureDesc, Usage,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, Ownership, RawBuffer, RawImage, RawMemory, Resource};

use crate::basics::{COPIES, LONG, buffer, bytes, memory_type, texture};
use crate::harness::{Vulkan, validated};

const SIZE: u64 = 4096;
const USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::TRANSFER_SRC.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw()
        | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS.as_raw(),
);

/// A buffer, and memory for two of it: the buffer is in the second half.
fn engine_buffer(device: &Device, usage: vk::BufferUsageFlags) -> (vk::Buffer, RawMemory) {
    let raw = device.raw();
    let info = vk::BufferCreateInfo::default().size(SIZE).usage(usage);
    let kind = memory_type(device, &buffer(SIZE, COPIES), MemoryFlags::HOST_VISIBLE);
    // SAFETY: all is made here and of this device.
    unsafe {
        let buffer = raw.create_buffer(&info, None).unwrap();
        let size = 2 * raw.get_buffer_memory_requirements(buffer).size.max(SIZE);
        let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
        let mut info =
            vk::MemoryAllocateInfo::default().allocation_size(size).memory_type_index(u32::from(kind.0));
        if usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS) {
            info = info.push_next(&mut flags);
        }
        let memory = raw.allocate_memory(&info, None).unwrap();
        raw.bind_buffer_memory(buffer, memory, size / 2).unwrap();
        (buffer, RawMemory::new(memory, size, kind).offset(size / 2))
    }
}

fn raw_buffer(buffer: vk::Buffer, memory: Option<RawMemory>, ownership: Ownership) -> RawBuffer {
    let info = BufferInfo::new(SIZE, COPIES);
    RawBuffer::new(buffer, info, USAGE, ownership).memory(memory)
}

fn adopt(device: &Device, raw: RawBuffer) -> Result<Resource, DeviceError> {
    // SAFETY: the tests destroy their own objects after the resource.
    unsafe { Resource::from_raw_buffer(device, raw) }
}

fn destroy(device: &Device, buffer: vk::Buffer, memory: &RawMemory) {
    // SAFETY: nothing uses them any more.
    unsafe {
        device.raw().destroy_buffer(buffer, None);
        device.raw().free_memory(memory.memory, None);
    }
}

/// tenure destroys objects that it owns, and leaves borrowed ones: the layers would report violations of
/// either.
#[test]
fn adopted_objects_are_destroyed_by_their_owner() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let (given, memory) = engine_buffer(&device, USAGE);
    let resource = adopt(&device, raw_buffer(given, Some(memory), Ownership::Tenure)).unwrap();
    device.map(&resource).unwrap().write(0, &bytes(4096, 1)).unwrap();
    device.destroy_resource(PERMIT, resource);
    let (lent, memory) = engine_buffer(&device, USAGE);
    let resource = adopt(&device, raw_buffer(lent, Some(memory), Ownership::Caller)).unwrap();
    assert_eq!(resource.buffer(), Some(lent));
    assert_eq!(resource.memory(), Some((memory.memory, memory.offset)));
    device.destroy_resource(PERMIT, resource);
    destroy(&device, lent, &memory);
    drop(device);
    vulkan.end();
}

/// The caller's mapping is used; without one the caller's memory is not mapped.
#[test]
fn mapping_follows_the_owner() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let (buffer, memory) = engine_buffer(&device, USAGE);
    let flags = vk::MemoryMapFlags::empty();
    // SAFETY: the memory is host-visible and not mapped.
    let base = unsafe { device.raw().map_memory(memory.memory, 0, vk::WHOLE_SIZE, flags) }.unwrap();
    let base = NonNull::new(base.cast::<u8>()).unwrap();
    let known = memory.mapped(Some(base));
    let resource = adopt(&device, raw_buffer(buffer, Some(known), Ownership::Caller)).unwrap();
    let mapping = device.map(&resource).unwrap();
    mapping.write(0, &bytes(4096, 2)).unwrap();
    // SAFETY: the offset is inside the memory.
    let expected = unsafe { base.add(usize::try_from(memory.offset).unwrap()) };
    assert_eq!(mapping.as_ptr(), Some(expected));
    drop(mapping);
    device.destroy_resource(PERMIT, resource);
    for memory in [None, Some(memory)] {
        let resource = adopt(&device, raw_buffer(buffer, memory, Ownership::Caller)).unwrap();
        let refused = device.map(&resource);
        assert!(matches!(refused, Err(DeviceError::InvalidCall { .. })), "{refused:?}");
        device.destroy_resource(PERMIT, resource);
    }
    destroy(&device, buffer, &memory);
    drop(device);
    vulkan.end();
}

/// A buffer has an address when it was created for one.
#[test]
fn addresses_follow_the_usage() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let (buffer, memory) = engine_buffer(&device, USAGE);
    let resource = adopt(&device, raw_buffer(buffer, None, Ownership::Caller)).unwrap();
    assert!(device.gpu_address(&resource).is_some_and(|address| address > 0));
    device.destroy_resource(PERMIT, resource);
    let without = raw_buffer(buffer, None, Ownership::Caller)
        .usage(USAGE & !vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS);
    let resource = adopt(&device, without).unwrap();
    assert_eq!(device.gpu_address(&resource), None);
    device.destroy_resource(PERMIT, resource);
    destroy(&device, buffer, &memory);
    drop(device);
    vulkan.end();
}

#[test]
fn bad_descriptions_are_refused() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let (buffer, memory) = engine_buffer(&device, USAGE);
    let good = raw_buffer(buffer, Some(memory), Ownership::Tenure);
    let outside = memory.offset(memory.size);
    let unknown = memory.memory_type(MemoryTypeId(32));
    for wrong in [
        good.clone().info(BufferInfo::new(0, COPIES)),
        good.clone().info(BufferInfo::new(SIZE, Usage::RENDER_TARGET)),
        good.clone().info(BufferInfo::new(memory.size, COPIES)),
        good.clone().memory(Some(outside)),
        good.clone().memory(Some(unknown)),
    ] {
        assert!(adopt(&device, wrong.clone()).is_err(), "{wrong:?}");
    }
    destroy(&device, buffer, &memory);
    drop(device);
    vulkan.end();
}

/// An engine's buffer and image, in tenure's care: written by the CPU, copied by the GPU.
#[test]
fn a_manager_takes_them_in() {
    let vulkan = Vulkan::new(validated());
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let device = gpu.device().clone();
    let (buffer, memory) = engine_buffer(&device, USAGE);
    let native = adopt(&device, raw_buffer(buffer, Some(memory), Ownership::Tenure)).unwrap();
    let desc = BufferDesc::new(SIZE, COPIES).memory(MemoryUse::Upload).name("terrain");
    let staging = gpu.adopt_buffer(native, &desc, State::COMMON).unwrap();
    assert_eq!(staging.location(), LocationKind::Adopted);
    staging.write(0, &bytes(4096, 3)).unwrap();

    let info = texture(32, Format::Rgba8Unorm, Usage::SHADER_READ | COPIES);
    let made = device.create_committed(&ResourceDesc::Texture(info.clone()), MemoryTypeId(0)).unwrap();
    let (image, format, usage) = (made.image(), made.format(), made.image_usage());
    let (image, format, usage) = (image.unwrap(), format.unwrap(), usage.unwrap());
    let raw = RawImage::new(image, info.clone(), format, usage, Ownership::Caller)
        .flags(made.image_flags().unwrap());
    // SAFETY: `made` outlives it.
    let native = unsafe { Resource::from_raw_image(&device, raw) }.unwrap();
    let desc = TextureDesc::from(info.clone()).name("grass");
    let grass = gpu.adopt_texture(native, &desc, State::COMMON).unwrap();

    let readback =
        gpu.create_buffer(&BufferDesc::new(32 * 512, COPIES).memory(MemoryUse::Readback).alignment(512));
    let readback = readback.unwrap();
    let layout = |row_pitch| tenure_core::BufferLayout { offset: 0, row_pitch, rows: 32 };
    let region = tenure_core::TextureRegion {
        mip: 0,
        layer: 0,
        plane: tenure_core::Plane::First,
        origin: [0; 3],
        extent: [32, 32, 1],
    };
    let mut recording = gpu.record(Queue::Graphics, "adopted").unwrap();
    recording.copy_buffer_to_texture(&staging, layout(128), &grass, region).unwrap();
    recording.copy_texture_to_buffer(&grass, region, &readback, layout(512)).unwrap();
    let done = recording.submit().unwrap();
    assert!(gpu.wait(&done, LONG).unwrap());
    for (row, expected) in bytes(4096, 3).chunks(128).enumerate() {
        let mut found = [0; 128];
        readback.read(row as u64 * 512, &mut found).unwrap();
        assert_eq!(found, expected, "row {row}");
    }
    drop((staging, grass, readback));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.destroy_resource(PERMIT, made);
    drop(device);
    vulkan.end();
}
