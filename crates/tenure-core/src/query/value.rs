//! Values of queries.

use std::time::Duration;

use crate::device::{QueryKind, TimestampClock};

/// The result type of a query. The trait is sealed.
pub trait QueryValue: sealed::Value {}

mod sealed {
    use super::{QueryKind, TimestampClock};

    pub trait Value: Sized + Send + Sync + 'static {
        const KIND: QueryKind;

        fn of(words: &[u64; QueryKind::STATISTICS], clock: TimestampClock) -> Self;
    }
}

/// The time at which the GPU had finished the earlier commands, from
/// [`Commands::write_timestamp`](crate::Commands::write_timestamp).
///
/// The clock of a queue has an arbitrary origin, and may wrap around. Only the time between two timestamps of one queue is
/// meaningful.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    ticks: u64,
    clock: TimestampClock,
}

impl Timestamp {
    /// The value of the queue's counter.
    #[must_use]
    pub const fn ticks(&self) -> u64 {
        self.ticks
    }

    /// The clock of the ticks.
    #[must_use]
    pub const fn clock(&self) -> TimestampClock {
        self.clock
    }

    /// The time since an earlier timestamp of the same queue, correct across a wrap-around of the counter; zero when the other
    /// one is later.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{Config, Gpu, Queue, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "shadows")?;
    /// let begin = recording.write_timestamp()?;
    /// // … draws …
    /// let end = recording.write_timestamp()?;
    /// recording.submit()?;
    /// let (begin, end) = (begin.wait(Duration::from_secs(1))?, end.wait(Duration::from_secs(1))?);
    /// assert!(end.since(&begin) > Duration::ZERO);
    /// assert_eq!(begin.since(&end), Duration::ZERO);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Duration {
        let ticks = self.clock.ticks_between(earlier.ticks, self.ticks);
        Duration::from_nanos(self.clock.nanoseconds(ticks))
    }
}

impl QueryValue for Timestamp {}

impl sealed::Value for Timestamp {
    const KIND: QueryKind = QueryKind::Timestamp;

    fn of(words: &[u64; QueryKind::STATISTICS], clock: TimestampClock) -> Self {
        Self { ticks: words[0], clock }
    }
}

/// Number of samples that passed the depth and stencil tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SampleCount(pub u64);

impl QueryValue for SampleCount {}

impl sealed::Value for SampleCount {
    const KIND: QueryKind = QueryKind::Occlusion;

    fn of(words: &[u64; QueryKind::STATISTICS], _: TimestampClock) -> Self {
        Self(words[0])
    }
}

/// Whether any sample passed the depth and stencil tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AnySamples(pub bool);

impl QueryValue for AnySamples {}

impl sealed::Value for AnySamples {
    const KIND: QueryKind = QueryKind::BinaryOcclusion;

    fn of(words: &[u64; QueryKind::STATISTICS], _: TimestampClock) -> Self {
        Self(words[0] != 0)
    }
}

/// Compacted size of an acceleration structure in bytes: see
/// [`Commands::query_compacted_size`](crate::Commands::query_compacted_size).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompactedSize(pub u64);

impl QueryValue for CompactedSize {}

impl sealed::Value for CompactedSize {
    const KIND: QueryKind = QueryKind::CompactedSize;

    fn of(words: &[u64; QueryKind::STATISTICS], _: TimestampClock) -> Self {
        Self(words[0])
    }
}

/// Work done by each stage of the pipeline. GPUs count differently: some count skipped work, or batches of invocations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PipelineStatistics {
    /// Vertices read.
    pub vertices: u64,
    /// Primitives read.
    pub primitives: u64,
    /// Invocations of vertex shaders.
    pub vertex_invocations: u64,
    /// Invocations of geometry shaders.
    pub geometry_invocations: u64,
    /// Primitives output by geometry shaders.
    pub geometry_primitives: u64,
    /// Primitives input to clipping.
    pub clipping_invocations: u64,
    /// Primitives output by clipping.
    pub clipping_primitives: u64,
    /// Invocations of pixel shaders.
    pub pixel_invocations: u64,
    /// Invocations of hull shaders; on Vulkan patches of tessellation control shaders.
    pub hull_invocations: u64,
    /// Invocations of domain shaders.
    pub domain_invocations: u64,
    /// Invocations of compute shaders.
    pub compute_invocations: u64,
}

impl QueryValue for PipelineStatistics {}

impl sealed::Value for PipelineStatistics {
    const KIND: QueryKind = QueryKind::PipelineStatistics;

    fn of(words: &[u64; QueryKind::STATISTICS], _: TimestampClock) -> Self {
        Self {
            vertices: words[0],
            primitives: words[1],
            vertex_invocations: words[2],
            geometry_invocations: words[3],
            geometry_primitives: words[4],
            clipping_invocations: words[5],
            clipping_primitives: words[6],
            pixel_invocations: words[7],
            hull_invocations: words[8],
            domain_invocations: words[9],
            compute_invocations: words[10],
        }
    }
}
