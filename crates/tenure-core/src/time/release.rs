//! The release queue: what was dropped, until the GPU is done with it (spec T2, T3).

mod dating;
mod inbox;
mod parking;
mod pile;
mod spares;
mod waiting;

use smallvec::SmallVec;

use super::{Clock, OpenRecording, Recordings, Stamp, SyncPoint};
use crate::sync::Mutex;
use dating::Dating;
use inbox::Inbox;
use parking::{Batch, Parking};
pub(crate) use pile::Pile;
use spares::Spares;
use waiting::Waiting;

/// Piles on their way out: as many as there are lanes take no memory.
pub(crate) type Piles<T> = SmallVec<[Pile<T>; 16]>;

/// Something to be released, with what decides when.
#[derive(Debug)]
struct Entry<T> {
    item: T,
    /// The newest recording that may use it.
    tag: u64,
    /// When it was created: submissions before that do not use it.
    born: Stamp,
    /// Memory it holds, for statistics.
    bytes: u64,
}

/// Counts of a [`ReleaseQueue`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReleaseStats {
    /// Entries ever pushed.
    pub pushed: u64,
    /// Entries ever handed out for destruction.
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

/// A forced purge was refused, because the GPU or a recording may still use what would go.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not idle: {incomplete_submissions} submissions are incomplete, {open_recordings} recordings open")]
pub struct NotIdle {
    /// Submissions, on all queues, that are not known to be complete.
    pub incomplete_submissions: u64,
    /// Recordings still open.
    pub open_recordings: usize,
}

/// Entries that came with their own sync point.
#[derive(Debug)]
struct Explicit<T> {
    entries: Vec<(Entry<T>, SyncPoint)>,
    pushed: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Stages<T> {
    /// Dropped while a recording was open that may use them.
    waiting: Waiting<T>,
    /// All that may use them is submitted; waiting for queues.
    parking: Parking<T>,
    dating: Dating<T>,
    spares: Spares<T>,
    released: u64,
    released_bytes: u64,
}

impl<T> Stages<T> {
    fn note_released(&mut self, piles: &[Pile<T>]) {
        self.released += piles.iter().map(|pile| pile.len() as u64).sum::<u64>();
        self.released_bytes += piles.iter().map(Pile::bytes).sum::<u64>();
    }
}

/// Keeps dropped things until nothing can use them any more.
///
/// # What it is good at
/// Dropping is one short push from any thread; a purge touches only what was dropped since the
/// last purge and what it releases, whatever else lives or waits; and a thing that waits for a
/// slow queue holds back nothing else. Its downside: a thing is held by every queue that has
/// submitted since the thing was created, even where it was never used there, because nobody has
/// to say where a thing is used.
///
/// # Algorithm
/// 1. [`push`](Self::push) notes the newest open recording and puts the entry into one of several
///    inboxes, so that threads rarely meet.
/// 2. A purge empties the inboxes. Entries whose recordings are all closed are *dated*: they must
///    outlive the newest submission of each queue that has submitted since they were created.
///    The others wait in order of that recording.
/// 3. Dated entries with equal needs form a batch, parked at the first queue that is not far
///    enough, in that queue's heap ordered by serial. When the serial completes, the batch moves
///    on to the next such queue or is released: at most one move a queue.
///
/// # Efficiency
/// `push`: O(1), an uncontended lock, no allocation in steady state. Purge: O(dropped + released)
/// plus O(log batches) for each batch.
///
/// # Origin
/// The two stages are Diligent Engine's, whose purge stops at the oldest entry; dating by open
/// recordings is epoch-based reclamation (Fraser, 2004) with recordings as the critical sections.
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
                parking: Parking::new(),
                dating: Dating::new(),
                spares: Spares::new(),
                released: 0,
                released_bytes: 0,
            }),
        }
    }

    /// Queues something that nobody can reach any more, other than the recordings open now and
    /// what is submitted. `born` is when it was created, `bytes` what it holds.
    #[inline]
    pub fn push(&self, recordings: &Recordings, item: T, born: Stamp, bytes: u64) {
        self.inbox.push(Entry { item, tag: recordings.newest(), born, bytes });
    }

    /// Queues something that nothing on the GPU can use, because nobody has ever handed it to a
    /// recording or a submission, nor learned its name there: the next purge hands it out, whatever is
    /// open or in flight. `bytes` is what it holds.
    ///
    /// Whoever may have handed it out has done so before it was dropped, or else had no right to it: what
    /// is noted when it is handed out is therefore known here.
    #[inline]
    pub fn push_unused(&self, item: T, bytes: u64) {
        self.inbox.push(Entry { item, tag: 0, born: Stamp::LAST, bytes });
    }

    /// Queues something that must outlive `point` and nothing else: the caller knows all its uses.
    pub fn push_after(&self, item: T, point: SyncPoint, bytes: u64) {
        let entry = Entry { item, tag: 0, born: Stamp::default(), bytes };
        let mut explicit = self.explicit.lock();
        explicit.pushed += 1;
        explicit.bytes += bytes;
        explicit.entries.push((entry, point));
    }

    /// Moves into `ready` exactly those entries that nothing can use any more, as far as `clock`
    /// knows (poll it first). Two purges at once are harmless.
    pub fn purge(&self, recordings: &Recordings, clock: &Clock, ready: &mut Vec<T>) {
        let stages = &mut *self.stages.lock();
        let mut piles = Piles::new();
        self.purge_stages(stages, recordings, clock, &mut piles);
        for mut pile in piles.drain(..) {
            pile.take_items(|item| ready.push(item));
            stages.spares.put(pile);
        }
    }

    /// As [`purge`](Self::purge), whole piles at a time; give the empty piles to
    /// [`recycle`](Self::recycle).
    pub(crate) fn purge_piles(&self, recordings: &Recordings, clock: &Clock, ready: &mut Piles<T>) {
        self.purge_stages(&mut self.stages.lock(), recordings, clock, ready);
    }

    /// Keeps empty piles for what is dropped later.
    pub(crate) fn recycle(&self, piles: &mut Piles<T>) {
        let stages = &mut *self.stages.lock();
        piles.drain(..).for_each(|pile| stages.spares.put(pile));
    }

    fn purge_stages(
        &self,
        stages: &mut Stages<T>,
        recordings: &Recordings,
        clock: &Clock,
        ready: &mut Piles<T>,
    ) {
        let Stages { waiting, parking, dating, spares, .. } = stages;
        // The order matters: what is older than `oldest_open` was submitted before that was read,
        // so the serials, read later, include it.
        let oldest_open = recordings.oldest_open();
        dating.take_waiting(waiting, oldest_open);
        self.inbox.drain(spares, |pile, spares| dating.sort(pile, oldest_open, waiting, spares));
        dating.finish(parking, clock, spares);
        let mut explicit = self.explicit.lock();
        for (entry, point) in explicit.entries.drain(..) {
            parking.park(Batch::new(point, entry, spares.take()));
        }
        drop(explicit);
        let before = ready.len();
        parking.take_complete(&clock.completed(), |pile| ready.push(pile));
        stages.note_released(&ready[before..]);
    }

    /// Moves everything into `ready`, in the order of a purge that finds all complete.
    ///
    /// # Errors
    /// [`NotIdle`] unless the device is lost or `clock` knows every submission to be complete and
    /// no recording is open; then nothing moves.
    pub fn purge_all(
        &self,
        recordings: &Recordings,
        clock: &Clock,
        ready: &mut Vec<T>,
    ) -> Result<(), NotIdle> {
        let mut piles = Piles::new();
        self.purge_all_piles(recordings, clock, &mut piles)?;
        piles.iter_mut().for_each(|pile| pile.take_items(|item| ready.push(item)));
        Ok(())
    }

    /// As [`purge_all`](Self::purge_all), whole piles at a time.
    pub(crate) fn purge_all_piles(
        &self,
        recordings: &Recordings,
        clock: &Clock,
        ready: &mut Piles<T>,
    ) -> Result<(), NotIdle> {
        let open_recordings = recordings.count();
        let lost = clock.loss().is_some();
        if !lost && (open_recordings > 0 || clock.incomplete() > 0) {
            return Err(NotIdle { incomplete_submissions: clock.incomplete(), open_recordings });
        }
        self.purge_piles(recordings, clock, ready);
        if lost {
            self.take_everything(ready);
        }
        Ok(())
    }

    fn take_everything(&self, ready: &mut Piles<T>) {
        let stages = &mut *self.stages.lock();
        let before = ready.len();
        stages.parking.take_all(|pile| ready.push(pile));
        stages.waiting.take_all(|pile| ready.push(pile));
        self.inbox.drain(&mut stages.spares, |pile, _| ready.push(pile));
        stages.note_released(&ready[before..]);
    }

    /// Counts, in O(lanes).
    #[must_use]
    pub fn stats(&self) -> ReleaseStats {
        let stages = self.stages.lock();
        let (mut pushed, mut bytes) = self.inbox.pushed();
        let explicit = self.explicit.lock();
        pushed += explicit.pushed;
        bytes += explicit.bytes;
        ReleaseStats { pushed, released: stages.released, pending_bytes: bytes - stages.released_bytes }
    }

    /// For each open recording the bytes dropped since it was opened, which its being open holds
    /// back. Cost: proportional to what waits for recordings.
    #[must_use]
    pub fn held_back(&self, recordings: &Recordings) -> Vec<(OpenRecording, u64)> {
        let stages = self.stages.lock();
        let held = |recording: &OpenRecording| {
            stages.waiting.bytes_tagged_from(recording.id.0) + self.inbox.bytes_tagged_from(recording.id.0)
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
