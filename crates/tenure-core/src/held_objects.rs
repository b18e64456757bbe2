//! The API objects of movable resources, and of their descriptors, held by a recording.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::api_resource::ApiResource;
use crate::append_list::AppendList;
use crate::device::{Device, QueueSerial};
use crate::memory::{Holder, MovableBacking, PlaceHolds};
use crate::time::SyncPoint;

/// The API objects that a recording holds; they do not change until it ends.
pub(crate) struct HeldObjects<D: Device> {
    api_resources: AppendList<Arc<ApiResource<D>>>,
    heaps: AppendList<Arc<D::DescriptorHeap>>,
    set_pools: AppendList<Arc<D::SetPool>>,
    holds: RefCell<PlaceHolds<D>>,
}

impl<D: Device> HeldObjects<D> {
    fn new() -> Self {
        Self {
            api_resources: AppendList::new(),
            heaps: AppendList::new(),
            set_pools: AppendList::new(),
            holds: RefCell::new(PlaceHolds::new(Holder::NO_RECORDING)),
        }
    }

    /// Holds the place of a resource, and returns it.
    pub(crate) fn hold(&self, movable: &Arc<MovableBacking<D>>) -> (&ApiResource<D>, u64) {
        let place = self.holds.borrow_mut().hold(movable, None);
        (self.api_resources.push(place.api_resource), place.offset)
    }

    /// The submissions that copied the held resources to their current places.
    pub(crate) fn copied(&self) -> SyncPoint {
        *self.holds.borrow().copied()
    }

    /// Notes that the recording was submitted.
    pub(crate) fn note_used(&mut self, at: QueueSerial) {
        self.holds.get_mut().note_used(at);
    }

    /// Keeps a heap alive until this is dropped or reused.
    pub(crate) fn keep_heap(&self, heap: Arc<D::DescriptorHeap>) -> &D::DescriptorHeap {
        self.heaps.push(heap)
    }

    /// Keeps a pool of sets alive until this is dropped or reused.
    pub(crate) fn keep_set_pool(&self, block: Arc<D::SetPool>) -> &D::SetPool {
        self.set_pools.push(block)
    }
}

/// Unused [`HeldObjects`], kept for the next recordings.
#[allow(clippy::vec_box, reason = "they move between recordings and here as they are")]
pub(crate) struct HeldObjectsPool<D: Device>(Mutex<Vec<Box<HeldObjects<D>>>>);

impl<D: Device> Default for HeldObjectsPool<D> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<D: Device> HeldObjectsPool<D> {
    fn take(&self, holder: Holder) -> Box<HeldObjects<D>> {
        let held = self.0.lock().pop();
        let mut held = held.unwrap_or_else(|| Box::new(HeldObjects::new()));
        held.holds.get_mut().begin(holder);
        held
    }

    /// Takes back the objects of a recording that has ended: its resources can move again.
    pub(crate) fn recycle(&self, mut held: Box<HeldObjects<D>>) {
        held.holds.get_mut().end();
        held.api_resources.drain(0).for_each(drop);
        held.heaps.drain(0).for_each(drop);
        held.set_pools.drain(0).for_each(drop);
        self.0.lock().push(held);
    }
}

/// The held objects of a recording, or of the creation of a lasting object: taken from the pool on first use.
pub(crate) struct LazyHeldObjects<'r, D: Device> {
    pub(crate) noted: &'r OnceCell<Box<HeldObjects<D>>>,
    pub(crate) pool: &'r HeldObjectsPool<D>,
    pub(crate) holder: Holder,
}

impl<D: Device> Clone for LazyHeldObjects<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for LazyHeldObjects<'_, D> {}

impl<'r, D: Device> LazyHeldObjects<'r, D> {
    pub(crate) fn get(&self) -> &'r HeldObjects<D> {
        self.noted.get_or_init(|| self.pool.take(self.holder))
    }
}
