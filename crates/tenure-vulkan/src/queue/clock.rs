//! Queues and how far they are.

use std::time::{Duration, Instant};

use ash::vk;
use parking_lot::ReentrantMutex;
use tenure_core::device::{DeviceError, QueueId, QueueProperties, QueueSerial};

use super::Queues;
use super::fences::Fences;
use super::timeline::Timeline;
use crate::stages::QueueStages;

/// How long one call into the driver blocks at most: then it is looked whether the device is lost.
pub(crate) const SLICE: Duration = Duration::from_millis(50);

/// What counts a queue's completed submissions.
pub(crate) enum Clock {
    /// A timeline semaphore, whose value is the newest completed serial.
    Timeline(Timeline),
    /// A fence for each submission in flight.
    Fences(Fences),
}

/// What a family's queues can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    pub(crate) flags: vk::QueueFlags,
    pub(crate) queues: u32,
    /// Texels; regions of images are copied in multiples of it. Zeros: whole mips only.
    pub(crate) transfer_granularity: [u32; 3],
    /// Bits of a timestamp that count; 0: its queues have none.
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
pub struct OwnQueue {
    /// The queue.
    pub queue: vk::Queue,
    /// Its family.
    pub family: u32,
    /// Its number in the family, as `vkGetDeviceQueue` counts.
    pub index: u32,
}

/// A queue of the device. Locks are taken in the order clock, handle, and no two clocks at once.
pub(crate) struct Queue {
    pub(crate) properties: QueueProperties,
    pub(crate) family: Family,
    pub(crate) stages: QueueStages,
    /// Locked while the API uses the queue, which it wants one thread at a time to do. A thread that has it may
    /// ask for it again: the program's own code, which it runs then, does.
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

    /// Of the stages of a semaphore those that the queue's family has, as far as stages that draw to the images of
    /// swap chains go.
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

    pub(crate) fn wait(&self, target: QueueSerial, timeout: Duration) -> Result<bool, DeviceError> {
        self.alive()?;
        let clock = &self.queue(target.queue)?.clock;
        // A deadline too far for the clock is none.
        let deadline = Instant::now().checked_add(timeout);
        loop {
            if self.completed(target.queue)? >= target.serial {
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
