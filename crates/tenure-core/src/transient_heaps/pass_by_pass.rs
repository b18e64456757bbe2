//! Acquisition pass by pass: placement by the plan of the previous frame or by first fit, and its heaps.

use super::desc_table::Description;
use super::heap::{Heap, Road};
use super::hints::{HeapLimit, Hint, HintedHeap, NewHeap};
use super::object::Object;
use super::request::{
    Attempt, HeapRequest, Request, Requester, ResourceRequest, buffer_resource, check_texture, wrong_type,
};
use super::transients::{CachedEntry, EntryRef, State, Transients};
use crate::context::Context;
use crate::device::{Device, QueueId, ResourceDesc};
use crate::memory::{MakeRoom, MemoryUse};
use crate::time::RecordingId;
use crate::{Buffer, BufferDesc, Error, Name, Texture, TextureDesc};

/// Bytes of the first heap of a class, unless the first resource is larger.
const FIRST_HEAP: u64 = 1 << 20;

impl<D: Device> Transients<D> {
    pub(crate) fn texture(
        &self,
        room: &dyn MakeRoom,
        by: (RecordingId, QueueId),
        desc: &TextureDesc,
    ) -> Result<CachedEntry<D, Texture<D>>, Error> {
        check_texture(desc)?;
        let resource = ResourceDesc::Texture(desc.info.clone());
        let (object, entry_ref) = self.acquire(room, by, &desc.name, &resource, 1)?;
        let texture = object.texture().ok_or_else(|| wrong_type(&desc.name))?;
        Ok((texture.clone(), entry_ref))
    }

    pub(crate) fn buffer(
        &self,
        room: &dyn MakeRoom,
        by: (RecordingId, QueueId),
        desc: &BufferDesc,
    ) -> Result<CachedEntry<D, Buffer<D>>, Error> {
        let resource = buffer_resource(desc)?;
        let (object, entry_ref) = self.acquire(room, by, &desc.name, &resource, desc.alignment)?;
        let buffer = object.buffer().ok_or_else(|| wrong_type(&desc.name))?;
        Ok((buffer.clone(), entry_ref))
    }

    fn acquire(
        &self,
        room: &dyn MakeRoom,
        (recording, queue): (RecordingId, QueueId),
        name: &Name,
        desc: &ResourceDesc,
        alignment: u64,
    ) -> Result<(Object<D>, EntryRef), Error> {
        let context = &self.context;
        self.try_twice(room, |attempt| {
            let requester = Requester::new(context, recording, queue);
            let state = &mut *self.state.lock();
            state.check_open()?;
            let description = &state.descriptions.get_or_add(context, name, desc)?;
            let request = Request { context, room, attempt, name };
            state.acquire(&ResourceRequest { request, requester, description }, alignment)
        })
    }
}

impl<D: Device> State<D> {
    /// Acquires the bytes proposed by the plan of the last frame; else the lowest free bytes of the oldest heap with
    /// sufficient room, or bytes of a new heap.
    fn acquire(
        &mut self,
        wanted: &ResourceRequest<'_, D>,
        alignment: u64,
    ) -> Result<(Object<D>, EntryRef), Error> {
        let needs = &wanted.description.needs;
        if wanted.request.attempt == Attempt::First {
            self.note_request(needs.size);
        }
        if needs.requires_dedicated {
            return self.acquire_dedicated(wanted);
        }
        let alignment = needs.alignment.max(alignment);
        let (at, offset) = match self.hinted(wanted, alignment).or_else(|| self.find(wanted, alignment)) {
            Some(found) => found,
            None => (self.add_heap_for(wanted)?, 0),
        };
        let (object, mut entry_ref) = self.acquire_in(wanted, at, offset)?;
        if let (Some(heap), EntryRef::Heap { acquisition, .. }) = (self.heaps.get(at), &mut entry_ref) {
            let place = Hint { heap: HintedHeap::Known(heap.id), offset };
            *acquisition = self.hints.acquired(wanted, alignment, heap.kind, place);
        }
        Ok((object, entry_ref))
    }

    /// The heap, by its index, and the offset proposed by the plan of the last frame, if it is free.
    fn hinted(&mut self, wanted: &ResourceRequest<'_, D>, alignment: u64) -> Option<(usize, u64)> {
        let ResourceRequest { request, requester, description } = wanted;
        let Hint { heap, offset } = self.hints.next(description.id)?;
        let at = match heap {
            HintedHeap::Known(heap) => self.heap_at(heap)?,
            HintedHeap::New(index) => self.merge(request, index)?,
        };
        let heap = self.heaps.get(at).filter(|heap| heap.suits(description))?;
        let range = offset..offset.checked_add(description.needs.size)?;
        let is_there = range.end <= heap.size() && offset.is_multiple_of(alignment);
        (is_there && heap.used.is_free(&range, |users| requester.is_blocked_by(users)))
            .then_some((at, offset))
    }

    /// The first heap, by its index, and the lowest offset that is free for a resource of this description.
    fn find(&self, wanted: &ResourceRequest<'_, D>, alignment: u64) -> Option<(usize, u64)> {
        let ResourceRequest { request, requester, description } = wanted;
        request.context.pools.order(MemoryUse::GpuOnly).iter().find_map(|memory| {
            let mut heaps = self
                .heaps
                .iter()
                .enumerate()
                .filter(|(_, heap)| heap.kind.memory == *memory && is_for(heap, description));
            heaps.find_map(|(at, heap)| {
                let blocks = |users| requester.is_blocked_by(users);
                let offset = heap.used.first_fit(description.needs.size, alignment, heap.size(), blocks)?;
                Some((at, offset))
            })
        })
    }

    /// A new heap, when first fit found no free range in the others.
    fn add_heap_for(&mut self, wanted: &ResourceRequest<'_, D>) -> Result<usize, Error> {
        let ResourceRequest { request, description, .. } = wanted;
        self.supersede(request.context, description);
        let heap = HeapRequest {
            road: Road::PassByPass,
            tenants: description.tenants,
            memory_types: description.needs.memory_types,
            alignment: description.heap_alignment,
            least: description.needs.size,
            best: self.growth(request.context, description),
            is_trial: false,
        };
        self.add_heap(request, &heap)
    }

    /// Bytes of a new heap for a resource of this description: half of the existing heaps for such resources, as a multiple
    /// of its size, because such resources are often acquired in series.
    fn growth(&self, context: &Context<D>, description: &Description) -> u64 {
        let each = description.needs.size.max(1);
        let such = self.heaps.iter().filter(|heap| is_for(heap, description));
        let held: u64 = such.map(Heap::size).sum();
        let wanted = (held / 2).max(FIRST_HEAP).min(context.config.transient.heap);
        if wanted < each { each } else { wanted - wanted % each }
    }

    /// Destroys idle heaps that a new heap for this description replaces, until at most a quarter more is reserved than this
    /// frame or the one before needs.
    fn supersede(&mut self, context: &Context<D>, description: &Description) {
        let such = || self.heaps.iter().filter(|heap| is_for(heap, description));
        let size = description.needs.size;
        let needed = such()
            .map(|heap| heap.last_top)
            .sum::<u64>()
            .max(such().map(|heap| heap.top).sum::<u64>() + size);
        let most = needed + needed / 4;
        let mut reserved = such().map(Heap::size).sum::<u64>() + size;
        if reserved <= most {
            return;
        }
        let frame = self.frame;
        // The largest first, so that as few as possible are destroyed.
        self.heaps.sort_by_key(|heap| std::cmp::Reverse(heap.size()));
        let superseded = self.take_idle(context, |heap| {
            let goes = reserved > most && is_for(heap, description) && heap.last_used < frame;
            reserved -= if goes { heap.size() } else { 0 };
            goes
        });
        self.heaps.sort_by_key(|heap| heap.id);
        self.replace(context, superseded);
    }

    /// Creates the heap that the plan of the last frame proposes as a replacement of several, and returns its index.
    fn merge(&mut self, request: &Request<'_, D>, index: usize) -> Option<usize> {
        let NewHeap { kind, size, alignment } = self.hints.new_heap(index)?;
        let frame = self.frame;
        let merged = self.take_idle(request.context, |heap| heap.kind == kind && heap.last_used < frame);
        self.replace(request.context, merged);
        let heap = HeapRequest::of_kind(kind, alignment, size..=size, true);
        let at = self.add_heap(&Request { attempt: Attempt::First, ..*request }, &heap).ok();
        let made = at.and_then(|at| self.heaps.get(at)).map(|heap| heap.id);
        self.hints.note_made(index, made);
        at
    }

    /// Ends the frame for the hints.
    pub(crate) fn end_hints(&mut self, context: &Context<D>, latency: u64) {
        let properties = context.device().properties();
        let alignment = properties.heap_alignment.max(1);
        let most = properties.max_heap_size - properties.max_heap_size % alignment;
        let most = most.min(context.config.transient.heap);
        let limit = HeapLimit { most, alignment, small: FIRST_HEAP };
        let heaps = self.heaps.iter().filter(|heap| heap.kind.road == Road::PassByPass);
        // Never three generations of heaps at the same time.
        let may_merge = self.replaced.is_covered_by(&context.clock.completed());
        self.hints.end_frame(heaps.map(Heap::heap_info), limit, latency, may_merge);
    }
}

/// Whether a resource that is acquired pass by pass can be placed in the heap.
fn is_for<D: Device>(heap: &Heap<D>, description: &Description) -> bool {
    heap.kind.road == Road::PassByPass && heap.suits(description)
}
