//! The queues of a device: driver calls, waits, and the loss of the device.

use std::ops::Deref;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tenure_core::device::{DeviceError, MemoryTypeId, QueueId, QueueSerial};

use super::Timeline;
use crate::calls::{CallKind, Costs, Counters, Request};
use crate::config::DeviceConfig;
use crate::hazard::{Hazard, HazardKind, Origin};
use crate::object::Shares;
use crate::points::{ExternalPoint, Progress};
use crate::shared::Shared;

/// The interval at which a wait checks fences that other devices may have signalled.
const PEER_SLICE: Duration = Duration::from_millis(1);

/// The queues of a device, above the state that its parts share.
pub(crate) struct Queues {
    shared: Shared,
    costs: Costs,
    pub(crate) counters: Counters,
    pub(crate) timeline: Mutex<Timeline>,
    /// Notified when something was submitted or completed manually, or the device is lost: everything that
    /// a wait cannot cause by letting time pass.
    pub(crate) changed: Condvar,
    /// The fences that it shares with other devices.
    pub(crate) fences: Shares<Mutex<Progress>>,
}

impl Deref for Queues {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Queues {
    pub(crate) fn new(options: DeviceConfig) -> Self {
        let shared = Shared::new(&options);
        Self {
            timeline: Mutex::new(Timeline::new(&shared.properties, options.lag, options.seed)),
            shared,
            costs: options.costs,
            counters: Counters::new(options.record_calls),
            changed: Condvar::new(),
            fences: Shares::default(),
        }
    }

    pub(crate) fn lose(&self, reason: &str) {
        // Under the lock, so that its holder sees a consistent device: no work is executed once a call has
        // returned the device loss, after which programs destroy all objects.
        let mut timeline = self.timeline.lock();
        // The first reason is kept: it is the cause of the later ones.
        if self.lost.set(reason.to_owned()).is_ok() {
            timeline.abandon();
        }
        drop(timeline);
        self.changed.notify_all();
    }

    /// Performs one driver call: counts it, applies faults, runs it.
    pub(crate) fn call<T>(
        &self,
        call: CallKind,
        request: Request,
        run: impl FnOnce() -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        self.counters.made(call, self.costs.of(call, request));
        let result = self.alive().and_then(|()| self.strike(call, request)).and_then(|()| run());
        if result.is_err() {
            self.counters.failed(call);
        }
        self.faults.delay_return(call);
        self.counters.log(|| {
            let outcome = result.as_ref().map_or_else(ToString::to_string, |_| "ok".to_owned());
            format!("{}({}, {}): {outcome}", call.name(), request.bytes, request.memory)
        });
        result
    }

    fn strike(&self, call: CallKind, request: Request) -> Result<(), DeviceError> {
        let memory = MemoryTypeId(request.memory);
        let Some(kind) = self.faults.strike(call, request.bytes, memory) else { return Ok(()) };
        match kind.error(call, request.bytes, memory, self.properties.max_allocations) {
            Ok(error) => Err(error),
            Err(reason) => {
                self.lose(&reason);
                self.alive()
            }
        }
    }

    /// Counts a call that cannot fail.
    pub(crate) fn count(&self, call: CallKind, request: Request) {
        self.counters.made(call, self.costs.of(call, request));
        self.counters.log(|| format!("{}({}): ok", call.name(), request.bytes));
    }

    /// Waits of submissions for points without a signal. Once the device is lost there are no waits.
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

    pub(crate) fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.call(CallKind::Completed, Request::default(), || {
            self.queue(queue)?;
            Ok(self.timeline.lock().poll(self, queue).unwrap_or_default())
        })
    }

    pub(crate) fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.call(CallKind::Wait, Request::default(), || {
            // A deadline beyond the clock's range means no deadline.
            let deadline = Instant::now().checked_add(timeout);
            self.queue(target.queue)?;
            let mut timeline = self.timeline.lock();
            loop {
                self.alive()?;
                let done = if timeout.is_zero() {
                    timeline.poll(self, target.queue).is_some_and(|completed| completed >= target.serial)
                } else {
                    timeline.advance_to(self, target)
                };
                if done {
                    timeline.observe(self, target.queue, target.serial);
                    return Ok(true);
                }
                if timeout.is_zero() {
                    return Ok(false);
                }
                let late = match (deadline, !self.fences.is_empty()) {
                    // Signals of a fence by another device do not wake this wait.
                    (deadline, true) => {
                        let slice = Instant::now() + PEER_SLICE;
                        let until = deadline.map_or(slice, |deadline| deadline.min(slice));
                        let timed_out = self.changed.wait_until(&mut timeline, until).timed_out();
                        timed_out && deadline.is_some_and(|deadline| deadline <= Instant::now())
                    }
                    (Some(deadline), false) => self.changed.wait_until(&mut timeline, deadline).timed_out(),
                    (None, false) => {
                        self.changed.wait(&mut timeline);
                        false
                    }
                };
                if late {
                    self.alive()?;
                    let done = timeline.completed(target.queue).is_some_and(|serial| serial >= target.serial);
                    if done {
                        timeline.observe(self, target.queue, target.serial);
                    }
                    return Ok(done);
                }
            }
        })
    }
}
