//! Memory for temporary data of one recording, and upload rings.

mod build_scratch;
mod descriptors;
mod dynamic;
mod places;
mod ring;
mod slice;

use std::cell::OnceCell;
use std::sync::Arc;

use crate::block_set::NotedBlocks;
use crate::context::Context;
use crate::descriptor_store::{RecordedChunks, RecordedSets};
use crate::device::{Allowed, Device, DeviceError, QueueId, Usage};
use crate::held_objects::HeldObjects;
use crate::resource::{BufferSlice, Constant};
use crate::services::Services;
use crate::staging::{BuildPages, Page, Pages};
use crate::time::RecordingId;
use crate::unnamed::BoundResources;
use crate::{BufferDesc, Error, MemoryUse, Name};

pub use dynamic::DynamicConstant;
pub use ring::{UploadRing, UploadRingDesc, WhenTooLarge};
pub use slice::{RingSlice, UntypedConstant, UntypedSlice};

const NAME: &str = "constants";

/// Memory for temporary data of one recording: the constants of a frame or a draw, its [descriptors](Self::descriptors) and
/// [sets](Self::set), and the [scratch memory](Self::build_scratch) of builds of acceleration structures. From
/// [`Recording::split`](crate::Recording::split).
///
/// # When to use it
/// For many small allocations that are released with their submission: each costs a bump and a copy, and releasing it costs
/// nothing. Its downside: data that outlives the submission must be in a [`Buffer`](crate::Buffer).
///
/// # Algorithm
/// A bump through pages of [`StagingConfig::constant_page`](crate::StagingConfig::constant_page) bytes from the upload
/// allocator. A later recording continues to fill the last page; full pages are reused by recordings of the same thread once
/// the GPU has finished with them, and no byte is reused before that. Pages that no recording has taken for
/// [`FrameConfig::idle`](crate::FrameConfig::idle) frames are freed, through the release queue, and full ones when memory is
/// short. An allocation larger than a page gets one of its own.
///
/// # Efficiency
/// O(1): no lock and no allocation within a page. Each recording has its own pages, so threads never contend; in steady state a
/// full page costs taking one of the thread's own pages from the pool.
///
/// # Origin
/// The linear allocators of MiniEngine's and Diligent Engine's command contexts.
pub struct Scratch<'r, D: Device> {
    pub(crate) services: &'r Arc<Services<D>>,
    /// Taken from the pool with the first constant.
    pub(crate) pages: &'r OnceCell<Box<Pages<D>>>,
    /// Taken from the pool with the first build of an acceleration structure.
    pub(crate) builds: &'r OnceCell<Box<BuildPages<D>>>,
    pub(crate) chunks: &'r RecordedChunks,
    pub(crate) shown: &'r NotedBlocks,
    pub(crate) sets: &'r OnceCell<Box<RecordedSets<D>>>,
    /// Taken from the pool with the first movable resource.
    pub(crate) held: &'r OnceCell<Box<HeldObjects<D>>>,
    pub(crate) bound: &'r BoundResources,
    pub(crate) id: RecordingId,
    pub(crate) queue: QueueId,
    pub(crate) name: &'r Name,
}

debug_fields!([D: Device] Scratch<'_, D>, "Scratch", this, recording: this.name, id: this.id);

impl<D: Device> Clone for Scratch<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Scratch<'_, D> {}

/// A range of a page of the recording.
struct Room<'r, D: Device> {
    page: &'r Page<D>,
    index: usize,
    offset: u64,
}

impl<'r, D: Device> Scratch<'r, D> {
    /// Copies a value to GPU-visible memory, at the device's constant alignment (256 bytes on Direct3D 12).
    ///
    /// `bytemuck::NoUninit` excludes padding, whose bytes are undefined. A value of a library that does not implement it can be
    /// passed as an array, as in `scratch.constants(&<[[f32; 4]; 4]>::from(matrix))`.
    ///
    /// # Errors
    /// As [`constant_bytes`](Self::constant_bytes).
    ///
    /// ```
    /// use tenure::{Config, Gpu, Queue};
    /// use tenure::sim;
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let (commands, scratch) = recording.split();
    /// let camera = scratch.constants(&[1.0_f32; 16])?;
    /// assert!(camera.offset().is_multiple_of(256));
    /// let _draw = (commands.raw(), camera.gpu_address());
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// Constants are valid until the recording is submitted. The compiler rejects the last line:
    ///
    /// ```compile_fail,E0505
    /// # use tenure::{Config, Gpu, Queue};
    /// # use tenure::sim;
    /// # let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let camera = recording.split().1.constants(&[1.0_f32; 16])?;
    /// recording.submit()?;
    /// camera.gpu_address();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline]
    pub fn constants<T: bytemuck::NoUninit>(&self, value: &T) -> Result<Constant<'r, D>, Error> {
        self.constant_bytes(bytemuck::bytes_of(value))
    }

    /// As [`constants`](Self::constants), for bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when a new page is needed and cannot be created; [`Error::Device`] for a size of 0, more than a
    /// buffer can hold, or a lost device.
    #[inline]
    pub fn constant_bytes(&self, bytes: &[u8]) -> Result<Constant<'r, D>, Error> {
        let room = self.push(bytes)?;
        Ok(self.constant(room.page, room.offset, bytes.len() as u64))
    }

    /// As [`constant_bytes`](Self::constant_bytes), for callers that cannot hold a borrow.
    ///
    /// # Errors
    /// As [`constant_bytes`](Self::constant_bytes).
    ///
    /// ```
    /// # use tenure::{Config, Error, Gpu, Queue};
    /// # use tenure::sim;
    /// # let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "opaque")?;
    /// let camera = recording.split().1.untyped_constants(&[1; 64])?;
    /// assert_eq!(recording.split().1.find(camera)?.size(), 64);
    /// recording.submit()?;
    ///
    /// let mut later = gpu.record(Queue::Graphics, "transparent")?;
    /// let error = later.split().1.find(camera).expect_err("they are gone");
    /// let why = "constants or slices of recording opaque (#1) are used in recording transparent (#2): make them in \
    ///            the recording that uses them";
    /// assert_eq!(error.to_string(), why);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline(never)]
    pub fn untyped_constants(&self, bytes: &[u8]) -> Result<UntypedConstant, Error> {
        let Room { page, index, offset } = self.push(bytes)?;
        let (recording, name, size) = (self.id, self.name.as_static(), bytes.len() as u64);
        Ok(UntypedConstant { recording, name, page: index, page_id: page.id(), offset, size })
    }

    /// The location of constants of this recording.
    ///
    /// # Errors
    /// [`Error::OtherRecording`], with the names, for constants of another recording.
    #[inline(never)]
    pub fn find(&self, constants: UntypedConstant) -> Result<Constant<'r, D>, Error> {
        let UntypedConstant { recording, page, page_id, offset, size, .. } = constants;
        let found = self.pages.get().and_then(|pages| pages.get(page));
        match found.filter(|page| recording == self.id && page.id() == page_id) {
            Some(page) => Ok(self.constant(page, offset, size)),
            None => Err(Error::OtherRecording {
                name: self.name_of(constants),
                id: recording,
                used_name: self.name.clone(),
                used_id: self.id,
            }),
        }
    }

    /// The name of the constants' recording: a literal, or the name of a recording that is still open.
    fn name_of(&self, constants: UntypedConstant) -> Name {
        let name_if_open = || self.context().recordings.name(constants.recording);
        constants.name.map(Name::from).or_else(name_if_open).unwrap_or_default()
    }

    #[inline]
    fn context(&self) -> &'r Context<D> {
        &self.services.context
    }

    #[inline]
    fn push(&self, bytes: &[u8]) -> Result<Room<'r, D>, Error> {
        let size = bytes.len() as u64;
        let room = match self.bump(size) {
            Some(room) => room,
            None => self.make_room(size)?,
        };
        match room.page.write(room.offset, bytes) {
            Ok(()) => Ok(room),
            Err(source) => Err(self.refused(source)),
        }
    }

    /// Allocates `size` bytes of the current page.
    #[inline]
    fn bump(&self, size: u64) -> Option<Room<'r, D>> {
        let pages: &'r Pages<D> = self.pages.get().filter(|_| size > 0)?;
        let (index, offset) = pages.bump(size, self.services.context.alignments.constant)?;
        Some(Room { page: pages.get(index)?, index, offset })
    }

    /// Allocates `size` bytes of the page that an earlier recording has partly filled, or of a new one.
    #[cold]
    #[inline(never)]
    fn make_room(&self, size: u64) -> Result<Room<'r, D>, Error> {
        let _call = self.services.context.call();
        if size == 0 {
            return Err(self.refused(DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1))));
        }
        let had_pages = self.pages.get().is_some();
        let pages: &'r Pages<D> = self.pages.get_or_init(|| self.services.constants.take());
        if !had_pages && let Some(room) = self.bump(size) {
            return Ok(room);
        }
        let page_size = self.services.context.config.staging.constant_page;
        if size <= page_size
            && let Some(page) = self.services.constants.take_free(pages.thread_pages(), self.context())
        {
            let (index, page) = pages.begin(page, size);
            return Ok(Room { page, index, offset: 0 });
        }
        // On Direct3D 12, views of constants have sizes that are multiples of their alignment.
        let whole = size.checked_next_multiple_of(self.services.context.alignments.constant).unwrap_or(size);
        let usage = Usage::READ_ONLY;
        let desc = BufferDesc {
            usage,
            ..BufferDesc::new(whole.max(page_size), usage).memory(MemoryUse::Upload).name(NAME)
        };
        let page = Box::new(Page::new(self.context(), &**self.services, &desc)?);
        let (index, page) = if size > page_size { pages.keep(page) } else { pages.begin(page, size) };
        Ok(Room { page, index, offset: 0 })
    }

    /// A page of this recording for a single allocation.
    fn dedicate(&self, desc: &BufferDesc) -> Result<&'r Page<D>, Error> {
        let _call = self.services.context.call();
        let page = Box::new(Page::new(self.context(), &**self.services, desc)?);
        let pages: &'r Pages<D> = self.pages.get_or_init(|| self.services.constants.take());
        Ok(pages.keep(page).1)
    }

    #[cold]
    #[inline(never)]
    fn refused(&self, source: DeviceError) -> Error {
        self.services.context.refused(&Name::from(NAME), source)
    }

    #[inline]
    fn constant(&self, page: &'r Page<D>, offset: u64, size: u64) -> Constant<'r, D> {
        Constant(BufferSlice {
            context: self.context(),
            resource: page.resource(),
            offset: page.base() + offset,
            size,
            address: page.address().map(|address| address + offset),
        })
    }
}
