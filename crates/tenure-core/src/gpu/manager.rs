//! The manager's entry point, [`Gpu`].

use std::any::Any;
use std::ops::Range;
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
use crate::service::Service as _;
use crate::stats::{PoolReport, StatsSources};
use crate::time::{BackPressure, SyncPoint};
use crate::whose::{AddressReport, LossReport};
use crate::{
    AccelerationStructure, AccelerationStructureDesc, Awaited, Buffer, BufferDesc, Config, Deferred, Error,
    Name, NotReleased, PageAllocator, PageAllocatorDesc, Queue, Recording, Rejected, Report, Reserved,
    ReservedDesc, Stats, Texture, TextureDesc, UploadRing, UploadRingDesc,
};

/// The memory and lifetime manager of one device.
///
/// `Send` and `Sync`: creations, drops, recordings and submissions may come from any thread at any time. A clone is another
/// handle of the same manager. Dropping the last clone waits for the GPU, for a bounded time, and reports leaks; see
/// [`shutdown`](Self::shutdown). A [deferred](Self::defer) object of the program must not keep a clone: neither would be
/// released before a `shutdown`.
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
    /// Creates the manager of a device. A device can have one manager at a time, across all of its clones, because the manager
    /// counts the submissions of each queue. The next manager can be created when the last clone of the first one and its last
    /// handle are gone; it continues the count. If the GPU did not finish the work of the first manager, no other one can be
    /// created.
    ///
    /// Two devices that a program makes from the same `VkDevice` or `ID3D12Device` have separate fences, so that each may have
    /// a manager; the rules for queues in their documentation still hold.
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

    /// The manager's id, unique in the process; clones of the handle share it.
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

    /// The number of resources that submitted recordings have bound without naming them, each counted once for each set or
    /// table, at most 4096. Each is also a warning in the log. Only with
    /// [`DescriptorConfig::report_unnamed`](crate::DescriptorConfig::report_unnamed), by default in builds with debug assertions;
    /// else 0.
    ///
    /// Bound is what a recording asks for by [`Scratch::lasting_set`](crate::Scratch::lasting_set),
    /// [`Scratch::table`](crate::Scratch::table), [`Scratch::set`](crate::Scratch::set) or
    /// [`Scratch::descriptors`](crate::Scratch::descriptors). tenure does not see what a program binds by itself: by
    /// [`DescriptorSet::block`](crate::DescriptorSet::block), [`DescriptorTable::first`](crate::DescriptorTable::first), a
    /// view's index or a GPU address. Named is a resource with a declared use anywhere in the recording, in any state; the
    /// order of uses and commands is not compared. Read-only and mapped resources need no name.
    ///
    /// ```
    /// use tenure::{
    ///     BufferDesc, BufferViewDesc, Config, DescriptorTableDesc, Gpu, Queue, ShaderStages,
    ///     Usage, config::DescriptorConfig, sim,
    /// };
    ///
    /// let config = Config::from(DescriptorConfig::default().report_unnamed(true));
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), config)?;
    /// let particles = gpu.create_buffer(&BufferDesc::new(4800, Usage::UNORDERED_ACCESS).name("particles"))?;
    /// let particles = gpu.create_buffer_view(&particles, &BufferViewDesc::structured_writable(48))?;
    /// let table = gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&particles).into()]).name("particles"))?;
    /// for is_named in [true, false] {
    ///     let mut recording = gpu.record(Queue::Graphics, "simulate")?;
    ///     let (commands, scratch) = recording.split();
    ///     commands.set_descriptor_heaps()?;
    ///     if is_named {
    ///         commands.use_table(&table, ShaderStages::NonPixel)?;
    ///     }
    ///     let _dispatch = (commands.raw(), scratch.table(&table)?.first());
    ///     recording.submit()?;
    ///     assert_eq!(gpu.unnamed_uses(), u64::from(!is_named));
    /// }
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn unnamed_uses(&self) -> u64 {
        self.shared.context.unnamed_uses.count()
    }

    /// Creates a buffer at the location that the [policy](crate::memory::policy) selects.
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

    /// As [`create_buffer`](Self::create_buffer), and hands the buffer to `put`, which stores it in its place: nothing moves it
    /// before.
    ///
    /// # Errors
    /// As [`create_buffer`](Self::create_buffer). `put` is not called.
    #[doc(hidden)]
    #[inline(never)]
    pub fn create_buffer_in<R>(
        &self,
        desc: &BufferDesc,
        put: impl FnOnce(Buffer<D>) -> R,
    ) -> Result<R, Error> {
        let _call = self.shared.call()?;
        Buffer::create_in(&self.shared.context, &*self.shared.services, desc, put)
    }

    /// Creates a texture at the location that the [policy](crate::memory::policy) selects. One API call in steady state.
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

    /// Creates an acceleration structure in a shared buffer, or in one of its own when it is large. Nothing is built yet: the
    /// program records the build itself, in a recording, with [`build_scratch`](crate::Scratch::build_scratch) and between
    /// calls of [`use_structures`](crate::Commands::use_structures).
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
    /// [`Error::Device`]: `Unsupported` naming the feature where the device lacks it; a shortage when no addresses or objects
    /// are left even after everything idle was freed.
    #[inline(never)]
    pub fn create_reserved(&self, desc: &ReservedDesc) -> Result<Reserved<D>, Error> {
        let _call = self.shared.call()?;
        Reserved::create(&self.shared.services, desc)
    }

    /// Adopts a buffer that the program created, so that an engine can move to tenure piece by piece: tenure tracks its states
    /// and keeps it alive while the GPU uses it.
    ///
    /// `object` is the device's resource type wrapped around the program's own object (the device's documentation says which
    /// side destroys it); `desc` describes it, and `state` is the state of its last use. Its memory is not counted as tenure's.
    /// All work submitted with it elsewhere must be complete, or precede tenure's in the same queue.
    ///
    /// # Errors
    /// [`Rejected`], with the object, for a description that no device accepts, a state that its usage forbids, or memory that
    /// cannot be mapped as [`BufferDesc::memory`] asks.
    ///
    /// ```
    /// use tenure::device::{MemoryDevice, MemoryTypeId, ResourceDesc};
    /// use tenure::{
    ///     BufferDesc, Config, Gpu, State, Usage, memory::LocationKind, resource::BufferInfo, sim,
    /// };
    ///
    /// let device = sim::Device::new(sim::Profile::DISCRETE);
    /// let info = BufferInfo::new(4096, Usage::VERTEX);
    /// let own = device.create_committed(&ResourceDesc::Buffer(info), MemoryTypeId(0))?;
    ///
    /// let gpu = Gpu::new(device, Config::default())?;
    /// let desc = BufferDesc::new(4096, Usage::VERTEX).usage(Usage::VERTEX);
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

    /// As [`adopt_buffer`](Self::adopt_buffer), with an owner of the program's memory that holds the buffer. `owner` is dropped
    /// after the buffer was destroyed, at the same points as [deferred](Self::defer) objects: by an end of a frame or a reclaim,
    /// never inside a creation. When the buffer is rejected, `owner` is dropped at once, and a panic of its destructor is
    /// logged.
    ///
    /// The program may read the memory through its own pointer: bytes that a submission writes are visible to the CPU
    /// when the submission is complete.
    ///
    /// # Errors
    /// As [`adopt_buffer`](Self::adopt_buffer).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::device::{MemoryDevice, MemoryTypeId, ResourceDesc};
    /// use tenure::{BufferDesc, Config, Gpu, State, Usage, resource::BufferInfo, sim};
    ///
    /// let device = sim::Device::new(sim::Profile::DISCRETE);
    /// let info = BufferInfo::new(4096, Usage::VERTEX);
    /// let own = device.create_committed(&ResourceDesc::Buffer(info), MemoryTypeId(0))?;
    ///
    /// let gpu = Gpu::new(device, Config::default())?;
    /// let file = Arc::new("a mapped file");
    /// let desc = BufferDesc::new(4096, Usage::VERTEX).usage(Usage::VERTEX);
    /// let adopted = gpu.adopt_buffer_in(file.clone(), own, &desc, State::COMMON)?;
    /// drop(adopted);
    /// gpu.reclaim()?;
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

    /// Adopts a texture that the program created, as [`adopt_buffer`](Self::adopt_buffer) does. `state` is the state of all its
    /// subresources; [`State::COMMON`] on Vulkan: undefined contents. On Direct3D 12 with legacy barriers, a target must have
    /// been cleared, discarded or copied to since it was created, or must be before any other use: tenure cannot know whether
    /// it has contents.
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
        Texture::adopt(&self.shared.context, object, desc, state, None)
    }

    /// As [`adopt_texture`](Self::adopt_texture), with an owner as in [`adopt_buffer_in`](Self::adopt_buffer_in): it is dropped when
    /// nothing uses the texture and its views any more. When the texture is rejected, it is dropped as well: an owner that destroys
    /// the program's object must do so only after a success.
    ///
    /// # Errors
    /// As [`adopt_buffer`](Self::adopt_buffer).
    pub fn adopt_texture_in(
        &self,
        owner: impl Any + Send + Sync,
        object: D::Resource,
        desc: &TextureDesc,
        state: State,
    ) -> Result<Texture<D>, Rejected<D>> {
        Texture::adopt(&self.shared.context, object, desc, state, Some(Box::new(owner)))
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
    /// As [`create_buffer`](Self::create_buffer); [`Error::Device`] for a size of 0 or one that is not aligned, memory that is
    /// not for uploads, or a usage with GPU writes.
    #[inline(never)]
    pub fn create_upload_ring(&self, desc: &UploadRingDesc) -> Result<UploadRing<D>, Error> {
        let _call = self.shared.call()?;
        UploadRing::create(&self.shared.services, desc)
    }

    /// Wraps any object, so that dropping it puts it into the release queue. Never refused, not even after a
    /// [`shutdown`](Self::shutdown): an open recording may still be submitted, and use it.
    pub fn defer<T: Send + 'static>(&self, name: impl Into<Name>, value: T) -> Deferred<D, T> {
        Deferred::new(&self.shared.context, &name.into(), value)
    }

    /// Keeps a value until `point` is complete, then drops it. Unlike a [`Deferred`], it waits for nothing else: `point` must
    /// cover all uses.
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

    /// Opens a recording, inside or outside a frame, on any thread. `name` appears in reports about a recording that was left
    /// open; a literal costs nothing.
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

    /// Creates command lists ahead of time: enough for `count` recordings of a queue to be open or on the GPU at once.
    ///
    /// A frame needs the number of its recordings on the queue, times the frames in flight. The end of a frame that submits
    /// more to a queue than any before creates that number by itself, up to 64 a queue. Call this to have them before the first
    /// frame, or to have more. Beyond that, lists are created on first need, when the GPU falls further behind than before.
    /// O(`count`).
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
    /// [`Error::Timeout`] when the GPU does not keep up, [`Error::TooManyFrames`] when the maximum of frames have begun and not
    /// ended, [`Error::Device`] when the device is lost; then no frame has begun.
    #[inline(never)]
    pub fn begin_frame(&self) -> Result<Frame<D>, Error> {
        let _call = self.shared.call()?;
        let context = &self.shared.context;
        let mut has_waited = false;
        loop {
            let completed = context.poll()?;
            if has_waited {
                // Before this frame takes memory of its own: the wait has freed some.
                context.reclaim_memory();
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

    /// The sync point of all submissions so far.
    #[must_use]
    pub fn submitted(&self) -> SyncPoint {
        self.shared.context.clock.submitted()
    }

    /// Queries the progress of the GPU. Never blocks.
    ///
    /// # Errors
    /// [`Error::Device`] when it is lost.
    #[inline(never)]
    pub fn completed(&self) -> Result<SyncPoint, Error> {
        let _call = self.shared.context.call();
        Ok(self.shared.context.poll()?)
    }

    /// Blocks until `point` is complete or the timeout expires; true when it is complete. Releases all memory that the GPU has
    /// finished with, but not the program's deferred objects.
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

    /// Submits the pending uploads, queries the progress of the GPU and releases everything it has finished with. The end of a
    /// frame does this; call it in programs without frames, where otherwise every 16th submission of a queue and full memory
    /// blocks release objects, except the [deferred](Self::defer) ones. There, each reclaim after a submission counts as a frame
    /// for the lifetime of transient resources, and each reclaim counts as one for the age of a budget query. Empty memory blocks
    /// and pages do not age there: [`trim`](Self::trim) releases them, and a new peak of memory some of the blocks.
    ///
    /// Pending uploads count as an open recording, and would hold back everything dropped since.
    ///
    /// # Errors
    /// [`Error::Device`] when the device is lost; then everything dropped is released, too. The errors of
    /// [`flush_uploads`](Self::flush_uploads), after everything possible was released.
    ///
    /// # Panics
    /// With the panic of a deferred object's own destructor, after everything else was released.
    #[inline(never)]
    pub fn reclaim(&self) -> Result<(), Error> {
        let _call = self.shared.context.call();
        let flushed = self.shared.services.flush_pending_uploads();
        let (polled, panicked) = self.shared.poll_and_reclaim();
        self.shared.services.transients.end_reclaim();
        let is_frame = self.shared.context.current_frame() == 0;
        if is_frame {
            self.shared.services.queries.end_frame(&self.shared.context);
            self.shared.context.pools.objects.end_reclaim(self.shared.context.device());
        }
        let pressure = || if is_frame { self.watch_pressure() } else { Panicked::none() };
        panicked.or_else(pressure).resume();
        polled?;
        flushed
    }

    /// Frees idle blocks at once, instead of after the configured frames; an empty pool keeps its last block for that long.
    /// Frees all unused descriptor heaps and pools of sets, all unused transient heaps and transient resources with dedicated
    /// memory, idle pages for uploads, readbacks and constants, and query heaps without queries in use. Before that, submits
    /// pending uploads, and releases everything the GPU has finished with, but not the program's deferred objects.
    #[inline(never)]
    pub fn trim(&self) {
        let _call = self.shared.context.call();
        // After a refusal for lack of memory they stay pending, and the next submission reports it. After any other refusal
        // their `Upload` has the error.
        let _told_later = self.shared.services.flush_pending_uploads();
        self.shared.context.poll_clock();
        self.shared.services.trim();
        self.shared.services.transients.trim();
        // After all steps that put objects into the release queue.
        self.shared.context.reclaim_now();
        let _reclaiming = self.shared.context.begin_reclaim();
        self.shared.context.pools.trim(self.device());
        self.shared.context.descriptors.trim(self.device());
    }

    /// True while a thread releases objects that it has taken out of the release queue.
    pub(crate) fn is_reclaiming(&self) -> bool {
        self.shared.context.is_reclaiming()
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

    /// Each pool block by block, without a walk over its allocations: in O(blocks). In the order of [`Stats::pools`].
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

    /// The objects that are, or were, at a GPU address: for faults that a driver, a debugger or a capture reports. Released objects
    /// are among the last [`Config::released_history`](crate::Config::released_history) of the thread that created them.
    ///
    /// Textures have addresses on Vulkan with `DeviceConfig::address_reports`, and none on Direct3D 12. Constants, staging memory and other memory of the manager have no owner
    /// here. O(live and remembered objects); any thread may call it, also after the loss of the device.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Usage, sim, stats::AddressUse};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::VULKAN_NVIDIA), Config::default())?;
    /// let rock = gpu.create_buffer(&BufferDesc::new(4096, Usage::SHADER_READ).name("rock"))?;
    /// let address = rock.gpu_address().unwrap_or(0) + 64;
    /// drop(rock);
    ///
    /// let report = gpu.whose(address);
    /// assert!(matches!(report.owners[0].state, AddressUse::Released { frame: 0, submissions: 0 }));
    /// assert!(report.to_string().contains("byte 64 of buffer 'rock' (4096 B at"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn whose(&self, address: u64) -> AddressReport {
        self.whose_range(address..address.saturating_add(1))
    }

    /// As [`whose`](Self::whose), for each address of a range: drivers report some faults by page.
    #[must_use]
    #[inline(never)]
    pub fn whose_range(&self, addresses: Range<u64>) -> AddressReport {
        AddressReport::collect(&self.shared.context.registry, addresses)
    }

    /// The loss of the device, with the faults that the driver reports and the objects at their addresses; `None` if it is not lost,
    /// and for other threads while the first call after the loss makes the report.
    /// The report is made, and its faults are logged, when the manager first notes the loss, before the program drops its handles.
    ///
    /// Vulkan reports faults with `VK_KHR_device_fault` or `VK_EXT_device_fault` where the driver has it, Direct3D 12 with
    /// `DeviceConfig::records_faults`.
    #[must_use]
    #[inline(never)]
    pub fn loss(&self) -> Option<LossReport> {
        self.shared.context.loss().cloned()
    }

    /// Begins to record the program's allocations; once for a manager, best before anything is created. `false` when a recorder
    /// is already set.
    pub fn set_recorder(&self, recorder: Box<dyn Recorder>) -> bool {
        let context = &self.shared.context;
        context.recorder.set(recorder, context.device().properties())
    }

    /// Whether a recorder was set, so that [`set_recorder`](Self::set_recorder) would return `false`.
    #[must_use]
    pub fn has_recorder(&self) -> bool {
        self.shared.context.recorder.is_set()
    }

    /// Waits for the GPU, for a bounded time, releases everything and reports leaks.
    ///
    /// Affects all clones: afterwards, calls that create objects, begin a frame, record or upload return [`Error::ShutDown`].
    /// Live handles stay valid, and are released when they are dropped; an open recording can still be submitted, and a frame
    /// ended. The device itself is released with the last clone and the last handle. A second call waits for the submissions
    /// since the first, and reports the remaining leaks.
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
