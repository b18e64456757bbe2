//! Points of the program's fences and semaphores, and their use by submissions.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use smallvec::SmallVec;
use tenure_core::device::QueueSerial;

use crate::clock::{Clock, SharedClock};
use crate::hazard::{Checks, HazardKind};
use crate::object::{Label, ObjectKind};
use crate::shared::Shared;

/// The number of values with clocks: a submission that waits for an older one is ordered after more than its wait
/// requires.
const KEPT: usize = 256;

/// The progress of a fence.
#[derive(Default)]
pub(crate) struct Progress {
    value: u64,
    /// The largest value that a submission, or the CPU, is known to signal.
    promised: u64,
    /// The values reached, each with the number of the signalling device and the submissions there that are
    /// ordered before it.
    reached: VecDeque<(u64, u64, Clock)>,
    /// The number of submitted waits, for a binary semaphore.
    waits: u64,
    is_binary: bool,
    /// Other devices signal it as well, in any order of submission: values rise when they are signalled.
    is_shared: bool,
}

/// The state of a fence, shared by handles and submissions.
pub(crate) struct FenceState {
    pub(crate) label: Arc<Label>,
    pub(crate) is_binary: bool,
    /// The number of its device.
    device: u64,
    /// Shared with other devices if the fence is.
    pub(crate) progress: Arc<Mutex<Progress>>,
    pub(crate) last_use: SharedClock,
}

impl Progress {
    pub(crate) fn new(is_binary: bool) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self { is_binary, ..Self::default() }))
    }

    /// Notes that other devices may use it from now on.
    pub(crate) fn note_shared(&mut self) {
        self.is_shared = true;
    }

    /// Cancels the pending signals, which will never happen.
    pub(crate) fn forget_promises(&mut self) {
        self.promised = self.value;
    }
}

impl FenceState {
    pub(crate) fn new(shared: &Shared, name: &str, progress: &Arc<Mutex<Progress>>) -> Arc<Self> {
        let is_binary = progress.lock().is_binary;
        let label = shared.register.create(if is_binary { ObjectKind::Semaphore } else { ObjectKind::Fence });
        label.set_name(name);
        let (device, progress, last_use) = (shared.number, Arc::clone(progress), SharedClock::default());
        Arc::new(Self { label, is_binary, device, progress, last_use })
    }

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

    /// The submissions ordered before a reached value. Another device that has signalled it may have waited for
    /// all earlier signals of this device.
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

/// A point of a [`Fence`](crate::Fence), to be waited for or signalled by submissions.
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

/// Points; for binary semaphores with the values of their signals.
pub(crate) type Points = SmallVec<[ExternalPoint; 1]>;

impl Shared {
    /// Checks that a signal comes after the promised ones, and notes it.
    pub(crate) fn promise(&self, state: &FenceState, value: u64, call: &'static str) {
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
            let detail = format!("it is signalled to {value}, and reaches {promised} without that");
            self.report_fence(HazardKind::SignalledTwice, state, detail, call);
        }
    }

    /// Checks a signal of a fence that several devices signal, when it happens.
    pub(crate) fn check_shared(&self, state: &FenceState, value: u64, call: &'static str) {
        let reached = {
            let progress = state.progress.lock();
            if !progress.is_shared || progress.is_binary {
                return;
            }
            progress.value
        };
        if value <= reached {
            let detail = format!("it is signalled to {value}, and is at {reached}");
            self.report_fence(HazardKind::SignalledTwice, state, detail, call);
        }
    }

    pub(crate) fn report_fence(
        &self,
        kind: HazardKind,
        state: &FenceState,
        detail: impl fmt::Display,
        call: &'static str,
    ) {
        self.report(Checks::LIFETIME, kind, &[&state.label], detail, call);
    }

    /// Notes that a submission uses a point; false for one of another device, which it ignores.
    fn note_point(&self, at: QueueSerial, point: &ExternalPoint, call: &'static str) -> bool {
        let state = &*point.state;
        if state.device != self.number {
            self.report_fence(HazardKind::ForeignFence, state, "it is another device's", call);
            return false;
        }
        state.last_use.raise(at.queue, at.serial);
        if state.label.is_destroyed() {
            self.report_fence(HazardKind::DeadFence, state, "it is destroyed", call);
        }
        true
    }

    /// Notes that a submission waits for points; points of binary semaphores get the number of their signal.
    pub(crate) fn note_external_waits(
        &self,
        at: QueueSerial,
        points: &[ExternalPoint],
        call: &'static str,
    ) -> Points {
        let note = |point: &ExternalPoint| {
            if !point.state.is_binary {
                return Some(point.clone());
            }
            // Vulkan requires that the signal of a binary semaphore is submitted before the wait.
            let progress = &mut *point.state.progress.lock();
            if progress.waits < progress.promised {
                progress.waits += 1;
                return Some(ExternalPoint { value: progress.waits, ..point.clone() });
            }
            let detail = "it is waited for, and nothing that was submitted signals it";
            self.report_fence(HazardKind::NeverSignalled, &point.state, detail, call);
            None
        };
        points.iter().filter(|point| self.note_point(at, point, call)).filter_map(note).collect()
    }

    /// Notes that a submission signals points.
    pub(crate) fn note_external_signals(
        &self,
        at: QueueSerial,
        points: &[ExternalPoint],
        call: &'static str,
    ) -> Points {
        let note = |point: &ExternalPoint| {
            if !point.state.is_binary {
                self.promise(&point.state, point.value, call);
                return Some(point.clone());
            }
            let progress = &mut *point.state.progress.lock();
            if progress.promised <= progress.waits {
                progress.promised += 1;
                return Some(ExternalPoint { value: progress.promised, ..point.clone() });
            }
            let detail = "it is signalled again before anything waits for it";
            self.report_fence(HazardKind::SignalledTwice, &point.state, detail, call);
            None
        };
        points.iter().filter(|point| self.note_point(at, point, call)).filter_map(note).collect()
    }
}
