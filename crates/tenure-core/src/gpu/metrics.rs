//! Metrics for the program's exporter, published at the end of frames.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::LazyLock;
use std::sync::atomic::Ordering;

use metrics::{Key, KeyName, Label, Level, Metadata, Recorder, Unit, with_recorder};

use super::Gpu;
use crate::context::{Context, Panicked};
use crate::device::{Device, HeapBudget};
use crate::memory::{Class, PoolKind};
use crate::stats::MemoryParts;

/// A metric: its name, unit and description.
struct Metric {
    name: &'static str,
    unit: Unit,
    text: &'static str,
}

const fn metric(name: &'static str, unit: Unit, text: &'static str) -> Metric {
    Metric { name, unit, text }
}

/// Gauges of each memory heap; the label `heap` is its index.
const HEAP_GAUGES: [Metric; 5] = [
    metric("tenure_heap_reserved_bytes", Unit::Bytes, "taken of a memory heap by the manager"),
    metric(
        "tenure_heap_evicted_bytes",
        Unit::Bytes,
        "of the reserved bytes, those of blocks that are evicted",
    ),
    metric(
        "tenure_heap_usage_bytes",
        Unit::Bytes,
        "used of a memory heap by the process, as the system says",
    ),
    metric("tenure_heap_budget_bytes", Unit::Bytes, "granted to the process of a memory heap"),
    metric("tenure_heap_headroom_bytes", Unit::Bytes, "left of a memory heap's budget"),
];

/// Gauges of each kind of pool; the label `pool` is its name.
const POOL_GAUGES: [Metric; 2] = [
    metric("tenure_pool_reserved_bytes", Unit::Bytes, "taken from the driver for the pools of a kind"),
    metric("tenure_pool_live_bytes", Unit::Bytes, "given out by the pools of a kind"),
];

/// Gauge of each of the [`PARTS`]; the label `part` is its name.
const RESERVED: Metric =
    metric("tenure_reserved_bytes", Unit::Bytes, "taken from the driver, by what it is for");

/// The fields of [`MemoryParts`].
const PARTS: [&str; 4] = ["pools", "committed", "pages", "transient"];

const GAUGES: [Metric; 4] = [
    metric("tenure_live_objects", Unit::Count, "live handles"),
    metric("tenure_open_recordings", Unit::Count, "recordings that are open"),
    metric("tenure_pending_releases", Unit::Count, "what was dropped and waits for recordings or the GPU"),
    metric(
        "tenure_pending_bytes",
        Unit::Bytes,
        "bytes of what was dropped and waits for recordings or the GPU",
    ),
];

const COUNTERS: [Metric; COUNTER_COUNT] = [
    metric("tenure_frames_total", Unit::Count, "frames begun"),
    metric("tenure_frame_waits_total", Unit::Count, "waits of frames for an earlier one"),
    metric("tenure_submissions_total", Unit::Count, "submissions, on all queues"),
    metric(
        "tenure_driver_allocations_total",
        Unit::Count,
        "blocks and committed resources taken from the driver",
    ),
    metric(
        "tenure_driver_releases_total",
        Unit::Count,
        "blocks and committed resources given back to the driver",
    ),
    metric("tenure_resources_created_total", Unit::Count, "API resources created"),
    metric("tenure_resources_destroyed_total", Unit::Count, "API resources destroyed"),
    metric("tenure_released_total", Unit::Count, "what was dropped and given back"),
    metric("tenure_failed_allocations_total", Unit::Count, "allocations that found no memory"),
    metric("tenure_spills_total", Unit::Count, "resources that went to slower memory than they prefer"),
    metric("tenure_moves_total", Unit::Count, "resources moved by compaction"),
    metric("tenure_moved_bytes_total", Unit::Bytes, "bytes copied by compaction"),
    metric("tenure_evictions_total", Unit::Count, "blocks evicted"),
    metric("tenure_returns_total", Unit::Count, "evicted blocks that came back"),
    metric("tenure_uploads_total", Unit::Count, "uploads"),
    metric("tenure_upload_bytes_total", Unit::Bytes, "bytes staged for uploads"),
];

const COUNTER_COUNT: usize = 16;

const FRAME_WAIT: Metric = metric(
    "tenure_frame_wait_seconds",
    Unit::Seconds,
    "how long the beginning of a frame waited for the GPU",
);

static METADATA: Metadata<'static> = Metadata::new("tenure", Level::INFO, Some("tenure"));

macro_rules! heap_labels {
    ($($index:literal)*) => { [$([Label::from_static_parts("heap", $index)],)*] };
}

/// The maximum of Vulkan, `VK_MAX_MEMORY_HEAPS`; Direct3D 12 has fewer.
static HEAP_LABELS: [[Label; 1]; 16] =
    heap_labels!("0" "1" "2" "3" "4" "5" "6" "7" "8" "9" "10" "11" "12" "13" "14" "15");

static POOL_LABELS: LazyLock<Vec<[Label; 1]>> = LazyLock::new(|| {
    PoolKind::ALL.iter().map(|kind| [Label::from_static_parts("pool", kind.as_str())]).collect()
});

static PART_LABELS: [[Label; 1]; PARTS.len()] = [
    [Label::from_static_parts("part", PARTS[0])],
    [Label::from_static_parts("part", PARTS[1])],
    [Label::from_static_parts("part", PARTS[2])],
    [Label::from_static_parts("part", PARTS[3])],
];

/// The totals published so far: counters get increments, so that the counters of several managers add up.
#[derive(Default)]
pub(super) struct Published {
    is_described: bool,
    totals: [u64; COUNTER_COUNT],
}

impl<D: Device> Gpu<D> {
    /// Publishes to the program's recorder of metrics at the end of a frame. Returns a panic of the recorder. After the first
    /// call, only the recorder allocates.
    pub(super) fn publish_metrics(&self) -> Panicked {
        let published =
            catch_unwind(AssertUnwindSafe(|| with_recorder(|recorder| self.publish_to(recorder))));
        Panicked::none().or(published)
    }

    fn publish_to(&self, recorder: &dyn Recorder) {
        let context = &self.shared.context;
        // Another thread that ends a frame is publishing already.
        let Some(mut published) = self.shared.published.try_lock() else { return };
        if !published.is_described {
            describe(recorder);
            published.is_described = true;
        }
        publish_heaps(recorder, context);
        self.publish_parts(recorder);
        let releases = context.release_stats();
        let unused = self.shared.services.transients.unused_objects();
        let live = [
            (context.registry.len() as u64).saturating_sub(unused),
            context.recordings.count() as u64,
            releases.pending(),
            releases.pending_bytes,
        ];
        for (metric, value) in GAUGES.iter().zip(live) {
            set(recorder, metric, &[], value);
        }
        let totals = self.totals();
        for ((metric, now), published) in COUNTERS.iter().zip(totals).zip(&mut published.totals) {
            let counter = recorder.register_counter(&key(metric, &[]), &METADATA);
            // Noted before the recorder is called again: should it panic, nothing counts twice.
            let before = std::mem::replace(published, now);
            counter.increment(now.saturating_sub(before));
        }
        let waited = self.shared.meter.lock().last().waited_ns;
        if waited > 0 {
            recorder.register_histogram(&key(&FRAME_WAIT, &[]), &METADATA).record(waited as f64 / 1e9);
        }
    }

    /// The totals, in the order of [`COUNTERS`].
    fn totals(&self) -> [u64; COUNTER_COUNT] {
        let context = &self.shared.context;
        let objects = context.pools.objects.counts();
        let (failures, spills) = context.pools.notices.totals();
        let (evictions, returns) = context.pools.residency.paged();
        let (compaction, uploads) = (self.shared.compactor.stats(), self.shared.services.uploads.stats());
        [
            context.current_frame(),
            context.waits.frames.load(Ordering::Relaxed),
            context.clock.submitted().iter().map(|at| at.serial).sum(),
            objects.allocations_made,
            objects.allocations_made.saturating_sub(context.pools.objects.limits.allocations()),
            objects.resources_made,
            objects.resources_destroyed,
            context.release_stats().released,
            failures,
            spills,
            compaction.moves,
            compaction.bytes,
            evictions,
            returns,
            uploads.uploads,
            uploads.bytes,
        ]
    }

    fn publish_parts(&self, recorder: &dyn Recorder) {
        let context = &self.shared.context;
        let mut pools = [(0, 0); PoolKind::ALL.len()];
        context.pools.each_class(|shards| {
            let Class { kind, .. } = shards.first().class;
            if let Some((reserved, live)) = pools.get_mut(kind as usize) {
                *reserved += shards.reserved().0;
                *live += shards.totals().pool.used;
            }
        });
        let [reserved, live] = &POOL_GAUGES;
        for (labels, pool) in POOL_LABELS.iter().zip(pools).filter(|(_, pool)| *pool != (0, 0)) {
            set(recorder, reserved, labels, pool.0);
            set(recorder, live, labels, pool.1);
        }
        let parts = MemoryParts {
            pools: pools.iter().map(|(reserved, _)| reserved).sum(),
            committed: context.pools.objects.committed_memory.all().now(),
            pages: context.pools.objects.page_memory.all().now(),
            transient: self.shared.services.transients.stats().reserved,
        };
        let MemoryParts { pools, committed, pages, transient } = parts;
        for (labels, bytes) in PART_LABELS.iter().zip([pools, committed, pages, transient]) {
            set(recorder, &RESERVED, labels, bytes);
        }
    }
}

/// Asks the operating system only on the first call, or after it has reported a change: a query may take longer than the rest
/// of this function, and the manager's own allocations are known without one.
fn publish_heaps<D: Device>(recorder: &dyn Recorder, context: &Context<D>) {
    let (device, budgets) = (context.device(), &context.pools.objects.budgets);
    let is_asked = context.clock.loss().is_none() && budgets.age() == u64::MAX;
    let known = if is_asked { budgets.current(device) } else { budgets.known() };
    let [reserved, evicted, usage, budget, headroom] = &HEAP_GAUGES;
    for (heap, labels) in HEAP_LABELS.iter().enumerate().take(device.properties().memory_heaps.len()) {
        set(recorder, reserved, labels, context.pools.objects.limits.taken(heap));
        set(recorder, evicted, labels, context.pools.residency.evicted(heap));
        // A budget of 0 is an unknown one.
        let Some(found) = known.get(heap).filter(|found| found.budget != 0) else { continue };
        let HeapBudget { budget: granted, usage: used } = *found;
        set(recorder, usage, labels, used);
        set(recorder, budget, labels, granted);
        set(recorder, headroom, labels, granted.saturating_sub(used));
    }
}

fn key(metric: &Metric, labels: &'static [Label]) -> Key {
    Key::from_static_parts(metric.name, labels)
}

fn set(recorder: &dyn Recorder, metric: &Metric, labels: &'static [Label], value: u64) {
    recorder.register_gauge(&key(metric, labels), &METADATA).set(value as f64);
}

/// Describes the metrics to the recorder.
fn describe(recorder: &dyn Recorder) {
    let name = |metric: &Metric| KeyName::from_const_str(metric.name);
    for metric in HEAP_GAUGES.iter().chain(&POOL_GAUGES).chain(&GAUGES).chain([&RESERVED]) {
        recorder.describe_gauge(name(metric), Some(metric.unit), metric.text.into());
    }
    for metric in &COUNTERS {
        recorder.describe_counter(name(metric), Some(metric.unit), metric.text.into());
    }
    recorder.describe_histogram(name(&FRAME_WAIT), Some(FRAME_WAIT.unit), FRAME_WAIT.text.into());
}
