//! The descriptor of a view of what can move: another one whenever that has moved.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::followers::WeakFollower;
use super::service::DescriptorService;
use crate::descriptor_store::CpuSlot;
use crate::device::{BufferView, Descriptor, DescriptorKind, Device, TextureView};
use crate::memory::{ApiPlace, Holder, MakeRoom, MovableBacking, PlaceHolds};
use crate::places::Places;
use crate::time::Stamp;
use crate::{Error, Name};

/// What a view shows of a resource.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shows {
    /// Of a buffer that can move, the offset counts from its beginning.
    Buffer(BufferView),
    Texture(TextureView),
}

impl Shows {
    /// The descriptor of an API resource; `begin` is the byte of it that the offset counts from.
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

/// Something that shows what moves: what is there, and what is made for the new place.
pub(super) struct Following<T>(Mutex<State<T>>);

struct State<T> {
    /// `None` once it is gone.
    current: Option<T>,
    /// While something moves.
    next: Option<T>,
    /// What is not needed any more, until everybody may go on.
    former: Option<T>,
}

impl<T> Following<T> {
    pub(super) const fn new(current: T) -> Self {
        Self(Mutex::new(State { current: Some(current), next: None, former: None }))
    }

    /// Reads what there will be once what moves at this moment has moved.
    pub(super) fn read_next<R>(&self, read: impl FnOnce(&T) -> R) -> Option<R> {
        let state = self.0.lock();
        state.next.as_ref().or(state.current.as_ref()).map(read)
    }

    /// Makes what there will be once what moves at this moment has moved, unless it is gone or there is one already. False
    /// when it cannot be made.
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

    /// What was made takes the place of what was there.
    pub(super) fn finish(&self) {
        let state = &mut *self.0.lock();
        if let Some(next) = state.next.take() {
            state.former = match &mut state.current {
                Some(current) => Some(std::mem::replace(current, next)),
                None => Some(next),
            };
        }
    }

    /// What was made is not needed.
    pub(super) fn cancel(&self) {
        let state = &mut *self.0.lock();
        if let Some(next) = state.next.take() {
            state.former = Some(next);
        }
    }

    /// What is not needed any more.
    pub(super) fn take_former(&self) -> Option<T> {
        self.0.lock().former.take()
    }

    /// It is gone: what was there.
    pub(super) fn take(&self) -> Option<T> {
        self.0.lock().current.take()
    }
}

/// The descriptor of a view of what can move.
pub(crate) struct MovableSlot<D: Device> {
    pub(super) movable: Arc<MovableBacking<D>>,
    shows: Shows,
    name: Name,
    kind: DescriptorKind,
    pub(super) slot: Following<CpuSlot<D>>,
    /// Once its place was taken out for good.
    pinned: OnceLock<(Arc<D::DescriptorHeap>, u32)>,
    born: Stamp,
    /// Declared last, as in every handle.
    service: Arc<DescriptorService<D>>,
}

/// A heap, and an index in it.
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
        // It stays until it is known what shows it.
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

    /// The descriptor, for good.
    pub(super) fn pin(&self) -> (&D::DescriptorHeap, u32) {
        let (heap, index) = self.pinned.get_or_init(|| {
            self.movable.pin();
            self.next()
        });
        (heap, *index)
    }

    /// The descriptor, as long as a recording is open.
    pub(super) fn hold<'s>(&'s self, places: Places<'s, D>) -> (&'s D::DescriptorHeap, u32) {
        let places = places.get();
        places.hold(&self.movable);
        let (heap, index) = self.next();
        (places.keep_heap(heap), index)
    }

    /// The descriptor as it will be once what moves at this moment has moved.
    pub(super) fn next(&self) -> (Arc<D::DescriptorHeap>, u32) {
        match self.slot.read_next(place_of) {
            Some(found) => found,
            None => unreachable!("it has a descriptor as long as there is a view"),
        }
    }

    /// The view is gone.
    pub(super) fn retire(&self) {
        self.slot.take().into_iter().for_each(|slot| self.service.retire_descriptor(slot, self.born));
    }
    /// Makes the descriptor in the place that the resource moves to. False when it cannot be made.
    pub(super) fn follow(&self, room: &dyn MakeRoom, to: &ApiPlace<D>) -> bool {
        let descriptor = self.shows.descriptor(&to.api_resource.object, to.offset);
        self.slot.follow(&self.service, || self.service.make_descriptor(room, &self.name, &descriptor))
    }

    /// Gives back the descriptor that is not needed any more.
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
