//! Heaps of queries.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenure_core::device::{
    Barrier, BufferInfo, CallRule, DeviceError, MemoryDevice, QueryDevice, QueryHeapDesc, QueryKind,
    QueryLimits, QueueKind, ResourceDesc, State, Subresource, TimestampClock, Usage,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_QUERY_HEAP_DESC, D3D12_QUERY_HEAP_TYPE, D3D12_QUERY_HEAP_TYPE_COPY_QUEUE_TIMESTAMP,
    D3D12_QUERY_HEAP_TYPE_OCCLUSION, D3D12_QUERY_HEAP_TYPE_PIPELINE_STATISTICS,
    D3D12_QUERY_HEAP_TYPE_TIMESTAMP, D3D12_QUERY_TYPE, D3D12_QUERY_TYPE_BINARY_OCCLUSION,
    D3D12_QUERY_TYPE_OCCLUSION, D3D12_QUERY_TYPE_PIPELINE_STATISTICS, D3D12_QUERY_TYPE_TIMESTAMP,
    D3D12_WRITEBUFFERIMMEDIATE_PARAMETER, ID3D12GraphicsCommandList2, ID3D12QueryHeap,
};
use windows::core::Interface;

use crate::device::error::Asked;
use crate::device::inner::{Inner, made};
use crate::device::memory::requirements::{GPU_ONLY, UPLOAD};
use crate::device::queue::Queue;
use crate::device::resource::object::Resource;
use crate::drivers::Actions;
use crate::{Device, List};

/// The storage of queries.
pub(crate) enum Storage {
    Heap(ID3D12QueryHeap),
    /// Sizes of acceleration structures are not queries of Direct3D 12: lists write them to a buffer.
    Sizes(Resource),
}

/// Consecutive queries: an `ID3D12QueryHeap`, or for [`QueryKind::CompactedSize`] a buffer.
pub struct QueryHeap {
    pub(crate) storage: Storage,
    desc: QueryHeapDesc,
    /// Declared last: the device outlives all of its objects.
    device: Arc<Inner>,
}

/// The query limits of queues; copy queues have timestamps if the device supports that.
pub(crate) fn limits(queues: &[(QueueKind, TimestampClock)], copies_too: bool) -> QueryLimits {
    let clock = |&(kind, clock): &(QueueKind, TimestampClock)| match kind {
        QueueKind::Copy if !copies_too => TimestampClock::default(),
        QueueKind::Copy | QueueKind::Graphics | QueueKind::Compute => clock,
    };
    QueryLimits {
        timestamps: queues.iter().map(clock).collect(),
        precise_occlusion: true,
        pipeline_statistics: true,
        must_reset: false,
    }
}

/// The clock of a queue.
pub(crate) fn clock(queue: &Queue) -> TimestampClock {
    // SAFETY: the interface is alive; the number is returned by value.
    TimestampClock::of_frequency(unsafe { queue.raw.GetTimestampFrequency() }.unwrap_or(0))
}

fn heap_type(kind: QueryKind, queue: QueueKind) -> D3D12_QUERY_HEAP_TYPE {
    match kind {
        QueryKind::Timestamp if queue == QueueKind::Copy => D3D12_QUERY_HEAP_TYPE_COPY_QUEUE_TIMESTAMP,
        QueryKind::Timestamp => D3D12_QUERY_HEAP_TYPE_TIMESTAMP,
        QueryKind::PipelineStatistics => D3D12_QUERY_HEAP_TYPE_PIPELINE_STATISTICS,
        _ => D3D12_QUERY_HEAP_TYPE_OCCLUSION,
    }
}

const fn query_type(kind: QueryKind) -> D3D12_QUERY_TYPE {
    match kind {
        QueryKind::Timestamp => D3D12_QUERY_TYPE_TIMESTAMP,
        QueryKind::PipelineStatistics => D3D12_QUERY_TYPE_PIPELINE_STATISTICS,
        QueryKind::BinaryOcclusion => D3D12_QUERY_TYPE_BINARY_OCCLUSION,
        _ => D3D12_QUERY_TYPE_OCCLUSION,
    }
}

impl QueryDevice for Device {
    type QueryHeap = QueryHeap;

    fn create_query_heap(&self, desc: &QueryHeapDesc) -> Result<QueryHeap, DeviceError> {
        self.inner.look()?;
        self.inner.properties.check_query_heap(desc)?;
        let storage = match desc.kind {
            QueryKind::CompactedSize => {
                let size = u64::from(desc.count) * desc.kind.result_bytes();
                let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
                let buffer = ResourceDesc::Buffer(BufferInfo::new(size, usage));
                Storage::Sizes(self.create_committed(&buffer, GPU_ONLY)?)
            }
            _ => Storage::Heap(self.inner.create_raw_query_heap(desc)?),
        };
        self.inner.counters.query_heaps.fetch_add(1, Ordering::Relaxed);
        self.inner.messages.deliver();
        Ok(QueryHeap { storage, desc: *desc, device: Arc::clone(&self.inner) })
    }
}

impl Inner {
    fn create_raw_query_heap(&self, desc: &QueryHeapDesc) -> Result<ID3D12QueryHeap, DeviceError> {
        let kind = heap_type(desc.kind, self.queue(desc.queue)?.kind);
        let raw_desc = D3D12_QUERY_HEAP_DESC { Type: kind, Count: desc.count, NodeMask: 0 };
        let mut raw: Option<ID3D12QueryHeap> = None;
        // SAFETY: both pointers are to locals that outlive the call.
        unsafe { self.raw.CreateQueryHeap(&raw const raw_desc, &raw mut raw) }
            .map_err(|error| self.fail(&error, Asked::Object("CreateQueryHeap")))?;
        made(raw, "CreateQueryHeap makes a heap")
    }
}

impl QueryHeap {
    /// The heap itself; `None` for [`QueryKind::CompactedSize`], whose results lists write to a buffer.
    #[must_use]
    pub const fn raw(&self) -> Option<&ID3D12QueryHeap> {
        match &self.storage {
            Storage::Heap(raw) => Some(raw),
            Storage::Sizes(_) => None,
        }
    }

    /// The API's heap. An error for a heap of compacted sizes, which has none.
    fn queries(&self) -> Result<&ID3D12QueryHeap, DeviceError> {
        self.raw().ok_or(DeviceError::broken_rule(CallRule::QueryRanged))
    }

    /// The address to which a list writes the size of a compacted acceleration structure.
    pub(crate) fn size_address(&self, list: &List, query: u32) -> Result<u64, DeviceError> {
        self.check_device(&list.device)?;
        self.desc.check_compacted_size(list.queue, query)?;
        match &self.storage {
            Storage::Sizes(buffer) => Ok(buffer.address + 8 * u64::from(query)),
            Storage::Heap(_) => Err(DeviceError::broken_rule(CallRule::QueryCompactedSize)),
        }
    }

    /// The description it was created with.
    #[must_use]
    pub const fn desc(&self) -> &QueryHeapDesc {
        &self.desc
    }

    fn number(&self) -> u64 {
        self.raw().map_or(0, |raw| raw.as_raw().addr() as u64)
    }

    fn check_device(&self, device: &Inner) -> Result<(), DeviceError> {
        if std::ptr::eq(Arc::as_ptr(&self.device), device) {
            return Ok(());
        }
        Err(DeviceError::broken_rule(CallRule::SameDevice))
    }
}

impl Drop for QueryHeap {
    fn drop(&mut self) {
        self.device.counters.query_heaps.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for QueryHeap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryHeap").field("desc", &self.desc).finish_non_exhaustive()
    }
}

impl List {
    pub(crate) fn timestamp(&mut self, heap: &QueryHeap, query: u32) -> Result<(), DeviceError> {
        heap.check_device(&self.device)?;
        heap.desc.check_timestamp(self.queue, query)?;
        // SAFETY: the list is open, of the heap's queue; the heap is alive and has the query.
        unsafe { self.raw.EndQuery(heap.queries()?, D3D12_QUERY_TYPE_TIMESTAMP, query) };
        Ok(())
    }

    pub(crate) fn begin_ranged(&mut self, heap: &QueryHeap, query: u32) -> Result<(), DeviceError> {
        heap.check_device(&self.device)?;
        heap.desc.check_ranged(self.queue, query)?;
        self.begun.begin(heap.desc.kind, heap.number(), query)?;
        // SAFETY: the list is open, of the heap's queue; the heap is alive and has the query.
        unsafe { self.raw.BeginQuery(heap.queries()?, query_type(heap.desc.kind), query) };
        Ok(())
    }

    pub(crate) fn end_ranged(&mut self, heap: &QueryHeap, query: u32) -> Result<(), DeviceError> {
        heap.check_device(&self.device)?;
        heap.desc.check_ranged(self.queue, query)?;
        self.begun.end(heap.desc.kind, heap.number(), query)?;
        // SAFETY: the list is open; the heap is alive, and the query has begun in this list.
        unsafe { self.raw.EndQuery(heap.queries()?, query_type(heap.desc.kind), query) };
        Ok(())
    }

    pub(crate) fn resolve(
        &mut self,
        heap: &QueryHeap,
        (first, count): (u32, u32),
        (dst, offset): (&Resource, u64),
    ) -> Result<(), DeviceError> {
        heap.check_device(&self.device)?;
        self.check_owner(dst)?;
        heap.desc.check_use(self.queue, first, count)?;
        heap.desc.check_results(count, offset, dst.buffer()?.size)?;
        if dst.memory_type == UPLOAD {
            return Err(DeviceError::broken_rule("nothing is copied to an upload heap"));
        }
        match &heap.storage {
            Storage::Heap(raw) => {
                let kind = query_type(heap.desc.kind);
                if self.device.workarounds.actions(&dst.desc).contains(Actions::CLEAR_RESULTS) {
                    self.clear(dst, offset, u64::from(count) * heap.desc.kind.result_bytes())?;
                }
                // SAFETY: the list is open; the heap is alive and has the queries; their results lie inside the
                // buffer.
                unsafe { self.raw.ResolveQueryData(raw, kind, first, count, &dst.raw, offset) };
            }
            Storage::Sizes(sizes) => self.copy_sizes(sizes, (first, count), (dst, offset))?,
        }
        Ok(())
    }

    /// Writes zeros over a part of a buffer in `COPY_DST`; offset and size must be multiples of 4.
    fn clear(&self, dst: &Resource, offset: u64, bytes: u64) -> Result<(), DeviceError> {
        const WORDS: usize = 64;
        let list = self.raw.cast::<ID3D12GraphicsCommandList2>();
        let list = list.map_err(|error| self.device.fail(&error, Asked::Object("WriteBufferImmediate")))?;
        let mut next = dst.address.saturating_add(offset);
        let mut left = (bytes / 4) as usize;
        while left > 0 {
            let count = left.min(WORDS);
            let mut words = [D3D12_WRITEBUFFERIMMEDIATE_PARAMETER::default(); WORDS];
            for word in words.iter_mut().take(count) {
                word.Dest = next;
                next = next.saturating_add(4);
            }
            // SAFETY: the list is open, and the buffer is alive and at least `count` words long; the parameters
            // outlive the call.
            unsafe { list.WriteBufferImmediate(count as u32, words.as_ptr(), None) };
            left = left.saturating_sub(count);
        }
        self.order_copies()
    }

    /// Copies sizes that this list has written, which brought their buffer into the state for that, and leaves
    /// the buffer in the same state.
    fn copy_sizes(
        &mut self,
        sizes: &Resource,
        (first, count): (u32, u32),
        (dst, offset): (&Resource, u64),
    ) -> Result<(), DeviceError> {
        let (written, copied) = (State::UNORDERED_ACCESS, State::COPY_SRC);
        let subresource = Subresource::All;
        let barrier = |before, after| Barrier::Transition {
            resource: sizes,
            subresource,
            before,
            after,
            transfer: None,
        };
        self.record_barriers(&[barrier(written, copied)])?;
        let (from, bytes) = (8 * u64::from(first), 8 * u64::from(count));
        // SAFETY: the list is open; both buffers are alive, and the ranges inside them.
        unsafe { self.raw.CopyBufferRegion(&dst.raw, offset, &sizes.raw, from, bytes) };
        self.record_barriers(&[barrier(copied, written)])
    }
}
