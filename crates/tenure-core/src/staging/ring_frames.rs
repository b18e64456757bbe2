//! The bytes of an upload ring, and the frames that hold them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tenure_suballoc::Ring;

use crate::time::{Clock, Recordings, Stamp, SyncPoint};

/// A frame of a ring: the allocations between two closes.
#[derive(Debug)]
struct Mark {
    /// The newest recording that may use its bytes.
    tag: u64,
    /// Stamp of its first allocation: earlier submissions do not use it.
    opened: Stamp,
    /// The sync point before its bytes may be overwritten; known once no open recording may use them.
    point: Option<SyncPoint>,
}

/// The reason why the oldest bytes of a full ring cannot be overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Oldest {
    /// The GPU: this sync point must be complete.
    Submitted(SyncPoint),
    /// A recording that is still open.
    Recording,
}

/// Statistics of an [`UploadRing`](crate::UploadRing). Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingStats {
    /// The size.
    pub capacity: u64,
    /// Bytes held by frames, with padding and the bytes skipped at the end.
    pub used: u64,
    /// Peak of `used`.
    pub peak_used: u64,
    /// Frames that hold bytes, in addition to the one being recorded.
    pub frames: u64,
    /// Allocations ever made, including dedicated ones.
    pub allocations: u64,
    /// Bytes ever allocated, including dedicated ones.
    pub bytes: u64,
    /// Number of waits of allocations for a frame.
    pub waits: u64,
    /// Nanoseconds spent in those waits.
    pub waited_ns: u64,
    /// Allocations that were too large for the ring and got a dedicated buffer.
    pub dedicated: u64,
}

/// A ring of bytes with the frames that hold them, in the order in which they were closed.
#[derive(Debug)]
pub(crate) struct RingFrames {
    ring: Ring<()>,
    /// A mark for each closed frame of the ring. The first `dated` marks have sync points.
    marks: VecDeque<Mark>,
    dated: usize,
    /// Stamp of the beginning of the open frame.
    opened: Stamp,
    pub(crate) stats: RingStats,
}

impl RingFrames {
    pub(crate) fn new(capacity: u64, opened: Stamp) -> Self {
        let stats = RingStats { capacity, ..RingStats::default() };
        Self { ring: Ring::new(capacity), marks: VecDeque::new(), dated: 0, opened, stats }
    }

    /// Allocates bytes for the open frame at a multiple of `align`; `None` when they do not fit now.
    #[inline]
    pub(crate) fn allocate(&mut self, size: u64, align: u64) -> Option<u64> {
        let offset = self.ring.allocate(size, align)?;
        self.stats.allocations += 1;
        self.stats.bytes += size;
        self.stats.peak_used = self.stats.peak_used.max(self.ring.used());
        Some(offset)
    }

    /// Closes the open frame, and frees the frames that the GPU is known to have finished.
    pub(crate) fn close(&mut self, recordings: &Recordings, clock: &Clock) {
        let (tag, next) = (recordings.newest(), clock.stamp());
        if self.ring.close(()) > 0 {
            self.marks.push_back(Mark { tag, opened: self.opened, point: None });
        }
        self.opened = next;
        self.free(recordings, clock);
    }

    /// Frees the frames that the GPU is known to have finished.
    pub(crate) fn free(&mut self, recordings: &Recordings, clock: &Clock) {
        self.date(recordings, clock);
        let (marks, completed) = (&mut self.marks, clock.completed());
        let is_done = |mark: &Mark| mark.point.is_some_and(|point| point.is_covered_by(&completed));
        let before = marks.len();
        self.ring.release_while(|()| marks.front().is_some_and(is_done) && marks.pop_front().is_some());
        self.dated -= before - marks.len();
    }

    /// Sets the sync points of frames that no open recording can use any more. Tags increase, so these are the oldest frames
    /// without a sync point.
    fn date(&mut self, recordings: &Recordings, clock: &Clock) {
        // The order matters: recordings older than `oldest_open` were submitted before that was read, so the serials, read
        // later, include them.
        let oldest_open = recordings.oldest_open();
        while let Some(undated) = self.marks.get_mut(self.dated)
            && undated.tag < oldest_open
        {
            undated.point = Some(clock.submissions().since(undated.opened));
            self.dated += 1;
        }
    }

    /// The condition for freeing more frames.
    pub(crate) fn oldest(&self) -> Oldest {
        match self.marks.front().and_then(|mark| mark.point) {
            Some(point) => Oldest::Submitted(point),
            // No frame is closed, or open recordings may use the oldest one.
            None => Oldest::Recording,
        }
    }

    pub(crate) fn stats(&self) -> RingStats {
        RingStats { used: self.ring.used(), frames: self.marks.len() as u64, ..self.stats }
    }
}

/// The rings of a manager, closed at the end of frames.
#[derive(Default)]
pub(crate) struct Rings {
    /// Set and cleared under the lock: many programs have no ring, and each reclaim checks it.
    has_some: AtomicBool,
    rings: Mutex<Vec<Weak<Mutex<RingFrames>>>>,
}

impl Rings {
    pub(crate) fn add(&self, ring: &Arc<Mutex<RingFrames>>) {
        let mut rings = self.rings.lock();
        if rings.len() == rings.capacity() {
            // A program may create and drop rings without ending frames.
            rings.retain(|ring| ring.strong_count() > 0);
        }
        rings.push(Arc::downgrade(ring));
        self.has_some.store(true, Ordering::Release);
    }

    /// Ends a frame of every ring. Cost: O(rings).
    pub(crate) fn close(&self, recordings: &Recordings, clock: &Clock) {
        if !self.has_some.load(Ordering::Acquire) {
            return;
        }
        let mut rings = self.rings.lock();
        rings.retain(|ring| {
            let Some(ring) = ring.upgrade() else { return false };
            ring.lock().close(recordings, clock);
            true
        });
        self.has_some.store(!rings.is_empty(), Ordering::Release);
    }
}
