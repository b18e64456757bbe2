//! The outcome of the recording of a readback or query, and the task to wake.

use std::task::Waker;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::Name;
use crate::callback::run_caught;
use crate::time::SyncPoint;

/// The progress of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It is open.
    Open,
    /// It is submitted: this must be complete.
    Submitted(SyncPoint),
    /// It was not submitted, and will not be.
    Discarded,
}

#[derive(Debug)]
struct State {
    progress: Progress,
    /// The task to wake on progress.
    waker: Option<Waker>,
    /// Where it is among the [awaited tickets](super::awaited::AwaitedTickets).
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

    /// The recording was submitted or discarded. Runs the program's waker, if there is one.
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

    /// Blocks until the recording is submitted or discarded, or the time is over.
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

    /// Stores the waker of the task that polls. Where it must be listed for that, unless it is listed there.
    pub(super) fn register(&self, waker: &Waker) -> Option<Progress> {
        let is_known = |known: &Option<Waker>| known.as_ref().is_some_and(|known| known.will_wake(waker));
        if !is_known(&self.state.lock().waker) {
            // Without the lock: wakers are cloned and dropped by the program's code.
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

    /// Wakes the task: it was taken off the list.
    pub(super) fn wake_unlisted(&self) {
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
