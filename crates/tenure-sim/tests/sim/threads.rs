//! Many threads at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::device::{CommandList as _, Device as _, Mapping as _, *};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

use crate::common::*;

#[test]
fn eight_threads_create_map_submit_and_destroy() {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Random { max: 4 }));
    let serials = [0; 3].map(|_| Mutex::new(0_u64));
    std::thread::scope(|scope| {
        for thread in 0_u8..8 {
            let (device, serials) = (&device, &serials);
            scope.spawn(move || {
                for round in 0_u8..60 {
                    let queue = QueueId((thread + round) % 3);
                    let up = upload(device, "up", 1024);
                    let back =
                        device.create_committed(&buffer(1024, Usage::COPY_DST), MemoryTypeId(2)).unwrap();
                    device.map(&up).unwrap().write(0, &[round; 1024]).unwrap();
                    let list = record(device, queue, |list| list.copy_buffer(&up, 0, &back, 0, 1024));
                    let serial = {
                        let mut serial = serials[queue.index()].lock().unwrap();
                        *serial += 1;
                        device.submit(Permit::checked(), queue, &[&list], &[], *serial).unwrap();
                        *serial
                    };
                    finish(device, queue, serial);
                    let mut out = [0; 1024];
                    device.map(&back).unwrap().read(0, &mut out).unwrap();
                    assert_eq!(out, [round; 1024]);
                    device.destroy_list(Permit::checked(), list);
                    device.destroy_resource(Permit::checked(), up);
                    device.destroy_resource(Permit::checked(), back);
                }
            });
        }
    });
    device.check_clean().unwrap();
    assert_eq!(device.calls().reserved_bytes, 0);
}

#[test]
fn writes_to_the_same_bytes_leave_a_mixture() {
    let device = Device::new(Profile::DISCRETE);
    let up = upload(&device, "up", 1000);
    std::thread::scope(|scope| {
        for thread in 1_u8..=4 {
            let mapping = device.map(&up).unwrap();
            scope.spawn(move || (0..200).for_each(|at| mapping.write(at, &[thread; 700]).unwrap()));
        }
    });
    let mut out = [0; 899];
    device.map(&up).unwrap().read(0, &mut out).unwrap();
    assert!(out.iter().all(|byte| (1..=4).contains(byte)));
}

#[test]
fn neighbours_within_a_word_do_not_disturb_each_other() {
    let device = Device::new(Profile::DISCRETE);
    let up = upload(&device, "up", 8);
    std::thread::scope(|scope| {
        for thread in 0_u8..8 {
            let mapping = device.map(&up).unwrap();
            scope.spawn(move || {
                for value in 0..=255 {
                    mapping.write(u64::from(thread), &[value]).unwrap();
                    let mut out = [0];
                    mapping.read(u64::from(thread), &mut out).unwrap();
                    assert_eq!(out, [value]);
                }
            });
        }
    });
}

#[test]
fn losing_the_device_stops_everybody() {
    let device = manual(Profile::DISCRETE);
    let stopped = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0_u8..6 {
            let (device, stopped) = (&device, &stopped);
            scope.spawn(move || {
                let answer = match thread % 3 {
                    0 => device.wait(after(GRAPHICS, 1), Duration::MAX).map(drop),
                    1 => loop {
                        if let Err(error) = device.completed(COPY) {
                            break Err(error);
                        }
                    },
                    _ => loop {
                        match device.create_committed(&buffer(64, Usage::VERTEX), MemoryTypeId(0)) {
                            Ok(resource) => device.destroy_resource(Permit::checked(), resource),
                            Err(error) => break Err(error),
                        }
                    },
                };
                assert!(matches!(answer, Err(DeviceError::Lost { .. })));
                stopped.fetch_add(1, Ordering::Relaxed);
            });
        }
        std::thread::sleep(Duration::from_millis(30));
        device.faults().remove("gone");
    });
    assert_eq!(stopped.into_inner(), 6);
    device.check_clean().unwrap();
}

/// Once a call has returned that the device is lost, a program destroys all of its objects: a simultaneous
/// submission of another thread never executes.
#[test]
fn no_command_is_executed_after_the_reported_loss() {
    const SIZE: u64 = 200_000;
    for round in 0..40 {
        let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::None));
        let desc = buffer(SIZE, Usage::COPY_SRC | Usage::COPY_DST);
        let pair = (committed(&device, "from", &desc), committed(&device, "to", &desc));
        let both = Mutex::new(Some(pair));
        let record_copies = || {
            let both = both.lock().unwrap();
            let (from, to) = both.as_ref()?;
            let mut list = device.create_list(Permit::checked(), COPY).ok()?;
            let begun = list.begin();
            (0..100).for_each(|_| list.copy_buffer(from, 0, to, 0, SIZE));
            Some((begun.and_then(|()| list.close()), list))
        };
        let submit_copies = || {
            for serial in 1.. {
                let Some((recorded, list)) = record_copies() else { return };
                let submit = || device.submit(Permit::checked(), COPY, &[&list], &[], serial);
                // The CPU sees it complete, so the list may be destroyed.
                let submitted = recorded.and_then(|()| submit()).and_then(|()| device.completed(COPY));
                device.destroy_list(Permit::checked(), list);
                if submitted.is_err() {
                    return;
                }
            }
        };
        std::thread::scope(|scope| {
            scope.spawn(submit_copies);
            scope.spawn(|| {
                std::thread::sleep(Duration::from_micros(500 + round * 37 % 1000));
                device.faults().remove("pulled out");
            });
            while device.status().is_ok() {
                std::hint::spin_loop();
            }
            let (from, to) = both.lock().unwrap().take().unwrap();
            device.destroy_resource(Permit::checked(), from);
            device.destroy_resource(Permit::checked(), to);
        });
        device.check_clean().unwrap();
    }
}
