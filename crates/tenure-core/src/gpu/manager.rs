//! The front door.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::shared::Shared;
use super::{Frame, ShutdownReport};
use crate::context::{Context, Panicked, Retired};
use crate::device::{Device, State};
use crate::duration::{milliseconds, nanoseconds};
use crate::record::Recorder;
use crate::resource::ReadbackTexture;
use crate::stats::{PoolReport, StatsSources};
use crate::time::{BackPressure, SyncPoint};
use crate::{
    AccelerationStructure, AccelerationStructureDesc, Awaited, Buffer, BufferDesc, Config, Deferred, Error,
    Name, NotReleased, PageAllocator, PageAllocatorDesc, Queue, Recording, Rejected, Report, Reserved,
    ReservedDesc, Stats, Texture, TextureDesc, UploadRing, UploadRingDesc,
};

/// The memory and lifetime manager of one device.
///
/// `Send` and `Sync`: creations, drops, recordings and submissions may come from any thread at any
/// time. A clone is another handle of the same manager. Dropping the last one waits for the GPU, for a
/// bounded time, and reports leaks; see [`shutdown`](Self::shutdown). An object of the program's own that is
/// [deferred](Self::defer) must not keep a clone: neither would go before a `shutdown`.
///
/// ```
/// use tenure::{BufferDesc, Config, Gpu, Queue, Usage, sim};
///
/// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
/// let rock = gpu.create_buffer(&BufferDesc::new(48 * 1024, Usage::VERTEX).name("rock"))?;
/// let frame = gpu.begin_frame()?;
/// let recording = frame.record(Queue::Graphics, "opaque")?;
/// drop(rock); // still alive: a recording is open that may use it
/// frame.submit(recording)?;
/// frame.end()?;
/// assert!(gpu.shutdown().leaks.is_empty());
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct Gpu<D: Device> {
    pub(super) shared: Arc<Shared<D>>,
}

debug_fields!([D: Device] Gpu<D>, "Gpu", this, device: this.device().properties().name, is_shut_down: this.shared.check_open().is_err());

impl<D: Device> Clone for Gpu<D> {
    /// Another handle of the same manager. One atomic operation.
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<D: Device> Gpu<D> {
    /// Takes charge of a device, which can have one manager at a time, however many clones of it there
    /// are: a manager counts the submissions of each queue. The next one may come when the last clone of the
    /// first and its last handle are gone, and counts on from there; never, when the GPU did not finish the
    /// first one's work.
    ///
    /// Two devices that a program makes from the same `VkDevice` or `ID3D12Device` have fences of
    /// their own, and so may have a manager each; what their documentation says about queues still holds.
    ///
    /// # Errors
    /// [`Error::DeviceInUse`] when the device has a manager, or handles of one are left;
    /// [`Error::Config`] for a field out of range, [`Error::Contract`] when the device's tables
    /// contradict the contract.
    #[inline(never)]
    pub fn new(device: D, config: Config) -> Result<Self, Error> {
        let context = Context::new(device, config)?;
        Ok(Self { shared: Arc::new(Shared::new(context)) })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &D {
        self.shared.context.device()
    }

    /// A number that no other manager of the process has; clones of the handle have the same.
    ///
    /// ```
    /// use tenure_core::{Config, Gpu};
    ///
    /// let make = || Gpu::new(tenure_sim::Device::new(tenure_sim::Profile::DISCRETE), Config::default());
    /// let (one, other) = (make()?, make()?);
    /// assert!(one.id() == one.clone().id() && one.id() != other.id());
    /// # Ok::<(), tenure_core::Error>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> u32 {
        self.shared.context.clock.id()
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.shared.context.config
    }

    /// Creates a buffer where the [policy](crate::memory::policy) says.
    ///
    /// In steady state a range of a shared buffer: O(1), no API call, no allocation.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] after the whole [fallback chain](crate::memory); [`Error::Device`] for an
    /// invalid description or a lost device. Nothing is left allocated.
    #[inline(never)]
    pub fn create_buffer(&self, desc: &BufferDesc) -> Result<Buffer<D>, Error> {
        let _call = self.shared.call()?;
        Buffer::create(&self.shared.context, &*self.shared.services, desc)
    }

    /// Creates a texture where the [policy](crate::memory::policy) says. One API call in steady
    /// state.
    ///
    /// # Errors
    /// As [`create_buffer`](Self::create_buffer).
    #[inline(never)]
    pub fn create_texture(&self, desc: &TextureDesc) -> Result<Texture<D>, Error> {
        let _call = self.shared.call()?;
        Texture::create(&self.shared.context, &*self.shared.services, desc)
    }

    /// Creates a texture for the CPU to read: a readback buffer with the right row pitch.
    ///
    /// # Errors
    /// As [`create_buffer`](Self::create_buffer).
    #[inline(never)]
    pub fn create_readback_texture(&self, desc: &TextureDesc) -> Result<ReadbackTexture<D>, Error> {
        let _call = self.shared.call()?;
        ReadbackTexture::create(&self.shared.context, &*self.shared.services, desc)
    }

    /// Creates an acceleration structure in a buffer that others share, or in one of its own when it is
    /// large. Nothing is built yet: the program records that itself, in a recording, with
    /// [`build_scratch`](crate::Scratch::build_scratch) and between
    /// [`use_structures`](crate::Commands::use_structures).
    ///
    /// # Errors
    /// As [`create_buffer`](Self::create_buffer); [`Error::Device`] with `Unsupported` on a device without
    /// acceleration structures.
    ///
    /// ```
    /// use tenure::{AccelerationStructureDesc, Config, Gpu, Queue, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = gpu.create_acceleration_structure(&AccelerationStructureDesc::bottom(4096).name("rock"))?;
    /// let world = gpu.create_acceleration_structure(&AccelerationStructureDesc::top(8192).name("world"))?;
    /// let mut recording = gpu.record(Queue::Graphics, "build")?;
    /// // On Vulkan and Direct3D 12 these are the API's own commands, with the scratch's GPU address.
    /// recording.use_structures([&rock])?;
    /// let (commands, scratch) = recording.split();
    /// let room = scratch.build_scratch(1024)?;
    /// commands.raw().build_acceleration_structure(rock.raw(), (room.raw(), room.offset(), 1024), 2000, &[]);
    ///
    /// commands.use_structures([&rock, &world])?;
    /// let room = scratch.build_scratch(1024)?;
    /// let instances = [rock.raw()];
    /// commands.raw().build_acceleration_structure(
    ///     world.raw(),
    ///     (room.raw(), room.offset(), 1024),
    ///     8192,
    ///     &instances,
    /// );
    ///
    /// commands.use_structures([&world])?;
    /// commands.raw().trace_rays(world.raw());
    /// recording.submit()?;
    /// # drop((rock, world));
    /// # let device = gpu.device().clone();
    /// # drop(gpu);
    /// # device.check_clean().expect("nothing is wrong, nothing is left");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn create_acceleration_structure(
        &self,
        desc: &AccelerationStructureDesc,
    ) -> Result<AccelerationStructure<D>, Error> {
        let _call = self.shared.call()?;
        AccelerationStructure::create(&self.shared.context, &*self.shared.services, desc)
    }

    /// Creates a reserved (sparse) resource, without memory.
    ///
    /// # Errors
    /// [`Error::Device`]: `Unsupported` naming the feature where the device lacks it, a shortage
    /// when there is none of addresses or objects even after giving back what is done with.
    #[inline(never)]
    pub fn create_reserved(&self, desc: &ReservedDesc) -> Result<Reserved<D>, Error> {
        let _call = self.shared.call()?;
        Reserved::create(&self.shared.services, desc)
    }

    /// Takes a buffer that the program made into tenure's care, so that an engine can adopt tenure
    /// piece by piece: its states are followed, and it outlives the GPU's use.
    ///
    /// `object` is the device's resource type wrapped around the program's own object (see the
    /// device's documentation, also for who destroys it in the end); `desc` says what it is, and
    /// `state` how it was last used. Its memory is not counted as tenure's. All work submitted with
    /// it elsewhere is complete, or comes before tenure's in the same queue.
    ///
    /// # Errors
    /// [`Rejected`], with the object, for a description that no device accepts, a state that its
    /// usage forbids, or memory that cannot be mapped as [`BufferDesc::memory`] asks.
    ///
    /// ```
    /// use tenure::device::{Device, MemoryTypeId, ResourceDesc};
    /// use tenure::{BufferDesc, BufferInfo, Config, Gpu, LocationKind, State, Usage, sim};
    ///
    /// let device = sim::Device::new(sim::Profile::DISCRETE);
    /// let info = BufferInfo { size: 4096, usage: Usage::VERTEX };
    /// let own = device.create_committed(&ResourceDesc::Buffer(info), MemoryTypeId(0))?;
    ///
    /// let gpu = Gpu::new(device, Config::default())?;
    /// let desc = BufferDesc { usage: Usage::VERTEX, ..BufferDesc::new(4096, Usage::VERTEX) };
    /// let adopted = gpu.adopt_buffer(own, &desc.name("terrain"), State::COMMON)?;
    /// assert_eq!(adopted.location(), LocationKind::Adopted);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(never)]
    pub fn adopt_buffer(
        &self,
        object: D::Resource,
        desc: &BufferDesc,
        state: State,
    ) -> Result<Buffer<D>, Rejected<D>> {
        Buffer::adopt(&self.shared.context, object, desc, state, None)
    }

    /// As [`adopt_buffer`](Self::adopt_buffer), with what keeps the program's memory that the buffer is in. `owner` is
    /// dropped when the buffer has been destroyed, as what was [deferred](Self::defer) is: by an end of a frame or a purge,
    /// never inside a creation. When the buffer is rejected, it is dropped at once, and a panic of its destructor is logged.
    ///
    /// The program may read the memory through its own pointer: bytes that a submission writes are visible to the CPU
    /// when the submission is complete.
    ///
    /// # Errors
    /// As [`adopt_buffer`](Self::adopt_buffer).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::device::{Device, MemoryTypeId, ResourceDesc};
    /// use tenure::{BufferDesc, BufferInfo, Config, Gpu, State, Usage, sim};
    ///
    /// let device = sim::Device::new(sim::Profile::DISCRETE);
    /// let info = BufferInfo { size: 4096, usage: Usage::VERTEX };
    /// let own = device.create_committed(&ResourceDesc::Buffer(info), MemoryTypeId(0))?;
    ///
    /// let gpu = Gpu::new(device, Config::default())?;
    /// let file = Arc::new("a mapped file");
    /// let desc = BufferDesc { usage: Usage::VERTEX, ..BufferDesc::new(4096, Usage::VERTEX) };
    /// let adopted = gpu.adopt_buffer_in(file.clone(), own, &desc, State::COMMON)?;
    /// drop(adopted);
    /// gpu.purge()?;
    /// assert_eq!(Arc::strong_count(&file), 1, "the buffer is gone, and its share in the file");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn adopt_buffer_in(
        &self,
        owner: impl Any + Send + Sync,
        object: D::Resource,
        desc: &BufferDesc,
        state: State,
    ) -> Result<Buffer<D>, Rejected<D>> {
        Buffer::adopt(&self.shared.context, object, desc, state, Some(Box::new(owner)))
    }

    /// Takes a texture that the program made into tenure's care, as
    /// [`adopt_buffer`](Self::adopt_buffer) does. `state` is that of all its subresources;
    /// [`State::COMMON`] on Vulkan: it has no contents. On Direct3D 12 with legacy barriers a target has been cleared,
    /// discarded or copied to since it was created, or is so before any other use: nothing here knows whether it has
    /// contents.
    ///
    /// # Errors
    /// As [`adopt_buffer`](Self::adopt_buffer).
    #[inline(never)]
    pub fn adopt_texture(
        &self,
        object: D::Resource,
        desc: &TextureDesc,
        state: State,
    ) -> Result<Texture<D>, Rejected<D>> {
        Texture::adopt(&self.shared.context, object, desc, state)
    }

    /// Creates a page allocator. Takes no memory yet.
    #[must_use]
    #[inline(never)]
    pub fn create_pages(&self, desc: &PageAllocatorDesc) -> PageAllocator<D> {
        PageAllocator::new(&self.shared.services, desc)
    }

    /// Creates an upload ring.
    ///
    /// # Errors
    /// As [`create_buffer`](Self::create_buffer); [`Error::Device`] for a size of 0 or one that is not
    /// aligned, memory that is not for uploads, or a usage in which the GPU writes.
    #[inline(never)]
    pub fn create_upload_ring(&self, desc: &UploadRingDesc) -> Result<UploadRing<D>, Error> {
        let _call = self.shared.call()?;
        UploadRing::create(&self.shared.services, desc)
    }

    /// Puts any object under the care of the release queue. Never refused, also not after a
    /// [`shutdown`](Self::shutdown): a recording that is open may be submitted later still, and use it.
    pub fn defer<T: Send + 'static>(&self, name: impl Into<Name>, value: T) -> Deferred<D, T> {
        Deferred::new(&self.shared.context, &name.into(), value)
    }

    /// Keeps a value until `point` is complete, then drops it. Unlike a [`Deferred`] it waits for
    /// nothing else: the caller knows all its uses.
    ///
    /// # Errors
    /// [`NotReleased`], with the value: [`Error::NeverSubmitted`] for a point that no submission will complete,
    /// [`Error::Foreign`] for one of another manager.
    ///
    /// ```
    /// use tenure::{Config, Gpu, sim};
    ///
    /// let make = || Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default());
    /// let (gpu, other) = (make()?, make()?);
    /// other.record(tenure::Queue::Graphics, "frame")?.submit()?;
    /// let refused = gpu.release_after("a pipeline", other.submitted()).unwrap_err();
    /// assert_eq!(refused.value, "a pipeline");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn release_after<T: Send + 'static>(&self, value: T, point: SyncPoint) -> Result<(), NotReleased<T>> {
        if let Err(error) = self.shared.context.check_submitted(&point) {
            return Err(NotReleased { error, value });
        }
        self.shared.context.releases.push_after(Retired::User(Box::new(value)), point, 0);
        Ok(())
    }

    /// Opens a recording, inside or outside a frame, on any thread. `name` shows up when it is
    /// forgotten open; a literal costs nothing.
    ///
    /// # Errors
    /// [`Error::Device`] when the driver has no list, or is lost.
    pub fn record(&self, queue: Queue, name: impl Into<Name>) -> Result<Recording<D>, Error> {
        self.open_recording(queue, name.into())
    }

    #[inline(never)]
    pub(crate) fn open_recording(&self, queue: Queue, name: Name) -> Result<Recording<D>, Error> {
        let _call = self.shared.call()?;
        Recording::open(&self.shared.services, queue.id(self.device().properties()), name)
    }

    /// Has command lists made beforehand: as many as it takes for `count` recordings of a queue to be open or
    /// on the GPU at once.
    ///
    /// What a frame needs is its recordings on the queue, times the frames in flight. The end of a frame that
    /// submits more to a queue than any before makes so many by itself, up to 64 a queue; this is for who
    /// wants them before the first frame, or more. Beyond that, lists are made when they are first needed,
    /// which is when the GPU is further behind than it has been before. O(`count`).
    ///
    /// # Errors
    /// As [`record`](Self::record); the lists that were made by then stay.
    ///
    /// ```
    /// use tenure::{Config, Gpu, Queue};
    ///
    /// let gpu = Gpu::new(tenure::sim::Device::new(tenure::sim::Profile::DISCRETE), Config::default())?;
    /// gpu.reserve_recordings(Queue::Graphics, 3)?;
    /// assert_eq!(gpu.stats().lists_created, 3);
    /// let all = (gpu.record(Queue::Graphics, "a")?, gpu.record(Queue::Graphics, "b")?);
    /// assert_eq!(gpu.stats().lists_created, 3);
    /// # drop(all);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn reserve_recordings(&self, queue: Queue, count: usize) -> Result<(), Error> {
        // All are open at once, and then dropped: their lists serve the recordings to come.
        let mut open = Vec::new();
        for _ in 0..count {
            open.push(self.record(queue, "reserved")?);
        }
        Ok(())
    }

    /// Begins a frame. Waits only while more than the configured number of frames are in flight.
    ///
    /// # Errors
    /// [`Error::Timeout`] when the GPU does not keep up, [`Error::TooManyFrames`] when that many have
    /// begun and not ended, [`Error::Device`] when the device is lost; then no frame has begun.
    #[inline(never)]
    pub fn begin_frame(&self) -> Result<Frame<D>, Error> {
        let _call = self.shared.call()?;
        let context = &self.shared.context;
        let mut has_waited = false;
        loop {
            let completed = context.poll()?;
            if has_waited {
                // Before this frame takes memory of its own: the GPU has just let go of some.
                context.purge_memory();
            }
            let point = {
                let mut pacer = context.pacer.lock();
                pacer.note_completed(&completed);
                match pacer.try_begin() {
                    Ok(number) => {
                        context.frame.fetch_max(number, Ordering::Relaxed);
                        return Ok(Frame::new(self.clone(), number));
                    }
                    Err(BackPressure::Behind(point)) => point,
                    Err(BackPressure::Open(open)) => {
                        return Err(Error::TooManyFrames { open, limit: context.config.frames.in_flight });
                    }
                }
            };
            has_waited = true;
            // Without the lock, so that frames can end meanwhile.
            let start = Instant::now();
            let is_complete = context.clock.wait(context.device(), &point, context.config.frames.timeout)?;
            let waited = start.elapsed();
            let times = context.waits.frames.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            context.waits.nanoseconds.fetch_add(nanoseconds(waited), Ordering::Relaxed);
            if times.is_power_of_two() || !is_complete {
                event!(debug, ?waited, is_complete, times, "a frame waited for an earlier one");
            }
            if !is_complete {
                return Err(Error::Timeout { what: Awaited::EarlierFrame, waited_ms: milliseconds(waited) });
            }
        }
    }

    /// What has been submitted so far.
    #[must_use]
    pub fn submitted(&self) -> SyncPoint {
        self.shared.context.clock.submitted()
    }

    /// Asks how far the GPU is. Never blocks.
    ///
    /// # Errors
    /// [`Error::Device`] when it is lost.
    #[inline(never)]
    pub fn completed(&self) -> Result<SyncPoint, Error> {
        let _call = self.shared.context.call();
        Ok(self.shared.context.poll()?)
    }

    /// Blocks until `point` is complete or the time is over; true when it is complete. Gives back what the GPU is done
    /// with, except for objects of the program's own.
    ///
    /// # Errors
    /// [`Error::NeverSubmitted`] for a point that no submission will complete, [`Error::Foreign`] for
    /// one of another manager; [`Error::Device`] when the device is lost.
    #[inline(never)]
    pub fn wait(&self, point: &SyncPoint, timeout: Duration) -> Result<bool, Error> {
        let _call = self.shared.context.call();
        self.shared.context.check_submitted(point)?;
        Ok(self.shared.context.wait(point, timeout)?)
    }

    /// Submits the uploads that are pending, asks how far the GPU is and gives back what it is done with.
    /// The end of a frame does this; call it where there are no frames. There, a purge after submissions
    /// counts as a frame for how long transient resources are kept, and each one for how long a budget is used. Empty
    /// memory blocks and pages do not age there: [`trim`](Self::trim) gives them back.
    ///
    /// What is pending counts as an open recording, and would hold back whatever was dropped since.
    ///
    /// # Errors
    /// [`Error::Device`] when the device is lost; then everything dropped is given back, too. Those of
    /// [`flush_uploads`](Self::flush_uploads), after all that can be was given back.
    ///
    /// # Panics
    /// With the panic of a deferred object's own destructor, after all else was given back.
    #[inline(never)]
    pub fn purge(&self) -> Result<(), Error> {
        let _call = self.shared.context.call();
        let flushed = self.shared.services.flush_pending_uploads();
        let (polled, panicked) = self.shared.poll_and_purge();
        self.shared.services.transients.end_purge();
        let is_frame = self.shared.context.current_frame() == 0;
        if is_frame {
            self.shared.services.queries.end_frame();
            self.shared.context.pools.objects.end_purge(self.shared.context.device());
        }
        let pressure = || if is_frame { self.watch_pressure() } else { Panicked::none() };
        panicked.or_else(pressure).resume();
        polled?;
        flushed
    }

    /// Gives idle blocks back at once instead of keeping them for the configured frames; of each pool that is
    /// empty altogether the last block is kept for that long. Heaps of descriptors and blocks of sets that nothing
    /// uses go, all of them, and all transient heaps that are not in use; so do idle pages for uploads,
    /// readbacks and constants, and heaps of queries none of which is in use. Uploads that are pending are submitted,
    /// and what the GPU is done with is given back before, but for objects of the program's own.
    #[inline(never)]
    pub fn trim(&self) {
        let _call = self.shared.context.call();
        // Refused for lack of memory they stay pending, and whoever submits next is told. After any other
        // refusal their `Upload` says so.
        let _told_later = self.shared.services.flush_pending_uploads();
        self.shared.context.poll_clock();
        self.shared.services.release_free();
        self.shared.services.transients.trim();
        // After all that puts something into the release queue.
        self.shared.context.reclaim();
        self.shared.context.pools.trim(self.device());
        self.shared.context.descriptors.trim(self.device());
    }

    /// True while a thread gives back what it has taken out of the release queue.
    pub(crate) fn is_giving_back(&self) -> bool {
        self.shared.context.is_giving_back()
    }

    fn sources(&self) -> StatsSources<'_, D> {
        StatsSources {
            context: &self.shared.context,
            lists: &self.shared.services.lists,
            descriptors: &self.shared.context.descriptors,
            queries: &self.shared.services.queries.store,
            transients: &self.shared.services.transients,
            last_frame: self.shared.meter.lock().last(),
        }
    }

    /// Counters, in O(pools). See [`Stats`].
    #[must_use]
    #[inline(never)]
    pub fn stats(&self) -> Stats {
        Stats::collect(&self.sources())
    }

    /// Each pool block by block, without a walk over what lives in them: in O(blocks). In the order of
    /// [`Stats::pools`].
    #[must_use]
    #[inline(never)]
    pub fn pool_reports(&self) -> Vec<PoolReport> {
        PoolReport::collect(&self.shared.context)
    }

    /// A detailed walk over everything. See [`Report`].
    #[must_use]
    #[inline(never)]
    pub fn report(&self) -> Report {
        Report::collect(&self.sources(), self.memory())
    }

    /// Begins to record what the program allocates; once for a manager, best before anything is
    /// created. `false` when a recorder is there already.
    pub fn set_recorder(&self, recorder: Box<dyn Recorder>) -> bool {
        self.shared.context.recorder.set(recorder)
    }

    /// Waits for the GPU, for a bounded time, gives everything back and says what was leaked.
    ///
    /// Of all clones: from then on, calls that create something, begin a frame, record or upload return
    /// [`Error::ShutDown`]. Handles that still live stay valid, and are given back when they are dropped;
    /// a recording that is open can still be submitted, and a frame ended. The device itself is let go of
    /// with the last clone and the last handle. A second call waits for what was submitted since, and
    /// says what is still left.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Error, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = gpu.create_buffer(&BufferDesc::new(48 * 1024, Usage::VERTEX).name("rock"))?;
    /// assert_eq!(gpu.shutdown().leaks.len(), 1);
    /// assert!(matches!(gpu.begin_frame(), Err(Error::ShutDown)));
    /// drop(rock);
    /// assert!(gpu.shutdown().is_clean());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn shutdown(&self) -> ShutdownReport {
        self.shared.shut_down()
    }
}
