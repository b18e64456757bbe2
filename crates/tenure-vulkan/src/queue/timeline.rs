//! Clocks that are timeline semaphores.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ash::vk;
use parking_lot::Mutex;
use tenure_core::device::{DeviceError, QueueId, QueueSerial, check};

use super::Queues;
use super::clock::{Clock, nanoseconds};
use super::send::{Batch, SemaphorePoint, SemaphorePoints, Work};
use super::submit::{Sync, merge_waits};

/// A queue's clock: the semaphore's value is the newest completed serial.
pub(crate) struct Timeline {
    pub(crate) semaphore: vk::Semaphore,
    /// Written under the lock.
    submitted: AtomicU64,
    /// The newest change of tile mappings that no submission has waited for yet; 0: none. Locked
    /// from the check of a serial until it is submitted.
    bound: Mutex<u64>,
}

impl Timeline {
    pub(crate) fn new(semaphore: vk::Semaphore) -> Self {
        Self { semaphore, submitted: AtomicU64::new(0), bound: Mutex::new(0) }
    }

    pub(crate) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    /// True when `value` was submitted, or is being submitted at this moment.
    fn is_known(&self, value: u64) -> bool {
        value <= self.submitted() || {
            let _end_of_submission = self.bound.lock();
            value <= self.submitted()
        }
    }
}

/// A timeline semaphore at 0, on a device that has them.
pub(crate) fn create_timeline(device: &ash::Device) -> Result<vk::Semaphore, vk::Result> {
    let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
    let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
    // SAFETY: the device is alive and has timeline semaphores enabled, says the caller.
    unsafe { device.create_semaphore(&info, None) }
}

impl Queues {
    /// The semaphore of a queue, on a device where all have one.
    fn timeline_of(&self, queue: QueueId) -> Option<vk::Semaphore> {
        match &self.list.get(queue.index())?.clock {
            Clock::Timeline(timeline) => Some(timeline.semaphore),
            Clock::Fences(_) => None,
        }
    }

    pub(crate) fn timeline_value(&self, timeline: &Timeline) -> Result<u64, DeviceError> {
        let Some(calls) = self.api.timeline else { return Ok(0) };
        let mut value = 0;
        // SAFETY: the semaphore is a timeline semaphore of the device.
        let result = unsafe { (calls.value)(self.api.handle(), timeline.semaphore, &raw mut value) };
        result.result().map_err(|result| self.error("vkGetSemaphoreCounterValue", result))?;
        // Some drivers answer with the largest value there is once the device is lost, before any
        // call says so.
        if !timeline.is_known(value) {
            return Err(self.error("vkGetSemaphoreCounterValue", vk::Result::ERROR_DEVICE_LOST));
        }
        Ok(value)
    }

    pub(crate) fn wait_timeline(
        &self,
        timeline: &Timeline,
        serial: u64,
        slice: Duration,
    ) -> Result<(), DeviceError> {
        let Some(calls) = self.api.timeline else { return Ok(()) };
        let (semaphores, values) = ([timeline.semaphore], [serial]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: the semaphore is a timeline semaphore of the device; `info` is valid.
        let result = unsafe { (calls.wait)(self.api.handle(), &raw const info, nanoseconds(slice)) };
        match result {
            vk::Result::SUCCESS | vk::Result::TIMEOUT => Ok(()),
            result => Err(self.error("vkWaitSemaphores", result)),
        }
    }

    /// Submits on a queue whose clock is a timeline semaphore.
    pub(crate) fn execute_on_timeline(
        &self,
        (queue, timeline): (QueueId, &Timeline),
        work: Work<'_>,
        sync: Sync<'_>,
    ) -> Result<(), DeviceError> {
        let Sync { waits, external_waits, external_signals, signal, .. } = sync;
        let mut bound = timeline.bound.lock();
        let submitted = timeline.submitted();
        check::serial(signal, submitted)?;
        let changes_tiles = matches!(work, Work::Binds(_));
        // The API orders neither changes of mappings after submissions nor the other way round.
        let own = if changes_tiles { submitted } else { *bound };
        let own = QueueSerial { queue, serial: own };
        let waits = merge_waits(waits.iter().copied().chain([own]));
        // The program's semaphores come first. The API leaves the order of signals to the driver; a driver that signals
        // them one after the other then reports the submission as complete only after it has signalled all of them.
        let signals = external_signals.iter().map(|point| point.to_point());
        let own = [SemaphorePoint::new(timeline.semaphore, signal)];
        let batch = Batch {
            work,
            waits: self.points(&waits).chain(external_waits.iter().map(|point| point.to_point())).collect(),
            signals: signals.chain(own).collect(),
            fence: vk::Fence::null(),
        };
        self.send(queue, &batch)?;
        timeline.submitted.store(signal, Ordering::Release);
        *bound = if changes_tiles { signal } else { 0 };
        Ok(())
    }

    fn points<'a>(&'a self, waits: &'a [QueueSerial]) -> impl Iterator<Item = SemaphorePoint> + 'a {
        let point =
            |wait: &QueueSerial| Some(SemaphorePoint::new(self.timeline_of(wait.queue)?, wait.serial));
        waits.iter().filter_map(point)
    }

    /// Makes what is submitted to the queue from now on, before submission `signal`, come after `waits`.
    pub(super) fn hold_timeline(
        &self,
        (queue, timeline): (QueueId, &Timeline),
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        let mut bound = timeline.bound.lock();
        check::serial(signal, timeline.submitted())?;
        let own = QueueSerial { queue, serial: *bound };
        let waits = merge_waits(waits.iter().copied().chain([own]));
        if waits.is_empty() {
            return Ok(());
        }
        let batch = Batch {
            work: Work::Lists(&[]),
            waits: self.points(&waits).collect(),
            signals: SemaphorePoints::new(),
            fence: vk::Fence::null(),
        };
        self.send(queue, &batch)?;
        *bound = 0;
        Ok(())
    }
}
