//! Queries and query heaps.

use std::fmt;

use super::{CallRule, DeviceError, QueueId};

/// The quantity measured by a query.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueryKind {
    /// The time at which earlier commands were complete, in ticks of its queue: see [`TimestampClock`].
    Timestamp,
    /// Number of samples that passed the depth and stencil tests.
    Occlusion,
    /// Whether any sample passed them: 0 if none did. Cheaper than the count on some GPUs.
    BinaryOcclusion,
    /// Work done by each stage of the pipeline: [`QueryKind::STATISTICS`] counters.
    PipelineStatistics,
    /// Compacted size of an acceleration structure, in bytes.
    CompactedSize,
}

impl QueryKind {
    /// Number of counters of [`PipelineStatistics`](Self::PipelineStatistics). Both APIs have the same counters, in the same
    /// order: vertices and primitives read, invocations of the vertex shader and of the geometry shader, primitives out of the
    /// geometry shader, primitives into and out of clipping, invocations of the pixel shader, of the hull shader (Vulkan:
    /// patches), of the domain shader and of the compute shader.
    pub const STATISTICS: usize = 11;

    /// Size of a result in bytes: 64-bit integers.
    #[must_use]
    pub const fn result_bytes(self) -> u64 {
        match self {
            Self::Timestamp | Self::Occlusion | Self::BinaryOcclusion | Self::CompactedSize => 8,
            Self::PipelineStatistics => 8 * Self::STATISTICS as u64,
        }
    }

    /// The name of the kind.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Timestamp => "timestamp",
            Self::Occlusion => "occlusion query",
            Self::BinaryOcclusion => "binary occlusion query",
            Self::PipelineStatistics => "query of pipeline statistics",
            Self::CompactedSize => "query of a compacted size",
        }
    }

    /// True for queries over a range of commands, which begin and end.
    #[must_use]
    pub const fn is_ranged(self) -> bool {
        !matches!(self, Self::Timestamp | Self::CompactedSize)
    }
}

impl fmt::Display for QueryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Description of a query heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryHeapDesc {
    /// Kind of its queries.
    pub kind: QueryKind,
    /// The queue of the lists that use them.
    pub queue: QueueId,
    /// Number of queries.
    pub count: u32,
}

/// The clock of a queue's timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimestampClock {
    /// Number of valid bits of a timestamp; the others are 0. 0: the queue has no timestamps.
    pub bits: u32,
    /// Length of a tick in femtoseconds.
    pub femtoseconds: u64,
}

impl TimestampClock {
    /// A clock with this frequency, with 64 valid bits; no timestamps for a frequency of 0.
    #[must_use]
    pub const fn of_frequency(ticks_per_second: u64) -> Self {
        const SECOND: u64 = 1_000_000_000_000_000;
        match SECOND.checked_div(ticks_per_second) {
            Some(femtoseconds) => Self { bits: 64, femtoseconds },
            None => Self { bits: 0, femtoseconds: 0 },
        }
    }

    /// True when the queue has timestamps.
    #[must_use]
    pub const fn is_there(&self) -> bool {
        self.bits > 0
    }

    /// Converts ticks to nanoseconds. Saturates.
    #[must_use]
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let femtoseconds = u128::from(ticks) * u128::from(self.femtoseconds);
        u64::try_from(femtoseconds / 1_000_000).unwrap_or(u64::MAX)
    }

    /// Ticks from one timestamp to a later one, across at most one wrap-around of the counter. 0 when the second timestamp is
    /// the earlier one: differences of more than half of the range are taken as negative.
    #[must_use]
    pub const fn ticks_between(&self, begin: u64, end: u64) -> u64 {
        let mask = match 1_u64.checked_shl(self.bits) {
            Some(beyond) => beyond.wrapping_sub(1),
            None => u64::MAX,
        };
        let ticks = end.wrapping_sub(begin) & mask;
        if ticks > mask / 2 { 0 } else { ticks }
    }
}

/// Query limits of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryLimits {
    /// The clock of each queue, in the order of [`Properties::queues`](super::Properties::queues); queues beyond the end have
    /// none.
    pub timestamps: Vec<TimestampClock>,
    /// True when graphics queues count samples; otherwise they support binary queries only.
    pub precise_occlusion: bool,
    /// True when graphics queues support pipeline statistics.
    pub pipeline_statistics: bool,
    /// True when a command must reset the queries of a new heap before their use:
    /// [`CommandList::reset_queries`](super::CommandList::reset_queries) (Vulkan).
    pub must_reset: bool,
}

impl QueryHeapDesc {
    /// Checks that a list of `queue` may use queries of the heap from `first` on.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`].
    pub fn check_use(&self, queue: QueueId, first: u32, count: u32) -> Result<(), DeviceError> {
        if queue != self.queue {
            return Err(DeviceError::invalid_call(
                CallRule::QueryQueue,
                u64::from(queue.0),
                u64::from(self.queue.0),
            ));
        }
        let end = u64::from(first) + u64::from(count);
        if count == 0 || end > u64::from(self.count) {
            return Err(DeviceError::invalid_call(CallRule::QueryInside, end, self.count));
        }
        Ok(())
    }

    /// Checks that a list of `queue` may write a timestamp at `query`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`].
    pub fn check_timestamp(&self, queue: QueueId, query: u32) -> Result<(), DeviceError> {
        self.check_use(queue, query, 1)?;
        match self.kind {
            QueryKind::Timestamp => Ok(()),
            _ => Err(DeviceError::broken_rule(CallRule::QueryTimestamp)),
        }
    }

    /// Checks that a list of `queue` may begin or end `query`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`].
    pub fn check_ranged(&self, queue: QueueId, query: u32) -> Result<(), DeviceError> {
        self.check_use(queue, query, 1)?;
        if self.kind.is_ranged() { Ok(()) } else { Err(DeviceError::broken_rule(CallRule::QueryRanged)) }
    }

    /// Checks that results may be written to `offset` of a buffer of `capacity` bytes.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`].
    pub fn check_results(&self, count: u32, offset: u64, capacity: u64) -> Result<(), DeviceError> {
        super::check::multiple(CallRule::QueryResultsAligned, offset, 8)?;
        let bytes = u64::from(count) * self.kind.result_bytes();
        super::check::range(CallRule::InsideResource, offset, bytes, capacity)
    }
}

/// The open queries of a list, for the checks of backends: at most one of samples and one of statistics, as Vulkan requires.
#[derive(Clone, Copy, Debug, Default)]
pub struct BegunQueries([Option<(u64, u32)>; 2]);

impl BegunQueries {
    /// The unit of a kind: precise and binary sample counts share one.
    fn unit(&mut self, kind: QueryKind) -> &mut Option<(u64, u32)> {
        let [samples, statistics] = &mut self.0;
        if kind == QueryKind::PipelineStatistics { statistics } else { samples }
    }

    /// Begins a query; `heap` is a unique number of the heap.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] while another query of its unit is open.
    pub fn begin(&mut self, kind: QueryKind, heap: u64, query: u32) -> Result<(), DeviceError> {
        let unit = self.unit(kind);
        if unit.is_some() {
            return Err(DeviceError::invalid_value(CallRule::QueryAlone, query));
        }
        *unit = Some((heap, query));
        Ok(())
    }

    /// Ends a query.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] if it has not begun.
    pub fn end(&mut self, kind: QueryKind, heap: u64, query: u32) -> Result<(), DeviceError> {
        let ended = self.unit(kind).take_if(|begun| *begun == (heap, query));
        ended.map(drop).ok_or_else(|| DeviceError::invalid_value(CallRule::QueryBegun, query))
    }

    /// Removes the open queries. Returns the number of the heap and the query of each.
    pub fn take(&mut self) -> impl Iterator<Item = (u64, u32)> + use<> {
        std::mem::take(&mut self.0).into_iter().flatten()
    }

    /// Closes the list.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for an open query.
    pub fn close(&mut self) -> Result<(), DeviceError> {
        let begun = self.take().next();
        begun.map_or(Ok(()), |(_, query)| Err(DeviceError::invalid_value(CallRule::QueryEnded, query)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_counted_across_the_end_of_the_counter() {
        let clock = TimestampClock { bits: 36, femtoseconds: 52_083_333 };
        let last = (1 << 36) - 1;
        assert_eq!(clock.ticks_between(10, 25), 15);
        assert_eq!(clock.ticks_between(last - 4, 5), 10);
        assert_eq!(clock.ticks_between(25, 10), 0, "the second is the earlier one");
        assert_eq!(clock.nanoseconds(1000), 52_083);
        let whole = TimestampClock { bits: 64, femtoseconds: u64::MAX };
        assert_eq!(whole.ticks_between(u64::MAX, 1), 2);
        assert_eq!(whole.ticks_between(5, 4), 0);
        assert_eq!(whole.nanoseconds(u64::MAX), u64::MAX);
        assert_eq!(TimestampClock::default().ticks_between(0, 1), 0, "without bits nothing counts");
    }

    #[test]
    fn queries_begin_and_end_in_pairs() {
        let mut begun = BegunQueries::default();
        assert!(begun.begin(QueryKind::Occlusion, 1, 0).is_ok());
        assert!(begun.begin(QueryKind::BinaryOcclusion, 2, 0).is_err(), "samples are counted once at a time");
        assert!(begun.begin(QueryKind::PipelineStatistics, 3, 5).is_ok());
        assert!(begun.end(QueryKind::Occlusion, 1, 1).is_err());
        assert!(begun.end(QueryKind::Occlusion, 1, 0).is_ok());
        assert!(begun.end(QueryKind::Occlusion, 1, 0).is_err(), "ended twice");
        assert!(begun.close().is_err());
        assert!(begun.close().is_ok());
    }

    #[test]
    fn a_frequency_makes_a_clock() {
        assert_eq!(TimestampClock::of_frequency(1_000_000_000).nanoseconds(7), 7);
        assert_eq!(TimestampClock::of_frequency(10_000_000).nanoseconds(7), 700);
        assert!(!TimestampClock::of_frequency(0).is_there());
    }
}
