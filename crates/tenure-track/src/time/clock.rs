//! The submission clock: the submitted and completed serials of each queue.

use std::cell::Cell;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::SyncPoint;
use super::sync_point::ClockId;
use crate::device::{CallRule, Device, DeviceError, MAX_QUEUES, QueueId, QueueSerial};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering};

thread_local! {
    /// True while the thread runs the program's own code inside a submission.
    static IN_EXTERNAL: Cell<bool> = const { Cell::new(false) };
}

/// A position in the order of all submissions on all queues; taken when an object is created.
///
/// A queue without later submissions cannot be using the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(u64);

impl Stamp {
    /// The stamp before all others.
    pub(super) const FIRST: Self = Self(0);
    /// The stamp after all others.
    pub(super) const LAST: Self = Self(u64::MAX);

    /// The submissions before it, on all queues.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.0
    }
}

/// The newest submission of each queue at one moment. From [`Clock::submissions`].
#[derive(Clone, Copy, Debug)]
pub struct Submissions {
    newest: [(u64, Stamp); MAX_QUEUES],
}

impl Submissions {
    /// The sync point that an object created at `born` must outlive: the newest submission of each queue that has submitted
    /// anything since.
    #[inline]
    #[must_use]
    pub fn since(&self, born: Stamp) -> SyncPoint {
        let mut point = SyncPoint::NONE;
        for (id, (serial, stamp)) in (0_u8..).zip(self.newest) {
            if stamp > born {
                point.require(QueueId(id), serial);
            }
        }
        point
    }
}

#[derive(Debug)]
struct QueueClock {
    /// Locked across increment, submit and signal, so that serials reach the driver in order.
    order: Mutex<()>,
    submitted: AtomicU64,
    /// The newest serial that a poll or a wait has found complete.
    completed: AtomicU64,
    /// The stamp of the newest submission.
    stamp: AtomicU64,
}

/// Counts submissions and completions on each queue of a device.
///
/// A submission takes its serial, is passed to the driver and signals the queue's fence in one step under that queue's lock. The
/// fence's value is therefore always the total of completed submissions. Every method may be called from any thread; only
/// submissions to the same queue wait for each other.
#[derive(Debug)]
pub struct Clock {
    id: ClockId,
    queues: Vec<QueueClock>,
    stamps: AtomicU64,
    lost: OnceLock<String>,
    /// The reason of the loss with details.
    explained: OnceLock<String>,
    /// True if a submission became complete, or the device was lost, since the last call of `take_news`.
    has_news: AtomicBool,
}

impl Clock {
    /// A clock for `queues` new queues, limited to [`MAX_QUEUES`].
    #[must_use]
    pub fn new(queues: usize) -> Self {
        Self::starting_at(&[0; MAX_QUEUES][..queues.min(MAX_QUEUES)])
    }

    /// A clock for queues that were used before: `completed` is the number of submissions of each queue, which must all be
    /// complete. At most [`MAX_QUEUES`] queues are kept.
    #[must_use]
    pub fn starting_at(completed: &[u64]) -> Self {
        let queue = |completed: &u64| QueueClock {
            order: Mutex::new(()),
            submitted: AtomicU64::new(*completed),
            completed: AtomicU64::new(*completed),
            stamp: AtomicU64::new(0),
        };
        Self {
            id: ClockId::new(),
            queues: completed.iter().take(MAX_QUEUES).map(queue).collect(),
            stamps: AtomicU64::new(0),
            lost: OnceLock::new(),
            explained: OnceLock::new(),
            has_news: AtomicBool::new(false),
        }
    }

    /// Id, unique in the process.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id.get()
    }

    /// The number of queues.
    #[must_use]
    pub fn queues(&self) -> usize {
        self.queues.len()
    }

    /// The present moment in the order of submissions.
    #[inline]
    #[must_use]
    pub fn stamp(&self) -> Stamp {
        Stamp(self.stamps.load(Ordering::Acquire))
    }

    /// The stamp of the newest submission to a queue.
    #[doc(hidden)]
    #[must_use]
    pub fn newest(&self, queue: QueueId) -> u64 {
        self.queues.get(queue.index()).map_or(0, |clock| clock.stamp.load(Ordering::Acquire))
    }

    /// Takes the queue's next serial and calls `submit` to submit the work with it.
    ///
    /// The queue's lock is held meanwhile. `submit` may call this again for another queue, if all callers that do so hold one
    /// lock of their own around both calls.
    ///
    /// # Errors
    /// The error of `submit`; the serial is then given to the next submission. [`DeviceError::InvalidCall`] for
    /// a queue that does not exist; [`DeviceError::Lost`].
    pub fn submit(
        &self,
        queue: QueueId,
        submit: impl FnOnce(u64) -> Result<(), DeviceError>,
    ) -> Result<QueueSerial, DeviceError> {
        self.check()?;
        Self::check_outside()?;
        let clock = self.queues.get(queue.index()).ok_or_else(|| {
            DeviceError::invalid_call(CallRule::QueueExists, u64::from(queue.0), self.queues.len() as u64)
        })?;
        let _order = clock.order.lock();
        let serial = clock.submitted.load(Ordering::Relaxed) + 1;
        self.note_loss(submit(serial))?;
        let stamp = self.stamps.fetch_add(1, Ordering::AcqRel) + 1;
        clock.stamp.store(stamp, Ordering::Release);
        clock.submitted.store(serial, Ordering::Release);
        Ok(QueueSerial { queue, serial })
    }

    /// Runs `write` if all submissions to all queues are complete, and blocks submissions meanwhile. `None`, without a wait, if
    /// the GPU is not idle, or another thread is submitting.
    #[doc(hidden)]
    pub fn while_idle<D: Device, T>(&self, device: &D, write: impl FnOnce() -> T) -> Option<T> {
        let orders: Option<SmallVec<[_; MAX_QUEUES]>> =
            self.queues.iter().map(|clock| clock.order.try_lock()).collect();
        let _orders = orders?;
        self.poll(device).ok()?;
        (self.incomplete() == 0).then(write)
    }

    /// Refuses submissions inside an external submission. Must be called before taking any lock that other threads hold while
    /// they submit: this thread holds the queue's lock, for which they wait.
    #[doc(hidden)]
    pub fn check_outside() -> Result<(), DeviceError> {
        match IN_EXTERNAL.get() {
            true => Err(DeviceError::broken_rule(CallRule::SubmittedOutside)),
            false => Ok(()),
        }
    }

    /// Runs the program's own code, which cannot submit anything through tenure: the queue's lock is held.
    #[doc(hidden)]
    pub fn run_external<T>(run: impl FnOnce() -> T) -> T {
        struct Restore(bool);
        impl Drop for Restore {
            fn drop(&mut self) {
                IN_EXTERNAL.set(self.0);
            }
        }
        let _restored = Restore(IN_EXTERNAL.replace(true));
        run()
    }

    /// The sync point of one submission, marked as counted by this clock.
    #[inline]
    #[doc(hidden)]
    #[must_use]
    pub fn point_at(&self, at: QueueSerial) -> SyncPoint {
        SyncPoint::from(at).by(self.id)
    }

    /// True for a sync point with serials of another clock.
    #[inline]
    #[doc(hidden)]
    #[must_use]
    pub fn is_foreign(&self, point: &SyncPoint) -> bool {
        point.is_foreign_to(self.id)
    }

    /// The newest serial submitted on each queue.
    #[must_use]
    pub fn submitted(&self) -> SyncPoint {
        self.point(|clock| clock.submitted.load(Ordering::Acquire))
    }

    /// The newest serial known to be complete on each queue, without querying the driver.
    #[must_use]
    pub fn completed(&self) -> SyncPoint {
        self.point(|clock| clock.completed.load(Ordering::Acquire))
    }

    /// The newest submission of each queue, with its position in the order of all submissions.
    #[must_use]
    pub fn submissions(&self) -> Submissions {
        let mut newest = [(0, Stamp(0)); MAX_QUEUES];
        for (slot, clock) in newest.iter_mut().zip(&self.queues) {
            // The stamp is stored before the serial: a serial seen here has its stamp, or a newer one.
            let serial = clock.submitted.load(Ordering::Acquire);
            *slot = (serial, Stamp(clock.stamp.load(Ordering::Acquire)));
        }
        Submissions { newest }
    }

    #[inline]
    fn point(&self, serial: impl Fn(&QueueClock) -> u64) -> SyncPoint {
        let mut serials = [0; MAX_QUEUES];
        for (slot, clock) in serials.iter_mut().zip(&self.queues) {
            *slot = serial(clock);
        }
        SyncPoint::from_raw(serials, self.id.get())
    }

    /// Queries the driver for the completed serials of each queue. Never blocks. Without a [`Device`] of tenure, an engine calls
    /// [`note_completed`](Self::note_completed), and [`note_loss`](Self::note_loss) for a lost device.
    ///
    /// # Errors
    /// [`DeviceError::Lost`].
    pub fn poll<D: Device>(&self, device: &D) -> Result<SyncPoint, DeviceError> {
        for (id, clock) in (0_u8..).zip(&self.queues) {
            if clock.completed.load(Ordering::Acquire) < clock.submitted.load(Ordering::Acquire) {
                self.check()?;
                let completed = self.note_loss(device.completed(QueueId(id)))?;
                self.note_completed(QueueId(id), completed);
            }
        }
        self.check()?;
        Ok(self.completed())
    }

    /// Notes that the queue has completed all serials up to `serial`. A lower serial than the known one is
    /// ignored.
    pub fn note_completed(&self, queue: QueueId, serial: u64) {
        if let Some(clock) = self.queues.get(queue.index())
            && clock.completed.fetch_max(serial, Ordering::AcqRel) < serial
        {
            self.has_news.store(true, Ordering::Release);
        }
    }

    /// Whether a submission became complete, or the device was lost, since the last call. Synchronizes with the store, so that
    /// the caller sees everything noted before.
    #[inline]
    #[doc(hidden)]
    pub fn take_news(&self) -> bool {
        self.has_news.load(Ordering::Relaxed) && self.has_news.swap(false, Ordering::Acquire)
    }

    /// Blocks until `point` is complete or `timeout` expires; true when it is complete. Without a [`Device`] of tenure, an engine
    /// waits for its own fence and calls [`note_completed`](Self::note_completed).
    ///
    /// # Errors
    /// [`DeviceError::InvalidCall`] for a serial that was not submitted or a queue that does not exist: the
    /// wait would never end. [`DeviceError::Lost`].
    pub fn wait<D: Device>(
        &self,
        device: &D,
        point: &SyncPoint,
        timeout: Duration,
    ) -> Result<bool, DeviceError> {
        let start = Instant::now();
        for target in point.iter() {
            self.check()?;
            let clock = self.submitted_to(target)?;
            if clock.completed.load(Ordering::Acquire) >= target.serial {
                continue;
            }
            let left = timeout.saturating_sub(start.elapsed());
            let is_complete = self.note_loss(device.wait(target, left))?;
            event!(trace, queue = target.queue.0, serial = target.serial, waited = ?start.elapsed(), is_complete, "the CPU waited for a submission");
            if !is_complete {
                return Ok(false);
            }
            self.note_completed(target.queue, target.serial);
        }
        Ok(true)
    }

    /// The queue of `target`; an error if that serial was not submitted.
    fn submitted_to(&self, target: QueueSerial) -> Result<&QueueClock, DeviceError> {
        let clock = self.queues.get(target.queue.index());
        let newest = clock.map_or(0, |clock| clock.submitted.load(Ordering::Acquire));
        let rule = "only what was submitted is waited for";
        let never = DeviceError::invalid_call(rule, target.serial, newest);
        clock.filter(|_| target.serial <= newest).ok_or(never)
    }

    /// Submissions, on all queues, that are not known to be complete.
    #[must_use]
    pub fn incomplete(&self) -> u64 {
        let of_queue = |clock: &QueueClock| {
            let completed = clock.completed.load(Ordering::Acquire);
            clock.submitted.load(Ordering::Acquire).saturating_sub(completed)
        };
        self.queues.iter().map(of_queue).sum()
    }

    /// The reason why the device was lost; `None` if it was not.
    #[inline]
    #[must_use]
    pub fn loss(&self) -> Option<&str> {
        self.explained.get().or_else(|| self.lost.get()).map(String::as_str)
    }

    /// `Err` once the device is lost.
    ///
    /// # Errors
    /// [`DeviceError::Lost`] with the first reason that a call returned.
    #[inline]
    pub fn check(&self) -> Result<(), DeviceError> {
        match self.loss() {
            None => Ok(()),
            Some(reason) => Err(DeviceError::Lost { reason: reason.to_owned() }),
        }
    }

    /// Replaces the reason of the loss of the device with a more detailed one; no effect before the loss, and when repeated.
    pub fn explain_loss(&self, reason: String) {
        if self.lost.get().is_some() {
            let _first_stays = self.explained.set(reason);
        }
    }

    /// Returns a driver's result unchanged, and records a loss of the device.
    ///
    /// # Errors
    /// The error of the result.
    #[inline]
    pub fn note_loss<T>(&self, answer: Result<T, DeviceError>) -> Result<T, DeviceError> {
        if let Err(DeviceError::Lost { reason }) = &answer {
            self.note_reason(reason);
        }
        answer
    }

    /// Records the reason of a loss. The first one is kept: later calls only repeat it in other words.
    #[cold]
    fn note_reason(&self, reason: &str) {
        if self.lost.set(reason.to_owned()).is_ok() {
            self.has_news.store(true, Ordering::Release);
            event!(error, reason = ?reason, "the device is lost: nothing works any more");
        }
    }
}
