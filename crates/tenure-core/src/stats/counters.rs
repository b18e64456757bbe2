//! Counters that are always on.

use std::sync::atomic::Ordering;

use crate::context::Context;
use crate::descriptor_store::{DescriptorStats, DescriptorStore};
use crate::device::Device;
use crate::list::ListPool;
use crate::memory::{Class, PoolKind, ShardTotals, Shards};
use crate::query::{GpuTime, QueryStore};
use crate::transient_heaps::{TransientStats, Transients};

/// One pool in numbers. Bytes.
///
/// `reserved` adds up over all pools. `used`, `requested` and `allocations` do so without
/// [`PoolKind::SmallBufferSlots`]: what that pool gives out are the blocks of [`PoolKind::SmallBuffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PoolStats {
    /// What it is for.
    pub kind: PoolKind,
    /// The memory type of its heaps.
    pub memory_type: u8,
    /// Shards that threads have divided it into (see [`PoolConfig::shards`](crate::PoolConfig::shards)).
    pub shards: u32,
    /// What the pool divides: its blocks. While nothing is created or given back on another thread at this
    /// moment, that is `reserved` and `borrowed` together.
    pub capacity: u64,
    /// Taken from the driver: the blocks that are not borrowed, each from when it is made until it is
    /// destroyed. So the sum over all pools is [`MemoryParts::pools`], always.
    pub reserved: u64,
    /// Bytes of blocks that lie in heaps of another pool, which has reserved them: those of
    /// [`PoolKind::SmallBuffers`] lie in heaps of [`PoolKind::SmallBufferSlots`], where they are `used`.
    pub borrowed: u64,
    /// Given out.
    pub used: u64,
    /// Asked for by what was given out; the rest of `used` is waste by alignment and rounding.
    pub requested: u64,
    /// Skipped in front of what was given out, for its alignment.
    pub alignment_waste: u64,
    /// Live ranges.
    pub allocations: u64,
    /// The most ever given out at once. Where threads have divided the pool, their peaks together, which
    /// need not have been at the same time.
    pub peak_used: u64,
    /// The most ever reserved at once.
    pub peak_reserved: u64,
    /// The largest free range; what is free beyond it is fragmented.
    pub largest_free: u64,
}

impl PoolStats {
    pub(super) fn of<D: Device>(shards: &Shards<D>) -> Self {
        let Class { memory, kind, .. } = shards.first().class;
        let ShardTotals { pool: totals, borrowed } = shards.totals();
        let (reserved, peak_reserved) = shards.reserved();
        Self {
            kind,
            memory_type: memory.0,
            shards: shards.made(),
            capacity: totals.capacity,
            reserved,
            borrowed,
            used: totals.used,
            requested: totals.requested,
            alignment_waste: totals.padding,
            allocations: totals.allocations,
            peak_used: totals.peak_used,
            peak_reserved,
            largest_free: totals.largest_free,
        }
    }

    /// Bytes given out beyond what was asked for, by rounding up.
    #[must_use]
    pub const fn rounding_waste(&self) -> u64 {
        self.used.saturating_sub(self.requested).saturating_sub(self.alignment_waste)
    }

    /// Free bytes outside the largest free range.
    #[must_use]
    pub const fn fragmented(&self) -> u64 {
        self.capacity.saturating_sub(self.used).saturating_sub(self.largest_free)
    }
}

/// What the memory that is taken from the driver is for. Bytes; each byte is in one part, from when the
/// driver has given it until it is given back. What was dropped and is still in use by the GPU counts where it
/// did before. The parts are complete: a program that adds them up is not to miss one, so that a further part
/// would be a breaking change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryParts {
    /// Blocks of pools: the sum of [`PoolStats::reserved`] over [`Stats::pools`].
    pub pools: u64,
    /// Buffers and textures with memory of their own, but for transient ones; those among them that a
    /// [`PageAllocator`](crate::PageAllocator) could not place in a page.
    pub committed: u64,
    /// Pages of [page allocators](crate::PageAllocator).
    pub pages: u64,
    /// Transient heaps, and transient resources with memory of their own: [`TransientStats::reserved`].
    pub transient: u64,
}

impl MemoryParts {
    /// All parts together: [`Stats::reserved`].
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.pools + self.committed + self.pages + self.transient
    }

    /// Those of two memories together.
    pub(super) const fn with(self, other: Self) -> Self {
        Self {
            pools: self.pools + other.pools,
            committed: self.committed + other.committed,
            pages: self.pages + other.pages,
            transient: self.transient + other.transient,
        }
    }
}

/// What happened in one frame, from the end of the one before to its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FrameStats {
    /// The frame.
    pub number: u64,
    /// API resources created.
    pub created: u64,
    /// API resources destroyed.
    pub destroyed: u64,
    /// Memory allocations made by the driver.
    pub driver_allocations: u64,
    /// Things released that nothing used any more.
    pub released: u64,
    /// Nanoseconds that the beginning of frames waited for the GPU.
    pub waited_ns: u64,
}

/// The totals at the end of the last frame, to tell what the next one adds.
#[derive(Debug, Default)]
pub(crate) struct FrameMeter {
    /// Totals, in the fields of a frame's own numbers.
    totals: FrameStats,
    last: FrameStats,
}

impl FrameMeter {
    /// What happened in the frame that ended last.
    pub(crate) const fn last(&self) -> FrameStats {
        self.last
    }

    /// A frame has ended.
    pub(crate) fn end_frame<D: Device>(&mut self, number: u64, context: &Context<D>) {
        let objects = context.pools.objects.counts();
        let now = FrameStats {
            number,
            created: objects.resources_made,
            destroyed: objects.resources_destroyed,
            driver_allocations: objects.allocations_made,
            released: context.release_stats().released,
            waited_ns: context.waits.nanoseconds.load(Ordering::Relaxed),
        };
        let before = std::mem::replace(&mut self.totals, now);
        self.last = FrameStats {
            number,
            created: now.created - before.created,
            destroyed: now.destroyed - before.destroyed,
            driver_allocations: now.driver_allocations - before.driver_allocations,
            released: now.released - before.released,
            waited_ns: now.waited_ns - before.waited_ns,
        };
    }
}

/// What the numbers of a manager are read from.
pub(crate) struct StatsSources<'a, D: Device> {
    pub(crate) context: &'a Context<D>,
    pub(crate) lists: &'a ListPool<D>,
    pub(crate) descriptors: &'a DescriptorStore<D>,
    pub(crate) queries: &'a QueryStore<D>,
    pub(crate) transients: &'a Transients<D>,
    pub(crate) last_frame: FrameStats,
}

/// The state of a [`Gpu`](crate::Gpu) in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Stats {
    /// Frames begun.
    pub frames: u64,
    /// Times that a frame had to wait for the GPU.
    pub frame_waits: u64,
    /// Nanoseconds spent in those waits.
    pub frame_wait_ns: u64,
    /// Bytes taken from the driver: heaps and committed resources. The sum of [`reserved_by`](Self::reserved_by).
    pub reserved: u64,
    /// What they are for.
    pub reserved_by: MemoryParts,
    /// The most bytes ever taken at once.
    pub peak_reserved: u64,
    /// Heaps alive: of pools, page allocators and transient resources.
    pub heaps: u64,
    /// Committed API resources alive: the program's, transient ones, and the blocks of pools that are buffers. Their
    /// bytes are in several parts of [`reserved_by`](Self::reserved_by).
    pub committed_resources: u64,
    /// Bytes of textures whose memory is allocated lazily ([`LocationKind::Memoryless`](crate::LocationKind::Memoryless)):
    /// the driver takes it once something is stored there, so it is no part of [`reserved`](Self::reserved).
    pub memoryless: u64,
    /// Memory allocations ever made by the driver.
    pub driver_allocations: u64,
    /// Heaps ever created.
    pub heaps_created: u64,
    /// API resources ever created.
    pub resources_created: u64,
    /// API resources ever destroyed.
    pub resources_destroyed: u64,
    /// Command lists, with their allocators, ever created.
    pub lists_created: u64,
    /// Heaps of queries ever created.
    pub query_heaps_created: u64,
    /// Live handles. Transient resources that wait for who acquires them, and the views that are kept with
    /// them, are none: see [`TransientStats::cached`].
    pub live_objects: u64,
    /// Things dropped that wait for recordings or the GPU.
    pub pending_releases: u64,
    /// Bytes those hold.
    pub pending_bytes: u64,
    /// Things ever released.
    pub released: u64,
    /// Recordings open now.
    pub open_recordings: u64,
    /// What happened in the frame that ended last.
    pub last_frame: FrameStats,
    /// GPU times of named scopes that arrived in the frame that ended last: those of submissions that the
    /// manager knew to be complete at its end and not before. That is some frames after they were recorded:
    /// [`GpuTime::frame`] says which. Each is in the statistics of one frame; where there are no frames, of one
    /// [`purge`](crate::Gpu::purge).
    pub gpu_times: Vec<GpuTime>,
    /// GPU times that were given up so far: of more than 1,024 recordings that were not complete, or 16,384
    /// times in one frame.
    pub gpu_times_lost: u64,
    /// Each pool that was ever needed, in the order of need.
    pub pools: Vec<PoolStats>,
    /// Descriptors.
    pub descriptors: DescriptorStats,
    /// Transient resources.
    pub transient: TransientStats,
}

impl Stats {
    /// API objects ever created: heaps, resources, command lists, heaps of queries, and what descriptors are in. In
    /// steady state a frame adds none.
    #[must_use]
    pub const fn objects_created(&self) -> u64 {
        self.heaps_created
            + self.resources_created
            + self.lists_created
            + self.query_heaps_created
            + self.descriptors.objects_created
    }

    pub(crate) fn collect<D: Device>(sources: &StatsSources<'_, D>) -> Self {
        let StatsSources { context, lists, descriptors, queries, transients, last_frame } = sources;
        let objects = context.pools.objects.counts();
        let unused = transients.unused_objects();
        let releases = context.release_stats();
        let (gpu_times, gpu_times_lost) = queries.times.lock().last();
        let mut pools = Vec::new();
        context.pools.each_class(|shards| pools.push(PoolStats::of(shards)));
        let transient = transients.stats();
        // Each number is read once, so that the parts add up whatever other threads do meanwhile.
        let reserved_by = MemoryParts {
            pools: pools.iter().map(|pool| pool.reserved).sum(),
            committed: context.pools.objects.committed_memory.all().now(),
            pages: context.pools.objects.page_memory.all().now(),
            transient: transient.reserved,
        };
        let reserved = reserved_by.total();
        Self {
            frames: context.current_frame(),
            frame_waits: context.waits.frames.load(Ordering::Relaxed),
            frame_wait_ns: context.waits.nanoseconds.load(Ordering::Relaxed),
            reserved,
            reserved_by,
            peak_reserved: objects.peak_reserved.max(reserved),
            heaps: objects.heaps,
            committed_resources: objects.committed,
            memoryless: objects.memoryless,
            driver_allocations: objects.allocations_made,
            heaps_created: objects.heaps_made,
            resources_created: objects.resources_made,
            resources_destroyed: objects.resources_destroyed,
            lists_created: lists.lists_made(),
            query_heaps_created: queries.made(),
            live_objects: (context.registry.len() as u64).saturating_sub(unused),
            pending_releases: releases.pending(),
            pending_bytes: releases.pending_bytes,
            released: releases.released,
            open_recordings: context.recordings.count() as u64,
            last_frame: *last_frame,
            gpu_times,
            gpu_times_lost,
            pools,
            descriptors: descriptors.stats(),
            transient,
        }
    }
}
