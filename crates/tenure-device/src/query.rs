//! Queries: what the GPU measures, and heaps of them.

use std::fmt;

use super::{CallRule, DeviceError, QueueId};

/// What a query measures.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueryKind {
    /// The time at which the commands before it were done, in ticks of its queue: see [`TimestampClock`].
    Timestamp,
    /// How many samples passed the depth and stencil tests.
    Occlusion,
    /// Whether any sample passed them: 0 if none did. Cheaper than the count on some GPUs.
    BinaryOcclusion,
    /// How much work each stage of the pipeline did: [`QueryKind::STATISTICS`] counters.
    PipelineStatistics,
    /// The bytes that an acceleration structure would take if it were compacted.
    CompactedSize,
}

impl QueryKind {
    /// The number of counters of [`PipelineStatistics`](Self::PipelineStatistics). Both APIs have the same,
    /// in the same order: vertices and primitives read, invocations of the vertex shader and of the geometry
    /// shader, primitives out of the geometry shader, primitives into and out of clipping, invocations of the
    /// pixel shader, of the hull shader (Vulkan: patches), of the domain shader and of the compute shader.
    pub const STATISTICS: usize = 11;

    /// Bytes of a result: numbers of 64 bits.
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

/// A heap of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryHeapDesc {
    /// What its queries measure.
    pub kind: QueryKind,
    /// The queue whose lists use them.
    pub queue: QueueId,
    /// Queries.
    pub count: u32,
}

/// The clock that the timestamps of a queue come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TimestampClock {
    /// Bits of a timestamp that count; the others are 0. 0: the queue has no timestamps.
    pub bits: u32,
    /// Femtoseconds of a tick.
    pub femtoseconds: u64,
}

impl TimestampClock {
    /// A clock of so many ticks a second, all 64 bits of which count; without timestamps if there are none.
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

    /// Nanoseconds of so many ticks. Saturates.
    #[must_use]
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let femtoseconds = u128::from(ticks) * u128::from(self.femtoseconds);
        u64::try_from(femtoseconds / 1_000_000).unwrap_or(u64::MAX)
    }

    /// Ticks from one timestamp to a later one, which may have begun again at 0 in between. 0 when the second
    /// is the earlier one, which is what more than half of all ticks between them are taken for.
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

/// What a device has of queries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryLimits {
    /// The clock of each queue, in the order of [`Properties::queues`](super::Properties::queues); a queue beyond the end has none.
    pub timestamps: Vec<TimestampClock>,
    /// Graphics queues count samples; if not, they have binary queries alone.
    pub precise_occlusion: bool,
    /// Graphics queues have pipeline statistics.
    pub pipeline_statistics: bool,
    /// The queries of a new heap are reset by a command before they are used:
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

    /// Checks that results may be written to `offset` of a buffer of so many bytes.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`].
    pub fn check_results(&self, count: u32, offset: u64, capacity: u64) -> Result<(), DeviceError> {
        super::check::multiple(CallRule::QueryResultsAligned, offset, 8)?;
        let bytes = u64::from(count) * self.kind.result_bytes();
        super::check::range(CallRule::InsideResource, offset, bytes, capacity)
    }
}

/// The queries that a list has begun and not ended, for the checks of backends: at most one of samples and one
/// of statistics, as Vulkan asks.
#[derive(Clone, Copy, Debug, Default)]
pub struct BegunQueries([Option<(u64, u32)>; 2]);

impl BegunQueries {
    /// Counts of samples, precise or not, come from one unit.
    fn unit(&mut self, kind: QueryKind) -> &mut Option<(u64, u32)> {
        let [samples, statistics] = &mut self.0;
        if kind == QueryKind::PipelineStatistics { statistics } else { samples }
    }

    /// A query begins; `heap` is a number that no other heap has.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] while another one of its kind has not ended.
    pub fn begin(&mut self, kind: QueryKind, heap: u64, query: u32) -> Result<(), DeviceError> {
        let unit = self.unit(kind);
        if unit.is_some() {
            return Err(DeviceError::invalid_value(CallRule::QueryAlone, query));
        }
        *unit = Some((heap, query));
        Ok(())
    }

    /// A query ends.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] if it has not begun.
    pub fn end(&mut self, kind: QueryKind, heap: u64, query: u32) -> Result<(), DeviceError> {
        let ended = self.unit(kind).take_if(|begun| *begun == (heap, query));
        ended.map(drop).ok_or_else(|| DeviceError::invalid_value(CallRule::QueryBegun, query))
    }

    /// Forgets those that have not ended: the number of the heap and the query.
    pub fn take(&mut self) -> impl Iterator<Item = (u64, u32)> + use<> {
        std::mem::take(&mut self.0).into_iter().flatten()
    }

    /// The list is closed.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a query that has not ended.
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
