//! The counters of a [`Counted`](super::Counted) device.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use tenure::device::MemoryTypeId;

use super::super::meter::Meter;

/// Kinds of objects that are counted while live.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Heap,
    Resource,
    List,
}

const KINDS: usize = 3;

/// Numbers of live objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Heaps.
    pub heaps: u64,
    /// Buffers and textures.
    pub resources: u64,
    /// Command lists.
    pub lists: u64,
}

/// A heap, or the memory of a committed resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverMemory {
    /// Unique on the device, from 1.
    pub id: u64,
    /// Bytes.
    pub bytes: u64,
    /// The memory type.
    pub memory: MemoryTypeId,
    /// Whether it is a heap rather than a committed resource's memory.
    pub is_heap: bool,
}

/// A call that allocated or freed driver memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryCall {
    /// The driver allocated this memory.
    Taken(DriverMemory),
    /// The driver freed this memory.
    GivenBack(DriverMemory),
}

/// Each counter is exact. Two counters read in sequence may be inconsistent if other threads change them between
/// the reads.
#[derive(Debug, Default)]
pub(super) struct Counters {
    reserved: AtomicU64,
    peak: AtomicU64,
    allocations: AtomicU64,
    creates: AtomicU64,
    destroys: AtomicU64,
    nanoseconds: AtomicU64,
    live: [AtomicU64; KINDS],
    /// Calls since the last `take_calls`, if calls are kept.
    calls: Option<Mutex<Vec<MemoryCall>>>,
}

impl Counters {
    /// Counters that keep the memory calls until they are taken.
    pub(super) fn with_calls() -> Self {
        Self { calls: Some(Mutex::default()), ..Self::default() }
    }

    fn note(&self, call: MemoryCall) {
        if let Some(calls) = &self.calls {
            calls.lock().push(call);
        }
    }

    pub(super) fn took(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Relaxed);
    }

    pub(super) fn created(&self) {
        self.creates.fetch_add(1, Relaxed);
    }

    pub(super) fn destroyed(&self) {
        self.destroys.fetch_add(1, Relaxed);
    }

    pub(super) fn allocated(&self, bytes: u64, memory: MemoryTypeId, is_heap: bool) -> DriverMemory {
        let id = self.allocations.fetch_add(1, Relaxed) + 1;
        let before = self.reserved.fetch_add(bytes, Relaxed);
        self.peak.fetch_max(before.saturating_add(bytes), Relaxed);
        let memory = DriverMemory { id, bytes, memory, is_heap };
        self.note(MemoryCall::Taken(memory));
        memory
    }

    pub(super) fn given_back(&self, memory: DriverMemory) {
        self.reserved.fetch_sub(memory.bytes, Relaxed);
        self.note(MemoryCall::GivenBack(memory));
    }

    pub(super) fn live(&self, kind: Kind) {
        self.live[kind as usize].fetch_add(1, Relaxed);
    }

    pub(super) fn gone(&self, kind: Kind) {
        self.live[kind as usize].fetch_sub(1, Relaxed);
    }
}

/// Reads the counters of a [`Counted`](super::Counted) device. It holds no reference to the device.
#[derive(Clone, Debug)]
pub struct Gauge(Arc<Counters>);

impl Gauge {
    pub(super) const fn new(counters: Arc<Counters>) -> Self {
        Self(counters)
    }

    /// The current counters; [`cost_ns`](Meter::cost_ns) is measured.
    pub fn meter(&self) -> Meter {
        let Counters { reserved, peak, allocations, creates, destroys, nanoseconds, .. } = &*self.0;
        Meter {
            reserved_bytes: reserved.load(Relaxed),
            peak_reserved_bytes: peak.load(Relaxed),
            allocations: allocations.load(Relaxed),
            creates: creates.load(Relaxed),
            destroys: destroys.load(Relaxed),
            cost_ns: nanoseconds.load(Relaxed),
        }
    }

    /// The memory calls since the last call of this function, oldest first. Empty if the device does [not keep
    /// them](super::Counted::with_calls).
    pub fn take_calls(&self) -> Vec<MemoryCall> {
        self.0.calls.as_ref().map(|calls| std::mem::take(&mut *calls.lock())).unwrap_or_default()
    }

    /// The current numbers of live objects.
    pub fn live(&self) -> Live {
        let of = |kind: Kind| self.0.live[kind as usize].load(Relaxed);
        Live { heaps: of(Kind::Heap), resources: of(Kind::Resource), lists: of(Kind::List) }
    }
}
