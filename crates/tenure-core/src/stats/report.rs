//! Detailed reports.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{MemoryReport, MovableReport, PoolStats, Stats, StatsSources};
use crate::context::Context;
use crate::device::{Device, MemoryTypeId};
use crate::memory::{LocationKind, PoolKind, PoolShard, RecordedLocation};
use crate::registry::{Leak, ObjectKind, RegistryEntry, RegistryKey, RegistrySlot};
use crate::time::{HeldItems, Holder};

/// One block of a pool. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BlockReport {
    /// The number in the pool, as in [`LiveObject::block`]. Numbers are reused for later blocks.
    pub number: usize,
    /// Size, taken from the driver or borrowed from another pool.
    pub size: u64,
    /// Allocated bytes, including those lent to a shard, which may hold them as its reserve.
    pub used: u64,
}

/// One pool, block by block.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PoolReport {
    /// The statistics.
    pub stats: PoolStats,
    /// The blocks.
    pub blocks: Vec<BlockReport>,
}

impl PoolReport {
    /// All pools, in the order of [`Stats::pools`].
    pub(crate) fn collect<D: Device>(context: &Context<D>) -> Vec<Self> {
        let mut pools = Vec::new();
        context.pools.each_class(|shards| {
            let blocks = shards.each().flat_map(PoolShard::blocks);
            let blocks = blocks.map(|(number, size, used)| BlockReport { number, size, used }).collect();
            pools.push(Self { stats: PoolStats::of(shards), blocks });
        });
        pools
    }
}

/// A live handle.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LiveObject {
    /// Id of the object, unique among live objects and stable across reports of the manager: objects of two reports with
    /// equal ids are the same object. A resource keeps its id when it moves. The id of a dropped object is not reused before
    /// 2²⁴ others were created.
    pub id: u64,
    /// The name; empty when it has none.
    pub name: String,
    /// The kind.
    pub kind: ObjectKind,
    /// Requested bytes.
    pub bytes: u64,
    /// The frame in which it was created.
    pub frame: u64,
    /// The [tag](crate::BufferDesc::tag) of its description; empty when it has none.
    pub tag: String,
    /// Kind of memory; `None` for objects without memory of their own, such as views. The following fields give details.
    pub location: Option<LocationKind>,
    /// The memory type, if the manager allocated the memory.
    pub memory_type: Option<u8>,
    /// The memory heap of that type.
    pub heap: Option<usize>,
    /// The purpose of its pool.
    pub pool: Option<PoolKind>,
    /// The index of that pool in [`Report::pools`]: several pools serve one purpose, for resources that cannot share a block.
    pub pool_index: Option<usize>,
    /// The [number](BlockReport::number) of its block in the pool.
    pub block: Option<usize>,
    /// Offset in the block or page, in bytes.
    pub offset: Option<u64>,
    /// The GPU address of its first byte, if it has one.
    pub address: Option<u64>,
    /// The frame in which its handle was dropped, if its views keep it alive.
    pub dropped: Option<u64>,
    /// The names of the views that keep it alive. Tables and sets keep views whose handles were dropped.
    pub kept_by: Vec<String>,
    /// State of a movable resource; `None` for resources that cannot move: created without
    /// [movable](crate::BufferDesc::movable), or with memory of their own that suits them.
    pub movable: Option<MovableReport>,
    /// Backtrace of its creation, when [`Config::leak_backtraces`](crate::Config::leak_backtraces) is on.
    pub backtrace: Option<String>,
}

/// An open recording, with its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OpenRecordingReport {
    /// The name given when it was opened.
    pub name: String,
    /// Frames since it was opened.
    pub age: u64,
    /// Bytes dropped since it was opened, whose release it delays.
    pub held_back: u64,
}

/// The reason why dropped objects are not released yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum HolderKind {
    /// Open recordings: see [`Report::open_recordings`].
    OpenRecordings,
    /// A submission that the GPU has not completed.
    Submission,
    /// Unknown: the objects were dropped, or a recording was submitted, since the manager last checked, as it does when a
    /// frame begins and in [`Gpu::reclaim`](crate::Gpu::reclaim).
    NextReclaim,
}

/// Dropped objects blocked by the same holder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HeldReport {
    /// The holder.
    pub holder: HolderKind,
    /// The [number](crate::QueueId) of the submission's queue.
    pub queue: Option<u8>,
    /// The submission's number on its queue.
    pub serial: Option<u64>,
    /// The newest submission of that queue that is known to be complete.
    pub completed: Option<u64>,
    /// Number of these objects.
    pub objects: u64,
    /// Bytes of these objects.
    pub bytes: u64,
}

impl HeldReport {
    /// The held objects by holder: open recordings first, then by queue and serial.
    fn collect<D: Device>(context: &Context<D>) -> Vec<Self> {
        let completed = context.clock.completed();
        let report = |HeldItems { holder, count, bytes, .. }: HeldItems| {
            let (holder, at) = match holder {
                Holder::OpenRecordings => (HolderKind::OpenRecordings, None),
                Holder::Submission(at) => (HolderKind::Submission, Some(at)),
                _ => (HolderKind::NextReclaim, None),
            };
            Self {
                holder,
                queue: at.map(|at| at.queue.0),
                serial: at.map(|at| at.serial),
                completed: at.map(|at| completed.serial(at.queue)),
                objects: count,
                bytes,
            }
        };
        context.held().into_iter().map(report).collect()
    }
}

/// The complete state of a manager. With the feature `serde` it can be written as JSON; the schema is
/// `schemas/report.schema.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Each memory heap: budget, and usage by purpose.
    pub memory: MemoryReport,
    /// Each pool, block by block.
    pub pools: Vec<PoolReport>,
    /// Live handles, by name; with the cached transient resources, which [`Stats::live_objects`] does not count.
    pub objects: Vec<LiveObject>,
    /// Live objects by tag, in alphabetical order. Objects without a tag are under the empty one.
    pub tags: Vec<TagReport>,
    /// Open recordings, oldest first.
    pub open_recordings: Vec<OpenRecordingReport>,
    /// Dropped objects that are not released yet, by holder.
    pub held: Vec<HeldReport>,
}

impl Report {
    pub(crate) fn collect<D: Device>(sources: &StatsSources<'_, D>, memory: MemoryReport) -> Self {
        let context = sources.context;
        let properties = context.device().properties();
        let pools = PoolReport::collect(context);
        let objects = LiveObject::collect(context);
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
            memory,
            pools,
            tags: TagReport::collect(&objects),
            objects,
            open_recordings: open_recordings.collect(),
            held: HeldReport::collect(context),
        }
    }
}

impl LiveObject {
    /// All live objects, by name.
    fn collect<D: Device>(context: &Context<D>) -> Vec<Self> {
        let mut objects = Vec::new();
        context.registry.for_each(|slot, entry| objects.push((slot, Self::of(slot, entry), entry.place)));
        // After the walk: the pools have locks of their own.
        let movables = MovableReport::collect(context);
        let mut views = views_of_dropped(&objects);
        let find = |(slot, object, place): (RegistrySlot, Self, RecordedLocation)| Self {
            movable: movables.get(&slot).copied(),
            kept_by: views.remove(&slot).unwrap_or_default(),
            ..object.at(context, place)
        };
        let mut objects: Vec<Self> = objects.into_iter().map(find).collect();
        objects.sort_by(|a, b| (&a.name, a.frame, a.bytes, a.id).cmp(&(&b.name, b.frame, b.bytes, b.id)));
        objects
    }

    /// The object without its location.
    fn of(slot: RegistrySlot, entry: &RegistryEntry) -> Self {
        let Leak { name, kind, bytes, frame, backtrace } = Leak::of(entry);
        Self {
            id: slot.id(entry),
            name: name.as_str().to_owned(),
            kind,
            bytes,
            frame,
            tag: entry.tag.as_str().to_owned(),
            location: None,
            memory_type: None,
            heap: None,
            pool: None,
            pool_index: None,
            block: None,
            offset: None,
            address: (entry.address > 0).then_some(entry.address),
            dropped: entry.dropped_in(),
            kept_by: Vec::new(),
            movable: None,
            backtrace,
        }
    }

    fn at<D: Device>(self, context: &Context<D>, place: RecordedLocation) -> Self {
        let heap_of = |memory: MemoryTypeId| {
            let found = context.device().properties().memory_types.get(usize::from(memory.0));
            found.map(|found| usize::from(found.heap))
        };
        match place {
            RecordedLocation::None | RecordedLocation::ViewOf(_) => self,
            RecordedLocation::Elsewhere(kind) => Self { location: Some(kind), ..self },
            RecordedLocation::Memory { kind, memory, offset } => Self {
                location: Some(kind),
                memory_type: Some(memory.0),
                heap: heap_of(memory),
                offset: offset.map(u64::from),
                ..self
            },
            RecordedLocation::Pool { kind, pool, block, offset } => {
                let order = context.pools.order_of(pool);
                let Some((class, block)) = context.pools.block_of(pool, block) else {
                    return Self { location: Some(kind), ..self };
                };
                Self {
                    location: Some(kind),
                    memory_type: Some(class.memory.0),
                    heap: heap_of(class.memory),
                    pool: Some(class.kind),
                    pool_index: Some(order),
                    block: Some(block),
                    offset: Some(offset),
                    ..self
                }
            }
        }
    }
}

/// The names of the views of each resource whose handle was dropped, in alphabetical order.
fn views_of_dropped(
    objects: &[(RegistrySlot, LiveObject, RecordedLocation)],
) -> FxHashMap<RegistrySlot, Vec<String>> {
    let dropped = objects.iter().filter(|(_, object, _)| object.dropped.is_some());
    let mut views: FxHashMap<_, Vec<String>> = dropped.map(|(slot, ..)| (*slot, Vec::new())).collect();
    for (_, view, place) in objects {
        if let RecordedLocation::ViewOf(resource) = *place
            && let Some(names) = views.get_mut(&RegistryKey::from_bits(resource).slot())
        {
            names.push(view.name.clone());
        }
    }
    views.values_mut().for_each(|names| names.sort_unstable());
    views
}

/// Live objects of one tag.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TagReport {
    /// The tag.
    pub tag: String,
    /// Live objects.
    pub objects: u64,
    /// Bytes requested by them.
    pub bytes: u64,
}

impl TagReport {
    fn collect(objects: &[LiveObject]) -> Vec<Self> {
        let mut tags: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for object in objects {
            let (count, bytes) = tags.entry(&object.tag).or_default();
            *count += 1;
            *bytes = bytes.saturating_add(object.bytes);
        }
        let report = |(tag, (objects, bytes)): (&str, _)| Self { tag: tag.to_owned(), objects, bytes };
        tags.into_iter().map(report).collect()
    }
}
