//! Staging memory of submitted uploads, and the waits for it of large uploads.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Uploads;
use super::uploads::{NAME, is_shortage};
use crate::context::Context;
use crate::device::Device;
use crate::duration::milliseconds;
use crate::repeated::Repeated;
use crate::time::{Clock, SyncPoint};
use crate::{Awaited, Error};

/// Batches that were submitted.
#[derive(Default)]
pub(super) struct InFlight {
    /// Batches in the order of their submission: the sync point that frees their staging memory, and their bytes.
    batches: Mutex<VecDeque<(SyncPoint, u64)>>,
    /// Bytes reserved by pieces that are in no batch yet.
    promised: AtomicU64,
    waits: Repeated,
}

impl InFlight {
    /// Adds a submitted batch. Removes earlier ones that are complete.
    pub(super) fn add(&self, completed: &SyncPoint, point: SyncPoint, bytes: u64) {
        let mut batches = self.batches.lock();
        while batches.front().is_some_and(|(point, _)| point.is_covered_by(completed)) {
            batches.pop_front();
        }
        batches.push_back((point, bytes));
    }

    pub(super) fn promise(&self, size: u64) {
        self.promised.fetch_add(size, Ordering::Relaxed);
    }

    /// Releases `size` reserved bytes: they are in a batch, or not needed.
    pub(super) fn redeem(&self, size: u64) {
        self.promised.fetch_sub(size, Ordering::Relaxed);
    }

    pub(super) fn promised(&self) -> u64 {
        self.promised.load(Ordering::Relaxed)
    }

    /// The bytes of all batches that are not complete.
    pub(super) fn bytes(&self, completed: &SyncPoint) -> u64 {
        let mut batches = self.batches.lock();
        batches.retain(|(point, _)| !point.is_covered_by(completed));
        batches.iter().map(|(_, bytes)| bytes).sum()
    }

    /// The oldest batch that is not complete.
    fn oldest(&self, completed: &SyncPoint) -> Option<SyncPoint> {
        let batches = self.batches.lock();
        batches.iter().map(|(point, _)| *point).find(|point| !point.is_covered_by(completed))
    }
}

impl<D: Device> Uploads<D> {
    /// Waits until `size` more bytes fit into the configured limit, and reserves them for the caller. Does not wait when
    /// nothing is staged, or inside an external submission, where nothing can be submitted.
    ///
    /// Several threads whose pieces are in no batch yet can exceed the limit together, by at most a piece each.
    pub(super) fn wait_for_room(&self, context: &Context<D>, size: u64) -> Result<(), Error> {
        let mut limit = context.config.staging.max_pending;
        if Clock::check_outside().is_err() {
            self.in_flight.promise(size);
            return Ok(());
        }
        while !self.try_promise(context, size, limit) {
            if !self.wait_for_oldest(context)? {
                limit = u64::MAX;
            }
        }
        Ok(())
    }

    /// Submits pending uploads if possible, and waits for the oldest batch in flight. Returns false if there is none.
    pub(super) fn wait_for_oldest(&self, context: &Context<D>) -> Result<bool, Error> {
        if self.is_pending() && Clock::check_outside().is_ok() {
            self.flush_patiently(context)?;
        }
        let Some(point) = self.in_flight.oldest(&context.clock.completed()) else { return Ok(false) };
        let (begun, timeout) = (Instant::now(), context.config.frames.timeout);
        if self.wait_for(context, &point, timeout)? {
            return Ok(true);
        }
        let waited_ms = milliseconds(begun.elapsed());
        Err(Error::Timeout { what: Awaited::EarlierUploads, waited_ms })
    }

    /// Submits pending uploads. While the driver is out of memory, waits for batches in flight and retries, for at
    /// most [`FrameConfig::timeout`](crate::FrameConfig::timeout).
    pub(super) fn flush_patiently(&self, context: &Context<D>) -> Result<(), Error> {
        let (begun, timeout) = (Instant::now(), context.config.frames.timeout);
        loop {
            let submitted = context.clock.submitted();
            let error = match self.flush(context) {
                Err(error) if is_shortage(&error) => error,
                flushed => return flushed.map(drop),
            };
            let completed = context.clock.completed();
            let oldest = self.in_flight.oldest(&completed).unwrap_or(submitted);
            let left = timeout.saturating_sub(begun.elapsed());
            if oldest.is_covered_by(&completed) || !self.wait_for(context, &oldest, left)? {
                return Err(error);
            }
        }
    }

    /// Waits for a submission; false after the timeout.
    fn wait_for(&self, context: &Context<D>, point: &SyncPoint, timeout: Duration) -> Result<bool, Error> {
        let begun = Instant::now();
        let waited = context.wait(point, timeout);
        if let Some(times) = self.in_flight.waits.note() {
            event!(debug, waited = ?begun.elapsed(), times, "a large upload waited for the GPU to copy earlier ones");
        }
        waited.map_err(|source| context.refused(&NAME.into(), source))
    }
}
