//! Adopted resources of the program.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::time::Duration;

use tenure_core::device::{Allowed, MemoryFlags, MemoryTypeId, Permit, ResourceDesc, prelude::*};
use tenure_core::{
    BufferDesc, BufferInfo, Config, DeviceError, Error, Format, Gpu, LocationKind, MemoryUse, Queue, State,
    TextureDesc, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

const SIZE: u64 = 5000;

fn device(profile: Profile) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(Lag::Random { max: 4 }).seed(9))
}

fn made(
    device: &Device,
    usage: Usage,
    memory: u8,
) -> <Device as tenure_core::device::MemoryDevice>::Resource {
    let info = BufferInfo::new(SIZE, usage);
    device.create_committed(&ResourceDesc::Buffer(info), MemoryTypeId(memory)).unwrap()
}

/// An adopted buffer is used, tracked and released like any other, and counts no memory.
#[test]
fn adopted_buffers_live_like_others() {
    for profile in [Profile::D3D12_TIER2, Profile::VULKAN_NVIDIA] {
        let device = device(profile);
        let usage = Usage::VERTEX | Usage::COPY_DST | Usage::COPY_SRC;
        let object = made(&device, usage, 0);
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let desc = BufferDesc::new(SIZE, usage).name("terrain");
        let adopted = gpu.adopt_buffer(object, &desc, State::COMMON).unwrap();
        assert_eq!((adopted.location(), adopted.offset(), adopted.size()), (LocationKind::Adopted, 0, SIZE));
        assert_eq!(gpu.stats().reserved, 0, "the memory is the program's");

        let staging = BufferDesc::new(SIZE, Usage::COPY_SRC).memory(MemoryUse::Upload);
        let staging = gpu.create_buffer(&staging).unwrap();
        let bytes: Vec<u8> = (0..SIZE).map(|index| u8::try_from(index % 251).unwrap()).collect();
        staging.write(0, &bytes).unwrap();
        let back = BufferDesc::new(SIZE, Usage::COPY_DST).memory(MemoryUse::Readback);
        let back = gpu.create_buffer(&back).unwrap();
        let mut recording = gpu.record(Queue::Graphics, "there and back").unwrap();
        recording.copy_buffer(&staging, 0, &adopted, 0, SIZE).unwrap();
        recording.copy_buffer(&adopted, 0, &back, 0, SIZE).unwrap();
        drop(adopted);
        let done = recording.submit().unwrap();
        gpu.reclaim().unwrap();
        assert!(gpu.wait(&done, Duration::from_secs(10)).unwrap());
        let mut found = vec![0; bytes.len()];
        back.read(0, &mut found).unwrap();
        assert!(found == bytes);
        drop((staging, back));
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        device.check_clean().unwrap();
    }
}

/// The program reads its own memory through a pointer, and sees the writes of complete submissions.
#[test]
fn memory_of_the_program_is_read_by_the_cpu() {
    let device = device(Profile::VULKAN_NVIDIA);
    let types = &device.properties().memory_types;
    let cached = types.iter().position(|found| found.flags.contains(MemoryFlags::HOST_CACHED)).unwrap();
    let object = made(&device, Usage::COPY_DST, u8::try_from(cached).unwrap());
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let desc = BufferDesc::new(SIZE, Usage::COPY_DST).name("mapped file");
    let file = gpu.adopt_buffer_in("the file", object, &desc, State::COMMON).unwrap();
    let staging = BufferDesc::new(64, Usage::COPY_SRC).memory(MemoryUse::Upload);
    let staging = gpu.create_buffer(&staging).unwrap();
    staging.write(0, &[7; 64]).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "results").unwrap();
    recording.copy_buffer(&staging, 0, &file, 0, 64).unwrap();
    let done = recording.submit().unwrap();
    assert!(gpu.wait(&done, Duration::from_secs(10)).unwrap());
    let mut found = [0; 64];
    device.map(file.raw()).unwrap().read(0, &mut found).unwrap();
    assert_eq!(found, [7; 64]);
    drop((staging, file));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// A dynamic buffer is mapped; memory that is not CPU-visible is refused and returned.
#[test]
fn adopted_buffers_are_mapped_or_returned() {
    let device = device(Profile::D3D12_TIER2);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let usage = Usage::COPY_SRC;
    let desc = BufferDesc::new(SIZE, usage).usage(usage).memory(MemoryUse::Upload);
    let mapped = gpu.adopt_buffer(made(&device, usage, 1), &desc, State::COMMON).unwrap();
    mapped.write(SIZE - 1, &[7]).unwrap();

    let rejected = gpu.adopt_buffer(made(&device, usage, 0), &desc, State::COMMON).unwrap_err();
    assert!(matches!(rejected.error, Error::Device { source: DeviceError::InvalidCall { .. }, .. }));
    device.destroy_resource(Permit::checked(), rejected.object);

    let larger = desc.clone().size(SIZE + 1);
    let rejected = gpu.adopt_buffer(made(&device, usage, 1), &larger, State::COMMON).unwrap_err();
    let expected = DeviceError::invalid_desc("size", SIZE + 1, Allowed::AtMost(SIZE));
    assert!(matches!(&rejected.error, Error::Device { source, .. } if *source == expected), "{rejected}");
    device.destroy_resource(Permit::checked(), rejected.object);

    drop(mapped);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// A state that is not allowed is an error, which returns the object.
#[test]
fn impossible_states_are_refused() {
    let device = device(Profile::VULKAN_NVIDIA);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::SHADER_READ);
    for state in [State::RENDER_TARGET, State::COPY_DST | State::PIXEL_SHADER] {
        let object =
            device.create_committed(&ResourceDesc::Texture(desc.info.clone()), MemoryTypeId(0)).unwrap();
        let rejected = gpu.adopt_texture(object, &desc, state).unwrap_err();
        assert!(matches!(rejected.error, Error::State { .. }), "{rejected}");
        let adopted = gpu.adopt_texture(rejected.object, &desc, State::COMMON).unwrap();
        assert_eq!(adopted.location(), LocationKind::Adopted);
    }
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}
