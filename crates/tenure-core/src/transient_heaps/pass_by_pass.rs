//! Acquisition pass by pass: placement by the plan of the previous frame or by first fit, and heaps for it.

use std::sync::Arc;

use super::desc_table::Description;
use super::heap::{Heap, Requester, Road};
use super::hints::{HeapLimit, HeapOffset, Hint, HintedHeap};
use super::object::Object;
use super::pool::{
    Attempt, CachedEntry, EntryRef, HeapRequest, Inner, State, buffer_resource, check_usage, queue_kind,
    wrong_type,
};
use crate::context::Context;
use crate::device::{Device, QueueId, ResourceDesc};
use crate::memory::{MakeRoom, MemoryUse};
use crate::time::RecordingId;
use crate::{Buffer, BufferDesc, Error, Name, Texture, TextureDesc};

/// Bytes of the first heap of a class, unless the first resource is larger.
const FIRST_HEAP: u64 = 1 << 20;

impl<D: Device> Inner<D> {
    pub(crate) fn texture(
        &self,
        room: &dyn MakeRoom,
        by: (RecordingId, QueueId),
        desc: &TextureDesc,
    ) -> Result<CachedEntry<D, Texture<D>>, Error> {
        check_usage(&desc.name, desc.info.usage)?;
        let resource = ResourceDesc::Texture(desc.info.clone());
        match self.acquire(room, by, &desc.name, &resource, 1)? {
            (Object::Texture(texture), entry_ref) => Ok((texture, entry_ref)),
            (Object::Buffer(_), _) => Err(wrong_type(&desc.name)),
        }
    }

    pub(crate) fn buffer(
        &self,
        room: &dyn MakeRoom,
        by: (RecordingId, QueueId),
        desc: &BufferDesc,
    ) -> Result<CachedEntry<D, Buffer<D>>, Error> {
        let resource = buffer_resource(desc)?;
        match self.acquire(room, by, &desc.name, &resource, desc.alignment)? {
            (Object::Buffer(buffer), entry_ref) => Ok((buffer, entry_ref)),
            (Object::Texture(_), _) => Err(wrong_type(&desc.name)),
        }
    }

    /// Acquires the lowest free bytes of the oldest heap that has enough, or else bytes of a new heap.
    fn acquire(
        &self,
        room: &dyn MakeRoom,
        by: (RecordingId, QueueId),
        name: &Name,
        desc: &ResourceDesc,
        alignment: u64,
    ) -> Result<(Object<D>, EntryRef), Error> {
        self.try_twice(room, |attempt| self.try_acquire(room, by, name, (desc, alignment), attempt))
    }

    fn try_acquire(
        &self,
        room: &dyn MakeRoom,
        (recording, queue): (RecordingId, QueueId),
        name: &Name,
        (desc, alignment): (&ResourceDesc, u64),
        attempt: Attempt,
    ) -> Result<(Object<D>, EntryRef), Error> {
        let context = &self.context;
        let requester = Requester {
            recording: recording.get(),
            queue: queue_kind(context, queue),
            oldest_other: context.recordings.oldest_open_but(recording),
            recordings: &context.recordings,
        };
        let state = &mut *self.state.lock();
        state.check_open()?;
        let description = state.descriptions.get_or_add(context, name, desc)?;
        if attempt == Attempt::First {
            state.note_request(description.needs.size);
        }
        if description.needs.requires_dedicated {
            return state.acquire_dedicated(context, room, requester, &description, name);
        }
        let alignment = description.needs.alignment.max(alignment);
        let (at, offset) = match state.hinted(context, room, name, &description, alignment, requester) {
            Some(hinted) => hinted,
            None => match state.find(context, &description, alignment, requester) {
                Some(found) => found,
                None => (state.add_heap_for(context, room, &description, attempt, name)?, 0),
            },
        };
        let (object, mut entry_ref) = state.acquire_in(context, at, requester, &description, name, offset)?;
        if let (Some(heap), EntryRef::Heap { acquisition, .. }) = (state.heaps.get(at), &mut entry_ref) {
            let place = HeapOffset { heap: heap.id, offset };
            *acquisition =
                state.hints.acquired(&description, alignment, (heap.memory, heap.tenants), place, requester);
        }
        Ok((object, entry_ref))
    }
}

impl<D: Device> State<D> {
    /// The heap, by its index, and the offset that the plan of the last frame proposes, if it is free.
    fn hinted(
        &mut self,
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        name: &Name,
        description: &Description,
        alignment: u64,
        requester: Requester<'_>,
    ) -> Option<(usize, u64)> {
        let Hint { heap, offset } = self.hints.next(description.id)?;
        let heap = match heap {
            HintedHeap::Known(heap) => heap,
            HintedHeap::New(index) => self.merge(context, room, index, name)?,
        };
        let at = self.heaps.iter().position(|known| known.id == heap)?;
        let heap = self.heaps.get(at).filter(|heap| heap.suits(description))?;
        let range = offset..offset.checked_add(description.needs.size)?;
        let is_there = range.end <= heap.size() && offset.is_multiple_of(alignment);
        (is_there && heap.used.is_free(&range, |users| requester.is_blocked_by(users)))
            .then_some((at, offset))
    }

    /// The first heap, by its index, and the lowest offset that is free for a resource of this description.
    fn find(
        &self,
        context: &Context<D>,
        description: &Description,
        alignment: u64,
        requester: Requester<'_>,
    ) -> Option<(usize, u64)> {
        let order = context.pools.order(MemoryUse::GpuOnly);
        order.iter().find_map(|memory| {
            let heaps = self.heaps.iter().enumerate();
            let suits = |heap: &Heap<D>| {
                heap.road == Road::PassByPass && heap.memory == *memory && heap.suits(description)
            };
            heaps.filter(|(_, heap)| suits(heap)).find_map(|(at, heap)| {
                let size = description.needs.size;
                let blocks = |users| requester.is_blocked_by(users);
                let offset = heap.used.first_fit(size, alignment, heap.size(), blocks)?;
                Some((at, offset))
            })
        })
    }

    /// A new heap, when first fit found no free range in the others.
    fn add_heap_for(
        &mut self,
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        description: &Description,
        attempt: Attempt,
        name: &Name,
    ) -> Result<usize, Error> {
        self.supersede(context, description);
        let request = HeapRequest {
            tenants: description.tenants,
            memory_types: description.needs.memory_types,
            alignment: description.heap_alignment,
            least: description.needs.size,
            best: self.growth(context, description),
            is_trial: false,
            road: Road::PassByPass,
        };
        self.add_heap(context, room, &request, attempt, name)
    }

    /// Bytes of a new heap for a resource of this description: half of the existing heaps for such resources, as a
    /// multiple of its size, because such resources come in series.
    fn growth(&self, context: &Context<D>, description: &Description) -> u64 {
        let each = description.needs.size.max(1);
        let is_such = |heap: &&Heap<D>| heap.road == Road::PassByPass && heap.suits(description);
        let held: u64 = self.heaps.iter().filter(is_such).map(Heap::size).sum();
        let wanted = (held / 2).max(FIRST_HEAP).min(context.config.transient.heap);
        if wanted < each { each } else { wanted - wanted % each }
    }

    /// Destroys idle heaps that a new heap for this description replaces, until at most a quarter more is reserved than this
    /// frame or the one before needs.
    fn supersede(&mut self, context: &Context<D>, description: &Description) {
        let is_such = |heap: &Heap<D>| heap.road == Road::PassByPass && heap.suits(description);
        let such = || self.heaps.iter().filter(|heap| is_such(heap));
        let size = description.needs.size;
        let needed = such().map(Heap::last_top).sum::<u64>().max(such().map(Heap::top).sum::<u64>() + size);
        let most = needed + needed / 4;
        let mut reserved = such().map(Heap::size).sum::<u64>() + size;
        if reserved <= most {
            return;
        }
        let frame = self.frame;
        // The largest first, so that as few as possible are destroyed.
        self.heaps.sort_by_key(|heap| std::cmp::Reverse(heap.size()));
        let is_superseded = |heap: &mut Heap<D>| {
            let goes = reserved > most
                && is_such(heap)
                && heap.last_used < frame
                && heap.is_idle(&context.recordings);
            reserved -= if goes { heap.size() } else { 0 };
            goes
        };
        let superseded: Vec<_> = self.heaps.extract_if(.., is_superseded).collect();
        self.heaps.sort_by_key(|heap| heap.id);
        self.replace(context, superseded);
    }

    /// Creates the heap that the plan of the last frame proposes in place of several, and returns its id.
    fn merge(
        &mut self,
        context: &Arc<Context<D>>,
        room: &dyn MakeRoom,
        index: usize,
        name: &Name,
    ) -> Option<u64> {
        let planned = self.hints.new_heap(index)?;
        let (memory, tenants) = planned.class;
        let frame = self.frame;
        let is_merged = |heap: &mut Heap<D>| {
            let is_such = heap.road == Road::PassByPass && (heap.memory, heap.tenants) == planned.class;
            is_such && heap.last_used < frame && heap.is_idle(&context.recordings)
        };
        let merged: Vec<_> = self.heaps.extract_if(.., is_merged).collect();
        self.replace(context, merged);
        let request = HeapRequest {
            tenants,
            memory_types: 1 << memory.0.min(31),
            alignment: planned.alignment,
            least: planned.size,
            best: planned.size,
            is_trial: true,
            road: Road::PassByPass,
        };
        let made = self.add_heap(context, room, &request, Attempt::First, name).ok();
        let heap = made.and_then(|at| self.heaps.get(at)).map(|heap| heap.id);
        self.hints.note_made(index, heap);
        heap
    }

    /// Ends the frame for the hints.
    pub(crate) fn end_hints(&mut self, context: &Context<D>, latency: u64) {
        let properties = context.device().properties();
        let alignment = properties.heap_alignment.max(1);
        let most = properties.max_heap_size - properties.max_heap_size % alignment;
        let most = most.min(context.config.transient.heap);
        let limit = HeapLimit { most, alignment, small: FIRST_HEAP };
        let heaps = self.heaps.iter().filter(|heap| heap.road == Road::PassByPass);
        // Never three generations of heaps at once.
        let may_merge = self.replaced.is_covered_by(&context.clock.completed());
        self.hints.end_frame(heaps.map(Heap::heap_info), limit, latency, may_merge);
    }
}
