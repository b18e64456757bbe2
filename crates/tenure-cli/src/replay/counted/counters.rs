//! The counters of a [`Counted`](super::Counted) device.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::super::meter::Meter;

/// The kinds of objects whose live number is counted.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Heap,
    Resource,
    List,
}

const KINDS: usize = 3;

/// Objects that were created and not destroyed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Heaps.
    pub heaps: u64,
    /// Buffers and textures.
    pub resources: u64,
    /// Command lists.
    pub lists: u64,
}

/// Each counter is exact; two counters read one after the other may be inconsistent while other threads
/// change them.
#[derive(Debug, Default)]
pub(super) struct Counters {
    reserved: AtomicU64,
    peak: AtomicU64,
    allocations: AtomicU64,
    creates: AtomicU64,
    destroys: AtomicU64,
    nanoseconds: AtomicU64,
    live: [AtomicU64; KINDS],
}

impl Counters {
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

    pub(super) fn allocated(&self, bytes: u64) {
        self.allocations.fetch_add(1, Relaxed);
        let before = self.reserved.fetch_add(bytes, Relaxed);
        self.peak.fetch_max(before.saturating_add(bytes), Relaxed);
    }

    pub(super) fn given_back(&self, bytes: u64) {
        self.reserved.fetch_sub(bytes, Relaxed);
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

    /// The counters at this moment; [`cost_ns`](Meter::cost_ns) is measured.
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

    /// The live objects at this moment.
    pub fn live(&self) -> Live {
        let of = |kind: Kind| self.0.live[kind as usize].load(Relaxed);
        Live { heaps: of(Kind::Heap), resources: of(Kind::Resource), lists: of(Kind::List) }
    }
}
