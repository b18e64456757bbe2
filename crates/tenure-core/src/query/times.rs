//! GPU times of named scopes, which arrive in the statistics.

use super::pool::QueryStore;
use super::recorded::{RecordedQueries, Slot};
use crate::Name;
use crate::device::{Device, Properties, QueueId, QueueSerial};
use crate::time::{Clock, RecordingId};

/// The most recordings whose times are waited for.
const MOST_PENDING: usize = 1024;

/// The most times that the statistics hold.
const MOST_TIMES: usize = 1 << 14;

/// How long the GPU took for a scope: see [`Commands::begin_gpu_time`](crate::Commands::begin_gpu_time).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GpuTime {
    /// The scope.
    pub name: String,
    /// The frame that had begun last when the scope began; 0 before the first frame.
    pub frame: u64,
    /// The queue, as an index.
    pub queue: u8,
    /// How many scopes of the same recording it is inside of.
    pub depth: u32,
    /// Nanoseconds.
    pub nanoseconds: u64,
}

/// A scope whose GPU time is measured: [`Commands::end_gpu_time`](crate::Commands::end_gpu_time) ends it, and
/// the end of its recording, if that comes first.
#[derive(Debug)]
#[must_use = "the scope ends with its recording otherwise"]
pub struct GpuTimeScope {
    pub(crate) recording: RecordingId,
    /// Of the recording's scopes; beyond them where the queue has no timestamps.
    pub(crate) index: u32,
}

impl GpuTimeScope {
    /// The number of the recording, and of the scope in it: plain values for other languages. Give both to
    /// [`from_raw`](Self::from_raw).
    #[must_use = "the scope ends with its recording otherwise"]
    pub const fn into_raw(self) -> [u64; 2] {
        [self.recording.get(), self.index as u64]
    }

    /// A scope from the values of [`into_raw`](Self::into_raw). Other values are safe: ending a scope that has
    /// not begun, or that has ended, is an error.
    pub const fn from_raw([recording, index]: [u64; 2]) -> Self {
        // An index that is too large is that of no scope.
        let index = if index > u32::MAX as u64 { u32::MAX - 1 } else { index as u32 };
        Self { recording: RecordingId::from_raw(recording), index }
    }
}

/// A scope of a recording.
pub(super) struct Scope {
    name: Name,
    frame: u64,
    depth: u32,
    begin: Slot,
    end: Option<Slot>,
}

impl<D: Device> RecordedQueries<D> {
    /// A scope begins at a timestamp; its index.
    pub(crate) fn begin_scope(&mut self, name: Name, frame: u64, begin: Slot) -> u32 {
        let index = u32::try_from(self.scopes.len()).unwrap_or(u32::MAX);
        self.scopes.push(Scope { name, frame, depth: self.open_scopes, begin, end: None });
        self.open_scopes += 1;
        index
    }

    /// Whether a scope has begun and not ended.
    pub(crate) fn is_open(&self, index: u32) -> bool {
        self.scopes.get(index as usize).is_some_and(|scope| scope.end.is_none())
    }

    /// A scope ends at a timestamp.
    pub(crate) fn end_scope(&mut self, index: u32, end: Slot) {
        if let Some(scope) = self.scopes.get_mut(index as usize) {
            scope.end = Some(end);
            self.open_scopes = self.open_scopes.saturating_sub(1);
        }
    }

    /// Whether scopes have not ended.
    pub(crate) const fn has_open_scopes(&self) -> bool {
        self.open_scopes > 0
    }

    /// Ends all scopes that have not ended at one timestamp.
    pub(crate) fn end_scopes(&mut self, end: Slot) {
        self.scopes.iter_mut().for_each(|scope| {
            scope.end.get_or_insert(end);
        });
        self.open_scopes = 0;
    }

    fn ticks(&self, slot: Slot) -> Option<u64> {
        Some(self.chunk(slot)?.read(slot.query).ok()?[0])
    }

    /// The times of its scopes. The submission is complete.
    fn times(&self, properties: &Properties, queue: QueueId) -> impl Iterator<Item = Arrived> {
        let clock = properties.timestamp_clock(queue);
        self.scopes.iter().filter_map(move |scope| {
            let ticks = clock.ticks_between(self.ticks(scope.begin)?, self.ticks(scope.end?)?);
            Some(Arrived {
                name: scope.name.clone(),
                frame: scope.frame,
                queue,
                depth: scope.depth,
                nanoseconds: clock.nanoseconds(ticks),
            })
        })
    }
}

/// A submitted recording with scopes.
pub(super) struct PendingTimes<D: Device> {
    pub(super) at: QueueSerial,
    pub(super) recorded: Box<RecordedQueries<D>>,
}

/// A time that has arrived; its name is made a text when the statistics are asked for.
struct Arrived {
    name: Name,
    frame: u64,
    queue: QueueId,
    depth: u32,
    nanoseconds: u64,
}

/// The times that are waited for, and those that have arrived.
pub(crate) struct GpuTimes<D: Device> {
    pending: Vec<PendingTimes<D>>,
    arrived: Vec<Arrived>,
    lost: u64,
}

impl<D: Device> Default for GpuTimes<D> {
    fn default() -> Self {
        Self { pending: Vec::new(), arrived: Vec::new(), lost: 0 }
    }
}

impl<D: Device> GpuTimes<D> {
    pub(super) fn add(&mut self, pending: PendingTimes<D>, store: &QueryStore<D>) {
        if self.pending.len() == MOST_PENDING {
            let oldest = self.pending.remove(0);
            self.lost += oldest.recorded.scopes.len() as u64;
            oldest.recorded.keep(store);
        }
        self.pending.push(pending);
    }

    /// A frame has ended: its statistics have the times that arrived since the last one did.
    pub(crate) fn end_frame(&mut self, store: &QueryStore<D>, clock: &Clock, properties: &Properties) {
        self.arrived.clear();
        if self.pending.is_empty() {
            return;
        }
        let completed = clock.completed();
        let is_done = |pending: &mut PendingTimes<D>| pending.at.serial <= completed.serial(pending.at.queue);
        for PendingTimes { at, recorded } in self.pending.extract_if(.., is_done) {
            let left = MOST_TIMES - self.arrived.len();
            self.lost += recorded.scopes.len().saturating_sub(left) as u64;
            self.arrived.extend(recorded.times(properties, at.queue).take(left));
            recorded.keep(store);
        }
    }

    /// The times of the last frame's statistics, and those that were lost so far.
    pub(crate) fn last(&self) -> (Vec<GpuTime>, u64) {
        let shown = self.arrived.iter().map(|time| GpuTime {
            name: time.name.as_str().to_owned(),
            frame: time.frame,
            queue: time.queue.0,
            depth: time.depth,
            nanoseconds: time.nanoseconds,
        });
        (shown.collect(), self.lost)
    }

    pub(super) fn clear(&mut self) {
        self.pending.clear();
    }
}
