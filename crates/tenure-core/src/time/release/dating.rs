//! Decides what each dropped thing must outlive.

use super::Entry;
use super::parking::{Batch, Parking};
use super::waiting::Waiting;
use crate::time::Clock;

/// The workbench of one purge; its vectors are kept from purge to purge.
#[derive(Debug)]
pub(super) struct Dating<T> {
    /// Entries that no open recording can use.
    due: Vec<Entry<T>>,
    /// One batch for each different need. There are at most two to the number of queues, and
    /// hardly ever more than two.
    batches: Vec<Batch<T>>,
}

impl<T> Dating<T> {
    pub(super) fn new() -> Self {
        Self { due: Vec::new(), batches: Vec::new() }
    }

    /// Takes those whose recordings have been closed since the last purge.
    pub(super) fn take_waiting(&mut self, waiting: &mut Waiting<T>, oldest_open: u64) {
        waiting.take_before(oldest_open, &mut self.due);
    }

    /// Takes an entry that was just dropped, or lets it wait for the recordings that may use it.
    pub(super) fn sort(&mut self, entry: Entry<T>, oldest_open: u64, waiting: &mut Waiting<T>) {
        if entry.tag < oldest_open {
            self.due.push(entry);
        } else {
            waiting.add(entry);
        }
    }

    /// Dates and parks what is due.
    ///
    /// The clock is read only here, after the entries were taken: whatever was submitted before
    /// an entry was dropped is therefore included.
    pub(super) fn finish(&mut self, parking: &mut Parking<T>, clock: &Clock) {
        if self.due.is_empty() {
            return;
        }
        let submitted = clock.submissions();
        for entry in self.due.drain(..) {
            let point = submitted.since(entry.born);
            match self.batches.iter_mut().find(|batch| batch.point == point) {
                Some(batch) => batch.entries.push(entry),
                None => self.batches.push(Batch::new(point, entry, parking.spare())),
            }
        }
        self.batches.drain(..).for_each(|batch| parking.park(batch));
    }
}
