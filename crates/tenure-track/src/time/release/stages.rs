//! The stages between the inboxes and destruction, in order: entries wait for recordings ([`Waiting`]), their
//! sync points are resolved ([`ResolvingWaits`]), and they wait for queues ([`PendingPerQueue`]).

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use super::Entry;
use super::batches::{Batch, SpareBatches};
use crate::device::{MAX_QUEUES, QueueId, QueueSerial};
use crate::time::{Clock, SyncPoint};

/// Entries with the same tag.
#[derive(Debug)]
struct Group<T> {
    tag: u64,
    batch: Batch<T>,
}

/// The first stage: entries that an open recording may use. The groups are sorted by tag. Tags increase with time, so that a
/// new group nearly always belongs at the end.
#[derive(Debug)]
pub(super) struct Waiting<T> {
    groups: VecDeque<Group<T>>,
}

impl<T> Waiting<T> {
    pub(super) fn new() -> Self {
        Self { groups: VecDeque::new() }
    }

    /// The index of the group with this tag; if there is none, the index to insert one at.
    fn find(&self, tag: u64) -> Result<usize, usize> {
        self.groups.binary_search_by_key(&tag, |group| group.tag)
    }

    fn add(&mut self, entry: Entry<T>, spares: &mut SpareBatches<T>) {
        match self.find(entry.tag) {
            Ok(index) => self.groups[index].batch.push(entry),
            Err(index) => {
                let (tag, mut batch) = (entry.tag, spares.take());
                batch.push(entry);
                self.groups.insert(index, Group { tag, batch });
            }
        }
    }

    /// Adds a whole batch as a new group.
    ///
    /// # Errors
    /// The batch, if its entries have several tags or there is a group with their tag.
    fn add_batch(&mut self, batch: Batch<T>) -> Result<(), Batch<T>> {
        let Some(tag) = batch.common_tag() else { return Err(batch) };
        match self.find(tag) {
            Ok(_) => Err(batch),
            Err(index) => {
                self.groups.insert(index, Group { tag, batch });
                Ok(())
            }
        }
    }

    /// Moves the entries whose recordings are all older than `oldest_open` into `due`.
    #[inline]
    fn take_before(&mut self, oldest_open: u64, due: &mut Vec<Batch<T>>) {
        while self.groups.front().is_some_and(|group| group.tag < oldest_open)
            && let Some(group) = self.groups.pop_front()
        {
            due.push(group.batch);
        }
    }

    /// Bytes of the entries with this tag or a higher one.
    pub(super) fn bytes_tagged_from(&self, recording: u64) -> u64 {
        let tagged = self.groups.iter().filter(|group| group.tag >= recording);
        tagged.map(|group| group.batch.bytes()).fold(0, u64::wrapping_add)
    }

    /// Visits each group: its tag, and its entries.
    pub(super) fn each(&self, mut visit: impl FnMut(u64, &Batch<T>)) {
        self.groups.iter().for_each(|group| visit(group.tag, &group.batch));
    }

    /// Takes out all batches.
    pub(super) fn take_all(&mut self, mut take: impl FnMut(Batch<T>)) {
        self.groups.drain(..).for_each(|group| take(group.batch));
    }
}

/// Entries that must outlive the same submissions.
#[derive(Debug)]
pub(super) struct ResolvedBatch<T> {
    point: SyncPoint,
    batch: Batch<T>,
}

impl<T> ResolvedBatch<T> {
    pub(super) fn new(point: SyncPoint, first: Entry<T>, mut batch: Batch<T>) -> Self {
        batch.push(first);
        Self { point, batch }
    }
}

/// The second stage: finds the sync point that each entry must outlive. It is empty between reclaims; its vectors are kept for
/// their capacity.
#[derive(Debug)]
pub(super) struct ResolvingWaits<T> {
    /// Entries that no open recording can use.
    due: Vec<Batch<T>>,
    /// The entries of batches that need several sync points, in one batch for each sync point. There are at most two to the
    /// power of the number of queues, and hardly ever more than two.
    batches: Vec<ResolvedBatch<T>>,
}

impl<T> ResolvingWaits<T> {
    pub(super) fn new() -> Self {
        Self { due: Vec::new(), batches: Vec::new() }
    }

    /// Whether no entries are due.
    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    /// Takes the entries whose recordings have been closed since the last reclaim.
    pub(super) fn take_waiting(&mut self, waiting: &mut Waiting<T>, oldest_open: u64) {
        waiting.take_before(oldest_open, &mut self.due);
    }

    /// Takes entries from an inbox. Entries that an open recording may use go to `waiting`.
    pub(super) fn sort(
        &mut self,
        batch: Batch<T>,
        oldest_open: u64,
        waiting: &mut Waiting<T>,
        spares: &mut SpareBatches<T>,
    ) {
        if batch.newest_tag() < oldest_open {
            self.due.push(batch);
            return;
        }
        let Err(mut batch) = waiting.add_batch(batch) else { return };
        let mut due = spares.take();
        batch.take_entries(|entry| match entry {
            Entry { tag, .. } if tag < oldest_open => due.push(entry),
            _ => waiting.add(entry, spares),
        });
        spares.put(batch);
        if due.is_empty() { spares.put(due) } else { self.due.push(due) }
    }

    /// Finds the sync points of the due entries, and moves the entries to `pending`.
    ///
    /// The clock is read only here, after the entries were taken, so that it includes all submissions made before an entry was
    /// dropped. It is not read for entries that no submission uses.
    pub(super) fn finish(
        &mut self,
        pending: &mut PendingPerQueue<T>,
        clock: &Clock,
        spares: &mut SpareBatches<T>,
    ) {
        let mut submitted = None;
        for mut batch in self.due.drain(..) {
            if batch.is_unused() {
                pending.free.push(batch);
                continue;
            }
            let submitted = submitted.get_or_insert_with(|| clock.submissions());
            if let Some(point) = batch.common_need(submitted) {
                pending.insert(ResolvedBatch { point, batch });
                continue;
            }
            batch.take_entries(|entry| {
                let point = submitted.since(entry.born);
                match self.batches.iter_mut().find(|batch| batch.point == point) {
                    Some(batch) => batch.batch.push(entry),
                    None => self.batches.push(ResolvedBatch::new(point, entry, spares.take())),
                }
            });
            spares.put(batch);
        }
        self.batches.drain(..).for_each(|batch| pending.insert(batch));
    }
}

/// A batch that waits for one queue to complete a serial. Ordered by serial, then by arrival.
#[derive(Debug)]
struct PendingBatch<T> {
    serial: u64,
    arrival: u64,
    batch: ResolvedBatch<T>,
}

impl<T> PendingBatch<T> {
    const fn key(&self) -> (u64, u64) {
        (self.serial, self.arrival)
    }
}

impl<T> PartialEq for PendingBatch<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for PendingBatch<T> {}

impl<T> PartialOrd for PendingBatch<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for PendingBatch<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The last stage: one heap of batches for each queue, and the batches that wait for no queue.
#[derive(Debug)]
pub(super) struct PendingPerQueue<T> {
    queues: [BinaryHeap<Reverse<PendingBatch<T>>>; MAX_QUEUES],
    free: Vec<Batch<T>>,
    /// The number of batches in `queues`.
    count: usize,
    arrivals: u64,
}

impl<T> PendingPerQueue<T> {
    pub(super) fn new() -> Self {
        Self { queues: std::array::from_fn(|_| BinaryHeap::new()), free: Vec::new(), count: 0, arrivals: 0 }
    }

    /// Adds a batch, to wait for the first queue of its sync point.
    pub(super) fn insert(&mut self, batch: ResolvedBatch<T>) {
        self.insert_beyond(batch, &SyncPoint::NONE);
    }

    /// Adds a batch, to wait for the first queue of its sync point that has not completed its serial.
    fn insert_beyond(&mut self, batch: ResolvedBatch<T>, completed: &SyncPoint) {
        let needed = batch.point.iter().find(|at| at.serial > completed.serial(at.queue));
        let Some(at) = needed else {
            self.free.push(batch.batch);
            return;
        };
        (self.count, self.arrivals) = (self.count + 1, self.arrivals + 1);
        let pending = PendingBatch { serial: at.serial, arrival: self.arrivals, batch };
        self.queues[at.queue.index()].push(Reverse(pending));
    }

    /// Takes out each batch whose sync point is complete.
    #[inline]
    pub(super) fn take_complete(&mut self, clock: &Clock, take: impl FnMut(Batch<T>)) {
        if self.count > 0 {
            self.free_complete(&clock.completed());
        }
        if !self.free.is_empty() {
            self.free.drain(..).for_each(take);
        }
    }

    /// Moves each batch whose sync point is complete to `free`.
    fn free_complete(&mut self, completed: &SyncPoint) {
        for (id, queue) in (0_u8..).zip(0..MAX_QUEUES) {
            let reached = completed.serial(QueueId(id));
            while self.queues[queue].peek().is_some_and(|Reverse(front)| front.serial <= reached) {
                if let Some(Reverse(pending)) = self.queues[queue].pop() {
                    self.count -= 1;
                    self.insert_beyond(pending.batch, completed);
                }
            }
        }
    }

    /// Visits each batch, with the submission that it waits for.
    pub(super) fn each(&self, mut visit: impl FnMut(Option<QueueSerial>, &Batch<T>)) {
        for (queue, batches) in (0_u8..).map(QueueId).zip(&self.queues) {
            for Reverse(PendingBatch { serial, batch, .. }) in batches {
                visit(Some(QueueSerial { queue, serial: *serial }), &batch.batch);
            }
        }
        self.free.iter().for_each(|batch| visit(None, batch));
    }

    /// Takes out all batches.
    pub(super) fn take_all(&mut self, mut take: impl FnMut(Batch<T>)) {
        self.count = 0;
        let pending =
            self.queues.iter_mut().flat_map(BinaryHeap::drain).map(|Reverse(pending)| pending.batch);
        let batches = pending.map(|resolved| resolved.batch).chain(self.free.drain(..));
        batches.for_each(&mut take);
    }
}
