//! The metrics that a recorder gets at the end of frames, held against the statistics.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tenure_core::{BufferDesc, Config, Gpu, Queue, Usage};
use tenure_sim::{Device, Profile};

/// The values by name and label, such as `tenure_heap_usage_bytes{heap="0"}`. Counters begin anew with each look.
fn values(snapshotter: &Snapshotter) -> BTreeMap<String, f64> {
    let value = |value| match value {
        DebugValue::Counter(count) => count as f64,
        DebugValue::Gauge(level) => level.into_inner(),
        DebugValue::Histogram(samples) => samples.len() as f64,
    };
    let all = snapshotter.snapshot().into_vec().into_iter();
    all.map(|(key, _, _, found)| {
        let key = key.key();
        let labels: String =
            key.labels().map(|label| format!("{{{}=\"{}\"}}", label.key(), label.value())).collect();
        (format!("{}{labels}", key.name()), value(found))
    })
    .collect()
}

fn program(recorder: &DebuggingRecorder, gpu: &Gpu<Device>) {
    metrics::with_local_recorder(recorder, || {
        let desc = BufferDesc::new(4096, Usage::VERTEX).name("rock");
        let rocks: Vec<_> = (0..10).map(|_| gpu.create_buffer_with(&desc, &[7; 4096]).unwrap()).collect();
        let frame = gpu.begin_frame().unwrap();
        frame.submit(frame.record(Queue::Graphics, "draw").unwrap()).unwrap();
        frame.end().unwrap();
        drop(rocks);
    });
}

#[test]
fn metrics_equal_the_statistics() {
    let (recorder, gpu) =
        (DebuggingRecorder::new(), Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap());
    program(&recorder, &gpu);
    let (found, stats, memory) = (values(&recorder.snapshotter()), gpu.stats(), gpu.memory());
    let value =
        |name: &str| *found.get(name).unwrap_or_else(|| panic!("{name} is not among {found:#?}")) as u64;
    assert_eq!(value("tenure_frames_total"), 1);
    assert_eq!(value("tenure_uploads_total"), 10);
    assert_eq!(value("tenure_upload_bytes_total"), 40_960);
    assert_eq!(value("tenure_submissions_total"), 2, "the uploads and the recording");
    assert_eq!(value("tenure_driver_allocations_total"), stats.driver_allocations);
    assert_eq!(value("tenure_resources_created_total"), stats.resources_created);
    assert_eq!(value("tenure_live_objects"), 10);
    assert_eq!(value("tenure_reserved_bytes{part=\"pools\"}"), stats.reserved_by.pools);
    assert_eq!(value("tenure_reserved_bytes{part=\"committed\"}"), 0);
    assert_eq!(value("tenure_pool_live_bytes{pool=\"small buffers\"}"), 40_960);
    assert_eq!(value("tenure_heap_reserved_bytes{heap=\"0\"}"), memory.heaps[0].ours.total());
    assert_eq!(value("tenure_heap_budget_bytes{heap=\"0\"}"), memory.heaps[0].budget.unwrap());
    assert_eq!(value("tenure_heap_headroom_bytes{heap=\"0\"}"), memory.heaps[0].headroom.unwrap());
}

/// Two managers, and a second frame: counters add up, and nothing counts twice.
#[test]
fn counters_of_several_managers_add_up() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let gpus = [(); 2].map(|()| Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap());
    gpus.iter().for_each(|gpu| program(&recorder, gpu));
    assert_eq!(values(&snapshotter)["tenure_uploads_total"], 20.0);
    program(&recorder, &gpus[0]);
    let found = values(&snapshotter);
    assert_eq!((found["tenure_uploads_total"], found["tenure_frames_total"]), (10.0, 1.0));
}

/// The guide's table has each metric that there is, and no other.
#[test]
fn the_guide_has_all_metrics() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/observing.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let documented: Vec<&str> =
        guide.lines().filter_map(|line| line.strip_prefix("| `tenure_")?.split('`').next()).collect();
    let recorder = DebuggingRecorder::new();
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    program(&recorder, &gpu);
    let names: std::collections::BTreeSet<String> = values(&recorder.snapshotter())
        .into_keys()
        .map(|key| key.split('{').next().unwrap_or_default().to_owned())
        // Nothing waited.
        .chain(["tenure_frame_wait_seconds".to_owned()])
        .collect();
    let documented: std::collections::BTreeSet<String> =
        documented.into_iter().map(|name| format!("tenure_{name}")).collect();
    assert_eq!(names, documented);
}

/// A recorder of the program that panics: the end of the frame passes that on, once everything is done.
#[test]
fn a_panic_of_the_recorder_reaches_the_caller() {
    struct Panics;
    impl metrics::Recorder for Panics {
        fn describe_counter(&self, _: metrics::KeyName, _: Option<metrics::Unit>, _: metrics::SharedString) {}
        fn describe_gauge(&self, _: metrics::KeyName, _: Option<metrics::Unit>, _: metrics::SharedString) {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        fn describe_histogram(
            &self,
            _: metrics::KeyName,
            _: Option<metrics::Unit>,
            _: metrics::SharedString,
        ) {
        }
        fn register_counter(&self, _: &metrics::Key, _: &metrics::Metadata<'_>) -> metrics::Counter {
            metrics::Counter::noop()
        }
        fn register_gauge(&self, _: &metrics::Key, _: &metrics::Metadata<'_>) -> metrics::Gauge {
            metrics::Gauge::noop()
        }
        fn register_histogram(&self, _: &metrics::Key, _: &metrics::Metadata<'_>) -> metrics::Histogram {
            metrics::Histogram::noop()
        }
    }
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    let frame = gpu.begin_frame().unwrap();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        metrics::with_local_recorder(&Panics, || frame.end())
    }));
    assert!(ended.is_err());
    gpu.begin_frame().unwrap().end().unwrap();
    assert!(gpu.shutdown().is_clean());
}

/// Passes everything on but the registration of one counter, in which it panics once.
struct PanicsOnce<'a> {
    recorder: &'a DebuggingRecorder,
    /// Registrations of counters until it panics.
    left: Cell<u32>,
}

impl metrics::Recorder for PanicsOnce<'_> {
    fn describe_counter(&self, _: metrics::KeyName, _: Option<metrics::Unit>, _: metrics::SharedString) {}
    fn describe_gauge(&self, _: metrics::KeyName, _: Option<metrics::Unit>, _: metrics::SharedString) {}
    fn describe_histogram(&self, _: metrics::KeyName, _: Option<metrics::Unit>, _: metrics::SharedString) {}
    fn register_counter(&self, key: &metrics::Key, metadata: &metrics::Metadata<'_>) -> metrics::Counter {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left == 1 {
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        self.recorder.register_counter(key, metadata)
    }
    fn register_gauge(&self, key: &metrics::Key, metadata: &metrics::Metadata<'_>) -> metrics::Gauge {
        self.recorder.register_gauge(key, metadata)
    }
    fn register_histogram(&self, key: &metrics::Key, metadata: &metrics::Metadata<'_>) -> metrics::Histogram {
        self.recorder.register_histogram(key, metadata)
    }
}

/// A recorder that panics in the middle has counted nothing twice, and misses nothing, once a further frame has ended.
#[test]
fn counters_count_once_beside_a_panic_of_the_recorder() {
    let frames = |panics_at| {
        let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
        let recorder = DebuggingRecorder::new();
        let panics = PanicsOnce { recorder: &recorder, left: Cell::new(panics_at) };
        let desc = BufferDesc::new(4096, Usage::VERTEX).name("rock");
        drop(gpu.create_buffer_with(&desc, &[7; 4096]).unwrap());
        let ended = [(); 2].map(|()| {
            let frame = gpu.begin_frame().unwrap();
            let end = || metrics::with_local_recorder(&panics, || frame.end());
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(end)).is_ok()
        });
        assert_eq!(ended, [panics_at == 0, true]);
        values(&recorder.snapshotter()).into_iter().filter(|(name, _)| name.ends_with("_total")).collect()
    };
    let expected: BTreeMap<_, _> = frames(0);
    assert_eq!(expected.len(), 16);
    for panics_at in 1..=16 {
        assert_eq!(frames(panics_at), expected, "at counter {panics_at}");
    }
}
