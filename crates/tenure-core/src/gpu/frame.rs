//! Frames: the unit of recycling. Execution of render graphs in a frame.

use std::sync::Arc;

use super::Gpu;
use crate::command::submit_all;
use crate::context::Panicked;
use crate::device::Device;
use crate::execute::{Resources, execute};
use crate::time::SyncPoint;
use crate::transient_heaps::graph::{Compiled, Graph, PassId};
use crate::{Error, Name, Queue, Recording, SubmitAllError};

/// A frame that has begun. Dropping it ends it, too.
///
/// At its end the release queue is reclaimed, idle blocks age, and its submissions count toward the
/// frames in flight.
#[must_use = "a frame ends when it is dropped"]
pub struct Frame<D: Device> {
    gpu: Gpu<D>,
    number: u64,
    has_ended: bool,
}

debug_fields!([D: Device] Frame<D>, "Frame", this, number: this.number, gpu: this.gpu);

impl<D: Device> Frame<D> {
    pub(super) const fn new(gpu: Gpu<D>, number: u64) -> Self {
        Self { gpu, number, has_ended: false }
    }

    /// Its number, from 1.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Opens a recording; as [`Gpu::record`].
    ///
    /// # Errors
    /// As [`Gpu::record`].
    pub fn record(&self, queue: Queue, name: impl Into<Name>) -> Result<Recording<D>, Error> {
        self.gpu.record(queue, name)
    }

    /// Submits a recording; as [`Recording::submit`].
    ///
    /// # Errors
    /// As [`Recording::submit`]; [`Error::Foreign`] for a recording of another manager, which is
    /// discarded.
    #[inline(never)]
    pub fn submit(&self, mut recording: Recording<D>) -> Result<SyncPoint, Error> {
        if !Arc::ptr_eq(recording.context(), &self.gpu.shared.context) {
            return Err(Error::Foreign { name: recording.name().clone() });
        }
        recording.submit_in_place()
    }

    /// Submits recordings as if one after the other, in one submission of the device for each queue where possible: the driver is
    /// called once (`vkQueueSubmit2`, `ExecuteCommandLists`), and barriers in front of recordings are gathered where no recording
    /// in between uses their resources. Returns the sync point of each recording, in the order given. Recordings in one submission
    /// complete together.
    ///
    /// A new submission begins where a recording waits for another queue, or needs a barrier that only another queue can record,
    /// where an external semaphore or fence is waited for or was signalled, and where resources of
    /// [evictable](crate::BufferDesc::evictable) memory are not resident together. A recording of one queue comes before an
    /// earlier one of another queue only if they share no resource that one of them changes or hands to a peer, no external point
    /// and no transient memory. At most 64 recordings share a submission. Pending uploads are submitted first, unless there is no
    /// recording.
    ///
    /// Allocates memory for the result and for O(1) data of each recording.
    ///
    /// # Errors
    /// [`SubmitAllError`] with the first error of [`submit`](Self::submit), and the sync points of the recordings that were
    /// submitted: those before the refused one, and later ones that came before it on another queue. All others are discarded.
    /// Recordings in a submission that the driver refuses are discarded together.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Queue, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let desc = BufferDesc::new(256, Usage::COPY_SRC | Usage::COPY_DST).own_resource();
    /// let buffers = (0..4).map(|_| gpu.create_buffer(&desc)).collect::<Result<Vec<_>, _>>()?;
    /// gpu.upload(&buffers[0], 0, &[7; 256])?;
    ///
    /// let frame = gpu.begin_frame()?;
    /// let mut passes = Vec::new();
    /// for pair in buffers.windows(2) {
    ///     let mut pass = frame.record(Queue::Graphics, "pass")?;
    ///     pass.copy_buffer(&pair[0], 0, &pair[1], 0, 256)?;
    ///     passes.push(pass);
    /// }
    /// let points = frame.submit_all(passes)?;
    /// assert_eq!((points.len(), points[0]), (3, points[2]));
    /// frame.end()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn submit_all(&self, recordings: Vec<Recording<D>>) -> Result<Vec<SyncPoint>, SubmitAllError> {
        submit_all(&self.gpu.shared.services, recordings)
    }

    /// Fails for a recording of another manager. For the C interface, which checks all recordings before it takes the first.
    ///
    /// # Errors
    /// [`Error::Foreign`].
    #[doc(hidden)]
    pub fn check_recording(&self, recording: &Recording<D>) -> Result<(), Error> {
        match Arc::ptr_eq(recording.context(), &self.gpu.shared.context) {
            true => Ok(()),
            false => Err(Error::Foreign { name: recording.name().clone() }),
        }
    }

    /// Records and submits the passes of a graph. `record` is called for each pass, in a valid order of execution, with the
    /// recording of the pass and the resources that the pass declared, each in its declared state. Returns the sync point that
    /// completes all passes.
    ///
    /// Consecutive passes of a queue share a recording as long as no other queue has to wait in between. The memory of
    /// resources is handed on from pass to pass, with only the barriers that this needs; resources in use on different queues
    /// at the same time share no memory. The first pass that uses a resource finds it with undefined contents.
    ///
    /// The plan is made when the graph is new, and kept for graphs that are equal. In steady state
    /// nothing is created and no plan is made; a frame costs O(passes, uses and resources).
    ///
    /// # Errors
    /// As [`Gpu::plan_graph`]; [`Error::OutOfMemory`]; the errors of [`Gpu::record`], [`Recording::submit`] and `record`. The
    /// current recording is discarded then; earlier ones have been submitted.
    pub fn execute<E: From<Error>>(
        &self,
        graph: &Graph,
        record: impl FnMut(PassId, &mut Recording<D>, &Resources<'_, D>) -> Result<(), E>,
    ) -> Result<SyncPoint, E> {
        let _call = self.gpu.shared.call()?;
        execute(&self.gpu.shared.services, graph, record)
    }

    /// Ends the frame and submits pending uploads.
    ///
    /// # Errors
    /// [`Error::Device`] when the device is lost; the errors of [`Gpu::flush_uploads`]. The frame has ended all the same.
    ///
    /// # Panics
    /// As [`Gpu::reclaim`]; with the panic of the listener for [pressure](Gpu::on_pressure), or of the recorder of metrics.
    #[inline(never)]
    pub fn end(mut self) -> Result<(), Error> {
        self.has_ended = true;
        let shared = self.gpu.shared.clone();
        let context = &shared.context;
        let _call = context.call();
        let flushed = self.gpu.shared.services.flush_pending_uploads();
        context.pacer.lock().end(context.clock.submitted());
        let (polled, panicked) = shared.poll_and_reclaim();
        self.age();
        panicked.or_else(|| self.gpu.watch_pressure()).or_else(|| self.publish()).resume();
        polled?;
        flushed
    }

    /// Ends the frame in all caches and pools, which free objects and memory that were idle for long enough.
    fn age(&self) {
        let (context, services) = (&self.gpu.shared.context, &self.gpu.shared.services);
        services.end_frame();
        self.gpu.shared.compactor.end_frame(services);
        let reclaiming = context.begin_reclaim();
        context.pools.end_frame(context.device());
        drop(reclaiming);
        context.pools.residency.end_frame(&context.paging());
        context.descriptors.end_frame(context.device(), context.current_frame());
        services.transients.end_frame();
        let reserved = services.lists.end_frame(context.device(), context.config.frames.in_flight);
        // The next call reports a loss of the device; another error is reported by the next call that needs a
        // list.
        let _noted = context.clock.note_loss(reserved);
        context.recordings.warn_of_forgotten(self.number);
        self.gpu.shared.meter.lock().end_frame(self.number, context);
        context.recorder.end_frame(self.number);
    }

    /// Publishes the metrics, with the feature of that name.
    fn publish(&self) -> Panicked {
        #[cfg(feature = "metrics")]
        return self.gpu.publish_metrics();
        #[cfg(not(feature = "metrics"))]
        Panicked::none()
    }
}

impl<D: Device> Drop for Frame<D> {
    #[inline(never)]
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let context = &self.gpu.shared.context;
        let _call = context.call();
        // Uploads that were refused for lack of memory stay pending, and the next submission reports the error.
        let _told_later = self.gpu.shared.services.flush_pending_uploads();
        context.pacer.lock().end(context.clock.submitted());
        let (_reported_by_the_next_call, panicked) = self.gpu.shared.poll_and_reclaim();
        self.age();
        panicked.or_else(|| self.gpu.watch_pressure()).or_else(|| self.publish()).log();
    }
}

impl<D: Device> Gpu<D> {
    /// The plan of a graph: the location of each resource, the memory it takes, and the division of passes into recordings.
    /// Cached for graphs that were executed or planned before.
    ///
    /// # Errors
    /// [`Error::Graph`] for an invalid graph; [`Error::Device`] for a description that the device refuses, or a lost device.
    #[inline(never)]
    pub fn plan_graph(&self, graph: &Graph) -> Result<Arc<Compiled>, Error> {
        self.shared.services.transients.compile(graph)
    }
}
