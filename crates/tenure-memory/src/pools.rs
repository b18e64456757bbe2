//! All pools of a device, created on demand.

use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use parking_lot::Mutex;
use tenure_heap::{HeapProperties, InvalidProperties};
use tenure_suballoc::BlockId;

use super::api_objects::Objects;
use super::block::{Block, FreeToken, PoolId};
use super::class::{bit, lazy_types};
use super::in_place::InPlace;
use super::location::{AdoptedOwner, Backing, Location, SharedHeap, StructureLocation};
use super::movable::{MovableBacking, MovableId};
use super::pool_settings::{buffer_usage, check, make_pool};
use super::request::{RangeRequest, ResourceRequest};
use super::residency::ResidentBlocks;
use super::shard::PoolShard;
use super::sharding::Shards;
use super::shortage::Notices;
use super::{Class, MemoryUse, PoolKind, TypeOrder, target_type_order, type_order};
use crate::Config;
use crate::device::{
    BufferInfo, Device, DeviceError, HeapCategory, MemoryTypeId, Permit, ResourceDesc, Usage,
};
use crate::repeated::Repeated;

/// The requirements of the buffers of a range pool, queried from the device once.
#[derive(Clone, Copy, Debug)]
pub struct RangeNeeds {
    pub memory_types: u32,
    pub category: HeapCategory,
}

/// The pools, by class, and the blocks whose destruction is delayed.
pub struct Pools<D: Device> {
    /// The pools, in the order in which their classes were first needed.
    table: Box<[OnceLock<Box<Shards<D>>>]>,
    /// For each class, the number of its pool in the table plus 1; 0 before the first use.
    numbers: Box<[AtomicU16]>,
    /// The number of pools in the table.
    made: Mutex<u16>,
    /// The pool to try first, by kind of range pool and by use; the last row is for buffers filled in place.
    usual: [[OnceLock<u16>; PoolKind::ALL.len()]; MemoryUse::ALL.len() + 1],
    orders: [TypeOrder; MemoryUse::ALL.len()],
    target_order: TypeOrder,
    /// Bit *i* is set if memory of type *i* is allocated lazily and available to any program.
    lazy_types: u32,
    pub in_place: InPlace,
    range_needs: [OnceLock<RangeNeeds>; PoolKind::ALL.len()],
    /// Blocks removed from their pool while another thread briefly held a reference.
    pub(super) leaving: Mutex<Vec<Block<D>>>,
    pub objects: Objects<D>,
    pub residency: ResidentBlocks<D>,
    pub notices: Notices,
    heap_properties: HeapProperties,
    /// Movable resources placed in slower memory.
    pub(super) spilled: Mutex<Vec<Weak<MovableBacking<D>>>>,
    /// A lower bound of the smallest size among these, in bytes; `u64::MAX` if there are none.
    pub(super) least_spilled: AtomicU64,
    /// The id of the next movable resource.
    movable_ids: AtomicU64,
}

impl<D: Device> Pools<D> {
    /// The permit covers all later calls: the owner frees only objects that the GPU no longer uses.
    ///
    /// # Errors
    /// [`InvalidProperties`] if the device's tables are empty, too long, or inconsistent.
    pub fn new(device: &D, config: &Config, permit: Permit<D>) -> Result<Self, InvalidProperties> {
        let properties = device.properties();
        let heap_properties = check(properties)?;
        Ok(Self {
            table: Box::new([const { OnceLock::new() }; PoolId::MAX_CLASSES]),
            numbers: Box::new([const { AtomicU16::new(0) }; Class::COUNT]),
            made: Mutex::new(0),
            usual: std::array::from_fn(|_| std::array::from_fn(|_| OnceLock::new())),
            orders: MemoryUse::ALL.map(|memory_use| type_order(properties, memory_use)),
            target_order: target_type_order(properties),
            lazy_types: lazy_types(properties).fold(0, |mask, memory| mask | bit(memory)),
            in_place: InPlace::new(properties, config),
            range_needs: std::array::from_fn(|_| OnceLock::new()),
            leaving: Mutex::new(Vec::new()),
            objects: Objects::new(&heap_properties, permit),
            residency: ResidentBlocks::new(device),
            notices: Notices::default(),
            heap_properties,
            spilled: Mutex::new(Vec::new()),
            least_spilled: AtomicU64::new(u64::MAX),
            movable_ids: AtomicU64::new(0),
        })
    }

    /// The id of the next movable resource.
    pub fn next_movable_id(&self) -> MovableId {
        MovableId(self.movable_ids.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether any resource was ever made movable. One atomic load.
    pub fn had_movables(&self) -> bool {
        self.movable_ids.load(Ordering::Relaxed) != 0
    }

    /// The device's properties that pools need.
    pub const fn heap_properties(&self) -> &HeapProperties {
        &self.heap_properties
    }

    /// The memory types to try for a use.
    #[inline]
    pub fn order(&self, memory_use: MemoryUse) -> &TypeOrder {
        &self.orders[memory_use as usize]
    }

    /// The memory types to try for buffers filled in place, if the order differs.
    #[inline]
    fn filled_order(&self, is_filled: bool) -> Option<&TypeOrder> {
        if is_filled { self.in_place.own_order() } else { None }
    }

    /// The row of `usual` for a request.
    #[inline]
    fn usual_row(&self, request: &RangeRequest<'_>) -> usize {
        match self.filled_order(request.is_filled) {
            Some(_) => MemoryUse::ALL.len(),
            None => request.memory_use as usize,
        }
    }

    /// The memory types to try for a range of a shared buffer.
    #[inline]
    pub fn order_for_range(&self, request: &RangeRequest<'_>) -> &TypeOrder {
        self.filled_order(request.is_filled).unwrap_or_else(|| self.order(request.memory_use))
    }

    /// The memory types to try for an API resource.
    pub fn order_for(&self, request: &ResourceRequest<'_>) -> &TypeOrder {
        match self.filled_order(request.is_filled) {
            Some(order) => order,
            None if is_transient_attachment(request.desc) => &self.target_order,
            None => self.order(request.memory_use),
        }
    }

    /// Whether a resource gets lazily allocated memory, unless the driver refuses.
    pub fn is_memoryless(&self, desc: &ResourceDesc, memory_types: u32) -> bool {
        is_transient_attachment(desc) && self.lazy_types & memory_types != 0
    }

    /// The shards of a class, by the number of its pool.
    #[inline]
    fn shards(&self, number: u16) -> Option<&Shards<D>> {
        self.table.get(usize::from(number))?.get().map(|shards| &**shards)
    }

    /// The number of the pool of a class, if it was ever needed.
    #[inline]
    fn number(&self, class: Class) -> Option<u16> {
        self.numbers.get(class.index()?)?.load(Ordering::Acquire).checked_sub(1)
    }

    /// An existing pool, with the other shards of its class.
    #[inline]
    pub(super) fn get_with_shards(&self, id: PoolId) -> Option<(&PoolShard<D>, &Shards<D>)> {
        let shards = self.shards(id.class())?;
        Some((shards.get(id.shard())?, shards))
    }

    /// The pool of a class, if it was ever needed.
    #[inline]
    pub fn find(&self, class: Class) -> Option<&Shards<D>> {
        self.shards(self.number(class)?)
    }

    /// Creates the pool of a class, unless another thread has. `None` for a class that cannot exist.
    pub(super) fn make(&self, device: &D, config: &Config, class: Class) -> Option<&Shards<D>> {
        let number = self.numbers.get(class.index()?)?;
        let mut made = self.made.lock();
        if let Some(shards) = self.find(class) {
            return Some(shards);
        }
        let slot = self.table.get(usize::from(*made))?;
        let pool = make_pool(device, &self.heap_properties, config, PoolId::new(*made, 0), class)?;
        // Only growing pools allocate slots from these heaps, so one shard is sufficient.
        let most = if class.kind == PoolKind::SmallBufferSlots { 1 } else { config.pools.shards };
        let shards = slot.get_or_init(|| Box::new(Shards::new(pool, most)));
        *made += 1;
        number.store(*made, Ordering::Release);
        Some(shards)
    }

    /// Stores the pool to try first.
    #[cold]
    pub(super) fn note_usual(&self, request: &RangeRequest<'_>, class: Class) {
        if let Some(number) = self.number(class) {
            // The first value is kept: the device's tables do not change.
            let row = self.usual_row(request);
            let _known = self.usual[row][request.kind as usize].set(number);
        }
    }

    /// The pool to try first, once [noted](Self::note_usual).
    #[inline]
    pub(super) fn usual(&self, request: &RangeRequest<'_>) -> Option<&Shards<D>> {
        let row = self.usual_row(request);
        self.shards(*self.usual[row][request.kind as usize].get()?)
    }

    /// The requirements of the buffers of a range pool.
    ///
    /// # Errors
    /// The errors of the device.
    #[inline]
    pub fn range_needs(&self, device: &D, kind: PoolKind) -> Result<RangeNeeds, DeviceError> {
        if let Some(needs) = self.range_needs[kind as usize].get() {
            return Ok(*needs);
        }
        // Any size that the device allows is suitable.
        let size = device.properties().max_buffer_size.min(64 << 10);
        let desc = ResourceDesc::Buffer(BufferInfo::new(size, buffer_usage(kind)));
        let needs = device.requirements(&desc)?;
        let needs = RangeNeeds { memory_types: needs.memory_types, category: needs.category };
        Ok(*self.range_needs[kind as usize].get_or_init(|| needs))
    }

    /// The class of a range's pool, and the number of the first shard's block that contains the range.
    pub fn block_of(&self, pool: PoolId, block: BlockId) -> Option<(Class, usize)> {
        let (shard, shards) = self.get_with_shards(pool)?;
        let block = shard.lock().pool.block(block).and_then(Block::lender).unwrap_or(block);
        Some((shards.first().class, block.index()))
    }

    /// The index of a pool in the order of [`each_class`](Self::each_class).
    pub fn order_of(&self, pool: PoolId) -> usize {
        usize::from(pool.class())
    }

    /// The shards of every class that was ever needed, in the order of need.
    pub fn each_class(&self, visit: impl FnMut(&Shards<D>)) {
        let made = *self.made.lock();
        (0..made).filter_map(|number| self.shards(number)).for_each(visit);
    }

    /// Free bytes in blocks for movable resources in this memory type: in total, and in the largest range.
    pub fn free_for_movable(&self, memory: MemoryTypeId) -> (u64, u64) {
        let (mut free, mut largest) = (0, 0);
        self.each_class(|shards| {
            let class = shards.first().class;
            if class.is_movable && class.memory == memory {
                let totals = shards.totals().pool;
                free += totals.capacity.saturating_sub(totals.used);
                largest = totals.largest_free.max(largest);
            }
        });
        (free, largest)
    }

    /// Every existing pool, in the order in which the classes were first needed.
    pub(super) fn each(&self, mut visit: impl FnMut(&PoolShard<D>)) {
        self.each_class(|shards| shards.each().for_each(&mut visit));
    }

    /// Destroys a backing that the GPU has finished with. `tell` is called before any of its memory can be reused, and `free` for
    /// its range of a pool, which the caller frees. Returns the owner of an adopted resource's memory: dropping it runs code of the
    /// program.
    ///
    /// # Errors
    /// The backing, if another thread still briefly holds a reference to the API object.
    pub fn release(
        &self,
        device: &D,
        backing: Backing<D>,
        tell: impl FnOnce(),
        free: impl FnOnce(FreeToken),
    ) -> Result<Option<AdoptedOwner>, Backing<D>> {
        let Backing { api_resource, location } = backing;
        let location = match location {
            Location::Structure(structure) => {
                let StructureLocation { object, place } = *structure;
                device.destroy_acceleration_structure(self.objects.permit, object);
                place
            }
            location => location,
        };
        if let Location::Range(suballocation) = location {
            tell();
            drop(api_resource);
            free(suballocation.free_token());
            return Ok(None);
        }
        let parts = match api_resource.take_apart() {
            Ok(parts) => parts,
            Err(api_resource) => return Err(Backing { api_resource, location }),
        };
        tell();
        match location {
            Location::Committed { own, owner, is_memoryless } => {
                let part = self.objects.part_of(owner);
                self.residency.remove(parts.block, &self.objects);
                self.objects.destroy_committed(device, parts, (own, is_memoryless), part);
            }
            Location::Placed(suballocation) => {
                self.objects.destroy_resource(device, parts);
                free(suballocation.free_token());
            }
            Location::Page(aliased) => {
                self.objects.destroy_resource(device, parts);
                if let Some(heap) = aliased.page.remove_resource() {
                    self.objects.destroy_heap(device, heap, aliased.page.own(), &self.objects.page_memory);
                }
            }
            Location::Transient(aliased) => {
                self.objects.destroy_resource(device, parts);
                if let Some(aliased) = Arc::into_inner(aliased) {
                    self.leave_heap(device, aliased.share);
                }
            }
            Location::Adopted(owner) => {
                self.objects.destroy_resource(device, parts);
                return Ok(owner);
            }
            Location::Reserved | Location::Range(_) | Location::Structure(_) => {
                self.objects.destroy_resource(device, parts)
            }
        }
        Ok(None)
    }

    /// Drops a reference to a heap of aliased ranges; the last one destroys it.
    pub fn leave_heap(&self, device: &D, share: Arc<SharedHeap<D>>) {
        if let Some(SharedHeap { heap, own }) = Arc::into_inner(share) {
            self.objects.destroy_heap(device, heap, own, &self.objects.transient_memory);
        }
    }

    /// Counts and logs that memory of a class was short, and that a resource was placed in other memory.
    #[cold]
    pub fn note_spill(&self, class: Class, found: MemoryTypeId) {
        if let Some(times) = self.notices.spills.get(class.kind as usize).and_then(Repeated::note) {
            let memory_type = found.0;
            event!(warn, %class, memory_type, times, "memory was short: a resource was placed in a slower memory type");
        }
    }
}

fn is_transient_attachment(desc: &ResourceDesc) -> bool {
    desc.usage().contains(Usage::TRANSIENT_ATTACHMENT)
}
