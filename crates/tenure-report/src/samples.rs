//! The manager's own numbers, as far as pages show them.

use tenure_core::{HeapMemory, PoolStats, Stats};

use crate::history::{HeapSample, PoolSample, Totals};

impl From<&Stats> for Totals {
    fn from(stats: &Stats) -> Self {
        Self {
            reserved: stats.reserved,
            peak_reserved: stats.peak_reserved,
            live_objects: stats.live_objects,
            pending_releases: stats.pending_releases,
            pending_bytes: stats.pending_bytes,
            open_recordings: stats.open_recordings,
            driver_allocations: stats.driver_allocations,
            waited_ns: stats.frame_wait_ns,
        }
    }
}

impl From<&HeapMemory> for HeapSample {
    fn from(heap: &HeapMemory) -> Self {
        Self {
            budget: heap.budget,
            usage: heap.usage,
            pools: heap.ours.pools,
            committed: heap.ours.committed,
            pages: heap.ours.pages,
            transient: heap.ours.transient,
            used: heap.used,
            idle: heap.idle,
        }
    }
}

impl From<&PoolStats> for PoolSample {
    fn from(pool: &PoolStats) -> Self {
        Self {
            capacity: pool.capacity,
            reserved: pool.reserved,
            used: pool.used,
            requested: pool.requested,
            alignment_waste: pool.alignment_waste,
            allocations: pool.allocations,
            largest_free: pool.largest_free,
        }
    }
}
