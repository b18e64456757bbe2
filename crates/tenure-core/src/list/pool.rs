//! Command lists and state trackers, reused instead of made anew.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::device::{
    CallRule, CommandList, Device, DeviceError, Permit, Properties, QueueId, QueueKind, StateModel,
};
use crate::permit::OwnPermit as _;
use crate::resource::Tracked;
use crate::state::{Fixups, Tracker};
use crate::time::Clock;

/// Lists of a queue up to which some are made beforehand, however many a frame submits: one that loads may
/// wait for each of a thousand submissions, and use one list for all.
const MOST_BEFOREHAND: usize = 64;

/// The lists of one queue.
struct Lists<D: Device> {
    free: Vec<D::List>,
    /// Submitted, with the serial to wait for; in order of serials.
    busy: VecDeque<(u64, D::List)>,
    /// All that there are: these and those being recorded.
    existing: usize,
    /// Submitted since a frame last ended.
    submitted: usize,
    /// The most that were submitted from the end of one frame to that of the next.
    most: usize,
}

impl<D: Device> Lists<D> {
    const fn new() -> Self {
        Self { free: Vec::new(), busy: VecDeque::new(), existing: 0, submitted: 0, most: 0 }
    }

    /// A list whose submission is complete, or that was not submitted.
    fn recycle(&mut self, completed: u64) -> Option<D::List> {
        let is_done = self.busy.front().is_some_and(|(serial, _)| *serial <= completed);
        let done = if is_done { self.busy.pop_front() } else { None };
        done.map(|(_, list)| list).or_else(|| self.free.pop())
    }

    /// Ends a frame: how many lists more it takes for `frames` like it to be on the GPU at once.
    fn end_frame(&mut self, frames: usize) -> usize {
        let submitted = std::mem::take(&mut self.submitted);
        if submitted <= self.most {
            return 0;
        }
        self.most = submitted;
        submitted.saturating_mul(frames).min(MOST_BEFOREHAND).saturating_sub(self.existing)
    }
}

/// What a recording on one queue takes and returns.
struct QueueContexts<D: Device> {
    kind: QueueKind,
    lists: Mutex<Lists<D>>,
    #[expect(clippy::vec_box, reason = "recordings have them in boxes, so that what moves is small")]
    trackers: Mutex<Vec<Box<Tracker<Tracked<D>>>>>,
}

/// Recycled command lists and trackers of all queues. In steady state nothing is created.
pub(crate) struct ListPool<D: Device> {
    model: StateModel,
    queues: Vec<QueueContexts<D>>,
    lists_made: AtomicU64,
    /// Held while a recording's states are resolved and it is submitted, so that states are
    /// followed in the order of submission.
    pub(super) resolving: Mutex<Fixups<Tracked<D>>>,
}

impl<D: Device> ListPool<D> {
    pub(crate) fn new(properties: &Properties) -> Self {
        let contexts =
            |kind| QueueContexts { kind, lists: Mutex::new(Lists::new()), trackers: Mutex::new(Vec::new()) };
        let queues = properties.queues.iter().map(|queue| contexts(queue.kind)).collect();
        let (model, lists_made) = (properties.state_model, AtomicU64::new(0));
        Self { model, queues, lists_made, resolving: Mutex::new(Fixups::new()) }
    }

    fn queue(&self, queue: QueueId) -> Result<&QueueContexts<D>, DeviceError> {
        self.queues.get(queue.index()).ok_or_else(|| {
            DeviceError::invalid_call(CallRule::QueueExists, u64::from(queue.0), self.queues.len() as u64)
        })
    }

    /// An open list: one whose submission is complete, or else a new one. Asks the driver how far the GPU is only
    /// where a list would be made.
    pub(super) fn take_list(
        &self,
        clock: &Clock,
        device: &D,
        queue: QueueId,
    ) -> Result<D::List, DeviceError> {
        let contexts = self.queue(queue)?;
        let recycle = || contexts.lists.lock().recycle(clock.completed().serial(queue));
        let mut recycled = recycle();
        if recycled.is_none() {
            clock.poll(device)?;
            recycled = recycle();
        }
        let mut list = recycled.map_or_else(|| self.make_list(device, queue), Ok)?;
        match list.begin() {
            Ok(()) => Ok(list),
            Err(error) => {
                self.destroy_broken(device, queue, list);
                Err(error)
            }
        }
    }

    fn make_list(&self, device: &D, queue: QueueId) -> Result<D::List, DeviceError> {
        let contexts = self.queue(queue)?;
        let list = device.create_list(Permit::own(), queue)?;
        contexts.lists.lock().existing += 1;
        self.lists_made.fetch_add(1, Ordering::Relaxed);
        Ok(list)
    }

    /// Ends a frame. Where it submitted more lists to a queue than any before, makes as many as it takes
    /// for `frames` like it to be on the GPU at once, so that none is made when the GPU falls behind later.
    ///
    /// # Errors
    /// The device's. Nothing is lost by it: what is missing is made when it is needed.
    pub(crate) fn end_frame(&self, device: &D, frames: u32) -> Result<(), DeviceError> {
        for (queue, contexts) in (0..).map(QueueId).zip(&self.queues) {
            let missing = contexts.lists.lock().end_frame(frames as usize);
            for _ in 0..missing {
                let list = self.make_list(device, queue)?;
                contexts.lists.lock().free.push(list);
            }
        }
        Ok(())
    }

    /// Command lists ever created.
    pub(crate) fn lists_made(&self) -> u64 {
        self.lists_made.load(Ordering::Relaxed)
    }

    /// Returns a list that was not submitted.
    pub(super) fn return_unused(&self, queue: QueueId, list: D::List) {
        if let Ok(contexts) = self.queue(queue) {
            contexts.lists.lock().free.push(list);
        }
    }

    /// Destroys a list that could not be closed: it cannot be begun again.
    pub(super) fn destroy_broken(&self, device: &D, queue: QueueId, list: D::List) {
        device.destroy_list(Permit::own(), list);
        if let Ok(contexts) = self.queue(queue) {
            contexts.lists.lock().existing -= 1;
        }
    }

    /// Returns a list that was submitted.
    pub(super) fn return_submitted(&self, queue: QueueId, list: D::List, serial: u64) {
        if let Ok(contexts) = self.queue(queue) {
            let lists = &mut *contexts.lists.lock();
            lists.submitted += 1;
            // Threads may come in another order than their submissions did.
            let place = lists.busy.partition_point(|(other, _)| *other <= serial);
            lists.busy.insert(place, (serial, list));
        }
    }

    pub(super) fn take_tracker(&self, queue: QueueId) -> Result<Box<Tracker<Tracked<D>>>, DeviceError> {
        let contexts = self.queue(queue)?;
        let recycled = contexts.trackers.lock().pop();
        Ok(recycled.unwrap_or_else(|| Box::new(Tracker::new(self.model, contexts.kind).on(queue))))
    }

    pub(super) fn return_tracker(&self, queue: QueueId, mut tracker: Box<Tracker<Tracked<D>>>) {
        tracker.reset();
        if let Ok(contexts) = self.queue(queue) {
            contexts.trackers.lock().push(tracker);
        }
    }

    /// Every list, to be destroyed.
    pub(crate) fn take_all(&self) -> Vec<D::List> {
        let of_queue = |contexts: &QueueContexts<D>| {
            let mut lists = contexts.lists.lock();
            let mut all = std::mem::take(&mut lists.free);
            all.extend(lists.busy.drain(..).map(|(_, list)| list));
            all
        };
        self.queues.iter().flat_map(of_queue).collect()
    }
}
