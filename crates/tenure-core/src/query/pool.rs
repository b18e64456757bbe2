//! Query heaps, and their chunks, which recordings take.

use std::cmp::Reverse;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::recorded::RecordedQueries;
use super::times::GpuTimes;
use crate::context::Context;
use crate::device::{Device, ObjectRef, Permit, Properties, QueryHeapDesc, QueryKind, QueueId, Usage};
use crate::memory::MakeRoom;
use crate::permit::OwnPermit as _;
use crate::resource::Tracked;
use crate::staging::Page;
use crate::ticket::Ticket;
use crate::{BufferDesc, Error, MemoryUse, Name};

/// Number of query kinds.
pub(super) const KINDS: usize = 5;

/// Number of chunks of a heap.
const CHUNKS: u32 = 16;

/// Number of complete chunks with live tickets that a request checks for dropped tickets.
const LOOKED_AT: usize = 8;

/// Maximum number of recordings' query lists kept for reuse.
const MOST_FREE: usize = 256;

/// Number of queries in a chunk.
const fn chunk_size(kind: QueryKind) -> u32 {
    match kind {
        QueryKind::Timestamp | QueryKind::CompactedSize => 64,
        _ => 16,
    }
}

const fn page_name(kind: QueryKind) -> &'static str {
    match kind {
        QueryKind::Timestamp => "timestamps",
        QueryKind::PipelineStatistics => "pipeline statistics",
        QueryKind::CompactedSize => "compacted sizes",
        _ => "occlusion queries",
    }
}

/// A query heap, and the memory for its results.
pub(crate) struct QueryHeap<D: Device> {
    raw: D::QueryHeap,
    page: Page<D>,
    desc: QueryHeapDesc,
    /// The serial of the submission that reset the queries; 0 where no reset is needed.
    reset_at: u64,
}

impl<D: Device> QueryHeap<D> {
    fn create(context: &Context<D>, room: &dyn MakeRoom, desc: QueryHeapDesc) -> Result<Self, Error> {
        let bytes = u64::from(desc.count) * desc.kind.result_bytes();
        let name = page_name(desc.kind);
        let page = BufferDesc::new(bytes, Usage::COPY_DST).memory(MemoryUse::Readback).alignment(256);
        let page = Page::new(context, room, &page.name(name))?;
        match room.retry(|| context.device().create_query_heap(&desc)) {
            Ok(raw) => {
                context.device().set_name(Permit::own(), ObjectRef::QueryHeap(&raw), name);
                Ok(Self { raw, page, desc, reset_at: 0 })
            }
            Err(source) => {
                page.release(context);
                Err(context.refused(&Name::from(name), source))
            }
        }
    }

    pub(crate) const fn raw(&self) -> &D::QueryHeap {
        &self.raw
    }

    /// Number of its queries.
    pub(crate) const fn count(&self) -> u32 {
        self.desc.count
    }

    /// Sets the submission that resets its queries.
    pub(crate) const fn set_reset(&mut self, serial: u64) {
        self.reset_at = serial;
    }
}

/// Contiguous queries for one recording at a time.
pub(crate) struct Chunk<D: Device> {
    heap: Arc<QueryHeap<D>>,
    first: u32,
    /// Progress of its current or last recording.
    pub(super) ticket: Ticket,
}

impl<D: Device> Chunk<D> {
    pub(crate) fn heap(&self) -> &QueryHeap<D> {
        &self.heap
    }

    pub(super) fn kind(&self) -> QueryKind {
        self.heap.desc.kind
    }

    pub(super) fn queue(&self) -> QueueId {
        self.heap.desc.queue
    }

    /// Number of queries.
    pub(super) fn size(&self) -> u32 {
        chunk_size(self.kind())
    }

    /// The index of a query in the heap.
    pub(crate) const fn index(&self, slot: u32) -> u32 {
        self.first + slot
    }

    /// The API buffer for the results, by which states are tracked.
    pub(crate) fn tracked(&self) -> Tracked<D> {
        self.heap.page.tracked()
    }

    /// The API buffer for the results, and the offset of the chunk's results in it.
    pub(crate) fn results(&self) -> (&D::Resource, u64) {
        let page = &self.heap.page;
        (page.resource(), page.base() + self.offset(0))
    }

    /// Offset of a result in the page, in bytes.
    fn offset(&self, slot: u32) -> u64 {
        u64::from(self.index(slot)) * self.kind().result_bytes()
    }

    /// The words of a complete result.
    pub(super) fn read(&self, slot: u32) -> Result<[u64; QueryKind::STATISTICS], crate::DeviceError> {
        let mut bytes = [0; 8 * QueryKind::STATISTICS];
        let size = self.kind().result_bytes() as usize;
        self.heap.page.read(self.offset(slot), &mut bytes[..size])?;
        let mut words = [0; QueryKind::STATISTICS];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        Ok(words)
    }
}

/// The chunks of one kind on one queue that no recording holds.
struct Chunks<D: Device> {
    free: Vec<Arc<Chunk<D>>>,
    /// Submitted, with the serial to wait for; in order of serials.
    busy: VecDeque<(u64, Arc<Chunk<D>>)>,
    /// Complete, with a live ticket.
    kept: VecDeque<Arc<Chunk<D>>>,
}

impl<D: Device> Default for Chunks<D> {
    fn default() -> Self {
        Self { free: Vec::new(), busy: VecDeque::new(), kept: VecDeque::new() }
    }
}

impl<D: Device> Chunks<D> {
    /// A chunk that is not in use.
    fn take(&mut self, completed: u64) -> Option<Arc<Chunk<D>>> {
        while self.busy.front().is_some_and(|(serial, _)| *serial <= completed)
            && let Some((_, mut chunk)) = self.busy.pop_front()
        {
            if Arc::get_mut(&mut chunk).is_some() {
                return Some(chunk);
            }
            self.kept.push_back(chunk);
        }
        self.free.pop().or_else(|| self.take_kept())
    }

    fn take_kept(&mut self) -> Option<Arc<Chunk<D>>> {
        for _ in 0..self.kept.len().min(LOOKED_AT) {
            let mut chunk = self.kept.pop_front()?;
            if Arc::get_mut(&mut chunk).is_some() {
                return Some(chunk);
            }
            self.kept.push_back(chunk);
        }
        None
    }

    /// Removes the chunks of heaps that are not in use after `completed`, and returns the heaps.
    fn take_idle(&mut self, completed: u64) -> Vec<Arc<QueryHeap<D>>> {
        let due = self.busy.partition_point(|(serial, _)| *serial <= completed);
        self.kept.extend(self.busy.drain(..due).map(|(_, chunk)| chunk));
        for _ in 0..self.kept.len() {
            let Some(mut chunk) = self.kept.pop_front() else { break };
            match Arc::get_mut(&mut chunk) {
                Some(_) => self.free.push(chunk),
                None => self.kept.push_back(chunk),
            }
        }
        // The chunks of each heap together. The last chunk of the list is taken next.
        self.free.sort_unstable_by_key(|chunk| (Arc::as_ptr(&chunk.heap).addr(), Reverse(chunk.first)));
        let chunks = std::mem::take(&mut self.free);
        let mut idle = Vec::new();
        for of_heap in chunks.chunk_by(|one, next| Arc::ptr_eq(&one.heap, &next.heap)) {
            match of_heap {
                [first, ..] if of_heap.len() == CHUNKS as usize && first.heap.reset_at <= completed => {
                    idle.push(first.heap.clone());
                }
                _ => self.free.extend_from_slice(of_heap),
            }
        }
        idle
    }

    /// Removes all chunks.
    fn clear(&mut self) {
        self.free.clear();
        self.busy.clear();
        self.kept.clear();
    }
}

/// The queries of a manager.
pub(crate) struct QueryStore<D: Device> {
    /// The chunks by queue and kind.
    chunks: Vec<[Mutex<Chunks<D>>; KINDS]>,
    heaps: Mutex<Vec<Arc<QueryHeap<D>>>>,
    /// Heaps whose result memory was freed: they are destroyed at the end.
    retired: Mutex<Vec<D::QueryHeap>>,
    made: AtomicU64,
    /// Query lists of ended recordings.
    #[expect(
        clippy::vec_box,
        reason = "recordings have them in boxes, so that those without queries are small"
    )]
    recorded: Mutex<Vec<Box<RecordedQueries<D>>>>,
    pub(crate) times: Mutex<GpuTimes<D>>,
}

impl<D: Device> QueryStore<D> {
    pub(crate) fn new(properties: &Properties) -> Self {
        Self {
            chunks: properties.queues.iter().map(|_| Default::default()).collect(),
            heaps: Mutex::default(),
            retired: Mutex::default(),
            made: AtomicU64::new(0),
            recorded: Mutex::default(),
            times: Mutex::default(),
        }
    }

    fn chunks(&self, kind: QueryKind, queue: QueueId) -> Option<&Mutex<Chunks<D>>> {
        self.chunks.get(queue.index()).map(|kinds| &kinds[kind as usize % KINDS])
    }

    /// Heaps ever created.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// An existing chunk for a recording. Queries the progress of the GPU if none is known to be free.
    pub(crate) fn take(
        &self,
        context: &Context<D>,
        kind: QueryKind,
        queue: QueueId,
        recording: &Name,
    ) -> Option<Arc<Chunk<D>>> {
        let chunks = self.chunks(kind, queue)?;
        let find = || chunks.lock().take(context.clock.completed().serial(queue));
        let mut chunk = find().or_else(|| {
            context.poll_clock();
            find()
        })?;
        if let Some(chunk) = Arc::get_mut(&mut chunk) {
            chunk.ticket = Ticket::new(recording.clone());
        }
        Some(chunk)
    }

    /// A new heap, whose chunks are free.
    pub(crate) fn create_heap(
        &self,
        context: &Context<D>,
        room: &dyn MakeRoom,
        kind: QueryKind,
        queue: QueueId,
    ) -> Result<QueryHeap<D>, Error> {
        let desc = QueryHeapDesc { kind, queue, count: chunk_size(kind) * CHUNKS };
        let heap = QueryHeap::create(context, room, desc)?;
        self.made.fetch_add(1, Ordering::Relaxed);
        Ok(heap)
    }

    /// Adds a new heap, with queries ready for use. Returns its first chunk, for a recording.
    pub(crate) fn add(&self, heap: QueryHeap<D>, recording: &Name) -> Arc<Chunk<D>> {
        let heap = Arc::new(heap);
        let (kind, queue) = (heap.desc.kind, heap.desc.queue);
        let chunk = |number, recording: Name| {
            let first = number * chunk_size(kind);
            Arc::new(Chunk { heap: heap.clone(), first, ticket: Ticket::new(recording) })
        };
        if let Some(chunks) = self.chunks(kind, queue) {
            chunks.lock().free.extend((1..CHUNKS).rev().map(|number| chunk(number, Name::default())));
        }
        let first = chunk(0, recording.clone());
        self.heaps.lock().push(heap.clone());
        first
    }

    /// Destroys a heap that the GPU does not use, and frees its memory.
    pub(crate) fn destroy_heap(&self, context: &Context<D>, heap: QueryHeap<D>) {
        let QueryHeap { raw, page, .. } = heap;
        page.release(context);
        context.device().destroy_query_heap(Permit::own(), raw);
    }

    /// Returns the chunk of a recording that has ended, with the serial of its submission.
    pub(super) fn return_chunk(&self, chunk: Arc<Chunk<D>>, submitted: Option<u64>) {
        let Some(chunks) = self.chunks(chunk.kind(), chunk.queue()) else { return };
        let chunks = &mut *chunks.lock();
        match submitted {
            Some(serial) => {
                // Threads may arrive in another order than their submissions.
                let place = chunks.busy.partition_point(|(other, _)| *other <= serial);
                chunks.busy.insert(place, (serial, chunk));
            }
            None => chunks.kept.push_back(chunk),
        }
    }

    /// An empty query list for a recording.
    pub(crate) fn take_recorded(&self) -> Box<RecordedQueries<D>> {
        self.recorded.lock().pop().unwrap_or_default()
    }

    /// Keeps the empty query list of a recording for the next one.
    pub(super) fn keep_recorded(&self, recorded: Box<RecordedQueries<D>>) {
        let mut kept = self.recorded.lock();
        if kept.len() < MOST_FREE {
            kept.push(recorded);
        }
    }

    /// Frees the memory of the heaps that no recording and no ticket uses.
    pub(crate) fn release(&self, context: &Context<D>) {
        self.times.lock().clear();
        self.recorded.lock().clear();
        self.chunks.iter().flatten().for_each(|chunks| chunks.lock().clear());
        let heaps = std::mem::take(&mut *self.heaps.lock());
        for heap in heaps {
            match Arc::try_unwrap(heap) {
                Ok(QueryHeap { raw, page, .. }) => {
                    page.release(context);
                    self.retired.lock().push(raw);
                }
                Err(heap) => self.heaps.lock().push(heap),
            }
        }
    }

    /// Destroys the heaps that are not in use, and frees their memory. Cost: sorting the chunks, plus the heaps.
    pub(crate) fn trim(&self, context: &Context<D>) {
        let completed = context.clock.completed();
        let mut idle = Vec::new();
        for (queue, kinds) in (0..).zip(&self.chunks) {
            for chunks in kinds {
                idle.extend(chunks.lock().take_idle(completed.serial(QueueId(queue))));
            }
        }
        self.destroy_idle(context, idle);
    }

    /// Destroys heaps without chunks. Heaps that a shutdown still holds are left to it.
    fn destroy_idle(&self, context: &Context<D>, idle: Vec<Arc<QueryHeap<D>>>) {
        if idle.is_empty() {
            return;
        }
        let addresses: HashSet<*const QueryHeap<D>> = idle.iter().map(Arc::as_ptr).collect();
        // Only the references in the list are left then.
        drop(idle);
        let gone: Vec<_> = {
            let mut heaps = self.heaps.lock();
            heaps.extract_if(.., |heap| addresses.contains(&Arc::as_ptr(heap))).collect()
        };
        for heap in gone {
            match Arc::try_unwrap(heap) {
                Ok(heap) => self.destroy_heap(context, heap),
                Err(heap) => self.heaps.lock().push(heap),
            }
        }
    }

    /// Leaks all retired heaps, permanently.
    pub(crate) fn abandon(&self) {
        std::mem::forget(std::mem::take(&mut *self.retired.lock()));
    }

    /// Destroys all retired heaps. The GPU must be idle.
    pub(crate) fn destroy(&self, device: &D) {
        let retired = std::mem::take(&mut *self.retired.lock());
        retired.into_iter().for_each(|raw| device.destroy_query_heap(Permit::own(), raw));
    }
}
