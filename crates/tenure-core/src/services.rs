//! The services of a manager, and the order in which they age, release memory and end.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::context::Context;
use crate::descriptor::DescriptorService;
use crate::device::{Device, Permit};
use crate::error::Error;
use crate::list::ListPool;
use crate::memory::{MakeRoom, Wanted};
use crate::permit::OwnPermit as _;
use crate::query::QueryService;
use crate::service::Service;
use crate::staging::{BuildScratchPool, PagePool, Purpose, Rings, SharedPages};
use crate::transient_heaps::{IdleHeaps, Transients};
use crate::upload::Uploads;

/// The interval for polling threads that are freeing memory. They call the driver, which takes longer.
const BETWEEN_LOOKS: Duration = Duration::from_micros(100);

/// The services of a manager, shared by its recordings and some handles.
pub(crate) struct Services<D: Device> {
    pub(crate) lists: Arc<ListPool<D>>,
    pub(crate) uploads: Uploads<D>,
    /// Pages of constants between recordings.
    pub(crate) constants: PagePool<D>,
    /// Pages of build scratch between recordings.
    pub(crate) builds: BuildScratchPool<D>,
    pub(crate) rings: Rings,
    pub(crate) readbacks: SharedPages<D>,
    pub(crate) queries: Arc<QueryService<D>>,
    pub(crate) transients: Transients<D>,
    pub(crate) descriptors: Arc<DescriptorService<D>>,
    /// Declared last, as in every handle.
    pub(crate) context: Arc<Context<D>>,
}

impl<D: Device> Services<D> {
    pub(crate) fn new(context: Arc<Context<D>>) -> Self {
        let properties = context.device().properties();
        let lists = Arc::new(ListPool::new(properties));
        Self {
            uploads: Uploads::new(properties, lists.clone()),
            lists,
            constants: PagePool::default(),
            builds: BuildScratchPool::default(),
            rings: Rings::default(),
            readbacks: SharedPages::new(Purpose::Readbacks),
            queries: Arc::new(QueryService::new(&context)),
            transients: Transients::new(context.clone()),
            descriptors: Arc::new(DescriptorService::new(&context)),
            context,
        }
    }

    /// Submits the pending uploads, so that the next submission finds their data.
    ///
    /// # Errors
    /// As [`Uploads::flush`].
    #[inline]
    pub(crate) fn flush_pending_uploads(&self) -> Result<(), Error> {
        if self.uploads.is_pending() { self.flush_uploads() } else { Ok(()) }
    }

    #[cold]
    fn flush_uploads(&self) -> Result<(), Error> {
        self.uploads.flush(&self.context).map(drop)
    }

    /// The services that keep memory between recordings. Transient heaps are not included: a shortage frees only some of them,
    /// and their frame ends after that of the descriptors. Names all fields, so that a new one is not forgotten here.
    fn each(&self) -> [&dyn Service<D>; 5] {
        let Self {
            constants,
            builds,
            uploads,
            readbacks,
            queries,
            lists: _,
            rings: _,
            transients: _,
            descriptors: _,
            context: _,
        } = self;
        [constants, builds, &uploads.staging, readbacks, &**queries]
    }

    /// Frees unused pages and query heaps.
    pub(crate) fn trim(&self) {
        self.each().iter().for_each(|service| service.trim(&self.context));
    }

    /// Ends the manager: frees all pages and the memory of all query heaps.
    pub(crate) fn release_all(&self) {
        self.each().iter().for_each(|service| service.release_all(&self.context));
    }

    /// Ends a frame: frees the pages that were idle for long, and collects GPU times.
    pub(crate) fn end_frame(&self) {
        self.each().iter().for_each(|service| service.end_frame(&self.context));
    }
}

impl<D: Device> Services<D> {
    /// Frees memory immediately: all objects that the GPU has finished with, idle pages and blocks. Submits pending uploads,
    /// because they delay the release of everything dropped since: during external work only with `waits`.
    fn free_memory(&self, wanted: Option<Wanted>, waits: bool) {
        let context = &*self.context;
        // After a refusal for lack of memory they stay pending, and the next submission reports it. After any other refusal
        // their `Upload` has the error.
        let _told_later = self.uploads.try_flush(context, waits);
        context.poll_clock();
        self.trim();
        self.transients.try_trim(IdleHeaps::NotUsedLately);
        context.reclaim_memory();
        let reclaiming = context.begin_reclaim();
        context.pools.free_empty(context.device());
        drop(reclaiming);
        if let Some(wanted) = wanted {
            context.pools.residency.make_room(&context.paging(), wanted);
        }
    }
}

/// In a shortage, all services free their unused memory.
impl<D: Device> MakeRoom for Services<D> {
    fn make_room(&self, wanted: Option<Wanted>) {
        self.free_memory(wanted, false);
    }

    fn release_completed(&self) {
        self.context.reclaim_now();
    }

    fn prepare_growth(&self) {
        self.context.reclaim_without_frames();
    }

    fn reclaims(&self) -> usize {
        self.context.reclaims()
    }

    fn wait_for_room(&self, wanted: Option<Wanted>, since: usize) -> bool {
        let context = &*self.context;
        let has_trimmed = self.transients.try_trim(IdleHeaps::All);
        let is_awaited =
            || wanted.is_some_and(|wanted| context.pools.residency.is_room_in_use(&context.paging(), wanted));
        // A reclaiming thread is counted before it takes objects out of the queue, and its reclaim before it is no longer counted:
        // this order of reads misses none. Some objects that hold memory, such as transient heaps, are queued without bytes.
        let is_in_use = has_trimmed || context.releases.stats().pending() > 0 || is_awaited();
        let waits = is_in_use || context.is_reclaiming();
        if !waits && context.reclaims() == since {
            return false;
        }
        let (start, max_wait) = (Instant::now(), context.config.pools.max_wait);
        // The clock notes a loss of the device, and the next call reports it.
        let wait = || context.clock.wait(context.device(), &context.clock.submitted(), max_wait);
        let is_complete = !is_in_use || wait() == Ok(true);
        while context.is_reclaiming() && context.clock.loss().is_none() && start.elapsed() < max_wait {
            thread::sleep(BETWEEN_LOOKS);
        }
        if waits && let Some(times) = context.waits.allocations.note() {
            event!(debug, waited = ?start.elapsed(), is_complete, times, "an allocation waited for the GPU to finish with memory");
        }
        // A caller that waits holds no lock that external work needs.
        self.free_memory(wanted, true);
        true
    }
}

impl<D: Device> Drop for Services<D> {
    /// Destroys the command lists and frees all pages: no recording and no readback is left.
    fn drop(&mut self) {
        let (context, lists) = (&self.context, self.lists.take_all());
        if context.finish() {
            lists.into_iter().for_each(|list| context.device().destroy_list(Permit::own(), list));
        } else {
            std::mem::forget(lists);
        }
        self.release_all();
    }
}
