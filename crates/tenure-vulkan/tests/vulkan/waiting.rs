//! Serials, and waiting for them.

use std::time::{Duration, Instant};

use conformance::Harness as _;
use tenure_core::QueueId;
use tenure_core::device::{QueueSerial, prelude::*};
use tenure_vulkan::{DeviceConfig, OptionalFeatures};

use crate::basics::{GRAPHICS, LONG, at, is_invalid};
use crate::disguise::Costume;
use crate::harness::{PERMIT, Vulkan, validated};

fn serials_and_waits(vulkan: Vulkan) {
    let device = vulkan.device();
    let uses_timeline = device.optional_features().contains(OptionalFeatures::TIMELINE_SEMAPHORES);
    is_invalid(device.submit(PERMIT, GRAPHICS, &[], &[], 0), "rise by one");
    is_invalid(device.submit(PERMIT, GRAPHICS, &[], &[], 2), "rise by one");
    is_invalid(device.submit(PERMIT, QueueId(9), &[], &[], 1), "queue exists");
    is_invalid(
        device.submit(PERMIT, GRAPHICS, &[], &[QueueSerial { queue: QueueId(9), serial: 1 }], 1),
        "queue exists",
    );
    is_invalid(device.submit(PERMIT, GRAPHICS, &[], &[at(1)], 1), "wait for itself");
    is_invalid(device.wait(QueueSerial { queue: QueueId(9), serial: 1 }, LONG), "queue exists");
    is_invalid(device.completed(QueueId(9)), "queue exists");
    is_invalid(device.create_list(PERMIT, QueueId(9)), "queue exists");
    assert_eq!(device.completed(GRAPHICS), Ok(0));
    assert_eq!(device.wait(at(0), Duration::ZERO), Ok(true));
    for serial in 1..=20 {
        // A queue may be told to wait for itself.
        device.submit(PERMIT, GRAPHICS, &[], &[at(serial - 1)], serial).unwrap();
    }
    assert_eq!(device.wait(at(20), Duration::MAX), Ok(true));
    assert_eq!(device.completed(GRAPHICS), Ok(20));
    let begun = Instant::now();
    assert_eq!(device.wait(at(21), Duration::from_millis(120)), Ok(false), "never submitted");
    assert!((120..5000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    assert_eq!(device.wait(at(u64::MAX), Duration::ZERO), Ok(false));
    // Waits in one thread for a later submission of another.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| device.wait(at(21), LONG));
        std::thread::sleep(Duration::from_millis(30));
        device.submit(PERMIT, GRAPHICS, &[], &[], 21).unwrap();
        assert_eq!(waiting.join().unwrap(), Ok(true));
    });
    if vulkan.hold() {
        device.submit(PERMIT, GRAPHICS, &[], &[], 22).unwrap();
        assert_eq!(device.wait(at(22), Duration::from_millis(60)), Ok(false), "held");
        assert_eq!(device.completed(GRAPHICS), Ok(21));
        vulkan.settle();
        assert_eq!(device.wait(at(22), LONG), Ok(true));
    } else {
        assert!(!uses_timeline);
    }
    drop(device);
    vulkan.end();
}

#[test]
fn serials_rise_and_waits_end_with_timeline_semaphores() {
    serials_and_waits(Vulkan::new(validated()));
}

#[test]
fn serials_rise_and_waits_end_with_fences() {
    serials_and_waits(Vulkan::new(validated().without(OptionalFeatures::all())));
    serials_and_waits(Vulkan::wrapping(
        &DeviceConfig::default().without(OptionalFeatures::TIMELINE_SEMAPHORES),
    ));
}

/// Hides the progress of the GPU until [`go_on`].
pub(crate) fn stand_still(vulkan: &Vulkan) {
    if vulkan.device().optional_features().contains(OptionalFeatures::TIMELINE_SEMAPHORES) {
        assert!(vulkan.hold());
    } else {
        vulkan.disguise().seem_busy(true);
    }
}

pub(crate) fn go_on(vulkan: &Vulkan) {
    vulkan.settle();
    vulkan.disguise().seem_busy(false);
}

/// Several queues that wait for each other, back and forth, while none of them gets anywhere: every
/// wait is a semaphore that the queue waited for signals.
fn queues_wait_for_each_other(options: &DeviceConfig) {
    let vulkan = Vulkan::disguised(Costume::discrete(), options);
    let device = vulkan.device();
    let on = |queue: u8, serial| QueueSerial { queue: QueueId(queue), serial };
    stand_still(&vulkan);
    vulkan.disguise().take_trace();
    for serial in 1..=30 {
        device.submit(PERMIT, QueueId(0), &[], &[on(1, serial - 1), on(2, serial - 1)], serial).unwrap();
        device.submit(PERMIT, QueueId(1), &[], &[on(0, serial)], serial).unwrap();
        device.submit(PERMIT, QueueId(2), &[], &[on(0, serial), on(1, serial), on(0, 1)], serial).unwrap();
    }
    let trace = vulkan.disguise().take_trace();
    let waited = crate::disguise::trace::check(&trace);
    let mut found = [Vec::new(), Vec::new(), Vec::new()];
    for (batch, families) in trace.iter().zip(waited) {
        // Bridges only signal.
        if !families.is_empty() {
            found[batch.family as usize].push(families);
        }
    }
    assert_eq!(found[0], vec![vec![1, 2]; 29]);
    assert_eq!(found[1], vec![vec![0]; 30]);
    assert_eq!(found[2], vec![vec![0, 1]; 30]);
    assert_eq!(device.wait(on(2, 1), Duration::from_millis(30)), Ok(false), "held");
    go_on(&vulkan);
    assert_eq!(device.wait(on(2, 30), LONG), Ok(true));
    assert_eq!(device.completed(QueueId(1)), Ok(30), "it was waited for");
    drop(device);
    vulkan.end();
}

#[test]
fn queues_of_a_discrete_card_wait_with_timeline_semaphores() {
    queues_wait_for_each_other(&DeviceConfig::default());
}

#[test]
fn queues_of_a_discrete_card_wait_for_each_other_with_fences() {
    queues_wait_for_each_other(&DeviceConfig::default().without(OptionalFeatures::TIMELINE_SEMAPHORES));
}

/// Without timeline semaphores, waits for future submissions are not possible.
#[test]
fn fences_of_a_discrete_card_await_only_earlier_submissions() {
    let options = DeviceConfig::default().without(OptionalFeatures::TIMELINE_SEMAPHORES);
    let vulkan = Vulkan::disguised(Costume::discrete(), &options);
    let device = vulkan.device();
    let later = QueueSerial { queue: QueueId(1), serial: 1 };
    is_invalid(device.submit(PERMIT, GRAPHICS, &[], &[later], 1), "submitted can be waited for");
    device.submit(PERMIT, QueueId(1), &[], &[], 1).unwrap();
    device.submit(PERMIT, GRAPHICS, &[], &[later], 1).unwrap();
    assert_eq!(device.wait(at(1), LONG), Ok(true));
    drop(device);
    vulkan.end();
}

/// A list in flight is not begun anew, and none is submitted twice.
#[test]
fn lists_in_flight_are_left_alone() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let mut list = device.create_list(PERMIT, GRAPHICS).unwrap();
    list.begin().unwrap();
    list.close().unwrap();
    if vulkan.hold() {
        device.submit(PERMIT, GRAPHICS, &[&list], &[], 1).unwrap();
        is_invalid(list.begin(), "begun again");
        vulkan.settle();
    } else {
        device.submit(PERMIT, GRAPHICS, &[&list], &[], 1).unwrap();
    }
    is_invalid(device.submit(PERMIT, GRAPHICS, &[&list], &[], 2), "submitted again");
    assert!(device.wait(at(1), LONG).unwrap());
    is_invalid(device.submit(PERMIT, GRAPHICS, &[&list], &[], 2), "submitted again");
    list.begin().unwrap();
    list.close().unwrap();
    device.submit(PERMIT, GRAPHICS, &[&list], &[], 2).unwrap();
    assert!(device.wait(at(2), LONG).unwrap());
    device.destroy_list(PERMIT, list);
    drop(device);
    vulkan.end();
}
