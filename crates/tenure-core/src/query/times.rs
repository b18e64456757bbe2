//! GPU times of named scopes, which appear in the statistics.

use super::pool::QueryStore;
use super::recorded::{RecordedQueries, Slot};
use crate::Name;
use crate::device::{Device, Properties, QueueId, QueueSerial};
use crate::time::{Clock, RecordingId};

/// Maximum number of recordings with pending times.
const MOST_PENDING: usize = 1024;

/// Maximum number of times in the statistics.
const MOST_TIMES: usize = 1 << 14;

/// The GPU time of a scope: see [`Commands::begin_gpu_time`](crate::Commands::begin_gpu_time).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GpuTime {
    /// Name of the scope.
    pub name: String,
    /// Number of the last begun frame at the begin of the scope; 0 before the first frame.
    pub frame: u64,
    /// Index of the queue.
    pub queue: u8,
    /// Nesting depth: number of enclosing scopes of the same recording.
    pub depth: u32,
    /// Nanoseconds.
    pub nanoseconds: u64,
}

/// An open scope whose GPU time is measured: [`Commands::end_gpu_time`](crate::Commands::end_gpu_time) ends it, or the end of
/// its recording, if that comes first.
#[derive(Debug)]
#[must_use = "the scope ends with its recording otherwise"]
pub struct GpuTimeScope {
    pub(crate) recording: RecordingId,
    /// Index among the recording's scopes; out of range if the queue has no timestamps.
    pub(crate) index: u32,
}

impl GpuTimeScope {
    /// The numbers of the recording and of the scope: plain values for other languages. Pass both to
    /// [`from_raw`](Self::from_raw).
    #[must_use = "the scope ends with its recording otherwise"]
    pub const fn into_raw(self) -> [u64; 2] {
        [self.recording.get(), self.index as u64]
    }

    /// A scope from the values of [`into_raw`](Self::into_raw). Other values are safe: ending a scope that has
    /// not begun, or that has ended, is an error.
    pub const fn from_raw([recording, index]: [u64; 2]) -> Self {
        // An index that is too large belongs to no scope.
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
    /// Begins a scope at a timestamp. Returns its index.
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

    /// Ends a scope at a timestamp.
    pub(crate) fn end_scope(&mut self, index: u32, end: Slot) {
        if let Some(scope) = self.scopes.get_mut(index as usize) {
            scope.end = Some(end);
            self.open_scopes = self.open_scopes.saturating_sub(1);
        }
    }

    /// Begins a scope on a queue without timestamps. Returns its index among such scopes.
    pub(crate) fn begin_unmeasured(&mut self) -> u32 {
        let index = u32::try_from(self.unmeasured.len()).unwrap_or(u32::MAX);
        self.unmeasured.push(true);
        index
    }

    /// Ends a scope on a queue without timestamps. Returns whether it was open.
    pub(crate) fn end_unmeasured(&mut self, index: u32) -> bool {
        self.unmeasured.get_mut(index as usize).is_some_and(std::mem::take)
    }

    /// Whether any scope is open.
    pub(crate) const fn has_open_scopes(&self) -> bool {
        self.open_scopes > 0
    }

    /// Ends all open scopes at one timestamp.
    pub(crate) fn end_scopes(&mut self, end: Slot) {
        self.scopes.iter_mut().for_each(|scope| {
            scope.end.get_or_insert(end);
        });
        self.open_scopes = 0;
    }

    fn ticks(&self, slot: Slot) -> Option<u64> {
        Some(self.chunk(slot)?.read(slot.query).ok()?[0])
    }

    /// The times of its scopes. The submission must be complete.
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

/// An arrived time; its name is converted to text when the statistics are requested.
struct Arrived {
    name: Name,
    frame: u64,
    queue: QueueId,
    depth: u32,
    nanoseconds: u64,
}

/// The pending and the arrived times.
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

    /// Ends a frame: its statistics contain the times that arrived since the last end of a frame.
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

    /// The times in the last frame's statistics, and the number of discarded ones so far.
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
