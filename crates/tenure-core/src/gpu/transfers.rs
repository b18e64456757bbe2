//! Uploads and readbacks.

use std::time::Duration;

use super::Gpu;
use crate::command::Commands;
use crate::device::{Device, TextureRegion, Usage};
use crate::memory::AllocationFlags;
use crate::time::SyncPoint;
use crate::{
    Buffer, BufferDesc, Error, Queue, Readback, TexelData, Texture, TextureDesc, Upload, UploadStats,
};

impl<D: Device> Gpu<D> {
    /// Copies `bytes` to `offset` of a buffer: in place, where its memory is CPU-visible and the GPU cannot be using it
    /// ([`InPlaceConfig`](crate::InPlaceConfig)), else through staging memory. Later submissions see them.
    ///
    /// Bytes written in place are there when the call returns. The rest of this documentation is about staged uploads.
    ///
    /// Uploads gather in a batch that is submitted with [`flush_uploads`](Self::flush_uploads), before the next recording that
    /// is submitted, at the end of a frame, and when [`StagingConfig::max_pending`](crate::StagingConfig::max_pending) bytes
    /// are pending; consecutive ranges are merged into one copy. The batch goes to the copy queue where there is one, and later
    /// submissions wait for the copies whose results they use. The buffer may be dropped at once.
    ///
    /// An upload above a quarter of `max_pending` is divided into pieces of that size, so that it stages at most
    /// `max_pending` bytes at once: when the limit is reached, the call submits the pending pieces and waits for the
    /// GPU to copy earlier ones, at most [`FrameConfig::timeout`](crate::FrameConfig::timeout) for each. When memory
    /// is short, any upload waits like this, then for memory that the GPU or large transfers of other threads still
    /// use, and then continues with smaller pieces, down to 64 KiB. A submission that fails for lack of memory is
    /// retried in the same way. Until the call returns, submissions of other threads may see part of the data.
    /// Smaller uploads never wait while memory is available. No upload waits with a
    /// [`PoolConfig::max_wait`](crate::PoolConfig::max_wait) of 0, which makes `max_pending` no limit, or inside of
    /// [`submit_external`](Self::submit_external), where all pieces stay pending.
    ///
    /// O(bytes), three short locks. Any thread may upload; copies to the same bytes take effect in
    /// the order of the calls.
    ///
    /// # Errors
    /// [`Error::OutOfRange`]; [`Error::FixedState`] for a buffer that the CPU writes itself ([`Buffer::write`]) and the GPU
    /// cannot; [`Error::State`] for one without [`Usage::COPY_DST`]; [`Error::OutOfMemory`], [`Error::Foreign`],
    /// [`Error::Device`], [`Error::Timeout`]. Nothing is uploaded then; except that an upload that runs out of memory or time,
    /// or loses the device, may have uploaded its first pieces.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tenure::{BufferDesc, Config, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let rock = gpu.create_buffer(&BufferDesc::new(4000, Usage::VERTEX).name("rock"))?;
    /// gpu.upload(&rock, 0, &[1; 2000])?;
    /// let upload = gpu.upload(&rock, 2000, &[2; 2000])?;
    /// assert!(gpu.wait_upload(&upload, Duration::from_secs(1))?);
    /// assert_eq!(gpu.upload_stats().copies, 1);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn upload(&self, buffer: &Buffer<D>, offset: u64, bytes: &[u8]) -> Result<Upload, Error> {
        self.upload_as(buffer, (offset, bytes), AllocationFlags::empty())
    }

    fn upload_as(
        &self,
        buffer: &Buffer<D>,
        bytes: (u64, &[u8]),
        flags: AllocationFlags,
    ) -> Result<Upload, Error> {
        let _call = self.shared.call()?;
        let services = &*self.shared.services;
        let upload = services.uploads.upload(&self.shared.context, services, buffer, bytes, flags)?;
        self.shared.settle_uploads()?;
        Ok(upload)
    }

    /// Copies texels to a region of a texture: in place, where the texture was created [filled](TextureDesc::filled) and the
    /// GPU cannot be using it, else through staging memory in the layout of the device. As [`upload`](Self::upload); regions of
    /// a mip, and depth, go to a graphics queue, because copy queues cannot copy them.
    ///
    /// Pieces are whole slices, or rows of blocks. A region is divided where it is larger than `max_pending`, or memory is
    /// short: down to one row of blocks. Depth and stencil are not divided, because the APIs copy a whole mip of them at a time.
    ///
    /// # Errors
    /// As [`upload`](Self::upload): [`Error::WrongLength`] when there are fewer texels than the region has, [`Error::Device`]
    /// for a region that is empty, outside of the texture or cuts blocks, part of a mip of depth, depth with stencil, several
    /// samples, or a pitch smaller than a row.
    ///
    /// ```
    /// use tenure::{
    ///     Config, Format, Gpu, TextureDesc, Usage, resource::{Plane, TexelData, TextureRegion},
    ///     sim,
    /// };
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let grass = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ).mips(2);
    /// let grass = gpu.create_texture(&grass.name("grass"))?;
    /// let all = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [64, 64, 1] };
    /// gpu.upload_texture(&grass, all, TexelData::new(&[7; 64 * 64 * 4]))?;
    /// let some = TextureRegion { mip: 1, layer: 0, plane: Plane::First, origin: [8, 16, 0], extent: [4, 4, 1] };
    /// gpu.upload_texture(&grass, some, TexelData::new(&[9; 4 * 32]).row_pitch(32))?;
    /// gpu.flush_uploads()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn upload_texture(
        &self,
        texture: &Texture<D>,
        region: TextureRegion,
        data: TexelData<'_>,
    ) -> Result<Upload, Error> {
        let _call = self.shared.call()?;
        let services = &*self.shared.services;
        let upload =
            services.uploads.upload_texture(&self.shared.context, services, texture, region, data)?;
        self.shared.settle_uploads()?;
        Ok(upload)
    }

    /// Creates a buffer with `bytes` as initial contents: written at once where its memory is CPU-visible, else
    /// [uploaded](Self::upload), for which [`Usage::COPY_DST`] is added. It counts as [filled](BufferDesc::filled). With
    /// [`AllocationFlags::NEVER_WAIT`] or [`AllocationFlags::NEVER_ALLOCATE`] the upload does not wait for staging memory,
    /// either, but may ask the driver for it.
    ///
    /// # Errors
    /// As [`create_buffer`](Self::create_buffer) and [`upload`](Self::upload). Nothing is left
    /// allocated.
    ///
    /// ```
    /// use tenure::{BufferDesc, Config, Gpu, Usage, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let quad = [0_f32, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
    /// let bytes: Vec<u8> = quad.iter().flat_map(|value| value.to_le_bytes()).collect();
    /// let quad = gpu.create_buffer_with(&BufferDesc::new(32, Usage::VERTEX).name("quad"), &bytes)?;
    /// # let _ = quad;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn create_buffer_with(&self, desc: &BufferDesc, bytes: &[u8]) -> Result<Buffer<D>, Error> {
        if desc.memory.is_mapped() {
            let buffer = self.create_buffer(desc)?;
            buffer.write(0, bytes)?;
            return Ok(buffer);
        }
        let desc = desc.clone().filled();
        let desc = BufferDesc { usage: desc.usage | Usage::COPY_DST, ..desc };
        let buffer = self.create_buffer(&desc)?;
        self.upload_as(&buffer, (0, bytes), desc.allocation)?;
        Ok(buffer)
    }

    /// Creates a texture with initial texels: `data` of every subresource, all mips of the first layer, then of the next.
    /// [`Usage::COPY_DST`] is added, and it counts as [filled](TextureDesc::filled). With [`AllocationFlags::NEVER_WAIT`] or
    /// [`AllocationFlags::NEVER_ALLOCATE`] the upload does not wait for staging memory, either.
    ///
    /// # Errors
    /// As [`create_texture`](Self::create_texture) and [`upload_texture`](Self::upload_texture);
    /// [`Error::Device`] for a wrong number of subresources, and for every format with stencil on a device that cannot upload
    /// stencil ([`Features::NO_STENCIL_UPLOADS`](crate::device::Features::NO_STENCIL_UPLOADS)). Nothing is left allocated.
    #[inline(never)]
    pub fn create_texture_with(
        &self,
        desc: &TextureDesc,
        data: &[TexelData<'_>],
    ) -> Result<Texture<D>, Error> {
        let mut desc = desc.clone().filled();
        desc.info.usage |= Usage::COPY_DST;
        let _call = self.shared.call()?;
        let texture = self.create_texture(&desc)?;
        let services = &*self.shared.services;
        services.uploads.upload_all(&self.shared.context, services, &texture, data, desc.allocation)?;
        self.shared.settle_uploads()?;
        Ok(texture)
    }

    /// Submits the pending uploads. Returns the sync point that covers all uploads made so far.
    ///
    /// # Errors
    /// [`Error::Device`]: after a shortage the uploads stay pending; after any other error they are discarded, and their
    /// [`Upload::error`]s return it.
    #[inline(never)]
    pub fn flush_uploads(&self) -> Result<SyncPoint, Error> {
        let _call = self.shared.context.call();
        self.shared.context.clock.check()?;
        self.shared.services.uploads.flush(&self.shared.context)
    }

    /// Submits an upload if it is pending, and blocks until it is complete or the timeout expires; true when it is complete.
    ///
    /// # Errors
    /// As [`flush_uploads`](Self::flush_uploads), the upload's own [`error`](Upload::error), and
    /// [`Error::Foreign`] for an upload of another manager.
    #[inline(never)]
    pub fn wait_upload(&self, upload: &Upload, timeout: Duration) -> Result<bool, Error> {
        let _call = self.shared.context.call();
        if upload.outcome().is_none() {
            self.shared.services.uploads.flush(&self.shared.context)?;
        }
        match upload.outcome() {
            Some(Ok(point)) => self.wait(point, timeout),
            Some(Err(error)) => Err(error.clone()),
            None => Err(Error::Foreign { name: "upload".into() }),
        }
    }

    /// Copies `size` bytes at `offset` of a buffer to the CPU, in a separate submission. To read results back in the recording
    /// that produces them, see [`Commands::read_back`](crate::Commands::read_back).
    ///
    /// All bytes occupy readback memory until the ticket is dropped, because this call does not wait for them. For sizes beyond
    /// that memory, see [`read_back_into`](Self::read_back_into).
    ///
    /// # Errors
    /// As [`Commands::read_back`](crate::Commands::read_back) and
    /// [`Recording::submit`](crate::Recording::submit).
    #[inline(never)]
    pub fn read_back(&self, buffer: &Buffer<D>, offset: u64, size: u64) -> Result<Readback<D>, Error> {
        self.read_back_as(|recording| recording.read_back(buffer, offset, size))
    }

    /// Records a readback with `read` and submits it.
    pub(super) fn read_back_as(
        &self,
        read: impl FnOnce(&mut Commands<D>) -> Result<Readback<D>, Error>,
    ) -> Result<Readback<D>, Error> {
        let mut recording = self.record(Queue::Graphics, "readback")?;
        let readback = read(&mut recording)?;
        recording.submit()?;
        Ok(readback)
    }

    /// Copies texels of a texture to the CPU, in a separate submission. For sizes beyond readback memory, see
    /// [`read_back_texture_into`](Self::read_back_texture_into).
    ///
    /// # Errors
    /// As [`Commands::read_back_texture`](crate::Commands::read_back_texture) and
    /// [`Recording::submit`](crate::Recording::submit).
    #[inline(never)]
    pub fn read_back_texture(
        &self,
        texture: &Texture<D>,
        region: TextureRegion,
    ) -> Result<Readback<D>, Error> {
        self.read_back_as(|recording| recording.read_back_texture(texture, region))
    }

    /// Cumulative upload statistics.
    #[must_use]
    #[inline(never)]
    pub fn upload_stats(&self) -> UploadStats {
        self.shared.services.uploads.stats()
    }
}
