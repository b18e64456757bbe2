//! Heaps of queries are given back while threads take them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tenure_core::Queue;
use tenure_sim::{Lag, Profile};

use super::{SECOND, device, gpu};

#[test]
fn trims_beside_recordings_lose_no_result() {
    for profile in Profile::ALL {
        for lag in [Lag::None, Lag::Submissions(2)] {
            let device = device(*profile, lag);
            let gpu = gpu(&device);
            let is_over = AtomicBool::new(false);
            thread::scope(|scope| {
                let recorders: Vec<_> = (0..3)
                    .map(|thread| {
                        let gpu = &gpu;
                        scope.spawn(move || {
                            let mut held = Vec::new();
                            for round in 0..150 {
                                let mut recording = gpu.record(Queue::Graphics, "times").unwrap();
                                let count = if round % 40 == thread { 1100 } else { 3 };
                                let tickets: Vec<_> =
                                    (0..count).map(|_| recording.write_timestamp().unwrap()).collect();
                                let scope = recording.begin_gpu_time("scope").unwrap();
                                recording.end_gpu_time(scope).unwrap();
                                if round % 7 == 0 {
                                    drop(recording);
                                    assert!(tickets[0].poll().is_err());
                                    continue;
                                }
                                recording.submit().unwrap();
                                held.push(tickets);
                                if held.len() > 5 {
                                    gpu.record(Queue::Graphics, "next").unwrap().submit().unwrap();
                                    gpu.record(Queue::Graphics, "next").unwrap().submit().unwrap();
                                    for tickets in held.drain(..) {
                                        let times: Vec<_> = tickets
                                            .iter()
                                            .map(|ticket| ticket.wait(10 * SECOND).unwrap())
                                            .collect();
                                        assert!(
                                            times.windows(2).all(|pair| {
                                                let [one, next] = [pair[0].ticks(), pair[1].ticks()];
                                                one == next || pair[0].clock().ticks_between(one, next) > 0
                                            }),
                                            "{}: {times:?}",
                                            profile.name()
                                        );
                                    }
                                }
                            }
                        })
                    })
                    .collect();
                for _ in 0..2 {
                    scope.spawn(|| {
                        while !is_over.load(Ordering::Relaxed) {
                            gpu.trim();
                            thread::yield_now();
                        }
                    });
                }
                recorders.into_iter().for_each(|thread| thread.join().unwrap());
                is_over.store(true, Ordering::Relaxed);
            });
            for _ in 0..3 {
                let frame = gpu.begin_frame().unwrap();
                frame.end().unwrap();
            }
            assert!(gpu.wait(&gpu.submitted(), 10 * SECOND).unwrap());
            gpu.begin_frame().unwrap().end().unwrap();
            gpu.trim();
            let live = device.calls().live_query_heaps;
            assert_eq!(live, 0, "{} {lag:?}", profile.name());
            assert!(gpu.shutdown().is_clean());
            gpu.trim();
            drop(gpu);
            device.check_clean().unwrap();
        }
    }
}

/// A ticket outlives the handles of the manager, and a trim the device.
#[test]
fn tickets_outlive_trims_losses_and_managers() {
    for profile in Profile::ALL {
        for loses in [false, true] {
            let device = device(*profile, Lag::Submissions(1));
            let gpu = gpu(&device);
            let mut recording = gpu.record(Queue::Graphics, "times").unwrap();
            let ticket = recording.write_timestamp().unwrap();
            let other = recording.write_timestamp().unwrap();
            recording.submit().unwrap();
            let open = {
                let mut recording = gpu.record(Queue::Graphics, "open").unwrap();
                (recording.write_timestamp().unwrap(), recording)
            };
            if loses {
                device.faults().remove("test");
                let _lost = gpu.record(Queue::Graphics, "lost").map(tenure_core::Recording::submit);
            }
            gpu.trim();
            let waited = ticket.wait(SECOND);
            assert_eq!(waited.is_err(), loses, "{}: {waited:?}", profile.name());
            gpu.trim();
            drop(other);
            gpu.trim();
            drop(open);
            gpu.trim();
            let report = gpu.shutdown();
            assert!(report.leaks.is_empty(), "{report:?}");
            gpu.trim();
            drop(gpu);
            assert_eq!(ticket.wait(SECOND).is_ok(), waited.is_ok());
            drop(ticket);
            device.check_clean().unwrap();
            assert_eq!(device.calls().live_query_heaps, 0);
        }
    }
}
