//! Drops, submissions and mappings after the manager is gone.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Duration;

use tenure_core::{Buffer, BufferDesc, Deferred, Gpu, Queue, TileRegion, Usage};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Lag, Profile};

use super::tiles::reserved;
use super::{Counted, count, device, gpu, mesh, submit};

/// Lags longer than a few polls, and no lag.
const LAGS: [Lag; 3] = [Lag::None, Lag::Submissions(2), Lag::Submissions(50)];

/// A deferred object that owns handles, which own the manager, which owns dropped objects: a cycle that only a
/// release breaks.
struct Bundle {
    _mesh: Arc<Buffer<Device>>,
    _dropped: Counted,
}

/// The object, and how often it was dropped.
fn bundle(gpu: &Gpu<Device>) -> (Deferred<Device, Bundle>, Arc<AtomicUsize>) {
    let (counted, dropped) = Counted::new();
    let bundle = Bundle { _mesh: Arc::new(mesh(gpu, "of the bundle", 1000)), _dropped: counted };
    (gpu.defer("bundle", bundle), dropped)
}

#[test]
fn discarding_an_open_recording_releases_its_objects() {
    for lag in LAGS {
        let device = device(Profile::DISCRETE, lag);
        let gpu = gpu(&device);
        submit(&gpu);
        let recording = gpu.record(Queue::Graphics, "open").unwrap();
        let (bundle, dropped) = bundle(&gpu);
        drop(bundle);
        drop(gpu);
        assert_eq!(count(&dropped), 0, "the recording may use it");
        drop(recording);
        assert_eq!(count(&dropped), 1, "{lag:?}");
        device.check_clean().unwrap_or_else(|findings| panic!("{lag:?}: {findings}"));
    }
}

#[test]
fn objects_of_a_late_submission_go_when_it_is_complete() {
    for lag in LAGS {
        for drops_first in [false, true] {
            let device = device(Profile::DISCRETE, lag);
            let gpu = gpu(&device);
            let recording = gpu.record(Queue::Graphics, "submitted late").unwrap();
            let (bundle, dropped) = bundle(&gpu);
            drop(gpu);
            if drops_first {
                drop(bundle);
                recording.submit().unwrap();
            } else {
                recording.submit().unwrap();
                drop(bundle);
            }
            assert_eq!(count(&dropped), 1, "{lag:?}");
            device.check_clean().unwrap_or_else(|findings| panic!("{lag:?}: {findings}"));
        }
    }
}

/// Mappings are submissions, too: no other call would wait for them.
#[test]
fn objects_held_by_a_late_mapping_go_when_it_is_complete() {
    for lag in LAGS {
        let device = device(Profile::DISCRETE, lag);
        let gpu = gpu(&device);
        let sparse = reserved(&gpu, "mapped late");
        let (bundle, dropped) = bundle(&gpu);
        drop(gpu);
        sparse.map(Queue::Copy, TileRegion::buffer(0, 2)).unwrap();
        sparse.unmap(Queue::Graphics, TileRegion::buffer(0, 1)).unwrap();
        drop(bundle);
        drop(sparse);
        assert_eq!(count(&dropped), 1, "{lag:?}");
        device.check_clean().unwrap_or_else(|findings| panic!("{lag:?}: {findings}"));
    }
}

#[test]
fn dropped_objects_do_not_wait_for_the_last_handle() {
    for lag in LAGS {
        for (is_submitted, is_named) in [(false, false), (false, true), (true, false), (true, true)] {
            let device = device(Profile::DISCRETE, lag);
            let gpu = gpu(&device);
            let kept = mesh(&gpu, "kept", 1000);
            let big = mesh(&gpu, "big", 20 << 20);
            let recording = gpu.record(Queue::Graphics, "open").unwrap();
            if is_named {
                let _for_commands = big.raw();
            }
            drop(big);
            drop(gpu);
            let is_alive = || device.leaks().iter().any(|leak| leak.to_string().contains("big"));
            assert_eq!(is_alive(), is_named, "the recording may use what it was told of, and nothing else");
            if is_submitted {
                recording.submit().unwrap();
            } else {
                drop(recording);
            }
            assert!(!is_alive(), "{lag:?}: 20 MiB stay for the sake of another handle");
            drop(kept);
            device.check_clean().unwrap();
        }
    }
}

#[test]
fn handles_inside_dropped_objects_are_not_leaks() {
    for lag in LAGS {
        let device = device(Profile::DISCRETE, lag);
        let gpu = gpu(&device);
        let (inner, dropped) = bundle(&gpu);
        // Nested three deep, so that one more reclaim is not enough.
        let middle = gpu.defer("middle", inner);
        drop(gpu.defer("outer", middle));
        submit(&gpu);
        let report = gpu.shutdown();
        drop(gpu);
        assert!(report.is_clean(), "{lag:?}: {:?}", report.leaks);
        assert_eq!(count(&dropped), 1);
        device.check_clean().unwrap();
    }
}

/// Another thread's upload comes after the shutdown, and cannot be submitted.
#[test]
fn uploads_pending_after_the_shutdown_are_discarded() {
    let sim = device(Profile::DISCRETE, Lag::None);
    let gpu = gpu(&sim);
    let rock = gpu.create_buffer(&BufferDesc::new(1000, Usage::VERTEX).name("rock")).unwrap();
    thread::scope(|scope| {
        let made = || sim.calls().made(CallKind::CreateCommitted);
        let before = made();
        // Allocating its staging memory takes long.
        sim.faults().delay_return(CallKind::CreateCommitted, Duration::from_millis(500));
        let late = scope.spawn(|| gpu.upload(&rock, 0, &[1; 1000]));
        while made() == before {
            assert!(!late.is_finished());
            thread::yield_now();
        }
        assert!(gpu.shutdown().open_recordings.is_empty());
        sim.faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::Submit).onwards());
        assert!(late.join().unwrap().is_err());
    });
    drop((rock, gpu));
    sim.check_clean().unwrap();
    assert_eq!(sim.handles(), 1);
}
