//! Decides what each dropped thing must outlive.

use super::Entry;
use super::parking::{Batch, Parking};
use super::pile::Pile;
use super::spares::Spares;
use super::waiting::Waiting;
use crate::time::Clock;

/// The workbench of one purge; its vectors are kept from purge to purge.
#[derive(Debug)]
pub(super) struct Dating<T> {
    /// Entries that no open recording can use.
    due: Vec<Pile<T>>,
    /// One batch for each different need of entries from piles with several. There are at most two to
    /// the number of queues, and hardly ever more than two.
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

    /// Takes entries that were just dropped, or lets them wait for the recordings that may use them.
    pub(super) fn sort(
        &mut self,
        pile: Pile<T>,
        oldest_open: u64,
        waiting: &mut Waiting<T>,
        spares: &mut Spares<T>,
    ) {
        if pile.newest_tag() < oldest_open {
            self.due.push(pile);
            return;
        }
        let Err(mut pile) = waiting.add_pile(pile) else { return };
        let mut due = spares.take();
        pile.take_entries(|entry| match entry {
            Entry { tag, .. } if tag < oldest_open => due.push(entry),
            _ => waiting.add(entry, spares),
        });
        spares.put(pile);
        if due.is_empty() { spares.put(due) } else { self.due.push(due) }
    }

    /// Dates and parks what is due.
    ///
    /// The clock is read only here, after the entries were taken: whatever was submitted before
    /// an entry was dropped is therefore included.
    pub(super) fn finish(&mut self, parking: &mut Parking<T>, clock: &Clock, spares: &mut Spares<T>) {
        if self.due.is_empty() {
            return;
        }
        let submitted = clock.submissions();
        for mut pile in self.due.drain(..) {
            if let Some(point) = pile.common_need(&submitted) {
                parking.park(Batch { point, pile });
                continue;
            }
            pile.take_entries(|entry| {
                let point = submitted.since(entry.born);
                match self.batches.iter_mut().find(|batch| batch.point == point) {
                    Some(batch) => batch.pile.push(entry),
                    None => self.batches.push(Batch::new(point, entry, spares.take())),
                }
            });
            spares.put(pile);
        }
        self.batches.drain(..).for_each(|batch| parking.park(batch));
    }
}
