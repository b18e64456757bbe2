//! Command lists are created before a slower GPU needs them.

use std::time::Duration;

use tenure_core::{Config, FrameConfig, Gpu, Queue, QueueId};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

use super::manual;

/// A frame with several submissions to a queue.
fn frame_on(gpu: &Gpu<Device>, queue: Queue, submissions: usize) {
    let frame = gpu.begin_frame().unwrap();
    for _ in 0..submissions {
        frame.submit(frame.record(queue, "work").unwrap()).unwrap();
    }
    frame.end().unwrap();
}

#[test]
fn a_late_gpu_needs_no_further_lists() {
    for (frames_in_flight, submissions) in [(1, 1), (1, 5), (2, 3), (3, 1), (3, 4), (16, 4)] {
        let (gpu, device) = manual(Config::from(FrameConfig::default().in_flight(frames_in_flight)));
        for _ in 0..2 {
            frame_on(&gpu, Queue::Graphics, submissions);
            assert!(device.run_until_idle());
        }
        let made = gpu.stats().lists_created;
        assert_eq!(made, u64::from(frames_in_flight) * submissions as u64, "{frames_in_flight} in flight");
        for number in 2..20 {
            // The frame that must be complete for the next one to begin, and no other.
            let needed = (number + 1_u64).saturating_sub(u64::from(frames_in_flight)).max(2);
            assert!(device.complete(QueueId(0), needed * submissions as u64));
            frame_on(&gpu, Queue::Graphics, submissions);
            assert_eq!(gpu.stats().lists_created, made, "{frames_in_flight} in flight, frame {number}");
        }
        assert!(device.run_until_idle());
    }
}

#[test]
fn only_a_frame_that_submits_more_than_any_before_makes_lists() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let gpu = Gpu::new(device, Config::from(FrameConfig::default().in_flight(3))).unwrap();
    for (queue, submissions, expected) in [
        (Queue::Graphics, 2, 6),
        (Queue::Graphics, 1, 6),
        (Queue::Copy, 1, 9),
        (Queue::Graphics, 2, 9),
        (Queue::Graphics, 3, 12),
        (Queue::Copy, 1, 12),
    ] {
        frame_on(&gpu, queue, submissions);
        assert_eq!(gpu.stats().lists_created, expected, "after {submissions} on {queue:?}");
    }
}

/// A frame that loads may wait after each of many submissions, and needs one list.
#[test]
fn many_submissions_make_few_lists() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
    let gpu = Gpu::new(device, Config::default()).unwrap();
    for submissions in [1000, 2000] {
        let frame = gpu.begin_frame().unwrap();
        for _ in 0..submissions {
            let done = frame.submit(frame.record(Queue::Graphics, "load").unwrap()).unwrap();
            assert!(gpu.wait(&done, Duration::from_secs(5)).unwrap());
        }
        frame.end().unwrap();
        assert_eq!(gpu.stats().lists_created, 64);
    }
}

#[test]
fn reserved_lists_are_not_created_again() {
    let (gpu, device) = manual(Config::from(FrameConfig::default().in_flight(3)));
    gpu.reserve_recordings(Queue::Graphics, 10).unwrap();
    frame_on(&gpu, Queue::Graphics, 2);
    assert_eq!(gpu.stats().lists_created, 10, "a recording that is not submitted does not count");
    frame_on(&gpu, Queue::Graphics, 4);
    assert_eq!(gpu.stats().lists_created, 12);
    assert!(device.run_until_idle());
}

#[test]
fn frames_end_if_the_driver_creates_no_more_lists() {
    let (gpu, device) = manual(Config::default());
    gpu.reserve_recordings(Queue::Graphics, 1).unwrap();
    device.faults().inject(Fault::nth(2, FaultKind::OutOfHostMemory).of(CallKind::CreateList).onwards());
    frame_on(&gpu, Queue::Graphics, 1);
    assert_eq!(gpu.stats().lists_created, 2);
    device.faults().clear();
    // Missing lists are created on demand.
    frame_on(&gpu, Queue::Graphics, 1);
    frame_on(&gpu, Queue::Graphics, 1);
    assert_eq!(gpu.stats().lists_created, 3);
    assert!(device.run_until_idle());
}
