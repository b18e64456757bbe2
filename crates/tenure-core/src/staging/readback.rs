//! Readbacks: bytes that the GPU copies for the CPU, and the tasks to wake when they are complete.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{self, Poll, Waker};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use smallvec::SmallVec;

use super::shared_pages::{Part, Purpose, SharedPages};
use super::texel_data::Footprint;
use super::{Page, StagingService};
use crate::context::Context;
use crate::device::{Allowed, Device, DeviceError};
use crate::registry::{ObjectKind, RecordKey};
use crate::time::{Clock, SyncPoint, milliseconds};
use crate::{Awaited, Error, Name};

/// Bytes that a recording copies for the CPU: from [`Commands::read_back`](crate::Commands::read_back)
/// or [`Gpu::read_back`](crate::Gpu::read_back).
///
/// It can be [polled](Self::poll), [waited for](Self::wait), or awaited: as a `Future` it wakes its
/// task when the manager learns that the submission is complete, which is at the end of a frame, in
/// [`Gpu::purge`](crate::Gpu::purge), [`completed`](crate::Gpu::completed),
/// [`wait`](crate::Gpu::wait), and when any readback is polled or waited for. There is no thread that
/// would wake it otherwise.
///
/// Texels come without padding between rows and slices. Dropping it is fine at any time.
///
/// ```
/// use std::time::Duration;
/// use tenure::{BufferDesc, Config, Gpu, Usage, sim};
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// let desc = BufferDesc::new(16, Usage::VERTEX | Usage::COPY_SRC).name("rock");
/// let rock = gpu.create_buffer_with(&desc, &[1; 16])?;
/// let readback = gpu.read_back(&rock, 8, 8)?;
/// drop(rock);
/// assert_eq!(readback.wait(Duration::from_secs(1))?, [1; 8]);
/// # Ok::<(), tenure::Error>(())
/// ```
#[must_use = "the bytes are gone with it"]
pub struct Readback<D: Device> {
    name: Name,
    ticket: Arc<Ticket>,
    /// `None` only inside `drop`.
    part: Option<Part<D>>,
    rows: Rows,
    record: RecordKey,
    service: Arc<StagingService<D>>,
}

debug_fields!([D: Device] Readback<D>, "Readback", this, name: this.name, size: this.size(), recording: this.ticket.recording);

/// How the bytes lie in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// One after the other.
    Bytes(u64),
    /// As texels.
    Texels(Footprint),
}

impl Rows {
    /// Bytes in the page.
    const fn padded(&self) -> u64 {
        match self {
            Self::Bytes(size) => *size,
            Self::Texels(rows) => rows.size,
        }
    }

    /// Bytes without padding.
    const fn tight(&self) -> u64 {
        match self {
            Self::Bytes(size) => *size,
            Self::Texels(rows) => rows.tight(),
        }
    }
}

impl<D: Device> Readback<D> {
    /// Room for a copy that `recording` is going to make.
    pub(crate) fn reserve(
        service: &Arc<StagingService<D>>,
        recording: &Name,
        name: &Name,
        rows: Rows,
        align: u64,
    ) -> Result<Self, Error> {
        let context = &service.context;
        context.clock.check().map_err(|source| Error::device(name, source))?;
        let part = service.store.readbacks.reserve(context, rows.padded(), align)?;
        let record = context.register(name, ObjectKind::Readback, rows.tight());
        let (ticket, name) = (Arc::new(Ticket::new(recording.clone())), name.clone());
        Ok(Self { name, ticket, part: Some(part), rows, record, service: service.clone() })
    }

    pub(crate) const fn ticket(&self) -> &Arc<Ticket> {
        &self.ticket
    }

    fn part(&self) -> &Part<D> {
        match &self.part {
            Some(part) => part,
            None => unreachable!("only dropping takes it"),
        }
    }

    pub(crate) fn page(&self) -> &Page<D> {
        &self.part().page
    }

    /// Byte of the API buffer at which it begins.
    pub(crate) fn start(&self) -> u64 {
        self.part().start()
    }

    /// Bytes, without padding.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.rows.tight()
    }

    /// The name of what is read.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// The bytes, if they are there. Asks the driver, never blocks.
    ///
    /// # Errors
    /// [`Error::Discarded`] when the recording was not submitted, [`Error::Device`].
    #[inline(never)]
    pub fn poll(&self) -> Result<Option<Vec<u8>>, Error> {
        if self.is_complete()? { self.bytes().map(Some) } else { Ok(None) }
    }

    /// Copies the bytes to `out`, if they are there; true when they are. As [`poll`](Self::poll),
    /// without an allocation.
    ///
    /// # Errors
    /// As [`poll`](Self::poll); [`Error::WrongLength`] unless `out` is as long as they are.
    #[inline(never)]
    pub fn read(&self, out: &mut [u8]) -> Result<bool, Error> {
        let (given, needed) = (out.len() as u64, self.size());
        if given != needed {
            return Err(Error::WrongLength { name: self.name.clone(), needed, given });
        }
        let is_complete = self.is_complete()?;
        if is_complete {
            self.copy_to(out)?;
        }
        Ok(is_complete)
    }

    /// Blocks until the recording is submitted and complete, and returns the bytes.
    ///
    /// # Errors
    /// [`Error::Timeout`] when the time is over before, also when nobody has submitted the recording;
    /// those of [`poll`](Self::poll).
    #[inline(never)]
    pub fn wait(&self, timeout: Duration) -> Result<Vec<u8>, Error> {
        self.service.context.clock.check().map_err(|source| self.refused(source))?;
        let begun = Instant::now();
        let late = |what| Error::Timeout { what, waited_ms: milliseconds(begun.elapsed()) };
        // A deadline too far for the clock is none.
        let point = match self.ticket.wait_until(begun.checked_add(timeout)) {
            Progress::Submitted(point) => point,
            Progress::Discarded => return Err(self.discarded()),
            Progress::Open => return Err(late(Awaited::ReadbackSubmission)),
        };
        let context = &self.service.context;
        let left = timeout.saturating_sub(begun.elapsed());
        let waited = context.wait(&point, left);
        if !waited.map_err(|source| self.refused(source))? {
            return Err(late(Awaited::Readback));
        }
        self.bytes()
    }

    fn is_complete(&self) -> Result<bool, Error> {
        let point = match self.ticket.progress() {
            Progress::Submitted(point) => point,
            Progress::Discarded => return Err(self.discarded()),
            Progress::Open => {
                self.service.context.clock.check().map_err(|source| self.refused(source))?;
                return Ok(false);
            }
        };
        let completed = self.service.context.poll().map_err(|source| self.refused(source))?;
        Ok(point.is_covered_by(&completed))
    }

    fn bytes(&self) -> Result<Vec<u8>, Error> {
        let too_large = || {
            let allowed = Allowed::AtMost(usize::MAX as u64);
            self.refused(DeviceError::invalid_desc("size", self.size(), allowed))
        };
        let mut bytes = vec![0; usize::try_from(self.size()).map_err(|_| too_large())?];
        self.copy_to(&mut bytes)?;
        Ok(bytes)
    }

    fn copy_to(&self, out: &mut [u8]) -> Result<(), Error> {
        let part = self.part();
        let copied = match &self.rows {
            Rows::Bytes(_) => part.read(0, out),
            Rows::Texels(rows) => rows.drain(out, |offset, out| part.read(offset, out)),
        };
        copied.map_err(|source| self.refused(source))
    }

    fn discarded(&self) -> Error {
        Error::Discarded { name: self.name.clone(), recording: self.ticket.recording.clone() }
    }

    fn refused(&self, source: DeviceError) -> Error {
        self.service.context.refused(&self.name, source)
    }
}

impl<D: Device> Future for Readback<D> {
    type Output = Result<Vec<u8>, Error>;

    #[inline(never)]
    fn poll(self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<Self::Output> {
        let this = &*self;
        if let Some(outcome) = Self::poll(this).transpose() {
            return Poll::Ready(outcome);
        }
        if this.ticket.register(task.waker()) {
            this.service.store.readbacks.list(&this.ticket);
        }
        // Once more, for what happened before the waker was there.
        match Self::poll(this).transpose() {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        }
    }
}

impl<D: Device> Drop for Readback<D> {
    #[inline(never)]
    fn drop(&mut self) {
        self.service.context.registry.remove(self.record);
        if let Some(part) = self.part.take() {
            self.service.store.readbacks.let_go(&self.service.context, part);
        }
    }
}

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
    pub(super) fn reserve(&self, context: &Context<D>, size: u64, align: u64) -> Result<Part<D>, Error> {
        self.pages.reserve(context, size, align)
    }

    /// Lets go of the bytes of a readback: the GPU may still be writing them.
    pub(super) fn let_go(&self, context: &Context<D>, part: Part<D>) {
        self.pages.let_go(context, part.page);
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
    pub(crate) fn end_frame(&self, context: &Context<D>) {
        self.pages.end_frame(context);
    }

    /// Gives the memory back that no readback uses.
    pub(crate) fn release(&self, context: &Context<D>) {
        self.pages.release(context);
    }
}

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
    pub(crate) recording: Name,
    state: Mutex<State>,
    settled: Condvar,
}

impl Ticket {
    pub(crate) fn new(recording: Name) -> Self {
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

    /// Stores the waker of the task that polls. True when the ticket must be added to the list of submitted
    /// tickets, in which it is not yet.
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
