//! Managers that share a device, one after the other.

use tenure_core::Queue;
use tenure_core::device::{Device as _, QueueId};
use tenure_sim::{Lag, Profile};

use super::{device, gpu, mesh};

/// A device that was in use before goes on counting where it is.
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
            device.check_clean().unwrap();
        }
    }
}
