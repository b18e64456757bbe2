//! Pages of scratch memory for builds of acceleration structures.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use super::Page;
use super::page_pool::{Gone, ThreadPages};
use crate::Error;
use crate::append_list::AppendList;
use crate::context::Context;
use crate::device::{Barrier, Device};
use crate::service::Service;
use crate::time::SyncPoint;

/// Minimum size of the first page in bytes: the smallest size that the configuration allows.
const FIRST_PAGE: u64 = 64 << 10;

/// Maximum number of empty sets of pages kept, so that recordings need not allocate them.
const MOST_EMPTY: usize = 16;

/// Scratch memory for one build of an acceleration structure: see [`Scratch::build_scratch`](crate::Scratch::build_scratch). It
/// is valid until the recording is submitted, or its scratch memory is [reused](crate::Recording::reuse_build_scratch); the GPU
/// uses it until the submission is complete.
pub struct BuildScratch<'r, D: Device> {
    page: &'r Page<D>,
    /// Offset in the page.
    offset: u64,
    size: u64,
}

debug_fields!([D: Device] BuildScratch<'_, D>, "BuildScratch", this, offset: this.offset(), size: this.size, address: this.gpu_address());

impl<D: Device> Clone for BuildScratch<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for BuildScratch<'_, D> {}

impl<'r, D: Device> BuildScratch<'r, D> {
    /// The API buffer that holds it, with the scratch memory of other builds.
    #[must_use]
    pub fn raw(&self) -> &'r D::Resource {
        self.page.resource()
    }

    /// Offset in the API buffer, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.page.base() + self.offset
    }

    /// Size in bytes.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// GPU address of its first byte, if the API has addresses: a multiple of
    /// [`scratch_alignment`](crate::device::RayTracingLimits::scratch_alignment).
    #[must_use]
    pub fn gpu_address(&self) -> Option<u64> {
        self.page.address().map(|address| address + self.offset)
    }
}

/// The scratch pages of the builds of one recording.
pub(crate) struct BuildPages<D: Device> {
    pages: AppendList<Box<Page<D>>>,
    /// Allocated bytes of each page, since the memory was last reused.
    used: RefCell<SmallVec<[u64; 8]>>,
    /// Index of the page being filled, its next byte, and its end. All 0 without such a page.
    current: Cell<usize>,
    next: Cell<u64>,
    end: Cell<u64>,
}

impl<D: Device> BuildPages<D> {
    fn new() -> Self {
        Self {
            pages: AppendList::new(),
            used: RefCell::default(),
            current: Cell::new(0),
            next: Cell::new(0),
            end: Cell::new(0),
        }
    }

    /// Whether there is no page.
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// The next bytes of the current page whose address is a multiple of `align`, a power of two.
    #[inline]
    pub(crate) fn bump(&self, size: u64, align: u64) -> Option<BuildScratch<'_, D>> {
        let page = self.pages.get(self.current.get())?;
        let base = page.address().unwrap_or_else(|| page.base());
        let offset = base.checked_add(self.next.get())?.checked_next_multiple_of(align)? - base;
        let end = offset.checked_add(size).filter(|end| *end <= self.end.get())?;
        self.next.set(end);
        Some(BuildScratch { page, offset, size })
    }

    /// A range of a page that was filled before the memory was reused.
    pub(crate) fn find(&self, size: u64, align: u64) -> Option<BuildScratch<'_, D>> {
        self.note_current();
        (0..self.pages.len()).find_map(|index| {
            self.go_to(index)?;
            self.bump(size, align)
        })
    }

    fn note_current(&self) {
        if let Some(used) = self.used.borrow_mut().get_mut(self.current.get()) {
            *used = self.next.get();
        }
    }

    fn go_to(&self, index: usize) -> Option<()> {
        let used = *self.used.borrow().get(index)?;
        self.current.set(index);
        self.next.set(used);
        self.end.set(self.pages.get(index)?.size());
        Some(())
    }

    /// Adds a page, which is filled next.
    pub(crate) fn begin(&self, page: Box<Page<D>>) -> Option<()> {
        self.note_current();
        self.used.borrow_mut().push(0);
        self.pages.push(page);
        self.go_to(self.pages.len() - 1)
    }

    /// Orders the builds so far before the following builds, which write the same memory again; then all bytes are free.
    pub(crate) fn reuse(&mut self, barriers: impl FnOnce(&[Barrier<'_, D>])) {
        self.note_current();
        let used = self.used.get_mut();
        let written = self.pages.iter().zip(used.iter()).filter(|(_, used)| **used > 0);
        let found: SmallVec<[_; 8]> =
            written.map(|(page, _)| Barrier::Unordered { resource: page.resource() }).collect();
        if !found.is_empty() {
            barriers(&found);
        }
        used.fill(0);
        self.go_to(0);
    }

    fn take_pages(&mut self) -> impl Iterator<Item = Box<Page<D>>> + '_ {
        self.used.get_mut().clear();
        self.current.set(0);
        self.next.set(0);
        self.end.set(0);
        self.pages.drain(0)
    }
}

/// The build-scratch pages that no recording holds.
pub(crate) struct BuildScratchPool<D: Device> {
    /// Set and cleared under the lock: most programs have none.
    has_some: AtomicBool,
    state: Mutex<PoolState<D>>,
}

struct PoolState<D: Device> {
    pages: ThreadPages<D>,
    /// Size of new pages in bytes; 0 before the first.
    size: u64,
    #[expect(
        clippy::vec_box,
        reason = "recordings have them in boxes, so that those without builds are small"
    )]
    empty: Vec<Box<BuildPages<D>>>,
}

impl<D: Device> Default for BuildScratchPool<D> {
    fn default() -> Self {
        let state = PoolState { pages: ThreadPages::new(), size: 0, empty: Vec::new() };
        Self { has_some: AtomicBool::new(false), state: Mutex::new(state) }
    }
}

impl<D: Device> BuildScratchPool<D> {
    pub(crate) fn take(&self) -> Box<BuildPages<D>> {
        self.state.lock().empty.pop().unwrap_or_else(|| Box::new(BuildPages::new()))
    }

    /// A free page of at least `needed` bytes; `make` creates one if there is none, of a size that may be larger than necessary. The size grows when a recording has filled
    /// a page (`is_further`), and when a build needs more, not with the number of recordings in flight. In a shortage, a page is
    /// as small as possible.
    pub(crate) fn page_for(
        &self,
        context: &Context<D>,
        needed: u64,
        is_further: bool,
        make: impl Fn(u64, bool) -> Result<Page<D>, Error>,
    ) -> Result<Box<Page<D>>, Error> {
        let largest = context.config.staging.build_scratch_page;
        if needed > largest {
            return make(needed, false).map(Box::new);
        }
        context.poll_clock();
        let mut small = SmallVec::<[_; 2]>::new();
        let mut state = self.state.lock();
        let grown = if is_further { state.size.saturating_mul(2) } else { state.size };
        let least = needed.next_power_of_two().max(FIRST_PAGE).min(largest);
        let size = grown.clamp(least, largest);
        let found = loop {
            match state.pages.take_free(context) {
                Some(page) if page.size() < size => small.push(page),
                found => break found,
            }
        };
        drop(state);
        // These pages are not in use. Freed first, so that a new page may have their memory.
        small.into_iter().for_each(|page| page.release_noted(context));
        let page = match found {
            Some(page) => page,
            None => Box::new(match make(size, size > least) {
                Err(Error::OutOfMemory(_)) if least < size => make(least, false)?,
                made => made?,
            }),
        };
        let mut state = self.state.lock();
        state.size = state.size.max(page.size().min(size));
        drop(state);
        Ok(page)
    }

    /// Takes the pages of a recording, submitted as `submission`, or discarded. Frees pages that are larger than usual, or
    /// smaller than new pages.
    pub(crate) fn recycle(
        &self,
        mut builds: Box<BuildPages<D>>,
        context: &Context<D>,
        submission: SyncPoint,
    ) {
        let mut other = SmallVec::<[_; 2]>::new();
        let mut state = self.state.lock();
        for page in builds.take_pages() {
            if page.size() == state.size {
                state.pages.put_filled(page, context, submission);
            } else {
                other.push(page);
            }
        }
        if state.empty.len() < MOST_EMPTY {
            state.empty.push(builds);
        }
        self.has_some.store(true, Ordering::Release);
        drop(state);
        other.into_iter().for_each(|page| page.release_after(context, submission));
        if context.is_shut_down.load(Ordering::Acquire) {
            self.release_all(context);
        }
    }

    fn release_pages(&self, context: &Context<D>, take: impl FnOnce(&mut ThreadPages<D>, &mut Gone<D>)) {
        if !self.has_some.load(Ordering::Acquire) {
            return;
        }
        let mut gone = Gone::new();
        let mut state = self.state.lock();
        take(&mut state.pages, &mut gone);
        if state.pages.is_empty() {
            state.size = 0;
            self.has_some.store(false, Ordering::Release);
        }
        drop(state);
        gone.release(context);
    }
}

impl<D: Device> Service<D> for BuildScratchPool<D> {
    /// Frees the pages that no recording has taken for the configured number of frames.
    fn end_frame(&self, context: &Context<D>) {
        let oldest = context.current_frame().saturating_sub(u64::from(context.config.frames.idle));
        self.release_pages(context, |pages, gone| pages.end_frame(oldest, context, gone));
    }

    /// Frees unused pages.
    fn trim(&self, context: &Context<D>) {
        self.release_pages(context, |pages, gone| pages.clear_free(context, gone));
    }

    /// Frees all pages.
    fn release_all(&self, context: &Context<D>) {
        self.release_pages(context, |pages, gone| pages.clear(gone));
    }
}
