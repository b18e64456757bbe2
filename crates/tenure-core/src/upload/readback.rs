//! Bytes on their way back from the GPU (spec U5).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::Page;
use super::shared_pages::Part;
use super::texel_data::Footprint;
use super::ticket::{Progress, Ticket};
use crate::device::{Allowed, Device, DeviceError};
use crate::gpu::{Shared, milliseconds};
use crate::registry::{ObjectKind, RecordKey};
use crate::{Error, Name};

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
/// use tenure::device::Usage;
/// use tenure::{BufferDesc, Config, Gpu};
/// use tenure::sim;
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
    shared: Arc<Shared<D>>,
}

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
        shared: &Arc<Shared<D>>,
        recording: &'static str,
        name: &Name,
        rows: Rows,
        align: u64,
    ) -> Result<Self, Error> {
        shared.clock.check().map_err(|source| Error::device(name, source))?;
        let part = shared.readbacks.reserve(shared, rows.padded(), align)?;
        let record = shared.register(name, ObjectKind::Readback, rows.tight());
        let (ticket, name) = (Arc::new(Ticket::new(recording)), name.clone());
        Ok(Self { name, ticket, part: Some(part), rows, record, shared: shared.clone() })
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
    pub fn poll(&self) -> Result<Option<Vec<u8>>, Error> {
        if self.is_complete()? { self.bytes().map(Some) } else { Ok(None) }
    }

    /// Copies the bytes to `out`, if they are there; true when they are. As [`poll`](Self::poll),
    /// without an allocation.
    ///
    /// # Errors
    /// As [`poll`](Self::poll); [`Error::OutOfRange`] unless `out` is as long as they are.
    pub fn read(&self, out: &mut [u8]) -> Result<bool, Error> {
        let (size, capacity) = (out.len() as u64, self.size());
        if size != capacity {
            return Err(Error::OutOfRange { name: self.name.clone(), offset: 0, size, capacity });
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
    pub fn wait(&self, timeout: Duration) -> Result<Vec<u8>, Error> {
        self.shared.clock.check().map_err(|source| self.refused(source))?;
        let begun = Instant::now();
        let late = |what| Error::Timeout { what, waited_ms: milliseconds(begun.elapsed()) };
        // A deadline too far for the clock is none.
        let point = match self.ticket.wait_until(begun.checked_add(timeout)) {
            Progress::Submitted(point) => point,
            Progress::Discarded => return Err(self.discarded()),
            Progress::Open => return Err(late("recording of a readback")),
        };
        let shared = &self.shared;
        let left = timeout.saturating_sub(begun.elapsed());
        let waited = shared.clock.wait(shared.device(), &point, left);
        shared.readbacks.wake(&shared.clock);
        if !waited.map_err(|source| self.refused(source))? {
            return Err(late("a readback"));
        }
        self.bytes()
    }

    fn is_complete(&self) -> Result<bool, Error> {
        let point = match self.ticket.progress() {
            Progress::Submitted(point) => point,
            Progress::Discarded => return Err(self.discarded()),
            Progress::Open => {
                self.shared.clock.check().map_err(|source| self.refused(source))?;
                return Ok(false);
            }
        };
        let completed = self.shared.poll().map_err(|source| self.refused(source))?;
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
        Error::Discarded { name: self.name.clone(), recording: self.ticket.recording }
    }

    fn refused(&self, source: DeviceError) -> Error {
        self.shared.refused(&self.name, source)
    }
}

impl<D: Device> Future for Readback<D> {
    type Output = Result<Vec<u8>, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &*self;
        if let Some(outcome) = Self::poll(this).transpose() {
            return Poll::Ready(outcome);
        }
        if this.ticket.register(context.waker()) {
            this.shared.readbacks.list(&this.ticket);
        }
        // Once more, for what happened before the waker was there.
        match Self::poll(this).transpose() {
            Some(outcome) => Poll::Ready(outcome),
            None => Poll::Pending,
        }
    }
}

impl<D: Device> Drop for Readback<D> {
    fn drop(&mut self) {
        self.shared.registry.remove(self.record);
        if let Some(part) = self.part.take() {
            self.shared.readbacks.let_go(&self.shared, part);
        }
    }
}
