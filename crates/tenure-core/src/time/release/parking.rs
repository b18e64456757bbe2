//! Where dated things wait for the queues.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::Entry;
use super::pile::Pile;
use crate::device::{MAX_QUEUES, QueueId};
use crate::time::SyncPoint;

/// Entries that must outlive the same submissions.
#[derive(Debug)]
pub(super) struct Batch<T> {
    pub(super) point: SyncPoint,
    pub(super) pile: Pile<T>,
}

impl<T> Batch<T> {
    pub(super) fn new(point: SyncPoint, first: Entry<T>, mut pile: Pile<T>) -> Self {
        pile.push(first);
        Self { point, pile }
    }
}

/// A batch at the queue whose serial it waits for. Ordered by serial, then by arrival.
#[derive(Debug)]
struct Parked<T> {
    serial: u64,
    arrival: u64,
    batch: Batch<T>,
}

impl<T> Parked<T> {
    const fn key(&self) -> (u64, u64) {
        (self.serial, self.arrival)
    }
}

impl<T> PartialEq for Parked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Parked<T> {}

impl<T> PartialOrd for Parked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Parked<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// One heap a queue, and what waits for no queue at all.
#[derive(Debug)]
pub(super) struct Parking<T> {
    queues: [BinaryHeap<Reverse<Parked<T>>>; MAX_QUEUES],
    free: Vec<Batch<T>>,
    arrivals: u64,
}

impl<T> Parking<T> {
    pub(super) fn new() -> Self {
        Self { queues: std::array::from_fn(|_| BinaryHeap::new()), free: Vec::new(), arrivals: 0 }
    }

    /// Lets a batch wait at the first queue it needs.
    pub(super) fn park(&mut self, batch: Batch<T>) {
        self.park_beyond(batch, &SyncPoint::NONE);
    }

    /// Lets a batch wait at the first queue it needs that is not far enough.
    fn park_beyond(&mut self, batch: Batch<T>, completed: &SyncPoint) {
        let needed = batch.point.iter().find(|at| at.serial > completed.serial(at.queue));
        let Some(at) = needed else {
            self.free.push(batch);
            return;
        };
        self.arrivals += 1;
        let parked = Parked { serial: at.serial, arrival: self.arrivals, batch };
        self.queues[at.queue.index()].push(Reverse(parked));
    }

    /// Hands out every batch whose queues are all far enough.
    pub(super) fn take_complete(&mut self, completed: &SyncPoint, mut take: impl FnMut(Pile<T>)) {
        for (id, queue) in (0_u8..).zip(0..MAX_QUEUES) {
            let reached = completed.serial(QueueId(id));
            while self.queues[queue].peek().is_some_and(|Reverse(front)| front.serial <= reached) {
                if let Some(Reverse(parked)) = self.queues[queue].pop() {
                    self.park_beyond(parked.batch, completed);
                }
            }
        }
        self.free.drain(..).for_each(|batch| take(batch.pile));
    }

    /// Hands out everything.
    pub(super) fn take_all(&mut self, mut take: impl FnMut(Pile<T>)) {
        let parked = self.queues.iter_mut().flat_map(BinaryHeap::drain).map(|Reverse(parked)| parked.batch);
        let batches = parked.chain(self.free.drain(..));
        batches.for_each(|batch| take(batch.pile));
    }
}
