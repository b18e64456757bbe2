//! The pages between the recordings of one thread.

use std::collections::VecDeque;

use super::{Page, Pages};
use crate::device::Device;
use crate::gpu::Shared;
use crate::time::SyncPoint;

/// Something that waits, and the frame in which a recording last had it.
struct Since<T> {
    frame: u64,
    what: T,
}

/// Pages between two recordings: what is left of the current one of each recording, and whole pages, which go
/// the way of what is dropped.
///
/// All are in the order in which they came, so that those at the front, or at the bottom, are the oldest.
pub(super) struct Shelf<D: Device> {
    /// The last used on top.
    begun: Vec<Since<Box<Pages<D>>>>,
    /// Full, with the newest recording that may use them.
    waiting: VecDeque<Since<(Box<Page<D>>, u64)>>,
    /// Full, with what they must outlive.
    dated: VecDeque<Since<(Box<Page<D>>, SyncPoint)>>,
    /// Nothing uses them, the last used on top.
    free: Vec<Since<Box<Page<D>>>>,
}

impl<D: Device> Shelf<D> {
    pub(super) const fn new() -> Self {
        Self { begun: Vec::new(), waiting: VecDeque::new(), dated: VecDeque::new(), free: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.begun.is_empty() && self.waiting.is_empty() && self.dated.is_empty() && self.free.is_empty()
    }

    pub(super) fn take_begun(&mut self) -> Option<Box<Pages<D>>> {
        self.begun.pop().map(|begun| begun.what)
    }

    pub(super) fn put_begun(&mut self, what: Box<Pages<D>>, shared: &Shared<D>) {
        self.begun.push(Since { frame: shared.current_frame(), what });
    }

    /// A full page that nothing uses any more.
    pub(super) fn take_free(&mut self, shared: &Shared<D>) -> Option<Box<Page<D>>> {
        self.find_free(shared);
        self.free.pop().map(|free| free.what)
    }

    /// Takes a full page. The recordings that are open may use it, none that is opened later.
    pub(super) fn put_filled(&mut self, page: Box<Page<D>>, shared: &Shared<D>) {
        let what = (page, shared.recordings.newest());
        self.waiting.push_back(Since { frame: shared.current_frame(), what });
    }

    /// Finds what pages must outlive whose recordings are closed, and which nothing uses any more.
    ///
    /// Recordings' numbers rise, so that the first that must wait holds up none that need not. One that waits
    /// for a slow queue may hold up others behind it: for as long as pages are kept at most.
    fn find_free(&mut self, shared: &Shared<D>) {
        // The order matters: what is older than `oldest_open` was submitted before that was read,
        // so the serials, read later, include it.
        let oldest_open = shared.recordings.oldest_open();
        while let Some(Since { frame, what: (page, _) }) =
            self.waiting.pop_front_if(|waiting| waiting.what.1 < oldest_open)
        {
            let point = page.needs(shared);
            self.dated.push_back(Since { frame, what: (page, point) });
        }
        let completed = shared.clock.completed();
        while let Some(Since { frame, what: (page, _) }) =
            self.dated.pop_front_if(|dated| dated.what.1.is_covered_by(&completed))
        {
            self.free.push(Since { frame, what: page });
        }
    }

    /// Lets go of what no recording has had since the frame `oldest`.
    pub(super) fn end_frame(&mut self, oldest: u64, shared: &Shared<D>, gone: &mut Gone<D>) {
        // As soon as can be: the later, the more submissions they would have to outlive for nothing.
        self.find_free(shared);
        let begun = self.begun.partition_point(|begun| begun.frame < oldest);
        gone.begun.extend(self.begun.drain(..begun).map(|begun| *begun.what));
        let free = self.free.partition_point(|free| free.frame < oldest);
        gone.filled.extend(self.free.drain(..free).map(|free| *free.what));
        while let Some(waiting) = self.waiting.pop_front_if(|waiting| waiting.frame < oldest) {
            gone.filled.push(*waiting.what.0);
        }
        while let Some(dated) = self.dated.pop_front_if(|dated| dated.frame < oldest) {
            gone.filled.push(*dated.what.0);
        }
    }

    /// Lets go of the full pages that nothing uses any more.
    pub(super) fn clear_free(&mut self, shared: &Shared<D>, gone: &mut Gone<D>) {
        self.find_free(shared);
        gone.filled.extend(self.free.drain(..).map(|free| *free.what));
    }

    /// Lets go of everything.
    pub(super) fn clear(&mut self, gone: &mut Gone<D>) {
        gone.begun.extend(self.begun.drain(..).map(|begun| *begun.what));
        gone.filled.extend(self.waiting.drain(..).map(|waiting| *waiting.what.0));
        gone.filled.extend(self.dated.drain(..).map(|dated| *dated.what.0));
        gone.filled.extend(self.free.drain(..).map(|free| *free.what));
    }
}

/// What a shelf has let go of, to be given back without its lock: once the manager is gone, that may run the
/// program's code.
pub(super) struct Gone<D: Device> {
    begun: Vec<Pages<D>>,
    filled: Vec<Page<D>>,
}

impl<D: Device> Gone<D> {
    pub(super) const fn new() -> Self {
        Self { begun: Vec::new(), filled: Vec::new() }
    }

    /// Gives it back.
    pub(super) fn release(self, shared: &Shared<D>) {
        self.begun.into_iter().for_each(|pages| pages.release(shared));
        self.filled.into_iter().for_each(|page| page.release(shared));
    }
}
