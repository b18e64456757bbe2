//! Timestamps, queries over ranges of commands, and GPU times of scopes.

use super::Commands;
use crate::device::{CommandList, Device, QueryHeapDesc, QueryKind, State, Subresource};
use crate::error::QueryRule;
use crate::list::Open;
use crate::query::{
    AnySamples, GpuTimeScope, OpenQuery, PipelineStatistics, QueryTicket, QueryValue, RecordedQueries,
    SampleCount, Slot, Timestamp,
};
use crate::{Error, Name};

/// The first index of scopes on a queue without timestamps.
const NOT_MEASURED: u32 = 1 << 31;

impl<D: Device> Commands<D> {
    /// Writes a timestamp when the GPU has finished all earlier commands. The result is available when the submission is
    /// complete.
    ///
    /// # Errors
    /// [`Error::Device`] with `Unsupported` on a queue without timestamps
    /// ([`Properties::has_queries`](crate::device::Properties::has_queries)), or a lost device; [`Error::OutOfMemory`]. API
    /// objects are created only when more queries are in flight than ever before.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{Config, Gpu, Queue, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let frame = gpu.begin_frame()?;
    /// let mut recording = frame.record(Queue::Graphics, "shadows")?;
    /// let begin = recording.write_timestamp()?;
    /// let end = recording.write_timestamp()?;
    /// frame.submit(recording)?;
    /// frame.end()?;
    /// let second = Duration::from_secs(1);
    /// println!("{:?}", end.wait(second)?.since(&begin.wait(second)?));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn write_timestamp(&mut self) -> Result<QueryTicket<D, Timestamp>, Error> {
        let slot = self.timestamp()?;
        self.ticket(slot)
    }

    /// Begins a query of the number of samples that pass the depth and stencil tests. On Vulkan a query that begins in a
    /// subpass must end in it.
    ///
    /// # Errors
    /// As [`write_timestamp`](Self::write_timestamp), on a queue without occlusion queries; [`Error::Query`] while another
    /// occlusion query is open.
    pub fn begin_occlusion(&mut self) -> Result<OpenQuery<SampleCount>, Error> {
        self.begin(QueryKind::Occlusion)
    }

    /// As [`begin_occlusion`](Self::begin_occlusion), but measures only whether any samples pass: cheaper on some GPUs, and
    /// available on every graphics queue.
    ///
    /// # Errors
    /// As [`begin_occlusion`](Self::begin_occlusion).
    pub fn begin_binary_occlusion(&mut self) -> Result<OpenQuery<AnySamples>, Error> {
        self.begin(QueryKind::BinaryOcclusion)
    }

    /// Begins a query of pipeline statistics; as [`begin_occlusion`](Self::begin_occlusion). Both kinds may be open at the same
    /// time.
    ///
    /// # Errors
    /// As [`begin_occlusion`](Self::begin_occlusion).
    pub fn begin_pipeline_statistics(&mut self) -> Result<OpenQuery<PipelineStatistics>, Error> {
        self.begin(QueryKind::PipelineStatistics)
    }

    /// Ends a query that has begun in this recording. The result is available when the submission is complete.
    ///
    /// # Errors
    /// [`Error::Query`] for a query of another recording.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{Config, Gpu, Queue, query::SampleCount, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "bounding boxes")?;
    /// let query = recording.begin_occlusion()?;
    /// // … draw the box …
    /// let ticket = recording.end_query(query)?;
    /// recording.submit()?;
    /// assert_eq!(ticket.wait(Duration::from_secs(1))?, SampleCount(0));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn end_query<V: QueryValue>(&mut self, query: OpenQuery<V>) -> Result<QueryTicket<D, V>, Error> {
        let OpenQuery { recording, slot, .. } = query;
        self.check_recording(recording)?;
        if *self.recorded().begun(slot.kind) != Some(slot) {
            return Err(self.broken(QueryRule::NotBegun));
        }
        self.open.record_pending();
        self.open.end_query(slot);
        self.ticket(slot)
    }

    /// Begins a scope whose GPU time is measured: from the completion of the commands before it to the completion of the
    /// commands before its end. The times of submitted recordings appear in [`Stats::gpu_times`](crate::Stats::gpu_times), at
    /// the end of the frame in which the manager finds that the submission is complete. Scopes can be nested. On a queue
    /// without timestamps, nothing is measured.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Device`] for a lost device.
    ///
    /// ```
    /// use tenure::{Config, Gpu, Queue, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let frame = gpu.begin_frame()?;
    /// let mut recording = frame.record(Queue::Graphics, "main")?;
    /// let scope = recording.begin_gpu_time("shadow pass")?;
    /// // … draws …
    /// recording.end_gpu_time(scope)?;
    /// let submitted = frame.submit(recording)?;
    /// gpu.wait(&submitted, std::time::Duration::from_secs(1))?;
    /// frame.end()?;
    /// let times = gpu.stats().gpu_times;
    /// assert_eq!((times[0].name.as_str(), times[0].frame), ("shadow pass", 1));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn begin_gpu_time(&mut self, name: impl Into<Name>) -> Result<GpuTimeScope, Error> {
        let name = name.into();
        let is_marked = self.services.context.markers.are_in_passes();
        self.begin_scope(name, is_marked)
    }

    /// Begins a scope. `is_marked`: it begins and ends where markers are allowed.
    #[inline(never)]
    pub(crate) fn begin_scope(&mut self, name: Name, is_marked: bool) -> Result<GpuTimeScope, Error> {
        let context = &self.services.context;
        let marked = self.open.marks.as_ref().filter(|_| is_marked).map(|_| name.clone());
        let index = if self.measures() {
            let frame = context.current_frame();
            let slot = self.timestamp()?;
            self.recorded().begin_scope(name, frame, slot)
        } else {
            NOT_MEASURED.saturating_add(self.recorded().begin_unmeasured())
        };
        if let Some(name) = marked {
            self.open.mark_begin(&name, Some(index));
        }
        Ok(GpuTimeScope { recording: self.id, index })
    }

    /// Ends a scope of this recording.
    ///
    /// # Errors
    /// As [`begin_gpu_time`](Self::begin_gpu_time); [`Error::Query`] for a scope of another recording, or one that has ended.
    #[inline(never)]
    pub fn end_gpu_time(&mut self, scope: GpuTimeScope) -> Result<(), Error> {
        let GpuTimeScope { recording, index } = scope;
        self.check_recording(recording)?;
        if self.measures() {
            if !self.recorded().is_open(index) {
                return Err(self.broken(QueryRule::NotBegun));
            }
            let slot = self.timestamp()?;
            self.recorded().end_scope(index, slot);
        } else if !index.checked_sub(NOT_MEASURED).is_some_and(|index| self.recorded().end_unmeasured(index))
        {
            return Err(self.broken(QueryRule::NotBegun));
        }
        self.open.mark_end(Some(index));
        Ok(())
    }

    /// Measures the GPU time of the commands recorded by `record`; as [`begin_gpu_time`](Self::begin_gpu_time).
    ///
    /// # Errors
    /// As [`begin_gpu_time`](Self::begin_gpu_time); the errors of `record`.
    ///
    /// ```
    /// # use tenure::{Config, Error, Gpu, Queue, sim};
    /// # let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "main")?;
    /// recording.gpu_time("shadow pass", |commands| {
    ///     commands.gpu_time("cascade 0", |_| Ok::<_, Error>(()))
    /// })?;
    /// recording.submit()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn gpu_time<R, E: From<Error>>(
        &mut self,
        name: impl Into<Name>,
        record: impl FnOnce(&mut Self) -> Result<R, E>,
    ) -> Result<R, E> {
        let scope = self.begin_gpu_time(name)?;
        let recorded = record(self);
        let ended = self.end_gpu_time(scope);
        let recorded = recorded?;
        ended?;
        Ok(recorded)
    }

    /// Whether the recording has markers.
    pub(crate) fn is_marked(&self) -> bool {
        self.open.marks.is_some()
    }

    /// Whether the queue has timestamps.
    fn measures(&self) -> bool {
        self.services.context.device().properties().has_queries(QueryKind::Timestamp, self.queue)
    }

    #[inline(never)]
    fn begin<V: QueryValue>(&mut self, kind: QueryKind) -> Result<OpenQuery<V>, Error> {
        if let Some(begun) = self.open.begun(kind) {
            return Err(self.broken(QueryRule::AlreadyBegun { kind, begun }));
        }
        let slot = self.take_slot(kind)?;
        self.open.record_pending();
        self.open.begin_query(slot);
        Ok(OpenQuery::new(self.id, slot))
    }

    #[inline]
    pub(super) fn ticket<V: QueryValue>(&mut self, slot: Slot) -> Result<QueryTicket<D, V>, Error> {
        let what = "a query of a recording is in none of its chunks";
        let queries = self.open.queries.as_mut();
        let lease = queries.and_then(|queries| queries.lease(slot, self.id, &self.services.queries));
        Ok(QueryTicket::new(lease.ok_or(Error::Internal { what })?, slot.query))
    }

    #[inline]
    fn timestamp(&mut self) -> Result<Slot, Error> {
        let slot = self.take_slot(QueryKind::Timestamp)?;
        self.open.record_pending();
        self.open.write_timestamp(slot);
        Ok(slot)
    }

    #[inline]
    fn recorded(&mut self) -> &mut RecordedQueries<D> {
        self.open.queries.get_or_insert_with(|| self.services.queries.store.take_recorded())
    }

    #[inline]
    pub(super) fn take_slot(&mut self, kind: QueryKind) -> Result<Slot, Error> {
        match self.recorded().next(kind) {
            Some(slot) => Ok(slot),
            None => self.take_chunk(kind),
        }
    }

    /// A query of an additional chunk.
    #[cold]
    #[inline(never)]
    fn take_chunk(&mut self, kind: QueryKind) -> Result<Slot, Error> {
        let (queue, name) = (self.queue, self.name.clone());
        let services = self.services.clone();
        let (context, store) = (&services.context, &services.queries.store);
        let _call = context.call();
        context.clock.check().map_err(|source| Error::device(&name, source))?;
        let needed = QueryHeapDesc { kind, queue, count: 1 };
        let checked = context.device().properties().check_query_heap(&needed);
        checked.map_err(|source| Error::device(&name, source))?;
        if let Some(chunk) = store.take(context, kind, queue, &name) {
            self.recorded().add(chunk);
        } else {
            let mut heap = store.create_heap(context, &*services, kind, queue)?;
            if context.device().properties().queries.must_reset {
                let reset = |list: &mut D::List| list.reset_queries(heap.raw(), 0, heap.count());
                match services.lists.submit_one(context, queue, reset) {
                    Ok(serial) => heap.set_reset(serial),
                    Err(source) => {
                        // The commands were refused, so they never run.
                        store.destroy_heap(context, heap);
                        return Err(context.refused(&name, source));
                    }
                }
            }
            let chunk = store.add(heap, &name);
            self.recorded().add(chunk);
        }
        let what = "a new chunk of queries is full";
        self.recorded().next(kind).ok_or(Error::Internal { what })
    }

    fn check_recording(&self, begun_in: crate::RecordingId) -> Result<(), Error> {
        match begun_in == self.id {
            true => Ok(()),
            false => Err(self.broken(QueryRule::OtherRecording { begun_in })),
        }
    }

    fn broken(&self, rule: QueryRule) -> Error {
        Error::Query { recording: self.name.clone(), id: self.id, rule }
    }

    /// Ends the queries of the recording before its submission: open scopes end here.
    ///
    /// # Errors
    /// [`Error::Query`] for a query that has not ended.
    pub(super) fn end_queries(&mut self) -> Result<(), Error> {
        let Some(queries) = &mut self.open.queries else { return Ok(()) };
        if let Some(Slot { kind, .. }) = queries.first_begun() {
            return Err(self.broken(QueryRule::NotEnded { kind }));
        }
        if queries.has_open_scopes() {
            let slot = self.timestamp()?;
            self.recorded().end_scopes(slot);
        }
        self.open.resolve_queries()
    }
}

impl<D: Device> Open<D> {
    /// The kind of the open query in the same unit as `kind`, if there is one.
    fn begun(&mut self, kind: QueryKind) -> Option<QueryKind> {
        self.queries.as_mut().and_then(|queries| *queries.begun(kind)).map(|slot| slot.kind)
    }

    #[inline]
    fn write_timestamp(&mut self, slot: Slot) {
        let (list, queries) = self.list_and_queries();
        if let Some(chunk) = queries.and_then(|queries| queries.chunk(slot)) {
            list.write_timestamp(chunk.heap().raw(), chunk.index(slot.query));
        }
    }

    fn begin_query(&mut self, slot: Slot) {
        let (list, Some(queries)) = self.list_and_queries() else { return };
        *queries.begun(slot.kind) = Some(slot);
        if let Some(chunk) = queries.chunk(slot) {
            list.begin_query(chunk.heap().raw(), chunk.index(slot.query));
        }
    }

    #[inline(never)]
    fn end_query(&mut self, slot: Slot) {
        let (list, Some(queries)) = self.list_and_queries() else { return };
        *queries.begun(slot.kind) = None;
        if let Some(chunk) = queries.chunk(slot) {
            list.end_query(chunk.heap().raw(), chunk.index(slot.query));
        }
    }

    /// Copies all results to readback memory.
    fn resolve_queries(&mut self) -> Result<(), Error> {
        let Some(queries) = self.queries.take() else { return Ok(()) };
        let resolved = self.resolve(&queries);
        self.queries = Some(queries);
        resolved
    }

    fn resolve(&mut self, queries: &RecordedQueries<D>) -> Result<(), Error> {
        for used in queries.used() {
            let required = self.require(&used.chunk.tracked(), Subresource::All, State::COPY_DST);
            required.map_err(|source| Error::State { name: Name::from("queries"), source })?;
        }
        self.record_pending();
        for used in queries.used() {
            let (heap, (results, offset)) = (used.chunk.heap().raw(), used.chunk.results());
            self.list().resolve_queries(heap, used.chunk.index(0), used.count, results, offset);
        }
        Ok(())
    }
}
