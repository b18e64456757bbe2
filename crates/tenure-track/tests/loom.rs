//! Every interleaving of dropping, recording, submitting and reclaiming, explored by `loom`.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p tenure-track --release --test loom`
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;
use tenure_track::device::QueueId;
use tenure_track::time::{Clock, Recordings, ReleaseQueue, Stamp, SyncPoint};

const GRAPHICS: QueueId = QueueId(0);
const COPY: QueueId = QueueId(1);

/// The notes of an object about its uses: the serial of the submission that uses it, 0 before.
type Use = Arc<AtomicU64>;

struct World {
    clock: Clock,
    recordings: Recordings,
    releases: ReleaseQueue<Use>,
}

impl World {
    fn new(queues: usize) -> Arc<Self> {
        let (clock, recordings, releases) = (Clock::new(queues), Recordings::new(), ReleaseQueue::new());
        Arc::new(Self { clock, recordings, releases })
    }

    fn submit(&self, queue: QueueId, used: &Use) {
        let at = self.clock.submit(queue, |_| Ok(())).expect("the device is not lost");
        used.store(at.serial, Ordering::SeqCst);
    }

    /// The GPU finishes all that was submitted so far on `queue`.
    fn complete(&self, queue: QueueId) {
        self.clock.note_completed(queue, self.clock.submitted().serial(queue));
    }

    /// Reclaims and checks that all released objects were used only by complete submissions.
    fn reclaim_checked(&self, queue: QueueId) -> usize {
        let mut ready = Vec::new();
        self.releases.reclaim(&self.recordings, &self.clock, &mut ready);
        for used in &ready {
            let serial = used.load(Ordering::SeqCst);
            assert!(serial > 0, "released while the recording that uses it was open");
            let completed = self.clock.completed().serial(queue);
            assert!(serial <= completed, "released before its submission completed");
        }
        ready.len()
    }
}

/// An object behind a shared handle; the last drop pushes it, as with every handle of tenure.
struct Handle {
    world: Arc<World>,
    used: Use,
    born: Stamp,
}

impl Handle {
    fn new(world: &Arc<World>) -> Arc<Self> {
        let used = Arc::new(AtomicU64::new(0));
        Arc::new(Self { world: world.clone(), used, born: world.clock.stamp() })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.world.releases.push(&self.world.recordings, self.used.clone(), self.born, 1);
    }
}

/// A handle that notes when it is handed to a recording, as every resource of tenure does.
struct Noted {
    world: Arc<World>,
    used: Use,
    born: Stamp,
    is_named: AtomicBool,
}

impl Noted {
    fn new(world: &Arc<World>) -> Arc<Self> {
        let (used, is_named) = (Arc::new(AtomicU64::new(0)), AtomicBool::new(false));
        Arc::new(Self { world: world.clone(), used, born: world.clock.stamp(), is_named })
    }
}

impl Drop for Noted {
    fn drop(&mut self) {
        let Self { world, used, born, is_named } = self;
        if is_named.load(Ordering::Relaxed) {
            world.releases.push(&world.recordings, used.clone(), *born, 1);
        } else {
            world.releases.push_unused(used.clone(), 1);
        }
    }
}

/// A drop on one thread, the recording that uses the object submitted on another, a reclaim and the
/// GPU's progress on a third.
#[test]
fn an_object_dropped_during_a_recording_outlives_its_submission() {
    loom::model(|| {
        let world = World::new(1);
        let handle = Handle::new(&world);
        let recording = world.recordings.open("uses it", 0);
        let used = handle.used.clone();

        let recorder = thread::spawn({
            let world = world.clone();
            move || {
                world.submit(GRAPHICS, &used);
                world.recordings.close(recording);
            }
        });
        let reclaimer = thread::spawn({
            let world = world.clone();
            move || {
                world.complete(GRAPHICS);
                world.reclaim_checked(GRAPHICS)
            }
        });
        drop(handle);
        recorder.join().unwrap();
        let mut released = reclaimer.join().unwrap();
        world.complete(GRAPHICS);
        released += world.reclaim_checked(GRAPHICS);
        assert_eq!(released, 1, "released exactly once");
    });
}

/// The recording is opened while others already drop and reclaim; the last handle may be let go on
/// either thread.
#[test]
fn a_recording_opened_during_the_race_protects_its_objects() {
    loom::model(|| {
        let world = World::new(1);
        let handle = Handle::new(&world);

        let recorder = thread::spawn({
            let (world, handle) = (world.clone(), handle.clone());
            move || {
                let recording = world.recordings.open("uses it", 0);
                let used = handle.used.clone();
                drop(handle);
                world.submit(GRAPHICS, &used);
                world.recordings.close(recording);
            }
        });
        drop(handle);
        world.complete(GRAPHICS);
        let mut released = world.reclaim_checked(GRAPHICS);
        recorder.join().unwrap();
        world.complete(GRAPHICS);
        released += world.reclaim_checked(GRAPHICS);
        assert_eq!(released, 1);
    });
}

/// Recordings open on two threads and two queues at the drop; the object goes only after both.
#[test]
fn recordings_on_two_queues_both_protect() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::new(2);
        let handle = Handle::new(&world);
        let (first, second) = (world.recordings.open("first", 0), world.recordings.open("second", 0));

        let submitter = |queue, recording| {
            let (world, used) = (world.clone(), handle.used.clone());
            move || {
                world.submit(queue, &used);
                world.recordings.close(recording);
            }
        };
        let on_graphics = thread::spawn(submitter(GRAPHICS, first));
        let on_copy = thread::spawn(submitter(COPY, second));
        drop(handle);
        world.complete(GRAPHICS);
        let mut ready = Vec::new();
        world.releases.reclaim(&world.recordings, &world.clock, &mut ready);
        assert!(ready.is_empty(), "the copy queue has completed nothing");
        on_graphics.join().unwrap();
        on_copy.join().unwrap();
        world.complete(GRAPHICS);
        world.releases.reclaim(&world.recordings, &world.clock, &mut ready);
        assert!(ready.is_empty(), "the copy queue has completed nothing");
        world.complete(COPY);
        world.releases.reclaim(&world.recordings, &world.clock, &mut ready);
        assert_eq!(ready.len(), 1);
    });
}

/// Two threads hold an object; one may use it in a recording, and notes that before its drop. The last drop
/// pushes the object as unused only if no recording uses it.
#[test]
fn objects_noted_as_used_are_never_released_as_unused() {
    for is_used in [false, true] {
        loom::model(move || {
            let world = World::new(1);
            let handle = Noted::new(&world);
            let recorder = thread::spawn({
                let (world, handle) = (world.clone(), handle.clone());
                move || {
                    let recording = world.recordings.open("may use it", 0);
                    let used = handle.used.clone();
                    if is_used {
                        handle.is_named.store(true, Ordering::Relaxed);
                    }
                    drop(handle);
                    world.clock.submit(GRAPHICS, |_| Ok(())).expect("the device is not lost");
                    if is_used {
                        used.store(world.clock.submitted().serial(GRAPHICS), Ordering::SeqCst);
                    }
                    world.recordings.close(recording);
                }
            });
            drop(handle);
            let mut released = 0;
            let mut reclaim = || {
                let mut ready = Vec::new();
                world.releases.reclaim(&world.recordings, &world.clock, &mut ready);
                for used in &ready {
                    let serial = used.load(Ordering::SeqCst);
                    assert_eq!(serial > 0, is_used, "released before its recording was submitted");
                    assert!(serial <= world.clock.completed().serial(GRAPHICS));
                }
                released += ready.len();
            };
            reclaim();
            recorder.join().unwrap();
            if !is_used {
                reclaim();
            }
            world.complete(GRAPHICS);
            reclaim();
            assert_eq!(released, 1);
        });
    }
}

/// A discarded recording protects until it is discarded and no longer.
#[test]
fn a_discarded_recording_releases_its_objects() {
    loom::model(|| {
        let world = World::new(1);
        let handle = Handle::new(&world);
        let recording = world.recordings.open("discarded", 0);
        let discarder = thread::spawn({
            let world = world.clone();
            move || world.recordings.close(recording)
        });
        drop(handle);
        let mut ready = Vec::new();
        world.releases.reclaim(&world.recordings, &world.clock, &mut ready);
        if !ready.is_empty() {
            assert!(world.recordings.oldest_open() > 1, "released while the recording was open");
        }
        discarder.join().unwrap();
        world.releases.reclaim(&world.recordings, &world.clock, &mut ready);
        assert_eq!(ready.len(), 1);
    });
}

/// Two reclaims at once hand out each entry once.
#[test]
fn two_reclaims_release_once() {
    loom::model(|| {
        let world = World::new(1);
        world.releases.push_after(Arc::new(AtomicU64::new(0)), SyncPoint::NONE, 1);
        drop(Handle::new(&world));
        let reclaim = |world: &World| {
            let mut ready = Vec::new();
            world.releases.reclaim(&world.recordings, &world.clock, &mut ready);
            ready.len()
        };
        let other = thread::spawn({
            let world = world.clone();
            move || reclaim(&world)
        });
        let here = reclaim(&world);
        let there = other.join().unwrap();
        assert_eq!(here + there + reclaim(&world), 2);
    });
}
