//! Release of dropped objects that nothing uses any more.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;

use super::{Context, Retired};
use crate::api_resource::ApiResource;
use crate::callback::end_panic;
use crate::device::{Device, QueueSerial};
use crate::memory::{Backing, FreeToken, RUN};
use crate::time::{Batch, Batches, NotIdle, SyncPoint};

/// Submissions of a queue between two reclaims in a program without frames. Objects wait for the submissions before the first
/// reclaim after their drop: without this one, a full block would be the first, and the GPU could still be at work on the newest
/// submission, so that the pool grows by a block each time.
const RECLAIM_INTERVAL: u64 = 16;

/// A panic of the program's own destructors, or of its listener, kept until all other work is done.
#[must_use = "either goes on or is logged"]
pub(crate) struct Panicked(Option<Box<dyn Any + Send>>);

impl Panicked {
    /// No panic.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// This panic, or if there is none, that of a further call.
    pub(crate) fn or<T>(mut self, called: std::thread::Result<T>) -> Self {
        match called {
            Err(payload) if self.0.is_none() => self.0 = Some(payload),
            Err(payload) => end_panic(payload),
            Ok(_) => {}
        }
        self
    }

    /// Makes a further call, even after a panic; returns this panic, or that of the call.
    #[inline]
    pub(crate) fn or_else(self, call: impl FnOnce() -> Self) -> Self {
        let mut called = call();
        match called.0.take() {
            None => self,
            Some(payload) => self.or::<()>(Err(payload)),
        }
    }

    /// Resumes the panic in the caller.
    #[inline]
    pub(crate) fn resume(mut self) {
        if let Some(payload) = self.0.take() {
            resume_unwind(payload);
        }
    }

    /// Logs the panic instead of resuming it: for callers that are being dropped themselves.
    pub(crate) fn log(self) {
        if self.0.is_some() {
            event!(error, "a destructor or a listener of the program panicked");
        }
    }
}

impl Drop for Panicked {
    #[inline]
    fn drop(&mut self) {
        if let Some(payload) = self.0.take() {
            end_panic(payload);
        }
    }
}

/// Held by a thread while it destroys objects that it has taken out of the release queue, or blocks that it has taken out of their
/// pools: meanwhile no other thread can find their memory.
pub(crate) struct Reclaiming<'a> {
    threads: &'a AtomicUsize,
    finished: &'a AtomicUsize,
}

impl Drop for Reclaiming<'_> {
    fn drop(&mut self) {
        // In this order, so that no thread sees neither.
        self.finished.fetch_add(1, Ordering::Release);
        self.threads.fetch_sub(1, Ordering::Release);
    }
}

/// What a thread has taken out of the release queue. A panic of the device leaks the object that it was destroying; the others
/// return to the queue.
struct Reclaimed<'a, D: Device> {
    context: &'a Context<D>,
    ready: &'a mut [Batch<Retired<D>>],
    /// The ranges of shared buffers in `ready` are not free yet.
    has_ranges: bool,
    /// Ranges of destroyed objects.
    freed: SmallVec<[FreeToken; RUN]>,
}

impl<D: Device> Drop for Reclaimed<'_, D> {
    fn drop(&mut self) {
        if !self.freed.is_empty() {
            self.context.pools.freeing().free_run(self.freed.iter());
        }
        if !std::thread::panicking() {
            return;
        }
        for batch in &mut *self.ready {
            batch.take_items(|retired| {
                if self.has_ranges || retired.as_range().is_none() {
                    self.context.releases.push_after(retired, SyncPoint::NONE, 0);
                }
            });
        }
    }
}

impl<D: Device> Context<D> {
    /// Begins to take objects out of the release queue, or blocks out of their pools.
    pub(crate) fn begin_reclaim(&self) -> Reclaiming<'_> {
        // Relaxed: a thread that no longer finds an object in the queue, or a block in its pool, has locked it after this thread
        // did, and so sees the count.
        self.reclaiming.fetch_add(1, Ordering::Relaxed);
        Reclaiming { threads: &self.reclaiming, finished: &self.reclaims }
    }

    /// Whether any thread is [reclaiming](Self::begin_reclaim).
    pub(crate) fn is_reclaiming(&self) -> bool {
        self.reclaiming.load(Ordering::Acquire) > 0
    }

    /// The number of finished reclaims of all threads.
    pub(crate) fn reclaims(&self) -> usize {
        self.reclaims.load(Ordering::Acquire)
    }

    /// Releases everything that nothing can use any more, as far as the clock knows.
    pub(crate) fn reclaim(&self) -> Panicked {
        self.reclaim_memory();
        self.drop_users()
    }

    /// Like [`reclaim`](Self::reclaim), but without running the program's code: its own objects are dropped by the
    /// next reclaim. For calls inside which a program does not expect its destructors to run. Releases everything
    /// when the device is lost.
    pub(crate) fn reclaim_memory(&self) {
        let _reclaiming = self.begin_reclaim();
        let mut ready = Batches::new();
        if self.clock.loss().is_none() {
            self.releases.reclaim_batches(&self.recordings, &self.clock, &mut ready);
        } else {
            // A lost device uses nothing any more, so this takes everything.
            let taken = self.releases.reclaim_all_batches(&self.recordings, &self.clock, &mut ready);
            debug_assert!(taken.is_ok(), "only a device that works can be busy");
        }
        self.reclaim_ready(&mut ready);
        self.releases.recycle(&mut ready);
    }

    /// Releases everything, because the GPU is idle or lost.
    ///
    /// # Errors
    /// [`NotIdle`] when it is neither; then nothing is released.
    pub(crate) fn reclaim_all(&self) -> Result<Panicked, NotIdle> {
        let reclaiming = self.begin_reclaim();
        let mut ready = Batches::new();
        self.releases.reclaim_all_batches(&self.recordings, &self.clock, &mut ready)?;
        self.reclaim_ready(&mut ready);
        // A destructor of the program may resize a swap chain, which waits for threads that are reclaiming.
        drop(reclaiming);
        Ok(self.drop_users())
    }

    /// Reclaims all unused objects if the manager has shut down: no frame ends any more to do so.
    #[inline]
    pub(crate) fn settle(&self) {
        if self.is_shut_down.load(Ordering::Acquire) {
            self.end_quietly();
        }
    }

    /// Polls and reclaims for a caller that is being dropped: the next call reports a loss of the device, and a
    /// panic of the program's own destructors is logged.
    #[cold]
    pub(crate) fn end_quietly(&self) {
        let _call = self.call();
        let _reported_by_the_next_call = self.poll();
        self.reclaim().log();
    }

    /// Waits for the GPU at points that no other wait covers: after a late submission, and before the API
    /// objects of a service are destroyed. False if the GPU does not finish: the objects are leaked, and no
    /// later call waits.
    pub(crate) fn finish(&self) -> bool {
        if self.is_abandoned.load(Ordering::Acquire) {
            return false;
        }
        let timeout = self.config.frames.shutdown_timeout;
        let is_finished = self.clock.wait(self.device(), &self.clock.submitted(), timeout) != Ok(false);
        if !is_finished {
            self.is_abandoned.store(true, Ordering::Release);
        }
        is_finished
    }

    /// After a submission: tells the recorder. In a program without frames, every [`RECLAIM_INTERVAL`]th of a queue reclaims objects. After the
    /// shutdown like [`settle`](Self::settle), and waits for the submission, which nothing else would do.
    pub(crate) fn settle_submission(&self, submitted: Option<QueueSerial>) {
        if let Some(submission) = submitted {
            self.recorder.tell_with(|recorder| recorder.submitted(submission));
        }
        if submitted.is_some_and(|at| at.serial.is_multiple_of(RECLAIM_INTERVAL)) {
            self.reclaim_without_frames();
        }
        if self.is_shut_down.load(Ordering::Acquire) {
            let _call = self.call();
            let is_finished = self.finish();
            self.end_quietly();
            if !is_finished {
                self.awaited.give_up();
            }
        }
    }

    /// Releases descriptors before the resources that they show: a view that is dropped before its resource is
    /// already in its queue when the resource is taken out of `releases`. A submission of another thread in
    /// between may delay the view alone. That is harmless, because nothing uses either any more.
    fn reclaim_ready(&self, ready: &mut [Batch<Retired<D>>]) {
        let mut reclaimed = Reclaimed { context: self, ready, has_ranges: true, freed: SmallVec::new() };
        self.descriptors.reclaim(self.device(), self.current_frame(), &self.recordings, &self.clock);
        let Reclaimed { ready, has_ranges, freed, .. } = &mut reclaimed;
        if ready.is_empty() {
            return;
        }
        self.record_ranges(ready);
        let mut ranges = self.pools.freeing();
        let mut has_others = false;
        for mut run in ready.iter().flat_map(|batch| batch.runs(RUN)) {
            ranges.free_run(run.clone().filter_map(Retired::as_range));
            has_others |= run.any(|retired| retired.as_range().is_none());
        }
        drop(ranges);
        if !has_others {
            ready.iter_mut().for_each(Batch::clear);
            return;
        }
        *has_ranges = false;
        // Their objects are destroyed without a lock; their ranges are then freed together.
        for batch in &mut **ready {
            batch.take_items(|retired| {
                self.reclaim_other(retired, freed);
                if freed.len() == RUN {
                    self.pools.freeing().free_run(freed.iter());
                    freed.clear();
                }
            });
        }
    }

    /// Reports the reclaimed ranges to the recorder, if there is one.
    fn record_ranges(&self, ready: &[Batch<Retired<D>>]) {
        if !self.recorder.is_set() {
            return;
        }
        let ranges = ready.iter().flat_map(|batch| batch.runs(RUN)).flatten().filter_map(Retired::as_range);
        ranges.for_each(|range| self.recorder.release(range.key()));
    }

    /// Destroys an object; `freed` gets its range of a pool.
    fn reclaim_other(&self, retired: Retired<D>, freed: &mut SmallVec<[FreeToken; RUN]>) {
        match retired {
            // Ranges were given back above.
            Retired::Range(_) => {}
            Retired::Placed(api_resource, range) => self.reclaim_placed(api_resource, range, freed),
            Retired::Backing(backing) => self.reclaim_backing(backing, freed),
            Retired::User(object) => self.users.push(object),
        }
    }

    /// Destroys a placed resource; `freed` gets its range. A recording that was just submitted may still hold a reference for a
    /// moment: then it is tried again by the next reclaim.
    #[inline]
    fn reclaim_placed(
        &self,
        api_resource: Arc<ApiResource<D>>,
        range: FreeToken,
        freed: &mut SmallVec<[FreeToken; RUN]>,
    ) {
        // The key of a placed resource.
        let key = api_resource.serial;
        match api_resource.take_apart() {
            Ok(parts) => {
                // Before its memory can be reused.
                self.recorder.release(key);
                self.pools.objects.destroy_resource(self.device(), parts);
                freed.push(range);
            }
            Err(api_resource) => {
                self.releases.push_after(Retired::Placed(api_resource, range), SyncPoint::NONE, 0);
            }
        }
    }

    fn reclaim_backing(&self, backing: Backing<D>, freed: &mut SmallVec<[FreeToken; RUN]>) {
        let key = backing.key();
        let tell = || self.recorder.release(key);
        match self.pools.release(self.device(), backing, tell, |range| freed.push(range)) {
            Ok(owner) => owner.into_iter().for_each(|owner| self.users.push(owner)),
            // As a placed one.
            Err(backing) => self.releases.push_after(Retired::Backing(backing), SyncPoint::NONE, 0),
        }
    }

    /// Runs the program's destructors, without any lock: they may drop further handles.
    #[inline]
    pub(super) fn drop_users(&self) -> Panicked {
        if self.users.has_some() { self.drop_taken_users() } else { Panicked::none() }
    }

    #[cold]
    fn drop_taken_users(&self) -> Panicked {
        let dropped =
            self.users.take().into_iter().map(|object| catch_unwind(AssertUnwindSafe(|| drop(object))));
        dropped.fold(Panicked::none(), Panicked::or)
    }
}

impl<D: Device> Drop for Context<D> {
    /// Runs after the drop of the last handle. The manager has waited for the GPU before, but a recording may have been
    /// submitted since.
    #[inline(never)]
    fn drop(&mut self) {
        match self.finish().then(|| self.reclaim_all()) {
            None | Some(Err(_)) => self.abandon(),
            Some(Ok(reclaimed)) => {
                reclaimed.log();
                self.descriptors.destroy(&self.device);
                self.pools.destroy_all_blocks(self.device());
            }
        }
    }
}

impl<D: Device> Context<D> {
    /// Leaks everything, the device included: the GPU may still use it.
    fn abandon(&mut self) {
        event!(error, "the GPU did not finish; its objects are left alone");
        self.drop_users().log();
        self.pools.abandon();
        std::mem::forget(std::mem::take(&mut self.releases));
        self.descriptors.abandon();
        std::mem::forget(self.manager_claim.take());
        std::mem::forget(self.device.clone());
    }
}
