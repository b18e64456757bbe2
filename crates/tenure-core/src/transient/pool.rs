//! Transient heaps of a manager, and who gets what of them.

use std::sync::Arc;

use parking_lot::Mutex;

use super::graph::{PlanCache, PlanOptions};
use super::heap::{Acquired, Heap, Taker};
use super::hints::{Hints, Spot, Ticket};
use super::kind::{Kind, Kinds};
use super::lone::Lone;
use super::object::Object;
use super::prepare::Prepared;
use super::shortage::HeapClass;
use super::{TransientBuffer, TransientStats, TransientTexture};
use crate::device::{
    Allowed, BufferInfo, Device, DeviceError, HeapCategory, HeapDesc, MemoryTypeId, Priority, Properties,
    QueueId, ResourceDesc,
};
use crate::gpu::Shared;
use crate::memory::{Class, Fall, MemoryUse, PoolKind, Taken, allows};
use crate::time::{RecordingId, SyncPoint};
use crate::{BufferDesc, Error, Name, TextureDesc};

/// Where an acquired resource is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seating {
    /// In a heap: its number, and the key of the resource.
    Heap {
        heap: u64,
        key: usize,
        /// For the hints of the next frame; none for a graph, which has a plan.
        ticket: Option<Ticket>,
    },
    /// In memory of its own.
    Lone { key: usize },
}

/// All transient memory of one manager.
pub(super) struct State<D: Device> {
    pub(super) kinds: Kinds,
    /// In the order in which they were made.
    pub(super) heaps: Vec<Heap<D>>,
    last_heap: u64,
    lone: Lone<D>,
    hints: Hints,
    /// What resources of graphs may share heaps.
    pub(super) classes: Vec<HeapClass>,
    pub(super) plans: PlanCache,
    /// Of the graphs that have plans.
    pub(super) prepared: Vec<Arc<Prepared>>,
    pub(super) frame: u64,
    last_purge: LastPurge,
    /// Bytes acquired since the last frame.
    requested: u64,
    pub(super) stats: TransientStats,
}

/// What there was at the last purge outside frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LastPurge {
    /// The number of the frame that had begun last.
    frame: u64,
    submitted: SyncPoint,
}

/// The transient heaps of a manager. Handles hold it.
pub(crate) struct Inner<D: Device> {
    pub(super) state: Mutex<State<D>>,
    /// Declared last, as in every handle.
    pub(super) shared: Arc<Shared<D>>,
}

impl<D: Device> Inner<D> {
    pub(crate) fn new(shared: Arc<Shared<D>>) -> Self {
        let improve_nodes = shared.config.transient_improvement;
        let state = State {
            hints: Hints::default(),
            classes: Vec::new(),
            plans: PlanCache::new(PlanOptions { improve_nodes, ..PlanOptions::default() }),
            prepared: Vec::new(),
            kinds: Kinds::default(),
            heaps: Vec::new(),
            last_heap: 0,
            lone: Lone::default(),
            frame: 0,
            last_purge: LastPurge { frame: 0, submitted: SyncPoint::NONE },
            requested: 0,
            stats: TransientStats::default(),
        };
        Self { state: Mutex::new(state), shared }
    }

    pub(crate) fn texture(
        self: &Arc<Self>,
        recording: RecordingId,
        queue: QueueId,
        desc: &TextureDesc,
    ) -> Result<TransientTexture<D>, Error> {
        let resource = ResourceDesc::Texture(desc.info.clone());
        match self.acquire(recording, queue, &desc.name, &resource, 1)? {
            (Object::Texture(texture), seating) => {
                Ok(TransientTexture::new(self.clone(), texture, desc.name.clone(), seating))
            }
            (Object::Buffer(_), _) => Err(mixed_up(&desc.name)),
        }
    }

    pub(crate) fn buffer(
        self: &Arc<Self>,
        recording: RecordingId,
        queue: QueueId,
        desc: &BufferDesc,
    ) -> Result<TransientBuffer<D>, Error> {
        let resource = buffer_resource(desc)?;
        match self.acquire(recording, queue, &desc.name, &resource, desc.alignment)? {
            (Object::Buffer(buffer), seating) => {
                Ok(TransientBuffer::new(self.clone(), buffer, desc.name.clone(), seating))
            }
            (Object::Texture(_), _) => Err(mixed_up(&desc.name)),
        }
    }

    /// The lowest free bytes of the oldest heap that has some; of a new one when none has.
    fn acquire(
        &self,
        recording: RecordingId,
        queue: QueueId,
        name: &Name,
        desc: &ResourceDesc,
        alignment: u64,
    ) -> Result<(Object<D>, Seating), Error> {
        let shared = &self.shared;
        let taker = Taker {
            recording: recording.0,
            queue: queue_kind(shared, queue),
            others: shared.recordings.oldest_open_but(recording),
        };
        let state = &mut *self.state.lock();
        let kind = state.kinds.of(shared, name, desc)?;
        state.note_request(kind.needs.size);
        if kind.needs.requires_dedicated {
            return state.acquire_lone(shared, taker, &kind, name);
        }
        let alignment = kind.needs.alignment.max(alignment);
        let (at, offset) = match state.hinted(&kind, alignment, taker) {
            Some(hinted) => hinted,
            None => match state.find(shared, &kind, alignment, taker) {
                Some(found) => found,
                None => (state.add_heap_for(shared, &kind, name)?, 0),
            },
        };
        let (object, mut seating) = state.acquire_in(shared, at, taker, &kind, name, offset)?;
        if let (Some(heap), Seating::Heap { ticket, .. }) = (state.heaps.get(at), &mut seating) {
            let spot = Spot { heap: heap.id, offset };
            *ticket = state.hints.acquired(&kind, alignment, (heap.memory, heap.category), spot);
        }
        Ok((object, seating))
    }

    pub(super) fn release(&self, seating: Seating) {
        let (newest, oldest) = (self.shared.recordings.newest(), self.shared.recordings.oldest_open());
        let state = &mut *self.state.lock();
        let frame = state.frame;
        match seating {
            Seating::Heap { heap, key, ticket } => {
                if let Some(ticket) = ticket {
                    state.hints.dropped(ticket);
                }
                if let Some(heap) = state.heaps.iter_mut().find(|known| known.id == heap) {
                    heap.release(key, (newest, oldest), frame);
                }
            }
            Seating::Lone { key } => state.lone.release(key, newest, frame),
        }
    }

    /// A purge: the end of a frame, for a program that has none. It has none if nothing but submissions came
    /// since the last purge; one without a submission is only somebody who waits.
    pub(crate) fn end_purge(&self) {
        let (frame, is_open) = {
            let pacer = self.shared.pacer.lock();
            (pacer.current(), pacer.open() > 0)
        };
        let now = LastPurge { frame, submitted: self.shared.clock.submitted() };
        let last = std::mem::replace(&mut self.state.lock().last_purge, now);
        if !is_open && last.frame == frame && last.submitted != now.submitted {
            self.end_frame();
        }
    }

    /// The end of a frame: what nobody wanted for long goes.
    pub(crate) fn end_frame(&self) {
        let config = &self.shared.config;
        let state = &mut *self.state.lock();
        state.hints.end_frame(state.heaps.iter().map(Heap::room));
        state.stats.requested = std::mem::take(&mut state.requested);
        state.stats.footprint = state.heaps.iter_mut().map(|heap| std::mem::take(&mut heap.top)).sum();
        let capacity = usize::try_from(config.transient_cache).unwrap_or(usize::MAX);
        let latency = u64::from(config.transient_latency.max(1));
        let retired = state.evict(&self.shared, latency, capacity);
        state.frame += 1;
        retired.into_iter().for_each(|heap| heap.retire(&self.shared));
    }

    /// Lets go of all that is not in use.
    pub(crate) fn trim(&self) {
        let retired = {
            let state = &mut *self.state.lock();
            state.classes.iter_mut().for_each(HeapClass::hope);
            state.trim(&self.shared)
        };
        retired.into_iter().for_each(|heap| heap.retire(&self.shared));
    }

    /// The manager ends: lets go of everything. What is still somebody's stays until it is dropped.
    pub(crate) fn close(&self) {
        let (heaps, lone) = {
            let state = &mut *self.state.lock();
            (std::mem::take(&mut state.heaps), std::mem::take(&mut state.lone))
        };
        heaps.into_iter().for_each(|heap| heap.retire(&self.shared));
        drop(lone);
    }

    /// Resources in the caches that nobody has acquired, and their views: handles, but none of the program's.
    pub(crate) fn unused_objects(&self) -> u64 {
        let state = self.state.lock();
        let unused =
            state.heaps.iter().map(Heap::unused_objects).sum::<usize>() + state.lone.unused_objects();
        unused as u64
    }

    pub(crate) fn stats(&self) -> TransientStats {
        self.state.lock().totals(&self.shared.pools.objects.transient_memory)
    }
}

impl<D: Device> State<D> {
    pub(super) fn note_request(&mut self, bytes: u64) {
        self.stats.acquired += 1;
        self.requested = self.requested.saturating_add(bytes);
    }

    /// The heap, by its place in the list, and the offset that the last frame proposes, if it is free.
    fn hinted(&mut self, kind: &Kind, alignment: u64, taker: Taker) -> Option<(usize, u64)> {
        let Spot { heap, offset } = self.hints.next(kind.id)?;
        let at = self.heaps.iter().position(|known| known.id == heap)?;
        let heap = self.heaps.get(at).filter(|heap| heap.suits(kind) && !heap.is_claimed)?;
        let range = offset..offset.checked_add(kind.needs.size)?;
        let is_there = range.end <= heap.size() && offset.is_multiple_of(alignment);
        (is_there && heap.taken.is_free(&range, taker.others)).then_some((at, offset))
    }

    /// The heap, by its place in the list, and the offset at which such a resource can be.
    fn find(&self, shared: &Shared<D>, kind: &Kind, alignment: u64, taker: Taker) -> Option<(usize, u64)> {
        let order = shared.pools.order(MemoryUse::GpuOnly);
        order.iter().find_map(|memory| {
            let heaps = self.heaps.iter().enumerate();
            let suits = |heap: &Heap<D>| heap.memory == *memory && heap.suits(kind) && !heap.is_claimed;
            heaps.filter(|(_, heap)| suits(heap)).find_map(|(at, heap)| {
                let offset = heap.taken.first_fit(kind.needs.size, alignment, heap.size(), taker.others)?;
                Some((at, offset))
            })
        })
    }

    /// Acquires at an offset that is free.
    pub(super) fn acquire_in(
        &mut self,
        shared: &Arc<Shared<D>>,
        at: usize,
        taker: Taker,
        kind: &Arc<Kind>,
        name: &Name,
        offset: u64,
    ) -> Result<(Object<D>, Seating), Error> {
        let Some(heap) = self.heaps.get_mut(at) else { return Err(mixed_up(name)) };
        if !heap.suits(kind) {
            let rule = "a transient heap suits what is placed in it: its alignment, for one";
            return Err(Error::Contract { rule, value: heap.alignment });
        }
        let Acquired { key, object, is_new } = heap.acquire(shared, taker, kind, name, offset)?;
        heap.last_used = self.frame;
        let heap = heap.id;
        self.note_created(is_new, kind);
        Ok((object, Seating::Heap { heap, key, ticket: None }))
    }

    pub(super) fn acquire_lone(
        &mut self,
        shared: &Arc<Shared<D>>,
        taker: Taker,
        kind: &Arc<Kind>,
        name: &Name,
    ) -> Result<(Object<D>, Seating), Error> {
        let Acquired { key, object, is_new } = self.lone.acquire(shared, taker, kind, name)?;
        self.note_created(is_new, kind);
        Ok((object, Seating::Lone { key }))
    }

    fn note_created(&mut self, is_new: bool, kind: &Kind) {
        if is_new {
            self.stats.created += 1;
            self.stats.remade += u64::from(self.heaps.iter().any(|heap| heap.has_idle(kind.id, self.frame)));
        }
    }

    /// A heap in which first fit goes on.
    fn add_heap_for(&mut self, shared: &Arc<Shared<D>>, kind: &Kind, name: &Name) -> Result<usize, Error> {
        let wanted = HeapWish {
            category: kind.needs.category,
            memory_types: kind.needs.memory_types,
            alignment: kind.heap_alignment,
            least: kind.needs.size,
            best: shared.config.transient_heap.max(kind.needs.size),
            is_trial: false,
        };
        self.add_heap(shared, &wanted, name)
    }

    /// Takes a heap from the driver: of the best size, or where that is refused the largest of a half,
    /// a quarter and an eighth that will do, of one memory type after the other; and once more, unless it is a
    /// trial, after giving back what nothing uses. Returns its place in the list.
    pub(super) fn add_heap(
        &mut self,
        shared: &Arc<Shared<D>>,
        wanted: &HeapWish,
        name: &Name,
    ) -> Result<usize, Error> {
        shared.clock.check().map_err(|source| Error::device(name, source))?;
        let mut refusal = None;
        for makes_room in [false, true].into_iter().take(if wanted.is_trial { 1 } else { 2 }) {
            if makes_room {
                self.trim(shared).into_iter().for_each(|heap| heap.retire(shared));
                shared.make_room();
            }
            match self.try_heap(shared, wanted, name) {
                Ok(at) => return Ok(at),
                Err(Refusal { source, memory }) if source.is_shortage() => refusal = Some((source, memory)),
                Err(Refusal { source, .. }) => return Err(shared.refused(name, source)),
            }
        }
        let none = || DeviceError::Unsupported { feature: "a memory type for this resource and use" };
        let (refusal, memory) = refusal.unwrap_or_else(|| (none(), MemoryTypeId(0)));
        let class = Class { memory, category: wanted.category, kind: PoolKind::Transient };
        let HeapWish { least, alignment, .. } = *wanted;
        Err(match wanted.is_trial {
            true => Error::OutOfMemory(Box::new(shared.shortage(name, least, alignment, class, refusal))),
            false => shared.fallen(name, least, alignment, Fall::Short { class, refusal }),
        })
    }

    fn try_heap(&mut self, shared: &Shared<D>, wanted: &HeapWish, name: &Name) -> Result<usize, Refusal> {
        let (device, objects) = (shared.device(), &shared.pools.objects);
        let mut refusal = Refusal {
            source: DeviceError::Unsupported { feature: "a memory type for this resource and use" },
            memory: MemoryTypeId(0),
        };
        let order = shared.pools.order(MemoryUse::GpuOnly);
        for memory in order.iter().copied().filter(|memory| allows(wanted.memory_types, *memory)) {
            for size in wanted.sizes(device.properties()) {
                let (alignment, category) = (wanted.alignment, wanted.category);
                let desc = HeapDesc { size, alignment, memory, category, priority: Priority::High };
                match objects.create_heap(device, &desc, "transient heap", &objects.transient_memory) {
                    Ok(heap) => {
                        self.last_heap += 1;
                        self.heaps.push(Heap::new(self.last_heap, heap, &desc));
                        self.stats.heaps_created += 1;
                        return Ok(self.heaps.len() - 1);
                    }
                    Err(source) if source.is_shortage() => refusal = Refusal { source, memory },
                    Err(source) => return Err(Refusal { source, memory }),
                }
            }
        }
        let class = Class { memory: refusal.memory, category: wanted.category, kind: PoolKind::Transient };
        if let Some(times) = shared.pools.notices.refusal(class) {
            tracing::debug!(target: "tenure", %name, bytes = wanted.least, times, "no transient heap");
        }
        Err(refusal)
    }

    /// Lets go of what was not used for `latency` frames; returns the heaps among it.
    fn evict(&mut self, shared: &Shared<D>, latency: u64, capacity: usize) -> Vec<Heap<D>> {
        let oldest = shared.recordings.oldest_open();
        let frame = self.frame;
        let is_over =
            |heap: &mut Heap<D>| frame.saturating_sub(heap.last_used) >= latency && heap.is_idle(oldest);
        let retired: Vec<_> = self.heaps.extract_if(.., is_over).collect();
        let mut evicted: u64 = retired.iter().map(|heap| heap.cached() as u64).sum();
        for heap in &mut self.heaps {
            heap.taken.forget(oldest);
            evicted += heap.evict(frame, latency, capacity);
        }
        self.stats.evicted += evicted + self.lone.evict(frame, latency);
        retired
    }

    /// Lets go of every heap that is not in use.
    fn trim(&mut self, shared: &Shared<D>) -> Vec<Heap<D>> {
        let oldest = shared.recordings.oldest_open();
        let retired: Vec<_> = self.heaps.extract_if(.., |heap| heap.is_idle(oldest)).collect();
        self.stats.evicted += retired.iter().map(|heap| heap.cached() as u64).sum::<u64>();
        retired
    }

    fn totals(&self, memory: &Taken) -> TransientStats {
        TransientStats {
            heaps: self.heaps.len() as u64,
            reserved: memory.now(),
            peak_reserved: memory.peak(),
            cached: self.heaps.iter().map(|heap| heap.cached() as u64).sum::<u64>() + self.lone.len(),
            ..self.stats
        }
    }
}

/// A heap that is wanted. Bytes.
pub(super) struct HeapWish {
    pub(super) category: HeapCategory,
    pub(super) memory_types: u32,
    pub(super) alignment: u64,
    /// Less will not do.
    pub(super) least: u64,
    pub(super) best: u64,
    /// Nothing goes to make room for it, and nobody is told when it is refused.
    pub(super) is_trial: bool,
}

impl HeapWish {
    /// The sizes to try, falling: multiples of the heap's alignment.
    fn sizes(&self, properties: &Properties) -> impl Iterator<Item = u64> {
        let granule = properties.heap_alignment.max(self.alignment).max(1);
        let limit = properties.max_heap_size - properties.max_heap_size % granule;
        // What the device cannot give it refuses with its own words.
        let least = self.least.checked_next_multiple_of(granule).unwrap_or(self.least);
        let best = self.best.checked_next_multiple_of(granule).unwrap_or(self.best).min(limit).max(least);
        let mut last = None;
        (0..4).map(move |halvings| (best >> halvings).next_multiple_of(granule).max(least)).filter(
            move |size| {
                let is_new = last != Some(*size);
                last = Some(*size);
                is_new
            },
        )
    }
}

struct Refusal {
    source: DeviceError,
    memory: MemoryTypeId,
}

pub(super) fn queue_kind<D: Device>(shared: &Shared<D>, queue: QueueId) -> crate::device::QueueKind {
    let queues = &shared.device().properties().queues;
    queues.get(queue.index()).map_or(crate::device::QueueKind::Graphics, |queue| queue.kind)
}

/// What the device is to create for a transient buffer.
pub(super) fn buffer_resource(desc: &BufferDesc) -> Result<ResourceDesc, Error> {
    if desc.memory != MemoryUse::GpuOnly {
        let rule = "transient buffers are for the GPU alone";
        return Err(Error::Transient { name: desc.name.clone(), rule });
    }
    if !desc.alignment.is_power_of_two() {
        let source = DeviceError::invalid_desc("alignment", desc.alignment, Allowed::POWER_OF_TWO);
        return Err(Error::device(&desc.name, source));
    }
    Ok(ResourceDesc::Buffer(BufferInfo { size: desc.size, usage: desc.usage }))
}

pub(super) fn mixed_up(name: &Name) -> Error {
    Error::Transient { name: name.clone(), rule: "a resource is what it was asked for as" }
}
