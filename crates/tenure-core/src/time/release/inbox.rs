//! Where dropped things land first.

use super::Entry;
use super::pile::Pile;
use super::spares::Spares;
use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

/// Enough that two of the usual handful of threads rarely meet.
#[cfg(not(loom))]
pub(super) const LANES: usize = 16;
/// Model checking explores every order of every lock: keep them few.
#[cfg(loom)]
pub(super) const LANES: usize = 1;

#[derive(Debug)]
struct Shelf<T> {
    pile: Pile<T>,
    pushed: u64,
    bytes: u64,
}

/// Whether there is anything in a lane; set and cleared under its lock.
///
/// Alone on its cache lines: a purge asks each lane, and shall not take the lock's line away from a thread
/// that has dropped nothing since.
#[derive(Debug)]
#[repr(align(128))]
struct HasEntries(AtomicBool);

/// Alone on its cache lines, so that threads in neighbouring lanes do not slow each other.
#[derive(Debug)]
#[repr(align(128))]
struct Lane<T> {
    shelf: Mutex<Shelf<T>>,
    has_entries: HasEntries,
}

impl<T> Lane<T> {
    fn new(lane: usize) -> Self {
        let shelf = Shelf { pile: Pile::of_lane(lane), pushed: 0, bytes: 0 };
        Self { shelf: Mutex::new(shelf), has_entries: HasEntries(AtomicBool::new(false)) }
    }

    #[inline]
    fn push(&self, mut shelf: MutexGuard<'_, Shelf<T>>, entry: Entry<T>) {
        if shelf.pile.is_empty() {
            self.has_entries.0.store(true, Ordering::Release);
        }
        shelf.pushed += 1;
        shelf.bytes += entry.bytes;
        shelf.pile.push(entry);
    }

    /// Whatever was pushed before this was called, by whoever, is in what it hands out, unless another call
    /// has taken it.
    fn take(&self, spare: impl FnOnce() -> Pile<T>) -> Option<Pile<T>> {
        if !self.has_entries.0.load(Ordering::Acquire) {
            return None;
        }
        let mut shelf = self.shelf.lock();
        self.has_entries.0.store(false, Ordering::Release);
        // Another call may have been faster.
        if shelf.pile.is_empty() { None } else { Some(std::mem::replace(&mut shelf.pile, spare())) }
    }
}

/// Several piles, each behind its own lock; a thread keeps to one as long as nobody else has it.
#[derive(Debug)]
pub(super) struct Inbox<T> {
    lanes: [Lane<T>; LANES],
}

impl<T> Inbox<T> {
    pub(super) fn new() -> Self {
        Self { lanes: std::array::from_fn(Lane::new) }
    }

    #[inline]
    pub(super) fn push(&self, entry: Entry<T>) {
        let own = home();
        let lane = &self.lanes[own];
        match lane.shelf.try_lock() {
            Some(shelf) => lane.push(shelf, entry),
            None => self.push_elsewhere(own, entry),
        }
    }

    /// Into another lane that nobody holds, or else the thread's own, when it is free.
    #[cold]
    fn push_elsewhere(&self, own: usize, entry: Entry<T>) {
        let mut others = (1..LANES).map(|step| &self.lanes[(own + step) % LANES]);
        let (lane, shelf) =
            others.find_map(|lane| Some((lane, lane.shelf.try_lock()?))).unwrap_or_else(|| {
                let lane = &self.lanes[own];
                (lane, lane.shelf.lock())
            });
        lane.push(shelf, entry);
    }

    /// Hands out every pile that is not empty, and puts a spare one in its place. What is pushed
    /// meanwhile may or may not be among them.
    pub(super) fn drain(&self, spares: &mut Spares<T>, mut take: impl FnMut(Pile<T>, &mut Spares<T>)) {
        for (number, lane) in self.lanes.iter().enumerate() {
            if let Some(pile) = lane.take(|| spares.take_for(number)) {
                take(pile, spares);
            }
        }
    }

    /// Entries and bytes ever pushed.
    pub(super) fn pushed(&self) -> (u64, u64) {
        self.lanes.iter().fold((0, 0), |(pushed, bytes), lane| {
            let shelf = lane.shelf.lock();
            (pushed + shelf.pushed, bytes + shelf.bytes)
        })
    }

    /// Bytes of the entries that wait for a recording with this number or a higher one.
    pub(super) fn bytes_tagged_from(&self, recording: u64) -> u64 {
        let tagged = |lane: &Lane<T>| {
            let shelf = lane.shelf.lock();
            let entries = shelf.pile.entries().iter().filter(|entry| entry.tag >= recording);
            entries.map(|entry| entry.bytes).sum::<u64>()
        };
        self.lanes.iter().map(tagged).sum()
    }
}

/// The lane that the current thread tries first.
#[cfg(not(loom))]
#[inline]
fn home() -> usize {
    crate::thread_slot::current() % LANES
}

#[cfg(loom)]
fn home() -> usize {
    0
}
