//! Scratch memory for builds of acceleration structures.

use super::Scratch;
use crate::device::{Allowed, Device, DeviceError, Usage};
use crate::memory::AllocationFlags;
use crate::staging::{BuildPages, BuildScratch, Page};
use crate::{BufferDesc, Error, Name};

const NAME: &str = "build scratch";

impl<'r, D: Device> Scratch<'r, D> {
    /// Allocates scratch memory for a build of an acceleration structure, of the size that the API reports for the build. No
    /// two builds of a recording share bytes, so that they need no barrier between them.
    ///
    /// For many builds, call [`Recording::reuse_build_scratch`](crate::Recording::reuse_build_scratch) whenever the scratch
    /// memory in use reaches the program's limit. In a render graph with a build in each frame, a transient buffer of
    /// [`Usage::UNORDERED_ACCESS`] is an alternative: it shares its bytes with the graph's other resources.
    ///
    /// O(1) within a page: no lock and no allocation. Pages are small at first and grow, when a recording needs more than one,
    /// up to [`StagingConfig::build_scratch_page`](crate::StagingConfig::build_scratch_page) bytes. They are reused once the
    /// GPU has finished the recording; a larger request gets a page of its own, which is freed with the recording.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] when a page is needed and cannot be created; [`Error::Device`] for a size of 0, more than a
    /// buffer can hold, or a lost device.
    ///
    /// ```
    /// use tenure::{Config, Gpu, Queue, sim};
    ///
    /// let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// let mut recording = gpu.record(Queue::Graphics, "build")?;
    /// let (_commands, scratch) = recording.split();
    /// let (rock, tree) = (scratch.build_scratch(1000)?, scratch.build_scratch(3000)?);
    /// assert!(tree.offset() >= rock.offset() + rock.size());
    /// assert_eq!(tree.gpu_address().map(|address| address % 256), Some(0));
    /// // … builds …
    /// recording.reuse_build_scratch();
    /// let again = recording.split().1.build_scratch(2000)?;
    /// // … builds, in the same memory …
    /// # let _ = again;
    /// recording.submit()?;
    /// # Ok::<(), tenure::Error>(())
    /// ```
    ///
    /// Earlier scratch memory cannot be used afterwards:
    ///
    /// ```compile_fail,E0502
    /// # use tenure::{Config, Gpu, Queue, sim};
    /// # let gpu = Gpu::new(sim::Device::new(sim::Profile::DISCRETE), Config::default())?;
    /// # let mut recording = gpu.record(Queue::Graphics, "build")?;
    /// let rock = recording.split().1.build_scratch(1000)?;
    /// recording.reuse_build_scratch();
    /// rock.gpu_address();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[inline]
    pub fn build_scratch(&self, size: u64) -> Result<BuildScratch<'r, D>, Error> {
        let align = self.services.context.alignments.build_scratch;
        let builds: Option<&'r BuildPages<D>> = self.builds.get().map(|builds| &**builds);
        match builds.and_then(|builds| builds.bump(size, align)) {
            Some(found) if size > 0 => Ok(found),
            _ => self.make_build_room(size, align),
        }
    }

    #[cold]
    fn make_build_room(&self, size: u64, align: u64) -> Result<BuildScratch<'r, D>, Error> {
        let context = &*self.services.context;
        let _call = context.call();
        let refused = |source| context.refused(&Name::from(NAME), source);
        if size == 0 {
            return Err(refused(DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1))));
        }
        // Buffers may begin at addresses of smaller alignment. The padding for that is not part of the request, so the reported
        // limit excludes it.
        let most = context.max_buffer_size.saturating_sub(align - 1);
        if size > most {
            return Err(refused(DeviceError::invalid_desc("size", size, Allowed::AtMost(most))));
        }
        let needed = size + (align - 1);
        let pool = &self.services.builds;
        let builds: &'r BuildPages<D> = self.builds.get_or_init(|| pool.take());
        if let Some(found) = builds.find(size, align) {
            return Ok(found);
        }
        // A page that may be smaller waits for nothing, and does not leave fast memory.
        let make = |bytes, may_be_smaller| {
            let flags = match may_be_smaller {
                true => AllocationFlags::NEVER_WAIT | AllocationFlags::DEVICE_LOCAL_ONLY,
                false => AllocationFlags::empty(),
            };
            Page::new(context, &**self.services, &page_desc(bytes, align).allocation(flags))
        };
        let page = pool.page_for(context, needed, !builds.is_empty(), make)?;
        let found = builds.begin(page).and_then(|()| builds.bump(size, align));
        found.ok_or(Error::Internal { what: "a new page of build scratch is too small" })
    }
}

fn page_desc(size: u64, align: u64) -> BufferDesc {
    let usage = Usage::UNORDERED_ACCESS;
    BufferDesc { usage, ..BufferDesc::new(size, usage).alignment(align).name(NAME) }
}
