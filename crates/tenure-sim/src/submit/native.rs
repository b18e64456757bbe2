//! Submissions by the program itself to a queue.

use std::fmt;

use smallvec::{SmallVec, smallvec};
use tenure_core::device::{DeviceError, QueueId, QueueSerial};

use crate::calls::{CallKind, Request};
use crate::command::Recorded;
use crate::list::List;
use crate::points::ExternalPoint;
use crate::resource::Resource;
use crate::timeline::{Job, Queues, Work};

/// A queue for submissions by the program itself: see
/// [`Gpu::submit_external`](tenure_core::Gpu::submit_external). They are checked like tenure's own.
pub struct NativeQueue<'a> {
    pub(crate) queues: &'a Queues,
    pub(crate) at: QueueSerial,
    batches: &'a mut Vec<Work>,
}

impl NativeQueue<'_> {
    /// The number of the queue.
    #[must_use]
    pub const fn id(&self) -> QueueId {
        self.at.queue
    }

    /// Submits closed lists, after the points of `waits`, and then signals the points of `signals`.
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a list of another device or queue, one that is not closed, or was
    /// submitted since it was begun; [`DeviceError::Lost`]. Then nothing was submitted.
    pub fn submit(
        &mut self,
        lists: &[&List],
        waits: &[ExternalPoint],
        signals: &[ExternalPoint],
    ) -> Result<(), DeviceError> {
        let (queues, at, call) = (self.queues, self.at, "NativeQueue::submit");
        let recorded = queues.check_lists(at.queue, lists)?;
        // The device is not lost meanwhile.
        let _timeline = queues.timeline.lock();
        queues.alive()?;
        queues.note_lists(at, lists, &recorded);
        let uses = queues.note_block_uses(&recorded);
        let waits = queues.note_external_waits(at, waits, call);
        let signals = queues.note_external_signals(at, signals, call);
        let work = Work::new(Job::Lists(recorded), SmallVec::new());
        let work = Work { external_waits: waits, external_signals: signals, uses, ..work };
        self.batches.push(work);
        Ok(())
    }

    /// Submits the read of a resource for presenting it.
    pub(crate) fn show(&mut self, resource: &Resource, read: Recorded) {
        resource.state.last_use.raise(self.at.queue, self.at.serial);
        self.batches.push(Work::new(Job::Lists(smallvec![read]), SmallVec::new()));
    }
}

impl fmt::Debug for NativeQueue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeQueue").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl Queues {
    /// Lets the program submit itself; all its submissions count as one.
    pub(crate) fn submit_external<T>(
        &self,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(NativeQueue<'_>) -> T,
    ) -> Result<T, DeviceError> {
        let begun = || self.timeline.lock().check(self, queue, waits, signal);
        self.call(CallKind::Submit, Request::default(), begun)?;
        let at = QueueSerial { queue, serial: signal };
        let mut batches = Vec::new();
        let answer = run(NativeQueue { queues: self, at, batches: &mut batches });
        let mut timeline = self.timeline.lock();
        let mut waits = waits.into();
        for batch in batches {
            let waits = std::mem::take(&mut waits);
            timeline.push(self, queue, Work { waits, is_last: false, ..batch });
        }
        timeline.push(self, queue, Work::new(Job::Lists(SmallVec::new()), waits));
        drop(timeline);
        self.changed.notify_all();
        Ok(answer)
    }
}
