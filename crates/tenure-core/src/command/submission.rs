//! Submission of a recording: barriers before it, waits, and its outcome.

use std::sync::Arc;

use super::{Commands, Recording};
use crate::Error;
use crate::device::Device;
use crate::memory::PlaceHolds;
use crate::ticket::{Progress, Ticket};
use crate::time::SyncPoint;

impl<D: Device> Recording<D> {
    /// Submits the recording: takes the queue's next serial, submits and signals, in one step. Returns the sync point that
    /// completes it.
    ///
    /// Barriers that connect it with earlier submissions are submitted in front of it, on other queues too where only those can
    /// record them; the waits between queues that its resources need are added.
    ///
    /// # Errors
    /// [`Error::Device`] when a recorded command was wrong or the driver refuses, [`Error::Query`] when a query has begun and
    /// not ended, [`Error::State`] when no queue can bring a resource into its first state; the errors of
    /// [`Gpu::flush_uploads`](crate::Gpu::flush_uploads) when uploads are pending, which are submitted first. The recording is
    /// discarded then.
    #[inline(never)]
    pub fn submit(mut self) -> Result<SyncPoint, Error> {
        let services = self.services.clone();
        let _call = services.context.call();
        services.flush_pending_uploads()?;
        self.end_queries()?;
        let context = &self.services.context;
        let Some(Commands { mut open, queue, id, mut holds, .. }) = self.commands.take() else {
            return Ok(SyncPoint::NONE);
        };
        self.shown.move_to(&mut open.blocks);
        let bound = std::mem::take(&mut self.bound);
        context.unnamed_uses.check(&self.name, bound, open.tracker.resources());
        self.waits.merge(&self.copied(&holds));
        let (queries, tickets) = (open.queries.take(), std::mem::take(&mut open.tickets));
        let submitted = self.services.lists.submit_open(context, queue, open, &self.waits);
        if let Some(queries) = queries {
            queries.end(&self.services.queries.store, submitted.as_ref().ok().copied());
        }
        if let Ok(at) = &submitted {
            context.submitted.note(*at, &self.name);
            holds.note_used(*at);
            self.note_used(*at);
        }
        // Only now: until here the recording keeps its resources alive and in their places.
        drop(holds);
        self.end(id, submitted.as_ref().map_or(SyncPoint::NONE, |at| SyncPoint::from(*at)));
        settle(
            &tickets,
            submitted.as_ref().map_or(Progress::Discarded, |at| Progress::Submitted((*at).into())),
        );
        self.services.context.settle_submission(submitted.as_ref().ok().copied());
        submitted.map(|at| self.services.context.clock.point_at(at)).map_err(|error| error.named(&self.name))
    }
    /// The copies of moved resources that are not complete yet, as far as known: the submission comes after those, also for
    /// resources without a declared state.
    fn copied(&self, holds: &PlaceHolds<D>) -> SyncPoint {
        let (mut copied, completed) = (*holds.copied(), self.services.context.clock.completed());
        if let Some(held) = self.held_objects() {
            copied.merge(&held.copied());
        }
        if copied.is_covered_by(&completed) { SyncPoint::NONE } else { copied }
    }
}

/// Records the outcome of an ended recording in its tickets, and wakes their tasks. Wakers are the program's code, and may call
/// the manager.
pub(super) fn settle(tickets: &[Arc<Ticket>], progress: Progress) {
    tickets.iter().for_each(|ticket| ticket.settle(progress));
}
