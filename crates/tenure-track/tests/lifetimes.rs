//! The release queue against a model, and on real threads (also under miri).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use proptest::prelude::*;
use tenure_track::device::{DeviceError, QueueId};
use tenure_track::time::{
    BackPressure, Clock, FramePacer, Holder, RecordingId, Recordings, ReleaseQueue, Stamp, SyncPoint,
};

const QUEUES: u8 = 3;

#[derive(Clone, Debug)]
enum Step {
    Open,
    /// Submits the n-th open recording on a queue.
    Submit(usize, u8),
    Discard(usize),
    /// Creates an object and drops it at once.
    Drop,
    /// Creates an object and drops it at once, before anything could use it.
    DropUnused,
    /// Creates an object that is dropped later.
    Create,
    DropOld(usize),
    /// Pushes with an own sync point some submissions back.
    Explicit(u8, u64),
    /// The GPU completes some submissions of a queue.
    Complete(u8, u64),
    Reclaim,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Open),
        3 => (any::<usize>(), 0..QUEUES).prop_map(|(recording, queue)| Step::Submit(recording, queue)),
        1 => any::<usize>().prop_map(Step::Discard),
        4 => Just(Step::Drop),
        2 => Just(Step::DropUnused),
        2 => Just(Step::Create),
        2 => any::<usize>().prop_map(Step::DropOld),
        1 => (0..QUEUES, 0_u64..4).prop_map(|(queue, back)| Step::Explicit(queue, back)),
        3 => (0..QUEUES, 1_u64..4).prop_map(|(queue, count)| Step::Complete(queue, count)),
        3 => Just(Step::Reclaim),
    ]
}

/// The oracle's model of one dropped object.
struct Dropped {
    /// Recordings open at its drop that are still open.
    open: Vec<RecordingId>,
    /// Fixed once no such recording is open: the submissions that must complete.
    point: Option<SyncPoint>,
    /// The submissions at its creation.
    born: SyncPoint,
}

/// The rule, written down naively: each object keeps its own list of recordings.
#[derive(Default)]
struct Oracle {
    open: Vec<RecordingId>,
    submitted: SyncPoint,
    completed: SyncPoint,
    alive: Vec<(u32, Stamp, SyncPoint)>,
    dropped: BTreeMap<u32, Dropped>,
}

impl Oracle {
    fn close(&mut self, id: RecordingId) {
        self.open.retain(|open| *open != id);
        for object in self.dropped.values_mut() {
            object.open.retain(|open| *open != id);
        }
    }

    /// The expected result of a reclaim. Objects whose recordings are all closed are dated by it.
    fn reclaim(&mut self) -> Vec<u32> {
        let (submitted, completed) = (self.submitted, self.completed);
        for object in self.dropped.values_mut().filter(|object| object.open.is_empty()) {
            let born = object.born;
            object.point.get_or_insert_with(|| {
                let mut point = SyncPoint::NONE;
                let newer = submitted.iter().filter(|at| at.serial > born.serial(at.queue));
                newer.for_each(|at| point.require(at.queue, at.serial));
                point
            });
        }
        let is_ready = |object: &Dropped| object.point.is_some_and(|point| point.is_covered_by(&completed));
        let ready = self.dropped.iter().filter(|(_, object)| is_ready(object)).map(|(id, _)| *id).collect();
        self.dropped.retain(|_, object| !is_ready(object));
        ready
    }
}

impl Oracle {
    /// After a reclaim: the waits of each object, and the number of objects with equal waits.
    fn held(&self) -> BTreeMap<Holder, u64> {
        let mut held = BTreeMap::new();
        for object in self.dropped.values() {
            let incomplete = |point: SyncPoint| {
                point.iter().find(|at| at.serial > self.completed.serial(at.queue)).map(Holder::Submission)
            };
            let holder = match object.point.filter(|_| object.open.is_empty()) {
                Some(point) => incomplete(point).unwrap_or(Holder::NextReclaim),
                None => Holder::OpenRecordings,
            };
            *held.entry(holder).or_default() += 1;
        }
        held
    }
}

fn run(steps: &[Step]) {
    let (clock, recordings, releases) =
        (Clock::new(usize::from(QUEUES)), Recordings::new(), ReleaseQueue::new());
    let mut oracle = Oracle::default();
    for (next, step) in (0_u32..).zip(steps) {
        match *step {
            Step::Open => oracle.open.push(recordings.open("r", 0)),
            Step::Submit(index, queue) if !oracle.open.is_empty() => {
                let id = oracle.open[index % oracle.open.len()];
                let at = clock.submit(QueueId(queue), |_| Ok(())).expect("the queue exists");
                oracle.submitted.require(at.queue, at.serial);
                recordings.close(id);
                oracle.close(id);
            }
            Step::Discard(index) if !oracle.open.is_empty() => {
                let id = oracle.open[index % oracle.open.len()];
                recordings.close(id);
                oracle.close(id);
            }
            Step::Create => oracle.alive.push((next, clock.stamp(), oracle.submitted)),
            Step::Drop | Step::DropOld(_) => {
                let (id, stamp, born) = match *step {
                    Step::DropOld(index) if !oracle.alive.is_empty() => {
                        let index = index % oracle.alive.len();
                        oracle.alive.remove(index)
                    }
                    _ => (next, clock.stamp(), oracle.submitted),
                };
                releases.push(&recordings, id, stamp, 8);
                oracle.dropped.insert(id, Dropped { open: oracle.open.clone(), point: None, born });
            }
            Step::DropUnused => {
                releases.push_unused(next, 8);
                let object =
                    Dropped { open: Vec::new(), point: Some(SyncPoint::NONE), born: SyncPoint::NONE };
                oracle.dropped.insert(next, object);
            }
            Step::Explicit(queue, back) => {
                let serial = oracle.submitted.serial(QueueId(queue)).saturating_sub(back);
                let point = SyncPoint::at(QueueId(queue), serial);
                releases.push_after(next, point, 8);
                let object = Dropped { open: Vec::new(), point: Some(point), born: SyncPoint::NONE };
                oracle.dropped.insert(next, object);
            }
            Step::Complete(queue, count) => {
                let queue = QueueId(queue);
                let serial = oracle.submitted.serial(queue).min(oracle.completed.serial(queue) + count);
                clock.note_completed(queue, serial);
                oracle.completed.require(queue, serial);
            }
            Step::Reclaim => {
                let mut ready = Vec::new();
                releases.reclaim(&recordings, &clock, &mut ready);
                ready.sort_unstable();
                assert_eq!(ready, oracle.reclaim());
                let stats = releases.stats();
                assert_eq!(stats.pending(), oracle.dropped.len() as u64);
                assert_eq!(stats.pending_bytes, 8 * oracle.dropped.len() as u64);
                let held = releases.held(&recordings);
                assert!(held.iter().all(|held| held.bytes == 8 * held.count));
                let held: BTreeMap<_, _> = held.iter().map(|held| (held.holder, held.count)).collect();
                assert_eq!(held, oracle.held());
            }
            Step::Submit(..) | Step::Discard(_) => {}
        }
        // Between reclaims, too, nothing is left out.
        let held = releases.held(&recordings);
        let sum = held.iter().fold((0, 0), |(count, bytes), held| (count + held.count, bytes + held.bytes));
        assert_eq!(sum, (releases.stats().pending(), releases.stats().pending_bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A reclaim returns exactly the objects given by the rule of deferred release, in any order of completion
    /// across queues.
    #[test]
    #[cfg_attr(miri, ignore = "one thread of safe code: a plain run finds as much")]
    fn a_reclaim_releases_exactly_the_completed_objects(
        steps in prop::collection::vec(step(), 0..600)
    ) {
        run(&steps);
    }
}

#[test]
fn an_entry_of_a_slow_queue_holds_back_no_other() {
    let (clock, recordings, releases) = (Clock::new(2), Recordings::new(), ReleaseQueue::new());
    let (graphics, copy) = (QueueId(0), QueueId(1));
    let old = clock.stamp();
    clock.submit(copy, |_| Ok(())).unwrap(); // takes seconds
    releases.push(&recordings, "streamed texture", old, 1);
    let born = clock.stamp();
    let drawn = clock.submit(graphics, |_| Ok(())).unwrap();
    releases.push(&recordings, "vertex buffer", born, 1);

    let mut ready = Vec::new();
    releases.reclaim(&recordings, &clock, &mut ready);
    assert!(ready.is_empty());
    clock.note_completed(graphics, drawn.serial);
    releases.reclaim(&recordings, &clock, &mut ready);
    assert_eq!(ready, ["vertex buffer"], "though pushed last");
    clock.note_completed(copy, 1);
    releases.reclaim(&recordings, &clock, &mut ready);
    assert_eq!(ready, ["vertex buffer", "streamed texture"]);
}

/// Neither open recordings nor submissions in flight can use it.
#[test]
fn unused_objects_go_with_the_next_reclaim() {
    let (clock, recordings, releases) = (Clock::new(1), Recordings::new(), ReleaseQueue::new());
    recordings.open("never closed", 0);
    let born = clock.stamp();
    clock.submit(QueueId(0), |_| Ok(())).unwrap();
    releases.push(&recordings, "used", born, 1);
    releases.push_unused("unused", 10);
    releases.push(&recordings, "used later", clock.stamp(), 100);
    let mut ready = Vec::new();
    releases.reclaim(&recordings, &clock, &mut ready);
    assert_eq!(ready, ["unused"]);
    assert_eq!(releases.stats().pending_bytes, 101);
    assert_eq!(releases.held_back(&recordings)[0].1, 101);
}

#[test]
fn a_forgotten_recording_is_listed_with_its_held_bytes() {
    let (clock, recordings, releases) = (Clock::new(1), Recordings::new(), ReleaseQueue::new());
    releases.push(&recordings, (), clock.stamp(), 1);
    let forgotten = recordings.open("minimap", 7);
    releases.push(&recordings, (), clock.stamp(), 10);
    let later = recordings.open("shadows", 8);
    releases.push(&recordings, (), clock.stamp(), 100);
    releases.reclaim(&recordings, &clock, &mut Vec::new());
    recordings.close(later);
    releases.push(&recordings, (), clock.stamp(), 1000);
    let held = releases.held_back(&recordings);
    assert_eq!(held.len(), 1);
    assert_eq!((held[0].0.id, held[0].0.name.as_str(), held[0].0.frame), (forgotten, "minimap", 7));
    assert_eq!(held[0].1, 1110);
}

#[test]
fn a_forced_reclaim_needs_an_idle_device() {
    let (clock, recordings, releases) = (Clock::new(1), Recordings::new(), ReleaseQueue::new());
    let recording = recordings.open("r", 0);
    releases.push(&recordings, (), clock.stamp(), 1);
    let mut ready = Vec::new();
    assert_eq!(releases.reclaim_all(&recordings, &clock, &mut ready).unwrap_err().open_recordings, 1);
    clock.submit(QueueId(0), |_| Ok(())).unwrap();
    recordings.close(recording);
    assert_eq!(releases.reclaim_all(&recordings, &clock, &mut ready).unwrap_err().incomplete_submissions, 1);
    assert!(ready.is_empty());
    clock.note_completed(QueueId(0), 1);
    releases.reclaim_all(&recordings, &clock, &mut ready).unwrap();
    assert_eq!(ready.len(), 1);
}

#[test]
fn all_entries_drain_after_a_device_loss() {
    let (clock, recordings, releases) = (Clock::new(1), Recordings::new(), ReleaseQueue::new());
    recordings.open("never closed", 0);
    releases.push(&recordings, 1, clock.stamp(), 1);
    releases.push_after(2, SyncPoint::at(QueueId(0), 99), 1);
    let lost = DeviceError::Lost { reason: "hung".into() };
    assert_eq!(clock.submit(QueueId(0), |_| Err(lost.clone())), Err(lost.clone()));
    assert_eq!(clock.submit(QueueId(0), |_| Ok(())), Err(lost), "and stays lost");
    let mut ready = Vec::new();
    releases.reclaim_all(&recordings, &clock, &mut ready).unwrap();
    ready.sort_unstable();
    assert_eq!(ready, [1, 2]);
    assert_eq!(releases.stats().pending(), 0);
}

#[test]
fn a_failed_submission_uses_up_no_serial() {
    let clock = Clock::new(1);
    let refused = DeviceError::OutOfHostMemory { what: "submit" };
    assert_eq!(clock.submit(QueueId(0), |_| Err(refused.clone())), Err(refused));
    assert_eq!(clock.submit(QueueId(0), |_| Ok(())).unwrap().serial, 1);
    assert!(matches!(clock.submit(QueueId(1), |_| Ok(())), Err(DeviceError::InvalidCall { .. })));
}

#[test]
fn frames_press_back_when_the_gpu_is_behind() {
    let point = |frame| SyncPoint::at(QueueId(0), frame);
    let mut pacer = FramePacer::new(3);
    for frame in 1..=3 {
        assert_eq!(pacer.try_begin(), Ok(frame));
        pacer.end(point(frame));
    }
    assert_eq!(pacer.try_begin(), Err(BackPressure::Behind(point(1))));
    pacer.note_completed(&point(1));
    assert_eq!(pacer.try_begin(), Ok(4));
    assert_eq!(pacer.try_begin(), Err(BackPressure::Behind(point(2))), "frames that are open count, too");
    pacer.note_completed(&point(3));
    assert_eq!((pacer.try_begin(), pacer.try_begin()), (Ok(5), Ok(6)));
    assert_eq!(pacer.try_begin(), Err(BackPressure::Open(3)), "nothing to wait for");
}

struct Watched {
    last_use: AtomicU64,
    released: AtomicBool,
}

/// Threads create, use in recordings, drop and submit while others complete and reclaim. An object
/// is released only after the last submission that used it.
#[test]
fn threads_never_see_a_released_object() {
    let rounds: u64 = if cfg!(miri) { 20 } else { 20_000 };
    let (clock, recordings) = (Clock::new(1), Recordings::new());
    let releases: ReleaseQueue<Arc<Watched>> = ReleaseQueue::new();
    let done = AtomicBool::new(false);
    let queue = QueueId(0);
    let record = || {
        for _ in 0..rounds {
            let born = clock.stamp();
            let object = Arc::new(Watched { last_use: AtomicU64::new(0), released: AtomicBool::new(false) });
            let recording = recordings.open("stress", 0);
            let used = object.clone();
            releases.push(&recordings, object, born, 1);
            let submit = |serial| {
                assert!(!used.released.load(Ordering::SeqCst), "released while its recording is open");
                used.last_use.store(serial, Ordering::SeqCst);
                Ok(())
            };
            clock.submit(queue, submit).unwrap();
            recordings.close(recording);
        }
    };
    let reclaim = || {
        let mut ready = Vec::new();
        let mut released = 0;
        loop {
            let last_round = done.load(Ordering::SeqCst);
            clock.note_completed(queue, clock.submitted().serial(queue));
            releases.reclaim(&recordings, &clock, &mut ready);
            for object in ready.drain(..) {
                let last_use = object.last_use.load(Ordering::SeqCst);
                assert!(last_use > 0 && last_use <= clock.completed().serial(queue));
                assert!(!object.released.swap(true, Ordering::SeqCst), "released twice");
                released += 1;
            }
            if last_round {
                return released;
            }
            thread::yield_now();
        }
    };
    let released: u64 = thread::scope(|scope| {
        let reclaimers = [scope.spawn(reclaim), scope.spawn(reclaim)];
        let recorders: Vec<_> = (0..3).map(|_| scope.spawn(record)).collect();
        recorders.into_iter().for_each(|thread| thread.join().unwrap());
        done.store(true, Ordering::SeqCst);
        reclaimers.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(released, 3 * rounds);
}

/// The bytes are the caller's: any number is accepted, and the count returns to 0.
#[test]
fn bytes_of_any_size_are_counted_without_overflow() {
    let (clock, recordings, releases) = (Clock::new(1), Recordings::new(), ReleaseQueue::new());
    let open = recordings.open("frame", 1);
    for _ in 0..2 {
        releases.push(&recordings, (), clock.stamp(), u64::MAX);
        releases.push_unused((), u64::MAX);
        releases.push_after((), SyncPoint::NONE, u64::MAX);
        assert_eq!(releases.held(&recordings).len(), 2);
        assert_eq!(releases.held_back(&recordings).len(), 1);
    }
    let mut ready = Vec::new();
    releases.reclaim(&recordings, &clock, &mut ready);
    releases.push(&recordings, (), clock.stamp(), 7);
    assert_eq!((ready.len(), releases.held_back(&recordings).len()), (4, 1));
    recordings.close(open);
    releases.reclaim(&recordings, &clock, &mut ready);
    let stats = releases.stats();
    assert_eq!((ready.len(), stats.pending(), stats.pending_bytes), (7, 0, 0));
}
