//! Where dropped things land first.

use super::Entry;
use super::pile::Pile;
use super::spares::Spares;
use crate::sync::{Mutex, MutexGuard};

/// Enough that two of the usual handful of threads rarely meet.
#[cfg(not(loom))]
const LANES: usize = 16;
/// Model checking explores every order of every lock: keep them few.
#[cfg(loom)]
const LANES: usize = 1;

#[derive(Debug)]
struct Shelf<T> {
    pile: Pile<T>,
    pushed: u64,
    bytes: u64,
}

/// Alone on its cache lines, so that threads in neighbouring lanes do not slow each other.
#[derive(Debug)]
#[repr(align(128))]
struct Lane<T>(Mutex<Shelf<T>>);

/// Several piles, each behind its own lock; a thread keeps to one as long as nobody else has it.
#[derive(Debug)]
pub(super) struct Inbox<T> {
    lanes: [Lane<T>; LANES],
}

impl<T> Inbox<T> {
    pub(super) fn new() -> Self {
        let lane = |_| Lane(Mutex::new(Shelf { pile: Pile::new(), pushed: 0, bytes: 0 }));
        Self { lanes: std::array::from_fn(lane) }
    }

    #[inline]
    pub(super) fn push(&self, entry: Entry<T>) {
        let mut shelf = self.free_lane();
        shelf.pushed += 1;
        shelf.bytes += entry.bytes;
        shelf.pile.push(entry);
    }

    /// The thread's own lane, or another that nobody holds, or else the wait for its own.
    #[inline]
    fn free_lane(&self) -> MutexGuard<'_, Shelf<T>> {
        let own = home();
        self.lanes[own].0.try_lock().unwrap_or_else(|| self.other_lane(own))
    }

    #[cold]
    fn other_lane(&self, own: usize) -> MutexGuard<'_, Shelf<T>> {
        (1..LANES)
            .find_map(|step| self.lanes[(own + step) % LANES].0.try_lock())
            .unwrap_or_else(|| self.lanes[own].0.lock())
    }

    /// Hands out every pile that is not empty, and puts a spare one in its place. What is pushed
    /// meanwhile may or may not be among them.
    pub(super) fn drain(&self, spares: &mut Spares<T>, mut take: impl FnMut(Pile<T>, &mut Spares<T>)) {
        for lane in &self.lanes {
            let mut shelf = lane.0.lock();
            if !shelf.pile.is_empty() {
                let pile = std::mem::replace(&mut shelf.pile, spares.take());
                drop(shelf);
                take(pile, spares);
            }
        }
    }

    /// Entries and bytes ever pushed.
    pub(super) fn pushed(&self) -> (u64, u64) {
        self.lanes.iter().fold((0, 0), |(pushed, bytes), lane| {
            let shelf = lane.0.lock();
            (pushed + shelf.pushed, bytes + shelf.bytes)
        })
    }

    /// Bytes of the entries that wait for a recording with this number or a higher one.
    pub(super) fn bytes_tagged_from(&self, recording: u64) -> u64 {
        let tagged = |lane: &Lane<T>| {
            let shelf = lane.0.lock();
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
