//! Managers that share a device, one after the other.

use std::time::Duration;

use tenure_core::device::prelude::*;
use tenure_core::{Config, DescriptorConfig, Error, FrameConfig, Gpu, Queue, QueueId};
use tenure_sim::{Device, Lag, Profile};

use super::{device, gpu, mesh, submit};

fn is_refused(device: &Device) -> bool {
    match Gpu::new(device.clone(), Config::default()) {
        Ok(_) => false,
        Err(Error::DeviceInUse) => true,
        Err(error) => panic!("{error}"),
    }
}

/// Both would number the same submissions; the second is refused before it has numbered any.
#[test]
fn a_device_has_one_manager_at_a_time() {
    let device = device(Profile::DISCRETE, Lag::Submissions(2));
    let first = gpu(&device);
    assert!(is_refused(&device));
    submit(&first);
    let rock = mesh(&first, "rock", 1000);
    assert!(is_refused(&device), "refused while the first is at work");
    let recording = first.record(Queue::Graphics, "late").unwrap();
    assert_eq!(first.shutdown().leaks.len(), 1);
    drop(first);
    assert!(is_refused(&device), "a recording of the first can still be submitted");
    recording.submit().unwrap();
    assert!(is_refused(&device), "a handle of the first can still be dropped");
    drop(rock);
    let second = gpu(&device);
    submit(&second);
    drop(second);
    assert!(gpu(&device).shutdown().is_clean());
    device.check_clean().unwrap();
}

/// After any failure to create a manager, the device is free again.
#[test]
fn a_manager_that_was_not_made_leaves_the_device_free() {
    let device = device(Profile::DISCRETE, Lag::None);
    let bad = Config::from(FrameConfig::default().in_flight(0));
    assert!(matches!(Gpu::new(device.clone(), bad), Err(Error::Config(_))));
    let bad = Config::from(DescriptorConfig::default().static_resources(Some(u32::MAX)));
    assert!(Gpu::new(device.clone(), bad).is_err());
    drop(gpu(&device));
    device.faults().remove("hung");
    for _ in 0..2 {
        let Err(error) = Gpu::new(device.clone(), Config::default()) else { panic!("the device is lost") };
        assert!(error.is_device_lost(), "{error}");
    }
}

/// A second manager must not reuse objects that the first one's work may still use.
#[test]
fn a_device_that_did_not_finish_has_no_second_manager() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let config = Config::from(FrameConfig::default().shutdown_timeout(Duration::from_millis(10)));
    let first = Gpu::new(device.clone(), config).unwrap();
    submit(&first);
    assert!(first.shutdown().timed_out);
    drop(first);
    assert!(is_refused(&device));
    device.run_until_idle();
    assert!(is_refused(&device));
}

/// Threads that compete for a device: only one at a time has it.
#[test]
fn threads_take_turns_with_a_device() {
    let device = device(Profile::DISCRETE, Lag::None);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut turns = 0;
                while turns < 20 {
                    match Gpu::new(device.clone(), Config::default()) {
                        Ok(gpu) => {
                            drop(mesh(&gpu, "rock", 1000));
                            submit(&gpu);
                            assert!(gpu.shutdown().is_clean());
                            drop(gpu);
                            turns += 1;
                        }
                        Err(Error::DeviceInUse) => std::thread::yield_now(),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    device.check_clean().unwrap();
}

/// A device that was in use before continues its serials.
#[test]
fn a_device_serves_one_manager_after_the_other() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::Submissions(2));
        let mut expected = vec![0; device.properties().queues.len()];
        for round in 1..=3 {
            let gpu = gpu(&device);
            for (index, serial) in expected.iter_mut().enumerate() {
                let queue = QueueId(u8::try_from(index).unwrap());
                for _ in 0..round * 2 + index {
                    let at = gpu.record(Queue::Id(queue), "work").unwrap().submit().unwrap();
                    *serial += 1;
                    assert_eq!(at.serial(queue), *serial, "{}", profile.name());
                }
            }
            let frame = gpu.begin_frame().unwrap();
            drop(mesh(&gpu, "rock", 1000));
            frame.submit(frame.record(Queue::Graphics, "frame").unwrap()).unwrap();
            expected[0] += 1;
            frame.end().unwrap();
            assert!(gpu.shutdown().is_clean(), "{}", profile.name());
            drop(gpu);
            device.check_clean().unwrap();
        }
    }
}
