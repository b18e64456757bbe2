//! A heap whose resources overlap in memory and are used one after the other.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use slab::Slab;

use super::desc_table::{Description, DescriptionId, Tenants};
use super::hints::HeapInfo;
use super::object::Object;
use super::owners::{Owner, Owners, Segment};
use super::request::{Request, ResourceRequest};
use super::used_ranges::{UsedRanges, Users};
use crate::context::Context;
use crate::device::{Device, MemoryTypeId, ObjectRef, Permit, QueueKind, ResourceDesc, State, StateModel};
use crate::memory::{
    AliasedRange, AliasingHandoff, Backing, HeapPlace, Location, MapWish, MemorySize, SharedHeap,
};
use crate::permit::OwnPermit as _;
use crate::time::Recordings;
use crate::{Error, Name};

/// The two kinds of transient resources. They share no heaps: a handle kept by a program would otherwise keep the heap of a
/// whole graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Road {
    Graph,
    PassByPass,
}

/// The kind of a heap: heaps of one kind can replace each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HeapKind {
    pub(crate) road: Road,
    pub(crate) memory: MemoryTypeId,
    pub(crate) tenants: Tenants,
}

/// Whether all of these recordings have ended.
pub(crate) fn is_over(recordings: &Recordings, users: Users) -> bool {
    match users {
        Users::UpTo(newest) => newest < recordings.oldest_open(),
        Users::One(number) => !recordings.is_open(number),
    }
}

/// The key of a cached resource: description, offset, and the kind of queue that acquires it. If resources keep their states
/// between recordings, each kind of queue has its own textures: one that a graphics queue acquired may be left in a state that
/// a compute queue cannot transition from.
type Key = (DescriptionId, u64, QueueKind);

fn key_of<D: Device>(wanted: &ResourceRequest<'_, D>, offset: u64) -> Key {
    let keeps_state = wanted.request.context.device().properties().state_model == StateModel::Promotion
        && matches!(wanted.description.desc, ResourceDesc::Texture(_));
    (wanted.description.id, offset, if keeps_state { wanted.requester.queue } else { QueueKind::Graphics })
}

/// An API resource cached for the next request of that description and offset.
struct Entry<D: Device> {
    description: Arc<Description>,
    name: Name,
    place: Key,
    object: Object<D>,
    /// The owners of its bytes before it was last acquired.
    before: Vec<Segment>,
    /// The frame in which it was last released.
    last_used: u64,
    is_in_use: bool,
    /// Whether the entry can no longer be found, and is destroyed as soon as it is idle.
    is_stale: bool,
}

impl<D: Device> Entry<D> {
    /// The recordings that may use it once its handle is dropped; `None` for none.
    fn users(&self, recordings: &Recordings) -> Option<Users> {
        let acquired_by = self.object.aliased_range().map_or(0, |aliased_range| aliased_range.acquired_by());
        match self.object.is_recorded() {
            // No other recording may have used it before that one is submitted.
            _ if recordings.is_open(acquired_by) => Some(Users::One(acquired_by)),
            true => Some(Users::UpTo(recordings.newest())),
            false => None,
        }
    }
}

/// An acquired resource: the key of its entry, and whether it was created for this request.
pub(crate) struct Acquired<D: Device> {
    pub(crate) key: usize,
    pub(crate) object: Object<D>,
    pub(crate) is_new: bool,
}

/// A heap of overlapping resources.
pub(crate) struct Heap<D: Device> {
    pub(crate) id: u64,
    share: Arc<SharedHeap<D>>,
    pub(crate) kind: HeapKind,
    /// Alignment of the heap in bytes.
    pub(crate) alignment: u64,
    pub(crate) used: UsedRanges,
    owners: Owners,
    entries: Slab<Entry<D>>,
    /// The entries that are not stale.
    by_key: FxHashMap<Key, usize>,
    /// The frame in which a resource was last acquired or released in it.
    pub(crate) last_used: u64,
    /// The end of the highest range acquired since the last frame.
    pub(crate) top: u64,
    /// `top` of the last frame.
    pub(crate) last_top: u64,
    /// The highest end in each of the last two periods of frames; `u64::MAX` before the heap existed.
    tops: [u64; 2],
    /// The frame in which the second of them began.
    period_began: u64,
    /// Reserved by a running graph: other requests must not acquire from it.
    pub(crate) is_claimed: bool,
}

impl<D: Device> Heap<D> {
    pub(crate) fn new(
        id: u64,
        heap: D::Heap,
        desc: &crate::device::HeapDesc,
        kind: HeapKind,
        frame: u64,
    ) -> Self {
        Self {
            id,
            share: Arc::new(SharedHeap { heap, own: MemorySize { memory: desc.memory, size: desc.size } }),
            kind,
            alignment: desc.alignment,
            used: UsedRanges::default(),
            owners: Owners::default(),
            entries: Slab::new(),
            by_key: FxHashMap::default(),
            last_used: frame,
            top: 0,
            last_top: 0,
            tops: [u64::MAX, 0],
            period_began: frame,
            is_claimed: false,
        }
    }

    pub(crate) fn heap_info(&self) -> HeapInfo {
        HeapInfo { kind: self.kind, heap: self.id, size: self.size() }
    }

    /// Bytes.
    pub(crate) fn size(&self) -> u64 {
        self.share.own.size
    }

    /// Ends a frame. Returns the end of the highest range acquired in it.
    pub(crate) fn end_frame(&mut self, frame: u64, period: u64) -> u64 {
        let top = std::mem::take(&mut self.top);
        self.last_top = top;
        self.tops[1] = self.tops[1].max(top);
        if frame.saturating_sub(self.period_began) >= period {
            self.tops = [self.tops[1], 0];
            self.period_began = frame;
        }
        top
    }

    /// The end of the highest range acquired in the last two periods; `u64::MAX` in the first ones.
    pub(crate) fn needed(&self) -> u64 {
        let [before, now] = self.tops;
        before.max(now)
    }

    /// The number of API resources that it keeps.
    pub(crate) fn cached(&self) -> usize {
        self.entries.len()
    }

    /// The number of resources that are not acquired, and of their views.
    pub(crate) fn unused_objects(&self) -> usize {
        let unused = self.entries.iter().filter(|(_, entry)| !entry.is_in_use);
        unused.map(|(_, entry)| 1 + entry.object.views()).sum()
    }

    /// Whether resources of this description can be placed in the heap.
    pub(crate) fn suits(&self, description: &Description) -> bool {
        crate::memory::allows(description.needs.memory_types, self.kind.memory)
            && self.kind.tenants == description.tenants
            && self.alignment >= description.heap_alignment
    }

    /// Whether it has an idle resource of this description, at any offset, from an earlier frame than this one.
    pub(crate) fn has_idle(&self, description: DescriptionId, frame: u64) -> bool {
        let is_idle = |entry: &Entry<D>| !entry.is_in_use && !entry.is_stale && entry.last_used < frame;
        self.entries.iter().any(|(_, entry)| entry.description.id == description && is_idle(entry))
    }

    /// Acquires a resource at `offset`, whose bytes must be free; it is created if the cache has none.
    pub(crate) fn acquire(
        &mut self,
        wanted: &ResourceRequest<'_, D>,
        offset: u64,
    ) -> Result<Acquired<D>, Error> {
        let ResourceRequest { request: Request { context, name, .. }, .. } = *wanted;
        let found = self.find(wanted, offset);
        let is_new = found.is_none();
        let key = match found {
            Some(key) => key,
            None => self.make(wanted, offset)?,
        };
        let range = offset..offset.saturating_add(wanted.description.needs.size);
        self.top = self.top.max(range.end);
        let Some(entry) = self.entries.get_mut(key) else { return Err(lost_entry()) };
        let previous_owners = self.owners.take(range.clone(), key, &mut entry.before);
        let mut handoff = AliasingHandoff::default();
        for previous_owner in previous_owners {
            self.add_previous_owner(previous_owner, &mut handoff);
        }
        let Some(entry) = self.entries.get_mut(key) else { return Err(lost_entry()) };
        entry.is_in_use = true;
        if entry.name != *name {
            entry.name = name.clone();
            let api_resource = entry.object.api_resource();
            context.device().set_name(
                Permit::own(),
                ObjectRef::Resource(&api_resource.object),
                name.as_str(),
            );
        }
        if let Some(aliased_range) = entry.object.aliased_range() {
            aliased_range.acquire(wanted.requester.recording, handoff);
        }
        let object = entry.object.clone();
        self.used.take(range);
        Ok(Acquired { key, object, is_new })
    }

    /// A cached resource that the requester's queue can begin to use.
    fn find(&mut self, wanted: &ResourceRequest<'_, D>, offset: u64) -> Option<usize> {
        let place = key_of(wanted, offset);
        let key = *self.by_key.get(&place)?;
        let entry = self.entries.get_mut(key)?;
        let (queue, model) =
            (wanted.requester.queue, wanted.request.context.device().properties().state_model);
        if !entry.is_in_use && entry.object.api_resource().states.may_activate_on(queue, model) {
            return Some(key);
        }
        entry.is_stale = true;
        self.by_key.remove(&place);
        None
    }

    fn make(&mut self, wanted: &ResourceRequest<'_, D>, offset: u64) -> Result<usize, Error> {
        let ResourceRequest { request: Request { context, name, .. }, description, .. } = *wanted;
        context.clock.check().map_err(|source| Error::device(name, source))?;
        let objects = &context.pools.objects;
        let place = HeapPlace { heap: &self.share.heap, offset, wish: MapWish::No, block: None };
        let api_resource = objects
            .create_placed(context.device(), &description.desc, &place, name)
            .map_err(|source| context.refused(name, source))?;
        let location = Location::Transient(Arc::new(AliasedRange::new(self.share.clone())));
        let object = Object::new(wanted, Backing { api_resource, location });
        let place = key_of(wanted, offset);
        let key = self.entries.insert(Entry {
            description: description.clone(),
            name: name.clone(),
            place,
            object,
            before: Vec::new(),
            last_used: 0,
            is_in_use: false,
            is_stale: false,
        });
        self.by_key.insert(place, key);
        Ok(key)
    }

    fn add_previous_owner(&self, previous_owner: Owner, handoff: &mut AliasingHandoff<D>) {
        match previous_owner {
            Owner::Cached(key) => {
                if let Some(entry) = self.entries.get(key) {
                    handoff.add_previous_owner(entry.object.api_resource(), entry.object.aliased_range());
                }
            }
            Owner::Past(point) => {
                handoff.others = State::all();
                handoff.waits.merge(&point);
            }
        }
    }

    /// Releases a resource, which the open recordings may still use.
    pub(crate) fn release(&mut self, key: usize, recordings: &Recordings, frame: u64) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.is_in_use = false;
            entry.last_used = frame;
            self.last_used = frame;
            let range = range_of(entry);
            self.used.drop_range(&range, entry.users(recordings), |users| is_over(recordings, users));
            if entry.object.aliased_range().is_some_and(|aliased_range| aliased_range.release()) {
                self.owners.undo_take(range, &entry.before);
            }
        }
    }

    /// Destroys resources that were not acquired for `latency` frames, oldest first, while there are more than `capacity`
    /// textures or buffers. Returns how many.
    pub(crate) fn evict(&mut self, frame: u64, latency: u64, capacity: usize) -> u64 {
        let mut count = [0_usize; 2];
        for (_, entry) in &self.entries {
            count[usize::from(entry.object.is_texture())] += 1;
        }
        if count.iter().all(|count| *count <= capacity)
            && !self.entries.iter().any(|(_, entry)| entry.is_stale)
        {
            return 0;
        }
        let is_old = |entry: &Entry<D>| entry.is_stale || frame.saturating_sub(entry.last_used) >= latency;
        let mut old: Vec<(bool, u64, usize)> = self
            .entries
            .iter()
            .filter(|(_, entry)| !entry.is_in_use && is_old(entry) && entry.object.is_idle())
            .map(|(key, entry)| (!entry.is_stale, entry.last_used, key))
            .collect();
        old.sort_unstable();
        let mut evicted = 0;
        for (_, _, key) in old {
            let Some(entry) = self.entries.get(key) else { continue };
            let count = &mut count[usize::from(entry.object.is_texture())];
            if entry.is_stale || *count > capacity {
                *count -= 1;
                evicted += 1;
                self.remove(key);
            }
        }
        evicted
    }

    fn remove(&mut self, key: usize) {
        let Some(entry) = self.entries.try_remove(key) else { return };
        if self.by_key.get(&entry.place) == Some(&key) {
            self.by_key.remove(&entry.place);
        }
        let mut used = entry.object.api_resource().states.used();
        if let Some(aliased_range) = entry.object.aliased_range() {
            let mut handoff = AliasingHandoff::default();
            aliased_range.pass_on(&mut handoff);
            used.merge(&handoff.waits);
        }
        self.owners.note_destroyed(key, used);
    }

    /// True when none of its resources is acquired, or may be used by an open recording.
    pub(crate) fn is_idle(&mut self, recordings: &Recordings) -> bool {
        self.used.forget(|users| is_over(recordings, users));
        self.used.is_empty() && !self.is_claimed
    }

    /// Destroys the heap: the cached resources go through the release queue, and the heap with the last of them.
    pub(crate) fn retire(self, context: &Context<D>) {
        let Self { share, entries, .. } = self;
        let aliased_ranges = entries.iter().filter_map(|(_, entry)| entry.object.aliased_range());
        aliased_ranges.for_each(|aliased_range| aliased_range.forget_previous_owners());
        drop(entries);
        context.pools.leave_heap(context.device(), share);
    }
}

fn range_of<D: Device>(entry: &Entry<D>) -> Range<u64> {
    let (_, offset, _) = entry.place;
    offset..offset.saturating_add(entry.description.needs.size)
}

fn lost_entry() -> Error {
    Error::Internal { what: "a transient heap has lost an entry" }
}
