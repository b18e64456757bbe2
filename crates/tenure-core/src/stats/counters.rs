//! Permanent counters.

use std::sync::atomic::Ordering;

use crate::context::Context;
use crate::descriptor_store::{DescriptorStats, DescriptorStore};
use crate::device::Device;
use crate::list::ListPool;
use crate::memory::{Class, PoolKind, ShardTotals, Shards};
use crate::query::{GpuTime, QueryStore};
use crate::transient_heaps::{TransientStats, Transients};

/// Statistics of one pool. Bytes.
///
/// `reserved` can be summed over all pools. `used`, `requested` and `allocations` can be summed without
/// [`PoolKind::SmallBufferSlots`]: the allocations of that pool are the blocks of [`PoolKind::SmallBuffers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PoolStats {
    /// The purpose.
    pub kind: PoolKind,
    /// The memory type of its heaps.
    pub memory_type: u8,
    /// Shards that threads have divided it into (see [`PoolConfig::shards`](crate::PoolConfig::shards)).
    pub shards: u32,
    /// Bytes of its blocks: the sum of `reserved` and `borrowed`, unless another thread is creating or releasing resources.
    pub capacity: u64,
    /// Bytes taken from the driver: the blocks that are not borrowed, each from its creation until its destruction. The sum
    /// over all pools always equals [`MemoryParts::pools`].
    pub reserved: u64,
    /// Bytes of blocks in heaps of another pool, which has reserved them: the blocks of [`PoolKind::SmallBuffers`] are in heaps
    /// of [`PoolKind::SmallBufferSlots`], where they are `used`.
    pub borrowed: u64,
    /// Allocated bytes.
    pub used: u64,
    /// Bytes requested by the allocations; the rest of `used` is waste by alignment and rounding.
    pub requested: u64,
    /// Bytes skipped before allocations, for their alignment.
    pub alignment_waste: u64,
    /// Live allocations.
    pub allocations: u64,
    /// Peak of `used`. For a pool divided into shards, the sum of the shards' peaks, which may have occurred at different
    /// times.
    pub peak_used: u64,
    /// Peak of `reserved`.
    pub peak_reserved: u64,
    /// The largest free range; free bytes beyond it are fragmented.
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

    /// Bytes allocated beyond the requests, by rounding up.
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

/// The driver's memory by purpose. Bytes; each byte is in one part, from its allocation by the driver until it is freed.
/// Dropped resources that the GPU still uses stay in their part. The list of parts is complete, so that programs may sum it; a
/// further part would be a breaking change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryParts {
    /// Blocks of pools: the sum of [`PoolStats::reserved`] over [`Stats::pools`].
    pub pools: u64,
    /// Buffers and textures with memory of their own, except transient ones; also resources that a
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

    /// The sums of both.
    pub(super) const fn with(self, other: Self) -> Self {
        Self {
            pools: self.pools + other.pools,
            committed: self.committed + other.committed,
            pages: self.pages + other.pages,
            transient: self.transient + other.transient,
        }
    }
}

/// The work of one frame, from the end of the previous frame to its end.
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
    /// Objects released from the release queue.
    pub released: u64,
    /// Nanoseconds that the beginnings of frames waited for the GPU.
    pub waited_ns: u64,
}

/// The totals at the end of the last frame, from which the counts of the next one are computed.
#[derive(Debug, Default)]
pub(crate) struct FrameMeter {
    /// Totals, in the fields of the per-frame counts.
    totals: FrameStats,
    last: FrameStats,
}

impl FrameMeter {
    /// The counts of the last ended frame.
    pub(crate) const fn last(&self) -> FrameStats {
        self.last
    }

    /// Ends a frame.
    pub(crate) fn end_frame<D: Device>(&mut self, number: u64, context: &Context<D>) {
        let objects = context.pools.objects.counts();
        let now = FrameStats {
            number,
            created: objects.resources_made,
            destroyed: objects.resources_destroyed,
            driver_allocations: objects.allocations_made,
            released: context.releases.released() + context.descriptors.releases.released(),
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

/// The sources of the statistics of a manager.
pub(crate) struct StatsSources<'a, D: Device> {
    pub(crate) context: &'a Context<D>,
    pub(crate) lists: &'a ListPool<D>,
    pub(crate) descriptors: &'a DescriptorStore<D>,
    pub(crate) queries: &'a QueryStore<D>,
    pub(crate) transients: &'a Transients<D>,
    pub(crate) last_frame: FrameStats,
}

/// Statistics of a [`Gpu`](crate::Gpu).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Stats {
    /// Frames begun.
    pub frames: u64,
    /// Number of waits of frames for the GPU.
    pub frame_waits: u64,
    /// Nanoseconds spent in those waits.
    pub frame_wait_ns: u64,
    /// Bytes taken from the driver: heaps and committed resources. The sum of [`reserved_by`](Self::reserved_by).
    pub reserved: u64,
    /// These bytes by purpose.
    pub reserved_by: MemoryParts,
    /// Peak of `reserved`.
    pub peak_reserved: u64,
    /// Live heaps: of pools, page allocators and transient resources.
    pub heaps: u64,
    /// Live committed API resources: the program's, transient ones, and the blocks of pools that are buffers. Their bytes are
    /// in several parts of [`reserved_by`](Self::reserved_by).
    pub committed_resources: u64,
    /// Bytes of textures with lazily allocated memory ([`LocationKind::Memoryless`](crate::LocationKind::Memoryless)): the
    /// driver allocates it on the first store, so it is not part of [`reserved`](Self::reserved).
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
    /// Live handles, without cached transient resources and their views: see [`TransientStats::cached`].
    pub live_objects: u64,
    /// Dropped objects that wait for recordings or the GPU.
    pub pending_releases: u64,
    /// Bytes of these objects.
    pub pending_bytes: u64,
    /// Objects ever released.
    pub released: u64,
    /// Open recordings.
    pub open_recordings: u64,
    /// Counts of the last ended frame.
    pub last_frame: FrameStats,
    /// GPU times of named scopes that arrived in the last ended frame: of the submissions found complete at its end. They were
    /// recorded some frames earlier, see [`GpuTime::frame`]. Each time is in the statistics of one frame; in programs without
    /// frames, of one [`reclaim`](crate::Gpu::reclaim).
    pub gpu_times: Vec<GpuTime>,
    /// GPU times discarded so far: beyond 1,024 incomplete recordings, or 16,384 times in one frame.
    pub gpu_times_lost: u64,
    /// Each pool ever created, in the order of creation.
    pub pools: Vec<PoolStats>,
    /// Descriptors.
    pub descriptors: DescriptorStats,
    /// Transient resources.
    pub transient: TransientStats,
}

impl Stats {
    /// API objects ever created: heaps, resources, command lists, query heaps, and the API objects of descriptors
    /// ([`DescriptorStats::objects_created`]). A frame in steady state adds none.
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
        // Each number is read once, so that the parts add up regardless of other threads.
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
