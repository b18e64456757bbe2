//! The pages of one recording, and what is left of them for the next.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use elsa::FrozenVec;
use parking_lot::Mutex;

use super::Page;
use crate::device::Device;
use crate::gpu::Shared;

/// The pages that a recording fills. The current one may have begun with an earlier recording.
pub(crate) struct Pages<D: Device> {
    pages: FrozenVec<Box<Page<D>>>,
    current: Cell<usize>,
    /// The next free byte of the current page, and its end; both 0 while there is none.
    next: Cell<u64>,
    end: Cell<u64>,
}

impl<D: Device> Default for Pages<D> {
    fn default() -> Self {
        Self { pages: FrozenVec::new(), current: Cell::new(0), next: Cell::new(0), end: Cell::new(0) }
    }
}

impl<D: Device> Pages<D> {
    /// The next bytes of the current page at a multiple of `align`, a power of two: the page's
    /// index, and the offset in it.
    #[inline]
    pub(super) fn bump(&self, size: u64, align: u64) -> Option<(usize, u64)> {
        let offset = self.next.get().checked_add(align - 1)? & !(align - 1);
        let end = offset.checked_add(size).filter(|end| *end <= self.end.get())?;
        self.next.set(end);
        Some((self.current.get(), offset))
    }

    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&Page<D>> {
        self.pages.get(index)
    }

    /// Takes a page in, of which the first `used` bytes are given out and the rest is to be filled
    /// from here on. Its index.
    pub(super) fn begin(&self, page: Page<D>, used: u64) -> (usize, &Page<D>) {
        self.end.set(page.size());
        self.next.set(used);
        let (index, page) = self.keep(page);
        self.current.set(index);
        (index, page)
    }

    /// Takes a page in that is full from the beginning. Its index.
    pub(super) fn keep(&self, page: Page<D>) -> (usize, &Page<D>) {
        (self.pages.len(), self.pages.push_get(Box::new(page)))
    }

    /// The recording is over: gives back every page but the current one.
    fn end_recording(&mut self, shared: &Shared<D>) {
        let current = self.current.replace(0);
        let pages = self.pages.as_mut();
        let kept = usize::from(self.end.get() > 0).min(pages.len());
        if kept > 0 {
            pages.swap(0, current);
        }
        pages.drain(kept..).for_each(|page| page.release(shared));
    }

    /// Gives back every page.
    fn release(mut self, shared: &Shared<D>) {
        self.pages.as_mut().drain(..).for_each(|page| page.release(shared));
    }
}

/// Pages between two recordings.
struct Idle<D: Device> {
    pages: Box<Pages<D>>,
    /// The frame in which they were used last.
    frame: u64,
}

/// Pages that wait for a recording, the last used on top.
pub(crate) struct PagePool<D: Device>(Mutex<Vec<Idle<D>>>);

impl<D: Device> Default for PagePool<D> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<D: Device> PagePool<D> {
    /// Pages for a recording.
    pub(super) fn take(&self) -> Box<Pages<D>> {
        self.0.lock().pop().map(|idle| idle.pages).unwrap_or_default()
    }

    /// Takes the pages of a recording that was submitted or discarded.
    pub(crate) fn put_back(&self, mut pages: Box<Pages<D>>, shared: &Shared<D>) {
        pages.end_recording(shared);
        self.0.lock().push(Idle { pages, frame: shared.current_frame() });
        if shared.is_shut_down.load(Ordering::Acquire) {
            self.release_all(shared);
        }
    }

    /// Gives back the pages that no recording has taken for the configured frames. Cost: those.
    pub(crate) fn end_frame(&self, shared: &Shared<D>) {
        let oldest = shared.current_frame().saturating_sub(u64::from(shared.config.idle_frames));
        loop {
            let mut pool = self.0.lock();
            // Those at the bottom were used least recently.
            if pool.first().is_none_or(|idle| idle.frame >= oldest) {
                return;
            }
            let idle = pool.remove(0);
            drop(pool);
            idle.pages.release(shared);
        }
    }

    /// Gives all pages back.
    pub(crate) fn release_all(&self, shared: &Shared<D>) {
        let all = std::mem::take(&mut *self.0.lock());
        all.into_iter().for_each(|idle| idle.pages.release(shared));
    }
}
