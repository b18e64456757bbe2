//! The location of a movable resource, which can be exchanged while nothing uses it.
//!
//! A recording or a pending upload *holds* the location of each movable resource that it uses, until it is submitted. A
//! location without holders can be exchanged: commands submitted before use the old location, later ones get the new
//! location. If the program has requested its API object, the location is *pinned*: the resource never moves again.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use tenure_suballoc::BlockId;

use super::BlockTraits;
use super::block::{RangeId, Suballocation};
use super::exchangeable::{Exchangeable, Holder};
use super::location::{Backing, Location};
use super::policy::PlacementKind;
use crate::Name;
use crate::api_resource::ApiResource;
use crate::device::{Device, QueueSerial, ResourceDesc, State as UsageState, Subresource};
use crate::time::{Stamp, SyncPoint};

/// An API resource, and the offset of the location in it.
pub struct ApiPlace<D: Device> {
    pub api_resource: Arc<ApiResource<D>>,
    pub offset: u64,
}

impl<D: Device> Clone for ApiPlace<D> {
    fn clone(&self) -> Self {
        Self { api_resource: self.api_resource.clone(), offset: self.offset }
    }
}

/// The subresources of a resource that commands may have written.
#[derive(Clone, Debug, Default)]
pub struct UsedParts {
    all: bool,
    /// One bit per subresource.
    some: Vec<u64>,
}

impl UsedParts {
    fn note(&mut self, part: Subresource) {
        match part {
            Subresource::All => self.all = true,
            Subresource::One(index) => {
                let (word, bit) = (index as usize / 64, 1 << (index % 64));
                if self.some.len() <= word {
                    self.some.resize(word + 1, 0);
                }
                self.some[word] |= bit;
            }
        }
    }

    fn has(&self, part: Subresource) -> bool {
        let is_noted =
            |index: u32| self.some.get(index as usize / 64).is_some_and(|word| word & 1 << (index % 64) != 0);
        self.all || matches!(part, Subresource::One(index) if is_noted(index))
    }

    /// The noted subresources, out of `count`: all at once, or one by one.
    pub fn of(&self, count: u32) -> impl Iterator<Item = Subresource> + '_ {
        let is_used = |index: u32| {
            let word = self.some.get(index as usize / 64).copied().unwrap_or(0);
            !self.all && word & 1 << (index % 64) != 0
        };
        let all = self.all.then_some(Subresource::All);
        all.into_iter().chain((0..count).filter(move |index| is_used(*index)).map(Subresource::One))
    }

    pub fn is_empty(&self) -> bool {
        !self.all && self.some.is_empty()
    }
}

/// The state of a movable resource that changes when it moves.
pub struct Current<D: Device> {
    pub place: ApiPlace<D>,
    /// `None` once the resource is released.
    pub location: Option<Location<D>>,
    /// The stamp of the resource's arrival at this location.
    pub born: Stamp,
    pub used_parts: UsedParts,
    /// The submissions of its former holders, which may have written it without declaring a state.
    pub used: SyncPoint,
    /// Another location was allocated for the resource, and it has not moved there yet.
    pub is_planned: bool,
    /// The number of its moves.
    pub moves: u64,
    /// Whether it is in the list of moved resources.
    pub is_listed: bool,
    /// The submission that copied the content to this place.
    pub copied: Option<QueueSerial>,
}

impl<D: Device> Current<D> {
    /// Whether the resource is at this range of a pool.
    pub fn is_at(&self, range: RangeId) -> bool {
        match &self.location {
            Some(Location::Range(found) | Location::Placed(found)) => {
                found.pool == range.pool && found.handle == range.handle
            }
            _ => false,
        }
    }

    /// Whether several queues each own a part of the resource: a queue that copied all of it would own all of it afterwards.
    /// A part last written by a copy, such as an upload, is not included: its owner hands it over to the next user.
    pub fn is_divided(&self) -> bool {
        let states = &self.place.api_resource.states;
        !states.is_uniform() && {
            let is_used = |part: &u32| states.submitted(*part) != Some(UsageState::COPY_DST);
            let mut owners = (0..states.subresources()).filter(is_used).filter_map(|part| states.owner(part));
            let first = owners.next();
            owners.any(|owner| Some(owner) != first)
        }
    }

    /// Whether the resource is in this block of its pool.
    pub fn is_in(&self, block: BlockId) -> bool {
        match &self.location {
            Some(Location::Range(found) | Location::Placed(found)) => found.block == block,
            _ => false,
        }
    }
}

/// Unique id of a movable resource within its manager; ids are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MovableId(pub u64);

impl MovableId {
    /// The number, which is unique among all movable resources that the manager ever creates.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The requirements of a resource on its location.
#[derive(Clone, Debug)]
pub struct PlaceNeeds {
    /// The resource placed in a heap; for a range, the equivalent separate buffer.
    pub desc: ResourceDesc,
    /// Bytes reserved for a range or a placed resource.
    pub size: u64,
    /// Bytes; a power of two.
    pub alignment: u64,
    /// The offset in a shared buffer is a multiple of this.
    pub step: u64,
    /// The placement chosen by the policy.
    pub placement: PlacementKind,
    pub traits: BlockTraits,
    /// One bit for each memory type that can hold the resource.
    pub memory_types: u32,
}

impl PlaceNeeds {
    /// The offset of the resource in an API buffer, in a range at offset `range`.
    pub fn offset(&self, range: u64) -> u64 {
        if self.step > self.alignment { range.next_multiple_of(self.step) } else { range }
    }
}

/// The backing of a movable resource.
pub struct MovableBacking<D: Device> {
    pub current: Exchangeable<Current<D>>,
    /// The place, once the resource is pinned.
    pinned: OnceLock<ApiPlace<D>>,
    pub needs: PlaceNeeds,
    pub name: Name,
    pub id: MovableId,
    /// The key of its entry in the registry.
    registry_key: OnceLock<u64>,
}

impl<D: Device> fmt::Debug for MovableBacking<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MovableBacking").field("name", &self.name).field("needs", &self.needs).finish()
    }
}

impl<D: Device> MovableBacking<D> {
    pub fn new(
        Backing { api_resource, location }: Backing<D>,
        needs: PlaceNeeds,
        born: Stamp,
        name: &Name,
        id: MovableId,
    ) -> Self {
        let offset = needs.offset(location.offset());
        let current = Current {
            place: ApiPlace { api_resource, offset },
            location: Some(location),
            born,
            used_parts: UsedParts::default(),
            used: SyncPoint::NONE,
            is_planned: false,
            moves: 0,
            is_listed: false,
            copied: None,
        };
        let current = Exchangeable::new(current);
        let (pinned, registry_key) = (OnceLock::new(), OnceLock::new());
        Self { current, pinned, needs, name: name.clone(), id, registry_key }
    }

    /// Notes the key of its registry entry, once.
    pub fn set_registry_key(&self, registry_key: u64) {
        let _was_empty = self.registry_key.set(registry_key);
    }

    pub fn registry_key(&self) -> Option<u64> {
        self.registry_key.get().copied()
    }

    /// Pins the resource, and returns its final place.
    #[inline]
    pub fn pin(&self) -> &ApiPlace<D> {
        self.pinned.get().unwrap_or_else(|| self.pin_now())
    }

    #[cold]
    fn pin_now(&self) -> &ApiPlace<D> {
        // From now on the program may write anywhere at any time; the used parts are neither tracked nor needed any more.
        let place = self.current.pin(|current| current.place.clone());
        self.pinned.get_or_init(|| place)
    }

    /// The current location, for holders and for queries.
    pub fn place(&self) -> ApiPlace<D> {
        self.current.read(|current| current.place.clone())
    }

    /// The requirements for another location, if the resource is at this range; `None` if it cannot move, or is about to.
    pub fn needs_at(&self, range: RangeId) -> Option<&PlaceNeeds> {
        let current = self.current.lock();
        let may_move = !current.is_pinned() && !current.value().is_planned && !current.value().is_divided();
        (may_move && current.value().is_at(range)).then_some(&self.needs)
    }

    /// Marks the resource as about to move from this range, until the move is made or cancelled. False, without an effect, if
    /// it is not there or is about to move already.
    pub fn plan(&self, from: RangeId) -> bool {
        self.current.change(|current| {
            let is_possible = current.is_at(from) && !current.is_planned;
            current.is_planned |= is_possible;
            is_possible
        })
    }

    /// Takes the backing out, with its time of arrival, once nothing refers to the resource any more.
    pub fn take(&self) -> Option<(Backing<D>, Stamp)> {
        self.current.change(|current| {
            let location = current.location.take()?;
            Some((Backing { api_resource: current.place.api_resource.clone(), location }, current.born))
        })
    }
}

/// A hold of a movable resource's location, until this is dropped.
pub struct PlaceHold<D: Device> {
    movable: Arc<MovableBacking<D>>,
    /// The submission that uses it.
    used: Option<QueueSerial>,
}

impl<D: Device> Drop for PlaceHold<D> {
    #[inline]
    fn drop(&mut self) {
        let used = self.used;
        self.movable.current.end_hold(|current| {
            used.into_iter().for_each(|at| current.used.require(at.queue, at.serial));
        });
    }
}

/// The movable resources whose places a recording or an upload holds.
pub struct PlaceHolds<D: Device> {
    holder: Holder,
    holds: Vec<PlaceHold<D>>,
    /// The subresources that the recording writes if it is submitted, and that nothing has written before.
    written: Vec<(Arc<MovableBacking<D>>, Subresource)>,
    /// The submissions that copied the held resources to their current places.
    copied: SyncPoint,
}

impl<D: Device> PlaceHolds<D> {
    pub const fn new(holder: Holder) -> Self {
        Self { holder, holds: Vec::new(), written: Vec::new(), copied: SyncPoint::NONE }
    }

    /// Holds the location of a resource, and returns it. `written`: the part that commands may write; for a buffer, always
    /// all of it.
    #[inline]
    pub fn hold(&mut self, movable: &Arc<MovableBacking<D>>, written: Option<Subresource>) -> ApiPlace<D> {
        let written = match movable.needs.desc {
            ResourceDesc::Buffer(_) => Some(Subresource::All),
            // A subresource that does not exist is reported later.
            ResourceDesc::Texture(_) => written.filter(|part| match part {
                Subresource::All => true,
                Subresource::One(index) => *index < movable.needs.desc.subresources(),
            }),
        };
        let ((place, copied, written), is_new) = movable.current.hold(self.holder, |current| {
            let written = written.filter(|part| !current.used_parts.has(*part));
            (current.place.clone(), current.copied, written)
        });
        if let Some(part) = written {
            self.note_written(movable, part);
        }
        if is_new {
            self.holds.push(PlaceHold { movable: movable.clone(), used: None });
            copied.into_iter().for_each(|at| self.copied.require(at.queue, at.serial));
        }
        place
    }

    /// The submissions that copied the held resources to their current places; users of the resources must wait
    /// for them.
    pub const fn copied(&self) -> &SyncPoint {
        &self.copied
    }

    /// Resets the holds for another recording.
    pub fn begin(&mut self, holder: Holder) {
        self.holder = holder;
    }

    /// Notes a part that commands write. Writes of a recording to textures take effect only when it is submitted: until then
    /// there is no content to copy, and targets without content must not be copied.
    #[cold]
    fn note_written(&mut self, movable: &Arc<MovableBacking<D>>, part: Subresource) {
        if self.holder == Holder::NO_RECORDING || matches!(movable.needs.desc, ResourceDesc::Buffer(_)) {
            movable.current.change(|current| current.used_parts.note(part));
        } else {
            self.written.push((movable.clone(), part));
        }
    }

    /// Notes that the recording was submitted: a later move of the held resources waits for `at`, and copies
    /// the parts that the recording wrote.
    pub fn note_used(&mut self, at: QueueSerial) {
        for (movable, part) in self.written.drain(..) {
            movable.current.change(|current| current.used_parts.note(part));
        }
        self.holds.iter_mut().for_each(|hold| hold.used = Some(at));
    }

    /// Ends all holds.
    pub fn end(&mut self) {
        self.holds.clear();
        self.written.clear();
        self.copied = SyncPoint::NONE;
    }

    /// The holds, without the rest.
    pub fn into_inner(self) -> Vec<PlaceHold<D>> {
        self.holds
    }
}

/// A location allocated for a resource that should move.
pub struct PlannedMove<D: Device> {
    /// Weak, because a dropped resource does not move.
    pub movable: Weak<MovableBacking<D>>,
    /// The range that the resource leaves.
    pub from: RangeId,
    /// The range that the resource moves to.
    pub to: Suballocation,
}

impl<D: Device> PlannedMove<D> {
    /// Whether the resource stays in its pool: it then moves because its block is being emptied.
    pub fn is_within_pool(&self) -> bool {
        self.from.pool == self.to.pool
    }
}

impl<D: Device> Clone for PlannedMove<D> {
    fn clone(&self) -> Self {
        Self { movable: self.movable.clone(), from: self.from, to: self.to }
    }
}
