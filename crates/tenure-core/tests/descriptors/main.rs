//! Descriptors: views, samplers, tables and sets, on the simulated device with all of
//! its checks.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::time::Duration;

use tenure_core::{
    Bind, BindingKind, Buffer, BufferDesc, BufferViewDesc, Config, DescriptorConfig, DescriptorHeapStats,
    DescriptorKind, DescriptorPart, Gpu, MemoryUse, Queue, QueueId, SamplerDesc, SamplerInfo, SetBinding,
    State, Subresource, Usage, View,
};
use tenure_sim::{DescriptorAt, Device, DeviceConfig, Hazard, Lag, Profile};

mod buffer_views;
mod dynamic;
mod dynamic_constants;
mod endings;
mod exhaustion;
mod faults;
mod heaps;
mod kinds;
mod model;
mod samplers;
mod sets;
mod tables;
mod texture_views;
mod threads;
mod unnamed;
mod uses;

const SECOND: Duration = Duration::from_secs(1);
const GRAPHICS: QueueId = QueueId(0);
/// A profile with heaps, one with heaps and sets, one with sets.
const HEAPS: Profile = Profile::DISCRETE;
const BOTH: Profile = Profile::VULKAN_NVIDIA;
const SETS: Profile = Profile::VULKAN_MOBILE;

fn device(profile: Profile, lag: Lag) -> Device {
    Device::with_config(DeviceConfig::new(profile).lag(lag).seed(11))
}

fn gpu(device: &Device, config: Config) -> Gpu<Device> {
    Gpu::new(device.clone(), config).unwrap()
}

/// Few descriptors, which are poisoned when freed.
fn small() -> Config {
    Config::from(
        DescriptorConfig::default()
            .static_resources(Some(16))
            .dynamic_resources(Some(64))
            .static_samplers(Some(8))
            .dynamic_samplers(Some(8))
            .chunk(16)
            .set_pool(4)
            .poison(true),
    )
}

/// A buffer of 256 equal bytes that the CPU writes.
fn bytes(gpu: &Gpu<Device>, name: &'static str, byte: u8) -> Buffer<Device> {
    let usage = Usage::SHADER_READ | Usage::CONSTANT;
    let desc = BufferDesc::new(256, usage).usage(usage);
    let buffer = gpu.create_buffer(&desc.memory(MemoryUse::Upload).name(name)).unwrap();
    buffer.write(0, &[byte; 256]).unwrap();
    buffer
}

/// A raw view of such a buffer, which nothing else holds.
fn view(gpu: &Gpu<Device>, name: &'static str, byte: u8) -> View<Device> {
    gpu.create_buffer_view(&bytes(gpu, name, byte), &BufferViewDesc::raw()).unwrap()
}

/// A sampler that differs from those of other numbers.
fn sampler(number: u32) -> SamplerDesc {
    SamplerInfo::default().max_lod(number as f32).into()
}

fn binding(binding: u32, kind: BindingKind, count: u32) -> SetBinding {
    SetBinding { binding, kind, count }
}

/// The output of commands: the bytes that they read through descriptors.
fn out(gpu: &Gpu<Device>) -> Buffer<Device> {
    let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
    gpu.create_buffer(&BufferDesc::new(4096, usage).own_resource().name("out")).unwrap()
}

/// The first word that a shader reads through a raw view or constants, in a submission without a wait.
fn submit_read(gpu: &Gpu<Device>, out: &Buffer<Device>, at: DescriptorAt<'_>, state: State) {
    let mut recording = gpu.record(Queue::Graphics, "reader").unwrap();
    recording.set_descriptor_heaps().unwrap();
    recording.use_resource(out, Subresource::All, State::UNORDERED_ACCESS).unwrap();
    recording.barriers();
    recording.raw().read_descriptor(at, state, out.raw(), out.offset(), 16);
    recording.submit().unwrap();
}

/// The first word that a shader reads through a raw view in the shader-visible heap.
fn read(gpu: &Gpu<Device>, out: &Buffer<Device>, heap: &tenure_sim::DescriptorHeap, index: u32) -> u8 {
    submit_read(gpu, out, DescriptorAt::Heap { heap, index }, State::NON_PIXEL_SHADER);
    written(gpu, out)
}

/// The byte that fills the first of `out`.
fn written(gpu: &Gpu<Device>, out: &Buffer<Device>) -> u8 {
    let readback = gpu.read_back(out, 0, 16).unwrap();
    gpu.device().run_until_idle();
    let found = readback.wait(SECOND).unwrap();
    assert_eq!(found, [found[0]; 16]);
    found[0]
}

/// Descriptors of a part of a heap; none where there is no such heap.
#[derive(Debug, Default)]
struct HeapUse {
    capacity: u64,
    used: u64,
    peak: u64,
    waiting: u64,
}

fn heap(gpu: &Gpu<Device>, kind: DescriptorKind, part: DescriptorPart) -> HeapUse {
    let heaps = gpu.stats().descriptors.heaps;
    let found = heaps.into_iter().find(|heap| (heap.kind, heap.part) == (kind, part));
    let of =
        |DescriptorHeapStats { capacity, used, peak, waiting, .. }| HeapUse { capacity, used, peak, waiting };
    found.map(of).unwrap_or_default()
}

/// Waits for everything and reclaims dropped objects.
fn finish(gpu: &Gpu<Device>) {
    assert!(gpu.device().run_until_idle());
    gpu.reclaim().unwrap();
}

/// The end of every test: nothing is left and nothing went wrong.
#[track_caller]
fn end(gpu: Gpu<Device>, device: &Device) {
    device.run_until_idle();
    let report = gpu.shutdown();
    drop(gpu);
    assert!(report.is_clean(), "{report:?}");
    device.check_clean().unwrap_or_else(|findings| panic!("{findings}"));
    let calls = device.calls();
    let left = (calls.live_descriptor_heaps, calls.live_set_layouts, calls.live_set_pools);
    assert_eq!(left, (0, 0, 0), "heaps, layouts and blocks");
}

/// The hazards so far, which were expected.
fn hazards(device: &Device) -> Vec<Hazard> {
    device.run_until_idle();
    device.take_hazards()
}

fn binds<'a>(views: &'a [View<Device>]) -> Vec<Bind<'a, Device>> {
    views.iter().map(Bind::from).collect()
}
