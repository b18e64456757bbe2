//! The CPU's lead over the GPU, and the lifetime of idle blocks.

use std::thread;
use std::time::{Duration, Instant};

use tenure_core::{Awaited, BufferDesc, Config, Error, FrameConfig, Gpu, QueueId, Usage};
use tenure_sim::{Device, Profile};

use super::{frame, manual, mesh};
use crate::waits;

#[test]
fn beginning_a_frame_waits_for_the_oldest_one_too_many() {
    for frames_in_flight in [1, 2, 3, 16] {
        let (gpu, device) = manual(Config::from(FrameConfig::default().in_flight(frames_in_flight)));
        (0..frames_in_flight).for_each(|_| frame(&gpu).unwrap());
        assert_eq!(gpu.stats().frame_waits, 0, "{frames_in_flight} frames begin at once");
        let waits_before = waits::begun(&device);
        thread::scope(|scope| {
            let gpu_at_work = scope.spawn(|| {
                waits::until_one_more(&device, waits_before);
                device.complete(QueueId(0), 1)
            });
            frame(&gpu).unwrap();
            assert!(gpu_at_work.join().unwrap());
        });
        let stats = gpu.stats();
        let frames = u64::from(frames_in_flight) + 1;
        assert_eq!((stats.frame_waits, stats.frames), (1, frames), "it waits for the first frame");
        assert!(u128::from(stats.frame_wait_ns) >= waits::LEAST.as_nanos(), "{}", stats.frame_wait_ns);
        assert!(device.run_until_idle());
    }
}

#[test]
fn a_gpu_that_does_not_keep_up_is_an_error_after_the_timeout() {
    let frame_timeout = Duration::from_millis(25);
    let (gpu, device) = manual(Config::from(FrameConfig::default().in_flight(1).timeout(frame_timeout)));
    frame(&gpu).unwrap();
    let begun = Instant::now();
    let error = frame(&gpu).unwrap_err();
    assert!(begun.elapsed() >= frame_timeout);
    let Error::Timeout { what, waited_ms } = error else { panic!("{error}") };
    assert!((25..5000).contains(&waited_ms), "{waited_ms} ms");
    assert_eq!(what, Awaited::EarlierFrame);
    assert_eq!(gpu.stats().frames, 1, "no frame has begun");
    assert!(device.run_until_idle());
    frame(&gpu).unwrap();
    assert_eq!(gpu.stats().frames, 2, "all is well again");
    assert!(device.run_until_idle());
}

#[test]
fn frames_without_submissions_never_wait() {
    let (gpu, _device) = manual(Config::from(FrameConfig::default().in_flight(1)));
    for number in 1..=20 {
        let frame = gpu.begin_frame().unwrap();
        assert_eq!(frame.number(), number);
    }
    assert_eq!(gpu.stats().frame_waits, 0, "a dropped frame ends, too");
}

/// The number of frames after which an empty block is freed.
fn frames_until_returned(idle_frames: u32, size: u64) -> u32 {
    let device = Device::new(Profile::DISCRETE);
    let gpu = Gpu::new(device.clone(), Config::from(FrameConfig::default().idle(idle_frames))).unwrap();
    drop(gpu.create_buffer(&BufferDesc::new(size, Usage::SHADER_READ)).unwrap());
    assert!(gpu.stats().reserved > 0);
    for frames in 1..200 {
        gpu.begin_frame().unwrap().end().unwrap();
        if gpu.stats().reserved == 0 {
            return frames;
        }
    }
    panic!("never returned");
}

#[test]
fn idle_blocks_are_freed_exactly_after_the_configured_frames() {
    for idle_frames in [0, 1, 4, 16, 60] {
        let frames = frames_until_returned(idle_frames, 5000);
        // The frame at whose end it ran empty does not count.
        assert_eq!(frames, idle_frames + 1, "kept for {idle_frames} idle frames");
    }
}

#[test]
fn a_use_restarts_the_idle_time_of_a_block() {
    let device = Device::new(Profile::DISCRETE);
    let gpu = Gpu::new(device, Config::from(FrameConfig::default().idle(4))).unwrap();
    for _ in 0..10 {
        drop(mesh(&gpu, "flicker", 100));
        (0..3).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
        assert!(gpu.stats().reserved > 0, "it was used three frames ago");
    }
    assert_eq!(gpu.stats().heaps, 1);
    assert_eq!(gpu.device().calls().made(tenure_sim::CallKind::CreateHeap), 1, "nothing was made twice");
}
