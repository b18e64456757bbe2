//! The descriptor of a view of a movable resource, which is replaced after each move.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::followers::WeakFollower;
use super::service::DescriptorService;
use crate::descriptor_store::CpuSlot;
use crate::device::{BufferView, Descriptor, DescriptorKind, Device, TextureView};
use crate::held_objects::LazyHeldObjects;
use crate::memory::{ApiPlace, Holder, MakeRoom, MovableBacking, PlaceHolds};
use crate::time::Stamp;
use crate::{Error, Name};

/// The part of a resource in a view.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shows {
    /// For a movable buffer, the offset is relative to the buffer.
    Buffer(BufferView),
    Texture(TextureView),
}

impl Shows {
    /// The descriptor of an API resource; offsets are relative to its byte `begin`.
    pub(super) const fn descriptor<D: Device>(self, resource: &D::Resource, begin: u64) -> Descriptor<'_, D> {
        match self {
            Self::Buffer(view) => {
                let view = BufferView { offset: begin + view.offset, ..view };
                Descriptor::Buffer { resource, view }
            }
            Self::Texture(view) => Descriptor::Texture { resource, view },
        }
    }
}

/// An object that depends on the location of a movable resource: the current version, and the one for the
/// new location.
pub(super) struct Following<T>(Mutex<State<T>>);

struct State<T> {
    /// `None` once it is dropped.
    current: Option<T>,
    /// The version for the new place, during a move.
    next: Option<T>,
    /// The unneeded version after a move, until it is released.
    former: Option<T>,
}

impl<T> Following<T> {
    pub(super) const fn new(current: T) -> Self {
        Self(Mutex::new(State { current: Some(current), next: None, former: None }))
    }

    /// Reads the version after the current move.
    pub(super) fn read_next<R>(&self, read: impl FnOnce(&T) -> R) -> Option<R> {
        let state = self.0.lock();
        state.next.as_ref().or(state.current.as_ref()).map(read)
    }

    /// Makes the version after the current move, unless the object is dropped or the version exists already.
    /// False on failure.
    pub(super) fn follow<D: Device, E: Display>(
        &self,
        service: &DescriptorService<D>,
        make: impl FnOnce() -> Result<T, E>,
    ) -> bool {
        let is_ready = {
            let state = self.0.lock();
            state.current.is_none() || state.next.is_some()
        };
        if is_ready {
            return true;
        }
        match make() {
            Ok(next) => {
                let twice = self.0.lock().next.replace(next);
                debug_assert!(twice.is_none(), "one thread moves things at a time");
                true
            }
            Err(error) => {
                service.store().note_stuck(&error);
                false
            }
        }
    }

    /// Replaces the current version by the new one.
    pub(super) fn finish(&self) {
        let state = &mut *self.0.lock();
        if let Some(next) = state.next.take() {
            state.former = match &mut state.current {
                Some(current) => Some(std::mem::replace(current, next)),
                None => Some(next),
            };
        }
    }

    /// Discards the new version.
    pub(super) fn cancel(&self) {
        let state = &mut *self.0.lock();
        if let Some(next) = state.next.take() {
            state.former = Some(next);
        }
    }

    /// Takes out the unneeded version.
    pub(super) fn take_former(&self) -> Option<T> {
        self.0.lock().former.take()
    }

    /// Takes out the current version, because the object is dropped.
    pub(super) fn take(&self) -> Option<T> {
        self.0.lock().current.take()
    }
}

/// The descriptor of a view of a movable resource.
pub(crate) struct MovableSlot<D: Device> {
    pub(super) movable: Arc<MovableBacking<D>>,
    shows: Shows,
    name: Name,
    kind: DescriptorKind,
    pub(super) slot: Following<CpuSlot<D>>,
    /// The place, once the resource is pinned.
    pinned: OnceLock<(Arc<D::DescriptorHeap>, u32)>,
    born: Stamp,
    /// Declared last, as in every handle.
    service: Arc<DescriptorService<D>>,
}

/// The heap and the index of a descriptor.
fn place_of<D: Device>(slot: &CpuSlot<D>) -> (Arc<D::DescriptorHeap>, u32) {
    (slot.slot.object.clone(), slot.index())
}

impl<D: Device> MovableSlot<D> {
    pub(super) fn make(
        service: &Arc<DescriptorService<D>>,
        room: &dyn MakeRoom,
        movable: &Arc<MovableBacking<D>>,
        name: &Name,
        shows: Shows,
    ) -> Result<Arc<Self>, Error> {
        // Holds the place until the follower is registered.
        let mut holds = PlaceHolds::new(Holder::NO_RECORDING);
        let ApiPlace { api_resource, offset } = holds.hold(movable, None);
        let slot = service.make_descriptor(room, name, &shows.descriptor(&api_resource.object, offset))?;
        let made = Arc::new(Self {
            movable: movable.clone(),
            shows,
            name: name.clone(),
            kind: slot.kind,
            slot: Following::new(slot),
            pinned: OnceLock::new(),
            born: service.context.clock.stamp(),
            service: service.clone(),
        });
        service.followers.add(movable, WeakFollower::View(Arc::downgrade(&made)));
        Ok(made)
    }

    pub(super) const fn kind(&self) -> DescriptorKind {
        self.kind
    }

    /// Pins the resource, and returns the final descriptor.
    pub(super) fn pin(&self) -> (&D::DescriptorHeap, u32) {
        let (heap, index) = self.pinned.get_or_init(|| {
            self.movable.pin();
            self.next()
        });
        (heap, *index)
    }

    /// The descriptor. Keeps it and the place of its resource while the recording is open.
    pub(super) fn hold<'s>(&'s self, held: LazyHeldObjects<'s, D>) -> (&'s D::DescriptorHeap, u32) {
        let held = held.get();
        held.hold(&self.movable);
        let (heap, index) = self.next();
        (held.keep_heap(heap), index)
    }

    /// The descriptor after the current move.
    pub(super) fn next(&self) -> (Arc<D::DescriptorHeap>, u32) {
        match self.slot.read_next(place_of) {
            Some(found) => found,
            None => unreachable!("it has a descriptor as long as there is a view"),
        }
    }

    /// Notes that the view was dropped.
    pub(super) fn retire(&self) {
        self.slot.take().into_iter().for_each(|slot| self.service.retire_descriptor(slot, self.born));
    }
    /// Makes the descriptor for the new place of the resource. False on failure.
    pub(super) fn follow(&self, room: &dyn MakeRoom, to: &ApiPlace<D>) -> bool {
        let descriptor = self.shows.descriptor(&to.api_resource.object, to.offset);
        self.slot.follow(&self.service, || self.service.make_descriptor(room, &self.name, &descriptor))
    }

    /// Releases the unneeded descriptor.
    pub(super) fn settle(&self) {
        let former = self.slot.take_former();
        former.into_iter().for_each(|slot| self.service.retire_descriptor(slot, self.born));
    }
}

impl<D: Device> Drop for MovableSlot<D> {
    fn drop(&mut self) {
        self.service.followers.note_gone(&self.movable);
    }
}
