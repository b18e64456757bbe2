//! A GPU that does not finish keeps what it may use, the device included, and nobody for long.

use std::time::{Duration, Instant};

use tenure_core::{Config, FrameConfig, Gpu, Queue};
use tenure_sim::{CallKind, Lag, Profile};

use super::{device, mesh, submit};

const TIMEOUT: Duration = Duration::from_millis(500);

fn config() -> Config {
    Config::from(FrameConfig { shutdown_timeout: TIMEOUT, ..FrameConfig::default() })
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
        let gpu = Gpu::new(
            sim.clone(),
            Config { frames: FrameConfig { shutdown_timeout: TIMEOUT / 5, ..config().frames }, ..config() },
        )
        .unwrap();
        let recording = gpu.record(Queue::Graphics, "endless").unwrap();
        if is_submitted_late {
            drop(gpu);
            recording.submit().unwrap();
        } else {
            recording.submit().unwrap();
            drop(gpu);
        }
        // Whoever submits what outlives the manager waits for it, and the last handle once more.
        let waits = if is_submitted_late { 2 } else { 1 };
        assert_eq!(sim.calls().made(CallKind::Wait), waits, "each ends after the timeout");
        assert!(sim.handles() > 1, "late: {is_submitted_late}");
        assert!(!sim.leaks().is_empty(), "its command list, at least");
        assert!(sim.run_until_idle());
        assert_eq!(sim.hazards(), [], "nothing was destroyed in use");
    }
}

#[test]
fn a_gpu_that_finishes_lets_its_device_go_with_the_last_handle() {
    let sim = device(Profile::DISCRETE, Lag::Submissions(2));
    let gpu = Gpu::new(sim.clone(), config()).unwrap();
    let recording = gpu.record(Queue::Graphics, "late").unwrap();
    drop(gpu);
    assert!(sim.handles() > 1, "the recording keeps it");
    recording.submit().unwrap();
    assert_eq!(sim.handles(), 1);
    sim.check_clean().unwrap();
}
