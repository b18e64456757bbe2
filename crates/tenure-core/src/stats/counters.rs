//! Counters that are always on.

use std::sync::atomic::Ordering;

use crate::device::Device;
use crate::gpu::Shared;
use crate::memory::{Class, Pool, PoolKind};

/// One pool in numbers. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, schemars::JsonSchema))]
pub struct PoolStats {
    /// What it is for.
    pub kind: PoolKind,
    /// The memory type of its heaps.
    pub memory_type: u8,
    /// Taken from the driver.
    pub reserved: u64,
    /// Given out.
    pub used: u64,
    /// Asked for by what was given out; the rest of `used` is waste by alignment and rounding.
    pub requested: u64,
    /// Live ranges.
    pub allocations: u64,
    /// The most ever given out at once.
    pub peak_used: u64,
    /// The most ever taken at once.
    pub peak_reserved: u64,
    /// The largest free range; what is free beyond it is fragmented.
    pub largest_free: u64,
}

impl PoolStats {
    pub(super) fn of<D: Device>(pool: &Pool<D>) -> Self {
        let Class { memory, kind, .. } = pool.class;
        let totals = pool.totals();
        Self {
            kind,
            memory_type: memory.0,
            reserved: totals.reserved,
            used: totals.used,
            requested: totals.requested,
            allocations: totals.allocations,
            peak_used: totals.peak_used,
            peak_reserved: totals.peak_reserved,
            largest_free: totals.largest_free,
        }
    }

    /// Bytes lost to alignment and rounding.
    #[must_use]
    pub const fn rounding_waste(&self) -> u64 {
        self.used.saturating_sub(self.requested)
    }

    /// Free bytes outside the largest free range.
    #[must_use]
    pub const fn fragmented(&self) -> u64 {
        self.reserved.saturating_sub(self.used).saturating_sub(self.largest_free)
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
    /// API resources ever created.
    pub resources_created: u64,
    /// API resources ever destroyed.
    pub resources_destroyed: u64,
    /// Live handles.
    pub live_objects: u64,
    /// Things dropped that wait for recordings or the GPU.
    pub pending_releases: u64,
    /// Bytes those hold.
    pub pending_bytes: u64,
    /// Things ever released.
    pub released: u64,
    /// Recordings open now.
    pub open_recordings: u64,
    /// Each pool that was ever needed, in the order of need.
    pub pools: Vec<PoolStats>,
}

impl Stats {
    pub(crate) fn collect<D: Device>(shared: &Shared<D>) -> Self {
        let objects = shared.pools.objects.counts();
        let releases = shared.releases.stats();
        let mut pools = Vec::new();
        shared.pools.each(|pool| pools.push(PoolStats::of(pool)));
        Self {
            frames: shared.current_frame(),
            frame_waits: shared.waits.frames.load(Ordering::Relaxed),
            frame_wait_ns: shared.waits.nanoseconds.load(Ordering::Relaxed),
            reserved: objects.reserved,
            peak_reserved: objects.peak_reserved,
            heaps: objects.heaps,
            committed: objects.committed,
            driver_allocations: objects.allocations_made,
            resources_created: objects.resources_made,
            resources_destroyed: objects.resources_destroyed,
            live_objects: shared.registry.len() as u64,
            pending_releases: releases.pending(),
            pending_bytes: releases.pending_bytes,
            released: releases.released,
            open_recordings: shared.recordings.list().len() as u64,
            pools,
        }
    }
}
