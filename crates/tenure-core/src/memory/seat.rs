//! Places that resources take turns in: overlapping ranges of a heap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::device::{Device, State};
use crate::resource::native::Native;
use crate::time::SyncPoint;

/// A heap that seats share; it goes with the last of them.
pub(crate) struct SharedHeap<D: Device> {
    pub(crate) heap: D::Heap,
    pub(crate) size: u64,
}

/// What the first use of a resource has to be ordered after, because others had its bytes.
pub(crate) struct Turn<D: Device> {
    /// The resources that had some of the bytes.
    pub(crate) losers: SmallVec<[Arc<Native<D>>; 2]>,
    /// The seats of those. A recording that used one of them may be discarded as long as the turn has not begun.
    seats: SmallVec<[Arc<Seat<D>>; 2]>,
    /// How others used them that are not known any more.
    pub(crate) others: State,
    /// Submissions of those.
    pub(crate) waits: SyncPoint,
}

impl<D: Device> Turn<D> {
    /// Nobody had the bytes.
    pub(crate) fn new() -> Self {
        Self {
            losers: SmallVec::new(),
            seats: SmallVec::new(),
            others: State::COMMON,
            waits: SyncPoint::NONE,
        }
    }

    pub(crate) fn is_first(&self) -> bool {
        self.losers.is_empty() && self.others.is_empty()
    }

    pub(crate) fn add_loser(&mut self, native: &Arc<Native<D>>, seat: Option<&Arc<Seat<D>>>) {
        if self.losers.iter().all(|known| !Arc::ptr_eq(known, native)) {
            self.losers.push(native.clone());
            self.seats.extend(seat.cloned());
        }
    }

    /// The turn begins: what its losers did in recordings that were discarded orders nothing, so that it comes
    /// after all that was submitted by then.
    fn begin(mut self) -> Self {
        for seat in std::mem::take(&mut self.seats) {
            seat.pass_on(&mut self);
        }
        self
    }
}

/// A resource's share in a heap whose bytes it has only while it is its turn.
pub(crate) struct Seat<D: Device> {
    pub(crate) share: Arc<SharedHeap<D>>,
    /// The next use has something to be ordered after.
    is_pending: AtomicBool,
    /// The recording that acquired it: it alone may use it until it is submitted. 0: whoever
    /// acquired it sees to the order.
    acquired_by: AtomicU64,
    pending: Mutex<Pending<D>>,
}

/// What the next use of a resource has to be ordered after.
struct Pending<D: Device> {
    /// From whom the acquisition at hand took bytes. Empty while nobody has acquired the resource, so that
    /// resources in a cache never keep each other.
    turn: Turn<D>,
    /// A recording that used the resource was discarded: all that was submitted by then.
    discarded: Option<SyncPoint>,
}

impl<D: Device> Pending<D> {
    fn merge_discarded(&self, to: &mut Turn<D>) {
        if let Some(submitted) = &self.discarded {
            to.others = State::all();
            to.waits.merge(submitted);
        }
    }
}

impl<D: Device> Seat<D> {
    pub(crate) fn new(share: Arc<SharedHeap<D>>) -> Self {
        Self {
            share,
            is_pending: AtomicBool::new(false),
            acquired_by: AtomicU64::new(0),
            pending: Mutex::new(Pending { turn: Turn::new(), discarded: None }),
        }
    }

    /// The number of the recording that acquired it; 0: none in particular.
    pub(crate) fn acquired_by(&self) -> u64 {
        self.acquired_by.load(Ordering::Relaxed)
    }

    /// The resource has the bytes from now on.
    pub(crate) fn acquire(&self, by: u64, turn: Turn<D>) {
        self.acquired_by.store(by, Ordering::Relaxed);
        if turn.is_first() {
            return;
        }
        let mut pending = self.pending.lock();
        pending.turn = turn;
        self.is_pending.store(true, Ordering::Relaxed);
    }

    /// The first use since others had the bytes: what it has to be ordered after.
    pub(crate) fn begin(&self) -> Option<Turn<D>> {
        if !self.is_pending.load(Ordering::Relaxed) {
            return None;
        }
        let mut pending = self.pending.lock();
        if !self.is_pending.swap(false, Ordering::Relaxed) {
            return None;
        }
        let mut turn = std::mem::replace(&mut pending.turn, Turn::new());
        pending.merge_discarded(&mut turn);
        pending.discarded = None;
        // One lock at a time: the losers have their own.
        drop(pending);
        Some(turn.begin())
    }

    /// The resource was dropped. True when it took bytes from others and never used them: they are still
    /// those others'.
    pub(crate) fn release(&self) -> bool {
        if !self.is_pending.load(Ordering::Relaxed) {
            return false;
        }
        let mut pending = self.pending.lock();
        let turn = std::mem::replace(&mut pending.turn, Turn::new());
        self.is_pending.store(pending.discarded.is_some(), Ordering::Relaxed);
        !turn.is_first()
    }

    /// The recording that began the turn was discarded: the next use begins it anew, after anything.
    pub(crate) fn rewind(&self, submitted: &SyncPoint) {
        let mut pending = self.pending.lock();
        pending.discarded.get_or_insert(SyncPoint::NONE).merge(submitted);
        self.is_pending.store(true, Ordering::Relaxed);
    }

    /// What whoever takes the bytes has to be ordered after besides the resource's own uses.
    pub(crate) fn pass_on(&self, to: &mut Turn<D>) {
        if self.is_pending.load(Ordering::Relaxed) {
            self.pending.lock().merge_discarded(to);
        }
    }

    /// The heap goes while the resource is somebody's: its next use comes after all that was submitted of
    /// those who had the bytes, and keeps none of them. Their seats stay: a recording that is open may have
    /// used them, and may be discarded.
    pub(crate) fn forget_losers(&self) {
        let Turn { losers, others, waits, .. } = &mut self.pending.lock().turn;
        for loser in losers.drain(..) {
            *others = State::all();
            waits.merge(&loser.states.used());
        }
    }
}
