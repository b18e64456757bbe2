//! Submission to the driver: the waits, work and signals of a batch.

use std::collections::HashMap;

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{CallRule, DeviceError, MAX_QUEUES, QueueId, QueueSerial};

use super::Queues;
use super::clock::{Clock, Queue};
use crate::error::unsupported;

/// The waits and signals of a submission.
#[derive(Clone, Copy)]
pub(crate) struct Sync<'a> {
    pub(crate) waits: &'a [QueueSerial],
    pub(crate) external_waits: &'a [ExternalSemaphore],
    pub(crate) external_signals: &'a [ExternalSemaphore],
    pub(crate) signal: u64,
}

impl<'a> Sync<'a> {
    /// Waits and signals of serials only.
    pub(crate) const fn new(waits: &'a [QueueSerial], signal: u64) -> Self {
        Self { waits, external_waits: &[], external_signals: &[], signal }
    }
}

/// At most one serial per queue.
pub(crate) type Waits = SmallVec<[QueueSerial; MAX_QUEUES]>;

/// The newest serial to wait for of each queue; 0 needs no waiting.
pub(crate) fn merge_waits(waits: impl Iterator<Item = QueueSerial>) -> Waits {
    let mut merged = Waits::new();
    for wait in waits.filter(|wait| wait.serial > 0) {
        match merged.iter_mut().find(|known| known.queue == wait.queue) {
            Some(known) => known.serial = known.serial.max(wait.serial),
            None => merged.push(wait),
        }
    }
    merged
}

impl Queues {
    /// Submits work to a queue.
    pub(crate) fn execute(&self, queue: QueueId, work: Work<'_>, sync: Sync<'_>) -> Result<(), DeviceError> {
        self.alive()?;
        self.check_waits(queue, sync.waits, sync.signal)?;
        self.check_external(&sync)?;
        match &self.queue(queue)?.clock {
            Clock::Timeline(timeline) => self.execute_on_timeline((queue, timeline), work, sync),
            Clock::Fences(fences) => self.execute_with_fence((queue, fences), work, sync),
        }
    }

    /// Checks that the queues exist and that the submission does not wait for itself.
    pub(super) fn check_waits(
        &self,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
    ) -> Result<(), DeviceError> {
        self.queue(queue)?;
        for wait in waits {
            self.queue(wait.queue)?;
            if wait.queue == queue && wait.serial >= signal {
                return Err(DeviceError::invalid_call(CallRule::WaitsForItself, wait.serial, signal));
            }
        }
        Ok(())
    }
}

/// Changes of tile mappings, as Vulkan structures.
#[derive(Default)]
pub(crate) struct Binds {
    pub(crate) buffers: HashMap<vk::Buffer, Vec<vk::SparseMemoryBind>>,
    pub(crate) images: HashMap<vk::Image, Vec<vk::SparseImageMemoryBind>>,
    /// Mip tails.
    pub(crate) tails: HashMap<vk::Image, Vec<vk::SparseMemoryBind>>,
}

/// The work of a batch.
#[derive(Clone, Copy)]
pub(crate) enum Work<'a> {
    Lists(&'a [vk::CommandBuffer]),
    Binds(&'a Binds),
}

/// A semaphore, its value (ignored for a binary one), and the stages that wait for it or must be done when it is
/// signalled.
#[derive(Clone, Copy)]
pub(crate) struct SemaphorePoint {
    pub(crate) semaphore: vk::Semaphore,
    pub(crate) value: u64,
    pub(crate) stages: vk::PipelineStageFlags2,
}

impl SemaphorePoint {
    pub(crate) const fn new(semaphore: vk::Semaphore, value: u64) -> Self {
        Self { semaphore, value, stages: vk::PipelineStageFlags2::ALL_COMMANDS }
    }

    /// The stages for `vkQueueSubmit`.
    fn older_stages(&self, queue: &Queue) -> vk::PipelineStageFlags {
        match u32::try_from(queue.known(self.stages).as_raw()) {
            Ok(bits) => vk::PipelineStageFlags::from_raw(bits),
            Err(_) => vk::PipelineStageFlags::ALL_COMMANDS,
        }
    }
}

/// Number of command buffers that are submitted without an allocation: 64 lists, each behind one with its barriers.
pub(crate) const BUFFERS: usize = 128;

pub(crate) type SemaphorePoints = SmallVec<[SemaphorePoint; 8]>;

/// The content of one submission.
pub(crate) struct Batch<'a> {
    pub(crate) work: Work<'a>,
    pub(crate) waits: SemaphorePoints,
    pub(crate) signals: SemaphorePoints,
    pub(crate) fence: vk::Fence,
}

/// Semaphores and values in separate arrays, for the older functions.
struct Apart {
    semaphores: SmallVec<[vk::Semaphore; 8]>,
    values: SmallVec<[u64; 8]>,
}

impl Apart {
    fn of(points: &SemaphorePoints) -> Self {
        let (semaphores, values) = points.iter().map(|point| (point.semaphore, point.value)).unzip();
        Self { semaphores, values }
    }
}

impl Queues {
    /// Submits a batch to the driver: to the given queue, except for changes of mappings that its family cannot
    /// make. Semaphores order these on any queue.
    pub(crate) fn send(&self, queue: QueueId, batch: &Batch<'_>) -> Result<(), DeviceError> {
        let queue = self.queue(queue)?;
        match (batch.work, self.api.synchronization2) {
            (Work::Binds(binds), _) => {
                let queue = self.binding_queue(queue)?;
                self.bind_sparse(queue, batch, binds)
            }
            (Work::Lists(lists), Some(calls)) => self.submit2(queue, batch, lists, calls.submit),
            (Work::Lists(lists), None) => self.submit1(queue, batch, lists),
        }
    }

    /// The queue itself if it can change mappings, otherwise the first that can.
    fn binding_queue<'a>(&'a self, queue: &'a Queue) -> Result<&'a Queue, DeviceError> {
        if queue.can_bind() {
            return Ok(queue);
        }
        self.list.iter().find(|queue| queue.can_bind()).ok_or(unsupported("a queue with sparse binding"))
    }

    fn submit2(
        &self,
        queue: &Queue,
        batch: &Batch<'_>,
        lists: &[vk::CommandBuffer],
        submit: vk::PFN_vkQueueSubmit2,
    ) -> Result<(), DeviceError> {
        let semaphore = |point: &SemaphorePoint| vk::SemaphoreSubmitInfo {
            semaphore: point.semaphore,
            value: point.value,
            stage_mask: queue.known(point.stages),
            ..Default::default()
        };
        let waits: SmallVec<[_; 8]> = batch.waits.iter().map(semaphore).collect();
        let signals: SmallVec<[_; 8]> = batch.signals.iter().map(semaphore).collect();
        let buffers: SmallVec<[_; BUFFERS]> =
            lists.iter().map(|list| vk::CommandBufferSubmitInfo::default().command_buffer(*list)).collect();
        let info = vk::SubmitInfo2::default()
            .wait_semaphore_infos(&waits)
            .command_buffer_infos(&buffers)
            .signal_semaphore_infos(&signals);
        let result = queue.with(|handle| {
            // SAFETY: all handles are of this device; the queue is used only by this thread; `info` and its
            // pointers live until the call returns.
            unsafe { submit(handle, 1, &raw const info, batch.fence) }
        });
        self.check("vkQueueSubmit2", result)
    }

    fn submit1(
        &self,
        queue: &Queue,
        batch: &Batch<'_>,
        lists: &[vk::CommandBuffer],
    ) -> Result<(), DeviceError> {
        let (waits, signals) = (Apart::of(&batch.waits), Apart::of(&batch.signals));
        let stages: SmallVec<[_; 8]> = batch.waits.iter().map(|point| point.older_stages(queue)).collect();
        let mut values = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&waits.values)
            .signal_semaphore_values(&signals.values);
        let mut info = vk::SubmitInfo::default()
            .wait_semaphores(&waits.semaphores)
            .wait_dst_stage_mask(&stages)
            .command_buffers(lists)
            .signal_semaphores(&signals.semaphores);
        if self.api.timeline.is_some() {
            info = info.push_next(&mut values);
        }
        let result = queue.with(|handle| {
            // SAFETY: as in `submit2`.
            unsafe { self.api.device.queue_submit(handle, &[info], batch.fence) }
        });
        result.map_err(|result| self.error("vkQueueSubmit", result))
    }

    fn bind_sparse(&self, queue: &Queue, batch: &Batch<'_>, binds: &Binds) -> Result<(), DeviceError> {
        let (waits, signals) = (Apart::of(&batch.waits), Apart::of(&batch.signals));
        let buffers: Vec<_> = binds
            .buffers
            .iter()
            .map(|(buffer, binds)| vk::SparseBufferMemoryBindInfo::default().buffer(*buffer).binds(binds))
            .collect();
        let images: Vec<_> = binds
            .images
            .iter()
            .map(|(image, binds)| vk::SparseImageMemoryBindInfo::default().image(*image).binds(binds))
            .collect();
        let tails: Vec<_> = binds
            .tails
            .iter()
            .map(|(image, binds)| vk::SparseImageOpaqueMemoryBindInfo::default().image(*image).binds(binds))
            .collect();
        let mut values = vk::TimelineSemaphoreSubmitInfo::default()
            .wait_semaphore_values(&waits.values)
            .signal_semaphore_values(&signals.values);
        let mut info = vk::BindSparseInfo::default()
            .wait_semaphores(&waits.semaphores)
            .signal_semaphores(&signals.semaphores)
            .buffer_binds(&buffers)
            .image_binds(&images)
            .image_opaque_binds(&tails);
        if self.api.timeline.is_some() {
            info = info.push_next(&mut values);
        }
        let result = queue.with(|handle| {
            // SAFETY: as in `submit2`; the queue's family can bind sparse memory, and the binds were
            // checked against their resources and heaps.
            unsafe { self.api.device.queue_bind_sparse(handle, &[info], batch.fence) }
        });
        result.map_err(|result| self.error("vkQueueBindSparse", result))
    }
}

/// A semaphore of the program that a recording waits for or signals: see
/// [`Recording::wait_for_external`](tenure_core::Recording::wait_for_external).
///
/// ```no_run
/// use ash::vk;
/// use tenure_core::{Error, Recording};
/// use tenure_vulkan::{Device, ExternalSemaphore};
///
/// /// Draws after another library has finished, which signals `drawn` to `value`.
/// fn draw_after(recording: &mut Recording<Device>, drawn: vk::Semaphore, value: u64) {
///     // SAFETY: the semaphore is a timeline of this device and lives until the GPU is done.
///     let drawn = unsafe { ExternalSemaphore::timeline(drawn, value) };
///     recording.wait_for_external(drawn.at_stages(vk::PipelineStageFlags2::FRAGMENT_SHADER));
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalSemaphore {
    semaphore: vk::Semaphore,
    /// The value; `None` for a binary semaphore.
    value: Option<u64>,
    stages: vk::PipelineStageFlags2,
}

impl ExternalSemaphore {
    /// A binary semaphore.
    ///
    /// # Safety
    /// It belongs to the device that it is used with, and stays valid until the submissions that use it are
    /// complete. Each wait has its own signal, submitted before the wait, and each signal has a wait before the
    /// next signal.
    #[must_use]
    pub const unsafe fn binary(semaphore: vk::Semaphore) -> Self {
        Self { semaphore, value: None, stages: vk::PipelineStageFlags2::ALL_COMMANDS }
    }

    /// A value of a timeline semaphore.
    ///
    /// # Safety
    /// It belongs to the device that it is used with, and stays valid until the submissions that use it are
    /// complete. Signalled values increase, and none differs by more than the device's
    /// `maxTimelineSemaphoreValueDifference`. The signal of a value that an image of a swap chain waits for,
    /// directly or through other submissions, is submitted or made before the image is presented.
    #[must_use]
    pub const unsafe fn timeline(semaphore: vk::Semaphore, value: u64) -> Self {
        Self { semaphore, value: Some(value), stages: vk::PipelineStageFlags2::ALL_COMMANDS }
    }

    /// Sets the stages that wait for it, and the stages that must be done when it is signalled; initially all.
    /// Tenure's barriers around states other than `PRESENT` do not name them: choose stages that include the
    /// stages of the uses that are to wait. Empty stages, and on a device without synchronization2 the stages
    /// that came with it, mean all.
    #[must_use]
    pub const fn at_stages(self, stages: vk::PipelineStageFlags2) -> Self {
        Self { stages, ..self }
    }

    /// The semaphore.
    #[must_use]
    pub const fn semaphore(&self) -> vk::Semaphore {
        self.semaphore
    }

    /// The value of a timeline semaphore; `None` for a binary one.
    #[must_use]
    pub const fn value(&self) -> Option<u64> {
        self.value
    }

    /// The stages that wait for it, or must be done when it is signalled.
    #[must_use]
    pub const fn stages(&self) -> vk::PipelineStageFlags2 {
        self.stages
    }

    pub(super) fn to_point(self) -> SemaphorePoint {
        let stages = match self.stages.is_empty() {
            true => vk::PipelineStageFlags2::ALL_COMMANDS,
            false => self.stages,
        };
        SemaphorePoint { semaphore: self.semaphore, value: self.value.unwrap_or(0), stages }
    }
}

impl Queues {
    /// Refuses points with a value on devices without timeline semaphores.
    pub(super) fn check_external(&self, sync: &Sync<'_>) -> Result<(), DeviceError> {
        let mut points = sync.external_waits.iter().chain(sync.external_signals);
        if self.api.timeline.is_none() && points.any(|point| point.value.is_some()) {
            return Err(unsupported("timeline semaphores"));
        }
        Ok(())
    }

    /// Lets the program submit to a queue between the serials waited for and the signal of `signal`.
    pub(crate) fn submit_external<T>(
        &self,
        queue: QueueId,
        waits: &[QueueSerial],
        signal: u64,
        run: impl FnOnce(vk::Queue) -> T,
    ) -> Result<T, DeviceError> {
        self.alive()?;
        self.check_waits(queue, waits, signal)?;
        let found = self.queue(queue)?;
        match &found.clock {
            Clock::Timeline(timeline) => self.hold_timeline((queue, timeline), waits, signal)?,
            Clock::Fences(fences) => self.hold_with_fence((queue, fences), waits, signal)?,
        }
        let answer = found.with(run);
        // The end of a batch comes after all that was submitted to the queue before.
        let sent = self.execute(queue, Work::Lists(&[]), Sync::new(&[], signal));
        match sent {
            Ok(()) => Ok(answer),
            Err(lost @ DeviceError::Lost { .. }) => Err(lost),
            // The completion of this submission could never be detected.
            Err(error) => {
                Err(self.lose(format!("the program's own submission could not be counted: {error}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(queue: u8, serial: u64) -> QueueSerial {
        QueueSerial { queue: QueueId(queue), serial }
    }

    #[test]
    fn waits_are_merged_by_queue() {
        let merged = merge_waits([at(0, 3), at(1, 0), at(2, 7), at(0, 5), at(2, 6)].into_iter());
        assert_eq!(merged.as_slice(), [at(0, 5), at(2, 7)]);
    }
}
