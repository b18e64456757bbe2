//! The bytes of an upload ring, and the frames that hold them.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tenure_suballoc::Ring;

use crate::time::{Clock, Recordings, Stamp, SyncPoint};

/// A frame of a ring: what was allocated between two closes.
#[derive(Debug)]
struct Mark {
    /// The newest recording that may use its bytes.
    tag: u64,
    /// When its first byte may have been given out: submissions before that do not use it.
    opened: Stamp,
    /// What must be complete before its bytes may be overwritten; known once no recording that may
    /// use them is open.
    point: Option<SyncPoint>,
}

/// What keeps the oldest bytes of a full ring from being overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Oldest {
    /// The GPU: this must be complete.
    Submitted(SyncPoint),
    /// A recording that is still open.
    Recording,
}

/// What an [`UploadRing`](crate::UploadRing) has been through. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingStats {
    /// Its size.
    pub capacity: u64,
    /// Held by frames now, with padding and what was skipped at the end.
    pub used: u64,
    /// The most ever held at once.
    pub peak_used: u64,
    /// Frames that hold bytes now, besides the one being recorded.
    pub frames: u64,
    /// Allocations ever made, those with a buffer of their own included.
    pub allocations: u64,
    /// Bytes ever allocated, likewise.
    pub bytes: u64,
    /// Times that an allocation had to wait for a frame.
    pub waits: u64,
    /// Nanoseconds spent in those waits.
    pub waited_ns: u64,
    /// Allocations that were too large and got a buffer of their own.
    pub dedicated: u64,
}

/// A ring of bytes with the frames that hold them, in the order in which they were closed.
#[derive(Debug)]
pub(crate) struct RingFrames {
    ring: Ring<()>,
    /// A mark for each closed frame of the ring. The first `dated` marks have sync points.
    marks: VecDeque<Mark>,
    dated: usize,
    /// When the frame that is open began.
    opened: Stamp,
    pub(crate) stats: RingStats,
}

impl RingFrames {
    pub(crate) fn new(capacity: u64, opened: Stamp) -> Self {
        let stats = RingStats { capacity, ..RingStats::default() };
        Self { ring: Ring::new(capacity), marks: VecDeque::new(), dated: 0, opened, stats }
    }

    /// Bytes for the open frame at a multiple of `align`; `None` when they do not fit now.
    #[inline]
    pub(crate) fn allocate(&mut self, size: u64, align: u64) -> Option<u64> {
        let offset = self.ring.allocate(size, align)?;
        self.stats.allocations += 1;
        self.stats.bytes += size;
        self.stats.peak_used = self.stats.peak_used.max(self.ring.used());
        Some(offset)
    }

    /// Ends the frame that is open, and frees those that the GPU is known to be done with.
    pub(crate) fn close(&mut self, recordings: &Recordings, clock: &Clock) {
        let (tag, next) = (recordings.newest(), clock.stamp());
        if self.ring.close(()) > 0 {
            self.marks.push_back(Mark { tag, opened: self.opened, point: None });
        }
        self.opened = next;
        self.free(recordings, clock);
    }

    /// Frees the frames that the GPU is known to be done with.
    pub(crate) fn free(&mut self, recordings: &Recordings, clock: &Clock) {
        self.date(recordings, clock);
        let (marks, completed) = (&mut self.marks, clock.completed());
        let is_done = |mark: &Mark| mark.point.is_some_and(|point| point.is_covered_by(&completed));
        let before = marks.len();
        self.ring.release_while(|()| marks.front().is_some_and(is_done) && marks.pop_front().is_some());
        self.dated -= before - marks.len();
    }

    /// Sets the sync points of frames that no open recording can use any more. Tags rise, so these are the oldest
    /// frames without a sync point.
    fn date(&mut self, recordings: &Recordings, clock: &Clock) {
        // The order matters: what is older than `oldest_open` was submitted before that was read,
        // so the serials, read later, include it.
        let oldest_open = recordings.oldest_open();
        while let Some(undated) = self.marks.get_mut(self.dated)
            && undated.tag < oldest_open
        {
            undated.point = Some(clock.submissions().since(undated.opened));
            self.dated += 1;
        }
    }

    /// What to wait for before anything more can be freed.
    pub(crate) fn oldest(&self) -> Oldest {
        match self.marks.front().and_then(|mark| mark.point) {
            Some(point) => Oldest::Submitted(point),
            // Nothing is closed, or what is may still be used.
            None => Oldest::Recording,
        }
    }

    pub(crate) fn stats(&self) -> RingStats {
        RingStats { used: self.ring.used(), frames: self.marks.len() as u64, ..self.stats }
    }
}

/// The rings of a manager, for the end of frames.
#[derive(Default)]
pub(crate) struct Rings {
    /// Set and cleared under the lock: many programs have none, and each purge asks.
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

    /// Ends a frame of every ring. Cost: the rings.
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
