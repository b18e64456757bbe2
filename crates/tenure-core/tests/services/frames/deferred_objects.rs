//! Objects of the program, and recordings that are never closed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_core::{Config, Gpu, HolderKind, ObjectKind, Queue};
use tenure_sim::{Device, Profile};

use super::{frame, manual, mesh};

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the program's own drop");
    }
}

/// A destructor of the program does not prevent the drop of other objects.
#[test]
fn a_panicking_drop_does_not_lose_the_rest() {
    let device = Device::new(Profile::DISCRETE);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        drop(gpu.defer("counted", Counted(dropped.clone())));
        drop(gpu.defer("bomb", Bomb));
        drop(mesh(&gpu, "mesh", 1000));
    }
    let reclaimed = catch_unwind(AssertUnwindSafe(|| gpu.reclaim()));
    let panic = reclaimed.expect_err("the panic reaches whoever reclaims");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the program's own drop"));
    assert_eq!(dropped.load(Ordering::Relaxed), 10, "all others were dropped");
    let stats = gpu.stats();
    assert_eq!((stats.pending_releases, stats.pools[0].allocations), (0, 0));
    frame(&gpu).unwrap();
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

#[test]
fn a_deferred_object_outlives_earlier_submissions() {
    let (gpu, device) = manual(Config::default());
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = || dropped.load(Ordering::Relaxed);
    let query_heap = gpu.defer("query heap", Counted(dropped.clone()));
    let report = gpu.report();
    assert_eq!((report.objects[0].name.as_str(), report.objects[0].kind), ("query heap", ObjectKind::User));
    frame(&gpu).unwrap();
    drop(query_heap);
    let held = |gpu: &Gpu<Device>| {
        gpu.report()
            .held
            .into_iter()
            .map(|held| (held.holder, held.queue, held.serial, held.completed, held.objects))
            .collect::<Vec<_>>()
    };
    assert_eq!(held(&gpu), [(HolderKind::NextReclaim, None, None, None, 1)]);
    assert_eq!(gpu.report().objects.len(), 0, "it is not a live handle any more");
    frame(&gpu).unwrap();
    assert_eq!((count(), gpu.stats().pending_releases), (0, 1));
    assert_eq!(held(&gpu), [(HolderKind::Submission, Some(0), Some(2), Some(0), 1)]);
    assert!(device.run_until_idle());
    gpu.reclaim().unwrap();
    assert_eq!((count(), gpu.stats().pending_releases), (1, 0));
    assert_eq!(held(&gpu), []);
}

/// Earlier submissions do not delay its release.
#[test]
fn objects_newer_than_every_submission_are_released_at_once() {
    let (gpu, device) = manual(Config::default());
    frame(&gpu).unwrap();
    let dropped = Arc::new(AtomicUsize::new(0));
    drop(gpu.defer("new", Counted(dropped.clone())));
    gpu.reclaim().unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 1, "no submission can use it");
    assert!(device.run_until_idle());
}

#[test]
fn a_forgotten_recording_shows_by_name_age_and_bytes() {
    let device = Device::new(Profile::DISCRETE);
    let gpu = Gpu::new(device, Config::default()).unwrap();
    // Commands may use a buffer once its place was queried.
    let mesh = |name, size| {
        let mesh = mesh(&gpu, name, size);
        assert!(mesh.offset() < u64::MAX);
        mesh
    };
    let early = mesh("early", 1000);
    drop(mesh("before", 5000));
    (0..3).for_each(|_| frame(&gpu).unwrap());
    let forgotten = gpu.record(Queue::Graphics, "minimap").unwrap();
    drop(early);
    (0..5).for_each(|_| frame(&gpu).unwrap());
    drop(mesh("late", 2000));
    (0..5).for_each(|_| frame(&gpu).unwrap());
    let second = gpu.record(Queue::Copy, "streaming").unwrap();
    drop(mesh("later", 4000));
    let report = gpu.report();
    let open: Vec<_> = report.open_recordings.iter().map(|open| (open.name.as_str(), open.age)).collect();
    assert_eq!(open, [("minimap", 10), ("streaming", 0)], "oldest first");
    assert_eq!(report.open_recordings[0].held_back, 7000);
    assert_eq!(report.open_recordings[1].held_back, 4000);
    assert_eq!((report.stats.open_recordings, report.stats.pending_bytes), (2, 7000));
    let [held] = &report.held[..] else { panic!("{:?}", report.held) };
    assert_eq!(
        (held.holder, held.serial, held.objects, held.bytes),
        (HolderKind::OpenRecordings, None, 3, 7000)
    );
    drop(forgotten);
    (0..5).for_each(|_| frame(&gpu).unwrap());
    assert_eq!(gpu.stats().pending_bytes, 4000, "the second still holds what was dropped under it");
    drop(second);
    (0..5).for_each(|_| frame(&gpu).unwrap());
    assert_eq!((gpu.stats().pending_bytes, gpu.report().open_recordings.len()), (0, 0));
}
