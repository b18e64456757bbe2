//! The pages of one recording.

use std::cell::Cell;

use elsa::FrozenVec;

use super::Page;
use crate::device::Device;
use crate::gpu::Shared;

/// The pages that a recording fills. The current one may have begun with an earlier recording.
pub(crate) struct Pages<D: Device> {
    /// The shelf of the [pool](super::PagePool) that they go to.
    shelf: usize,
    pages: FrozenVec<Box<Page<D>>>,
    current: Cell<usize>,
    /// The next free byte of the current page, and its end; both 0 while there is none.
    next: Cell<u64>,
    end: Cell<u64>,
}

impl<D: Device> Pages<D> {
    pub(super) fn new(shelf: usize) -> Self {
        Self { shelf, pages: FrozenVec::new(), current: Cell::new(0), next: Cell::new(0), end: Cell::new(0) }
    }

    pub(super) const fn shelf(&self) -> usize {
        self.shelf
    }

    /// Sends them to another shelf.
    pub(super) const fn move_to(&mut self, shelf: usize) {
        self.shelf = shelf;
    }

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
    pub(super) fn begin(&self, mut page: Box<Page<D>>, used: u64) -> (usize, &Page<D>) {
        page.is_common = true;
        self.end.set(page.size());
        self.next.set(used);
        let (index, page) = self.keep(page);
        self.current.set(index);
        (index, page)
    }

    /// Takes a page in that is full from the beginning. Its index.
    pub(super) fn keep(&self, page: Box<Page<D>>) -> (usize, &Page<D>) {
        (self.pages.len(), self.pages.push_get(page))
    }

    /// The recording is over: gives back every page that was made for one thing, and makes the current one
    /// the first.
    pub(super) fn end_recording(&mut self, shared: &Shared<D>) {
        if self.next == self.end {
            // It is full, too.
            self.next.set(0);
            self.end.set(0);
        }
        let current = self.current.replace(0);
        let kept = self.kept();
        let pages = self.pages.as_mut();
        if kept > 0 {
            pages.swap(0, current);
        }
        pages.extract_if(kept.., |page| !page.is_common).for_each(|page| page.release(shared));
    }

    /// Hands out the full pages of a recording that is over.
    pub(super) fn take_filled(&mut self) -> impl Iterator<Item = Box<Page<D>>> {
        let kept = self.kept();
        self.pages.as_mut().drain(kept..)
    }

    /// How many pages stay when the recording is over: the current one, if there is one.
    fn kept(&self) -> usize {
        usize::from(self.end.get() > 0).min(self.pages.len())
    }

    /// Gives back every page.
    pub(super) fn release(mut self, shared: &Shared<D>) {
        self.pages.as_mut().drain(..).for_each(|page| page.release(shared));
    }
}
