//! Heaps of queries: query pools.

use core::fmt;
use std::sync::Arc;

use ash::vk;
use tenure_core::device::{DeviceError, QueryHeapDesc, QueryKind, QueryLimits, QueueKind, TimestampClock};

use crate::loaded::Loaded;
use crate::queue::Family;

/// A query pool: a handle for
/// [`Device::destroy_query_heap`](tenure_core::device::QueryDevice::destroy_query_heap). Dropping it without that
/// leaks the pool.
pub struct QueryHeap {
    loaded: Arc<Loaded>,
    pool: vk::QueryPool,
    desc: QueryHeapDesc,
}

/// Every counter of the contract, in its order, which is that of the bits.
const STATISTICS: vk::QueryPipelineStatisticFlags =
    vk::QueryPipelineStatisticFlags::from_raw((1 << QueryKind::STATISTICS) - 1);

/// A device's query limits, by its properties, the enabled features, and its queues.
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

impl QueryHeap {
    pub(crate) fn create(loaded: &Arc<Loaded>, desc: &QueryHeapDesc) -> Result<Self, DeviceError> {
        loaded.alive()?;
        loaded.tables.properties.check_query_heap(desc)?;
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
        // SAFETY: the device is alive, there is at least one query, and statistics are enabled if requested.
        let pool = unsafe { loaded.api.device.create_query_pool(&info, None) };
        let pool = pool.map_err(|result| loaded.error("vkCreateQueryPool", result))?;
        Ok(Self { loaded: loaded.clone(), pool, desc: *desc })
    }

    /// The pool. Do not destroy it.
    #[must_use]
    pub const fn raw(&self) -> vk::QueryPool {
        self.pool
    }

    /// The description it was created with.
    #[must_use]
    pub const fn desc(&self) -> &QueryHeapDesc {
        &self.desc
    }

    pub(crate) fn destroy(self) {
        // SAFETY: by the contract it is no longer in use.
        unsafe { self.loaded.api.device.destroy_query_pool(self.pool, None) };
    }

    pub(crate) fn number(&self) -> u64 {
        vk::Handle::as_raw(self.pool)
    }

    pub(crate) fn check_device(&self, loaded: &Loaded) -> Result<(), DeviceError> {
        loaded.check_same(&self.loaded)
    }
}

impl fmt::Debug for QueryHeap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.pool, self.desc)
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
