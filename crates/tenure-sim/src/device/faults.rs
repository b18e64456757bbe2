//! Failures injected by a test.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::calls::CallKind;
use crate::faults::{BarrierChange, Fault};
use crate::timeline::Queues;

/// Injects failures into a device: [`Device::faults`](crate::Device::faults).
///
/// ```
/// use tenure::device::{Permit, prelude::*};
/// use tenure::sim::{Device, Fault, FaultKind, Profile};
/// use tenure::device::QueueId;
///
/// let device = Device::new(Profile::DISCRETE);
/// device.faults().inject(Fault::nth(2, FaultKind::OutOfHostMemory));
/// let permit = Permit::checked();
/// let first = device.create_list(permit, QueueId(0))?;
/// assert!(device.create_list(permit, QueueId(0)).is_err());
/// assert!(device.create_list(permit, QueueId(0)).is_ok());
/// # device.destroy_list(permit, first);
/// # Ok::<(), tenure::error::DeviceError>(())
/// ```
#[derive(Clone)]
pub struct Faults {
    queues: Arc<Queues>,
}

impl Faults {
    pub(crate) fn new(queues: &Arc<Queues>) -> Self {
        Self { queues: Arc::clone(queues) }
    }

    /// Adds a future failure. Several may be pending; each counts separately.
    pub fn inject(&self, fault: Fault) {
        let state = &self.queues.faults;
        let mut faults = state.faults.lock();
        faults.push(fault);
        state.armed.store(true, Ordering::Relaxed);
    }

    /// The number of aliasing barriers executed, lost ones included.
    #[must_use]
    pub fn aliasing_barriers(&self) -> u64 {
        self.queues.faults.aliasing.load(Ordering::Relaxed)
    }

    /// Loses the `n`-th aliasing barrier executed from now on: it is counted, but has no effect. 1 is the next, 0
    /// counts as 1. Replaces an earlier request.
    ///
    /// A test can thus show that each barrier is needed: losing any one results in a hazard.
    ///
    /// ```
    /// use tenure::sim::{Device, Profile};
    ///
    /// let device = Device::new(Profile::DISCRETE);
    /// device.faults().lose_aliasing_barrier(1);
    /// // … run a frame with at least one …
    /// assert_eq!(device.faults().aliasing_barriers(), 0); // this does not
    /// ```
    pub fn lose_aliasing_barrier(&self, n: u64) {
        let state = &self.queues.faults;
        let number = state.aliasing.load(Ordering::Relaxed).saturating_add(n.max(1));
        state.lost_aliasing.store(number, Ordering::Relaxed);
    }

    /// Changes the `n`-th transition or unordered barrier executed from now on. 1 is the next, 0 counts as 1.
    /// Replaces an earlier request. A test can thus show that it would find such a mistake.
    ///
    /// ```
    /// use tenure_sim::{BarrierChange, Device, Profile};
    ///
    /// let device = Device::new(Profile::DISCRETE);
    /// device.faults().change_barrier(1, BarrierChange::Lost);
    /// // … run a frame with at least one: there are hazards …
    /// ```
    pub fn change_barrier(&self, n: u64, change: BarrierChange) {
        let state = &self.queues.faults;
        *state.change.lock() = Some(change);
        let number = state.barriers.load(Ordering::Relaxed).saturating_add(n.max(1));
        state.changed_barrier.store(number, Ordering::Relaxed);
    }

    /// Forgets all pending failures, the barriers to lose or change, and the delays of fences and calls. A removed device
    /// stays removed.
    pub fn clear(&self) {
        let state = &self.queues.faults;
        let mut faults = state.faults.lock();
        faults.clear();
        state.armed.store(false, Ordering::Relaxed);
        state.fence_delay.store(0, Ordering::Relaxed);
        state.lost_aliasing.store(0, Ordering::Relaxed);
        state.changed_barrier.store(0, Ordering::Relaxed);
        state.is_late.store(false, Ordering::Relaxed);
    }

    /// Delays the return of the next call of this kind, on the real clock, after it has taken effect: a window in
    /// which other threads make calls. Replaces an earlier request.
    pub fn delay_return(&self, call: CallKind, time: Duration) {
        let state = &self.queues.faults;
        *state.late.lock() = Some((call, time));
        state.is_late.store(true, Ordering::Relaxed);
    }

    /// Delays the completion of every submission from now on by `ticks` beyond its lag.
    pub fn delay_fences(&self, ticks: u64) {
        self.queues.faults.fence_delay.store(ticks, Ordering::Relaxed);
    }

    /// Removes the device now: submissions in flight never complete, waits end, every call returns
    /// [`DeviceError::Lost`](tenure_core::device::DeviceError::Lost) with `reason`, and `destroy_*` still frees.
    pub fn remove(&self, reason: &str) {
        self.queues.lose(reason);
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("pending", &*self.queues.faults.faults.lock()).finish()
    }
}
