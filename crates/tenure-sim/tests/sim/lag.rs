//! Time: the lag of queues, and their waits for one another.

use std::time::{Duration, Instant};

use tenure_core::device::{CommandList as _, *};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

use crate::common::*;

fn device(lag: Lag, seed: u64) -> Device {
    Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(lag).seed(seed))
}

fn submit_empty(device: &Device, queue: QueueId, serial: u64, waits: &[QueueSerial]) {
    device.submit(Permit::checked(), queue, &[], waits, serial).unwrap();
}

#[test]
fn no_lag_is_done_at_once() {
    let device = device(Lag::None, 0);
    submit_empty(&device, GRAPHICS, 1, &[]);
    assert_eq!(device.completed(GRAPHICS).unwrap(), 1);
}

#[test]
fn each_submission_and_each_poll_is_a_tick() {
    let device = device(Lag::Submissions(3), 0);
    submit_empty(&device, GRAPHICS, 1, &[]);
    submit_empty(&device, COPY, 1, &[]);
    assert_eq!(device.completed(GRAPHICS).unwrap(), 0);
    assert_eq!(device.completed(GRAPHICS).unwrap(), 1);
    assert_eq!(device.completed(COPY).unwrap(), 1);
    assert_eq!(device.now(), 5);
}

#[test]
fn random_lag_is_bounded_in_order_and_from_the_seed() {
    let run = |seed| {
        let device = device(Lag::Random { max: 5 }, seed);
        (1..=40)
            .map(|serial| {
                submit_empty(&device, GRAPHICS, serial, &[]);
                device.completed(GRAPHICS).unwrap()
            })
            .collect::<Vec<_>>()
    };
    let first = run(1);
    assert_eq!(first, run(1));
    assert_ne!(first, run(2));
    assert!(first.is_sorted());
    assert!((1..).zip(&first).all(|(serial, done)| *done <= serial && done + 3 >= serial), "{first:?}");
}

#[test]
fn manual_queues_execute_only_on_request() {
    let device = device(Lag::Manual, 0);
    for serial in 1..=4 {
        submit_empty(&device, GRAPHICS, serial, &[]);
    }
    assert_eq!(device.completed(GRAPHICS).unwrap(), 0);
    let start = Instant::now();
    assert!(!device.wait(after(GRAPHICS, 1), Duration::from_millis(30)).unwrap());
    assert!(start.elapsed() >= Duration::from_millis(30));
    assert_eq!(device.complete_one(GRAPHICS), Some(1));
    assert!(device.complete(GRAPHICS, 3) && !device.complete(GRAPHICS, 5));
    assert_eq!(device.completed(GRAPHICS).unwrap(), 4);
    assert_eq!(device.complete_one(GRAPHICS), None);
}

#[test]
fn a_queue_stands_still_until_the_other_gets_there() {
    for lag in [Lag::None, Lag::Submissions(2), Lag::Random { max: 4 }] {
        let device = device(lag, 3);
        // Wait before signal: the copy does not exist yet.
        submit_empty(&device, GRAPHICS, 1, &[after(COPY, 2)]);
        submit_empty(&device, GRAPHICS, 2, &[]);
        submit_empty(&device, COPY, 1, &[]);
        finish(&device, COPY, 1);
        (0..20).for_each(|_| assert_eq!(device.completed(GRAPHICS).unwrap(), 0));
        submit_empty(&device, COPY, 2, &[]);
        finish(&device, GRAPHICS, 2);
        assert_eq!(device.completed(COPY).unwrap(), 2);
    }
}

#[test]
fn a_deadlock_ends_with_the_timeout() {
    let device = device(Lag::None, 0);
    submit_empty(&device, GRAPHICS, 1, &[after(COPY, 1)]);
    submit_empty(&device, COPY, 1, &[after(GRAPHICS, 1)]);
    assert!(!device.wait(after(COPY, 1), Duration::from_millis(20)).unwrap());
    assert!(!device.wait(after(GRAPHICS, 7), Duration::ZERO).unwrap());
    assert!(!device.run_until_idle());
}

#[test]
fn a_wait_wakes_when_another_thread_submits() {
    let device = device(Lag::Submissions(2), 0);
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| device.wait(after(COPY, 1), Duration::from_secs(20)));
        std::thread::sleep(Duration::from_millis(20));
        submit_empty(&device, COPY, 1, &[]);
        assert!(waiter.join().unwrap().unwrap());
    });
}

#[test]
fn work_happens_when_the_queue_gets_there_and_not_before() {
    let device = manual(Profile::DISCRETE);
    let rock = committed(&device, "rock", &buffer(16, Usage::COPY_DST | Usage::COPY_SRC));
    submit(&device, GRAPHICS, 1, &[], |list| list.fill_buffer(&rock, 0, 16, 1));
    submit(&device, GRAPHICS, 2, &[after(COPY, 1)], |list| {
        transition(list, &rock, State::COMMON, State::COPY_SRC);
        list.expect_bytes(&rock, 0, &[2; 16]);
    });
    submit(&device, COPY, 1, &[after(GRAPHICS, 1)], |list| list.fill_buffer(&rock, 0, 16, 2));
    assert_clean(&hazards(&device));
}

#[test]
fn wrong_serials_and_waits_are_refused() {
    let device = device(Lag::None, 0);
    let refused = [
        device.submit(Permit::checked(), GRAPHICS, &[], &[], 2),
        device.submit(Permit::checked(), GRAPHICS, &[], &[], 0),
        device.submit(Permit::checked(), QueueId(3), &[], &[], 1),
        device.submit(Permit::checked(), GRAPHICS, &[], &[after(QueueId(200), 1)], 1),
        device.submit(Permit::checked(), GRAPHICS, &[], &[after(GRAPHICS, 1)], 1),
        device.completed(QueueId(9)).map(drop),
        device.wait(after(QueueId(9), 0), Duration::ZERO).map(drop),
    ];
    for answer in refused {
        assert!(matches!(answer, Err(DeviceError::InvalidCall { .. })), "{answer:?}");
    }
    let mut list = device.create_list(Permit::checked(), COPY).unwrap();
    assert!(device.submit(Permit::checked(), COPY, &[&list], &[], 1).is_err(), "never begun");
    list.begin().unwrap();
    assert!(device.submit(Permit::checked(), COPY, &[&list], &[], 1).is_err(), "still open");
    list.close().unwrap();
    assert!(device.submit(Permit::checked(), GRAPHICS, &[&list], &[], 1).is_err(), "another queue's");
    let stranger = Device::new(Profile::DISCRETE);
    assert!(stranger.submit(Permit::checked(), COPY, &[&list], &[], 1).is_err(), "another device's");
    device.submit(Permit::checked(), COPY, &[&list], &[], 1).unwrap();
}

#[test]
fn two_threads_with_unmet_waits_sleep() {
    let device = manual(Profile::DISCRETE);
    std::thread::scope(|scope| {
        let waiters = [1, 2].map(|serial| {
            let device = &device;
            scope.spawn(move || device.wait(after(GRAPHICS, serial), Duration::from_millis(40)))
        });
        waiters.into_iter().for_each(|waiter| assert!(!waiter.join().unwrap().unwrap()));
    });
    // A wait is one call, however long.
    assert_eq!(device.calls().made(tenure_sim::CallKind::Wait), 2);
    assert_eq!(device.now(), 0);
}
