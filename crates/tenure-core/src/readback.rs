//! Readbacks: bytes copied from the GPU to the CPU, and the tasks that await them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::{Duration, Instant};

use crate::device::{Allowed, Device, DeviceError};
use crate::duration::milliseconds;
use crate::memory::AllocationFlags;
use crate::registry::{ObjectKind, RegistryKey};
use crate::services::Services;
use crate::staging::{Footprint, Page, Part, Uses};
use crate::ticket::{Progress, Ticket};
use crate::{Awaited, Error, Name};

/// Bytes that a recording copies to the CPU: from [`Commands::read_back`](crate::Commands::read_back) or
/// [`Gpu::read_back`](crate::Gpu::read_back).
///
/// It can be [polled](Self::poll), [waited for](Self::wait), or awaited: as a `Future` it wakes its task when the manager finds
/// that the submission is complete, or the device lost, at the end of the detecting call. Beginnings and ends of frames,
/// [`Gpu::wait`](crate::Gpu::wait), [`reclaim`](crate::Gpu::reclaim), [`completed`](crate::Gpu::completed), and polling or waiting
/// for any readback or query always query the driver; creations, uploads and submissions query it when they need memory or a
/// command list. There is no thread that wakes it otherwise. A [`shutdown`](crate::Gpu::shutdown) wakes every task: tasks whose
/// readbacks the GPU did not finish get [`Error::Timeout`].
///
/// A panic of a waker is caught and logged, because it is unrelated to the call that wakes the task.
///
/// Texels have no padding between rows and slices. Dropping it is fine at any time.
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
    registry_key: RegistryKey,
    services: Arc<Services<D>>,
}

debug_fields!([D: Device] Readback<D>, "Readback", this, name: this.name, size: this.size(), recording: this.ticket.recording);

/// Layout of the bytes in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rows {
    /// Contiguous bytes.
    Bytes(u64),
    /// Texels.
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
    /// Reserves memory for a copy that `recording` will make, at a multiple of `align` bytes. `flags` apply to new
    /// pages.
    pub(crate) fn reserve(
        services: &Arc<Services<D>>,
        recording: &Name,
        name: &Name,
        rows: Rows,
        (align, flags): (u64, AllocationFlags),
    ) -> Result<Self, Error> {
        let context = &services.context;
        let _call = context.call();
        context.clock.check().map_err(|source| Error::device(name, source))?;
        let part = services.readbacks.reserve(context, &**services, rows.padded(), align, flags)?;
        let registry_key = context.register(name, ObjectKind::Readback, rows.tight());
        let (ticket, name) = (Arc::new(Ticket::new(recording.clone())), name.clone());
        Ok(Self { name, ticket, part: Some(part), rows, registry_key, services: services.clone() })
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

    /// Offset in the API buffer, in bytes.
    pub(crate) fn start(&self) -> u64 {
        self.part().start()
    }

    /// Size in bytes, without padding.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.rows.tight()
    }

    /// Size in bytes, with the padding of rows.
    pub(crate) const fn staged(&self) -> u64 {
        self.rows.padded()
    }

    /// The name of the source.
    #[must_use]
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// The bytes, if they have arrived. Queries the driver, never blocks.
    ///
    /// # Errors
    /// [`Error::Discarded`] when the recording was not submitted, [`Error::Device`].
    #[inline(never)]
    pub fn poll(&self) -> Result<Option<Vec<u8>>, Error> {
        let _call = self.services.context.call();
        if self.is_complete()? { self.bytes().map(Some) } else { Ok(None) }
    }

    /// Copies the bytes to `out`, if they have arrived, and returns whether they have. As [`poll`](Self::poll), without an
    /// allocation.
    ///
    /// # Errors
    /// As [`poll`](Self::poll); [`Error::WrongLength`] unless `out` has the right size.
    #[inline(never)]
    pub fn read(&self, out: &mut [u8]) -> Result<bool, Error> {
        self.check_length(out)?;
        let _call = self.services.context.call();
        let is_complete = self.is_complete()?;
        if is_complete {
            self.copy_to(out)?;
        }
        Ok(is_complete)
    }

    /// Blocks until the recording is submitted and complete, and returns the bytes.
    ///
    /// # Errors
    /// [`Error::Timeout`] when the timeout expires first, also if the recording was not submitted; the errors of
    /// [`poll`](Self::poll).
    #[inline(never)]
    pub fn wait(&self, timeout: Duration) -> Result<Vec<u8>, Error> {
        let _call = self.services.context.call();
        self.wait_complete(timeout)?;
        self.bytes()
    }

    /// As [`wait`](Self::wait), and copies the bytes to `out`, without an allocation.
    ///
    /// # Errors
    /// As [`wait`](Self::wait); [`Error::WrongLength`] unless `out` has the right size, before any wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{BufferDesc, Config, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let desc = BufferDesc::new(4, Usage::COPY_SRC | Usage::COPY_DST).name("result");
    /// let result = gpu.create_buffer_with(&desc, &[1, 2, 3, 4])?;
    /// let readback = gpu.read_back(&result, 0, 4)?;
    /// let mut bytes = [0; 4];
    /// readback.wait_into(&mut bytes, Duration::from_secs(1))?;
    /// assert_eq!(bytes, [1, 2, 3, 4]);
    /// assert!(readback.wait_into(&mut [0; 3], Duration::ZERO).is_err());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn wait_into(&self, out: &mut [u8], timeout: Duration) -> Result<(), Error> {
        self.check_length(out)?;
        let _call = self.services.context.call();
        self.wait_complete(timeout)?;
        self.copy_to(out)
    }

    fn check_length(&self, out: &[u8]) -> Result<(), Error> {
        let (given, needed) = (out.len() as u64, self.size());
        match given == needed {
            true => Ok(()),
            false => Err(Error::WrongLength { name: self.name.clone(), needed, given }),
        }
    }

    /// Waits, and returns whether the bytes have arrived. For the C interface, which writes its memory only then.
    ///
    /// # Errors
    /// The errors of [`poll`](Self::poll).
    #[doc(hidden)]
    pub fn is_ready(&self, timeout: Duration) -> Result<bool, Error> {
        let _call = self.services.context.call();
        if timeout.is_zero() {
            return self.is_complete();
        }
        match self.wait_complete(timeout) {
            Err(Error::Timeout { .. }) => Ok(false),
            waited => waited.map(|()| true),
        }
    }

    fn wait_complete(&self, timeout: Duration) -> Result<(), Error> {
        self.services.context.clock.check().map_err(|source| self.refused(source))?;
        let begun = Instant::now();
        let late = |what| Error::Timeout { what, waited_ms: milliseconds(begun.elapsed()) };
        // A deadline beyond the clock's range means no deadline.
        let point = match self.ticket.wait_until(begun.checked_add(timeout)) {
            Progress::Submitted(point) => point,
            Progress::Discarded => return Err(self.discarded()),
            Progress::Open => return Err(late(Awaited::ReadbackSubmission)),
        };
        let context = &self.services.context;
        let left = timeout.saturating_sub(begun.elapsed());
        let waited = context.wait(&point, left);
        if !waited.map_err(|source| self.refused(source))? {
            return Err(late(Awaited::Readback));
        }
        Ok(())
    }

    fn is_complete(&self) -> Result<bool, Error> {
        let point = match self.ticket.progress() {
            Progress::Submitted(point) => point,
            Progress::Discarded => return Err(self.discarded()),
            Progress::Open => {
                self.services.context.clock.check().map_err(|source| self.refused(source))?;
                return Ok(false);
            }
        };
        let completed = self.services.context.poll().map_err(|source| self.refused(source))?;
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

    fn given_up(&self) -> Error {
        let waited = self.services.context.config.frames.shutdown_timeout;
        Error::Timeout { what: Awaited::Readback, waited_ms: milliseconds(waited) }
    }

    fn discarded(&self) -> Error {
        Error::Discarded { name: self.name.clone(), recording: self.ticket.recording.clone() }
    }

    fn refused(&self, source: DeviceError) -> Error {
        self.services.context.refused(&self.name, source)
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
        let awaited = &this.services.context.awaited;
        if let Some(progress) = this.ticket.register(task.waker()) {
            awaited.list(&this.ticket, progress);
        }
        // Polls again, for progress made before the waker was registered.
        let is_given_up = awaited.is_given_up();
        match Self::poll(this).transpose() {
            Some(outcome) => Poll::Ready(outcome),
            None if is_given_up => Poll::Ready(Err(this.given_up())),
            None => Poll::Pending,
        }
    }
}

impl<D: Device> Drop for Readback<D> {
    #[inline(never)]
    fn drop(&mut self) {
        self.services.context.unregister(self.registry_key);
        if let Some(part) = self.part.take() {
            let uses = match self.ticket.progress() {
                Progress::Open => Uses::Recordings,
                Progress::Submitted(point) => Uses::Submitted(point),
                Progress::Discarded => Uses::NONE,
            };
            self.services.readbacks.release_page(&self.services.context, part.page, uses);
        }
    }
}
