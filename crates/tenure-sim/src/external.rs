//! Semaphores and fences of the program's own, and the queue as the program submits to it itself.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use smallvec::SmallVec;
use tenure_core::SyncPoint;
use tenure_core::device::{DeviceError, QueueId, QueueSerial};

use crate::clock::{Clock, SharedClock};
use crate::hazard::{Checks, Hazard, HazardKind, Origin};
use crate::list::List;
use crate::object::{Label, ObjectKind};
use crate::paging::BlockUse;
use crate::shared::Shared;
use crate::timeline::{Recorded, Timeline};

/// Values whose clocks are kept: a submission that waits for an older one is ordered after more than it
/// asked for.
const KEPT: usize = 256;

/// How far a fence is.
#[derive(Default)]
pub(crate) struct Progress {
    value: u64,
    /// The largest value that a submission, or the CPU, is known to signal.
    promised: u64,
    /// The values reached, with what is ordered before them on the device of that number.
    reached: VecDeque<(u64, u64, Clock)>,
    /// Of a binary semaphore, the waits submitted.
    waits: u64,
    is_binary: bool,
    /// Other devices signal it as well, in whatever order they submit: values rise when they are signalled.
    is_shared: bool,
}

/// What handles and submissions share of a fence.
pub(crate) struct FenceState {
    pub(crate) label: Arc<Label>,
    /// The device that it is of.
    owner: Weak<Shared>,
    is_binary: bool,
    /// The number of that device.
    device: u64,
    /// Shared with other devices where the fence is.
    progress: Arc<Mutex<Progress>>,
    last_use: SharedClock,
}

impl Progress {
    /// What was to signal it never happens.
    pub(crate) fn forget_promises(&mut self) {
        self.promised = self.value;
    }
}

impl FenceState {
    pub(crate) fn is_reached(&self, value: u64) -> bool {
        self.progress.lock().value >= value
    }

    pub(crate) fn value(&self) -> u64 {
        self.progress.lock().value
    }

    /// True when the value is reached or a submission will signal it, and for fences that another device may signal.
    pub(crate) fn is_promised(&self, value: u64) -> bool {
        let progress = self.progress.lock();
        progress.is_shared || progress.promised.max(progress.value) >= value
    }

    /// What is ordered before a value that is reached. Another device that has signalled it may have waited for all
    /// that this one had signalled before.
    pub(crate) fn clock_at(&self, value: u64) -> Clock {
        let progress = self.progress.lock();
        let mut known = Clock::default();
        for (reached, device, clock) in &progress.reached {
            if *device == self.device {
                known = *clock;
            }
            if *reached >= value {
                break;
            }
        }
        known
    }

    pub(crate) fn reach(&self, value: u64, clock: Clock) {
        let progress = &mut *self.progress.lock();
        progress.value = progress.value.max(value);
        progress.promised = progress.promised.max(value);
        progress.reached.push_back((value, self.device, clock));
        if progress.reached.len() > KEPT {
            progress.reached.pop_front();
        }
    }
}

/// A fence or semaphore of the program's own, for tests of what it shares with tenure: Direct3D 12's fence
/// or Vulkan's timeline semaphore ([`Device::create_fence`](crate::Device::create_fence)), or a binary
/// semaphore ([`Device::create_semaphore`](crate::Device::create_semaphore)).
///
/// The device notes as a [`Hazard`](crate::Hazard) a point that is waited for and never reached, one that is
/// signalled twice, and a fence that is destroyed while a submission that uses it was not seen complete.
/// Dropping it destroys it.
pub struct Fence {
    shared: Arc<Shared>,
    state: Arc<FenceState>,
}

impl Fence {
    pub(crate) fn new(shared: &Arc<Shared>, name: &str, is_binary: bool) -> Self {
        Self::with_progress(shared, name, is_binary, Arc::default())
    }

    /// One that other devices know as well.
    pub(crate) fn over(shared: &Arc<Shared>, name: &str, progress: &Arc<Mutex<Progress>>) -> Self {
        let is_binary = progress.lock().is_binary;
        Self::with_progress(shared, name, is_binary, Arc::clone(progress))
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Other devices may know it from now on.
    pub(crate) fn note_shared(&self) {
        self.state.progress.lock().is_shared = true;
    }

    pub(crate) fn progress(&self) -> &Arc<Mutex<Progress>> {
        &self.state.progress
    }

    fn with_progress(
        shared: &Arc<Shared>,
        name: &str,
        is_binary: bool,
        progress: Arc<Mutex<Progress>>,
    ) -> Self {
        progress.lock().is_binary = is_binary;
        let kind = if is_binary { ObjectKind::Semaphore } else { ObjectKind::Fence };
        let label = shared.register.create(kind);
        label.set_name(name);
        let state = FenceState {
            label,
            owner: Arc::downgrade(shared),
            is_binary,
            device: shared.number,
            progress,
            last_use: SharedClock::default(),
        };
        Self { shared: Arc::clone(shared), state: Arc::new(state) }
    }

    /// The point at which it reaches a value. Of a binary semaphore the next signal or wait, whatever the
    /// value.
    #[must_use]
    pub fn at(&self, value: u64) -> ExternalPoint {
        ExternalPoint { state: Arc::clone(&self.state), value }
    }

    /// The value that it has reached; of a binary semaphore, how often it was signalled.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.state.value()
    }

    /// Signals a value from the CPU. Of no effect on a binary semaphore, which only queues signal, and once the device is
    /// lost: a process that has ended signals nothing.
    pub fn signal(&self, value: u64) {
        if self.state.is_binary || self.shared.alive().is_err() {
            return;
        }
        {
            let mut timeline = self.shared.timeline.lock();
            self.check_promise(value, "Fence::signal");
            check_shared(&self.shared, &self.state, value, "Fence::signal");
            self.state.reach(value, self.shared.observed.load());
            timeline.run_due(&self.shared);
        }
        self.shared.changed.notify_all();
    }

    fn check_promise(&self, value: u64, call: &'static str) {
        promise(&self.shared, &self.state, value, call);
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence")
            .field("label", &self.state.label.to_string())
            .field("value", &self.value())
            .finish_non_exhaustive()
    }
}

impl Drop for Fence {
    fn drop(&mut self) {
        let (label, last_use) = (&self.state.label, &self.state.last_use);
        self.shared.check_unused(label, last_use, HazardKind::DestroyedInUse, "the drop of a fence");
        self.shared.register.destroy(label);
    }
}

/// A point of a [`Fence`], to be waited for or signalled by submissions.
#[derive(Clone)]
pub struct ExternalPoint {
    pub(crate) state: Arc<FenceState>,
    pub(crate) value: u64,
}

impl fmt::Debug for ExternalPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.state.label, self.value)
    }
}

/// Points, with the values that stand for a binary semaphore's signals.
pub(crate) type Points = SmallVec<[ExternalPoint; 1]>;

/// Checks a signal that comes after those promised so far, and notes it.
fn promise(shared: &Shared, state: &FenceState, value: u64, call: &'static str) {
    let promised = {
        let progress = &mut *state.progress.lock();
        if progress.is_shared {
            return;
        }
        let promised = progress.promised;
        progress.promised = promised.max(value);
        promised
    };
    if value <= promised {
        let detail = || format!("it is signalled to {value}, and reaches {promised} without that");
        let objects = vec![state.label.to_string()];
        shared.report(Checks::LIFETIME, HazardKind::SignalledTwice, objects, detail, call);
    }
}

/// Checks a signal of a fence that several devices signal, when it happens.
pub(crate) fn check_shared(shared: &Shared, state: &FenceState, value: u64, call: &'static str) {
    let reached = {
        let progress = state.progress.lock();
        if !progress.is_shared || progress.is_binary {
            return;
        }
        progress.value
    };
    if value <= reached {
        let detail = || format!("it is signalled to {value}, and is at {reached}");
        let objects = vec![state.label.to_string()];
        shared.report(Checks::LIFETIME, HazardKind::SignalledTwice, objects, detail, call);
    }
}

impl Shared {
    /// What submissions wait for that nothing has signalled. Once the device is lost nothing waits.
    pub(crate) fn unreached(&self) -> Vec<Hazard> {
        let hazard = |(at, point): (QueueSerial, ExternalPoint)| Hazard {
            kind: HazardKind::NeverSignalled,
            objects: vec![point.state.label.to_string()],
            detail: format!(
                "submission {} on queue {} waits for it to reach {}, and it is at {}",
                at.serial,
                at.queue.0,
                point.value,
                point.state.value()
            ),
            origin: Origin::Call("check_clean"),
        };
        self.timeline.lock().unreached().into_iter().map(hazard).collect()
    }

    /// Checks that the signals of a presentation's waits have been submitted
    /// (VUID-vkQueuePresentKHR-pWaitSemaphores-03268).
    pub(crate) fn check_presentable(&self, timeline: &Timeline, frame: &SyncPoint) {
        let Some((at, point)) = timeline.unpromised(frame) else { return };
        let (queue, serial, value) = (at.queue.0, at.serial, point.value);
        let detail = || {
            let now = point.state.value();
            format!(
                "its frame waits for submission {serial} on queue {queue}, which waits for a fence to reach {value}: \
                 it is at {now}, and nothing that was submitted takes it there"
            )
        };
        let objects = vec![point.state.label.to_string()];
        let call = "Swapchain::present";
        self.report(Checks::LIFETIME, HazardKind::PresentedBeforeSignal, objects, detail, call);
    }

    /// Notes that a submission uses a point; false for one of another device, which it ignores.
    fn note_point(&self, at: QueueSerial, point: &ExternalPoint, call: &'static str) -> bool {
        if !std::ptr::eq(point.state.owner.as_ptr(), self) {
            let detail = || "it is another device's".to_owned();
            let objects = vec![point.state.label.to_string()];
            self.report(Checks::LIFETIME, HazardKind::ForeignFence, objects, detail, call);
            return false;
        }
        point.state.last_use.raise(at.queue, at.serial);
        if point.state.label.is_destroyed() {
            let detail = || "it is destroyed".to_owned();
            let objects = vec![point.state.label.to_string()];
            self.report(Checks::LIFETIME, HazardKind::DeadFence, objects, detail, call);
        }
        true
    }

    /// Notes that a submission waits for points; those of binary semaphores get the number of their signal.
    pub(crate) fn note_external_waits(
        &self,
        at: QueueSerial,
        points: &[ExternalPoint],
        call: &'static str,
    ) -> Points {
        let mut noted = Points::new();
        for point in points {
            if !self.note_point(at, point, call) {
                continue;
            }
            if !point.state.is_binary {
                noted.push(point.clone());
                continue;
            }
            // Vulkan wants the signal of a binary semaphore submitted before the wait.
            let progress = &mut *point.state.progress.lock();
            if progress.waits < progress.promised {
                progress.waits += 1;
                noted.push(ExternalPoint { value: progress.waits, ..point.clone() });
            } else {
                let detail = || "it is waited for, and nothing that was submitted signals it".to_owned();
                let objects = vec![point.state.label.to_string()];
                self.report(Checks::LIFETIME, HazardKind::NeverSignalled, objects, detail, call);
            }
        }
        noted
    }

    /// Notes that a submission signals points.
    pub(crate) fn note_external_signals(
        &self,
        at: QueueSerial,
        points: &[ExternalPoint],
        call: &'static str,
    ) -> Points {
        let mut noted = Points::new();
        for point in points {
            if !self.note_point(at, point, call) {
                continue;
            }
            if !point.state.is_binary {
                promise(self, &point.state, point.value, call);
                noted.push(point.clone());
                continue;
            }
            let progress = &mut *point.state.progress.lock();
            if progress.promised > progress.waits {
                let detail = || "it is signalled again before anything waits for it".to_owned();
                let objects = vec![point.state.label.to_string()];
                self.report(Checks::LIFETIME, HazardKind::SignalledTwice, objects, detail, call);
            } else {
                progress.promised += 1;
                noted.push(ExternalPoint { value: progress.promised, ..point.clone() });
            }
        }
        noted
    }
}

/// What the program submitted at once.
pub(crate) struct ExternalBatch {
    pub(crate) lists: SmallVec<[Recorded; 2]>,
    pub(crate) uses: Vec<BlockUse>,
    pub(crate) waits: Points,
    pub(crate) signals: Points,
}

/// A queue as the program submits to it itself: see
/// [`Gpu::submit_external`](tenure_core::Gpu::submit_external). What it is given is checked as tenure's own
/// submissions are.
pub struct NativeQueue<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) at: QueueSerial,
    pub(crate) batches: &'a mut Vec<ExternalBatch>,
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
        let recorded = self.shared.check_lists(self.at.queue, lists)?;
        // The device is not lost meanwhile.
        let _timeline = self.shared.timeline.lock();
        self.shared.alive()?;
        self.shared.note_lists(self.at, lists);
        let uses = self.shared.note_block_uses(lists);
        let waits = self.shared.note_external_waits(self.at, waits, "NativeQueue::submit");
        let signals = self.shared.note_external_signals(self.at, signals, "NativeQueue::submit");
        self.batches.push(ExternalBatch { lists: recorded, uses, waits, signals });
        Ok(())
    }
}

impl fmt::Debug for NativeQueue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NativeQueue").field("id", &self.id()).finish_non_exhaustive()
    }
}
