//! Transient heaps while memory is short: they stay in the card's memory, are freed for others when unused, and
//! wait without blocking other threads.

use std::time::{Duration, Instant};

use tenure_core::device::prelude::*;
use tenure_core::{
    BufferDesc, Config, Error, Format, Gpu, Queue, State, Subresource, TextureDesc, TransientConfig, Usage,
};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

const MIB: u64 = 1 << 20;

fn config() -> Config {
    Config::default().transient(TransientConfig::default().heap(MIB).latency(100))
}

fn usage(gpu: &Gpu<Device>) -> Vec<u64> {
    gpu.device().budget().unwrap().iter().map(|heap| heap.usage).collect()
}

/// A target of `mib` MiB.
fn target(mib: u32) -> TextureDesc {
    TextureDesc::d2(512, 512 * mib, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("target")
}

fn frame(gpu: &Gpu<Device>, sizes: &[u32]) -> Result<(), Error> {
    let frame = gpu.begin_frame()?;
    let mut list = frame.record(Queue::Graphics, "frame")?;
    for mib in sizes {
        let target = list.transient_texture(&target(*mib))?;
        list.use_resource(&target, Subresource::All, State::RENDER_TARGET)?;
        list.barriers();
        list.raw().clear_texture(target.raw(), Subresource::All, &[1; 4]);
    }
    frame.submit(list)?;
    frame.end()
}

#[test]
fn transient_targets_stay_in_the_cards_memory_beyond_its_budget() {
    let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).budgets([4 * MIB, 512 * MIB, 1]);
    let gpu = Gpu::new(Device::with_config(options), config()).unwrap();
    frame(&gpu, &[8]).unwrap();
    assert_eq!(usage(&gpu)[1], 0, "nothing in system memory");
    assert!(usage(&gpu)[0] >= 8 * MIB);
    assert!(gpu.shutdown().is_clean());
}

#[test]
fn transient_targets_leave_the_cards_memory_after_a_refusal() {
    let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).heap_sizes([4 * MIB, 512 * MIB, 4 * MIB]);
    let gpu = Gpu::new(Device::with_config(options), config()).unwrap();
    frame(&gpu, &[8]).unwrap();
    assert!(usage(&gpu)[1] >= 8 * MIB);
    assert!(gpu.shutdown().is_clean());
}

/// A level is loaded after a cut scene whose targets are no longer used.
#[test]
fn unused_transient_heaps_make_room_within_the_budget() {
    let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).budgets([24 * MIB, 512 * MIB, 1]);
    let gpu = Gpu::new(Device::with_config(options), config()).unwrap();
    frame(&gpu, &[16]).unwrap();
    let (reserved, level) = (gpu.stats().transient.reserved, BufferDesc::new(12 * MIB, Usage::VERTEX));
    assert!(reserved >= 16 * MIB);
    // The targets were used in this frame, and so most likely in the next: the level goes to system memory.
    let elsewhere = gpu.create_buffer(&level).unwrap();
    assert_eq!(gpu.stats().transient.reserved, reserved);
    assert!(usage(&gpu)[1] > 0);
    drop(elsewhere);
    for _ in 0..3 {
        frame(&gpu, &[]).unwrap();
    }
    gpu.device().run_until_idle();
    gpu.trim();
    frame(&gpu, &[16]).unwrap();
    for _ in 0..3 {
        frame(&gpu, &[]).unwrap();
    }
    gpu.device().run_until_idle();
    let level = gpu.create_buffer(&level).unwrap();
    assert_eq!(gpu.stats().transient.reserved, 0, "nothing has used them for two frames");
    assert_eq!(usage(&gpu)[1], 0, "so that there was room");
    drop(level);
    assert!(gpu.shutdown().is_clean());
}

/// Only a transient heap's memory is left for a buffer: creating the heap again later is better than a failure.
#[test]
fn transient_heaps_of_the_last_frame_are_freed_for_a_request() {
    let options = DeviceConfig::new(Profile::DISCRETE).heap_sizes([24 * MIB]);
    let gpu = Gpu::new(Device::with_config(options), config()).unwrap();
    frame(&gpu, &[16]).unwrap();
    assert!(gpu.stats().transient.reserved >= 16 * MIB);
    let volume = gpu.create_buffer(&BufferDesc::new(16 * MIB, Usage::UNORDERED_ACCESS)).unwrap();
    assert_eq!(gpu.stats().transient.reserved, 0);
    drop(volume);
    frame(&gpu, &[16]).unwrap();
    assert_eq!(gpu.device().take_hazards(), []);
    assert!(gpu.shutdown().is_clean());
}

/// Each frame exceeds the budget, with heaps that are never in use at the same time.
#[test]
fn frames_beyond_the_budget_do_not_create_heaps_again_and_again() {
    let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).budgets([4 * MIB, 512 * MIB, 1]);
    let gpu = Gpu::new(Device::with_config(options), config()).unwrap();
    for _ in 0..4 {
        frame(&gpu, &[8, 3, 16]).unwrap();
    }
    let before = gpu.stats().heaps_created;
    for _ in 0..32 {
        frame(&gpu, &[8, 3, 16]).unwrap();
    }
    assert_eq!(gpu.stats().heaps_created, before);
    assert!(gpu.shutdown().is_clean());
}

/// A device of 8 MiB, on which the GPU still uses 5 MiB that were dropped.
fn busy(lag: Lag, max_wait: Duration) -> Gpu<Device> {
    let options = DeviceConfig::new(Profile::DISCRETE).heap_sizes([8 * MIB]).lag(lag);
    let mut config = config();
    config.pools.max_wait = max_wait;
    let gpu = Gpu::new(Device::with_config(options), config).unwrap();
    let level = BufferDesc::new(5 * MIB, Usage::UNORDERED_ACCESS).own_resource();
    let level = gpu.create_buffer(&level).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "use").unwrap();
    let small = recording.transient_texture(&target(1)).unwrap();
    recording.use_resource(&small, Subresource::All, State::RENDER_TARGET).unwrap();
    recording.use_resource(&level, Subresource::All, State::COPY_DST).unwrap();
    drop(small);
    recording.submit().unwrap();
    drop(level);
    gpu
}

#[test]
fn transient_heaps_wait_for_objects_in_use() {
    let gpu = busy(Lag::Submissions(50), Duration::from_secs(10));
    let recording = gpu.record(Queue::Graphics, "draw").unwrap();
    drop(recording.transient_texture(&target(5)).unwrap());
    drop(recording);
    assert!(gpu.shutdown().is_clean());
}

/// One thread waits for a GPU that hangs; another continues with the existing heaps.
#[test]
fn other_threads_acquire_while_one_waits() {
    let gpu = busy(Lag::Manual, Duration::from_secs(1));
    let start = Instant::now();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let recording = gpu.record(Queue::Graphics, "waits").unwrap();
            let refused = recording.transient_texture(&target(5)).err();
            assert!(matches!(refused, Some(Error::OutOfMemory(_))), "{refused:?}");
        });
        std::thread::sleep(Duration::from_millis(200));
        let recording = gpu.record(Queue::Graphics, "goes on").unwrap();
        drop(recording.transient_texture(&target(1)).unwrap());
        drop(recording);
        assert!(start.elapsed() < Duration::from_millis(900), "{:?}", start.elapsed());
        waiting.join().unwrap();
    });
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert!(gpu.device().run_until_idle());
    assert!(gpu.shutdown().is_clean());
}
