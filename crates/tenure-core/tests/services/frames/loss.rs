//! The device is removed, at any call.

use std::time::{Duration, Instant};

use tenure_core::device::Features;
use tenure_core::{
    BufferDesc, BufferLayout, Config, DeviceError, Error, Format, FrameConfig, Gpu, MemoryUse,
    PageAllocatorDesc, Plane, Queue, ReservedDesc, TexelData, TextureDesc, TextureRegion, TileRegion,
    UploadRingDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use super::frame;
use crate::waits;

const REASON: &str = "DXGI_ERROR_DEVICE_HUNG";

/// Makes calls of all kinds until the first error.
fn program(gpu: &Gpu<Device>) -> Result<(), Error> {
    use tenure_core::device::prelude::*;
    let pages = gpu.create_pages(&PageAllocatorDesc::new(256 << 10).name("pages"));
    let ring = gpu.create_upload_ring(&UploadRingDesc::new(64 << 10))?;
    let features = gpu.device().properties().features;
    for round in 0..2_u8 {
        let frame = gpu.begin_frame()?;
        let staging = BufferDesc::new(16 << 10, Usage::COPY_SRC).memory(MemoryUse::Upload).alignment(512);
        let staging = gpu.create_buffer(&staging)?;
        staging.write(0, &vec![round; 16 << 10])?;
        let mut recording = frame.record(Queue::Graphics, "upload")?;
        for usage in [Usage::VERTEX, Usage::UNORDERED_ACCESS] {
            let buffer = gpu.create_buffer(&BufferDesc::new(5000, usage | Usage::COPY_SRC))?;
            recording.copy_buffer(&staging, 0, &buffer, 0, 5000)?;
        }
        let paged = pages.create_buffer(&BufferDesc::new(3000, Usage::VERTEX))?;
        recording.copy_buffer(&staging, 0, &paged, 0, 3000)?;
        let texture = TextureDesc::d2(32, 32, Format::Rgba8Unorm, Usage::SHADER_READ);
        let texture = gpu.create_texture(&texture)?;
        let region =
            TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [32, 32, 1] };
        let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 32 };
        recording.copy_buffer_to_texture(&staging, layout, &texture, region)?;
        let mesh = BufferDesc::new(5000, Usage::VERTEX | Usage::COPY_SRC);
        let mesh = gpu.create_buffer_with(&mesh, &[round; 5000])?;
        gpu.upload_texture(&texture, region, TexelData::new(&[round; 4096]))?;
        {
            let (commands, scratch) = recording.split();
            scratch.constant_bytes(&[round; 300])?;
            let slice = ring.allocate(scratch, 1000, 16)?;
            slice.write(0, &[round; 1000])?;
            commands.copy_slice(&slice, 0, &mesh, 4000, 1000)?;
        }
        let seen = recording.read_back(&mesh, 3000, 2000)?;
        frame.submit(recording)?;
        if features.contains(Features::RESERVED_BUFFERS) {
            let sparse = gpu.create_reserved(&ReservedDesc::buffer(512 << 10, Usage::SHADER_READ))?;
            sparse.map(Queue::Graphics, TileRegion::buffer(0, 2))?;
            sparse.unmap(Queue::Graphics, TileRegion::buffer(1, 1))?;
        }
        let readback = BufferDesc::new(5000, Usage::COPY_DST).memory(MemoryUse::Readback);
        let readback = gpu.create_buffer(&readback)?;
        let mut recording = frame.record(Queue::Copy, "readback")?;
        recording.copy_buffer(&staging, 0, &readback, 0, 5000)?;
        let done = frame.submit(recording)?;
        frame.end()?;
        assert!(gpu.wait(&done, Duration::from_secs(5))?);
        readback.read(0, &mut [0; 5000])?;
        assert_eq!(seen.wait(Duration::from_secs(5))?, [round; 2000]);
    }
    Ok(())
}

fn is_lost(error: &Error) -> bool {
    let says_why = |source: &DeviceError| matches!(source, DeviceError::Lost { reason } if reason == REASON);
    error.is_device_lost() && matches!(error, Error::Device { source, .. } if says_why(source))
}

#[track_caller]
fn lost<T>(result: Result<T, Error>) {
    let error = result.err().expect("the device is lost");
    assert!(is_lost(&error), "{error}");
}

/// Every call of the manager answers with the reason, and at once.
fn everything_is_lost(gpu: &Gpu<Device>) {
    let begun = Instant::now();
    for memory in [MemoryUse::GpuOnly, MemoryUse::Upload, MemoryUse::Readback] {
        for size in [64, 100_000, 70 << 20] {
            lost(gpu.create_buffer(&BufferDesc::new(size, Usage::COPY_DST).memory(memory)));
        }
    }
    let desc = TextureDesc::d2(8, 8, Format::Rgba8Unorm, Usage::SHADER_READ);
    lost(gpu.create_texture(&desc));
    lost(gpu.create_readback_texture(&desc));
    lost(gpu.create_buffer_with(&BufferDesc::new(4, Usage::VERTEX), &[1; 4]));
    lost(gpu.create_texture_with(&desc, &[TexelData::new(&[1; 256])]));
    lost(gpu.create_upload_ring(&UploadRingDesc::new(64 << 10)));
    lost(gpu.flush_uploads());
    lost(gpu.create_reserved(&ReservedDesc::buffer(1 << 20, Usage::SHADER_READ)));
    let pages = gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("pages"));
    lost(pages.create_buffer(&BufferDesc::new(64, Usage::VERTEX)));
    lost(pages.create_texture(&desc));
    lost(gpu.begin_frame());
    lost(gpu.record(Queue::Graphics, "lost"));
    lost(gpu.completed());
    lost(gpu.reclaim());
    let submitted = gpu.submitted();
    if submitted != tenure_core::time::SyncPoint::NONE {
        lost(gpu.wait(&submitted, Duration::from_secs(20)));
    }
    gpu.trim();
    drop(pages);
    assert!(begun.elapsed() < Duration::from_secs(10), "nothing hangs");
}

/// The same calls each time, up to the removal.
fn config() -> Config {
    Config::from(FrameConfig::default().idle(1).in_flight(2))
}

fn removed_at(profile: Profile, n: u64, ends_at_once: bool) {
    let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(3)));
    let gpu = Gpu::new(device.clone(), config()).unwrap();
    device.faults().inject(Fault::nth(n, FaultKind::Removed(REASON.into())));
    let error = program(&gpu).expect_err("the device is removed on the way");
    assert!(is_lost(&error), "{profile:?}, call {n}: {error}");
    if ends_at_once {
        // No other call has met the loss.
        assert_eq!(gpu.shutdown().lost.as_deref(), Some(REASON), "{profile:?}, call {n}");
        return;
    }
    everything_is_lost(&gpu);
    let stats = gpu.stats();
    let what = format!("{profile:?}, call {n}");
    assert_eq!((stats.live_objects, stats.pending_releases, stats.open_recordings), (0, 0, 0), "{what}");
    let report = gpu.shutdown();
    drop(gpu);
    assert_eq!(report.lost.as_deref(), Some(REASON), "{what}");
    assert!(!report.timed_out && report.leaks.is_empty(), "{what}: {report:?}");
    device.check_clean().unwrap_or_else(|findings| panic!("{what}: {findings}"));
}

#[test]
fn removal_at_any_call_is_reported_and_drains() {
    for profile in [Profile::D3D12_TIER1, Profile::VULKAN_NVIDIA] {
        let device = Device::with_config(DeviceConfig::new(profile).lag(Lag::Submissions(3)));
        let gpu = Gpu::new(device.clone(), config()).unwrap();
        program(&gpu).unwrap();
        let calls = device.calls();
        let calls: u64 =
            CallKind::ALL.iter().filter(|kind| kind.can_fail()).map(|kind| calls.made(*kind)).sum();
        assert!(calls > 15, "{calls} driver calls");
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        (1..=calls)
            .for_each(|n| [false, true].into_iter().for_each(|at_once| removed_at(profile, n, at_once)));
    }
}

/// With everything in flight and open: objects dropped afterwards are released, too.
#[test]
fn work_open_at_the_removal_drains() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let rock = gpu.create_buffer(&BufferDesc::new(5000, Usage::VERTEX)).unwrap();
    let dropped = gpu.create_buffer(&BufferDesc::new(20 << 20, Usage::VERTEX)).unwrap();
    let open = gpu.record(Queue::Graphics, "open").unwrap();
    let late = gpu.record(Queue::Graphics, "submitted too late").unwrap();
    gpu.record(Queue::Graphics, "in flight").unwrap().submit().unwrap();
    drop(dropped);
    device.faults().remove(REASON);
    lost(late.submit());
    lost(gpu.reclaim());
    assert_eq!(gpu.stats().pending_releases, 0, "nothing waits for a GPU that is gone");
    drop(rock);
    lost(gpu.reclaim());
    assert_eq!(gpu.stats().pending_releases, 0);
    drop(open);
    assert_eq!(gpu.shutdown().lost.as_deref(), Some(REASON));
    drop(gpu);
    device.check_clean().unwrap();
}

/// A wait that is under way ends when the device is removed.
#[test]
fn waits_end_with_the_device() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Manual));
    let gpu = Gpu::new(device.clone(), Config::from(FrameConfig::default().in_flight(1))).unwrap();
    frame(&gpu).unwrap();
    let waits_before = waits::begun(&device);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            waits::until_one_more(&device, waits_before);
            device.faults().remove(REASON);
        });
        let begun = Instant::now();
        lost(gpu.begin_frame());
        assert!(begun.elapsed() < Duration::from_secs(8), "not after the whole timeout");
    });
}
