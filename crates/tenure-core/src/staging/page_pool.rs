//! The pool of constant pages that no recording holds.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::page::Uses;
use super::{Page, Pages};
use crate::context::Context;
use crate::device::Device;
use crate::service::Service;
use crate::time::SyncPoint;

/// The number of thread slots: thread numbers are taken modulo this.
const THREADS: usize = 16;

/// An entry of the pool, padded to whole cache lines against false sharing.
#[repr(align(128))]
struct PaddedThreadPages<D: Device>(Mutex<ThreadPages<D>>);

/// Pages that no recording holds, separate for each thread: a thread gets back the pages that it filled before, which may still
/// be in its cache, without contention. A thread without pages takes another thread's, so that no memory is allocated while any
/// page is free.
pub(crate) struct PagePool<D: Device> {
    threads: [PaddedThreadPages<D>; THREADS],
    /// A bit for each index of `threads` that may have pages; set and cleared under its lock.
    stocked: AtomicU32,
}

impl<D: Device> Default for PagePool<D> {
    fn default() -> Self {
        Self {
            threads: std::array::from_fn(|_| PaddedThreadPages(Mutex::new(ThreadPages::new()))),
            stocked: AtomicU32::new(0),
        }
    }
}

impl<D: Device> PagePool<D> {
    /// Pages for a recording, possibly partly filled by an earlier one.
    pub(crate) fn take(&self) -> Box<Pages<D>> {
        let own = crate::thread_slot::current() % THREADS;
        let begun = self.threads[own].0.lock().take_begun();
        let mut pages = begun
            .or_else(|| self.of_others(own).find_map(|mut thread_pages| thread_pages.take_begun()))
            .unwrap_or_else(|| Box::new(Pages::new(own)));
        pages.move_to(own);
        pages
    }

    /// An unused full page, preferably of the thread `own`. Queries the progress of the GPU if none is known to be free.
    pub(crate) fn take_free(&self, own: usize, context: &Context<D>) -> Option<Box<Page<D>>> {
        let find = || {
            let page = self.threads[own].0.lock().take_free(context);
            let of_others = || self.of_others(own).find_map(|mut pages| pages.take_free(context));
            page.or_else(of_others)
        };
        find().or_else(|| {
            context.poll_clock();
            find()
        })
    }

    /// The pages of other threads that may have any, if their locks are free.
    fn of_others(&self, own: usize) -> impl Iterator<Item = MutexGuard<'_, ThreadPages<D>>> {
        let others = self.stocked().filter(move |thread_pages| *thread_pages != own);
        others.filter_map(|thread_pages| self.threads[thread_pages].0.try_lock())
    }

    /// The threads that may have pages.
    fn stocked(&self) -> impl Iterator<Item = usize> + use<D> {
        let stocked = self.stocked.load(Ordering::Acquire);
        let left = std::iter::successors(Some(stocked), |left| Some(left & left.wrapping_sub(1)));
        left.take_while(|left| *left != 0).map(|left| left.trailing_zeros() as usize)
    }

    /// Takes the pages of a recording, submitted as `submission`, or discarded.
    pub(crate) fn recycle(&self, mut pages: Box<Pages<D>>, context: &Context<D>, submission: SyncPoint) {
        pages.end_recording(context, submission);
        let number = pages.thread_pages();
        let mut thread_pages = self.threads[number].0.lock();
        pages.take_filled().for_each(|page| thread_pages.put_filled(page, context, submission));
        thread_pages.put_begun(pages, context);
        let bit = 1 << number;
        if self.stocked.load(Ordering::Relaxed) & bit == 0 {
            self.stocked.fetch_or(bit, Ordering::Release);
        }
        drop(thread_pages);
        if context.is_shut_down.load(Ordering::Acquire) {
            self.release_all(context);
        }
    }
}

impl<D: Device> Service<D> for PagePool<D> {
    /// Frees the pages that no recording has taken for the configured number of frames, except one free page of each thread that
    /// fills pages. Cost: O(freed pages + pages filled since the last call).
    fn end_frame(&self, context: &Context<D>) {
        if self.stocked.load(Ordering::Acquire) == 0 {
            return;
        }
        let oldest = context.current_frame().saturating_sub(u64::from(context.config.frames.idle));
        let mut gone = Gone::new();
        for number in self.stocked() {
            let mut thread_pages = self.threads[number].0.lock();
            thread_pages.end_frame(oldest, context, &mut gone);
            if thread_pages.is_empty() {
                self.stocked.fetch_and(!(1 << number), Ordering::Release);
            }
        }
        gone.release(context);
    }

    /// Frees unused full pages.
    fn trim(&self, context: &Context<D>) {
        let mut gone = Gone::new();
        self.stocked().for_each(|number| self.threads[number].0.lock().clear_free(context, &mut gone));
        gone.release(context);
    }

    /// Frees all pages.
    fn release_all(&self, context: &Context<D>) {
        let mut gone = Gone::new();
        self.stocked().for_each(|number| self.threads[number].0.lock().clear(&mut gone));
        gone.release(context);
    }
}

/// A page or pages, and the frame in which a recording last held them.
struct Since<T> {
    frame: u64,
    what: T,
}

/// The pages of one thread that no recording holds: partly filled ones, which the next recording continues to fill, and full
/// ones, which wait for the submissions of the recordings that filled them.
///
/// Each list is in the order of arrival: the pages at the front, or at the bottom, are the oldest.
pub(super) struct ThreadPages<D: Device> {
    /// Partly filled, the last used on top.
    begun: Vec<Since<Box<Pages<D>>>>,
    /// Full, with the sync point to wait for.
    pending: VecDeque<Since<(Box<Page<D>>, SyncPoint)>>,
    /// Unused pages, the last used on top.
    free: Vec<Since<Box<Page<D>>>>,
}

impl<D: Device> ThreadPages<D> {
    pub(super) const fn new() -> Self {
        Self { begun: Vec::new(), pending: VecDeque::new(), free: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.pending.is_empty() && self.free.is_empty()
    }

    pub(super) fn take_begun(&mut self) -> Option<Box<Pages<D>>> {
        self.begun.pop().map(|begun| begun.what)
    }

    pub(super) fn put_begun(&mut self, what: Box<Pages<D>>, context: &Context<D>) {
        self.begun.push(Since { frame: context.current_frame(), what });
    }

    /// An unused full page.
    pub(super) fn take_free(&mut self, context: &Context<D>) -> Option<Box<Page<D>>> {
        self.find_free(context);
        self.free.pop().map(|free| free.what)
    }

    /// Takes a full page of a recording, submitted as `last`, or discarded. A page belongs to one recording at a time, so that
    /// no open recording uses it.
    pub(super) fn put_filled(&mut self, mut page: Box<Page<D>>, context: &Context<D>, last: SyncPoint) {
        page.note_uses(Uses::Submitted(last));
        let point = match page.take_uses() {
            Uses::Submitted(point) => point,
            Uses::Recordings => page.needs(context),
        };
        self.pending.push_back(Since { frame: context.current_frame(), what: (page, point) });
    }

    /// Collects the pages with complete sync points. A page that waits for a slow queue may delay the pages behind it, at most
    /// for the time that idle pages are kept.
    fn find_free(&mut self, context: &Context<D>) {
        let completed = context.clock.completed();
        while self.pending.front().is_some_and(|pending| pending.what.1.is_covered_by(&completed))
            && let Some(Since { frame, what: (page, _) }) = self.pending.pop_front()
        {
            self.free.push(Since { frame, what: page });
        }
    }

    /// Removes the pages that no recording has held since the frame `oldest`, except one free page if others are partly filled.
    pub(super) fn end_frame(&mut self, oldest: u64, context: &Context<D>, gone: &mut Gone<D>) {
        self.find_free(context);
        let begun = self.begun.partition_point(|begun| begun.frame < oldest);
        gone.begun.extend(self.begun.drain(..begun).map(|begun| *begun.what));
        // A thread that fills pages keeps one free page: if it fills a page less often than idle pages are freed, each page
        // would otherwise be allocated again.
        let spare = usize::from(!self.begun.is_empty());
        let free =
            self.free.partition_point(|free| free.frame < oldest).min(self.free.len().saturating_sub(spare));
        gone.filled.extend(self.free.drain(..free).map(|free| *free.what));
        while self.pending.front().is_some_and(|pending| pending.frame < oldest)
            && let Some(pending) = self.pending.pop_front()
        {
            gone.take_pending(pending.what);
        }
    }

    /// Removes unused full pages.
    pub(super) fn clear_free(&mut self, context: &Context<D>, gone: &mut Gone<D>) {
        self.find_free(context);
        gone.filled.extend(self.free.drain(..).map(|free| *free.what));
    }

    /// Removes all pages.
    pub(super) fn clear(&mut self, gone: &mut Gone<D>) {
        gone.begun.extend(self.begun.drain(..).map(|begun| *begun.what));
        self.pending.drain(..).for_each(|pending| gone.take_pending(pending.what));
        gone.filled.extend(self.free.drain(..).map(|free| *free.what));
    }
}

/// Pages removed under a lock, to be freed without it: after the end of the manager, freeing a page may run the program's code.
pub(super) struct Gone<D: Device> {
    begun: Vec<Pages<D>>,
    filled: Vec<Page<D>>,
}

impl<D: Device> Gone<D> {
    pub(super) const fn new() -> Self {
        Self { begun: Vec::new(), filled: Vec::new() }
    }

    fn take_pending(&mut self, (page, point): (Box<Page<D>>, SyncPoint)) {
        page.note_uses(Uses::Submitted(point));
        self.filled.push(*page);
    }

    /// Releases the pages.
    pub(super) fn release(self, context: &Context<D>) {
        self.begun.into_iter().for_each(|pages| pages.release(context));
        self.filled.into_iter().for_each(|page| page.release_noted(context));
    }
}
