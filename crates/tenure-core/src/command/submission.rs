//! Submission of recordings, and their outcome.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Commands, Recording};
use crate::device::{Device, QueueId, QueueSerial};
use crate::list::Open;
use crate::markers::Marks;
use crate::memory::PlaceHolds;
use crate::query::RecordedQueries;
use crate::services::Services;
use crate::ticket::{Progress, Ticket};
use crate::time::{RecordingId, SyncPoint};
use crate::{Error, SubmitAllError};

impl<D: Device> Recording<D> {
    /// Submits the recording: takes the queue's next serial, submits and signals, as one atomic step. Returns the sync point
    /// that completes it.
    ///
    /// Barriers that connect it with earlier submissions are submitted before it, on other queues, too, if only those can
    /// record them; the waits between queues that its resources need are added.
    ///
    /// # Errors
    /// [`Error::Device`] when a recorded command was wrong or the driver refuses, [`Error::Query`] when a query has begun and
    /// not ended, [`Error::State`] when no queue can bring a resource into its first state; the errors of
    /// [`Gpu::flush_uploads`](crate::Gpu::flush_uploads) when uploads are pending, which are submitted first. The recording is
    /// discarded then.
    #[inline(never)]
    pub fn submit(mut self) -> Result<SyncPoint, Error> {
        self.submit_in_place()
    }

    /// As [`submit`](Self::submit); the caller drops the rest. The recording is large, and not copied.
    #[inline(never)]
    pub(crate) fn submit_in_place(&mut self) -> Result<SyncPoint, Error> {
        let services = self.services.clone();
        let context = &services.context;
        let _call = context.call();
        services.flush_pending_uploads()?;
        let Some((leaving, queue, open)) = self.leave()? else { return Ok(SyncPoint::NONE) };
        let submitted = services.lists.submit_open(context, queue, open, &self.waits);
        let at = submitted.as_ref().ok().copied();
        self.arrive(leaving, at);
        context.settle_submission(at);
        submitted.map(|at| context.clock.point_at(at)).map_err(|error| error.named(&self.name))
    }

    /// Takes the open list, with everything needed for its submission.
    fn leave(&mut self) -> Result<Option<Taken<D>>, Error> {
        self.end_queries()?;
        let Some(Commands { mut open, queue, id, holds, .. }) = self.commands.take() else {
            return Ok(None);
        };
        self.shown.move_to(&mut open.blocks);
        let bound = std::mem::take(&mut self.bound);
        self.services.context.unnamed_uses.check(&self.name, bound, open.tracker.resources());
        self.waits.merge(&self.copied(&holds));
        open.mark_end(None);
        let (queries, tickets) = (open.queries.take(), std::mem::take(&mut open.tickets));
        let marks = open.marks.take();
        Ok(Some((Leaving { id, holds, queries, tickets, marks }, queue, open)))
    }

    /// Ends the recording, submitted or discarded.
    fn arrive(&mut self, leaving: Leaving<D>, submitted: Option<QueueSerial>) {
        let Leaving { id, mut holds, queries, tickets, marks } = leaving;
        if let Some(queries) = queries {
            queries.end(&self.services.queries.store, submitted);
        }
        let context = &self.services.context;
        if let Some(at) = submitted {
            context.submitted.note(at, (&self.name, marks), (&context.clock, &context.markers));
            holds.note_used(at);
            self.note_used(at);
        } else if let Some(marks) = marks {
            context.markers.give_back(*marks, None);
        }
        // Not earlier: until here the recording keeps its resources alive and in place.
        drop(holds);
        self.end(id, submitted.map_or(SyncPoint::NONE, SyncPoint::from));
        settle(&tickets, submitted.map_or(Progress::Discarded, |at| Progress::Submitted(at.into())));
    }

    /// The copies of moved resources that are not known to be complete: the submission comes after those, also for resources
    /// without a declared state.
    fn copied(&self, holds: &PlaceHolds<D>) -> SyncPoint {
        let mut copied = *holds.copied();
        if let Some(held) = self.held_objects() {
            copied.merge(&held.copied());
        }
        let is_complete =
            copied == SyncPoint::NONE || copied.is_covered_by(&self.services.context.clock.completed());
        if is_complete { SyncPoint::NONE } else { copied }
    }
}

/// The parts, the queue of the list, and the list.
type Taken<D> = (Leaving<D>, QueueId, Open<D>);

/// The parts of a recording that remain after the submission of its list.
struct Leaving<D: Device> {
    id: RecordingId,
    holds: PlaceHolds<D>,
    queries: Option<Box<RecordedQueries<D>>>,
    tickets: Vec<Arc<Ticket>>,
    marks: Option<Box<Marks>>,
}

/// Submits recordings: see [`Frame::submit_all`](crate::Frame::submit_all).
pub(crate) fn submit_all<D: Device>(
    services: &Services<D>,
    mut recordings: Vec<Recording<D>>,
) -> Result<Vec<SyncPoint>, SubmitAllError> {
    let context = &services.context;
    let mut points = vec![SyncPoint::NONE; recordings.len()];
    if recordings.is_empty() {
        return Ok(points);
    }
    let _call = context.call();
    if let Err(error) = services.flush_pending_uploads() {
        return Err(SubmitAllError { error, points });
    }
    let mut leaving = Vec::with_capacity(recordings.len());
    let lists = recordings.iter_mut().map(|recording| {
        if !Arc::ptr_eq(recording.context(), context) {
            return Err(Error::Foreign { name: recording.name.clone() });
        }
        let what = "a recording was submitted twice";
        let (left, queue, open) = recording.leave()?.ok_or(Error::Internal { what })?;
        leaving.push(left);
        Ok((queue, open, recording.waits))
    });
    let mut outcomes = services.lists.submit_all(context, lists);
    // The last one may not have been closed.
    let submitted = outcomes.submitted().chain(std::iter::repeat(None));
    for (((recording, leaving), at), point) in
        recordings.iter_mut().zip(leaving).zip(submitted).zip(&mut points)
    {
        recording.arrive(leaving, at);
        *point = at.map_or(SyncPoint::NONE, |at| context.clock.point_at(at));
    }
    let refused = outcomes.refused.take().map(|(index, error)| match recordings.get(index) {
        Some(recording) => error.named(&recording.name),
        None => error,
    });
    // The others are discarded.
    drop(recordings);
    let mut settled = SmallVec::<[Option<QueueSerial>; 8]>::new();
    for at in outcomes.submitted().chain(refused.as_ref().map(|_| None)) {
        if !settled.contains(&at) {
            settled.push(at);
            context.settle_submission(at);
        }
    }
    match refused {
        None => Ok(points),
        Some(error) => Err(SubmitAllError { error, points }),
    }
}

/// Records the outcome of an ended recording in its tickets, and wakes their tasks. Wakers are the program's code, and may call
/// the manager.
pub(super) fn settle(tickets: &[Arc<Ticket>], progress: Progress) {
    tickets.iter().for_each(|ticket| ticket.settle(progress));
}
