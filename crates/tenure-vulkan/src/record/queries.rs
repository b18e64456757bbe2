//! Commands of queries and acceleration structures.

use ash::vk;
use tenure_core::device::{CallRule, DeviceError, QueryKind, State, Usage, check};

use super::copies::check_usage;
use super::list::List;
use crate::query::QueryHeap;
use crate::resource::Resource;
use crate::structure::AccelerationStructure;

impl List {
    pub(crate) fn reset_queries(&mut self, heap: &QueryHeap, first: u32, count: u32) {
        let checked = heap.check_device(&self.queues);
        let checked = checked.and_then(|()| heap.desc().check_use(self.queue, first, count));
        self.record(checked, |list, ()| {
            // SAFETY: the command buffer is open, of a queue with shaders, and the queries are inside the pool.
            unsafe { list.queues.api.device.cmd_reset_query_pool(list.buffer, heap.raw(), first, count) };
        });
    }

    pub(crate) fn write_timestamp(&mut self, heap: &QueryHeap, query: u32) {
        let checked = heap.check_device(&self.queues);
        let checked = checked.and_then(|()| heap.desc().check_timestamp(self.queue, query));
        self.record(checked, |list, ()| {
            let after = vk::PipelineStageFlags::BOTTOM_OF_PIPE;
            // SAFETY: the command buffer is open, its queue has timestamps, and the query is inside the pool.
            unsafe { list.queues.api.device.cmd_write_timestamp(list.buffer, after, heap.raw(), query) };
        });
    }

    pub(crate) fn begin_query(&mut self, heap: &QueryHeap, query: u32) {
        let checked = heap.check_device(&self.queues);
        let checked = checked.and_then(|()| heap.desc().check_ranged(self.queue, query));
        let checked = checked.and_then(|()| self.begun.begin(heap.desc().kind, heap.number(), query));
        let flags = match heap.desc().kind {
            QueryKind::Occlusion => vk::QueryControlFlags::PRECISE,
            _ => vk::QueryControlFlags::empty(),
        };
        self.record(checked, |list, ()| {
            // SAFETY: the command buffer is open, for graphics; no other query of the kind has begun in it.
            unsafe { list.queues.api.device.cmd_begin_query(list.buffer, heap.raw(), query, flags) };
        });
    }

    pub(crate) fn end_query(&mut self, heap: &QueryHeap, query: u32) {
        let checked = heap.check_device(&self.queues);
        let checked = checked.and_then(|()| heap.desc().check_ranged(self.queue, query));
        let checked = checked.and_then(|()| self.begun.end(heap.desc().kind, heap.number(), query));
        self.record(checked, |list, ()| {
            // SAFETY: the command buffer is open, and the query has begun in it.
            unsafe { list.queues.api.device.cmd_end_query(list.buffer, heap.raw(), query) };
        });
    }

    /// Ends the queries that are still active: a closed command buffer must have none.
    pub(crate) fn end_begun(&mut self) {
        for (pool, query) in self.begun.take() {
            let pool = <vk::QueryPool as vk::Handle>::from_raw(pool);
            // SAFETY: the command buffer is open, and the query has begun in it.
            unsafe { self.queues.api.device.cmd_end_query(self.buffer, pool, query) };
            self.keep_error(Err(DeviceError::invalid_value(CallRule::QueryEnded, query)));
        }
    }

    /// Copies the results to the buffer, and resets the queries. The reset needs no barrier: the API orders it after
    /// earlier commands with these queries.
    pub(crate) fn resolve_queries(
        &mut self,
        heap: &QueryHeap,
        first: u32,
        count: u32,
        dst: &Resource,
        offset: u64,
    ) {
        let checked = self.check_resolve(heap, (first, count), (dst, offset));
        self.record(checked, |list, buffer| {
            let flags = vk::QueryResultFlags::TYPE_64 | vk::QueryResultFlags::WAIT;
            let (device, stride) = (&list.queues.api.device, heap.desc().kind.result_bytes());
            // SAFETY: the command buffer is open, of a queue with shaders; the queries are inside the pool, and
            // their results inside the buffer.
            unsafe {
                device.cmd_copy_query_pool_results(
                    list.buffer,
                    heap.raw(),
                    first,
                    count,
                    buffer,
                    offset,
                    stride,
                    flags,
                );
                device.cmd_reset_query_pool(list.buffer, heap.raw(), first, count);
            }
        });
    }

    fn check_resolve(
        &self,
        heap: &QueryHeap,
        (first, count): (u32, u32),
        (dst, offset): (&Resource, u64),
    ) -> Result<vk::Buffer, DeviceError> {
        heap.check_device(&self.queues)?;
        dst.check_device(&self.queues)?;
        heap.desc().check_use(self.queue, first, count)?;
        let (buffer, info) = dst.as_buffer()?;
        heap.desc().check_results(count, offset, info.size)?;
        check_usage(dst, Usage::COPY_DST)?;
        Ok(buffer)
    }

    pub(crate) fn copy_acceleration_structure(
        &mut self,
        src: &AccelerationStructure,
        dst: &AccelerationStructure,
        compact: bool,
    ) {
        let checked = self.check_copied_structure(src, dst, compact);
        let mode = match compact {
            true => vk::CopyAccelerationStructureModeKHR::COMPACT,
            false => vk::CopyAccelerationStructureModeKHR::CLONE,
        };
        let info = vk::CopyAccelerationStructureInfoKHR::default().src(src.raw()).dst(dst.raw()).mode(mode);
        self.record(checked, |list, ()| {
            let Some(calls) = &list.queues.api.structures else { return };
            // SAFETY: the command buffer is open, of a queue with shaders. Both structures are alive, of this device and
            // of matching kinds. The caller guarantees that `src` is built, and that `dst` is large enough.
            unsafe { calls.cmd_copy_acceleration_structure(list.buffer, &info) };
        });
    }

    fn check_copied_structure(
        &self,
        src: &AccelerationStructure,
        dst: &AccelerationStructure,
        compact: bool,
    ) -> Result<(), DeviceError> {
        src.check_device(&self.queues)?;
        dst.check_device(&self.queues)?;
        check::state(self.queue_kind(), State::ACCELERATION_STRUCTURE)?;
        src.check_copy(dst, compact)
    }

    pub(crate) fn write_compacted_size(
        &mut self,
        structure: &AccelerationStructure,
        heap: &QueryHeap,
        query: u32,
    ) {
        let checked = structure.check_device(&self.queues);
        let checked = checked.and_then(|()| heap.check_device(&self.queues));
        let checked = checked.and_then(|()| heap.desc().check_compacted_size(self.queue, query));
        let kind = vk::QueryType::ACCELERATION_STRUCTURE_COMPACTED_SIZE_KHR;
        self.record(checked, |list, ()| {
            let Some(calls) = &list.queues.api.structures else { return };
            // SAFETY: the command buffer is open, of a queue with shaders; the structure is alive, and the query
            // inside a pool for such queries; the caller guarantees that the structure is built.
            unsafe {
                calls.cmd_write_acceleration_structures_properties(
                    list.buffer,
                    &[structure.raw()],
                    kind,
                    heap.raw(),
                    query,
                );
            }
        });
    }
}
