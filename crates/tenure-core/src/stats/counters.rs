//! Counters that are always on.

use std::sync::atomic::Ordering;

use crate::descriptor::DescriptorStats;
use crate::device::Device;
use crate::gpu::Shared;
use crate::memory::{Class, PoolKind, Shards};
use crate::transient::TransientStats;

/// One pool in numbers. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct PoolStats {
    /// What it is for.
    pub kind: PoolKind,
    /// The memory type of its heaps.
    pub memory_type: u8,
    /// Shards that threads have divided it into (see [`Config::pool_shards`](crate::Config::pool_shards)).
    pub shards: u32,
    /// Taken from the driver.
    pub reserved: u64,
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
    /// The most ever taken at once; of a divided pool as `peak_used`.
    pub peak_reserved: u64,
    /// The largest free range; what is free beyond it is fragmented.
    pub largest_free: u64,
}

impl PoolStats {
    pub(super) fn of<D: Device>(shards: &Shards<D>) -> Self {
        let Class { memory, kind, .. } = shards.first().class;
        let totals = shards.totals();
        Self {
            kind,
            memory_type: memory.0,
            shards: shards.made(),
            reserved: totals.reserved,
            used: totals.used,
            requested: totals.requested,
            alignment_waste: totals.padding,
            allocations: totals.allocations,
            peak_used: totals.peak_used,
            peak_reserved: totals.peak_reserved,
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
        self.reserved.saturating_sub(self.used).saturating_sub(self.largest_free)
    }
}

/// What happened in one frame, from the end of the one before to its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
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
    /// A frame has ended.
    pub(crate) fn end_frame<D: Device>(&mut self, number: u64, shared: &Shared<D>) {
        let objects = shared.pools.objects.counts();
        let now = FrameStats {
            number,
            created: objects.resources_made,
            destroyed: objects.resources_destroyed,
            driver_allocations: objects.allocations_made,
            released: shared.releases.stats().released,
            waited_ns: shared.waits.nanoseconds.load(Ordering::Relaxed),
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

/// The state of a [`Gpu`](crate::Gpu) in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct Stats {
    /// Frames begun.
    pub frames: u64,
    /// Times that a frame had to wait for the GPU.
    pub frame_waits: u64,
    /// Nanoseconds spent in those waits.
    pub frame_wait_ns: u64,
    /// Bytes taken from the driver: heaps and committed resources.
    pub reserved: u64,
    /// The most bytes ever taken at once.
    pub peak_reserved: u64,
    /// Heaps alive.
    pub heaps: u64,
    /// Committed resources alive.
    pub committed: u64,
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
    /// Each pool that was ever needed, in the order of need.
    pub pools: Vec<PoolStats>,
    /// Descriptors.
    pub descriptors: DescriptorStats,
    /// Transient resources.
    pub transient: TransientStats,
}

impl Stats {
    /// API objects ever created: heaps, resources, command lists, and what descriptors are in. In
    /// steady state a frame adds none.
    #[must_use]
    pub const fn objects_created(&self) -> u64 {
        self.heaps_created + self.resources_created + self.lists_created + self.descriptors.objects_created
    }

    pub(crate) fn collect<D: Device>(shared: &Shared<D>) -> Self {
        let objects = shared.pools.objects.counts();
        let transients = shared.transients();
        let unused = transients.as_ref().map_or(0, |transients| transients.unused_objects());
        let releases = shared.releases.stats();
        let mut pools = Vec::new();
        shared.pools.each_class(|shards| pools.push(PoolStats::of(shards)));
        Self {
            frames: shared.current_frame(),
            frame_waits: shared.waits.frames.load(Ordering::Relaxed),
            frame_wait_ns: shared.waits.nanoseconds.load(Ordering::Relaxed),
            reserved: objects.reserved,
            peak_reserved: objects.peak_reserved,
            heaps: objects.heaps,
            committed: objects.committed,
            driver_allocations: objects.allocations_made,
            heaps_created: objects.heaps_made,
            resources_created: objects.resources_made,
            resources_destroyed: objects.resources_destroyed,
            lists_created: shared.contexts.lists_made(),
            live_objects: (shared.registry.len() as u64).saturating_sub(unused),
            pending_releases: releases.pending(),
            pending_bytes: releases.pending_bytes,
            released: releases.released,
            open_recordings: shared.recordings.count() as u64,
            last_frame: shared.meter.lock().last,
            pools,
            descriptors: shared.descriptors.stats(),
            transient: transients.map(|transients| transients.stats()).unwrap_or_default(),
        }
    }
}
