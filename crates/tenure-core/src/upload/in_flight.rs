//! What uploads have staged and the GPU has not copied yet, and the wait of large uploads for it.

use std::collections::VecDeque;
use std::time::Instant;

use parking_lot::Mutex;

use super::Uploads;
use crate::context::Context;
use crate::device::Device;
use crate::repeated::Repeated;
use crate::time::{SyncPoint, milliseconds};
use crate::{Awaited, Error};

/// Batches that were submitted.
#[derive(Default)]
pub(super) struct InFlight {
    /// In the order of their submission: what must be complete before their staging memory is free, and its bytes.
    batches: Mutex<VecDeque<(SyncPoint, u64)>>,
    waits: Repeated,
}

impl InFlight {
    /// A batch was submitted. Forgets earlier ones that are complete.
    pub(super) fn add(&self, completed: &SyncPoint, point: SyncPoint, bytes: u64) {
        let mut batches = self.batches.lock();
        while batches.front().is_some_and(|(point, _)| point.is_covered_by(completed)) {
            batches.pop_front();
        }
        batches.push_back((point, bytes));
    }

    /// The bytes of all batches that are not complete, and the oldest one.
    fn read(&self, completed: &SyncPoint) -> (u64, Option<SyncPoint>) {
        let mut batches = self.batches.lock();
        batches.retain(|(point, _)| !point.is_covered_by(completed));
        let bytes = batches.iter().map(|(_, bytes)| bytes).sum();
        (bytes, batches.front().map(|(point, _)| *point))
    }
}

impl<D: Device> Uploads<D> {
    /// Waits until `size` bytes more are within the configured limit, together with what is pending or in flight.
    /// Nothing is to be waited for where that is nothing.
    ///
    /// Several threads that get their room at once exceed the limit together, by a piece each at most.
    pub(super) fn wait_for_room(&self, context: &Context<D>, size: u64) -> Result<(), Error> {
        let limit = context.config.staging.max_pending;
        loop {
            let (submitted, _) = self.in_flight.read(&context.clock.completed());
            let staged = self.pending_bytes().saturating_add(submitted);
            if staged.saturating_add(size) <= limit || !self.wait_for_oldest(context)? {
                return Ok(());
            }
        }
    }

    /// Submits what is pending, and waits for the oldest batch that is in flight; false where there is none.
    pub(super) fn wait_for_oldest(&self, context: &Context<D>) -> Result<bool, Error> {
        let flushed = if context.has_pending_uploads() { self.flush(context).map(drop) } else { Ok(()) };
        let (_, oldest) = self.in_flight.read(&context.clock.completed());
        let Some(point) = oldest else { return flushed.map(|()| false) };
        let (begun, timeout) = (Instant::now(), context.config.frames.timeout);
        let waited = context.wait(&point, timeout);
        if let Some(times) = self.in_flight.waits.note() {
            event!(debug, waited = ?begun.elapsed(), times, "a large upload waited for the GPU to copy earlier ones");
        }
        match waited {
            Ok(true) => Ok(true),
            Ok(false) => {
                let waited_ms = milliseconds(begun.elapsed());
                Err(Error::Timeout { what: Awaited::EarlierUploads, waited_ms })
            }
            Err(source) => Err(context.refused(&super::uploads::NAME.into(), source)),
        }
    }
}
