//! Pools of command lists and state trackers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::copies::KeptCopy;
use crate::device::{
    CallRule, CommandList, Device, DeviceError, MAX_QUEUES, Permit, Properties, QueueId, QueueKind,
    QueueSerial, StateModel,
};
use crate::permit::OwnPermit as _;
use crate::resource::Tracked;
use crate::state::{Fixups, StateCell, Tracker};
use crate::time::{Clock, SyncPoint};

/// Maximum number of lists of a queue created ahead of time, regardless of the submissions in a frame: a loading frame may wait
/// for each of a thousand submissions, and use one list for all.
const MOST_BEFOREHAND: usize = 64;

/// The lists of one queue.
struct Lists<D: Device> {
    free: Vec<D::List>,
    /// Submitted, with the serials to wait for; in order of serials.
    busy: VecDeque<(u64, D::List)>,
    /// Number of existing lists: these and the ones being recorded.
    existing: usize,
    /// Submitted since the last end of a frame.
    submitted: usize,
    /// Peak number of submissions from the end of one frame to the end of the next.
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

    /// Ends a frame. Returns the number of additional lists needed for `frames` similar frames to be on the GPU at once.
    fn end_frame(&mut self, frames: usize) -> usize {
        let submitted = std::mem::take(&mut self.submitted);
        if submitted <= self.most {
            return 0;
        }
        self.most = submitted;
        submitted.saturating_mul(frames).min(MOST_BEFOREHAND).saturating_sub(self.existing)
    }
}

/// The free objects for recordings on one queue.
struct QueueContexts<D: Device> {
    kind: QueueKind,
    lists: Mutex<Lists<D>>,
    /// Whether lists were submitted since the last end of a frame; set and cleared under the lock of the lists.
    has_submitted: AtomicBool,
    trackings: Mutex<Vec<Tracking<D>>>,
}

/// The recycled memory of a recording's states and copies.
pub(crate) struct Tracking<D: Device> {
    /// Boxed, so that moves of `Tracking` copy few bytes.
    pub(super) tracker: Box<Tracker<Tracked<D>>>,
    pub(super) kept: Vec<KeptCopy<D>>,
}

/// State that follows from the order of submissions.
pub(super) struct Resolving<D: Device> {
    /// One for each list of the largest submission so far.
    pub(super) fixups: Vec<Fixups<Tracked<D>>>,
    /// Whether any of them has ever left a release without its acquire.
    pub(super) has_released: bool,
    /// The submissions not known to be complete that have transitioned read-only resources: every later submission comes after
    /// them, because recordings need not declare these resources.
    pub(super) published: SyncPoint,
    pub(super) waited: Waited,
}

/// For each queue, the newest submission of each other queue that it waits for: its later submissions are ordered after that,
/// too.
pub(super) struct Waited([[u64; MAX_QUEUES]; MAX_QUEUES]);

impl Waited {
    /// Whether an earlier submission of the queue waits for `wait`, or for a later one of that queue.
    pub(super) fn covers(&self, queue: QueueId, wait: QueueSerial) -> bool {
        let newest = self.0.get(queue.index()).and_then(|waits| waits.get(wait.queue.index()));
        newest.is_some_and(|newest| *newest >= wait.serial)
    }

    /// Notes the waits of a submission, which the driver has accepted.
    pub(super) fn note(&mut self, queue: QueueId, waits: &[QueueSerial]) {
        let Some(newest) = self.0.get_mut(queue.index()) else { return };
        for wait in waits {
            if let Some(newest) = newest.get_mut(wait.queue.index()) {
                *newest = wait.serial.max(*newest);
            }
        }
    }
}

/// Recycled command lists and trackers of all queues. In steady state nothing is created.
pub(crate) struct ListPool<D: Device> {
    pub(super) model: StateModel,
    queues: Vec<QueueContexts<D>>,
    lists_made: AtomicU64,
    /// Locked while a recording's states are resolved and it is submitted, so that states are tracked in the order of
    /// submission.
    pub(super) resolving: Mutex<Resolving<D>>,
    /// Whether the manager has or had read-only resources.
    pub(super) has_published: AtomicBool,
}

impl<D: Device> ListPool<D> {
    pub(crate) fn new(properties: &Properties) -> Self {
        let contexts = |kind| QueueContexts {
            kind,
            lists: Mutex::new(Lists::new()),
            has_submitted: AtomicBool::new(false),
            trackings: Mutex::new(Vec::new()),
        };
        let queues = properties.queues.iter().map(|queue| contexts(queue.kind)).collect();
        let (model, lists_made) = (properties.state_model, AtomicU64::new(0));
        let waited = Waited([[0; MAX_QUEUES]; MAX_QUEUES]);
        let resolving = Resolving {
            fixups: vec![Fixups::new()],
            has_released: false,
            published: SyncPoint::NONE,
            waited,
        };
        let has_published = AtomicBool::new(false);
        Self { model, queues, lists_made, resolving: Mutex::new(resolving), has_published }
    }

    fn queue(&self, queue: QueueId) -> Result<&QueueContexts<D>, DeviceError> {
        self.queues.get(queue.index()).ok_or_else(|| {
            DeviceError::invalid_call(CallRule::QueueExists, u64::from(queue.0), self.queues.len() as u64)
        })
    }

    /// Takes an open list: one whose submission is complete, otherwise a new one. Queries the progress of the GPU only before
    /// creating a list.
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

    /// Ends a frame. If it submitted more lists to a queue than any before, creates enough lists for `frames` similar frames to
    /// be on the GPU at once, so that none is created when the GPU falls behind later.
    ///
    /// # Errors
    /// The errors of the device. No recording fails because of them: missing lists are created on demand.
    pub(crate) fn end_frame(&self, device: &D, frames: u32) -> Result<(), DeviceError> {
        for (queue, contexts) in (0..).map(QueueId).zip(&self.queues) {
            // A submission of another thread that this misses belongs to the next frame.
            if !contexts.has_submitted.load(Ordering::Acquire) {
                continue;
            }
            let mut lists = contexts.lists.lock();
            contexts.has_submitted.store(false, Ordering::Release);
            let missing = lists.end_frame(frames as usize);
            drop(lists);
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

    /// Notes that any later submission may read a read-only resource.
    pub(crate) fn note_published(&self, cell: &StateCell) {
        cell.note_published();
        self.has_published.store(true, Ordering::Release);
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
            contexts.has_submitted.store(true, Ordering::Release);
            // Threads may return lists in another order than their submissions.
            let place = lists.busy.partition_point(|(other, _)| *other <= serial);
            lists.busy.insert(place, (serial, list));
        }
    }

    pub(super) fn take_tracking(&self, queue: QueueId) -> Result<Tracking<D>, DeviceError> {
        let contexts = self.queue(queue)?;
        let recycled = contexts.trackings.lock().pop();
        let new = || Box::new(Tracker::new(self.model, contexts.kind).on(queue));
        Ok(recycled.unwrap_or_else(|| Tracking { tracker: new(), kept: Vec::new() }))
    }

    pub(super) fn return_tracking(&self, queue: QueueId, mut tracking: Tracking<D>) {
        tracking.tracker.reset();
        tracking.kept.clear();
        if let Ok(contexts) = self.queue(queue) {
            contexts.trackings.lock().push(tracking);
        }
    }

    /// All lists, for their destruction.
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
