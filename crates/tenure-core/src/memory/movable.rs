//! Where a movable resource is: a place that may be exchanged for another while nothing uses it.
//!
//! Whoever has commands use a movable resource *holds* its place until they are submitted: a recording, or an upload
//! that is pending. A place that nobody holds can be exchanged: what was submitted by then used the old place, and
//! whoever asks later gets the new one. A place that a program has taken out for good is *pinned*, and stays.
//!
//! The lock of a place is held for a few nanoseconds, and by an exchange until the copy of the content is submitted,
//! so that nobody can submit anything between the exchange and the copy.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use tenure_suballoc::BlockId;

use super::BlockTraits;
use super::location::{Backing, Location};
use super::policy::Placement;
use super::pool::{RangeId, Suballocation};
use crate::Name;
use crate::api_resource::ApiResource;
use crate::device::{Device, QueueSerial, ResourceDesc, State as UsageState, Subresource};
use crate::sync::{Mutex, MutexGuard};
use crate::time::{Stamp, SyncPoint};

/// A value that stays the same as long as it is held or pinned.
#[derive(Debug)]
pub(crate) struct Exchangeable<T>(Mutex<State<T>>);

#[derive(Debug)]
struct State<T> {
    value: T,
    /// Those who hold it.
    holders: u32,
    /// The number of the holder that came last; 0: it had none.
    last_holder: u64,
    is_pinned: bool,
}

/// Who holds a place: the number of a recording, which no other has; 0: it is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Holder(pub(crate) u64);

impl Holder {
    /// No recording: an upload, say, which is no use of what it fills.
    pub(crate) const NO_RECORDING: Self = Self(0);
}

impl<T> Exchangeable<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Mutex::new(State { value, holders: 0, last_holder: 0, is_pinned: false }))
    }

    /// Reads the value, which stays the same until [`let_go`](Self::let_go). A recording holds it once, however often it
    /// asks in a row: the second result is whether it holds it from now on.
    #[inline]
    pub(crate) fn hold<R>(&self, holder: Holder, read: impl FnOnce(&mut T) -> R) -> (R, bool) {
        let state = &mut *self.0.lock();
        let is_new = holder == Holder::NO_RECORDING || state.last_holder != holder.0;
        if is_new {
            state.holders += 1;
            if holder != Holder::NO_RECORDING {
                state.last_holder = holder.0;
            }
        }
        (read(&mut state.value), is_new)
    }

    /// Ends a hold, and changes the value for whoever looks at it next.
    #[inline]
    pub(crate) fn let_go(&self, change: impl FnOnce(&mut T)) {
        let mut state = self.0.lock();
        state.holders = state.holders.saturating_sub(1);
        change(&mut state.value);
    }

    /// Reads the value, which stays the same for good.
    pub(crate) fn pin<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        let mut state = self.0.lock();
        state.is_pinned = true;
        read(&state.value)
    }

    /// Reads the value as it is at this moment.
    pub(crate) fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.0.lock().value)
    }

    /// Changes the value for its owner, whoever holds it.
    pub(crate) fn change<R>(&self, change: impl FnOnce(&mut T) -> R) -> R {
        change(&mut self.0.lock().value)
    }

    /// Keeps everybody out while the value is exchanged.
    pub(crate) fn lock(&self) -> Exchange<'_, T> {
        Exchange(self.0.lock())
    }
}

/// A value that is being exchanged: nobody else reads it meanwhile.
#[derive(Debug)]
pub(crate) struct Exchange<'a, T>(MutexGuard<'a, State<T>>);

impl<T> Exchange<'_, T> {
    /// The number of the holder that came last: the higher, the later it was used.
    pub(crate) fn last_holder(&self) -> u64 {
        self.0.last_holder
    }

    pub(crate) fn is_held(&self) -> bool {
        self.holders() > 0
    }

    /// Those who hold it.
    pub(crate) fn holders(&self) -> u32 {
        self.0.holders
    }

    pub(crate) fn is_pinned(&self) -> bool {
        self.0.is_pinned
    }

    pub(crate) fn value(&self) -> &T {
        &self.0.value
    }

    /// The value, to be exchanged when nobody holds it and it is not pinned.
    pub(crate) fn value_mut(&mut self) -> &mut T {
        &mut self.0.value
    }
}

/// An API resource, and the byte of it at which something begins.
pub(crate) struct ApiPlace<D: Device> {
    pub(crate) api_resource: Arc<ApiResource<D>>,
    pub(crate) offset: u64,
}

impl<D: Device> Clone for ApiPlace<D> {
    fn clone(&self) -> Self {
        Self { api_resource: self.api_resource.clone(), offset: self.offset }
    }
}

/// The subresources of a resource that commands may have written.
#[derive(Clone, Debug, Default)]
pub(crate) struct UsedParts {
    all: bool,
    /// A bit each.
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

    /// Of so many subresources: all at once, or one by one.
    pub(crate) fn of(&self, count: u32) -> impl Iterator<Item = Subresource> + '_ {
        let is_used = |index: u32| {
            let word = self.some.get(index as usize / 64).copied().unwrap_or(0);
            !self.all && word & 1 << (index % 64) != 0
        };
        let all = self.all.then_some(Subresource::All);
        all.into_iter().chain((0..count).filter(move |index| is_used(*index)).map(Subresource::One))
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.all && self.some.is_empty()
    }
}

/// What is exchanged when a resource moves.
pub(crate) struct Current<D: Device> {
    pub(crate) place: ApiPlace<D>,
    /// `None` once the resource is gone.
    pub(crate) location: Option<Location<D>>,
    /// When it got there.
    pub(crate) born: Stamp,
    pub(crate) used_parts: UsedParts,
    /// The submissions of those who held it, which may have written it without naming a state.
    pub(crate) used: SyncPoint,
    /// Another place was found for it, and it has not moved there yet.
    pub(crate) is_planned: bool,
    /// How often it has moved.
    pub(crate) moves: u64,
    /// It is in the list of what has moved.
    pub(crate) is_listed: bool,
    /// The submission that copied its content to where it is.
    pub(crate) copied: Option<QueueSerial>,
}

impl<D: Device> Current<D> {
    /// Whether it is at a range of a pool.
    pub(crate) fn is_at(&self, range: RangeId) -> bool {
        match &self.location {
            Some(Location::Range(found) | Location::Placed(found)) => {
                found.pool == range.pool && found.handle == range.handle
            }
            _ => false,
        }
    }

    /// Whether several queues own a part of it each: one that copied all of it would own it all afterwards. Who has only
    /// written a part by a copy, the last upload say, hands it over to whoever uses it next.
    pub(crate) fn is_divided(&self) -> bool {
        let states = &self.place.api_resource.states;
        !states.is_uniform() && {
            let is_used = |part: &u32| states.submitted(*part) != Some(UsageState::COPY_DST);
            let mut owners = (0..states.subresources()).filter(is_used).filter_map(|part| states.owner(part));
            let first = owners.next();
            owners.any(|owner| Some(owner) != first)
        }
    }

    /// Whether it is in a block of its pool.
    pub(crate) fn is_in(&self, block: BlockId) -> bool {
        match &self.location {
            Some(Location::Range(found) | Location::Placed(found)) => found.block == block,
            _ => false,
        }
    }
}

/// What tells a [movable](crate::BufferDesc::movable) resource from all others that its manager ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MovableId(pub(crate) u64);

impl MovableId {
    /// The number, which no other movable resource of the manager ever has.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// What a resource needs of a place.
#[derive(Clone, Debug)]
pub(crate) struct PlaceNeeds {
    /// What is placed in a heap; of a range, what it would be by itself.
    pub(crate) desc: ResourceDesc,
    /// Bytes that a range or a placed resource takes.
    pub(crate) size: u64,
    /// Bytes; a power of two.
    pub(crate) alignment: u64,
    /// Its offset in a shared buffer is a multiple of this.
    pub(crate) step: u64,
    /// Where the policy sends it.
    pub(crate) placement: Placement,
    pub(crate) traits: BlockTraits,
    /// A bit for each memory type that it can be in.
    pub(crate) memory_types: u32,
}

impl PlaceNeeds {
    /// The byte at which it begins in a range that begins at a byte of an API buffer.
    pub(crate) fn offset(&self, range: u64) -> u64 {
        if self.step > self.alignment { range.next_multiple_of(self.step) } else { range }
    }
}

/// The backing of a movable resource.
pub(crate) struct MovableBacking<D: Device> {
    pub(crate) current: Exchangeable<Current<D>>,
    /// Its place, once that was taken out for good.
    pinned: OnceLock<ApiPlace<D>>,
    pub(crate) needs: PlaceNeeds,
    pub(crate) name: Name,
    pub(crate) id: MovableId,
    /// The number of its record in the registry.
    record: OnceLock<u64>,
}

impl<D: Device> fmt::Debug for MovableBacking<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MovableBacking").field("name", &self.name).field("needs", &self.needs).finish()
    }
}

impl<D: Device> MovableBacking<D> {
    pub(crate) fn new(
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
        let (pinned, record) = (OnceLock::new(), OnceLock::new());
        Self { current, pinned, needs, name: name.clone(), id, record }
    }

    /// Notes the number of its record, once.
    pub(crate) fn set_record(&self, record: u64) {
        let _was_empty = self.record.set(record);
    }

    pub(crate) fn record(&self) -> Option<u64> {
        self.record.get().copied()
    }

    /// Where it is for good, from now on.
    #[inline]
    pub(crate) fn pin(&self) -> &ApiPlace<D> {
        self.pinned.get().unwrap_or_else(|| self.pin_now())
    }

    #[cold]
    fn pin_now(&self) -> &ApiPlace<D> {
        // Whatever may have been written from now on is not followed any more, nor has it to be.
        let place = self.current.pin(|current| current.place.clone());
        self.pinned.get_or_init(|| place)
    }

    /// Where it is at this moment: for whoever holds it, or only asks.
    pub(crate) fn place(&self) -> ApiPlace<D> {
        self.current.read(|current| current.place.clone())
    }

    /// What a range needs of another place; `None` if what lives there cannot move, or is on its way.
    pub(crate) fn needs_at(&self, range: RangeId) -> Option<&PlaceNeeds> {
        let current = self.current.lock();
        let may_move = !current.is_pinned() && !current.value().is_planned && !current.value().is_divided();
        (may_move && current.value().is_at(range)).then_some(&self.needs)
    }

    /// Its backing, when nobody refers to it any more, and when it got there.
    pub(crate) fn take(&self) -> Option<(Backing<D>, Stamp)> {
        self.current.change(|current| {
            let location = current.location.take()?;
            Some((Backing { api_resource: current.place.api_resource.clone(), location }, current.born))
        })
    }
}

/// A hold of a movable resource's place, until this is dropped.
pub(crate) struct PlaceHold<D: Device> {
    movable: Arc<MovableBacking<D>>,
    /// The submission that uses it.
    used: Option<QueueSerial>,
}

impl<D: Device> Drop for PlaceHold<D> {
    #[inline]
    fn drop(&mut self) {
        let used = self.used;
        self.movable.current.let_go(|current| {
            used.into_iter().for_each(|at| current.used.require(at.queue, at.serial));
        });
    }
}

/// The movable resources whose places a recording, or an upload, holds.
pub(crate) struct PlaceHolds<D: Device> {
    holder: Holder,
    holds: Vec<PlaceHold<D>>,
    /// The subresources that the recording writes, if it is submitted, and nothing has written before.
    written: Vec<(Arc<MovableBacking<D>>, Subresource)>,
    /// The submissions that have copied what is held to where it is.
    copied: SyncPoint,
}

impl<D: Device> PlaceHolds<D> {
    pub(crate) const fn new(holder: Holder) -> Self {
        Self { holder, holds: Vec::new(), written: Vec::new(), copied: SyncPoint::NONE }
    }

    /// Where a resource is, as long as this lives. Commands write that part of it, if any; of a buffer any may.
    #[inline]
    pub(crate) fn hold(
        &mut self,
        movable: &Arc<MovableBacking<D>>,
        written: Option<Subresource>,
    ) -> ApiPlace<D> {
        let written = match movable.needs.desc {
            ResourceDesc::Buffer(_) => Some(Subresource::All),
            // Who names what there is not is told so, later.
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

    /// The submissions that have copied what is held to where it is: whatever uses it comes after these.
    pub(crate) const fn copied(&self) -> &SyncPoint {
        &self.copied
    }

    /// Begins anew, for another recording.
    pub(crate) fn begin(&mut self, holder: Holder) {
        self.holder = holder;
    }

    /// Commands write a part. What a recording writes of textures counts only when it is submitted: there is nothing to
    /// copy before, and targets without content must not be copied.
    #[cold]
    fn note_written(&mut self, movable: &Arc<MovableBacking<D>>, part: Subresource) {
        if self.holder == Holder::NO_RECORDING || matches!(movable.needs.desc, ResourceDesc::Buffer(_)) {
            movable.current.change(|current| current.used_parts.note(part));
        } else {
            self.written.push((movable.clone(), part));
        }
    }

    /// The recording was submitted: what it holds moves after that, with what it has written.
    pub(crate) fn note_used(&mut self, at: QueueSerial) {
        for (movable, part) in self.written.drain(..) {
            movable.current.change(|current| current.used_parts.note(part));
        }
        self.holds.iter_mut().for_each(|hold| hold.used = Some(at));
    }

    /// Ends all holds.
    pub(crate) fn end(&mut self) {
        self.holds.clear();
        self.written.clear();
        self.copied = SyncPoint::NONE;
    }

    /// The holds alone.
    pub(crate) fn into_inner(self) -> Vec<PlaceHold<D>> {
        self.holds
    }
}

/// A place that was found for something that is to move.
pub(crate) struct PlannedMove<D: Device> {
    /// Weak: what is dropped does not move.
    pub(crate) movable: Weak<MovableBacking<D>>,
    /// The range that it leaves.
    pub(crate) from: RangeId,
    /// The range that it moves to.
    pub(crate) to: Suballocation,
}

impl<D: Device> PlannedMove<D> {
    /// Whether it stays in its pool: then it moves because its block is emptied.
    pub(crate) fn is_within_pool(&self) -> bool {
        self.from.pool == self.to.pool
    }
}

impl<D: Device> Clone for PlannedMove<D> {
    fn clone(&self) -> Self {
        Self { movable: self.movable.clone(), from: self.from, to: self.to }
    }
}

#[cfg(all(test, loom))]
mod tests {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    use super::{Exchangeable, Holder};
    use crate::sync::Mutex;

    const HOLDER: Holder = Holder(7);

    /// What is submitted to a queue, in order.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Submitted {
        /// Commands write so much to a place.
        Write(usize, u32),
        /// The content of a place is copied to the next.
        Copy(usize),
    }

    /// A place, and whether the resource is still there.
    struct Current {
        at: usize,
        is_gone: bool,
    }

    /// A recording writes a movable resource, and another one perhaps after it was dropped, while it moves up to twice: what
    /// is submitted writes where the content is at that point of the queue, so that no write is lost, and what was dropped
    /// does not move.
    #[test]
    fn writes_go_where_the_content_is() {
        loom::model(|| {
            let place = Arc::new(Exchangeable::new(Current { at: 0, is_gone: false }));
            let queue = Arc::new(Mutex::new(Vec::new()));
            let recording = {
                let (place, queue) = (place.clone(), queue.clone());
                thread::spawn(move || {
                    let (at, _) = place.hold(HOLDER, |place| place.at);
                    queue.lock().push(Submitted::Write(at, 1));
                    place.let_go(|_| ());
                })
            };
            let mover = {
                let (place, queue) = (place.clone(), queue.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        let mut exchange = place.lock();
                        if !exchange.is_held() && !exchange.is_pinned() && !exchange.value().is_gone {
                            queue.lock().push(Submitted::Copy(exchange.value().at));
                            exchange.value_mut().at += 1;
                        }
                    }
                })
            };
            // An upload, and the drop of the last handle.
            let (at, _) = place.hold(Holder::NO_RECORDING, |place| place.at);
            queue.lock().push(Submitted::Write(at, 2));
            place.let_go(|_| ());
            let left = place.change(|place| {
                place.is_gone = true;
                place.at
            });
            recording.join().unwrap();
            mover.join().unwrap();
            let (mut content, mut written) = (0, 0);
            for submitted in queue.lock().iter() {
                match *submitted {
                    Submitted::Write(at, what) => {
                        assert_eq!(at, content, "written where nobody looks");
                        written |= what;
                    }
                    Submitted::Copy(from) => {
                        assert_eq!(from, content, "copied from where it is");
                        content += 1;
                    }
                }
            }
            assert_eq!((written, content), (3, left), "what was dropped has not moved");
        });
    }

    /// Two threads hold the value and look twice, one pins it, and another exchanges it: what is held or pinned never
    /// changes.
    #[test]
    fn what_is_held_or_pinned_stays() {
        loom::model(|| {
            let value = Arc::new(Exchangeable::new(1));
            let exchanges = Arc::new(AtomicUsize::new(0));
            let holder = {
                let value = value.clone();
                thread::spawn(move || {
                    let (seen, is_new) = value.hold(HOLDER, |value| *value);
                    assert!(is_new);
                    assert_eq!(value.hold(HOLDER, |value| *value).0, seen);
                    assert_eq!(value.read(|value| *value), seen);
                    value.let_go(|_| ());
                })
            };
            let mover = {
                let (value, exchanges) = (value.clone(), exchanges.clone());
                thread::spawn(move || {
                    let mut exchange = value.lock();
                    if !exchange.is_held() && !exchange.is_pinned() {
                        *exchange.value_mut() += 1;
                        exchanges.fetch_add(1, Ordering::Relaxed);
                    }
                })
            };
            let pinned = value.pin(|value| *value);
            holder.join().unwrap();
            mover.join().unwrap();
            assert_eq!(value.read(|value| *value), pinned);
            assert!(exchanges.load(Ordering::Relaxed) < 2);
        });
    }
}
