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
    /// How others used them that are not known any more.
    pub(crate) others: State,
    /// Submissions of those.
    pub(crate) waits: SyncPoint,
}

impl<D: Device> Turn<D> {
    /// Nobody had the bytes.
    pub(crate) fn new() -> Self {
        Self { losers: SmallVec::new(), others: State::COMMON, waits: SyncPoint::NONE }
    }

    pub(crate) fn is_first(&self) -> bool {
        self.losers.is_empty() && self.others.is_empty()
    }

    pub(crate) fn add_loser(&mut self, native: &Arc<Native<D>>) {
        if self.losers.iter().all(|known| !Arc::ptr_eq(known, native)) {
            self.losers.push(native.clone());
        }
    }

    fn merge(&mut self, other: &Self) {
        other.losers.iter().for_each(|loser| self.add_loser(loser));
        self.others |= other.others;
        self.waits.merge(&other.waits);
    }
}

/// A resource's share in a heap whose bytes it has only while it is its turn.
pub(crate) struct Seat<D: Device> {
    pub(crate) share: Arc<SharedHeap<D>>,
    /// Others had the bytes, and the resource was not used since.
    is_pending: AtomicBool,
    /// The recording that acquired it: it alone may use it until it is submitted. 0: whoever
    /// acquired it sees to the order.
    acquired_by: AtomicU64,
    turn: Mutex<Turn<D>>,
}

impl<D: Device> Seat<D> {
    pub(crate) fn new(share: Arc<SharedHeap<D>>) -> Self {
        Self {
            share,
            is_pending: AtomicBool::new(false),
            acquired_by: AtomicU64::new(0),
            turn: Mutex::new(Turn::new()),
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
        let mut mine = self.turn.lock();
        if self.is_pending.swap(true, Ordering::Relaxed) {
            mine.merge(&turn);
        } else {
            *mine = turn;
        }
    }

    /// The first use since others had the bytes: what it has to be ordered after.
    pub(crate) fn begin(&self) -> Option<Turn<D>> {
        if !self.is_pending.load(Ordering::Relaxed) {
            return None;
        }
        let mut turn = self.turn.lock();
        self.is_pending.swap(false, Ordering::Relaxed).then(|| std::mem::replace(&mut *turn, Turn::new()))
    }

    /// The recording that began the turn was discarded: the next use begins it anew, after anything.
    pub(crate) fn rewind(&self, submitted: &SyncPoint) {
        let mut turn = self.turn.lock();
        self.is_pending.store(true, Ordering::Relaxed);
        turn.others = State::all();
        turn.waits.merge(submitted);
    }

    /// What whoever takes the bytes has to be ordered after because this resource was to be, and was
    /// not used since.
    pub(crate) fn pass_on(&self, to: &mut Turn<D>) {
        if self.is_pending.load(Ordering::Relaxed) {
            to.merge(&self.turn.lock());
        }
    }
}
