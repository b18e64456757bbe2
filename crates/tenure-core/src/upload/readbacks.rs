//! The readbacks of a manager: their memory, and who is woken when they are complete.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::shared_pages::{Part, Purpose, SharedPages};
use super::ticket::Ticket;
use crate::Error;
use crate::device::Device;
use crate::gpu::Shared;
use crate::time::Clock;

/// The readbacks of a manager.
pub(crate) struct Readbacks<D: Device> {
    pages: SharedPages<D>,
    /// Submitted, with somebody to wake.
    waiting: Mutex<Vec<Arc<Ticket>>>,
    has_waiting: AtomicBool,
}

impl<D: Device> Readbacks<D> {
    pub(crate) const fn new() -> Self {
        Self {
            pages: SharedPages::new(Purpose::Readbacks),
            waiting: Mutex::new(Vec::new()),
            has_waiting: AtomicBool::new(false),
        }
    }

    /// Bytes for one readback.
    pub(super) fn reserve(&self, shared: &Shared<D>, size: u64, align: u64) -> Result<Part<D>, Error> {
        self.pages.reserve(shared, size, align)
    }

    /// Lets go of the bytes of a readback: the GPU may still be writing them.
    pub(super) fn let_go(&self, shared: &Shared<D>, part: Part<D>) {
        self.pages.let_go(shared, part.page);
    }

    /// Wakes whoever waits for it once the clock knows that it is complete.
    pub(super) fn list(&self, ticket: &Arc<Ticket>) {
        let mut waiting = self.waiting.lock();
        waiting.push(ticket.clone());
        self.has_waiting.store(true, Ordering::Release);
    }

    /// Wakes whoever waits for what the clock knows to be complete; everybody, once the device is
    /// lost. One atomic load when nobody waits.
    pub(crate) fn wake(&self, clock: &Clock) {
        if !self.has_waiting.load(Ordering::Acquire) {
            return;
        }
        let (completed, is_lost) = (clock.completed(), clock.loss().is_some());
        let wakers: SmallVec<[Waker; 8]> = {
            let mut waiting = self.waiting.lock();
            let is_due = |ticket: &mut Arc<Ticket>| is_lost || ticket.point().is_covered_by(&completed);
            let wakers = waiting.extract_if(.., is_due).filter_map(|ticket| ticket.unlist()).collect();
            self.has_waiting.store(!waiting.is_empty(), Ordering::Release);
            wakers
        };
        // Without the lock: a waker runs the program's code.
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Gives memory back that nobody has used for the configured frames.
    pub(crate) fn end_frame(&self, shared: &Shared<D>) {
        self.pages.end_frame(shared);
    }

    /// Gives the memory back that no readback uses.
    pub(crate) fn release(&self, shared: &Shared<D>) {
        self.pages.release(shared);
    }
}
