//! Giving back what nothing uses any more.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering;

use super::{Garbage, Shared};
use crate::device::{Device, DeviceError};
use crate::memory::{Home, RUN};
use crate::time::{NotIdle, Pile, Piles, SyncPoint};

/// A panic of the program's own destructors, after everything else was given back.
#[must_use = "either goes on or is logged"]
pub(crate) struct Panicked(Option<Box<dyn Any + Send>>);

impl Panicked {
    /// Lets the panic go on to the caller.
    pub(crate) fn resume(self) {
        if let Some(panic) = self.0 {
            resume_unwind(panic);
        }
    }

    /// Ends the panic here: for callers that are being dropped themselves.
    pub(crate) fn log(self) {
        if self.0.is_some() {
            tracing::error!(target: "tenure", "the destructor of a deferred object panicked");
        }
    }
}

impl<D: Device> Shared<D> {
    /// Gives back what nothing can use any more, as far as the clock knows.
    pub(crate) fn purge(&self) -> Panicked {
        self.purge_memory();
        self.drop_users()
    }

    /// As [`purge`](Self::purge), everything when the device is lost, without running the program's code:
    /// objects of its own go with the next purge. For calls inside which a program does not expect its destructors.
    pub(crate) fn purge_memory(&self) {
        let mut ready = Piles::new();
        if self.clock.loss().is_none() {
            self.releases.purge_piles(&self.recordings, &self.clock, &mut ready);
        } else {
            // A lost device uses nothing any more, so that this takes everything.
            let taken = self.releases.purge_all_piles(&self.recordings, &self.clock, &mut ready);
            debug_assert!(taken.is_ok(), "only a device that works can be busy");
        }
        if !ready.is_empty() {
            self.give_back(&mut ready);
            self.releases.recycle(&mut ready);
        }
    }

    /// Gives back everything, because the GPU is idle or lost.
    ///
    /// # Errors
    /// [`NotIdle`] when it is neither; then nothing is given back.
    pub(crate) fn purge_all(&self) -> Result<Panicked, NotIdle> {
        let mut ready = Piles::new();
        self.releases.purge_all_piles(&self.recordings, &self.clock, &mut ready)?;
        self.give_back(&mut ready);
        Ok(self.drop_users())
    }

    /// After the manager is gone nobody ends frames: gives back what it can, each time that
    /// something changes.
    #[inline]
    pub(crate) fn settle(&self) {
        if self.is_shut_down.load(Ordering::Acquire) {
            self.end_quietly();
        }
    }

    /// Polls and purges for a caller that is being dropped: a loss of the device is reported by
    /// the next call, a panic of the program's own destructors is logged.
    #[cold]
    pub(crate) fn end_quietly(&self) {
        let (_reported_by_the_next_call, panicked) = self.poll_and_purge();
        panicked.log();
    }

    /// Asks how far the GPU is and gives back what it is done with; everything, when it is lost.
    pub(crate) fn poll_and_purge(&self) -> (Result<(), DeviceError>, Panicked) {
        match self.poll() {
            Ok(_) => {
                self.rings.close(&self.recordings, &self.clock);
                (Ok(()), self.purge())
            }
            // A lost device uses nothing any more, so that this always purges.
            Err(lost) => {
                self.uploads.give_up_all(self, &lost.clone().into());
                (Err(lost), self.purge_all().unwrap_or(Panicked(None)))
            }
        }
    }

    /// As [`settle`](Self::settle), after a submission: nobody else would wait for it.
    pub(crate) fn settle_submission(&self) {
        if self.is_shut_down.load(Ordering::Acquire) {
            let timeout = self.config.shutdown_timeout;
            // When the time is over, the last handle to go waits once more.
            let _is_complete = self.clock.wait(self.device(), &self.clock.submitted(), timeout);
            self.end_quietly();
        }
    }

    /// Descriptors before what they show, and sets before their layouts; ranges before all, because they
    /// are nobody's to show.
    fn give_back(&self, ready: &mut [Pile<Garbage<D>>]) {
        let mut ranges = self.pools.freeing();
        let mut has_others = false;
        for mut run in ready.iter().flat_map(|pile| pile.runs(RUN)) {
            ranges.free_run(run.clone().filter_map(Garbage::as_range));
            has_others |= run.any(|garbage| garbage.as_range().is_none());
        }
        drop(ranges);
        if !has_others {
            ready.iter_mut().for_each(Pile::clear);
            return;
        }
        for pile in ready.iter_mut() {
            pile.extract(Garbage::goes_first, |garbage| self.give_back_other(garbage));
        }
        for pile in ready {
            pile.take_items(|garbage| self.give_back_other(garbage));
        }
    }

    fn give_back_other(&self, garbage: Garbage<D>) {
        match garbage {
            // Has gone already.
            Garbage::Range(_) => {}
            Garbage::Home(home) => self.give_back_home(home),
            Garbage::Descriptors(garbage) => self.give_back_descriptors(garbage),
            Garbage::User(object) => self.users.push(object),
        }
    }

    fn give_back_home(&self, home: Home<D>) {
        if let Err(home) = self.pools.release(self.device(), home) {
            // A recording that was just submitted has not quite let go of it: once more, next time.
            self.releases.push_after(Garbage::Home(home), SyncPoint::NONE, 0);
        }
    }

    /// Runs the program's destructors, without any lock: they may drop further handles.
    pub(super) fn drop_users(&self) -> Panicked {
        let dropped =
            self.users.take().into_iter().map(|object| catch_unwind(AssertUnwindSafe(|| drop(object))));
        Panicked(dropped.filter_map(Result::err).last())
    }
}
