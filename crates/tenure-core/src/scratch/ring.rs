//! Upload rings.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::{RingSlice, Scratch, UntypedSlice};
use crate::context::Context;
use crate::device::{Allowed, Device, DeviceError, Usage};
use crate::duration::{milliseconds, nanoseconds};
use crate::resource::{Buffer, BufferSlice};
use crate::services::Services;
use crate::staging::{Oldest, Page, RingFrames, RingStats};
use crate::time::RecordingId;
use crate::{Awaited, BufferDesc, Error, MemoryUse, Name};

/// The last ring id in the process.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// Behaviour of an [`UploadRing`] for an allocation larger than the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenTooLarge {
    /// The allocation is refused with [`Error::TooLarge`].
    #[default]
    Refuse,
    /// The allocation gets a dedicated buffer, until its submission is complete.
    Dedicate,
}

/// Description of an upload ring.
///
/// ```
/// use std::time::Duration;
/// use tenure::UploadRingDesc;
/// let vertices = UploadRingDesc::new(4 << 20).timeout(Duration::from_secs(1)).dedicate().name("vertices");
/// # let _ = vertices;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UploadRingDesc {
    /// Size in bytes; a multiple of the device's alignments of constants and copies (512 on Direct3D 12).
    pub size: u64,
    /// All uses of its bytes. *Default*: all read-only uses.
    pub usage: Usage,
    /// [`MemoryUse::Upload`], the default, or [`MemoryUse::GpuUpload`].
    pub memory: MemoryUse,
    /// Behaviour for allocations larger than the ring.
    pub when_too_large: WhenTooLarge,
    /// Timeout of the waits of one allocation for the GPU, in total. *Default*: 10 s.
    pub timeout: Duration,
    /// The name.
    pub name: Name,
}

crate::setters!(UploadRingDesc { size: u64, usage: Usage, memory: MemoryUse });

impl UploadRingDesc {
    /// A ring of `size` bytes.
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self {
            size,
            usage: Usage::READ_ONLY,
            memory: MemoryUse::Upload,
            when_too_large: WhenTooLarge::Refuse,
            timeout: Duration::from_secs(10),
            name: Name::default(),
        }
    }

    /// Gives allocations larger than the ring a dedicated buffer.
    #[must_use]
    pub fn dedicate(self) -> Self {
        Self { when_too_large: WhenTooLarge::Dedicate, ..self }
    }

    /// Sets the timeout of waits for the GPU.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Names it.
    #[must_use]
    pub fn name(self, name: impl Into<Name>) -> Self {
        Self { name: name.into(), ..self }
    }

    fn check<D: Device>(&self, context: &Context<D>) -> Result<(), DeviceError> {
        let granule = context.alignments.constant.max(context.alignments.copy_offset);
        if self.size == 0 {
            return Err(DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(granule)));
        }
        if !self.size.is_multiple_of(granule) {
            let rule = "the size of an upload ring is a multiple of the alignments of constants and copies";
            return Err(DeviceError::invalid_call(rule, self.size, granule));
        }
        if !Usage::READ_ONLY.contains(self.usage) {
            let allowed = Allowed::Usage(Usage::READ_ONLY);
            return Err(DeviceError::invalid_desc("usage", self.usage, allowed));
        }
        if !matches!(self.memory, MemoryUse::Upload | MemoryUse::GpuUpload) {
            let feature = "upload rings outside of Upload and GpuUpload memory";
            return Err(DeviceError::Unsupported { feature });
        }
        Ok(())
    }
}

/// One mapped buffer with circular allocation, for data of one submission each. From
/// [`Gpu::create_upload_ring`](crate::Gpu::create_upload_ring).
///
/// # When to use it
/// For dynamic vertices and uploads in a bounded amount of memory: an allocation is a lock and a bump, nothing is freed
/// individually, and the same bytes are reused. Its downside is the order: a frame that the GPU has not finished delays all later
/// ones. Small data that fits into a recording's own pages is faster as [constants](Scratch::constants).
///
/// # Algorithm
/// The end of a frame (or [`close`](Self::close), or [`Gpu::reclaim`](crate::Gpu::reclaim)) closes the frame of the ring: the
/// allocations since the last close. A closed frame gets its sync point once no open recording may use its bytes: the
/// submissions since its first allocation. When an allocation does not fit, the ring polls the queues and frees complete
/// frames; if it still does not fit, it waits for the oldest frame and retries, frame by frame. An allocation larger than the
/// ring is refused, or gets a dedicated buffer.
///
/// # Efficiency
/// O(1), one short lock, no allocation; no thread waits for the GPU under the lock.
///
/// # Origin
/// The upload ring of Microsoft's D3D12 samples and of Diligent Engine, with sync points determined by open recordings instead
/// of by the caller.
///
/// `Send` and `Sync`; methods may be called from any thread.
pub struct UploadRing<D: Device> {
    id: u64,
    buffer: Buffer<D>,
    frames: Arc<Mutex<RingFrames>>,
    when_too_large: WhenTooLarge,
    timeout: Duration,
}

debug_fields!([D: Device] UploadRing<D>, "UploadRing", this, buffer: this.buffer, when_too_large: this.when_too_large, timeout: this.timeout);

impl<D: Device> UploadRing<D> {
    pub(crate) fn create(services: &Services<D>, desc: &UploadRingDesc) -> Result<Self, Error> {
        desc.check(&services.context).map_err(|source| Error::device(&desc.name, source))?;
        let buffer = BufferDesc { usage: desc.usage, ..BufferDesc::new(desc.size, desc.usage) };
        // A separate API resource: offset 0 of the ring has every alignment.
        let buffer = buffer.memory(desc.memory).own_resource().name(desc.name.clone());
        let buffer = Buffer::create(&services.context, services, &buffer)?;
        let frames = Arc::new(Mutex::new(RingFrames::new(desc.size, services.context.clock.stamp())));
        services.rings.add(&frames);
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Self { id, buffer, frames, when_too_large: desc.when_too_large, timeout: desc.timeout })
    }

    /// Allocates `size` bytes at a multiple of `align` in the API buffer, for the recording of `scratch`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for more bytes than the ring has, unless such allocations get dedicated buffers;
    /// [`Error::HeldByRecording`] when an open recording may use the bytes, so that waiting would not help; [`Error::Timeout`]
    /// when the GPU does not finish in time; [`Error::OutOfMemory`] for a dedicated buffer; [`Error::Foreign`] for a recording of
    /// another manager; [`Error::Device`] for a size of 0, an alignment that is not a power of two, or a lost device. On error
    /// nothing is allocated.
    ///
    /// ```
    /// use tenure::{Config, Gpu, Queue, UploadRingDesc};
    /// use tenure::sim;
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let ring = gpu.create_upload_ring(&UploadRingDesc::new(1 << 20).name("particles"))?;
    /// for step in 0..100_u8 {
    ///     let frame = gpu.begin_frame()?;
    ///     let mut recording = frame.record(Queue::Graphics, "particles")?;
    ///     let (commands, scratch) = recording.split();
    ///     let particles = ring.allocate(scratch, 300_000, 16)?;
    ///     particles.write(0, &[step; 300_000])?;
    ///     let _draw = (commands.raw(), particles.raw(), particles.offset());
    ///     frame.submit(recording)?;
    ///     frame.end()?;
    /// }
    /// assert!(ring.stats().peak_used <= 1 << 20);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// A slice is valid until its recording is submitted. The compiler rejects the last line:
    ///
    /// ```compile_fail,E0505
    /// # use tenure::{Config, Gpu, Queue, UploadRingDesc};
    /// # use tenure::sim;
    /// # let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// # let ring = gpu.create_upload_ring(&UploadRingDesc::new(1 << 20).name("particles"))?;
    /// let mut recording = gpu.record(Queue::Graphics, "particles")?;
    /// let particles = ring.allocate(recording.split().1, 300_000, 16)?;
    /// recording.submit()?;
    /// particles.write(0, &[1; 16])?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline]
    pub fn allocate<'r>(
        &'r self,
        scratch: Scratch<'r, D>,
        size: u64,
        align: u64,
    ) -> Result<RingSlice<'r, D>, Error> {
        self.check_manager(scratch)?;
        let offset = self.frames.lock().allocate(size, align);
        match offset {
            Some(offset) => self.slice(offset, size),
            None => self.allocate_later(scratch, size, align),
        }
    }

    /// As [`allocate`](Self::allocate), for callers that cannot hold a borrow.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    ///
    /// ```
    /// use tenure::{Config, Gpu, Queue, UploadRingDesc, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let ring = gpu.create_upload_ring(&UploadRingDesc::new(1 << 20).name("particles"))?;
    /// let mut recording = gpu.record(Queue::Graphics, "first")?;
    /// let particles = ring.allocate_untyped(recording.split().1, 64, 16)?;
    /// ring.find(recording.split().1, particles)?.write(0, &[1; 64])?;
    /// recording.submit()?;
    /// let mut later = gpu.record(Queue::Graphics, "second")?;
    /// assert!(ring.find(later.split().1, particles).is_err());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn allocate_untyped(
        &self,
        scratch: Scratch<'_, D>,
        size: u64,
        align: u64,
    ) -> Result<UntypedSlice, Error> {
        let slice = self.allocate(scratch, size, align)?;
        let is_in_ring = std::ptr::eq(slice.raw(), &raw const self.buffer.api_resource().object);
        // A page for a single allocation is the last page of its recording.
        let page = scratch.pages.get().filter(|_| !is_in_ring).and_then(|pages| pages.last());
        let offset = if is_in_ring { slice.offset() - self.buffer.offset() } else { 0 };
        Ok(UntypedSlice { recording: scratch.id, ring: self.id, page, offset, size })
    }

    /// The location of a slice of this ring and recording.
    ///
    /// # Errors
    /// [`Error::OtherRecording`], with the names, for a slice of another recording; [`Error::Foreign`] for a recording of another
    /// manager; [`Error::Device`] for a slice of another ring; [`Error::OutOfRange`] for values that were never a slice.
    #[inline(never)]
    pub fn find<'r>(
        &'r self,
        scratch: Scratch<'r, D>,
        slice: UntypedSlice,
    ) -> Result<RingSlice<'r, D>, Error> {
        self.check_manager(scratch)?;
        let UntypedSlice { recording, ring, page, offset, size } = slice;
        let of_recording = |(index, id): (usize, u64)| {
            let found = scratch.pages.get().and_then(|pages| pages.get(index));
            found.filter(|page| page.id() == id).ok_or_else(|| self.of_another(recording, scratch))
        };
        if recording != scratch.id {
            return Err(self.of_another(recording, scratch));
        }
        if ring != self.id {
            let rule = "a slice is found by the upload ring that has allocated it";
            return Err(Error::device(self.name(), DeviceError::invalid_call(rule, ring, self.id)));
        }
        let page = page.map(of_recording).transpose()?;
        if page.is_some() && offset != 0 {
            let rule = "a slice with a buffer of its own begins at 0";
            return Err(Error::device(self.name(), DeviceError::invalid_call(rule, offset, 0_u64)));
        }
        let capacity = page.map_or(self.size(), |page| page.size());
        if offset.checked_add(size).is_none_or(|end| end > capacity) {
            return Err(Error::OutOfRange { name: self.name().clone(), offset, size, capacity });
        }
        match page {
            Some(page) => self.dedicated(page, size),
            None => self.slice(offset, size),
        }
    }

    /// The error for a slice of another recording.
    #[cold]
    fn of_another(&self, id: RecordingId, scratch: Scratch<'_, D>) -> Error {
        Error::OtherRecording {
            name: self.context().recordings.name(id).unwrap_or_default(),
            id,
            used_name: scratch.name.clone(),
            used_id: scratch.id,
        }
    }

    /// Rejects recordings of another manager.
    #[inline]
    fn check_manager(&self, scratch: Scratch<'_, D>) -> Result<(), Error> {
        match std::ptr::eq(&*scratch.services.context, Arc::as_ptr(self.context())) {
            true => Ok(()),
            false => Err(Error::Foreign { name: self.name().clone() }),
        }
    }

    /// Ends a frame of the ring. Ends of frames and [`Gpu::reclaim`](crate::Gpu::reclaim) do this automatically; call it between
    /// recordings when one frame needs more than the ring holds.
    #[inline(never)]
    pub fn close(&self) {
        let context = self.context();
        self.frames.lock().close(&context.recordings, &context.clock);
    }

    /// Statistics.
    #[must_use]
    #[inline(never)]
    pub fn stats(&self) -> RingStats {
        self.frames.lock().stats()
    }

    /// Size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.buffer.size()
    }

    /// The name.
    #[must_use]
    pub const fn name(&self) -> &Name {
        self.buffer.name()
    }

    fn context(&self) -> &Arc<Context<D>> {
        self.buffer.context()
    }

    fn slice(&self, offset: u64, size: u64) -> Result<RingSlice<'_, D>, Error> {
        let api_resource = self.buffer.api_resource();
        let Some(mapping) = &api_resource.mapping else {
            return Err(Error::NotMapped { name: self.name().clone() });
        };
        let offset = self.buffer.offset() + offset;
        let address = api_resource.address.map(|base| base + offset);
        let (context, name) = (&**self.context(), self.name());
        let usage = self.buffer.usage();
        let bytes = BufferSlice { context, resource: &api_resource.object, offset, size, address };
        Ok(RingSlice { bytes, name, usage, mapping })
    }

    /// Allocates if the first attempt did not fit.
    #[cold]
    fn allocate_later<'r>(
        &'r self,
        scratch: Scratch<'r, D>,
        size: u64,
        align: u64,
    ) -> Result<RingSlice<'r, D>, Error> {
        let refuse = |field, value: u64, allowed| {
            Err(Error::device(self.name(), DeviceError::invalid_desc(field, value, allowed)))
        };
        if size == 0 {
            return refuse("size", size, Allowed::AtLeast(1));
        }
        if !align.is_power_of_two() {
            return refuse("align", align, Allowed::POWER_OF_TWO);
        }
        if size > self.size() {
            return self.allocate_too_large(scratch, size, align);
        }
        let context = self.context();
        let _call = context.call();
        let begun = Instant::now();
        let mut has_flushed = false;
        loop {
            context.clock.poll(context.device()).map_err(|source| context.refused(self.name(), source))?;
            let oldest = {
                let mut frames = self.frames.lock();
                frames.free(&context.recordings, &context.clock);
                if let Some(offset) = frames.allocate(size, align) {
                    drop(frames);
                    return self.slice(offset, size);
                }
                frames.oldest()
            };
            match oldest {
                Oldest::Submitted(point) => self.wait(&point, begun)?,
                // Pending uploads count as a recording, too.
                Oldest::Recording if !has_flushed && scratch.services.uploads.is_pending() => {
                    scratch.services.flush_pending_uploads()?;
                    has_flushed = true;
                }
                Oldest::Recording => return Err(self.held(size)),
            }
        }
    }

    /// Waits for a frame, without the lock, so that other threads can allocate and frames can end meanwhile.
    fn wait(&self, point: &crate::time::SyncPoint, begun: Instant) -> Result<(), Error> {
        let (context, start) = (self.context(), Instant::now());
        let left = self.timeout.saturating_sub(begun.elapsed());
        let waited = context.clock.wait(context.device(), point, left);
        let mut frames = self.frames.lock();
        frames.stats.waits += 1;
        let times = frames.stats.waits;
        frames.stats.waited_ns = frames.stats.waited_ns.saturating_add(nanoseconds(start.elapsed()));
        drop(frames);
        if times.is_power_of_two() {
            event!(debug, name = %self.name(), waited = ?start.elapsed(), times, "an upload ring was full and waited for the GPU");
        }
        if waited.map_err(|source| context.refused(self.name(), source))? {
            return Ok(());
        }
        Err(Error::Timeout { what: Awaited::UploadRing, waited_ms: milliseconds(begun.elapsed()) })
    }

    fn held(&self, size: u64) -> Error {
        let stats = self.stats();
        // The requesting recording is open itself.
        let open = self.context().recordings.oldest();
        Error::HeldByRecording {
            name: self.name().clone(),
            size,
            used: stats.used,
            capacity: stats.capacity,
            recording: open.as_ref().map(|open| open.name.clone()).unwrap_or_default(),
            frame: open.map_or(0, |open| open.frame),
        }
    }

    fn allocate_too_large<'r>(
        &'r self,
        scratch: Scratch<'r, D>,
        size: u64,
        align: u64,
    ) -> Result<RingSlice<'r, D>, Error> {
        let name = self.name();
        if self.when_too_large == WhenTooLarge::Refuse {
            return Err(Error::TooLarge { name: name.clone(), size, capacity: self.size() });
        }
        let (usage, memory) = (self.buffer.usage(), self.buffer.memory());
        let desc = BufferDesc { usage, ..BufferDesc::new(size, usage) };
        let page = scratch.dedicate(&desc.memory(memory).alignment(align).name(name.clone()))?;
        let slice = self.dedicated(page, size)?;
        let mut frames = self.frames.lock();
        frames.stats.allocations += 1;
        frames.stats.bytes += size;
        frames.stats.dedicated += 1;
        drop(frames);
        Ok(slice)
    }

    /// The slice of a dedicated page.
    fn dedicated<'r>(&'r self, page: &'r Page<D>, size: u64) -> Result<RingSlice<'r, D>, Error> {
        let (name, usage) = (self.name(), self.buffer.usage());
        let mapping = page.mapping().ok_or_else(|| Error::NotMapped { name: name.clone() })?;
        let (resource, offset, address) = (page.resource(), page.base(), page.address());
        let bytes = BufferSlice { context: self.context(), resource, offset, size, address };
        Ok(RingSlice { bytes, name, usage, mapping })
    }
}
