//! Frames: the unit of recycling (spec T6).

use std::sync::Arc;

use super::Gpu;
use crate::device::Device;
use crate::time::SyncPoint;
use crate::{Error, Queue, Recording};

/// A frame that has begun. Dropping it ends it, too.
///
/// At its end the release queue is purged, idle blocks age, and its submissions count toward the
/// frames in flight.
#[must_use = "a frame ends when it is dropped"]
pub struct Frame<'a, D: Device> {
    pub(super) gpu: &'a Gpu<D>,
    number: u64,
    has_ended: bool,
}

impl<'a, D: Device> Frame<'a, D> {
    pub(super) const fn new(gpu: &'a Gpu<D>, number: u64) -> Self {
        Self { gpu, number, has_ended: false }
    }

    /// Its number, from 1.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Opens a recording; as [`Gpu::record`].
    ///
    /// # Errors
    /// As [`Gpu::record`].
    pub fn record(&self, queue: Queue, name: &'static str) -> Result<Recording<D>, Error> {
        self.gpu.record(queue, name)
    }

    /// Submits a recording; as [`Recording::submit`].
    ///
    /// # Errors
    /// As [`Recording::submit`]; [`Error::Foreign`] for a recording of another manager, which is
    /// discarded.
    pub fn submit(&self, recording: Recording<D>) -> Result<SyncPoint, Error> {
        if !Arc::ptr_eq(recording.shared(), &self.gpu.shared) {
            return Err(Error::Foreign { name: recording.name().into() });
        }
        recording.submit()
    }

    /// Ends the frame; uploads that are pending are submitted with it.
    ///
    /// # Errors
    /// [`Error::Device`] when the device is lost; those of [`Gpu::flush_uploads`]. The frame has ended
    /// all the same.
    ///
    /// # Panics
    /// As [`Gpu::purge`].
    pub fn end(mut self) -> Result<(), Error> {
        self.has_ended = true;
        let shared = &self.gpu.shared;
        let flushed = shared.flush_pending_uploads();
        shared.pacer.lock().end(shared.clock.submitted());
        let (polled, panicked) = shared.poll_and_purge();
        self.age();
        panicked.resume();
        polled?;
        flushed
    }

    /// What the end of a frame does besides releasing.
    fn age(&self) {
        let shared = &self.gpu.shared;
        shared.constants.end_frame(shared);
        shared.uploads.end_frame(shared);
        shared.readbacks.end_frame(shared);
        shared.pools.end_frame(shared.device());
        shared.descriptors.end_frame(shared);
        self.gpu.transients.end_frame();
        let reserved = shared.contexts.end_frame(shared.device(), shared.config.frames_in_flight);
        // A loss is told by the next call; of anything else, whoever needs a list is told.
        let _noted = shared.clock.note_loss(reserved);
        shared.recordings.warn_of_forgotten(self.number);
        shared.meter.lock().end_frame(self.number, shared);
        shared.recorder.end_frame(self.number);
    }
}

impl<D: Device> Drop for Frame<'_, D> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let shared = &self.gpu.shared;
        // What was refused for lack of memory stays pending, and whoever submits next is told.
        let _told_later = shared.flush_pending_uploads();
        shared.pacer.lock().end(shared.clock.submitted());
        shared.end_quietly();
        self.age();
    }
}
