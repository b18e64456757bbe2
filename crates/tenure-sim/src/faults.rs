//! Failures on order.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tenure_core::device::{DeviceError, MemoryTypeId, State};

use crate::calls::CallKind;

/// The error of a call affected by a [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// [`DeviceError::OutOfMemory`], with the requested size and memory type.
    OutOfMemory,
    /// [`DeviceError::OutOfHostMemory`]
    OutOfHostMemory,
    /// [`DeviceError::TooManyAllocations`]
    TooManyAllocations,
    /// The device is removed with this reason; the call returns [`DeviceError::Lost`].
    Removed(String),
}

/// An injected failure: the *n*-th call (of a kind, or of all that can fail) counted from now.
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
    memory: Option<MemoryTypeId>,
    onwards: bool,
    kind: FaultKind,
}

impl Fault {
    /// Fails the `n`-th call that can fail; 1 is the next, 0 counts as 1.
    #[must_use]
    pub const fn nth(n: u64, kind: FaultKind) -> Self {
        Self { after: n.saturating_sub(1), call: None, larger_than: None, memory: None, onwards: false, kind }
    }

    /// Counts and fails only calls of this kind.
    #[must_use]
    pub const fn of(mut self, call: CallKind) -> Self {
        self.call = Some(call);
        self
    }

    /// Counts and fails only calls for more than `bytes`: memory is fragmented.
    #[must_use]
    pub const fn larger_than(mut self, bytes: u64) -> Self {
        self.larger_than = Some(bytes);
        self
    }

    /// Counts and fails only calls that allocate this type of memory: its heap is full, regardless of the
    /// budget.
    #[must_use]
    pub const fn in_memory(mut self, memory: MemoryTypeId) -> Self {
        self.memory = Some(memory);
        self
    }

    /// Fails every such call from the *n*-th on.
    #[must_use]
    pub const fn onwards(mut self) -> Self {
        self.onwards = true;
        self
    }

    /// Counts one call; the error if this fault applies to it.
    fn strike(&mut self, call: CallKind, bytes: u64, memory: MemoryTypeId) -> Option<FaultKind> {
        // Placed resources allocate no driver memory.
        let takes_memory = matches!(call, CallKind::CreateHeap | CallKind::CreateCommitted);
        let is_other = self.call.is_some_and(|wanted| wanted != call)
            || self.memory.is_some_and(|wanted| wanted != memory || !takes_memory);
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
    /// Separate, so that calls without faults take no lock.
    pub(crate) armed: AtomicBool,
    pub(crate) faults: Mutex<Vec<Fault>>,
    pub(crate) fence_delay: AtomicU64,
    /// Separate, so that calls without a delay take no lock.
    pub(crate) is_late: AtomicBool,
    pub(crate) late: Mutex<Option<(CallKind, Duration)>>,
    /// The number of aliasing barriers executed, and the one to lose, from 1; 0: none.
    pub(crate) aliasing: AtomicU64,
    pub(crate) lost_aliasing: AtomicU64,
    /// The number of other barriers executed, and the one to change, from 1; 0: none.
    pub(crate) barriers: AtomicU64,
    pub(crate) changed_barrier: AtomicU64,
    pub(crate) change: Mutex<Option<BarrierChange>>,
}

/// The change of a barrier: [`Faults::change_barrier`](crate::Faults::change_barrier).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierChange {
    /// The barrier has no effect.
    Lost,
    /// A transition has this state before it. An unordered barrier is unchanged.
    Before(State),
    /// A transition leads to this state. An unordered barrier is unchanged.
    After(State),
}

impl FaultState {
    /// Counts an aliasing barrier. True if a fault removes the effect of this one.
    pub(crate) fn loses_aliasing_barrier(&self) -> bool {
        let number = self.aliasing.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        number == self.lost_aliasing.load(Ordering::Relaxed)
    }

    /// Counts a transition or an unordered barrier; returns its change, if any.
    pub(crate) fn barrier(&self) -> Option<BarrierChange> {
        let number = self.barriers.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let is_changed = number == self.changed_barrier.load(Ordering::Relaxed);
        if is_changed { *self.change.lock() } else { None }
    }

    /// Waits for the requested delay after a call that has taken effect.
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

    pub(crate) fn strike(&self, call: CallKind, bytes: u64, memory: MemoryTypeId) -> Option<FaultKind> {
        if !self.armed.load(Ordering::Relaxed) || !call.can_fail() {
            return None;
        }
        let mut faults = self.faults.lock();
        let mut answer = None;
        faults.retain_mut(|fault| {
            let struck = fault.strike(call, bytes, memory);
            let keep = struck.is_none() || fault.onwards;
            answer = answer.take().or(struck);
            keep
        });
        self.armed.store(!faults.is_empty(), Ordering::Relaxed);
        answer
    }
}

impl FaultKind {
    /// The error of `call`, or the reason to remove the device.
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
