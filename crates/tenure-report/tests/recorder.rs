//! Events of a recorder while several threads use the manager.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_core::device::Usage;
use tenure_core::{
    AccelerationStructureDesc, Buffer, BufferDesc, CompactionBudget, CompactionConfig, Config, Format, Gpu,
    MemoryUse, Queue, RecordedAllocation, RecordedPlace, RecordedPlacement, Recorder, TextureDesc,
    UploadConfig, UploadSuballocator,
};
use tenure_report::HistoryRecorder;
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

const BUDGET: CompactionBudget = CompactionBudget { bytes: 64 << 20, moves: 1000, pieces: 100_000 };

/// An action on a call of the recorder, once.
type Once = Mutex<Option<Box<dyn FnOnce() + Send>>>;

/// Passes everything on, and runs an action at one of the calls.
struct Beside {
    recorder: Box<dyn Recorder>,
    before_move: Arc<Once>,
    after_free: Arc<Once>,
}

fn once(what: &Once) {
    let found = what.lock().unwrap().take();
    found.into_iter().for_each(|found| found());
}

impl Recorder for Beside {
    fn allocated(&self, allocation: &RecordedAllocation) {
        self.recorder.allocated(allocation);
    }

    fn placed(&self, placement: &RecordedPlacement<'_>) {
        self.recorder.placed(placement);
    }

    fn moved(&self, from: u64, to: &RecordedPlace) {
        once(&self.before_move);
        self.recorder.moved(from, to);
    }

    fn released(&self, key: u64) {
        self.recorder.released(key);
    }

    fn freed(&self, id: u64, size: u64) {
        self.recorder.freed(id, size);
        once(&self.after_free);
    }

    fn frame_ended(&self, frame: u64) {
        self.recorder.frame_ended(frame);
    }
}

struct Scene {
    gpu: Gpu<Device>,
    recorder: HistoryRecorder,
    before_move: Arc<Once>,
    after_free: Arc<Once>,
    /// One in eight of those that were created.
    kept: Vec<Buffer<Device>>,
}

/// Movable buffers with holes between them; nothing moves by itself.
fn scene() -> Scene {
    let config = Config::from(CompactionConfig::default().is_automatic(false));
    let options = DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(100));
    let gpu = Gpu::new(Device::with_config(options), config).unwrap();
    let recorder = HistoryRecorder::new(&gpu);
    let (before_move, after_free) = (Arc::<Once>::default(), Arc::<Once>::default());
    let beside = Beside {
        recorder: recorder.hook(),
        before_move: before_move.clone(),
        after_free: after_free.clone(),
    };
    assert!(gpu.set_recorder(Box::new(beside)));
    let make = |_| gpu.create_buffer(&BufferDesc::new(60_000, Usage::VERTEX).movable()).unwrap();
    let all: Vec<_> = (0..400).map(make).collect();
    let kept =
        all.into_iter().enumerate().filter(|(index, _)| index % 8 == 0).map(|(_, kept)| kept).collect();
    (0..4).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
    Scene { gpu, recorder, before_move, after_free, kept }
}

/// A report is requested while another thread moves resources, and each waits for the other's locks.
#[test]
fn a_frame_ends_while_things_move() {
    let Scene { gpu, recorder, before_move, kept, .. } = scene();
    let _open = gpu.record(Queue::Graphics, "open").unwrap();
    let (moves, has_moved) = mpsc::channel();
    *before_move.lock().unwrap() = Some(Box::new(move || {
        moves.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }));
    let (done, has_ended) = mpsc::channel();
    let (other, is_done) = (gpu.clone(), done.clone());
    std::thread::spawn(move || {
        (0..10).for_each(|_| _ = other.compact(BUDGET).unwrap());
        is_done.send(()).unwrap();
    });
    has_moved.recv_timeout(Duration::from_secs(20)).expect("something moves");
    std::thread::spawn(move || {
        recorder.end_frame(&gpu);
        done.send(()).unwrap();
    });
    for _ in 0..2 {
        has_ended.recv_timeout(Duration::from_secs(20)).expect("both end");
    }
    drop(kept);
}

/// A dropped resource no longer moves, and no move is reported.
#[test]
fn dropped_resources_do_not_move() {
    for dropped in (0..50).step_by(7) {
        let Scene { gpu, recorder, after_free, mut kept, .. } = scene();
        recorder.end_frame(&gpu);
        let gone = kept.remove(dropped);
        let other = gpu.clone();
        let compact = move || (0..5).for_each(|_| _ = other.compact(BUDGET).unwrap());
        *after_free.lock().unwrap() = Some(Box::new(move || std::thread::spawn(compact).join().unwrap()));
        let open = gpu.record(Queue::Graphics, "open").unwrap();
        drop(gone);
        gpu.begin_frame().unwrap().end().unwrap();
        recorder.end_frame(&gpu);
        let stats = gpu.stats();
        drop(open);
        let history = recorder.finish("dropped");
        let at = history.frames[1].at;
        let waiting = history.objects.iter().filter(|it| it.dropped <= at && at < it.released);
        let bytes: u64 = waiting.clone().map(|object| object.reserved).sum();
        assert_eq!(
            (waiting.count() as u64, bytes),
            (stats.pending_releases, stats.pending_bytes),
            "{dropped}"
        );
        drop(kept);
    }
}

/// Created objects are counted, wherever they have moved, until the history is taken.
#[test]
fn objects_are_counted_by_their_creation() {
    let Scene { gpu, recorder, kept, .. } = scene();
    for _ in 0..6 {
        gpu.begin_frame().unwrap().end().unwrap();
        gpu.compact(BUDGET).unwrap();
        recorder.end_frame(&gpu);
    }
    assert_eq!(recorder.objects(), 400);
    let late = gpu.create_buffer(&BufferDesc::new(300, Usage::VERTEX).name("late")).unwrap();
    recorder.note_use(400);
    recorder.note_use(401);
    gpu.begin_frame().unwrap().end().unwrap();
    recorder.end_frame(&gpu);
    assert_eq!(recorder.objects(), 401);
    let history = recorder.finish("counted");
    assert!(history.objects.len() > 401, "some have moved");
    let used: Vec<_> = history.uses.iter().map(|used| &history.objects[used.0 as usize]).collect();
    assert_eq!(used.iter().map(|it| history.strings.get(it.name)).collect::<Vec<_>>(), ["late"]);
    drop((kept, late));
    let _ignored = gpu.create_buffer(&BufferDesc::new(300, Usage::VERTEX)).unwrap();
    recorder.end_frame(&gpu);
    assert_eq!((recorder.objects(), recorder.finish("again").frames.len()), (0, 0));
}

/// Counts places with the key of another place that was not freed.
#[derive(Default)]
struct Keys(Mutex<HashMap<u64, u64>>, Mutex<usize>);

struct CountsKeys(Arc<Keys>);

impl Recorder for CountsKeys {
    fn allocated(&self, _: &RecordedAllocation) {}

    fn placed(&self, placement: &RecordedPlacement<'_>) {
        let before = self.0.0.lock().unwrap().insert(placement.place.key, placement.id);
        *self.0.1.lock().unwrap() += usize::from(before.is_some());
    }

    fn released(&self, key: u64) {
        // Other threads continue in the meantime.
        std::thread::yield_now();
        self.0.0.lock().unwrap().remove(&key);
    }

    fn freed(&self, _: u64, _: u64) {}

    fn frame_ended(&self, _: u64) {}
}

/// A thread creates and drops textures, and another one ends frames, which releases them.
#[test]
fn a_key_is_of_one_place_at_a_time() {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    let keys = Arc::<Keys>::default();
    assert!(gpu.set_recorder(Box::new(CountsKeys(keys.clone()))));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                gpu.begin_frame().unwrap().end().unwrap();
            }
        });
        let desc = TextureDesc::d2(16, 16, Format::Rgba8Unorm, Usage::SHADER_READ);
        for _ in 0..1000 {
            let made: Vec<_> = (0..12).map(|_| gpu.create_texture(&desc).unwrap()).collect();
            made.iter().for_each(|texture| _ = texture.raw());
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(*keys.1.lock().unwrap(), 0, "places had the key of another one");
}

/// Several structures share a buffer, and each has its own place.
#[test]
fn structures_in_one_buffer_have_keys_of_their_own() {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    let keys = Arc::<Keys>::default();
    assert!(gpu.set_recorder(Box::new(CountsKeys(keys.clone()))));
    let desc = AccelerationStructureDesc::bottom(4096);
    let made: Vec<_> = (0..20).map(|_| gpu.create_acceleration_structure(&desc).unwrap()).collect();
    assert_eq!((keys.0.lock().unwrap().len(), *keys.1.lock().unwrap()), (20, 0));
    drop(made);
    (0..4).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
    gpu.reclaim().unwrap();
    assert_eq!(keys.0.lock().unwrap().len(), 0, "all were given back");
}

/// Small CPU-visible buffers are in blocks that number their ranges independently.
#[test]
fn ranges_of_several_blocks_have_keys_of_their_own() {
    let uploads = UploadConfig::default().suballocator(UploadSuballocator::Buddy);
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::from(uploads)).unwrap();
    let keys = Arc::<Keys>::default();
    assert!(gpu.set_recorder(Box::new(CountsKeys(keys.clone()))));
    let desc = BufferDesc::new(40_000, Usage::SHADER_READ).memory(MemoryUse::Upload);
    let made: Vec<_> = (0..300).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    let blocks = gpu.pool_reports().iter().map(|pool| pool.blocks.len()).max();
    assert!(blocks > Some(1), "{blocks:?}");
    assert_eq!((keys.0.lock().unwrap().len(), *keys.1.lock().unwrap()), (300, 0));
    drop(made);
    gpu.reclaim().unwrap();
    assert_eq!(keys.0.lock().unwrap().len(), 0, "all were given back");
}
