//! Batches of uploads, from the first copy to the submission.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::batch::{Batch, BatchState};
use super::copies::{Copy, Publication, Sorter};
use super::in_flight::InFlight;
use super::in_place::InPlaceCounters;
use crate::context::Context;
use crate::device::{Device, DeviceError, Properties, QueueId, QueueKind, QueueSerial, State};
use crate::list::{ListPool, Open, record_copies};
use crate::memory::{AllocationFlags, MakeRoom, PlaceHolds};
use crate::repeated::Repeated;
use crate::resource::Tracked;
use crate::staging::{Part, Purpose, SharedPages, Uses};
use crate::state::StateError;
use crate::time::{Clock, SyncPoint};
use crate::{Error, Name, Queue};

pub(super) const NAME: &str = "uploads";

/// Cumulative upload statistics. Bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UploadStats {
    /// Uploads ever made.
    pub uploads: u64,
    /// Bytes ever staged for them, with the padding of rows.
    pub bytes: u64,
    /// Uploads that the CPU wrote in place: see [`InPlaceConfig`](crate::InPlaceConfig).
    pub in_place: u64,
    /// Bytes of the uploads in place.
    pub in_place_bytes: u64,
    /// Copies ever recorded for them.
    pub copies: u64,
    /// Submissions ever made for them.
    pub submissions: u64,
    /// Bytes that wait to be submitted.
    pub pending_bytes: u64,
}

/// The open batch, and totals.
struct Opened<D: Device> {
    batch: Option<Batch<D>>,
    /// A vector for the next batch.
    spare: Vec<Copy<D>>,
    uploads: u64,
    bytes: u64,
}

/// The lock of submissions: its holder submits batches one after the other, in the order in which they were opened.
struct Submitter<D: Device> {
    /// A batch whose submission failed for lack of memory.
    stuck: Option<Batch<D>>,
    sorter: Sorter,
}

/// The uploads of a manager.
pub(crate) struct Uploads<D: Device> {
    pub(super) lists: Arc<ListPool<D>>,
    pub(crate) staging: SharedPages<D>,
    opened: Mutex<Opened<D>>,
    submitter: Mutex<Submitter<D>>,
    /// Batches that wait to be submitted.
    pending: AtomicUsize,
    /// Bytes of the stuck batch, readable while another thread submits.
    stuck_bytes: AtomicU64,
    /// Covers every submission made for uploads.
    newest: Mutex<SyncPoint>,
    pub(super) in_flight: InFlight,
    copies: AtomicU64,
    submissions: AtomicU64,
    given_up: Repeated,
    pub(super) in_place: InPlaceCounters,
    /// The copy queue, where there is one.
    copy: Option<QueueId>,
    pub(super) graphics: QueueId,
}

impl<D: Device> Uploads<D> {
    pub(crate) fn new(properties: &Properties, lists: Arc<ListPool<D>>) -> Self {
        let copy = Queue::Copy.id(properties);
        let is_for_copies =
            properties.queues.get(copy.index()).is_some_and(|queue| queue.kind == QueueKind::Copy);
        Self {
            lists,
            staging: SharedPages::new(Purpose::Uploads),
            opened: Mutex::new(Opened { batch: None, spare: Vec::new(), uploads: 0, bytes: 0 }),
            submitter: Mutex::new(Submitter { stuck: None, sorter: Sorter::default() }),
            pending: AtomicUsize::new(0),
            stuck_bytes: AtomicU64::new(0),
            newest: Mutex::new(SyncPoint::NONE),
            in_flight: InFlight::default(),
            copies: AtomicU64::new(0),
            submissions: AtomicU64::new(0),
            given_up: Repeated::default(),
            in_place: InPlaceCounters::default(),
            copy: is_for_copies.then_some(copy),
            graphics: Queue::Graphics.id(properties),
        }
    }

    pub(super) const fn has_copy_queue(&self) -> bool {
        self.copy.is_some()
    }

    /// Staging memory for one upload, without waiting: [divided uploads](Self::upload_in_pieces) wait if they are allowed to.
    pub(super) fn stage(
        &self,
        context: &Context<D>,
        room: &dyn MakeRoom,
        size: u64,
        align: u64,
    ) -> Result<Part<D>, Error> {
        self.staging.reserve(context, room, size, align, AllocationFlags::NEVER_WAIT)
    }

    /// Frees unused staging memory.
    pub(super) fn unstage(&self, context: &Context<D>, staged: Part<D>) {
        self.staging.release_page(context, staged.page, Uses::NONE);
    }

    /// Adds copies to the open batch, with their staged bytes and the number of uploads that begin with them. Returns the batch
    /// and its bytes.
    pub(super) fn push(
        &self,
        context: &Context<D>,
        copies: impl IntoIterator<Item = Copy<D>>,
        (uploads, bytes): (u64, u64),
    ) -> (Arc<BatchState>, u64) {
        let opened = &mut *self.opened.lock();
        opened.uploads += uploads;
        opened.bytes += bytes;
        let batch = self.open_batch(context, opened);
        batch.bytes += bytes;
        copies.into_iter().for_each(|copy| batch.push(copy));
        (batch.state.clone(), batch.bytes)
    }

    fn open_batch<'a>(&self, context: &Context<D>, opened: &'a mut Opened<D>) -> &'a mut Batch<D> {
        let spare = &mut opened.spare;
        opened.batch.get_or_insert_with(|| {
            self.pending.fetch_add(1, Ordering::AcqRel);
            let recording = context.recordings.open(NAME, context.current_frame());
            Batch::new(recording, std::mem::take(spare))
        })
    }

    /// Declares a resource as read-only, and transitions it to its states after the uploads so far and before the next
    /// submission.
    pub(crate) fn publish(
        &self,
        context: &Context<D>,
        (resource, holds): (Tracked<D>, PlaceHolds<D>),
        states: State,
    ) {
        let opened = &mut *self.opened.lock();
        let batch = self.open_batch(context, opened);
        // Not earlier: a recording that finds the declaration must also find the pending batch, and submit it first.
        resource.as_ref().set_read_only(states);
        batch.published.push(Publication::new((resource, holds)));
    }

    /// True while copies wait to be submitted. One atomic load.
    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire) > 0
    }

    /// Submits the pending uploads. Returns a sync point that covers all uploads submitted so far.
    ///
    /// # Errors
    /// A shortage, or a call inside an external submission: the rest stays pending. After any other error the pending uploads
    /// are discarded.
    pub(crate) fn flush(&self, context: &Context<D>) -> Result<SyncPoint, Error> {
        Clock::check_outside()?;
        self.flush_as(context, &mut self.submitter.lock())
    }

    /// As [`flush`](Self::flush), unless a flush is already running, possibly on this thread, when its own allocations find
    /// memory short. Without `waits`, it does nothing during external work either: the caller may hold locks that calls of the
    /// program need inside its own submission, whose queue the flush would wait for.
    pub(crate) fn try_flush(&self, context: &Context<D>, waits: bool) -> Result<(), Error> {
        Clock::check_outside()?;
        let no_external = context.external_work.try_write();
        if no_external.is_none() && !waits {
            return Ok(());
        }
        match self.submitter.try_lock() {
            Some(mut submitter) => self.flush_as(context, &mut submitter).map(drop),
            None => Ok(()),
        }
    }

    fn flush_as(&self, context: &Context<D>, submitter: &mut Submitter<D>) -> Result<SyncPoint, Error> {
        // First the stuck batch, then the open one.
        for _ in 0..2 {
            let next = submitter.stuck.take().or_else(|| self.opened.lock().batch.take());
            self.stuck_bytes.store(0, Ordering::Relaxed);
            let Some(mut batch) = next else { break };
            match self.submit(context, &mut batch, &mut submitter.sorter) {
                Ok(()) => {
                    self.in_flight.add(&context.clock.completed(), batch.point, batch.bytes);
                    batch.state.settle(Ok(batch.point));
                    self.end(context, batch);
                }
                Err(error) if is_shortage(&error) => {
                    self.stuck_bytes.store(batch.bytes, Ordering::Relaxed);
                    submitter.stuck = Some(batch);
                    return Err(error);
                }
                Err(error) => {
                    self.discard_batch(context, batch, error.clone());
                    return Err(error);
                }
            }
        }
        Ok(*self.newest.lock())
    }

    /// Submits the copies of a batch, the ones for any queue first: within one resource, none of these precedes a copy that
    /// needs a graphics queue. If the destinations cannot all be resident at once, the resources are submitted in several
    /// steps.
    fn submit(&self, context: &Context<D>, batch: &mut Batch<D>, sorter: &mut Sorter) -> Result<(), Error> {
        sorter.sort(&mut batch.copies);
        for on_graphics in [false, true] {
            let mut resources = usize::MAX;
            while batch.first_copies(on_graphics, 1).next().is_some() {
                let copies = batch.first_copies(on_graphics, resources);
                match self.submit_to(context, on_graphics, copies.clone()) {
                    Ok(at) => {
                        let count = copies.count();
                        self.note_submitted(context, batch, at, on_graphics, count);
                    }
                    Err(error) if !is_shortage(&error) => return Err(error),
                    Err(error) => match fewer_resources(copies) {
                        Some(fewer) => resources = fewer,
                        None if self.discard_unread(context, batch, on_graphics) => {}
                        None => return Err(error),
                    },
                }
            }
        }
        self.publish_all(context, batch)
    }

    /// Publishes the read-only resources of a batch whose copies are all submitted.
    fn publish_all(&self, context: &Context<D>, batch: &mut Batch<D>) -> Result<(), Error> {
        if batch.published.is_empty() {
            return Ok(());
        }
        let name = Name::from(NAME);
        let taken = self.lists.take_open(context, self.graphics);
        let mut open = taken.map_err(|source| context.refused(&name, source))?;
        open.change_read_only(true);
        if let Err(source) = batch.published.iter().try_for_each(|each| open.publish(&each.resource)) {
            self.lists.discard_open(context, self.graphics, open);
            return Err(Error::State { name, source });
        }
        let submitted = self.lists.submit_open(context, self.graphics, open, &SyncPoint::NONE);
        self.count_submission(context, batch, submitted.map_err(|error| error.named(&name))?);
        batch.published.clear();
        Ok(())
    }

    fn count_submission(&self, context: &Context<D>, batch: &mut Batch<D>, at: QueueSerial) -> SyncPoint {
        let at = context.clock.point_at(at);
        batch.point.merge(&at);
        self.newest.lock().merge(&at);
        self.submissions.fetch_add(1, Ordering::Relaxed);
        at
    }

    /// Notes the submission of the first `count` copies of a queue.
    fn note_submitted(
        &self,
        context: &Context<D>,
        batch: &mut Batch<D>,
        at: QueueSerial,
        on_graphics: bool,
        count: usize,
    ) {
        let at = self.count_submission(context, batch, at);
        let Batch { copies, published, .. } = batch;
        let submitted = copies.extract_if(.., |copy| copy.on_graphics == on_graphics).take(count);
        for copy in submitted {
            self.copies.fetch_add(1, Ordering::Relaxed);
            let (page, read_only) = copy.into_parts();
            self.staging.release_page(context, page, Uses::Submitted(at));
            // A graphics queue has published its destinations itself.
            published.extend(read_only.filter(|_| !on_graphics));
        }
    }

    /// Discards the copies of a queue to the first resource if no one can read the result. Otherwise a block that never fits
    /// would delay all later uploads, even after the program has dropped the resource.
    fn discard_unread(&self, context: &Context<D>, batch: &mut Batch<D>, on_graphics: bool) -> bool {
        let unread = batch.take_unread(on_graphics);
        let is_any = !unread.is_empty();
        unread.into_iter().for_each(|copy| self.staging.release_page(context, copy.page, Uses::NONE));
        is_any
    }

    fn submit_to<'a>(
        &self,
        context: &Context<D>,
        on_graphics: bool,
        copies: impl Iterator<Item = &'a Copy<D>> + Clone,
    ) -> Result<QueueSerial, Error> {
        let queue = self.copy.filter(|_| !on_graphics).unwrap_or(self.graphics);
        let name = Name::from(NAME);
        let mut open =
            self.lists.take_open(context, queue).map_err(|source| context.refused(&name, source))?;
        // For all destinations: another thread may declare any of them as read-only meanwhile.
        open.change_read_only(on_graphics);
        let mut published = copies.clone().filter(|_| on_graphics);
        let recorded = record(&mut open, || copies.clone())
            .and_then(|()| published.try_for_each(|copy| open.publish(&copy.to)));
        if let Err(source) = recorded {
            self.lists.discard_open(context, queue, open);
            return Err(Error::State { name, source });
        }
        self.lists
            .submit_open(context, queue, open, &SyncPoint::NONE)
            .map_err(|error| error.named(&NAME.into()))
    }

    fn discard_batch(&self, context: &Context<D>, mut batch: Batch<D>, error: Error) {
        if let Some(times) = self.given_up.note() {
            event!(warn, %error, copies = batch.copies.len(), times, "uploads were abandoned: their destinations keep their old contents");
        }
        batch.state.settle(Err(error));
        for copy in batch.copies.drain(..) {
            self.staging.release_page(context, copy.page, Uses::NONE);
        }
        batch.published.clear();
        self.end(context, batch);
    }

    /// Ends a submitted or discarded batch, and everything that was delayed for it.
    fn end(&self, context: &Context<D>, batch: Batch<D>) {
        context.recordings.close(batch.recording);
        self.opened.lock().spare = batch.copies;
        self.pending.fetch_sub(1, Ordering::AcqRel);
    }

    /// Discards all pending uploads, with this error: the device is lost, or the manager ends.
    pub(crate) fn discard_all(&self, context: &Context<D>, error: &Error) {
        if !self.is_pending() {
            return;
        }
        let mut submitter = match Clock::check_outside() {
            Ok(()) => self.submitter.lock(),
            // A submitting thread may wait for the queue that this thread holds. A later call discards the rest.
            Err(_) => match self.submitter.try_lock() {
                Some(submitter) => submitter,
                None => return,
            },
        };
        let opened = self.opened.lock().batch.take();
        self.stuck_bytes.store(0, Ordering::Relaxed);
        for batch in submitter.stuck.take().into_iter().chain(opened) {
            self.discard_batch(context, batch, error.clone());
        }
    }

    pub(crate) fn stats(&self) -> UploadStats {
        let pending_bytes = self.pending_bytes();
        let (in_place, in_place_bytes) = self.in_place.read();
        let opened = self.opened.lock();
        UploadStats {
            uploads: opened.uploads + in_place,
            in_place,
            in_place_bytes,
            bytes: opened.bytes,
            copies: self.copies.load(Ordering::Relaxed),
            submissions: self.submissions.load(Ordering::Relaxed),
            pending_bytes,
        }
    }

    /// Bytes that wait to be submitted.
    fn pending_bytes(&self) -> u64 {
        let opened = self.opened.lock().batch.as_ref().map_or(0, |batch| batch.bytes);
        self.stuck_bytes.load(Ordering::Relaxed) + opened
    }

    /// Reserves bytes for a piece, unless the staged bytes not known to be copied by the GPU would exceed `limit`.
    pub(super) fn try_promise(&self, context: &Context<D>, size: u64, limit: u64) -> bool {
        // Under this lock, every batch is either pending or in flight.
        let _submitter = self.submitter.lock();
        let in_flight = self.in_flight.bytes(&context.clock.completed());
        let staged = self.in_flight.promised() + self.pending_bytes() + in_flight;
        let is_room = staged.saturating_add(size) <= limit;
        if is_room {
            self.in_flight.promise(size);
        }
        is_room
    }
}

/// Records copies layer by layer: first the copies without predecessors, with all barriers before them, then the copies that
/// depend on these, and so on.
fn record<'a, D: Device, I: Iterator<Item = &'a Copy<D>>>(
    open: &mut Open<D>,
    copies: impl Fn() -> I,
) -> Result<(), StateError> {
    record_layer(open, || copies().filter(|copy| copy.layer == 0))?;
    let mut later: Vec<_> = copies().filter(|copy| copy.layer > 0).collect();
    later.sort_by_key(|copy| copy.layer);
    let mut layers = later.chunk_by(|one, other| one.layer == other.layer);
    layers.try_for_each(|layer| record_layer(open, || layer.iter().copied()))
}

fn record_layer<'a, D: Device, I: Iterator<Item = &'a Copy<D>>>(
    open: &mut Open<D>,
    copies: impl Fn() -> I,
) -> Result<(), StateError> {
    copies().try_for_each(|copy| copy.require(open))?;
    open.record_pending();
    record_copies::<D>(open.list(), copies().map(Copy::parts));
    Ok(())
}

/// Half the number of destination resources, if they are in several evictable blocks: when not all of them can be resident at
/// once, some may be. `None` if a division does not help.
fn fewer_resources<'a, D: Device>(copies: impl Iterator<Item = &'a Copy<D>> + Clone) -> Option<usize> {
    let blocks = || copies.clone().map(|copy| copy.to.0.block);
    let evictable = blocks().flatten().next()?;
    let mut last = None;
    let resources = copies.clone().filter(|copy| last.replace(copy.cell()) != Some(copy.cell())).count();
    blocks().any(|block| block != Some(evictable)).then_some(resources / 2).filter(|fewer| *fewer > 0)
}

/// True for errors after which a later try may succeed.
pub(super) fn is_shortage(error: &Error) -> bool {
    matches!(error, Error::Device { source, .. } if DeviceError::is_shortage(source))
}
