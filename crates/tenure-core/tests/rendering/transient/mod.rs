//! Transient resources on the simulated device, which reports every byte that two of them use at the same time.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use tenure_core::{
    Buffer, BufferDesc, Config, Format, Gpu, QueueKind, Recording, State, Subresource, Texture, TextureDesc,
    Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

mod caches;
mod culled;
mod frameless;
mod graphs;
mod memoryless;
mod merged;
mod online;
mod open;
mod pending;
mod refusals;
mod resized;
mod shortage;
mod small;
mod steady;

const PROFILES: &[Profile] = Profile::ALL;

const MIB: u64 = 1 << 20;

fn device(profile: Profile) -> Device {
    Device::with_config(DeviceConfig::new(profile).seed(7).lag(Lag::Random { max: 6 }))
}

fn gpu_with(device: &Device, config: Config) -> Gpu<Device> {
    Gpu::new(device.clone(), config).unwrap()
}

fn gpu(device: &Device) -> Gpu<Device> {
    gpu_with(device, Config::default())
}

/// A target that shaders and copies read.
fn target(side: u32, name: impl Into<tenure_core::Name>) -> TextureDesc {
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ | Usage::COPY_SRC;
    TextureDesc::d2(side, side, Format::Rgba8Unorm, usage).name(name)
}

/// The sample counts that the device supports for such targets, including 1.
fn sample_counts(device: &Device) -> Vec<u32> {
    use tenure_core::device::{ResourceDesc, prelude::*};
    let has = |samples: &u32| {
        let desc = ResourceDesc::Texture(target(16, "asked").samples(*samples).info);
        device.requirements(&desc).is_ok()
    };
    [1, 2, 4, 8].into_iter().filter(has).collect()
}

/// A target of a random size, every third of them multisampled where the device supports it.
fn random_target(
    device: &Device,
    chance: &mut test_random::Rng,
    name: impl Into<tenure_core::Name>,
) -> TextureDesc {
    let counts = sample_counts(device);
    let samples = if chance.below(3) == 0 { counts[chance.below(counts.len() as u64) as usize] } else { 1 };
    target(16 << chance.below(4), name).samples(samples)
}

/// A buffer that shaders write and read.
fn storage(size: u64, name: impl Into<tenure_core::Name>) -> BufferDesc {
    BufferDesc::new(size, Usage::UNORDERED_ACCESS | Usage::SHADER_READ).name(name)
}

/// Clears all of it, as a first use must.
fn clear(list: &mut Recording<Device>, texture: &Texture<Device>, byte: u8) {
    list.use_resource(texture, Subresource::All, State::RENDER_TARGET).unwrap();
    list.barriers();
    list.raw().clear_texture(texture.raw(), Subresource::All, &[byte; 4]);
}

/// Samples all of it, and checks that it holds `byte`.
fn sample(list: &mut Recording<Device>, texture: &Texture<Device>, byte: u8) {
    list.use_resource(texture, Subresource::All, State::PIXEL_SHADER).unwrap();
    list.barriers();
    list.raw().use_texture(texture.raw(), Subresource::All, State::PIXEL_SHADER);
    list.raw().expect_bytes(texture.raw(), 0, &[byte; 16]);
}

/// Fills all of it.
fn fill(list: &mut Recording<Device>, buffer: &Buffer<Device>, byte: u8) {
    list.use_resource(buffer, Subresource::All, State::COPY_DST).unwrap();
    list.barriers();
    list.raw().fill_buffer(buffer.raw(), 0, buffer.size(), byte);
}

/// Reads all of it in shaders, on a graphics or compute queue.
fn read(list: &mut Recording<Device>, buffer: &Buffer<Device>, byte: u8) {
    list.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER).unwrap();
    list.barriers();
    list.raw().use_buffer(buffer.raw(), 0, buffer.size(), State::NON_PIXEL_SHADER);
    list.raw().expect_bytes(buffer.raw(), 0, &[byte; 16]);
}

/// Drops the manager, and checks that the device reports no errors.
fn finish(device: &Device, gpu: Gpu<Device>) {
    let report = gpu.shutdown();
    drop(gpu);
    assert!(report.is_clean(), "{report:?}");
    if let Err(findings) = device.check_clean() {
        panic!("{findings}");
    }
}

fn has_queue(device: &Device, kind: QueueKind) -> bool {
    use tenure_core::device::prelude::*;
    device.properties().queues.iter().any(|queue| queue.kind == kind)
}
