//! Tickets: the progress of one recording, shared with its readbacks and queries, and the tasks that await it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;

use crate::Name;
use crate::callback::run_caught;
use crate::device::MAX_QUEUES;
use crate::time::{Clock, SyncPoint};

/// The progress of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Open.
    Open,
    /// Submitted; complete with this sync point.
    Submitted(SyncPoint),
    /// Not submitted, and never will be.
    Discarded,
}

#[derive(Debug)]
struct State {
    progress: Progress,
    /// The task to wake on progress.
    waker: Option<Waker>,
    /// The list of [awaited tickets](AwaitedTickets) that contains it.
    listed: Option<Progress>,
}

/// Shared by a readback, its recording, and the manager while a task awaits it.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// The recording.
    pub(crate) recording: Name,
    state: Mutex<State>,
    settled: Condvar,
}

impl Ticket {
    pub(crate) fn new(recording: Name) -> Self {
        let state = State { progress: Progress::Open, waker: None, listed: None };
        Self { recording, state: Mutex::new(state), settled: Condvar::new() }
    }

    /// Sets the outcome of the recording. Runs the program's waker, if there is one.
    pub(crate) fn settle(&self, progress: Progress) {
        let waker = {
            let mut state = self.state.lock();
            state.progress = progress;
            state.waker.take()
        };
        self.settled.notify_all();
        wake(waker);
    }

    pub(crate) fn progress(&self) -> Progress {
        self.state.lock().progress
    }

    /// Blocks until the recording is submitted or discarded, or the deadline passes.
    pub(crate) fn wait_until(&self, deadline: Option<Instant>) -> Progress {
        let mut state = self.state.lock();
        while state.progress == Progress::Open {
            match deadline {
                Some(deadline) => {
                    if self.settled.wait_until(&mut state, deadline).timed_out() {
                        break;
                    }
                }
                None => self.settled.wait(&mut state),
            }
        }
        state.progress
    }

    /// Stores the waker of the polling task. Returns the list to add the ticket to, unless it is on that list.
    pub(crate) fn register(&self, waker: &Waker) -> Option<Progress> {
        let is_known = |known: &Option<Waker>| known.as_ref().is_some_and(|known| known.will_wake(waker));
        if !is_known(&self.state.lock().waker) {
            // Without the lock: cloning and dropping a waker runs the program's code.
            let waker = waker.clone();
            let _former = self.state.lock().waker.replace(waker);
        }
        let mut state = self.state.lock();
        let wanted = Some(state.progress).filter(|progress| *progress != Progress::Discarded);
        if wanted == state.listed {
            return None;
        }
        state.listed = wanted;
        wanted
    }

    /// Wakes the task after its removal from the list.
    pub(crate) fn wake_unlisted(&self) {
        let waker = {
            let mut state = self.state.lock();
            state.listed = None;
            state.waker.take()
        };
        wake(waker);
    }
}

/// Wakes a task, and catches the panic of its waker: the caller has other work to finish.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        run_caught("a waker", || waker.wake());
    }
}

/// Minimum number of tickets of open recordings before ended ones are removed.
const FEWEST_SWEPT: usize = 16;

type Tickets = Vec<Arc<Ticket>>;

/// The tickets of readbacks that tasks await.
#[derive(Debug, Default)]
pub(crate) struct AwaitedTickets {
    tickets: Mutex<Listed>,
    has_some: AtomicBool,
    /// True if the manager has ended before the GPU finished: no later call will detect the completion.
    is_given_up: AtomicBool,
}

#[derive(Debug, Default)]
struct Listed {
    /// Tickets of submitted recordings, by queue and serial.
    submitted: [BTreeMap<u64, Tickets>; MAX_QUEUES],
    /// Tickets of open recordings, and of some that have ended since; only the loss of the device wakes them here.
    open: Tickets,
    /// Number of tickets in `open` at which tickets of ended recordings are removed.
    sweep_at: usize,
}

impl AwaitedTickets {
    /// Lists a ticket: its task is woken once the clock knows that the submission is complete, or that the device is lost.
    pub(crate) fn list(&self, ticket: &Arc<Ticket>, progress: Progress) {
        let mut listed = self.tickets.lock();
        match progress {
            Progress::Submitted(point) => listed.add_submitted(ticket, &point),
            Progress::Open => listed.add_open(ticket),
            Progress::Discarded => {}
        }
        self.has_some.store(true, Ordering::Release);
    }

    /// Wakes the tasks whose submissions are complete according to the clock; all tasks once the device is lost. Call it
    /// without a lock: wakers are the program's code. One atomic load when no task waits.
    #[cold]
    pub(crate) fn wake(&self, clock: &Clock) {
        if !self.has_some.load(Ordering::Acquire) {
            return;
        }
        let (completed, is_lost) = (clock.completed(), clock.loss().is_some());
        self.wake_taken(|listed| if is_lost { listed.take_all() } else { listed.take_due(&completed) });
    }

    /// Wakes all tasks, because no later call will detect the completion of their submissions.
    pub(crate) fn give_up(&self) {
        self.is_given_up.store(true, Ordering::Release);
        self.wake_taken(Listed::take_all);
    }

    pub(crate) fn is_given_up(&self) -> bool {
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
        // A recording has one submission.
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
