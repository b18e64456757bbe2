//! Handing one batch to the driver, in whichever way it takes it.

use std::collections::HashMap;

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{DeviceError, QueueId};

use super::Queues;
use super::clock::Queue;
use crate::error::unsupported;

/// Changes of tile mappings, in the API's words.
#[derive(Default)]
pub(crate) struct Binds {
    pub(crate) buffers: HashMap<vk::Buffer, Vec<vk::SparseMemoryBind>>,
    pub(crate) images: HashMap<vk::Image, Vec<vk::SparseImageMemoryBind>>,
    /// Mip tails.
    pub(crate) tails: HashMap<vk::Image, Vec<vk::SparseMemoryBind>>,
}

/// What a batch does.
#[derive(Clone, Copy)]
pub(crate) enum Work<'a> {
    Lists(&'a [vk::CommandBuffer]),
    Binds(&'a Binds),
}

/// A semaphore, its value (of a binary one it is not looked at), and the stages that wait for it or are
/// done when it is signalled.
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

    /// The stages as `vkQueueSubmit` knows them.
    fn older_stages(&self, queue: &Queue) -> vk::PipelineStageFlags {
        match u32::try_from(queue.known(self.stages).as_raw()) {
            Ok(bits) => vk::PipelineStageFlags::from_raw(bits),
            Err(_) => vk::PipelineStageFlags::ALL_COMMANDS,
        }
    }
}

pub(crate) type SemaphorePoints = SmallVec<[SemaphorePoint; 8]>;

/// What is submitted at once.
pub(crate) struct Batch<'a> {
    pub(crate) work: Work<'a>,
    pub(crate) waits: SemaphorePoints,
    pub(crate) signals: SemaphorePoints,
    pub(crate) fence: vk::Fence,
}

/// Semaphores and values, apart, as the older functions want them.
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
    /// Hands a batch to the driver: to the given queue, except for changes of mappings that its
    /// family cannot make. Semaphores order those wherever they are made.
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

    /// The queue itself where it can change mappings, else the first that can.
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
        let buffers: SmallVec<[_; 4]> =
            lists.iter().map(|list| vk::CommandBufferSubmitInfo::default().command_buffer(*list)).collect();
        let info = vk::SubmitInfo2::default()
            .wait_semaphore_infos(&waits)
            .command_buffer_infos(&buffers)
            .signal_semaphore_infos(&signals);
        let result = queue.with(|handle| {
            // SAFETY: all handles are of this device; the queue is used by this thread alone;
            // `info` and what it points to live until the call returns.
            unsafe { submit(handle, 1, &raw const info, batch.fence) }
        });
        result.result().map_err(|result| self.error("vkQueueSubmit2", result))
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
