//! A heap whose resources take turns.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use slab::Slab;

use super::hints::Room;
use super::kind::{Kind, KindId};
use super::object::{Cached, Object};
use super::owners::{Owner, Owners, Segment};
use super::taken::Taken;
use crate::device::{
    Device, HeapCategory, MemoryTypeId, ObjectRef, Permit, QueueKind, ResourceDesc, State, StateModel,
};
use crate::gpu::Shared;
use crate::memory::{Home, Place, Seat, SharedHeap, Turn};
use crate::{Buffer, Error, Name, Texture};

/// Who acquires.
#[derive(Clone, Copy)]
pub(super) struct Taker {
    /// The number of the recording; 0: a graph, which sees to the order itself.
    pub(super) recording: u64,
    /// Of its queue.
    pub(super) queue: QueueKind,
    /// The oldest recording that is open, apart from that one.
    pub(super) others: u64,
}

/// By what a resource is found: description, offset, and the kind of queue that acquires it. A texture that
/// graphics queues acquire may be left in a state from which a compute queue cannot take it; so each
/// has its own where states are the device's.
type Key = (KindId, u64, QueueKind);

fn key_of<D: Device>(shared: &Shared<D>, taker: Taker, kind: &Kind, offset: u64) -> Key {
    let keeps_state = shared.device().properties().state_model == StateModel::Promotion
        && matches!(kind.desc, ResourceDesc::Texture(_));
    (kind.id, offset, if keeps_state { taker.queue } else { QueueKind::Graphics })
}

/// An API resource that the heap keeps for the next who wants such a one at that offset.
struct Entry<D: Device> {
    kind: Arc<Kind>,
    name: Name,
    place: Key,
    object: Object<D>,
    /// Who had its bytes before it was last acquired.
    before: Vec<Segment>,
    /// The frame in which it was last given back.
    last_used: u64,
    is_in_use: bool,
    /// Nobody finds it any more: it goes as soon as it can.
    is_outcast: bool,
}

/// A resource that was acquired: the key of its entry, and whether it was made for that.
pub(super) struct Acquired<D: Device> {
    pub(super) key: usize,
    pub(super) object: Object<D>,
    pub(super) is_new: bool,
}

/// A heap of overlapping resources.
pub(super) struct Heap<D: Device> {
    pub(super) id: u64,
    share: Arc<SharedHeap<D>>,
    pub(super) memory: MemoryTypeId,
    pub(super) category: HeapCategory,
    /// Bytes; of the heap itself.
    pub(super) alignment: u64,
    pub(super) taken: Taken,
    owners: Owners,
    entries: Slab<Entry<D>>,
    /// What can be found.
    by_place: FxHashMap<Key, usize>,
    /// The frame in which anything was last acquired in it.
    pub(super) last_used: u64,
    /// The end of the highest range taken since the last frame.
    pub(super) top: u64,
    /// It is a running graph's: nobody else may take from it.
    pub(super) is_claimed: bool,
}

impl<D: Device> Heap<D> {
    pub(super) fn new(id: u64, heap: D::Heap, desc: &crate::device::HeapDesc) -> Self {
        Self {
            id,
            share: Arc::new(SharedHeap { heap, size: desc.size }),
            memory: desc.memory,
            category: desc.category,
            alignment: desc.alignment,
            taken: Taken::default(),
            owners: Owners::default(),
            entries: Slab::new(),
            by_place: FxHashMap::default(),
            last_used: 0,
            top: 0,
            is_claimed: false,
        }
    }

    pub(super) fn room(&self) -> Room {
        Room { class: (self.memory, self.category), heap: self.id, size: self.size() }
    }

    /// Bytes.
    pub(super) fn size(&self) -> u64 {
        self.share.size
    }

    /// How many API resources it keeps.
    pub(super) fn cached(&self) -> usize {
        self.entries.len()
    }

    /// Those that nobody has acquired, and the views of them.
    pub(super) fn unused_objects(&self) -> usize {
        let unused = self.entries.iter().filter(|(_, entry)| !entry.is_in_use);
        unused.map(|(_, entry)| 1 + entry.object.views()).sum()
    }

    /// Whether it may hold such resources.
    pub(super) fn suits(&self, kind: &Kind) -> bool {
        crate::memory::allows(kind.needs.memory_types, self.memory)
            && self.category == kind.needs.category
            && self.alignment >= kind.heap_alignment
    }

    /// Whether a resource of this description, from an earlier frame than this one, waits for a taker,
    /// wherever.
    pub(super) fn has_idle(&self, kind: KindId, frame: u64) -> bool {
        let waits = |entry: &Entry<D>| !entry.is_in_use && !entry.is_outcast && entry.last_used < frame;
        self.entries.iter().any(|(_, entry)| entry.kind.id == kind && waits(entry))
    }

    /// Takes the bytes at `offset`, which are free, for a resource; made if there is none.
    pub(super) fn acquire(
        &mut self,
        shared: &Arc<Shared<D>>,
        taker: Taker,
        kind: &Arc<Kind>,
        name: &Name,
        offset: u64,
    ) -> Result<Acquired<D>, Error> {
        let found = self.find(shared, taker, kind, offset);
        let is_new = found.is_none();
        let key = match found {
            Some(key) => key,
            None => self.make(shared, taker, kind, name, offset)?,
        };
        let range = offset..offset.saturating_add(kind.needs.size);
        self.top = self.top.max(range.end);
        let Some(entry) = self.entries.get_mut(key) else { return Err(lost_entry(key)) };
        let losers = self.owners.take(range.clone(), key, &mut entry.before);
        let mut turn = Turn::new();
        for loser in losers {
            self.add_loser(loser, &mut turn);
        }
        let Some(entry) = self.entries.get_mut(key) else { return Err(lost_entry(key)) };
        entry.is_in_use = true;
        if entry.name != *name {
            entry.name = name.clone();
            let native = entry.object.native();
            shared.device().set_name(Permit::own(), ObjectRef::Resource(&native.object), name.as_str());
        }
        if let Some(seat) = entry.object.seat() {
            seat.acquire(taker.recording, turn);
        }
        let object = entry.object.clone();
        self.taken.take(range);
        Ok(Acquired { key, object, is_new })
    }

    /// A cached resource that the taker's queue may begin to use.
    fn find(&mut self, shared: &Shared<D>, taker: Taker, kind: &Kind, offset: u64) -> Option<usize> {
        let place = key_of(shared, taker, kind, offset);
        let key = *self.by_place.get(&place)?;
        let entry = self.entries.get_mut(key)?;
        let model = shared.device().properties().state_model;
        if !entry.is_in_use && entry.object.native().states.may_activate_on(taker.queue, model) {
            return Some(key);
        }
        entry.is_outcast = true;
        self.by_place.remove(&place);
        None
    }

    fn make(
        &mut self,
        shared: &Arc<Shared<D>>,
        taker: Taker,
        kind: &Arc<Kind>,
        name: &Name,
        offset: u64,
    ) -> Result<usize, Error> {
        shared.clock.check().map_err(|source| Error::device(name, source))?;
        let objects = &shared.pools.objects;
        let native = objects
            .create_placed(shared.device(), &kind.desc, &self.share.heap, offset, None, name)
            .map_err(|source| shared.refused(name, source))?;
        let seat = Arc::new(Seat::new(self.share.clone()));
        let object = object(shared, kind, name, Home { native, place: Place::Transient(seat) });
        let place = key_of(shared, taker, kind, offset);
        let key = self.entries.insert(Entry {
            kind: kind.clone(),
            name: name.clone(),
            place,
            object,
            before: Vec::new(),
            last_used: 0,
            is_in_use: false,
            is_outcast: false,
        });
        self.by_place.insert(place, key);
        Ok(key)
    }

    fn add_loser(&self, loser: Owner, turn: &mut Turn<D>) {
        match loser {
            Owner::Cached(key) => {
                if let Some(entry) = self.entries.get(key) {
                    turn.add_loser(entry.object.native(), entry.object.seat());
                }
            }
            Owner::Past(point) => {
                turn.others = State::all();
                turn.waits.merge(&point);
            }
        }
    }

    /// Gives back what was acquired; recordings up to `newest` that are open may still use it.
    pub(super) fn release(&mut self, key: usize, (newest, oldest): (u64, u64), frame: u64) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.is_in_use = false;
            entry.last_used = frame;
            self.last_used = frame;
            let range = range_of(entry);
            self.taken.drop_range(&range, newest, oldest);
            if entry.object.seat().is_some_and(|seat| seat.release()) {
                self.owners.give_back(range, &entry.before);
            }
        }
    }

    /// Destroys what was not wanted for `latency` frames beyond `capacity` resources of
    /// each sort, oldest first. Returns how many.
    pub(super) fn evict(&mut self, frame: u64, latency: u64, capacity: usize) -> u64 {
        let mut count = [0_usize; 2];
        for (_, entry) in &self.entries {
            count[usize::from(entry.object.is_texture())] += 1;
        }
        if count.iter().all(|count| *count <= capacity)
            && !self.entries.iter().any(|(_, entry)| entry.is_outcast)
        {
            return 0;
        }
        let is_old = |entry: &Entry<D>| entry.is_outcast || frame.saturating_sub(entry.last_used) >= latency;
        let mut old: Vec<(bool, u64, usize)> = self
            .entries
            .iter()
            .filter(|(_, entry)| !entry.is_in_use && is_old(entry) && entry.object.is_idle())
            .map(|(key, entry)| (!entry.is_outcast, entry.last_used, key))
            .collect();
        old.sort_unstable();
        let mut evicted = 0;
        for (_, _, key) in old {
            let Some(entry) = self.entries.get(key) else { continue };
            let count = &mut count[usize::from(entry.object.is_texture())];
            if entry.is_outcast || *count > capacity {
                *count -= 1;
                evicted += 1;
                self.remove(key);
            }
        }
        evicted
    }

    fn remove(&mut self, key: usize) {
        let Some(entry) = self.entries.try_remove(key) else { return };
        if self.by_place.get(&entry.place) == Some(&key) {
            self.by_place.remove(&entry.place);
        }
        let mut used = entry.object.native().states.used();
        if let Some(seat) = entry.object.seat() {
            let mut turn = Turn::new();
            seat.pass_on(&mut turn);
            used.merge(&turn.waits);
        }
        self.owners.retire(key, used);
    }

    /// True when nothing in it is acquired, nor may be used by a recording that is open.
    pub(super) fn is_idle(&mut self, oldest: u64) -> bool {
        self.taken.forget(oldest);
        self.taken.is_empty() && !self.is_claimed
    }

    /// Lets go of everything: what is cached goes through the release queue, and the last of it takes the
    /// heap along.
    pub(super) fn retire(self, shared: &Shared<D>) {
        let Self { share, entries, .. } = self;
        let seats = entries.iter().filter_map(|(_, entry)| entry.object.seat());
        seats.for_each(|seat| seat.forget_losers());
        drop(entries);
        shared.pools.leave_heap(shared.device(), share);
    }
}

fn range_of<D: Device>(entry: &Entry<D>) -> Range<u64> {
    let (_, offset, _) = entry.place;
    offset..offset.saturating_add(entry.kind.needs.size)
}

fn lost_entry(key: usize) -> Error {
    Error::Contract { rule: "a transient heap keeps its entries", value: key as u64 }
}

/// A handle for a resource that was just made.
pub(super) fn object<D: Device>(
    shared: &Arc<Shared<D>>,
    kind: &Kind,
    name: &Name,
    home: Home<D>,
) -> Object<D> {
    match &kind.desc {
        ResourceDesc::Texture(info) => {
            let texture = Texture::from_home(shared, name, info.clone(), home, kind.needs.size);
            Object::Texture(Arc::new(Cached::new(texture)))
        }
        ResourceDesc::Buffer(info) => {
            Object::Buffer(Arc::new(Cached::new(Buffer::from_home(shared, name, info, home))))
        }
    }
}
