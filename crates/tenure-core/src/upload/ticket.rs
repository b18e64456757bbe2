//! What a readback waits for, and who waits for it.

use std::task::Waker;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::time::SyncPoint;

/// How far the recording of a readback is.
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
    /// Whoever is to be woken when it gets on.
    waker: Option<Waker>,
    /// It is among those that are woken when their submission is complete.
    is_listed: bool,
}

/// Shared by a readback, its recording, and the manager while somebody waits for it to be woken.
#[derive(Debug)]
pub(crate) struct Ticket {
    /// The recording.
    pub(super) recording: &'static str,
    state: Mutex<State>,
    settled: Condvar,
}

impl Ticket {
    pub(super) fn new(recording: &'static str) -> Self {
        let state = State { progress: Progress::Open, waker: None, is_listed: false };
        Self { recording, state: Mutex::new(state), settled: Condvar::new() }
    }

    /// The recording was submitted or discarded.
    pub(crate) fn settle(&self, progress: Progress) {
        let waker = {
            let mut state = self.state.lock();
            state.progress = progress;
            state.waker.take()
        };
        self.settled.notify_all();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn progress(&self) -> Progress {
        self.state.lock().progress
    }

    /// Blocks until the recording is submitted or discarded, or the time is over.
    pub(super) fn wait_until(&self, deadline: Option<Instant>) -> Progress {
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

    /// Notes who is to be woken. True when the ticket is to be listed: it is submitted, and is not
    /// yet.
    pub(super) fn register(&self, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
        let is_new = !state.is_listed && matches!(state.progress, Progress::Submitted(_));
        state.is_listed |= is_new;
        is_new
    }

    /// What must be complete, while it is listed.
    pub(super) fn point(&self) -> SyncPoint {
        match self.progress() {
            Progress::Submitted(point) => point,
            Progress::Open | Progress::Discarded => SyncPoint::NONE,
        }
    }

    /// Takes it off the list, with whoever is to be woken.
    pub(super) fn unlist(&self) -> Option<Waker> {
        let mut state = self.state.lock();
        state.is_listed = false;
        state.waker.take()
    }
}
