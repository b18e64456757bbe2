//! Failures on order.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tenure_core::device::{DeviceError, MemoryTypeId, State};

use crate::calls::CallKind;
use crate::shared::Shared;

/// What a [`Fault`] makes the call answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// [`DeviceError::OutOfMemory`], with the size and memory type that the call asked for.
    OutOfMemory,
    /// [`DeviceError::OutOfHostMemory`]
    OutOfHostMemory,
    /// [`DeviceError::TooManyAllocations`]
    TooManyAllocations,
    /// The device is removed with this reason; the call answers [`DeviceError::Lost`].
    Removed(String),
}

/// A failure to come: the *n*-th call (of a kind, or of all that can fail) counted from now.
///
/// ```
/// use tenure::sim::{CallKind, Fault, FaultKind};
///
/// let once = Fault::nth(3, FaultKind::OutOfMemory);
/// let heaps_are_gone = Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateHeap).onwards();
/// # let _ = (once, heaps_are_gone);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    after: u64,
    call: Option<CallKind>,
    /// Bytes.
    larger_than: Option<u64>,
    onwards: bool,
    kind: FaultKind,
}

impl Fault {
    /// Fails the `n`-th call that can fail; 1 is the next, 0 is taken as 1.
    #[must_use]
    pub const fn nth(n: u64, kind: FaultKind) -> Self {
        Self { after: n.saturating_sub(1), call: None, larger_than: None, onwards: false, kind }
    }

    /// Counts and fails only calls of this kind.
    #[must_use]
    pub const fn of(mut self, call: CallKind) -> Self {
        self.call = Some(call);
        self
    }

    /// Counts and fails only calls that ask for more than `bytes`: memory has room, but not in one piece.
    #[must_use]
    pub const fn larger_than(mut self, bytes: u64) -> Self {
        self.larger_than = Some(bytes);
        self
    }

    /// Fails every such call from the *n*-th on, not only that one.
    #[must_use]
    pub const fn onwards(mut self) -> Self {
        self.onwards = true;
        self
    }

    /// Counts one call; the answer when this fault strikes.
    fn strike(&mut self, call: CallKind, bytes: u64) -> Option<FaultKind> {
        let is_other = self.call.is_some_and(|wanted| wanted != call);
        if is_other || self.larger_than.is_some_and(|limit| bytes <= limit) {
            return None;
        }
        if self.after > 0 {
            self.after -= 1;
            return None;
        }
        Some(self.kind.clone())
    }
}

#[derive(Default)]
pub(crate) struct FaultState {
    /// Kept apart so that calls without faults take no lock.
    armed: AtomicBool,
    faults: Mutex<Vec<Fault>>,
    fence_delay: AtomicU64,
    /// Kept apart so that calls without a delay take no lock.
    is_late: AtomicBool,
    late: Mutex<Option<(CallKind, Duration)>>,
    /// Aliasing barriers executed, and which of them, from 1, is lost; 0: none.
    aliasing: AtomicU64,
    lost_aliasing: AtomicU64,
    /// Other barriers executed, and which of them, from 1, is changed; 0: none.
    barriers: AtomicU64,
    changed_barrier: AtomicU64,
    change: Mutex<Option<BarrierChange>>,
}

/// What becomes of a barrier: [`Faults::change_barrier`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierChange {
    /// It has no effect.
    Lost,
    /// A transition names this as the state before. An unordered barrier stays what it is.
    Before(State),
    /// A transition leads to this state. An unordered barrier stays what it is.
    After(State),
}

impl FaultState {
    /// Counts an aliasing barrier; true when it has no effect.
    pub(crate) fn loses_aliasing_barrier(&self) -> bool {
        let number = self.aliasing.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        number == self.lost_aliasing.load(Ordering::Relaxed)
    }

    /// Counts a transition or an unordered barrier; what becomes of it, if anything.
    pub(crate) fn barrier(&self) -> Option<BarrierChange> {
        let number = self.barriers.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let is_changed = number == self.changed_barrier.load(Ordering::Relaxed);
        if is_changed { *self.change.lock() } else { None }
    }

    /// Waits, after a call that has taken effect, for as long as it is to be late.
    pub(crate) fn delay_return(&self, call: CallKind) {
        if !self.is_late.load(Ordering::Relaxed) {
            return;
        }
        let late = self.late.lock().take_if(|(wanted, _)| *wanted == call);
        if let Some((_, time)) = late {
            self.is_late.store(false, Ordering::Relaxed);
            std::thread::sleep(time);
        }
    }

    pub(crate) fn fence_delay(&self) -> u64 {
        self.fence_delay.load(Ordering::Relaxed)
    }

    pub(crate) fn strike(&self, call: CallKind, bytes: u64) -> Option<FaultKind> {
        if !self.armed.load(Ordering::Relaxed) || !call.can_fail() {
            return None;
        }
        let mut faults = self.faults.lock();
        let mut answer = None;
        faults.retain_mut(|fault| {
            let struck = fault.strike(call, bytes);
            let keep = struck.is_none() || fault.onwards;
            answer = answer.take().or(struck);
            keep
        });
        self.armed.store(!faults.is_empty(), Ordering::Relaxed);
        answer
    }
}

/// Injects failures into a device: [`Device::faults`](crate::Device::faults).
///
/// ```
/// use tenure::device::{Device as _, Permit};
/// use tenure::sim::{Device, Fault, FaultKind, Profile};
/// use tenure::QueueId;
///
/// let device = Device::new(Profile::DISCRETE);
/// device.faults().inject(Fault::nth(2, FaultKind::OutOfHostMemory));
/// let permit = Permit::checked();
/// let first = device.create_list(permit, QueueId(0))?;
/// assert!(device.create_list(permit, QueueId(0)).is_err());
/// assert!(device.create_list(permit, QueueId(0)).is_ok());
/// # device.destroy_list(permit, first);
/// # Ok::<(), tenure::DeviceError>(())
/// ```
#[derive(Clone)]
pub struct Faults {
    shared: Arc<Shared>,
}

impl Faults {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared) }
    }

    /// Adds a failure to come. Several may be pending; each counts by itself.
    pub fn inject(&self, fault: Fault) {
        let state = &self.shared.faults;
        let mut faults = state.faults.lock();
        faults.push(fault);
        state.armed.store(true, Ordering::Relaxed);
    }

    /// How many aliasing barriers the device has executed, lost ones included.
    #[must_use]
    pub fn aliasing_barriers(&self) -> u64 {
        self.shared.faults.aliasing.load(Ordering::Relaxed)
    }

    /// Loses the `n`-th aliasing barrier executed from now on: it counts, and does nothing. 1 is the
    /// next, 0 is taken as 1. In place of the one ordered before.
    ///
    /// So a test shows that each barrier is needed: with any one lost there is a hazard.
    ///
    /// ```
    /// use tenure::sim::{Device, Profile};
    ///
    /// let device = Device::new(Profile::DISCRETE);
    /// device.faults().lose_aliasing_barrier(1);
    /// // … run what has at least one …
    /// assert_eq!(device.faults().aliasing_barriers(), 0); // this does not
    /// ```
    pub fn lose_aliasing_barrier(&self, n: u64) {
        let state = &self.shared.faults;
        let number = state.aliasing.load(Ordering::Relaxed).saturating_add(n.max(1));
        state.lost_aliasing.store(number, Ordering::Relaxed);
    }

    /// Changes the `n`-th transition or unordered barrier executed from now on. 1 is the next, 0 is taken
    /// as 1. In place of the change ordered before. So a test shows that it would find such a mistake.
    ///
    /// ```
    /// use tenure_sim::{BarrierChange, Device, Profile};
    ///
    /// let device = Device::new(Profile::DISCRETE);
    /// device.faults().change_barrier(1, BarrierChange::Lost);
    /// // … run what has at least one: there are hazards …
    /// ```
    pub fn change_barrier(&self, n: u64, change: BarrierChange) {
        let state = &self.shared.faults;
        *state.change.lock() = Some(change);
        let number = state.barriers.load(Ordering::Relaxed).saturating_add(n.max(1));
        state.changed_barrier.store(number, Ordering::Relaxed);
    }

    /// Forgets all pending failures, the barriers to lose or change, and the delays of fences and calls. A removed device
    /// stays removed.
    pub fn clear(&self) {
        let state = &self.shared.faults;
        let mut faults = state.faults.lock();
        faults.clear();
        state.armed.store(false, Ordering::Relaxed);
        state.fence_delay.store(0, Ordering::Relaxed);
        state.lost_aliasing.store(0, Ordering::Relaxed);
        state.changed_barrier.store(0, Ordering::Relaxed);
        state.is_late.store(false, Ordering::Relaxed);
    }

    /// Makes the next call of this kind return so much later, on the real clock, than it takes effect: a
    /// window in which other threads make calls. In place of the delay ordered before.
    pub fn delay_return(&self, call: CallKind, time: Duration) {
        let state = &self.shared.faults;
        *state.late.lock() = Some((call, time));
        state.is_late.store(true, Ordering::Relaxed);
    }

    /// Makes every submission from now on complete `ticks` later than its lag says.
    pub fn delay_fences(&self, ticks: u64) {
        self.shared.faults.fence_delay.store(ticks, Ordering::Relaxed);
    }

    /// Removes the device now: what is in flight never completes, waits end, every call answers
    /// [`DeviceError::Lost`] with `reason`, and `destroy_*` still frees.
    pub fn remove(&self, reason: &str) {
        self.shared.lose(reason);
    }
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("pending", &*self.shared.faults.faults.lock()).finish()
    }
}

impl FaultKind {
    /// The error that `call` answers, or the reason to remove the device.
    pub(crate) fn error(
        self,
        call: CallKind,
        requested: u64,
        memory: MemoryTypeId,
        limit: u64,
    ) -> Result<DeviceError, String> {
        match self {
            Self::OutOfMemory => Ok(DeviceError::OutOfMemory { requested, memory }),
            Self::OutOfHostMemory => Ok(DeviceError::OutOfHostMemory { what: call.name() }),
            Self::TooManyAllocations => Ok(DeviceError::TooManyAllocations { limit }),
            Self::Removed(reason) => Err(reason),
        }
    }
}
