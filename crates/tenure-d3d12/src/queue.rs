//! Queues with the fences that count on them.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use smallvec::SmallVec;
use tenure_core::device::{DeviceError, MAX_QUEUES, QueueId, QueueKind, QueueSerial};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_COMMAND_LIST_TYPE, D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY,
    D3D12_COMMAND_LIST_TYPE_DIRECT, ID3D12CommandQueue, ID3D12Fence,
};
use windows::Win32::Graphics::Dxgi::DXGI_ERROR_DEVICE_REMOVED;

use crate::error::{Asked, code, invalid, removal_reason};
use crate::inner::Inner;

/// What a fence shows when its device is gone.
const GONE: u64 = u64::MAX;

/// The longest that a wait goes without asking whether the device is still there.
const SLICE: Duration = Duration::from_millis(50);

/// The type of the lists that a queue takes.
pub(crate) const fn list_type(kind: QueueKind) -> D3D12_COMMAND_LIST_TYPE {
    match kind {
        QueueKind::Graphics => D3D12_COMMAND_LIST_TYPE_DIRECT,
        QueueKind::Compute => D3D12_COMMAND_LIST_TYPE_COMPUTE,
        QueueKind::Copy => D3D12_COMMAND_LIST_TYPE_COPY,
    }
}

/// What a queue can do; `None` for video.
pub(crate) const fn queue_kind(list: D3D12_COMMAND_LIST_TYPE) -> Option<QueueKind> {
    match list {
        D3D12_COMMAND_LIST_TYPE_DIRECT => Some(QueueKind::Graphics),
        D3D12_COMMAND_LIST_TYPE_COMPUTE => Some(QueueKind::Compute),
        D3D12_COMMAND_LIST_TYPE_COPY => Some(QueueKind::Copy),
        _ => None,
    }
}

pub(crate) struct Queue {
    pub(crate) raw: ID3D12CommandQueue,
    pub(crate) fence: ID3D12Fence,
    pub(crate) kind: QueueKind,
    /// The newest serial submitted; held over a submission, so that serials reach the fence in
    /// order.
    submitted: Mutex<u64>,
}

impl Queue {
    pub(crate) fn new(raw: ID3D12CommandQueue, fence: ID3D12Fence, kind: QueueKind) -> Self {
        Self { raw, fence, kind, submitted: Mutex::new(0) }
    }
}

/// Serials of other queues, with their fences.
type Waits<'a> = SmallVec<[(&'a ID3D12Fence, u64); MAX_QUEUES]>;

impl Inner {
    /// Runs `enqueue` on a queue after the serials waited for, and signals `signal` behind it.
    pub(crate) fn in_order(
        &self,
        id: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        enqueue: impl FnOnce(&ID3D12CommandQueue),
    ) -> Result<(), DeviceError> {
        let queue = self.queue(id)?;
        self.reached(queue)?;
        let mut submitted = queue.submitted.lock();
        let next = submitted.saturating_add(1);
        if signal != next {
            return Err(invalid("serials rise by one per submission", signal, next));
        }
        for (fence, serial) in self.check_waits(id, waits, signal)? {
            // SAFETY: both interfaces are alive and of this device.
            unsafe { queue.raw.Wait(fence, serial) }
                .map_err(|error| self.fail(&error, Asked::Object("ID3D12CommandQueue::Wait")))?;
        }
        enqueue(&queue.raw);
        // SAFETY: as above.
        if let Err(error) = unsafe { queue.raw.Signal(&queue.fence, signal) } {
            // The work is on its way and nobody will ever hear of its end.
            return Err(match self.fail(&error, Asked::Object("ID3D12CommandQueue::Signal")) {
                lost @ DeviceError::Lost { .. } => lost,
                _ => self.lose(format!("a queue could not be signalled (0x{:08x})", code(error.code()))),
            });
        }
        *submitted = signal;
        drop(submitted);
        self.messages.deliver();
        self.look()
    }

    fn check_waits(&self, id: QueueId, waits: &[QueueSerial], signal: u64) -> Result<Waits<'_>, DeviceError> {
        let mut found = Waits::new();
        for wait in waits {
            let other = self.queue(wait.queue)?;
            if wait.queue != id {
                found.push((&other.fence, wait.serial));
            } else if wait.serial >= signal {
                return Err(invalid("a submission does not wait for itself", wait.serial, signal));
            }
        }
        Ok(found)
    }

    /// Where the fence of a queue is.
    fn reached(&self, queue: &Queue) -> Result<u64, DeviceError> {
        // SAFETY: the interface is alive.
        let value = unsafe { queue.fence.GetCompletedValue() };
        self.look()?;
        if value == GONE { Err(self.lose(removal_reason(DXGI_ERROR_DEVICE_REMOVED))) } else { Ok(value) }
    }

    pub(crate) fn completed(&self, id: QueueId) -> Result<u64, DeviceError> {
        self.alive()?;
        self.reached(self.queue(id)?)
    }

    pub(crate) fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.alive()?;
        let queue = self.queue(target.queue)?;
        if self.reached(queue)? >= target.serial {
            return Ok(true);
        }
        if timeout.is_zero() {
            return Ok(false);
        }
        // A deadline too far for the clock is none.
        let deadline = Instant::now().checked_add(timeout);
        let event = self.events.take().map_err(|error| self.fail(&error, Asked::Object("CreateEvent")))?;
        // SAFETY: the interface is alive; the event stays open as long as the fence, for it is given
        // back below and kept.
        let asked = unsafe { queue.fence.SetEventOnCompletion(target.serial, event.handle()) };
        let answer = match asked {
            Err(error) => Err(self.fail(&error, Asked::Object("SetEventOnCompletion"))),
            Ok(()) => loop {
                let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                event.wait(left.map_or(SLICE, |left| left.min(SLICE)));
                match self.reached(queue) {
                    Ok(value) if value >= target.serial => break Ok(true),
                    Ok(_) if left.is_some_and(|left| left.is_zero()) => break Ok(false),
                    Ok(_) => {}
                    Err(error) => break Err(error),
                }
            },
        };
        self.events.give_back(event);
        answer
    }
}
