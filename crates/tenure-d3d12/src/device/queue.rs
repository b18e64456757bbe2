//! Queues with their fences, submissions, and events for waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use smallvec::SmallVec;
use tenure_core::device::{
    CallRule, DeviceError, MAX_QUEUES, Permit, QueueDevice, QueueId, QueueKind, QueueSerial, SubmitSync,
    check,
};
use windows::Win32::Foundation::{CloseHandle, HANDLE, WAIT_OBJECT_0};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_COMMAND_LIST_TYPE, D3D12_COMMAND_LIST_TYPE_COMPUTE, D3D12_COMMAND_LIST_TYPE_COPY,
    D3D12_COMMAND_LIST_TYPE_DIRECT, ID3D12CommandList, ID3D12CommandQueue, ID3D12Fence,
};
use windows::Win32::Graphics::Dxgi::DXGI_ERROR_DEVICE_REMOVED;
use windows::Win32::System::Threading::{CreateEventW, WaitForSingleObject};
use windows::core::Error;

use crate::device::error::{Asked, code, removal_reason};
use crate::device::external::{ExternalFence, KeptFences};
use crate::device::inner::Inner;
use crate::{Device, List};

/// The value of a fence after device removal.
const GONE: u64 = u64::MAX;

/// The longest wait before the device is checked for removal.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// The type of the command lists of a queue.
pub(crate) const fn list_type(kind: QueueKind) -> D3D12_COMMAND_LIST_TYPE {
    match kind {
        QueueKind::Graphics => D3D12_COMMAND_LIST_TYPE_DIRECT,
        QueueKind::Compute => D3D12_COMMAND_LIST_TYPE_COMPUTE,
        QueueKind::Copy => D3D12_COMMAND_LIST_TYPE_COPY,
    }
}

/// The kind of a queue; `None` for video.
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
    /// The newest serial submitted. The caller submits to a queue from one thread at a time.
    submitted: AtomicU64,
    pub(crate) kept: KeptFences,
}

impl Queue {
    pub(crate) fn new(raw: ID3D12CommandQueue, fence: ID3D12Fence, kind: QueueKind) -> Self {
        Self { raw, fence, kind, submitted: AtomicU64::new(0), kept: KeptFences::default() }
    }
}

/// Serials of other queues, with their fences.
type Waits<'a> = SmallVec<[(&'a ID3D12Fence, u64); MAX_QUEUES]>;

impl Inner {
    /// Runs `enqueue` on a queue after its waits, and then signals `signal`.
    pub(crate) fn in_order(
        &self,
        id: QueueId,
        sync: SubmitSync<'_, Device>,
        enqueue: impl FnOnce(&ID3D12CommandQueue),
    ) -> Result<(), DeviceError> {
        let external = || sync.external_waits.iter().chain(sync.external_signals);
        self.check_external(external())?;
        let paging = self.paging_wait(sync.paging)?;
        let completed = self.begin(id, sync.waits, sync.signal)?;
        let queue = self.queue(id)?;
        queue.kept.keep(external(), sync.signal, completed);
        self.wait_external(queue, sync.external_waits)?;
        if let Some(fence) = paging {
            self.wait_paging(queue, fence, sync.paging)?;
        }
        enqueue(&queue.raw);
        self.signal_external(queue, sync.external_signals)?;
        self.signal(id, sync.signal)
    }

    /// Makes later submissions to a queue, as submission `signal`, wait for serials of others. Returns the serial
    /// that the queue has completed.
    pub(crate) fn begin(&self, id: QueueId, waits: &[QueueSerial], signal: u64) -> Result<u64, DeviceError> {
        let queue = self.queue(id)?;
        let completed = self.reached(queue)?;
        check::serial(signal, queue.submitted.load(Ordering::Acquire))?;
        for (fence, serial) in self.check_waits(id, waits, signal)? {
            // SAFETY: both interfaces are alive and of this device.
            unsafe { queue.raw.Wait(fence, serial) }
                .map_err(|error| self.fail(&error, Asked::Object("ID3D12CommandQueue::Wait")))?;
        }
        Ok(completed)
    }

    /// Signals `signal` when all that was submitted to a queue is done.
    pub(crate) fn signal(&self, id: QueueId, signal: u64) -> Result<(), DeviceError> {
        let queue = self.queue(id)?;
        // SAFETY: both interfaces are alive and of this device.
        if let Err(error) = unsafe { queue.raw.Signal(&queue.fence, signal) } {
            // The work was submitted, but its completion can never be detected: the device counts as lost.
            return Err(match self.fail(&error, Asked::Object("ID3D12CommandQueue::Signal")) {
                lost @ DeviceError::Lost { .. } => lost,
                _ => self.lose(format!("a queue could not be signalled ({})", code(error.code()))),
            });
        }
        queue.submitted.store(signal, Ordering::Release);
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
                return Err(DeviceError::invalid_call(CallRule::WaitsForItself, wait.serial, signal));
            }
        }
        Ok(found)
    }

    /// The current value of a queue's fence.
    fn reached(&self, queue: &Queue) -> Result<u64, DeviceError> {
        self.value_of(&queue.fence)
    }

    /// The current value of a fence.
    pub(crate) fn value_of(&self, fence: &ID3D12Fence) -> Result<u64, DeviceError> {
        // SAFETY: the interface is alive.
        let value = unsafe { fence.GetCompletedValue() };
        self.look()?;
        if value == GONE { Err(self.lose(removal_reason(DXGI_ERROR_DEVICE_REMOVED))) } else { Ok(value) }
    }

    pub(crate) fn completed(&self, id: QueueId) -> Result<u64, DeviceError> {
        self.alive()?;
        self.reached(self.queue(id)?)
    }
}

impl QueueDevice for Device {
    type List = List;
    type ExternalPoint = ExternalFence;
    type NativeQueue<'a> = &'a ID3D12CommandQueue;

    fn create_list(&self, _: Permit<Self>, queue: QueueId) -> Result<List, DeviceError> {
        self.inner.create_list(queue)
    }

    fn destroy_list(&self, _: Permit<Self>, list: List) {
        drop(list);
    }

    fn submit_with(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        lists: &[&List],
        sync: SubmitSync<'_, Self>,
    ) -> Result<(), DeviceError> {
        self.inner.look()?;
        for list in lists {
            if !Arc::ptr_eq(&self.inner, &list.device) {
                return Err(DeviceError::broken_rule(CallRule::SameDevice));
            }
            check::list_queue(queue, list.queue)?;
            if !list.is_closed() {
                return Err(DeviceError::broken_rule(CallRule::SubmittedClosed));
            }
        }
        // Handing a texture to another queue often changes no layout.
        let to_execute = lists.iter().filter(|list| list.may_have_commands());
        // Room for 64 lists, each behind one with its barriers.
        let raw: SmallVec<[Option<ID3D12CommandList>; 128]> =
            to_execute.map(|list| Some(<&ID3D12CommandList>::from(&list.raw).clone())).collect();
        self.inner.in_order(queue, sync, |queue| {
            if !raw.is_empty() {
                // SAFETY: the lists are alive, closed, of this device and of the queue's type.
                unsafe { queue.ExecuteCommandLists(&raw) };
            }
        })
    }

    // Lets the program submit to a queue between the serials waited for and the signal of `signal`.
    fn submit_external<T>(
        &self,
        _: Permit<Self>,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(&ID3D12CommandQueue) -> T,
    ) -> Result<T, DeviceError> {
        self.inner.look()?;
        self.inner.begin(queue, waits, signal)?;
        let answer = run(&self.inner.queue(queue)?.raw);
        self.inner.signal(queue, signal)?;
        Ok(answer)
    }

    fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.inner.completed(queue)
    }

    fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.inner.alive()?;
        let queue = self.inner.queue(target.queue)?;
        if self.inner.reached(queue)? >= target.serial {
            return Ok(true);
        }
        if timeout.is_zero() {
            return Ok(false);
        }
        // A deadline beyond the clock's range means no deadline.
        let deadline = Instant::now().checked_add(timeout);
        let event = self
            .inner
            .events
            .take()
            .map_err(|error| self.inner.fail(&error, Asked::Object("CreateEvent")))?;
        // SAFETY: the interface is alive; the event stays open as long as the fence, because it is returned below
        // and kept.
        let asked = unsafe { queue.fence.SetEventOnCompletion(target.serial, event.handle()) };
        let answer = match asked {
            Err(error) => Err(self.inner.fail(&error, Asked::Object("SetEventOnCompletion"))),
            Ok(()) => loop {
                let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
                event.wait(left.map_or(SLICE, |left| left.min(SLICE)));
                match self.inner.reached(queue) {
                    Ok(value) if value >= target.serial => break Ok(true),
                    Ok(_) if left.is_some_and(|left| left.is_zero()) => break Ok(false),
                    Ok(_) => {}
                    Err(error) => break Err(error),
                }
            },
        };
        self.inner.events.recycle(event);
        answer
    }
}

/// Whole milliseconds, rounded up. `INFINITE` is the largest number; one less is still a timeout.
pub(crate) fn milliseconds(timeout: Duration) -> u32 {
    let rounded = timeout.as_nanos().div_ceil(1_000_000);
    u32::try_from(rounded).unwrap_or(u32::MAX).min(u32::MAX - 1)
}

/// An event that resets itself when a wait for it ends.
pub(crate) struct Event(HANDLE);

// SAFETY: a handle is a number that the kernel looks up; it may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as above; the kernel synchronises.
unsafe impl Sync for Event {}

impl Event {
    pub(crate) fn new() -> Result<Self, Error> {
        // SAFETY: no attributes and no name are passed.
        unsafe { CreateEventW(None, false, false, None) }.map(Self)
    }

    pub(crate) const fn handle(&self) -> HANDLE {
        self.0
    }

    /// Waits until it is set, or until the timeout, rounded up to milliseconds; true if it was set.
    pub(crate) fn wait(&self, timeout: Duration) -> bool {
        // SAFETY: the handle is open as long as `self`.
        unsafe { WaitForSingleObject(self.0, milliseconds(timeout)) == WAIT_OBJECT_0 }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the handle is ours and open; no fence sets it any more (see `Events`). A failure to close it
        // has no consequences.
        let _closed = unsafe { CloseHandle(self.0) };
    }
}

/// Unused events. They are kept until the device is dropped, because a fence may set one long after the wait for
/// it has timed out: such a late wake-up only makes the next user check again.
#[derive(Default)]
pub(crate) struct Events(Mutex<Vec<Event>>);

impl Events {
    pub(crate) fn take(&self) -> Result<Event, Error> {
        let kept = self.0.lock().pop();
        kept.map_or_else(Event::new, Ok)
    }

    pub(crate) fn recycle(&self, event: Event) {
        self.0.lock().push(event);
    }
}
