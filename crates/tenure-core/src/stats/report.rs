//! A walk over everything.

use super::{PoolStats, Stats, StatsSources};
use crate::device::Device;
use crate::memory::PoolShard;
use crate::registry::{Leak, ObjectKind};

/// One block of a pool. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct BlockReport {
    /// Taken from the driver, or borrowed from another pool.
    pub size: u64,
    /// Given out, or lent to a shard, which may have it in hand.
    pub used: u64,
}

/// One pool, block by block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct PoolReport {
    /// In numbers.
    pub stats: PoolStats,
    /// Its blocks.
    pub blocks: Vec<BlockReport>,
}

/// A handle that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct LiveObject {
    /// Its name; empty when it has none.
    pub name: String,
    /// What it is.
    pub kind: ObjectKind,
    /// Bytes asked for.
    pub bytes: u64,
    /// The frame in which it was created.
    pub frame: u64,
    /// Where it was created, when [`Config::leak_backtraces`](crate::Config::leak_backtraces) is on.
    pub backtrace: Option<String>,
}

/// A recording that is open, and what that costs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct OpenRecordingReport {
    /// The name given when it was opened.
    pub name: String,
    /// Frames since it was opened.
    pub age: u64,
    /// Bytes dropped since it was opened, which it holds back.
    pub held_back: u64,
}

/// Everything there is to see. With the feature `serde` it can be written as JSON; the schema is
/// `schemas/report.schema.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// The version of this format: 1.
    pub version: u32,
    /// The adapter.
    pub device: String,
    /// The API: `sim`, `vulkan` or `d3d12`.
    pub backend: String,
    /// The counters.
    pub stats: Stats,
    /// Each pool, block by block.
    pub pools: Vec<PoolReport>,
    /// Live handles, by name; with what is kept for whoever acquires transient resources, which
    /// [`Stats::live_objects`] does not count.
    pub objects: Vec<LiveObject>,
    /// Open recordings, oldest first.
    pub open_recordings: Vec<OpenRecordingReport>,
}

impl Report {
    pub(crate) fn collect<D: Device>(sources: &StatsSources<'_, D>) -> Self {
        let context = sources.context;
        let properties = context.device().properties();
        let mut pools = Vec::new();
        context.pools.each_class(|shards| {
            let blocks = shards.each().flat_map(PoolShard::blocks);
            let blocks = blocks.map(|(size, used)| BlockReport { size, used }).collect();
            pools.push(PoolReport { stats: PoolStats::of(shards), blocks });
        });
        let mut objects = Vec::new();
        context.registry.for_each(|record| objects.push(LiveObject::of(Leak::of(record))));
        objects.sort_by(|a, b| (&a.name, a.frame, a.bytes).cmp(&(&b.name, b.frame, b.bytes)));
        let frame = context.current_frame();
        let held_back = context.releases.held_back(&context.recordings).into_iter();
        let open_recordings = held_back.map(|(recording, held_back)| OpenRecordingReport {
            name: recording.name.as_str().to_owned(),
            age: frame.saturating_sub(recording.frame),
            held_back,
        });
        Self {
            version: 1,
            device: properties.name.clone(),
            backend: properties.backend.to_owned(),
            stats: Stats::collect(sources),
            pools,
            objects,
            open_recordings: open_recordings.collect(),
        }
    }
}

impl LiveObject {
    fn of(leak: Leak) -> Self {
        let Leak { name, kind, bytes, frame, backtrace } = leak;
        Self { name: name.as_str().to_owned(), kind, bytes, frame, backtrace }
    }
}
