//! Tickets: results that are available when the submission is complete.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::recorded::{Lease, Slot};
use super::value::{QueryValue, Timestamp};
use crate::device::{Device, DeviceError};
use crate::duration::milliseconds;
use crate::ticket::Progress;
use crate::time::RecordingId;
use crate::{Awaited, Error, Name, QueryRule};

/// An open query of a recording: [`Commands::end_query`](crate::Commands::end_query) ends it.
///
/// A recording with an open query cannot be submitted.
#[must_use = "a recording whose query has not ended is refused"]
#[derive(Debug)]
pub struct OpenQuery<V: QueryValue> {
    pub(crate) recording: RecordingId,
    pub(crate) slot: Slot,
    _value: PhantomData<fn() -> V>,
}

impl<V: QueryValue> OpenQuery<V> {
    pub(crate) const fn new(recording: RecordingId, slot: Slot) -> Self {
        Self { recording, slot, _value: PhantomData }
    }

    /// The numbers of the recording and of the query: plain values for other languages. The query must still be ended: pass
    /// both to [`from_raw`](Self::from_raw).
    #[must_use = "a recording whose query has not ended is refused"]
    pub const fn into_raw(self) -> [u64; 2] {
        let Slot { chunk, query, .. } = self.slot;
        [self.recording.get(), (chunk as u64) << 32 | query as u64]
    }

    /// A query from the values of [`into_raw`](Self::into_raw). Other values are safe: ending a query that has
    /// not begun, or that has ended, is an error.
    ///
    /// ```
    /// use tenure::{Config, Gpu, Queue, query::{OpenQuery, SampleCount}, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "main")?;
    /// let raw = recording.begin_occlusion()?.into_raw();
    /// // … draws …
    /// let ticket = recording.end_query(OpenQuery::<SampleCount>::from_raw(raw))?;
    /// assert!(recording.end_query(OpenQuery::<SampleCount>::from_raw(raw)).is_err());
    /// # drop(ticket);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub const fn from_raw([recording, query]: [u64; 2]) -> Self {
        let slot = Slot { kind: V::KIND, chunk: (query >> 32) as u32, query: query as u32 };
        Self::new(RecordingId::from_raw(recording), slot)
    }
}

/// The result of a query, available when the submission is complete.
///
/// It can be [polled](Self::poll) or [waited for](Self::wait). Dropping it is fine at any time; the query is reused once all
/// tickets of the same recording and chunk are dropped. A ticket keeps its query heap alive, and thereby the device, without
/// appearing in the report of a shutdown: drop it before a device of your own is destroyed.
#[must_use = "the result is gone with it"]
pub struct QueryTicket<D: Device, V: QueryValue> {
    query: u32,
    lease: Arc<Lease<D>>,
    _value: PhantomData<fn() -> V>,
}

impl<D: Device, V: QueryValue> QueryTicket<D, V> {
    pub(crate) const fn new(lease: Arc<Lease<D>>, query: u32) -> Self {
        Self { query, lease, _value: PhantomData }
    }

    /// The result, if it has arrived. Asks the driver, never blocks.
    ///
    /// # Errors
    /// [`Error::Discarded`] when the recording was not submitted, [`Error::Device`].
    #[inline(never)]
    pub fn poll(&self) -> Result<Option<V>, Error> {
        let context = &self.lease.service.context;
        let _call = context.call();
        let point = match self.lease.chunk.ticket.progress() {
            Progress::Submitted(point) => point,
            Progress::Discarded => return Err(self.discarded()),
            Progress::Open => {
                context.clock.check().map_err(|source| self.refused(source))?;
                return Ok(None);
            }
        };
        let completed = context.poll().map_err(|source| self.refused(source))?;
        if point.is_covered_by(&completed) { self.value().map(Some) } else { Ok(None) }
    }

    /// Blocks until the recording is submitted and complete, and returns the result.
    ///
    /// # Errors
    /// [`Error::Timeout`] when the timeout expires first, also if the recording was not submitted; the errors of
    /// [`poll`](Self::poll).
    #[inline(never)]
    pub fn wait(&self, timeout: Duration) -> Result<V, Error> {
        let context = &self.lease.service.context;
        let _call = context.call();
        context.clock.check().map_err(|source| self.refused(source))?;
        let begun = Instant::now();
        let late = |what| Error::Timeout { what, waited_ms: milliseconds(begun.elapsed()) };
        // A deadline beyond the clock's range means no deadline.
        let point = match self.lease.chunk.ticket.wait_until(begun.checked_add(timeout)) {
            Progress::Submitted(point) => point,
            Progress::Discarded => return Err(self.discarded()),
            Progress::Open => return Err(late(Awaited::QuerySubmission)),
        };
        let left = timeout.saturating_sub(begun.elapsed());
        let waited = context.wait(&point, left);
        if !waited.map_err(|source| self.refused(source))? {
            return Err(late(Awaited::Query));
        }
        self.value()
    }

    fn value(&self) -> Result<V, Error> {
        let words = self.lease.chunk.read(self.query).map_err(|source| self.refused(source))?;
        let clock =
            self.lease.service.context.device().properties().timestamp_clock(self.lease.chunk.queue());
        Ok(V::of(&words, clock))
    }

    fn discarded(&self) -> Error {
        Error::Discarded { name: name::<V>(), recording: self.lease.chunk.ticket.recording.clone() }
    }

    fn refused(&self, source: DeviceError) -> Error {
        self.lease.service.context.refused(&name::<V>(), source)
    }
}

fn name<V: QueryValue>() -> Name {
    Name::from(V::KIND.text())
}

impl<D: Device> QueryTicket<D, Timestamp> {
    /// The time since an earlier timestamp of the same queue, if both have arrived: see [`Timestamp::since`]. Asks the driver,
    /// never blocks.
    ///
    /// # Errors
    /// [`Error::Foreign`] for a timestamp of another manager; [`Error::Query`] for one of another queue; the errors of
    /// [`poll`](Self::poll).
    ///
    /// ```
    /// use tenure::{Config, Gpu, Queue, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "shadows")?;
    /// let (begin, end) = (recording.write_timestamp()?, recording.write_timestamp()?);
    /// assert_eq!(end.since(&begin)?, None);
    /// let done = recording.submit()?;
    /// gpu.wait(&done, std::time::Duration::from_secs(1))?;
    /// assert!(end.since(&begin)?.is_some_and(|time| !time.is_zero()));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn since(&self, earlier: &Self) -> Result<Option<Duration>, Error> {
        let [mine, other] = [&*self.lease, &*earlier.lease];
        if !Arc::ptr_eq(&mine.service, &other.service) {
            return Err(Error::Foreign { name: name::<Timestamp>() });
        }
        let [queue, earlier_queue] = [mine, other].map(|lease| lease.chunk.queue());
        if queue != earlier_queue {
            let rule = QueryRule::OtherQueue { queue, earlier: earlier_queue };
            return Err(Error::Query {
                recording: mine.chunk.ticket.recording.clone(),
                id: mine.recording,
                rule,
            });
        }
        let (begin, end) = (earlier.poll()?, self.poll()?);
        Ok(begin.zip(end).map(|(begin, end)| end.since(&begin)))
    }
}

impl<D: Device, V: QueryValue> fmt::Debug for QueryTicket<D, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryTicket")
            .field("kind", &V::KIND)
            .field("recording", &self.lease.chunk.ticket.recording)
            .finish_non_exhaustive()
    }
}
