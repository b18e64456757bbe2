//! All pools of a device, made on demand.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::make::{buffer_usage, check, make_pool};
use super::objects::Objects;
use super::place::{Home, Place};
use super::pool::{HeapBlock, Pool, PoolId, Spot, Store};
use super::seat::SharedHeap;
use super::{Class, MemoryUse, PoolKind, TypeOrder, type_order};
use crate::device::{BufferInfo, Device, DeviceError, HeapCategory, MemoryTypeId, ResourceDesc};
use crate::{Config, Error};

/// What buffers of a range pool need, asked of the device once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeNeeds {
    pub(crate) memory_types: u32,
    pub(crate) category: HeapCategory,
}

/// The pools, by class, and what could not be unmade at once.
pub(crate) struct Pools<D: Device> {
    table: Box<[OnceLock<Pool<D>>]>,
    made: Mutex<Vec<PoolId>>,
    orders: [TypeOrder; MemoryUse::ALL.len()],
    range_needs: [OnceLock<RangeNeeds>; PoolKind::ALL.len()],
    /// Blocks that left their pool while another thread was just letting go of them.
    leaving: Mutex<Vec<Store<D>>>,
    pub(crate) objects: Objects,
}

impl<D: Device> Pools<D> {
    /// # Errors
    /// [`Error::Contract`] when the device's tables are empty or too long, or contradict themselves.
    pub(crate) fn new(device: &D) -> Result<Self, Error> {
        let properties = device.properties();
        check(properties)?;
        Ok(Self {
            table: (0..Class::COUNT).map(|_| OnceLock::new()).collect(),
            made: Mutex::new(Vec::new()),
            orders: MemoryUse::ALL.map(|memory_use| type_order(properties, memory_use)),
            range_needs: std::array::from_fn(|_| OnceLock::new()),
            leaving: Mutex::new(Vec::new()),
            objects: Objects::default(),
        })
    }

    /// The memory types to try for a use.
    #[inline]
    pub(crate) fn order(&self, memory_use: MemoryUse) -> &TypeOrder {
        &self.orders[memory_use as usize]
    }

    /// A pool that was made.
    #[inline]
    pub(crate) fn get(&self, id: PoolId) -> Option<&Pool<D>> {
        self.table.get(usize::from(id.0))?.get()
    }

    /// The pool of a class, if it was ever needed.
    #[inline]
    pub(crate) fn find(&self, class: Class) -> Option<&Pool<D>> {
        self.table.get(class.index()?)?.get()
    }

    /// The pool of a class, made if there is none. `None` for a class that cannot be.
    pub(crate) fn find_or_make(&self, device: &D, config: &Config, class: Class) -> Option<&Pool<D>> {
        let index = class.index()?;
        let slot = self.table.get(index)?;
        if let Some(pool) = slot.get() {
            return Some(pool);
        }
        let id = PoolId(u16::try_from(index).ok()?);
        let pool = make_pool(device, config, id, class)?;
        if slot.set(pool).is_ok() {
            self.made.lock().push(id);
        }
        slot.get()
    }

    /// What the buffers of a range pool need.
    ///
    /// # Errors
    /// The device's.
    #[inline]
    pub(crate) fn range_needs(&self, device: &D, kind: PoolKind) -> Result<RangeNeeds, DeviceError> {
        if let Some(needs) = self.range_needs[kind as usize].get() {
            return Ok(*needs);
        }
        // Any size will do that the device allows.
        let size = device.properties().max_buffer_size.min(64 << 10);
        let desc = ResourceDesc::Buffer(BufferInfo { size, usage: buffer_usage(kind) });
        let needs = device.requirements(&desc)?;
        let needs = RangeNeeds { memory_types: needs.memory_types, category: needs.category };
        Ok(*self.range_needs[kind as usize].get_or_init(|| needs))
    }

    /// Every pool that was made, in the order of making.
    pub(crate) fn each(&self, visit: impl FnMut(&Pool<D>)) {
        let made = self.made.lock();
        made.iter().filter_map(|id| self.get(*id)).for_each(visit);
    }

    /// Gives a home back; the GPU is done with it.
    ///
    /// # Errors
    /// The home, while another thread has not quite let go of the API object.
    pub(crate) fn release(&self, device: &D, home: Home<D>) -> Result<(), Home<D>> {
        let Home { native, place } = home;
        if let Place::Range(spot) = place {
            drop(native);
            self.free(spot);
            return Ok(());
        }
        let native = match Arc::try_unwrap(native) {
            Ok(native) => native,
            Err(native) => return Err(Home { native, place }),
        };
        match place {
            Place::Committed { size, .. } => self.objects.destroy_committed(device, native, size),
            Place::Placed(spot) => {
                self.objects.destroy_resource(device, native);
                self.free(spot);
            }
            Place::Page(seat) => {
                self.objects.destroy_resource(device, native);
                if let Some(heap) = seat.page.leave() {
                    self.objects.destroy_heap(device, heap, seat.page.size);
                }
            }
            Place::Transient(seat) => {
                self.objects.destroy_resource(device, native);
                if let Some(seat) = Arc::into_inner(seat) {
                    self.leave_heap(device, seat.share);
                }
            }
            Place::Reserved | Place::Adopted | Place::Range(_) => {
                self.objects.destroy_resource(device, native)
            }
        }
        Ok(())
    }

    /// Lets go of a heap whose ranges overlap; the last to do so destroys it.
    pub(crate) fn leave_heap(&self, device: &D, share: Arc<SharedHeap<D>>) {
        if let Some(SharedHeap { heap, size }) = Arc::into_inner(share) {
            self.objects.destroy_heap(device, heap, size);
        }
    }

    /// Gives a range back to its pool.
    pub(crate) fn free(&self, spot: Spot) {
        let freed = self.get(spot.pool).map(|pool| pool.free(spot.handle, spot.size));
        // A spot is made by its pool and given back once, with the home that it belongs to.
        debug_assert!(matches!(freed, Some(Ok(_))), "a spot is freed once, in its own pool");
    }

    /// Ages the idle blocks and gives back those that were idle long enough for their pool.
    pub(crate) fn end_frame(&self, device: &D) {
        self.retire(device, Pool::end_frame);
    }

    /// Gives every idle block back that its grace does not protect.
    pub(crate) fn trim(&self, device: &D) {
        while self.retire(device, Pool::trim) {}
    }

    /// Gives every idle block back, because memory is short.
    pub(crate) fn reclaim(&self, device: &D) {
        while self.retire(device, Pool::reclaim) {}
    }

    /// True when any block left its pool: if it was a slot in a heap of another pool, that heap
    /// may be idle now.
    fn retire(&self, device: &D, choose: impl Fn(&Pool<D>, &mut Vec<Store<D>>) -> bool) -> bool {
        let mut retired = std::mem::take(&mut *self.leaving.lock());
        let mut has_some = false;
        self.each(|pool| has_some |= choose(pool, &mut retired));
        retired.into_iter().for_each(|store| self.unmake_later(device, store));
        has_some
    }

    /// Unmakes a block that has left its pool, now or, while another thread has not quite let go
    /// of it, with the next ones.
    pub(crate) fn unmake_later(&self, device: &D, store: Store<D>) {
        if let Err(store) = self.unmake(device, store) {
            self.leaving.lock().push(store);
        }
    }

    /// Unmakes a block; hands it back when another thread has not quite let go of it.
    pub(crate) fn unmake(&self, device: &D, store: Store<D>) -> Result<(), Store<D>> {
        match store {
            Store::Heap(heap) => {
                let HeapBlock { heap, size } = Arc::try_unwrap(heap).map_err(Store::Heap)?;
                self.objects.destroy_heap(device, heap, size);
            }
            Store::Buffer { buffer, size } => {
                let buffer = Arc::try_unwrap(buffer).map_err(|buffer| Store::Buffer { buffer, size })?;
                self.objects.destroy_committed(device, buffer, size);
            }
            Store::Slot { buffer, place } => {
                let buffer = Arc::try_unwrap(buffer).map_err(|buffer| Store::Slot { buffer, place })?;
                self.objects.destroy_resource(device, buffer);
                self.free(place);
            }
        }
        Ok(())
    }

    /// Unmakes every block, whatever lives in it, slots before the heaps they are placed in. What
    /// other threads still hold stays.
    pub(crate) fn unmake_all(&self, device: &D) {
        let mut stores = std::mem::take(&mut *self.leaving.lock());
        self.each(|pool| stores.extend(pool.take_stores()));
        stores.sort_by_key(|store| matches!(store, Store::Heap(_)));
        let left: Vec<_> = stores.into_iter().filter_map(|store| self.unmake(device, store).err()).collect();
        self.leaving.lock().extend(left);
    }

    /// Leaves every block to the driver, for good: the GPU may still use it.
    pub(crate) fn abandon(&self) {
        self.each(|pool| std::mem::forget(pool.take_stores()));
        std::mem::forget(std::mem::take(&mut *self.leaving.lock()));
    }
}

/// True when the mask has the memory type.
pub(crate) fn allows(memory_types: u32, memory: MemoryTypeId) -> bool {
    memory_types.checked_shr(u32::from(memory.0)).is_some_and(|bits| bits & 1 == 1)
}
