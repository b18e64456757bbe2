//! Recording.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{
    Barrier, BegunQueries, CallRule, DescriptorKind, Device, DeviceError, Marker, QueueId, QueueKind, State,
    Subresource, check,
};

use super::barrier::BarrierGroup;
use crate::descriptor::DescriptorHeap;
use crate::loaded::Loaded;
use crate::queue::Queues;
use crate::resource::Resource;
use crate::resource::Resources;
use crate::stages::QueueStages;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Never begun.
    New,
    Open,
    Closed,
    /// It could not be closed, or begun: it can only be destroyed.
    Broken,
}

/// A command pool with its command buffer, and one for barriers in front of that: a handle for
/// [`Device::destroy_list`](tenure_core::device::QueueDevice::destroy_list). Dropping it without that leaks both.
///
/// Copies are recorded for textures in exactly the states `COPY_SRC` and `COPY_DST`: their layouts correspond to
/// these. [`close`](tenure_core::device::CommandList::close) returns the error of an invalid command.
pub struct List {
    pub(crate) queues: Arc<Queues>,
    pub(super) resources: Arc<Resources>,
    pub(crate) queue: QueueId,
    pub(super) kind: QueueKind,
    pub(super) stages: QueueStages,
    pool: vk::CommandPool,
    pub(crate) buffer: vk::CommandBuffer,
    /// A second buffer of the pool, allocated for the first barriers before the list, and whether it has any.
    front: Option<vk::CommandBuffer>,
    has_front: bool,
    phase: Phase,
    error: Option<DeviceError>,
    pub(crate) begun: BegunQueries,
    /// The newest submission; 0: none.
    submitted: AtomicU64,
}

impl List {
    pub(crate) fn create(
        queues: &Arc<Queues>,
        resources: &Arc<Resources>,
        id: QueueId,
    ) -> Result<Self, DeviceError> {
        queues.alive()?;
        let queue = queues.queue(id)?;
        let device = &queues.api.device;
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(queue.properties.family)
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY: the device is alive and has queues of that family.
        let pool = unsafe { device.create_command_pool(&info, None) };
        let pool = pool.map_err(|result| queues.error("vkCreateCommandPool", result))?;
        let buffer = allocate(queues, pool).inspect_err(|_| {
            // SAFETY: the pool is new, and has no command buffers.
            unsafe { device.destroy_command_pool(pool, None) };
        })?;
        Ok(Self {
            queues: queues.clone(),
            resources: resources.clone(),
            queue: id,
            kind: queue.properties.kind,
            stages: queue.stages,
            pool,
            buffer,
            front: None,
            has_front: false,
            phase: Phase::New,
            error: None,
            begun: BegunQueries::default(),
            submitted: AtomicU64::new(0),
        })
    }

    /// The command buffer, to record into while the list is open. Its writes to memory that the CPU reads are
    /// visible to the CPU if the use is declared to the recording
    /// ([`use_resource`](tenure_core::Commands::use_resource)); for memory unknown to the recording, such as a
    /// buffer that the program mapped itself, the program records its own barrier to the host.
    #[must_use]
    pub const fn command_buffer(&self) -> vk::CommandBuffer {
        self.buffer
    }

    /// The pool that the command buffer is from.
    #[must_use]
    pub const fn command_pool(&self) -> vk::CommandPool {
        self.pool
    }

    /// The queue of the list.
    #[must_use]
    pub const fn queue(&self) -> QueueId {
        self.queue
    }

    pub(crate) const fn queue_kind(&self) -> QueueKind {
        self.kind
    }

    pub(crate) fn destroy(self) {
        // SAFETY: by the contract the GPU no longer uses it. The buffer is freed with its pool.
        unsafe { self.queues.api.device.destroy_command_pool(self.pool, None) };
    }

    /// The command buffer, if it may be submitted to `queue`, after the one with the barriers before it, if any.
    pub(crate) fn closed(
        &self,
        loaded: &Loaded,
        queue: QueueId,
    ) -> Result<(Option<vk::CommandBuffer>, vk::CommandBuffer), DeviceError> {
        loaded.check_same(&self.queues)?;
        check::list_queue(queue, self.queue)?;
        if self.phase != Phase::Closed {
            return Err(DeviceError::broken_rule(CallRule::SubmittedClosed));
        }
        if self.submitted.load(Ordering::Relaxed) > 0 {
            return Err(DeviceError::broken_rule(CallRule::SubmittedOnce));
        }
        Ok((self.front.filter(|_| self.has_front), self.buffer))
    }

    pub(crate) fn put_in_front<D: Device<Resource = Resource>>(
        &mut self,
        barriers: &[Barrier<'_, D>],
    ) -> Result<(), DeviceError> {
        self.queues.alive()?;
        if self.phase != Phase::Closed || self.has_front {
            return Err(DeviceError::broken_rule(CallRule::SubmittedClosed));
        }
        let front = match self.front {
            Some(front) => front,
            None => *self.front.insert(allocate(&self.queues, self.pool)?),
        };
        begin_buffer(&self.queues, front)?;
        let recorded = std::mem::replace(&mut self.buffer, front);
        self.phase = Phase::Open;
        self.barriers(barriers);
        (self.buffer, self.phase) = (recorded, Phase::Closed);
        // SAFETY: the buffer is open.
        let ended = unsafe { self.queues.api.device.end_command_buffer(front) };
        ended.map_err(|result| self.queues.error("vkEndCommandBuffer", result))?;
        match self.error.take() {
            Some(error) => Err(error),
            None => {
                self.has_front = true;
                Ok(())
            }
        }
    }

    pub(crate) fn note_submitted(&self, serial: u64) {
        self.submitted.store(serial, Ordering::Relaxed);
    }

    fn check_idle(&self, rule: &'static str) -> Result<(), DeviceError> {
        let last = self.submitted.load(Ordering::Relaxed);
        if last == 0 {
            return Ok(());
        }
        let completed = self.queues.completed_up_to(self.queue, last)?;
        if completed < last { Err(DeviceError::invalid_call(rule, completed, last)) } else { Ok(()) }
    }

    fn check_heaps(
        &self,
        resources: Option<&DescriptorHeap>,
        samplers: Option<&DescriptorHeap>,
    ) -> Result<SmallVec<[vk::DescriptorBufferBindingInfoEXT<'static>; 2]>, DeviceError> {
        if self.kind == QueueKind::Copy {
            return Err(DeviceError::broken_rule("a copy queue has no shaders"));
        }
        let heaps = [(resources, DescriptorKind::Resource), (samplers, DescriptorKind::Sampler)];
        let mut found = SmallVec::new();
        for (heap, kind) in heaps {
            let Some(heap) = heap else { continue };
            heap.check_bound(&self.queues, kind)?;
            found.extend(heap.buffer_binding());
        }
        Ok(found)
    }

    fn bind_heaps(&self, heaps: &[vk::DescriptorBufferBindingInfoEXT<'static>]) {
        let Some(functions) = self.queues.api.descriptor_buffers.as_ref().filter(|_| !heaps.is_empty())
        else {
            return;
        };
        // SAFETY: the command buffer is open, on a queue with shaders, and the buffers are alive, one of each usage.
        unsafe { functions.cmd_bind_descriptor_buffers(self.buffer, heaps) };
    }

    pub(crate) fn keep_error(&mut self, checked: Result<(), DeviceError>) {
        if checked.is_err() {
            self.record(checked, |_, ()| ());
        }
    }

    /// Records a command that passed its checks; keeps the first error for `close`.
    pub(crate) fn record<T>(&mut self, checked: Result<T, DeviceError>, record: impl FnOnce(&mut Self, T)) {
        if self.phase != Phase::Open {
            let error = DeviceError::broken_rule(CallRule::RecordedOpen);
            self.error.get_or_insert(error);
            return;
        }
        match checked {
            Ok(command) => record(self, command),
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
    }

    pub(crate) fn begin(&mut self) -> Result<(), DeviceError> {
        self.queues.alive()?;
        if self.phase == Phase::Open {
            return Err(DeviceError::broken_rule(CallRule::BegunClosed));
        }
        if self.phase == Phase::Broken {
            return Err(DeviceError::broken_rule(CallRule::BegunSound));
        }
        self.check_idle("a list is begun again when its last submission is complete")?;
        let device = &self.queues.api.device;
        self.phase = Phase::Broken;
        // SAFETY: the GPU no longer uses the pool's only command buffer, and no other thread uses the pool.
        let reset = unsafe { device.reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty()) };
        reset.map_err(|result| self.queues.error("vkResetCommandPool", result))?;
        self.has_front = false;
        begin_buffer(&self.queues, self.buffer)?;
        self.error = None;
        self.begun = BegunQueries::default();
        self.submitted.store(0, Ordering::Relaxed);
        self.phase = Phase::Open;
        Ok(())
    }

    pub(crate) fn close(&mut self) -> Result<(), DeviceError> {
        if self.phase != Phase::Open {
            return Err(DeviceError::broken_rule(CallRule::ClosedOpen));
        }
        self.end_begun();
        self.phase = Phase::Broken;
        // SAFETY: the buffer is open.
        let ended = unsafe { self.queues.api.device.end_command_buffer(self.buffer) };
        ended.map_err(|result| self.queues.error("vkEndCommandBuffer", result))?;
        self.queues.alive()?;
        match self.error.take() {
            None => {
                self.phase = Phase::Closed;
                Ok(())
            }
            Some(error) => Err(error),
        }
    }

    pub(crate) fn barriers<D: Device<Resource = Resource>>(&mut self, barriers: &[Barrier<'_, D>]) {
        let mut group = BarrierGroup::default();
        for barrier in barriers {
            let noted = self.add_takeover(barrier, &mut group);
            self.keep_error(noted);
        }
        for barrier in barriers {
            let added = self.add(barrier, &mut group);
            self.keep_error(added);
        }
        group.end_takeovers();
        // By reference: a group is large.
        self.record(Ok(&group), |list, group| list.record_group(group));
    }

    pub(crate) fn discard(&mut self, resource: &Resource, subresource: Subresource) {
        let checked = self.check_discard(resource, subresource);
        self.record(checked, |_, ()| ());
    }

    pub(crate) fn write_marker(&mut self, marker: Marker) {
        self.record(Ok(()), |list, ()| {
            // SAFETY: the list is open. By the contract it is outside of a render pass where that is necessary.
            unsafe { list.queues.record_marker(list.buffer, marker) };
        });
    }

    pub(crate) fn make_visible_to_cpu(&mut self, written: State) {
        let group = self.check_written(written).map(|()| self.host_barrier(written));
        self.record(group, |list, group| list.record_group(&group));
    }

    /// With descriptor buffers, binds them; sets are bound by the program.
    pub(crate) fn set_descriptor_heaps(
        &mut self,
        resources: Option<&DescriptorHeap>,
        samplers: Option<&DescriptorHeap>,
    ) {
        if self.queues.api.descriptor_buffers.is_some() {
            let checked = self.check_heaps(resources, samplers);
            self.record(checked, |list, heaps| list.bind_heaps(&heaps));
        }
    }
}

/// A new command buffer of a pool that no other thread uses.
fn allocate(queues: &Queues, pool: vk::CommandPool) -> Result<vk::CommandBuffer, DeviceError> {
    let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
    // SAFETY: the pool is alive, and used only by this thread.
    let buffers = unsafe { queues.api.device.allocate_command_buffers(&info) };
    let buffers = buffers.map_err(|result| queues.error("vkAllocateCommandBuffers", result))?;
    Ok(buffers.first().copied().unwrap_or_default())
}

/// Begins a command buffer in its initial state.
fn begin_buffer(queues: &Queues, buffer: vk::CommandBuffer) -> Result<(), DeviceError> {
    let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
    // SAFETY: the buffer is in its initial state: its pool is new or was reset.
    let begun = unsafe { queues.api.device.begin_command_buffer(buffer, &info) };
    begun.map_err(|result| queues.error("vkBeginCommandBuffer", result))
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} for queue {}", self.buffer, self.queue.0)
    }
}
