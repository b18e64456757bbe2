//! Submission of open lists: their barriers, waits, and one step on the clock.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::open::Open;
use super::pool::{ListPool, Resolving, Tracking, Waited};
use crate::context::Context;
use crate::device::{
    CommandList, Device, DeviceError, PagingPoint, Permit, QueueId, QueueSerial, State, SubmitSync,
};
use crate::permit::OwnPermit as _;
use crate::resource::Tracked;
use crate::state::{self, Fixups, Recorded, StateBarrier, StateCell, StateError, resolve, unfinished};
use crate::time::{Clock, SyncPoint};
use crate::{Error, Name};

/// Maximum number of lists considered for one submission: limits the time under the locks.
pub(super) const MOST_TOGETHER: usize = 64;

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

/// A closed list, to be submitted.
pub(super) struct Closed<D: Device> {
    pub(super) open: Open<D>,
    pub(super) recorded: Recorded<Tracked<D>>,
    /// Submissions to wait for, in addition to the earlier uses of its resources.
    pub(super) waits: SyncPoint,
    /// The paging point at which its resources are resident, once requested.
    paging: Option<PagingPoint>,
}

impl<D: Device> Closed<D> {
    pub(super) fn external_waits(&self) -> &[D::ExternalPoint] {
        self.open.external.as_deref().map_or(&[], |external| &external.waits)
    }

    pub(super) fn external_signals(&self) -> &[D::ExternalPoint] {
        self.open.external.as_deref().map_or(&[], |external| &external.signals)
    }

    /// The synchronisation of a submission of some lists: only the first has external waits, only the last external signals.
    fn sync<'a>(lists: &'a [&mut Self], waits: &'a [QueueSerial], serial: u64) -> SubmitSync<'a, D> {
        let paging = lists.iter().filter_map(|list| list.paging).max();
        SubmitSync {
            external_waits: lists.first().map_or(&[], |list| list.external_waits()),
            external_signals: lists.last().map_or(&[], |list| list.external_signals()),
            ..SubmitSync::new(waits, serial).paging(paging.unwrap_or(PagingPoint::RESIDENT))
        }
    }
}

/// The steps of a submission so far.
#[derive(Default)]
struct Steps {
    /// The lists whose states are resolved, from the first one on.
    resolved: usize,
    /// The submissions of barriers to other queues.
    elsewhere: Serials,
    /// The reason why the states of the first list cannot be resolved.
    refused: Option<StateError>,
}

impl Steps {
    /// Undoes the state changes of a refused submission, newest first.
    fn undo<D: Device>(&self, lists: &[&mut Closed<D>], fixups: &mut [Fixups<Tracked<D>>]) {
        let resolved = lists.iter().zip(fixups).enumerate().take(self.resolved);
        for (index, (list, fixups)) in resolved.rev() {
            fixups.undo(&list.recorded, if index == 0 { &self.elsewhere } else { &[] });
        }
    }
}

/// The waits of a submission on `queue`, without those for the queue itself, which runs in order.
fn other_queues(point: &SyncPoint, queue: QueueId) -> Serials {
    point.iter().filter(|wait| wait.queue != queue).collect()
}

/// The waits of a submission after one more list joins it; `None` if that list waits for a submission that is not known to be
/// complete. Waits for complete ones are kept, because they make writes visible.
fn joined_waits<D: Device>(
    context: &Context<D>,
    queue: QueueId,
    (point, waits): (&SyncPoint, &Serials),
    waited: &Waited,
) -> Option<Serials> {
    let completed = context.clock.completed();
    let mut joined = waits.clone();
    for wait in other_queues(point, queue).into_iter().filter(|wait| !waited.covers(queue, *wait)) {
        match joined.iter_mut().find(|other| other.queue == wait.queue) {
            Some(other) if other.serial >= wait.serial => {}
            _ if wait.serial > completed.serial(wait.queue) => return None,
            Some(other) => *other = wait,
            None => joined.push(wait),
        }
    }
    Some(joined)
}

/// The resources of a recording, and the states in which it leaves them.
fn cells<D: Device>(recorded: &Recorded<Tracked<D>>) -> impl Iterator<Item = (&StateCell, State)> {
    recorded.uses().map(|used| (&used.resource.0.states, used.last))
}

/// Records a loss of the device in the clock.
fn note_loss<D: Device>(context: &Context<D>, error: &Error) {
    if let Error::Device { source, .. } = error {
        let _reported: Result<(), _> = context.clock.note_loss(Err(source.clone()));
    }
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

/// Makes the resources of the first lists resident, and returns the number of these lists. Memory for the next list becomes free
/// only after their submission.
///
/// # Errors
/// The error of the first one.
fn make_resident<D: Device>(context: &Context<D>, lists: &mut [&mut Closed<D>]) -> Result<usize, Error> {
    let residency = &context.pools.residency;
    for (index, list) in lists.iter_mut().enumerate() {
        if list.paging.is_some() {
            continue;
        }
        match residency.begin_submission(&context.paging(), &list.open.blocks, list.open.is_move) {
            Ok(paging) => list.paging = Some(paging),
            Err(error) => {
                residency.end_submission(&list.open.blocks, Err(context.clock.submitted()));
                return if index == 0 { Err(error.into()) } else { Ok(index) };
            }
        }
    }
    Ok(lists.len())
}

/// Moves the barriers in front of a list to the last earlier list that has some, if nothing before the list uses their resources.
fn gather_barriers<D: Device>(lists: &[&mut Closed<D>], fixups: &mut [Fixups<Tracked<D>>], at: QueueSerial) {
    let mut latest = None;
    for (index, list) in lists.iter().enumerate() {
        let (earlier, later) = fixups.split_at_mut(index);
        let Some(own) = later.first_mut().filter(|own| !own.here.is_empty()) else { continue };
        let is_free = || list.open.aliased_ranges.is_empty() && own.may_come_first(&list.recorded, at);
        match latest.and_then(|latest: usize| earlier.get_mut(latest)).filter(|_| is_free()) {
            Some(earlier) => earlier.here.append(&mut own.here),
            None => latest = Some(index),
        }
    }
}

impl<D: Device> ListPool<D> {
    /// Closes and submits a list, and returns it and its tracker to the contexts.
    pub(crate) fn submit_open(
        &self,
        context: &Context<D>,
        queue: QueueId,
        open: Open<D>,
        waits: &SyncPoint,
    ) -> Result<QueueSerial, Error> {
        let mut closed = self.close(context, queue, open, waits)?;
        let submitted = self.submit_first(context, queue, &mut [&mut closed]).map(|(at, _)| at);
        self.end(context, queue, closed, submitted.as_ref().ok().copied());
        submitted
    }

    /// Closes a list. After an error it is discarded.
    pub(super) fn close(
        &self,
        context: &Context<D>,
        queue: QueueId,
        mut open: Open<D>,
        waits: &SyncPoint,
    ) -> Result<Closed<D>, Error> {
        match open.close() {
            Ok(recorded) => {
                let mut waits = *waits;
                waits.merge(&open.waits);
                Ok(Closed { open, recorded, waits, paging: None })
            }
            Err(error) => {
                note_loss(context, &error);
                self.return_open(context, queue, open, None);
                Err(error)
            }
        }
    }

    /// Returns a list and its tracker to the contexts: submitted, or discarded.
    pub(super) fn end(
        &self,
        context: &Context<D>,
        queue: QueueId,
        closed: Closed<D>,
        submitted: Option<QueueSerial>,
    ) {
        let Closed { mut open, recorded, paging, .. } = closed;
        if paging.is_some() {
            // Barriers may have been submitted to other queues before the submission was refused.
            let at = submitted.ok_or_else(|| context.clock.submitted());
            context.pools.residency.end_submission(&open.blocks, at);
        }
        open.tracker.recycle(recorded);
        self.return_open(context, queue, open, submitted);
    }

    fn return_open(
        &self,
        context: &Context<D>,
        queue: QueueId,
        open: Open<D>,
        submitted: Option<QueueSerial>,
    ) {
        let Open { list, tracker, kept, aliased_ranges, blocks, is_closed, .. } = open;
        context.pools.residency.return_set(blocks);
        match submitted {
            Some(at) => self.return_submitted(queue, list, at.serial),
            None => {
                self.return_list(context, queue, list, is_closed);
                Open::<D>::rewind_handoffs(&aliased_ranges, &context.clock.submitted());
            }
        }
        self.return_tracking(queue, Tracking { tracker, kept });
    }

    /// Submits the first of some lists for one queue, together with the following ones that need no wait of their own. Returns
    /// the submission and the number of its lists.
    ///
    /// # Errors
    /// The errors of the first list, or of the driver for all; then no list was submitted.
    pub(super) fn submit_first(
        &self,
        context: &Context<D>,
        queue: QueueId,
        lists: &mut [&mut Closed<D>],
    ) -> Result<(QueueSerial, usize), Error> {
        let submitted = make_resident(context, lists)
            .and_then(|resident| self.submit_resident(context, queue, lists.split_at_mut(resident).0));
        // Making its resources resident may be the first call that detects a loss.
        submitted.inspect_err(|error| note_loss(context, error))
    }

    fn submit_resident(
        &self,
        context: &Context<D>,
        queue: QueueId,
        lists: &mut [&mut Closed<D>],
    ) -> Result<(QueueSerial, usize), Error> {
        let Some(first) = lists.first() else { return Err(Error::Internal { what: "no list to submit" }) };
        let has_published = self.has_published.load(Ordering::Acquire);
        if lists.len() == 1 && first.recorded.is_empty() && !has_published {
            // Without tracked states it need not wait for other recordings.
            let waits = other_queues(&first.waits, queue);
            let submitted = context.clock.submit(queue, |serial| {
                let sync = Closed::sync(lists, &waits, serial);
                context.device().submit_with(Permit::own(), queue, &[&first.open.list], sync)
            });
            return Ok((submitted?, 1));
        }
        Clock::check_outside()?;
        // States are tracked in the order of submission.
        let Resolving { fixups, has_released, published, waited } = &mut *self.resolving.lock();
        let mut publishers = SyncPoint::NONE;
        self.wait_for_published(context, published, &mut publishers);
        if first.open.is_publishing {
            let submitted = context.clock.submitted();
            let published = cells(&first.recorded).filter(|(cell, _)| cell.is_published());
            published.for_each(|(cell, _)| cell.note_unnamed_uses(&submitted));
        }
        let mut most = lists.len();
        if *has_released {
            // The acquires of the others come after the submission of the first.
            most = 1;
            self.finish_transfers(context, first)?;
        }
        let lists = lists.split_at_mut(most).0;
        fixups.resize_with(fixups.len().max(most), Fixups::new);
        let mut steps = Steps::default();
        let submitted = context.clock.submit(queue, |serial| {
            let at = QueueSerial { queue, serial };
            let answer = self.submit_at(context, at, lists, (fixups, waited, &publishers), &mut steps);
            answer.inspect_err(|_| {
                steps.undo(lists, fixups);
                *has_released |= fixups.iter().any(Fixups::has_released);
            })
        });
        fixups.iter_mut().take(most).for_each(Fixups::clear);
        if let (Ok(at), Some(first)) = (&submitted, lists.first().filter(|first| first.open.is_publishing)) {
            let uses = cells(&first.recorded);
            for (cell, _) in uses.filter(|(cell, last)| cell.is_published_in(*last, self.model)) {
                self.note_published(cell);
                published.require(at.queue, at.serial);
            }
        }
        match steps.refused {
            Some(source) => Err(Error::State { name: Name::default(), source }),
            None => Ok((submitted?, steps.resolved)),
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

    /// The submissions not known to be complete that a submission of the program itself must follow if it reads read-only
    /// resources.
    pub(crate) fn published(&self, context: &Context<D>) -> SyncPoint {
        let mut waits = SyncPoint::NONE;
        if self.has_published.load(Ordering::Acquire) {
            self.wait_for_published(context, &mut self.resolving.lock().published, &mut waits);
        }
        waits
    }

    /// Submits the barriers that other queues must record for the first list, then the lists with the barriers of their own
    /// queue: the first list and the following ones that have no further requirements.
    fn submit_at(
        &self,
        context: &Context<D>,
        at: QueueSerial,
        lists: &mut [&mut Closed<D>],
        (fixups, waited, publishers): (&mut [Fixups<Tracked<D>>], &mut Waited, &SyncPoint),
        steps: &mut Steps,
    ) -> Result<(), DeviceError> {
        let queues = &context.device().properties().queues;
        let mut waits = Serials::new();
        for (list, fixups) in lists.iter().zip(&mut *fixups) {
            let is_first = steps.resolved == 0;
            if let Err(error) = resolve(&list.recorded, at, queues, fixups) {
                if is_first {
                    steps.refused = Some(error);
                    return Err(DeviceError::invalid_value("states must resolve", at.serial));
                }
                break;
            }
            let mut point = list.waits;
            if !list.open.changes_read_only {
                // Uploads and moves declare their uses of read-only resources.
                publishers.iter().for_each(|at| point.require(at.queue, at.serial));
            }
            fixups.waits.iter().for_each(|wait| point.require(wait.queue, wait.serial));
            if is_first {
                steps.resolved = 1;
                self.submit_elsewhere(context, list, (fixups, waited), (&mut point, steps))?;
                waits = other_queues(&point, at.queue);
                waits.retain(|wait| !waited.covers(at.queue, *wait));
                continue;
            }
            let joined = joined_waits(context, at.queue, (&point, &waits), waited);
            let Some(joined) = joined.filter(|_| fixups.elsewhere.is_empty()) else {
                fixups.undo(&list.recorded, &[]);
                break;
            };
            steps.resolved += 1;
            waits = joined;
        }
        let lists = lists.split_at_mut(steps.resolved).0;
        gather_barriers(lists, fixups, at);
        self.submit_lists(context, at, (lists, fixups), &waits)?;
        waited.note(at.queue, &waits);
        Ok(())
    }

    /// Submits the barriers that other queues must record, and makes `point` wait for them.
    fn submit_elsewhere(
        &self,
        context: &Context<D>,
        list: &Closed<D>,
        (fixups, waited): (&Fixups<Tracked<D>>, &mut Waited),
        (point, steps): (&mut SyncPoint, &mut Steps),
    ) -> Result<(), DeviceError> {
        let paging = list.paging.unwrap_or(PagingPoint::RESIDENT);
        for other in &fixups.elsewhere {
            let waits: Serials =
                other.waits.iter().filter(|wait| !waited.covers(other.queue, *wait)).collect();
            let done = self.submit_barriers(context, (other.queue, paging), &other.barriers, &waits)?;
            waited.note(other.queue, &waits);
            point.require(done.queue, done.serial);
            steps.elsewhere.push(done);
        }
        Ok(())
    }

    /// Submits lists, each after its barriers, which are recorded in memory of the list, or in a list of their own.
    fn submit_lists(
        &self,
        context: &Context<D>,
        at: QueueSerial,
        (lists, fixups): (&mut [&mut Closed<D>], &[Fixups<Tracked<D>>]),
        waits: &[QueueSerial],
    ) -> Result<(), DeviceError> {
        let mut fronts: SmallVec<[(usize, D::List); 1]> = SmallVec::new();
        let recorded = lists.iter_mut().zip(fixups).enumerate().try_for_each(|(index, (list, fixups))| {
            let here = fixups.here.iter().map(StateBarrier::by_ref);
            let is_done = fixups.here.is_empty()
                || state::record_in_front::<D, _>(&mut list.open.list, here, |handle| &handle.0.object)?;
            if !is_done {
                fronts.push((index, self.barrier_list(context, at.queue, &fixups.here)?));
            }
            Ok(())
        });
        let submitted = recorded.and_then(|()| {
            let mut all: SmallVec<[&D::List; MOST_TOGETHER]> = SmallVec::new();
            let mut fronts = fronts.iter().peekable();
            for (index, list) in lists.iter().enumerate() {
                all.extend(fronts.next_if(|(of, _)| *of == index).map(|(_, front)| front));
                all.push(&list.open.list);
            }
            context.device().submit_with(Permit::own(), at.queue, &all, Closed::sync(lists, waits, at.serial))
        });
        for (_, front) in fronts {
            match &submitted {
                Ok(()) => self.return_submitted(at.queue, front, at.serial),
                Err(_) => self.return_unused(at.queue, front),
            }
        }
        submitted
    }

    /// Acquires the resources that were released for a submission that was refused afterwards.
    fn finish_transfers(&self, context: &Context<D>, list: &Closed<D>) -> Result<(), Error> {
        let paging = list.paging.unwrap_or(PagingPoint::RESIDENT);
        for other in unfinished(&list.recorded) {
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
