//! The release queue: keeps dropped items until the GPU has finished with them.

mod batches;
mod holds;
mod stages;

use smallvec::SmallVec;

use super::{Clock, OpenRecording, Recordings, Stamp, SyncPoint};
use crate::sync::Mutex;
pub use batches::Batch;
use batches::{Inbox, SpareBatches};
pub use holds::{HeldItems, Holder};
use stages::{PendingPerQueue, ResolvedBatch, ResolvingWaits, Waiting};

#[doc(hidden)]
/// Batches returned by a reclaim. One for each lane of the inbox needs no allocation.
pub type Batches<T> = SmallVec<[Batch<T>; 16]>;

/// An item to be released, with the data that determines the time of its release.
#[derive(Debug)]
struct Entry<T> {
    item: T,
    /// The number of the newest recording that may use the item; 0 if none may.
    tag: u64,
    /// Stamp of the item's creation: earlier submissions do not use it.
    born: Stamp,
    /// Bytes of memory held by the item, for statistics.
    bytes: u64,
}

/// Counts of a [`ReleaseQueue`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReleaseStats {
    /// Entries ever pushed.
    pub pushed: u64,
    /// Entries ever released.
    pub released: u64,
    /// Bytes held by entries that are still queued.
    pub pending_bytes: u64,
}

impl ReleaseStats {
    /// Entries still queued.
    #[must_use]
    pub const fn pending(&self) -> u64 {
        self.pushed - self.released
    }
}

/// A forced reclaim was refused, because the GPU or a recording may still use the items.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not idle: {incomplete_submissions} submissions are incomplete, {open_recordings} recordings open")]
pub struct NotIdle {
    /// Submissions, on all queues, that are not known to be complete.
    pub incomplete_submissions: u64,
    /// Recordings still open.
    pub open_recordings: usize,
}

/// Entries that were pushed with their own sync point.
#[derive(Debug)]
struct Explicit<T> {
    entries: Vec<(Entry<T>, SyncPoint)>,
    pushed: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Stages<T> {
    /// Entries that an open recording may use.
    waiting: Waiting<T>,
    resolving_waits: ResolvingWaits<T>,
    /// Entries that only submissions may use; they wait for queues.
    pending: PendingPerQueue<T>,
    spares: SpareBatches<T>,
    released: u64,
    released_bytes: u64,
}

impl<T> Stages<T> {
    fn note_released(&mut self, batches: &[Batch<T>]) {
        self.released += batches.iter().map(|batch| batch.len() as u64).sum::<u64>();
        self.released_bytes = batches.iter().map(Batch::bytes).fold(self.released_bytes, u64::wrapping_add);
    }
}

/// Keeps dropped items until they are no longer in use.
///
/// # When to use it
/// Dropping is one short push from any thread. A reclaim processes only the items dropped since the last reclaim and the items it
/// releases, independent of the number of live or waiting items. An item that waits for a slow queue delays no other item. The
/// downside: an item waits for each queue with submissions since the item's creation, even if that queue never used it, because
/// the program does not report which queues use an item.
///
/// # Algorithm
/// 1. [`push`](Self::push) stores the newest open recording with the entry and puts it into one of several inboxes, so that
///    threads rarely contend.
/// 2. A reclaim empties the inboxes. An entry whose recordings are all closed is *resolved*: it must outlive the newest
///    submission of each queue that has submitted since the item was created. The other entries wait, sorted by their newest
///    recording.
/// 3. Resolved entries that must outlive the same submissions form a batch. It waits for the first queue that has not completed
///    its serial, in a heap of that queue ordered by serial. When the serial completes, the batch moves on to the next such
///    queue or is released: at most one move for each queue.
///
/// # Efficiency
/// `push`: O(1), an uncontended lock, no allocation in steady state. Reclaim: O(dropped + released)
/// plus O(log batches) for each batch.
///
/// # Origin
/// The two stages of waiting are Diligent Engine's, whose reclaim stops at the oldest entry. Resolving by open recordings is
/// epoch-based reclamation (Fraser, 2004) with recordings as the critical sections.
#[derive(Debug)]
pub struct ReleaseQueue<T> {
    inbox: Inbox<T>,
    explicit: Mutex<Explicit<T>>,
    stages: Mutex<Stages<T>>,
}

impl<T> Default for ReleaseQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ReleaseQueue<T> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            inbox: Inbox::new(),
            explicit: Mutex::new(Explicit { entries: Vec::new(), pushed: 0, bytes: 0 }),
            stages: Mutex::new(Stages {
                waiting: Waiting::new(),
                resolving_waits: ResolvingWaits::new(),
                pending: PendingPerQueue::new(),
                spares: SpareBatches::new(),
                released: 0,
                released_bytes: 0,
            }),
        }
    }

    /// Queues an item that only the recordings open now and earlier submissions can use. `born` is the stamp of its creation,
    /// `bytes` the memory it holds.
    #[inline]
    pub fn push(&self, recordings: &Recordings, item: T, born: Stamp, bytes: u64) {
        self.inbox.push(Entry { item, tag: recordings.newest(), born, bytes });
    }

    /// Queues an item without any use on the GPU: it was never passed to a recording or a submission, and its GPU address or
    /// descriptor was never exposed. The next reclaim releases it, independent of open recordings and submissions in flight.
    /// `bytes` is the memory it holds.
    ///
    /// The item must not be passed to a recording on another thread at the same time: the dropping thread must know all earlier
    /// uses.
    #[inline]
    pub fn push_unused(&self, item: T, bytes: u64) {
        self.inbox.push(Entry { item, tag: 0, born: Stamp::LAST, bytes });
    }

    /// Queues an item that must outlive only `point`, which must cover all its uses. `bytes` is the memory it holds.
    pub fn push_after(&self, item: T, point: SyncPoint, bytes: u64) {
        let entry = Entry { item, tag: 0, born: Stamp::default(), bytes };
        let mut explicit = self.explicit.lock();
        explicit.pushed += 1;
        explicit.bytes = explicit.bytes.wrapping_add(bytes);
        explicit.entries.push((entry, point));
    }

    /// Moves exactly the items that are no longer in use, according to `clock`, into `ready`; poll the clock first. Several
    /// threads may reclaim at once.
    pub fn reclaim(&self, recordings: &Recordings, clock: &Clock, ready: &mut Vec<T>) {
        let stages = &mut *self.stages.lock();
        let mut batches = Batches::new();
        self.reclaim_stages(stages, recordings, clock, &mut batches);
        for mut batch in batches.drain(..) {
            batch.take_items(|item| ready.push(item));
            stages.spares.put(batch);
        }
    }

    /// As [`reclaim`](Self::reclaim), in whole batches; return them to [`recycle`](Self::recycle) when they are empty.
    #[doc(hidden)]
    pub fn reclaim_batches(&self, recordings: &Recordings, clock: &Clock, ready: &mut Batches<T>) {
        self.reclaim_stages(&mut self.stages.lock(), recordings, clock, ready);
    }

    /// Keeps empty batches for later items.
    #[doc(hidden)]
    #[inline]
    pub fn recycle(&self, batches: &mut Batches<T>) {
        if batches.is_empty() {
            return;
        }
        let stages = &mut *self.stages.lock();
        batches.drain(..).for_each(|batch| stages.spares.put(batch));
    }

    fn reclaim_stages(
        &self,
        stages: &mut Stages<T>,
        recordings: &Recordings,
        clock: &Clock,
        ready: &mut Batches<T>,
    ) {
        let Stages { waiting, pending, resolving_waits, spares, .. } = stages;
        // The order matters: a recording older than `oldest_open` was submitted before `oldest_open` was read, so the serials,
        // which are read later, include its submission.
        let oldest_open = recordings.oldest_open();
        resolving_waits.take_waiting(waiting, oldest_open);
        self.inbox.drain(spares, |batch, spares| resolving_waits.sort(batch, oldest_open, waiting, spares));
        if !resolving_waits.is_empty() {
            resolving_waits.finish(pending, clock, spares);
        }
        let mut explicit = self.explicit.lock();
        if !explicit.entries.is_empty() {
            for (entry, point) in explicit.entries.drain(..) {
                pending.insert(ResolvedBatch::new(point, entry, spares.take()));
            }
        }
        drop(explicit);
        let before = ready.len();
        pending.take_complete(clock, |batch| ready.push(batch));
        stages.note_released(&ready[before..]);
    }

    /// Moves all items into `ready`, in the order of a reclaim that finds all submissions complete.
    ///
    /// # Errors
    /// [`NotIdle`] unless the device is lost or `clock` knows every submission to be complete and
    /// no recording is open; then nothing moves.
    pub fn reclaim_all(
        &self,
        recordings: &Recordings,
        clock: &Clock,
        ready: &mut Vec<T>,
    ) -> Result<(), NotIdle> {
        let mut batches = Batches::new();
        self.reclaim_all_batches(recordings, clock, &mut batches)?;
        batches.iter_mut().for_each(|batch| batch.take_items(|item| ready.push(item)));
        Ok(())
    }

    /// As [`reclaim_all`](Self::reclaim_all), in whole batches.
    #[doc(hidden)]
    pub fn reclaim_all_batches(
        &self,
        recordings: &Recordings,
        clock: &Clock,
        ready: &mut Batches<T>,
    ) -> Result<(), NotIdle> {
        let open_recordings = recordings.count();
        let lost = clock.loss().is_some();
        if !lost && (open_recordings > 0 || clock.incomplete() > 0) {
            return Err(NotIdle { incomplete_submissions: clock.incomplete(), open_recordings });
        }
        self.reclaim_batches(recordings, clock, ready);
        if lost {
            self.take_everything(ready);
        }
        Ok(())
    }

    fn take_everything(&self, ready: &mut Batches<T>) {
        let stages = &mut *self.stages.lock();
        let before = ready.len();
        stages.pending.take_all(|batch| ready.push(batch));
        stages.waiting.take_all(|batch| ready.push(batch));
        self.inbox.drain(&mut stages.spares, |batch, _| ready.push(batch));
        stages.note_released(&ready[before..]);
    }

    /// [`ReleaseStats::released`] alone, in O(1).
    #[doc(hidden)]
    #[must_use]
    pub fn released(&self) -> u64 {
        self.stages.lock().released
    }

    /// Counts, in O(lanes).
    #[must_use]
    pub fn stats(&self) -> ReleaseStats {
        let stages = self.stages.lock();
        let (mut pushed, mut bytes) = self.inbox.pushed();
        let explicit = self.explicit.lock();
        pushed += explicit.pushed;
        bytes = bytes.wrapping_add(explicit.bytes);
        let pending_bytes = bytes.wrapping_sub(stages.released_bytes);
        ReleaseStats { pushed, released: stages.released, pending_bytes }
    }

    /// The bytes delayed by each open recording: those of the items dropped since it was opened. Cost: proportional to the
    /// entries that wait for recordings.
    #[must_use]
    pub fn held_back(&self, recordings: &Recordings) -> Vec<(OpenRecording, u64)> {
        let stages = self.stages.lock();
        let held = |recording: &OpenRecording| {
            let waiting = stages.waiting.bytes_tagged_from(recording.id.0);
            waiting.wrapping_add(self.inbox.bytes_tagged_from(recording.id.0))
        };
        let open = recordings.list();
        open.into_iter()
            .map(|recording| {
                let bytes = held(&recording);
                (recording, bytes)
            })
            .collect()
    }
}
