//! A GPU that does not finish keeps the objects that it may use, including the device, and blocks no caller for
//! long.

use std::time::{Duration, Instant};

use tenure_core::{Config, FrameConfig, Gpu, Queue};
use tenure_sim::{CallKind, Lag, Profile};

use super::{device, mesh, submit};

const TIMEOUT: Duration = Duration::from_millis(500);

fn config() -> Config {
    Config::from(FrameConfig::default().shutdown_timeout(TIMEOUT))
}

#[test]
fn shutdown_waits_for_a_hung_gpu_once() {
    for drops in [false, true] {
        let device = device(Profile::DISCRETE, Lag::Manual);
        let gpu = Gpu::new(device.clone(), config()).unwrap();
        let rock = mesh(&gpu, "rock", 1000);
        submit(&gpu);
        let begun = Instant::now();
        if drops {
            drop(gpu);
        } else {
            let report = gpu.shutdown();
            drop(gpu);
            assert!(report.timed_out && report.waited >= TIMEOUT, "{report:?}");
        }
        drop(rock);
        let took = begun.elapsed();
        assert!(took >= TIMEOUT, "{took:?}");
        assert_eq!(device.calls().made(CallKind::Wait), 1, "not once more for the last handle");
        assert!(!device.leaks().is_empty(), "what the GPU may use stays");
        assert!(device.run_until_idle());
        assert_eq!(device.hazards(), []);
    }
}

#[test]
fn a_hung_gpu_keeps_its_device() {
    for is_submitted_late in [false, true] {
        let sim = device(Profile::DISCRETE, Lag::Manual);
        let gpu =
            Gpu::new(sim.clone(), config().frames(config().frames.shutdown_timeout(TIMEOUT / 5))).unwrap();
        let recording = gpu.record(Queue::Graphics, "endless").unwrap();
        if is_submitted_late {
            drop(gpu);
            recording.submit().unwrap();
        } else {
            recording.submit().unwrap();
            drop(gpu);
        }
        assert_eq!(sim.calls().made(CallKind::Wait), 1, "not once more for the last handle");
        assert!(sim.handles() > 1, "late: {is_submitted_late}");
        assert!(!sim.leaks().is_empty(), "its command list, at least");
        assert!(sim.run_until_idle());
        assert_eq!(sim.hazards(), [], "nothing was destroyed in use");
    }
}

/// With any number of recordings submitted after the shutdown, and any objects that outlive it.
#[test]
fn a_gpu_that_hangs_after_the_shutdown_is_waited_for_once() {
    let sim = device(Profile::DISCRETE, Lag::Manual);
    let gpu = Gpu::new(sim.clone(), config()).unwrap();
    let mut recordings: Vec<_> = (0..3).map(|_| gpu.record(Queue::Graphics, "late").unwrap()).collect();
    let tickets: Vec<_> =
        recordings.iter_mut().map(|recording| recording.write_timestamp().unwrap()).collect();
    assert!(!gpu.shutdown().timed_out);
    drop(gpu);
    let waits = sim.calls().made(CallKind::Wait);
    for recording in recordings {
        recording.submit().unwrap();
    }
    drop(tickets);
    assert_eq!(sim.calls().made(CallKind::Wait) - waits, 1);
    assert!(!sim.leaks().is_empty() && sim.handles() > 1, "what the GPU may use stays");
    assert!(sim.run_until_idle());
    assert_eq!(sim.hazards(), []);
}

#[test]
fn the_last_handle_releases_the_device_of_a_finished_gpu() {
    let sim = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = Gpu::new(sim.clone(), config()).unwrap();
    let recording = gpu.record(Queue::Graphics, "late").unwrap();
    drop(gpu);
    assert!(sim.handles() > 1, "the recording keeps it");
    recording.submit().unwrap();
    assert_eq!(sim.handles(), 1);
    sim.check_clean().unwrap();
}
