//! Queues, their progress, and clocks that are timeline semaphores.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ash::vk;
use parking_lot::{Mutex, ReentrantMutex};
use tenure_core::device::{DeviceError, QueueId, QueueProperties, QueueSerial, check};

use super::Queues;
use super::fences::Fences;
use super::submit::{Batch, SemaphorePoint, SemaphorePoints, Sync, Work, merge_waits};
use crate::stages::QueueStages;

/// The longest time one call into the driver blocks, before device loss is checked.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// The counter of a queue's completed submissions.
pub(crate) enum Clock {
    /// A timeline semaphore with the newest completed serial as its value.
    Timeline(Timeline),
    /// A fence for each submission in flight.
    Fences(Fences),
}

/// The capabilities of a queue family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    pub(crate) flags: vk::QueueFlags,
    pub(crate) queues: u32,
    /// The granularity of copied image regions, in texels. Zeros: whole mips only.
    pub(crate) transfer_granularity: [u32; 3],
    /// Valid bits of a timestamp; 0: its queues have no timestamps.
    pub(crate) timestamp_bits: u32,
}

impl From<&vk::QueueFamilyProperties> for Family {
    fn from(found: &vk::QueueFamilyProperties) -> Self {
        let vk::Extent3D { width, height, depth } = found.min_image_transfer_granularity;
        Self {
            flags: found.queue_flags,
            queues: found.queue_count,
            transfer_granularity: [width, height, depth],
            timestamp_bits: found.timestamp_valid_bits,
        }
    }
}

/// A queue for the program's own use: see [`Device::own_queues`](crate::Device::own_queues).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnQueue {
    /// The queue.
    pub queue: vk::Queue,
    /// The family.
    pub family: u32,
    /// The number in the family, as `vkGetDeviceQueue` counts.
    pub index: u32,
}

/// A queue of the device. Locks are taken in the order clock, handle, and no two clocks at once.
pub(crate) struct Queue {
    pub(crate) properties: QueueProperties,
    pub(crate) family: Family,
    pub(crate) stages: QueueStages,
    /// Locked while the API uses the queue, which requires external synchronisation. Reentrant, because the
    /// program's own code, which runs under the lock, may lock it again.
    handle: ReentrantMutex<vk::Queue>,
    pub(crate) clock: Clock,
}

impl Queue {
    pub(crate) const fn new(
        (properties, family): (QueueProperties, Family),
        stages: QueueStages,
        handle: vk::Queue,
        clock: Clock,
    ) -> Self {
        Self { properties, family, stages, handle: ReentrantMutex::new(handle), clock }
    }

    /// Runs `call` with the queue, while no other code uses it.
    pub(crate) fn with<T>(&self, call: impl FnOnce(vk::Queue) -> T) -> T {
        let handle = self.handle.lock();
        call(*handle)
    }

    /// The stages of a semaphore that the queue's family has, considering only stages that draw to the images of
    /// swap chains.
    pub(super) fn known(&self, stages: vk::PipelineStageFlags2) -> vk::PipelineStageFlags2 {
        use vk::PipelineStageFlags2 as Stages;
        let drawing = [
            (vk::QueueFlags::GRAPHICS, Stages::COLOR_ATTACHMENT_OUTPUT),
            (vk::QueueFlags::COMPUTE, Stages::COMPUTE_SHADER),
        ];
        let missing = drawing.into_iter().filter(|(flag, _)| !self.family.flags.contains(*flag));
        let known = missing.fold(stages, |known, (_, stage)| known & !stage);
        if known.is_empty() { Stages::ALL_COMMANDS } else { known }
    }

    pub(crate) fn can_bind(&self) -> bool {
        self.family.flags.contains(vk::QueueFlags::SPARSE_BINDING)
    }
}

impl Queues {
    pub(crate) fn completed(&self, queue: QueueId) -> Result<u64, DeviceError> {
        self.alive()?;
        match &self.queue(queue)?.clock {
            Clock::Timeline(timeline) => self.timeline_value(timeline),
            Clock::Fences(fences) => self.poll_fences(fences),
        }
    }

    /// The newest serial known to be complete, if it is `serial` or newer; otherwise by asking the driver.
    pub(crate) fn completed_up_to(&self, queue: QueueId, serial: u64) -> Result<u64, DeviceError> {
        let known = match &self.queue(queue)?.clock {
            Clock::Timeline(timeline) => timeline.completed.load(Ordering::Acquire),
            Clock::Fences(_) => 0,
        };
        if known >= serial { Ok(known) } else { self.completed(queue) }
    }

    pub(crate) fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.alive()?;
        let clock = &self.queue(target.queue)?.clock;
        // A deadline beyond the clock's range means no deadline.
        let deadline = Instant::now().checked_add(timeout);
        loop {
            if self.completed_up_to(target.queue, target.serial)? >= target.serial {
                return Ok(true);
            }
            let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(false);
            }
            let slice = left.min(SLICE);
            match clock {
                Clock::Timeline(timeline) => self.wait_timeline(timeline, target.serial, slice)?,
                Clock::Fences(fences) => self.wait_fence(fences, target.serial, slice)?,
            }
        }
    }
}

/// As the API counts time.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A queue's clock: the semaphore's value is the newest completed serial.
pub(crate) struct Timeline {
    pub(crate) semaphore: vk::Semaphore,
    /// Written under the lock.
    submitted: AtomicU64,
    /// The newest completed serial that the driver has reported.
    completed: AtomicU64,
    /// The newest change of tile mappings that no submission has waited for yet; 0: none. Locked from the check
    /// of a serial until its submission.
    bound: Mutex<u64>,
}

impl Timeline {
    pub(crate) fn new(semaphore: vk::Semaphore) -> Self {
        Self { semaphore, submitted: AtomicU64::new(0), completed: AtomicU64::new(0), bound: Mutex::new(0) }
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
    // SAFETY: the caller promises that the device is alive and has timeline semaphores enabled.
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
        self.check("vkGetSemaphoreCounterValue", result)?;
        // Some drivers return the largest possible value after a device loss, before any call reports it.
        if !timeline.is_known(value) {
            return Err(self.error("vkGetSemaphoreCounterValue", vk::Result::ERROR_DEVICE_LOST));
        }
        timeline.completed.fetch_max(value, Ordering::AcqRel);
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

    /// Submits on a queue with a timeline semaphore as its clock.
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

    /// Makes later submissions to the queue, before submission `signal`, wait for `waits`.
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
