//! Pages between recordings.

use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::shelf::{Gone, Shelf};
use super::{Page, Pages};
use crate::device::Device;
use crate::gpu::Shared;

/// Threads are told apart up to this number, modulo it.
const SHELVES: usize = 16;

/// Alone on its cache lines, so that threads do not slow each other.
#[repr(align(128))]
struct Place<D: Device>(Mutex<Shelf<D>>);

/// Pages that wait for a recording, on a shelf for each thread: it finds those again that it has filled
/// before, which may still be in its cache, and meets no other thread. Where its shelf has none it takes
/// another's, so that no memory is asked for while any of these is free.
pub(crate) struct PagePool<D: Device> {
    shelves: [Place<D>; SHELVES],
    /// A bit for each shelf that may have something on it; set and cleared under its lock.
    stocked: AtomicU32,
}

impl<D: Device> Default for PagePool<D> {
    fn default() -> Self {
        Self { shelves: std::array::from_fn(|_| Place(Mutex::new(Shelf::new()))), stocked: AtomicU32::new(0) }
    }
}

impl<D: Device> PagePool<D> {
    /// Pages for a recording, which may have begun with an earlier one.
    pub(super) fn take(&self) -> Box<Pages<D>> {
        let own = crate::thread_slot::current() % SHELVES;
        let begun = self.shelves[own].0.lock().take_begun();
        let mut pages = begun
            .or_else(|| self.of_others(own).find_map(|mut shelf| shelf.take_begun()))
            .unwrap_or_else(|| Box::new(Pages::new(own)));
        pages.move_to(own);
        pages
    }

    /// A page that was filled before and that nothing uses any more; from this shelf, if it has one.
    pub(super) fn take_free(&self, own: usize, shared: &Shared<D>) -> Option<Box<Page<D>>> {
        let page = self.shelves[own].0.lock().take_free(shared);
        let page = page.or_else(|| self.of_others(own).find_map(|mut shelf| shelf.take_free(shared)));
        page.map(|mut page| {
            page.begin_anew(shared);
            page
        })
    }

    /// The other shelves that may have something and that nobody works with.
    fn of_others(&self, own: usize) -> impl Iterator<Item = MutexGuard<'_, Shelf<D>>> {
        let others = self.stocked().filter(move |shelf| *shelf != own);
        others.filter_map(|shelf| self.shelves[shelf].0.try_lock())
    }

    /// The shelves that may have something.
    fn stocked(&self) -> impl Iterator<Item = usize> + use<D> {
        let stocked = self.stocked.load(Ordering::Acquire);
        (0..SHELVES).filter(move |shelf| stocked & (1 << shelf) != 0)
    }

    /// Takes the pages of a recording that was submitted or discarded, while it still counts as open.
    pub(crate) fn put_back(&self, mut pages: Box<Pages<D>>, shared: &Shared<D>) {
        pages.end_recording(shared);
        let number = pages.shelf();
        let mut shelf = self.shelves[number].0.lock();
        pages.take_filled().for_each(|page| shelf.put_filled(page, shared));
        shelf.put_begun(pages, shared);
        let bit = 1 << number;
        if self.stocked.load(Ordering::Relaxed) & bit == 0 {
            self.stocked.fetch_or(bit, Ordering::Release);
        }
        drop(shelf);
        if shared.is_shut_down.load(Ordering::Acquire) {
            self.release_all(shared);
        }
    }

    /// Gives back the pages that no recording has taken for the configured frames. Cost: those, and the
    /// pages that were filled since the last time.
    pub(crate) fn end_frame(&self, shared: &Shared<D>) {
        let oldest = shared.current_frame().saturating_sub(u64::from(shared.config.idle_frames));
        let mut gone = Gone::new();
        for number in self.stocked() {
            let mut shelf = self.shelves[number].0.lock();
            shelf.end_frame(oldest, shared, &mut gone);
            if shelf.is_empty() {
                self.stocked.fetch_and(!(1 << number), Ordering::Release);
            }
        }
        gone.release(shared);
    }

    /// Gives back the full pages that nothing uses any more.
    pub(crate) fn release_free(&self, shared: &Shared<D>) {
        let mut gone = Gone::new();
        self.stocked().for_each(|number| self.shelves[number].0.lock().clear_free(shared, &mut gone));
        gone.release(shared);
    }

    /// Gives all pages back.
    pub(crate) fn release_all(&self, shared: &Shared<D>) {
        let mut gone = Gone::new();
        self.stocked().for_each(|number| self.shelves[number].0.lock().clear(&mut gone));
        gone.release(shared);
    }
}
