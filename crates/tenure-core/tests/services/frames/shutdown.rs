//! Shutdown in any order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tenure_core::{
    BufferDesc, Config, Error, Format, FrameConfig, Gpu, ObjectKind, PageAllocatorDesc, Queue, ReservedDesc,
    TextureDesc, Usage,
};
use tenure_sim::{Device, Profile};

use super::{frame, manual, mesh, read, submit};
use crate::waits;

#[test]
fn leaks_are_reported_by_name_kind_size_and_frame() {
    let device = Device::new(Profile::DISCRETE);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    frame(&gpu).unwrap();
    let rock = mesh(&gpu, "rock", 1000);
    frame(&gpu).unwrap();
    let grass = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::SHADER_READ).name(String::from("grass"));
    let grass = gpu.create_texture(&grass).unwrap();
    let sparse = ReservedDesc::buffer(1 << 20, Usage::SHADER_READ).name("sparse");
    let sparse = gpu.create_reserved(&sparse).unwrap();
    let (pages, pipeline) =
        (gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("level")), gpu.defer("pipeline", 7_u32));
    let report = gpu.shutdown();
    drop(gpu);
    let leaks: Vec<_> = report.leaks.iter().map(|leak| (leak.name.as_str(), leak.kind, leak.frame)).collect();
    let expected = [
        ("grass", ObjectKind::Texture, 2),
        ("level", ObjectKind::Pages, 2),
        ("pipeline", ObjectKind::User, 2),
        ("rock", ObjectKind::Buffer, 1),
        ("sparse", ObjectKind::Reserved, 2),
    ];
    assert_eq!(leaks, expected);
    assert_eq!(report.leaks[3].bytes, 1000);
    assert!(report.leaks.iter().all(|leak| leak.backtrace.is_none()), "nobody asked for backtraces");
    assert!(!report.is_clean() && !report.timed_out && report.lost.is_none());
    drop((rock, grass, sparse, pages, pipeline));
    device.check_clean().unwrap();
}

#[test]
fn backtraces_show_where_a_leak_was_created() {
    let config = Config::default().leak_backtraces(true);
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), config).unwrap();
    let rock = mesh(&gpu, "rock", 64);
    let live = gpu.report().objects.remove(0).backtrace;
    let leaked = gpu.shutdown().leaks.remove(0).backtrace;
    drop(gpu);
    assert_eq!(live, leaked);
    let backtrace = leaked.expect("asked for");
    assert!(backtrace.contains("backtraces_show_where_a_leak_was_created"), "{backtrace}");
    drop(rock);
}

/// In any order, the last drop leaves the device empty.
#[test]
fn handles_dropped_after_shutdown_are_released() {
    for last in 0..6 {
        let device = Device::new(Profile::DISCRETE);
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        struct Counted(Arc<AtomicUsize>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let rock = mesh(&gpu, "rock", 1000);
        let big = mesh(&gpu, "big", 20 << 20);
        let pages = gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("level"));
        let paged = pages.create_buffer(&BufferDesc::new(100, Usage::VERTEX)).unwrap();
        let recording = gpu.record(Queue::Graphics, "open").unwrap();
        let pipeline = gpu.defer("pipeline", Counted(dropped.clone()));
        submit(&gpu);
        assert_eq!(gpu.shutdown().open_recordings, ["open"]);
        drop(gpu);
        let mut handles: Vec<Option<Box<dyn std::any::Any>>> = vec![
            Some(Box::new(rock)),
            Some(Box::new(big)),
            Some(Box::new(pages)),
            Some(Box::new(paged)),
            Some(Box::new(pipeline)),
            Some(Box::new(recording)),
        ];
        let kept = handles[last].take();
        drop(handles);
        assert!(!device.leaks().is_empty(), "the last handle keeps the manager");
        drop(kept);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
        device.check_clean().unwrap_or_else(|findings| panic!("last {last}: {findings}"));
    }
}

#[test]
fn dropping_the_manager_waits_for_the_gpu() {
    let (gpu, device) = manual(Config::default());
    let upload = BufferDesc::new(64, Usage::COPY_SRC).memory(tenure_core::MemoryUse::Upload);
    let upload = gpu.create_buffer(&upload).unwrap();
    upload.write(0, &[1; 64]).unwrap();
    drop(read(&gpu, &upload).unwrap());
    drop(upload);
    let waits_before = waits::begun(&device);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            waits::until_one_more(&device, waits_before);
            assert!(device.run_until_idle());
        });
        drop(gpu);
    });
    device.check_clean().unwrap();
}

/// A page allocator is a handle of its own, and outlives the manager.
#[test]
fn page_allocators_create_nothing_after_the_shutdown() {
    for is_hung in [false, true] {
        let shutdown_timeout = Duration::from_millis(1);
        let (gpu, device) = manual(Config::from(FrameConfig::default().shutdown_timeout(shutdown_timeout)));
        let pages = gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("level"));
        submit(&gpu);
        assert!(is_hung || device.run_until_idle());
        assert_eq!(gpu.shutdown().timed_out, is_hung);
        let buffer = pages.create_buffer(&BufferDesc::new(100, Usage::VERTEX));
        let texture = pages.create_texture(&TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::SHADER_READ));
        assert!(matches!(buffer, Err(Error::ShutDown)), "{buffer:?}");
        assert!(matches!(texture, Err(Error::ShutDown)), "{texture:?}");
        assert_eq!(pages.stats().pages, 0);
        assert!(device.run_until_idle());
    }
}

/// Objects that a hung GPU may still use are never destroyed; nothing is destroyed under it.
#[test]
fn shutdown_under_a_hung_gpu_is_bounded() {
    let shutdown_timeout = Duration::from_millis(40);
    let (gpu, device) = manual(Config::from(FrameConfig::default().shutdown_timeout(shutdown_timeout)));
    let upload = BufferDesc::new(64, Usage::COPY_SRC).memory(tenure_core::MemoryUse::Upload);
    let upload = gpu.create_buffer(&upload.name("in use")).unwrap();
    upload.write(0, &[1; 64]).unwrap();
    let readback = read(&gpu, &upload).unwrap();
    let begun = Instant::now();
    let report = gpu.shutdown();
    drop(gpu);
    let took = begun.elapsed();
    assert!(report.timed_out && report.waited >= shutdown_timeout, "{report:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    let begun = Instant::now();
    drop((upload, readback));
    assert!(begun.elapsed() < Duration::from_secs(5), "dropping what is left does not hang");
    assert!(!device.leaks().is_empty(), "what the GPU may use stays");
    assert!(device.run_until_idle());
    assert_eq!(device.hazards(), [], "nothing was destroyed in use");
}
