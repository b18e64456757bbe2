//! Submission of an open list: barriers in front of it, waits, and one step on the clock.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::open::Open;
use super::pool::{ListPool, Resolving, Tracking, Waited};
use crate::context::Context;
use crate::device::{
    CommandList, Device, DeviceError, PagingPoint, Permit, QueueId, QueueSerial, SubmitSync,
};
use crate::permit::OwnPermit as _;
use crate::resource::Tracked;
use crate::state::{self, Fixups, Recorded, StateBarrier, resolve, unfinished};
use crate::time::{Clock, SyncPoint};
use crate::{Error, Name};

/// At most one serial per queue.
type Serials = SmallVec<[QueueSerial; crate::device::MAX_QUEUES]>;

/// The external points that a recording waits for and signals; most have none.
pub(crate) struct ExternalPoints<D: Device> {
    pub(crate) waits: SmallVec<[D::ExternalPoint; 1]>,
    pub(crate) signals: SmallVec<[D::ExternalPoint; 1]>,
}

impl<D: Device> Default for ExternalPoints<D> {
    fn default() -> Self {
        Self { waits: SmallVec::new(), signals: SmallVec::new() }
    }
}

impl<D: Device> ExternalPoints<D> {
    /// The synchronisation of a submission with these points.
    fn order<'a>(this: Option<&'a Self>, waits: &'a [QueueSerial], signal: u64) -> SubmitSync<'a, D> {
        match this {
            None => SubmitSync::new(waits, signal),
            Some(this) => SubmitSync {
                external_waits: &this.waits,
                external_signals: &this.signals,
                ..SubmitSync::new(waits, signal)
            },
        }
    }
}

/// The parameters of a submission, except its list.
struct Work<'a, D: Device> {
    queue: QueueId,
    /// The external points that it waits for and signals.
    external: Option<&'a ExternalPoints<D>>,
    /// The paging point after which its resources are resident.
    paging: PagingPoint,
    /// Whether the list leaves read-only resources in their declared states, for all later submissions.
    is_publishing: bool,
    /// It names the read-only resources that it uses: it is an upload or a move.
    names_read_only: bool,
}

impl<'a, D: Device> Work<'a, D> {
    fn sync<'s>(&'s self, waits: &'s [QueueSerial], serial: u64) -> SubmitSync<'s, D> {
        ExternalPoints::order(self.external, waits, serial).paging(self.paging)
    }
}

/// The waits of a submission on `queue`: all but those for the queue itself, which runs in order.
fn other_queues(point: &SyncPoint, queue: QueueId) -> Serials {
    point.iter().filter(|wait| wait.queue != queue).collect()
}

/// Records barriers, if there are any.
pub(super) fn record<'a, D: Device>(
    list: &mut D::List,
    barriers: impl ExactSizeIterator<Item = StateBarrier<&'a Tracked<D>>>,
) {
    if barriers.len() > 0 {
        state::record::<D, _>(list, barriers, |handle| &handle.0.object);
    }
}

impl<D: Device> ListPool<D> {
    /// Closes and submits a list, and returns it and its tracker to the contexts.
    pub(crate) fn submit_open(
        &self,
        context: &Context<D>,
        queue: QueueId,
        mut open: Open<D>,
        waits: &SyncPoint,
    ) -> Result<QueueSerial, Error> {
        let mut waits = *waits;
        waits.merge(&open.waits);
        let waits = &waits;
        let submitted = open.close().and_then(|recorded| {
            let submitted = self.submit_resident(context, queue, &mut open, &recorded, waits);
            open.tracker.recycle(recorded);
            submitted
        });
        let Open { list, tracker, kept, aliased_ranges, blocks, is_closed, .. } = open;
        context.pools.residency.return_set(blocks);
        match &submitted {
            Ok(at) => self.return_submitted(queue, list, at.serial),
            Err(error) => {
                // The close of a list, and the residency of its resources, may be the first calls to meet a loss.
                if let Error::Device { source, .. } = error {
                    let _reported: Result<(), _> = context.clock.note_loss(Err(source.clone()));
                }
                self.return_list(context, queue, list, is_closed);
                Open::<D>::rewind_handoffs(&aliased_ranges, &context.clock.submitted());
            }
        }
        self.return_tracking(queue, Tracking { tracker, kept });
        submitted
    }

    /// Makes the resources of the recording resident, and submits it.
    fn submit_resident(
        &self,
        context: &Context<D>,
        queue: QueueId,
        open: &mut Open<D>,
        recorded: &Recorded<Tracked<D>>,
        waits: &SyncPoint,
    ) -> Result<QueueSerial, Error> {
        let (residency, external) = (&context.pools.residency, open.external.as_deref());
        let paging = residency.begin_submission(&context.paging(), &open.blocks, open.is_move);
        let submitted = paging.map_err(Error::from).and_then(|paging| {
            let (is_publishing, names_read_only) = (open.is_publishing, open.changes_read_only);
            let work = Work { queue, external, paging, is_publishing, names_read_only };
            self.submit_recorded(context, (&work, &mut open.list), recorded, waits)
        });
        // Barriers may have been submitted to other queues before the submission was refused.
        let at = submitted.as_ref().map_err(|_| context.clock.submitted());
        residency.end_submission(&open.blocks, at.copied());
        submitted
    }

    fn submit_recorded(
        &self,
        context: &Context<D>,
        (work, list): (&Work<'_, D>, &mut D::List),
        recorded: &Recorded<Tracked<D>>,
        waits: &SyncPoint,
    ) -> Result<QueueSerial, Error> {
        let queue = work.queue;
        if recorded.is_empty() && !self.has_published.load(Ordering::Acquire) {
            // Without tracked states it need not wait for other recordings.
            let waits = other_queues(waits, queue);
            return Ok(context.clock.submit(queue, |serial| {
                context.device().submit_with(Permit::own(), queue, &[&*list], work.sync(&waits, serial))
            })?);
        }
        Clock::check_outside()?;
        // States are tracked in the order of submission.
        let Resolving { fixups, published, waited } = &mut *self.resolving.lock();
        let mut waits = *waits;
        if !work.names_read_only {
            self.wait_for_published(context, published, &mut waits);
        }
        let uses = || recorded.uses().map(|used| (&used.resource.0.states, used.last));
        if work.is_publishing {
            let submitted = context.clock.submitted();
            let published = uses().filter(|(cell, _)| cell.is_published());
            published.for_each(|(cell, _)| cell.note_unnamed_uses(&submitted));
        }
        if fixups.has_released() {
            self.finish_transfers(context, recorded, work.paging)?;
        }
        let mut refused = None;
        let submitted = context.clock.submit(queue, |serial| {
            let at = QueueSerial { queue, serial };
            if let Err(error) = resolve(recorded, at, &context.device().properties().queues, fixups) {
                refused = Some(error);
                return Err(DeviceError::invalid_value("states must resolve", serial));
            }
            let mut elsewhere = Serials::new();
            let answer =
                self.submit_with(context, (work, list, at), (fixups, waited), &waits, &mut elsewhere);
            answer.inspect_err(|_| fixups.undo(recorded, &elsewhere))
        });
        fixups.clear();
        if let (Ok(at), true) = (&submitted, work.is_publishing) {
            for (cell, _) in uses().filter(|(cell, last)| cell.is_published_in(*last, self.model)) {
                self.note_published(cell);
                published.require(at.queue, at.serial);
            }
        }
        match refused {
            Some(source) => Err(Error::State { name: Name::default(), source }),
            None => Ok(submitted?),
        }
    }

    /// Adds the incomplete submissions that have published read-only resources.
    fn wait_for_published(&self, context: &Context<D>, published: &mut SyncPoint, waits: &mut SyncPoint) {
        if *published == SyncPoint::NONE {
            return;
        }
        if published.is_covered_by(&context.clock.completed()) {
            *published = SyncPoint::NONE;
        }
        published.iter().for_each(|at| waits.require(at.queue, at.serial));
    }

    /// The incomplete submissions, as far as known, that a submission of the program's own comes after if it reads read-only
    /// resources.
    pub(crate) fn published(&self, context: &Context<D>) -> SyncPoint {
        let mut waits = SyncPoint::NONE;
        if self.has_published.load(Ordering::Acquire) {
            self.wait_for_published(context, &mut self.resolving.lock().published, &mut waits);
        }
        waits
    }

    /// Submits the barriers that other queues must record, then the list with the barriers of its own queue. `elsewhere` gets
    /// the serials of the former, also in the event of an error.
    fn submit_with(
        &self,
        context: &Context<D>,
        (work, list, at): (&Work<'_, D>, &mut D::List, QueueSerial),
        (fixups, waited): (&Fixups<Tracked<D>>, &mut Waited),
        waits: &SyncPoint,
        elsewhere: &mut Serials,
    ) -> Result<(), DeviceError> {
        let (mut point, &Work { queue, paging, .. }) = (*waits, work);
        fixups.waits.iter().for_each(|wait| point.require(wait.queue, wait.serial));
        for other in &fixups.elsewhere {
            let waits: Serials =
                other.waits.iter().filter(|wait| !waited.covers(other.queue, *wait)).collect();
            let done = self.submit_barriers(context, (other.queue, paging), &other.barriers, &waits)?;
            waited.note(other.queue, &waits);
            point.require(done.queue, done.serial);
            elsewhere.push(done);
        }
        let mut waits = other_queues(&point, queue);
        waits.retain(|wait| !waited.covers(queue, *wait));
        let sync = work.sync(&waits, at.serial);
        let here = fixups.here.iter().map(StateBarrier::by_ref);
        let is_done = fixups.here.is_empty()
            || state::record_in_front::<D, _>(list, here, |handle: &Tracked<D>| &handle.0.object)?;
        if is_done {
            context.device().submit_with(Permit::own(), queue, &[&*list], sync)?;
        } else {
            let barriers = self.barrier_list(context, queue, &fixups.here)?;
            let submitted = context.device().submit_with(Permit::own(), queue, &[&barriers, &*list], sync);
            match &submitted {
                Ok(()) => self.return_submitted(queue, barriers, at.serial),
                Err(_) => self.return_unused(queue, barriers),
            }
            submitted?;
        }
        waited.note(queue, &waits);
        Ok(())
    }

    /// Acquires the resources that were released for a submission that was refused afterwards.
    fn finish_transfers(
        &self,
        context: &Context<D>,
        recorded: &Recorded<Tracked<D>>,
        paging: PagingPoint,
    ) -> Result<(), Error> {
        for other in unfinished(recorded) {
            let waits: Serials = other.waits.iter().collect();
            other.acquired(self.submit_barriers(context, (other.queue, paging), &other.barriers, &waits)?);
        }
        Ok(())
    }

    /// Submits only barriers.
    fn submit_barriers(
        &self,
        context: &Context<D>,
        (queue, paging): (QueueId, PagingPoint),
        barriers: &[StateBarrier<Tracked<D>>],
        waits: &[QueueSerial],
    ) -> Result<QueueSerial, DeviceError> {
        let list = self.barrier_list(context, queue, barriers)?;
        let submitted = context.clock.submit(queue, |serial| {
            let sync = SubmitSync::new(waits, serial).paging(paging);
            context.device().submit_with(Permit::own(), queue, &[&list], sync)
        });
        match &submitted {
            Ok(done) => self.return_submitted(queue, list, done.serial),
            Err(_) => self.return_unused(queue, list),
        }
        submitted
    }

    /// A closed list of barriers.
    fn barrier_list(
        &self,
        context: &Context<D>,
        queue: QueueId,
        barriers: &[StateBarrier<Tracked<D>>],
    ) -> Result<D::List, DeviceError> {
        let mut list = self.take_list(&context.clock, context.device(), queue)?;
        record::<D>(&mut list, barriers.iter().map(StateBarrier::by_ref));
        match list.close() {
            Ok(()) => Ok(list),
            Err(error) => {
                self.return_list(context, queue, list, false);
                Err(error)
            }
        }
    }

    /// Records and submits a separate list. Returns its serial.
    pub(crate) fn submit_one(
        &self,
        context: &Context<D>,
        queue: QueueId,
        record: impl FnOnce(&mut D::List),
    ) -> Result<u64, DeviceError> {
        let mut list = self.take_list(&context.clock, context.device(), queue)?;
        record(&mut list);
        if let Err(error) = list.close() {
            self.return_list(context, queue, list, false);
            return Err(error);
        }
        let submitted = context
            .clock
            .submit(queue, |serial| context.device().submit(Permit::own(), queue, &[&list], &[], serial));
        match submitted {
            Ok(at) => self.return_submitted(queue, list, at.serial),
            Err(_) => self.return_unused(queue, list),
        }
        submitted.map(|at| at.serial)
    }
}
