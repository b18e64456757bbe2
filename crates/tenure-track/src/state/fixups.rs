//! The submissions needed before a recording, so that its resources are in the expected states.

use super::cell::{Part, Parts, Released, Submitted};
use super::{Recorded, StateBarrier, StateCell};
use crate::device::{MAX_QUEUES, QueueId, QueueSerial};

/// The submissions of other queues that a submission must wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits([u64; MAX_QUEUES]);

impl Waits {
    /// True without waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|serial| *serial == 0)
    }

    /// At most one serial for each queue, as [`Device::submit`](crate::device::QueueDevice::submit) takes them.
    pub fn iter(&self) -> impl Iterator<Item = QueueSerial> + '_ {
        (0u8..)
            .zip(self.0)
            .filter(|(_, serial)| *serial > 0)
            .map(|(queue, serial)| QueueSerial { queue: QueueId(queue), serial })
    }

    /// Adds waits for the given submissions, except on the waiting queue itself.
    pub(super) fn add(&mut self, serials: &[u64; MAX_QUEUES], waiting: QueueId) {
        for (index, (mine, other)) in self.0.iter_mut().zip(serials).enumerate() {
            if index != waiting.index() {
                *mine = (*mine).max(*other);
            }
        }
    }
}

/// Barriers that another queue must execute before the submission.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Elsewhere<H> {
    /// The queue to submit them to.
    pub queue: QueueId,
    /// The waits of that submission.
    pub waits: Waits,
    /// The barriers; in no particular order.
    pub barriers: Vec<StateBarrier<H>>,
}

/// Work to submit with a recording; filled by [`resolve`](super::resolve).
///
/// In this order:
/// 1. for each of [`elsewhere`](Self::elsewhere): wait for its `waits`, submit its barriers to
///    its queue;
/// 2. on the recording's queue, wait for those submissions and for [`waits`](Self::waits);
/// 3. submit [`here`](Self::here), then the recording.
#[derive(Clone, Debug)]
pub struct Fixups<H> {
    /// Barriers for other queues, each queue once.
    pub elsewhere: Vec<Elsewhere<H>>,
    /// Barriers right before the recording, on its queue; in no particular order.
    pub here: Vec<StateBarrier<H>>,
    /// The submissions of the same resources that must be complete before this one: for resources that are only read, the
    /// submissions that changed them; for written or moved resources, all that used them. Tracked for whole resources, so that
    /// subresources may wait for each other.
    pub waits: Waits,
    /// The earlier submitted states, for [`undo`](Self::undo), by the indices of the recording's entries.
    before: Vec<(usize, Submitted)>,
    /// As `before`, for resources with one state of all subresources.
    before_whole: Vec<(usize, WholeBefore)>,
    /// True if a released part was ever left without an acquire.
    has_released: bool,
}

/// The fields of a resource with a common state that a submission to one queue changes.
#[derive(Clone, Copy, Debug)]
struct WholeBefore {
    part: Part,
    queue: QueueId,
    epoch: u32,
    last_use: u64,
    last_change: u64,
}

impl WholeBefore {
    #[inline]
    fn of(queue: QueueId, submitted: &Submitted, part: Part) -> Self {
        let last = |serials: &[u64; MAX_QUEUES]| serials.get(queue.index()).copied().unwrap_or(0);
        let epoch = submitted.epochs.get(queue.index()).copied().unwrap_or(1);
        let (last_use, last_change) = (last(&submitted.uses), last(&submitted.changes));
        Self { part, queue, epoch, last_use, last_change }
    }

    fn restore(self, submitted: &mut Submitted) {
        let index = self.queue.index();
        submitted.parts = Parts::Whole(self.part);
        if let Some(epoch) = submitted.epochs.get_mut(index) {
            *epoch = self.epoch;
        }
        for (serials, last) in
            [(&mut submitted.uses, self.last_use), (&mut submitted.changes, self.last_change)]
        {
            if let Some(serial) = serials.get_mut(index) {
                *serial = last;
            }
        }
    }
}

impl<H> Fixups<H> {
    /// No work.
    #[must_use]
    pub const fn new() -> Self {
        let waits = Waits([0; MAX_QUEUES]);
        Self {
            elsewhere: Vec::new(),
            here: Vec::new(),
            waits,
            before: Vec::new(),
            before_whole: Vec::new(),
            has_released: false,
        }
    }

    /// True without barriers and waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elsewhere.is_empty() && self.here.is_empty() && self.waits.is_empty()
    }

    /// False if [`unfinished`](super::unfinished) finds nothing, because [`undo`](Self::undo) has never left an incomplete
    /// transfer.
    #[must_use]
    pub const fn has_released(&self) -> bool {
        self.has_released
    }

    /// Removes all work and keeps the memory.
    pub fn clear(&mut self) {
        self.elsewhere.clear();
        self.here.clear();
        self.before.clear();
        self.before_whole.clear();
        self.waits = Waits::default();
    }

    /// Saves the earlier state of a resource.
    pub(super) fn note_before(&mut self, entry: usize, submitted: &Submitted) {
        self.before.push((entry, submitted.clone()));
    }

    /// Saves the earlier state of a resource with a common state, `part`, if only that and the counts of `queue` change.
    pub(super) fn note_before_whole(
        &mut self,
        entry: usize,
        queue: QueueId,
        submitted: &Submitted,
        part: Part,
    ) {
        self.before_whole.push((entry, WholeBefore::of(queue, submitted, part)));
    }

    /// Whether the barriers of [`here`](Self::here) may be recorded before all of `submission`, for which several recordings were
    /// resolved: no earlier one of them uses their resources. O(barriers · resources in use before).
    #[doc(hidden)]
    #[must_use]
    pub fn may_come_first(&self, recorded: &Recorded<H>, submission: QueueSerial) -> bool
    where
        H: AsRef<StateCell>,
    {
        let queue = submission.queue.index();
        let whole = self.before_whole.iter().map(|(entry, before)| (*entry, before.last_use));
        let parts =
            self.before.iter().map(|(entry, before)| (*entry, before.uses.get(queue).copied().unwrap_or(0)));
        let mut used = whole.chain(parts).filter(|(_, last_use)| *last_use >= submission.serial);
        used.all(|(entry, _)| {
            let id = recorded.entries.get(entry).map(|entry| entry.cell().id());
            self.here.iter().all(|barrier| Some(barrier.resource().as_ref().id()) != id)
        })
    }

    /// The barriers for another queue, added if necessary.
    pub(super) fn on(&mut self, queue: QueueId) -> Option<&mut Elsewhere<H>> {
        let found = self.elsewhere.iter().position(|other| other.queue == queue);
        let index = found.unwrap_or(self.elsewhere.len());
        if found.is_none() {
            self.elsewhere.push(Elsewhere { queue, waits: Waits::default(), barriers: Vec::new() });
        }
        self.elsewhere.get_mut(index)
    }
}

impl<H> Default for Fixups<H> {
    fn default() -> Self {
        Self::new()
    }
}

impl<H: AsRef<StateCell>> Fixups<H> {
    /// Undoes the changes of [`resolve`](super::resolve), because the driver refused the submission. `submitted` are the
    /// submissions of the first of [`elsewhere`](Self::elsewhere): their changes are kept, since they will be executed. Parts
    /// released by them must be acquired before further use: see [`unfinished`](super::unfinished).
    ///
    /// Call it under the same lock as `resolve` of the same recording, before any other `resolve`.
    pub fn undo(&mut self, recorded: &Recorded<H>, submitted: &[QueueSerial]) {
        for (entry, before) in self.before.drain(..) {
            if let Some(entry) = recorded.entries.get(entry) {
                *entry.cell().lock() = before;
            }
        }
        for (entry, before) in self.before_whole.drain(..) {
            if let Some(entry) = recorded.entries.get(entry) {
                before.restore(&mut entry.cell().lock());
            }
        }
        for (other, at) in self.elsewhere.iter().zip(submitted) {
            for barrier in &other.barriers {
                let StateBarrier::Transition { resource, subresource, before, after, transfer } = barrier
                else {
                    continue;
                };
                let (cell, subresource) = (resource.as_ref(), *subresource);
                match *transfer {
                    None => cell.note(subresource, *after, *at),
                    Some(transfer) => {
                        let released = Released { subresource, before: *before, after: *after, transfer };
                        cell.note_released(released, *at);
                        self.has_released = true;
                    }
                }
            }
        }
        self.clear();
    }
}
