//! Pages of mapped memory for the copies of all threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::Page;
use super::page::Uses;
use crate::context::Context;
use crate::device::{Device, DeviceError, Usage};
use crate::memory::{AllocationFlags, MakeRoom};
use crate::service::Service;
use crate::time::SyncPoint;
use crate::{BufferDesc, Config, Error, MemoryUse};

/// Alignment of a page in bytes: whole blocks of every format, and all other copied data, begin at a multiple of it.
const PAGE_ALIGNMENT: u64 = 256;

/// Size of the first page in bytes: the smallest size that the configuration allows.
pub(crate) const FIRST_PAGE: u64 = 64 << 10;

/// A range of a page, to be copied from or to.
pub(crate) struct Part<D: Device> {
    pub(crate) page: Arc<Page<D>>,
    /// Offset in the page.
    pub(crate) offset: u64,
}

impl<D: Device> Part<D> {
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.page.write(self.offset + offset, bytes)
    }

    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        self.page.read(self.offset + offset, out)
    }

    /// Offset in the API buffer, in bytes.
    pub(crate) fn start(&self) -> u64 {
        self.page.base() + self.offset
    }
}

/// The purpose of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Copies read them.
    Uploads,
    /// Copies write them.
    Readbacks,
}

/// The page for allocations.
struct Current<D: Device> {
    page: Arc<Page<D>>,
    next: u64,
    /// The frame of its last use.
    frame: u64,
}

/// An unused page, kept until the current one is full.
struct Spare<D: Device> {
    page: Page<D>,
    /// The newest recording that may use it.
    tag: u64,
    /// The sync point before its reuse; known once no open recording may use it.
    point: Option<SyncPoint>,
}

impl<D: Device> Spare<D> {
    fn release(self, context: &Context<D>) {
        match self.point {
            Some(point) => self.page.release_after(context, point),
            None => self.page.release(context),
        }
    }
}

struct State<D: Device> {
    current: Option<Current<D>>,
    spare: Option<Spare<D>>,
    /// Size of the last created page in bytes, the size of new pages; 0 before the first.
    size: u64,
    /// Number of shared pages: the current one, full ones in use, the spare one.
    alive: u32,
}

/// Memory of uploads and readbacks: a bump allocator over pages; an allocation of half the configured page size or more has a
/// page of its own. The last holder of a page frees it.
///
/// The first page is small. Two pages alternate; when both are in use, a third one of twice the size is created, up to the
/// configured size: pages become as large as the traffic requires. In a shortage, a page is as small as possible.
///
/// One free page is kept while pages are in use: it alternates with the current one if a page lasts for many frames, so that
/// its memory is not freed and allocated repeatedly.
pub(crate) struct SharedPages<D: Device> {
    purpose: Purpose,
    state: Mutex<State<D>>,
    /// Whether there is a current page; set and cleared under the lock: most frames end without one. A spare page exists only
    /// beside a current one.
    has_current: AtomicBool,
    /// Held while a page is created; locked before the state.
    growing: Mutex<()>,
}

impl<D: Device> SharedPages<D> {
    pub(crate) const fn new(purpose: Purpose) -> Self {
        let state = State { current: None, spare: None, size: 0, alive: 0 };
        let has_current = AtomicBool::new(false);
        Self { purpose, state: Mutex::new(state), has_current, growing: Mutex::new(()) }
    }

    /// Size of the largest page in bytes.
    const fn page_size(&self, config: &Config) -> u64 {
        match self.purpose {
            Purpose::Uploads => config.staging.upload_page,
            Purpose::Readbacks => config.staging.readback_page,
        }
    }

    /// Reserves bytes at a multiple of `align`, a power of two. `flags` apply to new pages.
    pub(crate) fn reserve(
        &self,
        context: &Context<D>,
        room: &dyn MakeRoom,
        size: u64,
        align: u64,
        flags: AllocationFlags,
    ) -> Result<Part<D>, Error> {
        if size < self.page_size(&context.config) / 2 {
            match self.share(context, room, size, align) {
                // Without the lock, so that other threads do not have to wait.
                Err(Error::OutOfMemory(_)) if !flags.contains(AllocationFlags::NEVER_WAIT) => {}
                shared => return shared,
            }
        }
        let page = Arc::new(self.new_page(context, room, size, align, flags)?);
        Ok(Part { page, offset: 0 })
    }

    /// A range of a shared page, without waiting for memory.
    fn share(
        &self,
        context: &Context<D>,
        room: &dyn MakeRoom,
        size: u64,
        align: u64,
    ) -> Result<Part<D>, Error> {
        let page_size = self.page_size(&context.config);
        let frame = context.current_frame();
        if let Some(part) = self.bump(size, align, frame) {
            return Ok(part);
        }
        // One thread creates a page; the others wait, and allocate from it. The state is not locked: in a shortage, these pages
        // are requested to free memory.
        let _growing = self.growing.lock();
        if let Some(part) = self.bump(size, align, frame) {
            return Ok(part);
        }
        // In a program without frames, nothing else may return pages.
        context.reclaim_now();
        let (spare, wanted) = {
            let mut state = self.state.lock();
            (state.take_spare(context, size), state.next_size(size, page_size))
        };
        let is_new = spare.is_none();
        let mut page = match spare {
            Some(page) => page,
            None => {
                let make = |size| self.new_page(context, room, size, align, AllocationFlags::NEVER_WAIT);
                let least = size.next_power_of_two().max(FIRST_PAGE).min(wanted);
                match make(wanted) {
                    Err(Error::OutOfMemory(_)) if least < wanted => make(least)?,
                    made => made?,
                }
            }
        };
        page.is_common = true;
        let page = Arc::new(page);
        let part = Part { page: page.clone(), offset: 0 };
        let mut state = self.state.lock();
        state.size = page.size();
        state.alive += u32::from(is_new);
        let outgrown = if is_new { state.take_outgrown() } else { None };
        let full = state.current.replace(Current { page, next: size, frame });
        self.has_current.store(true, Ordering::Release);
        drop(state);
        if let Some(full) = full {
            self.release_page(context, full.page, Uses::NONE);
        }
        if let Some(spare) = outgrown {
            spare.release(context);
        }
        Ok(part)
    }

    /// A range of the current page, if it has room.
    fn bump(&self, size: u64, align: u64, frame: u64) -> Option<Part<D>> {
        let mut state = self.state.lock();
        let current = state.current.as_mut()?;
        let offset = current.bump(size, align)?;
        current.frame = frame;
        Some(Part { page: current.page.clone(), offset })
    }

    /// Releases a reference to a page; the last one frees it, or keeps it as the spare one. Each holder reports its uses, so
    /// that the page does not wait for other open recordings.
    pub(crate) fn release_page(&self, context: &Context<D>, page: Arc<Page<D>>, uses: Uses) {
        page.note_uses(uses);
        let Some(mut page) = Arc::into_inner(page) else { return };
        let uses = page.take_uses();
        if page.is_common {
            let mut state = self.state.lock();
            let is_kept = page.size() == state.size && state.current.is_some() && state.spare.is_none();
            if is_kept && !context.is_shut_down.load(Ordering::Acquire) {
                let point = match uses {
                    Uses::Submitted(point) => Some(point),
                    Uses::Recordings => None,
                };
                state.spare = Some(Spare { page, tag: context.recordings.newest(), point });
                return;
            }
            state.alive = state.alive.saturating_sub(1);
        }
        page.release_used(context, uses);
    }

    fn new_page(
        &self,
        context: &Context<D>,
        room: &dyn MakeRoom,
        size: u64,
        align: u64,
        flags: AllocationFlags,
    ) -> Result<Page<D>, Error> {
        let (usage, memory, name) = match self.purpose {
            Purpose::Uploads => (Usage::COPY_SRC, MemoryUse::Upload, "staging"),
            Purpose::Readbacks => (Usage::COPY_DST, MemoryUse::Readback, "readbacks"),
        };
        let desc = BufferDesc { usage, ..BufferDesc::new(size, usage) };
        Page::new(
            context,
            room,
            &desc.memory(memory).alignment(align.max(PAGE_ALIGNMENT)).name(name).allocation(flags),
        )
    }
}

impl<D: Device> Service<D> for SharedPages<D> {
    /// Determines the sync point of the spare page, and frees the pages if nothing was allocated from them for the configured
    /// number of frames.
    fn end_frame(&self, context: &Context<D>) {
        if !self.has_current.load(Ordering::Acquire) {
            return;
        }
        let oldest = context.current_frame().saturating_sub(u64::from(context.config.frames.idle));
        let mut state = self.state.lock();
        // Early: later, the sync point would cover more submissions than necessary.
        state.date_spare(context);
        let is_idle = state.current.as_ref().is_some_and(|current| current.frame < oldest);
        drop(state);
        if is_idle {
            self.trim(context);
        }
    }

    /// Frees the pages without holders.
    fn trim(&self, context: &Context<D>) {
        let (current, spare) = {
            let mut state = self.state.lock();
            state.size = 0;
            self.has_current.store(false, Ordering::Release);
            (state.current.take(), state.spare.take())
        };
        if let Some(current) = current {
            self.release_page(context, current.page, Uses::NONE);
        }
        if let Some(spare) = spare {
            let mut state = self.state.lock();
            state.alive = state.alive.saturating_sub(1);
            drop(state);
            spare.release(context);
        }
    }

    fn release_all(&self, context: &Context<D>) {
        self.trim(context);
    }
}

impl<D: Device> State<D> {
    /// Determines the sync point of the spare page, once no open recording may use it.
    fn date_spare(&mut self, context: &Context<D>) {
        // The order matters: recordings older than `oldest_open` were submitted before that was read, so the serials, read
        // later, include them.
        if let Some(spare) = &mut self.spare
            && spare.point.is_none()
            && spare.tag < context.recordings.oldest_open()
        {
            spare.point = Some(spare.page.needs(context));
        }
    }

    /// Size of a new page in bytes, for an allocation of `size`.
    fn next_size(&self, size: u64, largest: u64) -> u64 {
        let grown = if self.alive < 2 { self.size } else { self.size * 2 };
        let grown = grown.max(FIRST_PAGE);
        // A power of two, like all page sizes.
        grown.max(size.next_power_of_two()).min(largest)
    }

    /// The spare page, if it is smaller than new pages.
    fn take_outgrown(&mut self) -> Option<Spare<D>> {
        let size = self.size;
        let spare = self.spare.take_if(|spare| spare.page.size() < size)?;
        self.alive = self.alive.saturating_sub(1);
        Some(spare)
    }

    /// The spare page, if it has `size` bytes and no recording and no GPU work can use it.
    fn take_spare(&mut self, context: &Context<D>, size: u64) -> Option<Page<D>> {
        self.date_spare(context);
        let is_done = |spare: &mut Spare<D>| {
            spare.page.size() >= size
                && spare.point.is_some_and(|point| point.is_covered_by(&context.clock.completed()))
        };
        self.spare.take_if(is_done).map(|spare| spare.page)
    }
}

impl<D: Device> Current<D> {
    fn bump(&mut self, size: u64, align: u64) -> Option<u64> {
        let offset = self.next.checked_add(align - 1)? & !(align - 1);
        self.next = offset.checked_add(size).filter(|end| *end <= self.page.size())?;
        Some(offset)
    }
}
