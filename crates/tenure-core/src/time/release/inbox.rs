//! Where dropped things land first.

use super::Entry;
use crate::sync::{Mutex, MutexGuard};

/// Enough that two of the usual handful of threads rarely meet.
#[cfg(not(loom))]
const INBOXES: usize = 16;
/// Model checking explores every order of every lock: keep them few.
#[cfg(loom)]
const INBOXES: usize = 1;

#[derive(Debug)]
struct Shelf<T> {
    entries: Vec<Entry<T>>,
    pushed: u64,
    bytes: u64,
}

/// Alone on its cache lines, so that threads on neighbouring shelves do not slow each other.
#[derive(Debug)]
#[repr(align(128))]
struct Slot<T>(Mutex<Shelf<T>>);

/// Several vectors, each behind its own lock; a thread keeps to one as long as nobody else has it.
#[derive(Debug)]
pub(super) struct Inbox<T> {
    slots: [Slot<T>; INBOXES],
    /// The vector swapped in when a slot is emptied, so that no slot loses its capacity.
    spare: Mutex<Vec<Entry<T>>>,
}

impl<T> Inbox<T> {
    pub(super) fn new() -> Self {
        let slot = |_| Slot(Mutex::new(Shelf { entries: Vec::new(), pushed: 0, bytes: 0 }));
        Self { slots: std::array::from_fn(slot), spare: Mutex::new(Vec::new()) }
    }

    #[inline]
    pub(super) fn push(&self, entry: Entry<T>) {
        let mut shelf = self.free_slot();
        shelf.pushed += 1;
        shelf.bytes += entry.bytes;
        shelf.entries.push(entry);
    }

    /// The thread's own slot, or another that nobody holds, or else the wait for its own.
    #[inline]
    fn free_slot(&self) -> MutexGuard<'_, Shelf<T>> {
        let own = home();
        (0..INBOXES)
            .find_map(|step| self.slots[(own + step) % INBOXES].0.try_lock())
            .unwrap_or_else(|| self.slots[own].0.lock())
    }

    /// Hands out every entry. Pushes made meanwhile may or may not be among them.
    pub(super) fn drain(&self, mut take: impl FnMut(Entry<T>)) {
        let mut spare = self.spare.lock();
        for slot in &self.slots {
            let mut shelf = slot.0.lock();
            if !shelf.entries.is_empty() {
                std::mem::swap(&mut shelf.entries, &mut spare);
                drop(shelf);
                spare.drain(..).for_each(&mut take);
            }
        }
    }

    /// Entries and bytes ever pushed.
    pub(super) fn pushed(&self) -> (u64, u64) {
        self.slots.iter().fold((0, 0), |(pushed, bytes), slot| {
            let shelf = slot.0.lock();
            (pushed + shelf.pushed, bytes + shelf.bytes)
        })
    }

    /// Bytes of the entries that wait for a recording with this number or a higher one.
    pub(super) fn bytes_tagged_from(&self, recording: u64) -> u64 {
        let tagged = |slot: &Slot<T>| {
            let shelf = slot.0.lock();
            shelf.entries.iter().filter(|entry| entry.tag >= recording).map(|entry| entry.bytes).sum::<u64>()
        };
        self.slots.iter().map(tagged).sum()
    }
}

/// The slot that the current thread tries first.
#[cfg(not(loom))]
fn home() -> usize {
    crate::thread_slot::current() % INBOXES
}

#[cfg(loom)]
fn home() -> usize {
    0
}
