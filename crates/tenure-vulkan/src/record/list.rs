//! Recording.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;
use tenure_core::device::{
    Barrier, BegunQueries, BufferLayout, CallRule, CommandList, DescriptorKind, DeviceError, QueueId,
    QueueKind, State, Subresource, TextureRegion, check,
};

use super::barrier::Batch;
use super::copies::{ImageCopy, buffer_copy, subresource_copy, texel_copy};
use super::stages::QueueStages;
use crate::descriptor::DescriptorHeap;
use crate::device::Device;
use crate::query::QueryHeap;
use crate::resource::Resource;
use crate::shared::Shared;
use crate::structure::AccelerationStructure;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Never begun.
    New,
    Open,
    Closed,
    /// It could not be closed, or begun: it can only be destroyed.
    Broken,
}

/// A command pool with the one command buffer recorded from it: a handle for
/// [`Device::destroy_list`](tenure_core::device::Device::destroy_list). Dropping it without that
/// leaks both.
///
/// Copies are recorded for textures in exactly the states `COPY_SRC` and `COPY_DST`: their layouts
/// go with them. What is wrong with a command comes out of [`close`](CommandList::close).
pub struct List {
    pub(crate) shared: Arc<Shared>,
    pub(crate) queue: QueueId,
    pub(super) kind: QueueKind,
    pub(super) stages: QueueStages,
    pool: vk::CommandPool,
    pub(crate) buffer: vk::CommandBuffer,
    phase: Phase,
    error: Option<DeviceError>,
    pub(crate) begun: BegunQueries,
    /// Its newest submission; 0: none.
    submitted: AtomicU64,
}

impl List {
    pub(crate) fn create(shared: &Arc<Shared>, id: QueueId) -> Result<Self, DeviceError> {
        shared.alive()?;
        let queue = shared.queue(id)?;
        let device = &shared.api.device;
        let info = vk::CommandPoolCreateInfo::default()
            .queue_family_index(queue.properties.family)
            .flags(vk::CommandPoolCreateFlags::TRANSIENT);
        // SAFETY: the device is alive and has queues of that family.
        let pool = unsafe { device.create_command_pool(&info, None) };
        let pool = pool.map_err(|result| shared.error("vkCreateCommandPool", result))?;
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        // SAFETY: the pool is new.
        let buffers = unsafe { device.allocate_command_buffers(&info) };
        let buffer = match buffers {
            Ok(buffers) => buffers.first().copied().unwrap_or_default(),
            Err(result) => {
                // SAFETY: the pool is new, and nothing came from it.
                unsafe { device.destroy_command_pool(pool, None) };
                return Err(shared.error("vkAllocateCommandBuffers", result));
            }
        };
        Ok(Self {
            shared: shared.clone(),
            queue: id,
            kind: queue.properties.kind,
            stages: QueueStages::new(shared.shader_stages, queue.family.flags),
            pool,
            buffer,
            phase: Phase::New,
            error: None,
            begun: BegunQueries::default(),
            submitted: AtomicU64::new(0),
        })
    }

    /// The command buffer, to record into while the list is open. What that writes to memory that the CPU
    /// reads is visible to it when the recording knows of the use
    /// ([`use_resource`](tenure_core::Commands::use_resource)); to what the recording does not know, a
    /// buffer that the program mapped itself, the program records a barrier to the host of its own.
    #[must_use]
    pub const fn command_buffer(&self) -> vk::CommandBuffer {
        self.buffer
    }

    /// The pool that the command buffer is from.
    #[must_use]
    pub const fn command_pool(&self) -> vk::CommandPool {
        self.pool
    }

    /// The queue it was made for.
    #[must_use]
    pub const fn queue(&self) -> QueueId {
        self.queue
    }

    pub(crate) const fn queue_kind(&self) -> QueueKind {
        self.kind
    }

    pub(crate) fn destroy(self) {
        // SAFETY: the contract has the GPU done with it. The buffer goes with its pool.
        unsafe { self.shared.api.device.destroy_command_pool(self.pool, None) };
    }

    /// The command buffer, when it may be submitted to `queue`.
    pub(crate) fn closed(&self, shared: &Shared, queue: QueueId) -> Result<vk::CommandBuffer, DeviceError> {
        if !core::ptr::eq(Arc::as_ptr(&self.shared), shared) {
            return Err(DeviceError::broken_rule(CallRule::SameDevice));
        }
        check::list_queue(queue, self.queue)?;
        if self.phase != Phase::Closed {
            return Err(DeviceError::broken_rule(CallRule::SubmittedClosed));
        }
        if self.submitted.load(Ordering::Relaxed) > 0 {
            return Err(DeviceError::broken_rule(CallRule::SubmittedOnce));
        }
        Ok(self.buffer)
    }

    pub(crate) fn note_submitted(&self, serial: u64) {
        self.submitted.store(serial, Ordering::Relaxed);
    }

    fn check_idle(&self, rule: &'static str) -> Result<(), DeviceError> {
        let last = self.submitted.load(Ordering::Relaxed);
        if last == 0 {
            return Ok(());
        }
        let completed = self.shared.completed(self.queue)?;
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
            heap.check_bound(&self.shared, kind)?;
            found.extend(heap.buffer_binding());
        }
        Ok(found)
    }

    fn bind_heaps(&self, heaps: &[vk::DescriptorBufferBindingInfoEXT<'static>]) {
        let Some(functions) = self.shared.api.descriptor_buffers.as_ref().filter(|_| !heaps.is_empty())
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
}

impl CommandList<Device> for List {
    fn begin(&mut self) -> Result<(), DeviceError> {
        self.shared.alive()?;
        if self.phase == Phase::Open {
            return Err(DeviceError::broken_rule(CallRule::BegunClosed));
        }
        if self.phase == Phase::Broken {
            return Err(DeviceError::broken_rule(CallRule::BegunSound));
        }
        self.check_idle("a list is begun again when its last submission is complete")?;
        let device = &self.shared.api.device;
        self.phase = Phase::Broken;
        // SAFETY: the GPU is done with the pool's one buffer, and only this thread uses the pool.
        let reset = unsafe { device.reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty()) };
        reset.map_err(|result| self.shared.error("vkResetCommandPool", result))?;
        let info = vk::CommandBufferBeginInfo::default().flags(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT);
        // SAFETY: the buffer is in its initial state.
        let begun = unsafe { device.begin_command_buffer(self.buffer, &info) };
        begun.map_err(|result| self.shared.error("vkBeginCommandBuffer", result))?;
        self.error = None;
        self.begun = BegunQueries::default();
        self.submitted.store(0, Ordering::Relaxed);
        self.phase = Phase::Open;
        Ok(())
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        if self.phase != Phase::Open {
            return Err(DeviceError::broken_rule(CallRule::ClosedOpen));
        }
        self.end_begun();
        self.phase = Phase::Broken;
        // SAFETY: the buffer is open.
        let ended = unsafe { self.shared.api.device.end_command_buffer(self.buffer) };
        ended.map_err(|result| self.shared.error("vkEndCommandBuffer", result))?;
        self.shared.alive()?;
        match self.error.take() {
            None => {
                self.phase = Phase::Closed;
                Ok(())
            }
            Some(error) => Err(error),
        }
    }

    fn barriers(&mut self, barriers: &[Barrier<'_, Device>]) {
        let mut batch = Batch::default();
        for barrier in barriers {
            let noted = self.add_takeover(barrier, &mut batch);
            self.keep_error(noted);
        }
        for barrier in barriers {
            let added = self.add(barrier, &mut batch);
            self.keep_error(added);
        }
        batch.end_takeovers();
        // By reference: a batch is large.
        self.record(Ok(&batch), |list, batch| list.record_batch(batch));
    }

    fn discard(&mut self, resource: &Resource, subresource: Subresource) {
        let checked = self.check_discard(resource, subresource);
        self.record(checked, |_, ()| ());
    }

    fn make_visible_to_cpu(&mut self, written: State) {
        let batch = self.check_written(written).map(|()| self.host_barrier(written));
        self.record(batch, |list, batch| list.record_batch(&batch));
    }

    /// With descriptor buffers, binds them; sets are bound by the program.
    fn set_descriptor_heaps(
        &mut self,
        resources: Option<&DescriptorHeap>,
        samplers: Option<&DescriptorHeap>,
    ) {
        if self.shared.api.descriptor_buffers.is_some() {
            let checked = self.check_heaps(resources, samplers);
            self.record(checked, |list, heaps| list.bind_heaps(&heaps));
        }
    }

    fn copy_buffer(&mut self, src: &Resource, src_offset: u64, dst: &Resource, dst_offset: u64, size: u64) {
        let checked = buffer_copy(&self.shared, (src, src_offset), (dst, dst_offset), size);
        self.record(checked, |list, copy| {
            let Some((from, to, region)) = copy else { return };
            // SAFETY: the command buffer is open, and the ranges are inside the buffers.
            unsafe { list.shared.api.device.cmd_copy_buffer(list.buffer, from, to, &[region]) };
        });
    }

    fn copy_buffer_to_texture(
        &mut self,
        src: &Resource,
        layout: BufferLayout,
        dst: &Resource,
        region: TextureRegion,
    ) {
        let checked = self
            .shared
            .queue(self.queue)
            .and_then(|queue| texel_copy((&self.shared, &queue.family), (src, layout), (dst, region), true));
        self.record(checked, |list, copy| {
            let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
            let device = &list.shared.api.device;
            // SAFETY: the command buffer is open, and the region is inside both.
            unsafe {
                device.cmd_copy_buffer_to_image(list.buffer, copy.buffer, copy.image, layout, &[copy.region]);
            }
        });
    }

    fn copy_texture_to_buffer(
        &mut self,
        src: &Resource,
        region: TextureRegion,
        dst: &Resource,
        layout: BufferLayout,
    ) {
        let checked = self
            .shared
            .queue(self.queue)
            .and_then(|queue| texel_copy((&self.shared, &queue.family), (dst, layout), (src, region), false));
        self.record(checked, |list, copy| {
            let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
            let device = &list.shared.api.device;
            // SAFETY: the command buffer is open, and the region is inside both.
            unsafe {
                device.cmd_copy_image_to_buffer(list.buffer, copy.image, layout, copy.buffer, &[copy.region]);
            }
        });
    }

    fn copy_texture(&mut self, src: &Resource, dst: &Resource, subresource: Subresource) {
        let checked = subresource_copy((&self.shared, self.kind), (src, dst), subresource);
        self.record(checked, |list, ImageCopy { from, to, regions }| {
            let (read, written) =
                (vk::ImageLayout::TRANSFER_SRC_OPTIMAL, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
            let device = &list.shared.api.device;
            // SAFETY: the command buffer is open, the images are alive and differ, and the regions are whole
            // subresources of both.
            unsafe { device.cmd_copy_image(list.buffer, from, read, to, written, &regions) };
        });
    }

    fn reset_queries(&mut self, heap: &QueryHeap, first: u32, count: u32) {
        self.reset(heap, first, count);
    }

    fn write_timestamp(&mut self, heap: &QueryHeap, query: u32) {
        self.timestamp(heap, query);
    }

    fn begin_query(&mut self, heap: &QueryHeap, query: u32) {
        self.begin_ranged(heap, query);
    }

    fn end_query(&mut self, heap: &QueryHeap, query: u32) {
        self.end_ranged(heap, query);
    }

    fn copy_acceleration_structure(
        &mut self,
        src: &AccelerationStructure,
        dst: &AccelerationStructure,
        compact: bool,
    ) {
        self.copy_structure(src, dst, compact);
    }

    fn write_compacted_size(&mut self, structure: &AccelerationStructure, heap: &QueryHeap, query: u32) {
        self.compacted_size(structure, heap, query);
    }

    fn resolve_queries(&mut self, heap: &QueryHeap, first: u32, count: u32, dst: &Resource, offset: u64) {
        self.resolve(heap, (first, count), (dst, offset));
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} for queue {}", self.buffer, self.queue.0)
    }
}
