//! The queue as the program submits to it itself.

use std::fmt;

use smallvec::{SmallVec, smallvec};
use tenure_core::device::{DeviceError, QueueId, QueueSerial};

use crate::calls::{CallKind, Request};
use crate::command::Recorded;
use crate::list::List;
use crate::paging::BlockUse;
use crate::points::{ExternalPoint, Points};
use crate::resource::Resource;
use crate::timeline::{Job, Queues, Work};

/// What the program submitted at once.
struct ExternalBatch {
    lists: SmallVec<[Recorded; 2]>,
    uses: Vec<BlockUse>,
    waits: Points,
    signals: Points,
}

/// A queue as the program submits to it itself: see
/// [`Gpu::submit_external`](tenure_core::Gpu::submit_external). What it is given is checked as tenure's own
/// submissions are.
pub struct NativeQueue<'a> {
    pub(crate) queues: &'a Queues,
    pub(crate) at: QueueSerial,
    batches: &'a mut Vec<ExternalBatch>,
}

impl NativeQueue<'_> {
    /// The number of the queue.
    #[must_use]
    pub const fn id(&self) -> QueueId {
        self.at.queue
    }

    /// Submits closed lists, after the points of `waits`, and signals those of `signals` behind them.
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
        self.batches.push(ExternalBatch { lists: recorded, uses, waits, signals });
        Ok(())
    }
}

impl NativeQueue<'_> {
    /// Submits a read of a resource by which it is shown.
    pub(crate) fn show(&mut self, resource: &Resource, read: Recorded) {
        resource.state.last_use.raise(self.at.queue, self.at.serial);
        let (waits, signals) = (Points::new(), Points::new());
        self.batches.push(ExternalBatch { lists: smallvec![read], uses: Vec::new(), waits, signals });
    }
}

impl fmt::Debug for NativeQueue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeQueue").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl Queues {
    /// Lets the program submit by itself; all that it submits is one submission to those that count.
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
        let mut waits: SmallVec<[_; 4]> = waits.into();
        for ExternalBatch { lists, uses, waits: external_waits, signals } in batches {
            let batch = Work {
                uses,
                paging: 0,
                job: Job::Lists(lists),
                waits: std::mem::take(&mut waits),
                external_waits,
                external_signals: signals,
                is_last: false,
            };
            timeline.push(self, queue, batch);
        }
        timeline.push(self, queue, Work::new(Job::Lists(SmallVec::new()), waits));
        drop(timeline);
        self.changed.notify_all();
        Ok(answer)
    }
}
