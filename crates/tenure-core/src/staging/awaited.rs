//! The tasks that await readbacks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::ticket::{Progress, Ticket};
use crate::device::MAX_QUEUES;
use crate::time::{Clock, SyncPoint};

/// Tickets of open recordings up to which none is looked for whose recording has ended.
const FEWEST_SWEPT: usize = 16;

type Tickets = Vec<Arc<Ticket>>;

/// The tickets of readbacks that tasks await.
#[derive(Debug, Default)]
pub(super) struct AwaitedTickets {
    tickets: Mutex<Listed>,
    has_some: AtomicBool,
    /// The manager has ended, and the GPU did not finish: nobody finds out any more when it does.
    is_given_up: AtomicBool,
}

#[derive(Debug, Default)]
struct Listed {
    /// Of submitted recordings, by queue and serial.
    submitted: [BTreeMap<u64, Tickets>; MAX_QUEUES],
    /// Of open recordings, which only the loss of the device wakes here, and of some that have ended since.
    open: Tickets,
    /// How many of those there are before the latter are looked for.
    sweep_at: usize,
}

impl AwaitedTickets {
    /// Wakes whoever waits for it once the clock knows that the submission is complete, or the device lost.
    pub(super) fn list(&self, ticket: &Arc<Ticket>, progress: Progress) {
        let mut listed = self.tickets.lock();
        match progress {
            Progress::Submitted(point) => listed.add_submitted(ticket, &point),
            Progress::Open => listed.add_open(ticket),
            Progress::Discarded => {}
        }
        self.has_some.store(true, Ordering::Release);
    }

    /// Wakes whoever waits for what the clock knows to be complete; everybody, once the device is
    /// lost. Called without a lock: wakers are the program's code. One atomic load when nobody waits.
    pub(super) fn wake(&self, clock: &Clock) {
        if !self.has_some.load(Ordering::Acquire) {
            return;
        }
        let (completed, is_lost) = (clock.completed(), clock.loss().is_some());
        self.wake_taken(|listed| if is_lost { listed.take_all() } else { listed.take_due(&completed) });
    }

    /// Wakes everybody: nobody finds out any more when the submissions are complete.
    pub(super) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Release);
        self.wake_taken(Listed::take_all);
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.is_given_up.load(Ordering::Acquire)
    }

    fn wake_taken(&self, take: impl FnOnce(&mut Listed) -> SmallVec<[Arc<Ticket>; 8]>) {
        let taken = {
            let mut listed = self.tickets.lock();
            let taken = take(&mut listed);
            self.has_some.store(!listed.is_empty(), Ordering::Release);
            taken
        };
        taken.iter().for_each(|ticket| ticket.wake_unlisted());
    }
}

impl Listed {
    fn add_submitted(&mut self, ticket: &Arc<Ticket>, point: &SyncPoint) {
        // The submission of a recording is one.
        if let Some(at) = point.iter().next()
            && let Some(queue) = self.submitted.get_mut(at.queue.index())
        {
            queue.entry(at.serial).or_default().push(ticket.clone());
        }
    }

    fn add_open(&mut self, ticket: &Arc<Ticket>) {
        if self.open.len() >= self.sweep_at.max(FEWEST_SWEPT) {
            self.open.retain(|ticket| ticket.progress() == Progress::Open);
            self.sweep_at = 2 * self.open.len();
        }
        self.open.push(ticket.clone());
    }

    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.submitted.iter().all(BTreeMap::is_empty)
    }

    fn take_due(&mut self, completed: &SyncPoint) -> SmallVec<[Arc<Ticket>; 8]> {
        let mut due = SmallVec::new();
        for at in completed.iter() {
            let Some(queue) = self.submitted.get_mut(at.queue.index()) else { continue };
            while let Some(first) = queue.first_entry().filter(|first| *first.key() <= at.serial) {
                due.extend(first.remove());
            }
        }
        due
    }

    fn take_all(&mut self) -> SmallVec<[Arc<Ticket>; 8]> {
        let submitted = self.submitted.iter_mut().flat_map(std::mem::take);
        submitted.flat_map(|(_, tickets)| tickets).chain(std::mem::take(&mut self.open)).collect()
    }
}
