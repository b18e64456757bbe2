//! Heaps of queries: query pools.

use core::fmt;
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{
    CallRule, DeviceError, QueryHeapDesc, QueryKind, QueryLimits, QueueKind, TimestampClock, Usage,
};

use crate::record::{List, check_usage};
use crate::resource::Resource;
use crate::setup::Family;
use crate::shared::Shared;

/// A query pool: a handle for
/// [`Device::destroy_query_heap`](tenure_core::device::Device::destroy_query_heap). Dropping it without that
/// leaks the pool.
pub struct QueryHeap {
    shared: Arc<Shared>,
    pool: vk::QueryPool,
    desc: QueryHeapDesc,
}

/// Every counter of the contract, in its order, which is that of the bits.
const STATISTICS: vk::QueryPipelineStatisticFlags =
    vk::QueryPipelineStatisticFlags::from_raw((1 << QueryKind::STATISTICS) - 1);

/// What a device has of queries, by its limits, the features that are enabled, and its queues.
pub(crate) fn limits(
    limits: &vk::PhysicalDeviceLimits,
    enabled: &vk::PhysicalDeviceFeatures,
    queues: impl Iterator<Item = (QueueKind, Family)>,
) -> QueryLimits {
    // Nanoseconds of a tick.
    let femtoseconds = (f64::from(limits.timestamp_period) * 1e6).round() as u64;
    let clock = |(kind, family): (QueueKind, Family)| match kind {
        // They write timestamps, but cannot copy them to a buffer.
        QueueKind::Copy => TimestampClock::default(),
        QueueKind::Graphics | QueueKind::Compute => {
            TimestampClock { bits: family.timestamp_bits.min(64), femtoseconds }
        }
    };
    QueryLimits {
        timestamps: queues.map(clock).collect(),
        precise_occlusion: enabled.occlusion_query_precise == vk::TRUE,
        pipeline_statistics: enabled.pipeline_statistics_query == vk::TRUE,
        must_reset: true,
    }
}

impl Shared {
    pub(crate) fn create_query_heap(
        self: &Arc<Self>,
        desc: &QueryHeapDesc,
    ) -> Result<QueryHeap, DeviceError> {
        self.alive()?;
        self.tables.properties.check_query_heap(desc)?;
        let (kind, statistics) = match desc.kind {
            QueryKind::Timestamp => (vk::QueryType::TIMESTAMP, vk::QueryPipelineStatisticFlags::empty()),
            QueryKind::PipelineStatistics => (vk::QueryType::PIPELINE_STATISTICS, STATISTICS),
            QueryKind::CompactedSize => (
                vk::QueryType::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR,
                vk::QueryPipelineStatisticFlags::empty(),
            ),
            _ => (vk::QueryType::OCCLUSION, vk::QueryPipelineStatisticFlags::empty()),
        };
        let info = vk::QueryPoolCreateInfo::default()
            .query_type(kind)
            .query_count(desc.count)
            .pipeline_statistics(statistics);
        // SAFETY: the device is alive, there is at least one query, and statistics are enabled where asked for.
        let pool = unsafe { self.api.device.create_query_pool(&info, None) };
        let pool = pool.map_err(|result| self.error("vkCreateQueryPool", result))?;
        Ok(QueryHeap { shared: self.clone(), pool, desc: *desc })
    }
}

impl QueryHeap {
    /// The pool. Do not destroy it.
    #[must_use]
    pub const fn raw(&self) -> vk::QueryPool {
        self.pool
    }

    /// What it was created as.
    #[must_use]
    pub const fn desc(&self) -> &QueryHeapDesc {
        &self.desc
    }

    pub(crate) fn destroy(self) {
        // SAFETY: by the contract nothing uses it any more.
        unsafe { self.shared.api.device.destroy_query_pool(self.pool, None) };
    }

    fn number(&self) -> u64 {
        vk::Handle::as_raw(self.pool)
    }

    pub(crate) fn check_device(&self, shared: &Shared) -> Result<(), DeviceError> {
        if core::ptr::eq(Arc::as_ptr(&self.shared), shared) {
            return Ok(());
        }
        Err(DeviceError::broken_rule(CallRule::SameDevice))
    }
}

impl fmt::Debug for QueryHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.pool, self.desc)
    }
}

impl List {
    pub(crate) fn reset(&mut self, heap: &QueryHeap, first: u32, count: u32) {
        let checked = heap.check_device(&self.shared);
        let checked = checked.and_then(|()| heap.desc.check_use(self.queue, first, count));
        self.record(checked, |list, ()| {
            // SAFETY: the command buffer is open, of a queue with shaders, and the queries are inside the pool.
            unsafe { list.shared.api.device.cmd_reset_query_pool(list.buffer, heap.pool, first, count) };
        });
    }

    pub(crate) fn timestamp(&mut self, heap: &QueryHeap, query: u32) {
        let checked = heap.check_device(&self.shared);
        let checked = checked.and_then(|()| heap.desc.check_timestamp(self.queue, query));
        self.record(checked, |list, ()| {
            let after = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
            // SAFETY: the command buffer is open, its queue has timestamps, and the query is inside the pool.
            unsafe { list.shared.api.device.cmd_write_timestamp(list.buffer, after, heap.pool, query) };
        });
    }

    pub(crate) fn begin_ranged(&mut self, heap: &QueryHeap, query: u32) {
        let checked = heap.check_device(&self.shared);
        let checked = checked.and_then(|()| heap.desc.check_ranged(self.queue, query));
        let checked = checked.and_then(|()| self.begun.begin(heap.desc.kind, heap.number(), query));
        let flags = match heap.desc.kind {
            QueryKind::Occlusion => vk::QueryControlFlags::PRECISE,
            _ => vk::QueryControlFlags::empty(),
        };
        self.record(checked, |list, ()| {
            // SAFETY: the command buffer is open, for graphics; no other query of the kind has begun in it.
            unsafe { list.shared.api.device.cmd_begin_query(list.buffer, heap.pool, query, flags) };
        });
    }

    pub(crate) fn end_ranged(&mut self, heap: &QueryHeap, query: u32) {
        let checked = heap.check_device(&self.shared);
        let checked = checked.and_then(|()| heap.desc.check_ranged(self.queue, query));
        let checked = checked.and_then(|()| self.begun.end(heap.desc.kind, heap.number(), query));
        self.record(checked, |list, ()| {
            // SAFETY: the command buffer is open, and the query has begun in it.
            unsafe { list.shared.api.device.cmd_end_query(list.buffer, heap.pool, query) };
        });
    }

    /// Ends the queries that were left begun: a command buffer that is closed has none.
    pub(crate) fn end_begun(&mut self) {
        for (pool, query) in self.begun.take() {
            let pool = <vk::QueryPool as vk::Handle>::from_raw(pool);
            // SAFETY: the command buffer is open, and the query has begun in it.
            unsafe { self.shared.api.device.cmd_end_query(self.buffer, pool, query) };
            self.keep_error(Err(DeviceError::invalid_value(CallRule::QueryEnded, query)));
        }
    }

    /// The results go to the buffer, and the queries are reset: a reset comes after the commands before it
    /// that name its queries, without a barrier.
    pub(crate) fn resolve(
        &mut self,
        heap: &QueryHeap,
        (first, count): (u32, u32),
        (dst, offset): (&Resource, u64),
    ) {
        let checked = self.check_resolve(heap, (first, count), (dst, offset));
        self.record(checked, |list, buffer| {
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
            let (device, stride) = (&list.shared.api.device, heap.desc.kind.result_bytes());
            // SAFETY: the command buffer is open, of a queue with shaders; the queries are inside the pool, and
            // their results inside the buffer.
            unsafe {
                device.cmd_copy_query_pool_results(
                    list.buffer,
                    heap.pool,
                    first,
                    count,
                    buffer,
                    offset,
                    stride,
                    flags,
                );
                device.cmd_reset_query_pool(list.buffer, heap.pool, first, count);
            }
        });
    }

    fn check_resolve(
        &self,
        heap: &QueryHeap,
        (first, count): (u32, u32),
        (dst, offset): (&Resource, u64),
    ) -> Result<vk::Buffer, DeviceError> {
        heap.check_device(&self.shared)?;
        dst.check_device(&self.shared)?;
        heap.desc.check_use(self.queue, first, count)?;
        let (buffer, info) = dst.as_buffer()?;
        heap.desc.check_results(count, offset, info.size)?;
        check_usage(dst, Usage::COPY_DST)?;
        Ok(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_for_copies_have_no_timestamps() {
        let family = |bits| Family {
            flags: vk::QueueFlags::empty(),
            queues: 1,
            transfer_granularity: [1; 3],
            timestamp_bits: bits,
        };
        let found = limits(
            &vk::PhysicalDeviceLimits { timestamp_period: 52.083_332, ..Default::default() },
            &vk::PhysicalDeviceFeatures { pipeline_statistics_query: vk::TRUE, ..Default::default() },
            [
                (QueueKind::Graphics, family(36)),
                (QueueKind::Compute, family(0)),
                (QueueKind::Copy, family(64)),
            ]
            .into_iter(),
        );
        let bits: Vec<_> = found.timestamps.iter().map(|clock| clock.bits).collect();
        assert_eq!(bits, [36, 0, 0]);
        assert_eq!(found.timestamps[0].femtoseconds, 52_083_332);
        assert!(found.pipeline_statistics && !found.precise_occlusion);
    }
}
