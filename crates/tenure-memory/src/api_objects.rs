//! Creation and destruction of API objects with memory, and counts of both.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_heap::{HeapDevice, HeapProperties, MAX_MEMORY_TYPES, MemoryCounter, MemoryLimits, Round};

use super::budget::Budgets;
use crate::Name;
use crate::api_resource::{ApiParts, ApiResource};
use crate::block_set::BlockKey;
use crate::device::{
    Device, DeviceError, DeviceHeaps, HeapDesc, MemoryTypeId, ObjectRef, Permit, Priority, ResourceDesc,
};

/// The counter for the dedicated memory of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryOwner {
    /// The counter of committed resources.
    Resource,
    /// The counter of transient resources, which keep memory for the next similar one.
    Transient,
}

/// Bytes of a memory type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySize {
    pub memory: MemoryTypeId,
    pub size: u64,
}

/// Whether a resource in CPU-visible memory should be mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapWish {
    No,
    /// The program reads or writes it: the resource is useless unmapped.
    Required(MemoryTypeId),
    /// Uploads are written in place; without a mapping they are staged.
    IfPossible(MemoryTypeId),
}

impl MapWish {
    pub fn new(memory: MemoryTypeId, is_required: bool, is_useful: impl FnOnce() -> bool) -> Self {
        match is_required {
            true => Self::Required(memory),
            false if is_useful() => Self::IfPossible(memory),
            false => Self::No,
        }
    }
}

/// The memory of a committed resource.
pub struct CommittedMemory<'a> {
    pub memory: MemoryTypeId,
    /// The size in bytes to count.
    pub size: u64,
    /// Whether it is allocated lazily: limits and sums count an allocation of no bytes.
    pub is_memoryless: bool,
    pub wish: MapWish,
    pub priority: Priority,
    /// The counter for it.
    pub part: &'a PartMemory,
}

/// A location in a heap.
pub struct HeapPlace<'a, D: Device> {
    pub heap: &'a D::Heap,
    /// Offset in the heap.
    pub offset: u64,
    /// Whether the resource should be mapped for the CPU.
    pub wish: MapWish,
    /// The key of the heap, if it is evictable.
    pub block: Option<BlockKey>,
}

/// Bytes of one part, in total and by memory type.
#[derive(Debug, Default)]
pub struct PartMemory {
    all: MemoryCounter,
    types: [AtomicU64; MAX_MEMORY_TYPES],
}

impl PartMemory {
    /// The counter over all memory types.
    pub const fn all(&self) -> &MemoryCounter {
        &self.all
    }

    /// Current bytes of one memory type; 0 for a type that no device has.
    pub fn of_type(&self, memory: MemoryTypeId) -> u64 {
        self.count(memory).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn count(&self, memory: MemoryTypeId) -> Option<&AtomicU64> {
        self.types.get(usize::from(memory.0))
    }

    /// Adds bytes allocated from the driver.
    fn add(&self, memory: MemoryTypeId, bytes: u64) {
        self.all.add(bytes);
        if let Some(count) = self.count(memory) {
            count.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Subtracts freed bytes.
    fn remove(&self, memory: MemoryTypeId, bytes: u64) {
        self.all.remove(bytes);
        if let Some(count) = self.count(memory) {
            count.fetch_sub(bytes, Ordering::Relaxed);
        }
    }
}

/// Creates and destroys API objects with memory, and counts them. Every change is O(1).
///
/// Bytes are counted twice: in total, for the overall peak, and by purpose. Each pool has its own counter.
#[derive(Debug)]
pub struct Objects<D> {
    /// Permits all calls that create and destroy: the owner frees only objects that the GPU no longer uses.
    pub(crate) permit: Permit<D>,
    /// The program's committed resources.
    pub committed_memory: PartMemory,
    /// Page allocators.
    pub page_memory: PartMemory,
    /// Transient heaps, and committed transient resources.
    pub transient_memory: PartMemory,
    /// The total, pools included, with the device's limits.
    pub limits: MemoryLimits,
    /// The budgets of the memory heaps.
    pub budgets: Budgets,
    frames: AtomicU64,
    /// The number of budget changes that the limits have already processed.
    heard_changes: AtomicU64,
    heaps: AtomicU64,
    heaps_made: AtomicU64,
    committed: AtomicU64,
    /// Bytes of committed resources with lazily allocated memory.
    memoryless: AtomicU64,
    resources_made: AtomicU64,
    resources_destroyed: AtomicU64,
}

/// A snapshot of [`Objects`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectCounts {
    pub heaps: u64,
    pub heaps_made: u64,
    pub committed: u64,
    pub memoryless: u64,
    pub peak_reserved: u64,
    pub allocations_made: u64,
    pub resources_made: u64,
    pub resources_destroyed: u64,
}

/// Frames after which budgets are queried again, because other programs allocate memory, too.
const BUDGET_FRAMES: u64 = 64;

impl<D: Device> Objects<D> {
    pub(crate) fn new(heaps: &HeapProperties, permit: Permit<D>) -> Self {
        Self {
            permit,
            committed_memory: PartMemory::default(),
            page_memory: PartMemory::default(),
            transient_memory: PartMemory::default(),
            limits: MemoryLimits::new(heaps),
            budgets: Budgets::new(heaps),
            frames: AtomicU64::new(0),
            heard_changes: AtomicU64::new(0),
            heaps: AtomicU64::new(0),
            heaps_made: AtomicU64::new(0),
            committed: AtomicU64::new(0),
            memoryless: AtomicU64::new(0),
            resources_made: AtomicU64::new(0),
            resources_destroyed: AtomicU64::new(0),
        }
    }

    /// Ends a frame.
    pub fn end_frame(&self, device: &D) {
        self.end_reclaim(device);
        if self.frames.fetch_add(1, Ordering::Relaxed) % BUDGET_FRAMES == BUDGET_FRAMES - 1 {
            self.limits.expire_budgets();
        }
    }

    /// Ends the equivalent of a frame, for programs without frames.
    pub fn end_reclaim(&self, device: &D) {
        self.budgets.end_frame();
        self.budgets.hear_change(device);
        let changes = self.budgets.changes();
        if self.heard_changes.swap(changes, Ordering::Relaxed) != changes {
            self.limits.expire_budgets();
        }
    }

    /// Creates a block of the first of the `sizes` that the limits allow in this round and the driver grants.
    ///
    /// # Errors
    /// The last shortage, or the first error of another kind.
    pub fn make_block<T>(
        &self,
        device: &D,
        memory: MemoryTypeId,
        sizes: impl Iterator<Item = u64>,
        round: Round,
        make: impl FnMut(u64) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let budget = || self.budgets.current(device).into_vec();
        self.limits.make_block(memory, sizes, round, budget, make).map(|(block, _)| block)
    }

    /// The counter for dedicated memory of this owner.
    pub const fn part_of(&self, owner: MemoryOwner) -> &PartMemory {
        match owner {
            MemoryOwner::Resource => &self.committed_memory,
            MemoryOwner::Transient => &self.transient_memory,
        }
    }

    /// Allocates a heap from the driver, names it, and counts it in `part`.
    pub fn create_heap(
        &self,
        device: &D,
        desc: &HeapDesc,
        name: &str,
        part: &PartMemory,
    ) -> Result<D::Heap, DeviceError> {
        let make = |device: &_, desc: &HeapDesc| {
            let heap = DeviceHeaps::create_heap(device, desc)?;
            // Before the limits count it and drop their reservation: at any moment, at least one of the two counts
            // it.
            self.budgets.note_allocation(desc.memory, desc.size);
            Ok(heap)
        };
        let heap = self.limits.create_heap(&DeviceHeaps::new(device, self.permit), desc, name, make)?;
        self.heaps.fetch_add(1, Ordering::Relaxed);
        self.heaps_made.fetch_add(1, Ordering::Relaxed);
        part.add(desc.memory, desc.size);
        event!(debug, name = ?name, bytes = desc.size, memory_type = desc.memory.0, category = ?desc.category, "heap created");
        Ok(heap)
    }

    /// Destroys a heap; `own` and `part` as at its creation.
    pub fn destroy_heap(&self, device: &D, heap: D::Heap, own: MemorySize, part: &PartMemory) {
        let MemorySize { memory, size } = own;
        self.budgets.begin_release(memory, size);
        self.limits.destroy_heap(&DeviceHeaps::new(device, self.permit), heap, memory, size);
        self.budgets.end_release(memory, size);
        self.heaps.fetch_sub(1, Ordering::Relaxed);
        part.remove(memory, size);
        event!(debug, bytes = size, memory_type = memory.0, "heap destroyed");
    }

    /// Creates a committed resource.
    pub fn create_committed(
        &self,
        device: &D,
        desc: &ResourceDesc,
        own: &CommittedMemory<'_>,
        name: &Name,
    ) -> Result<ApiResource<D>, DeviceError> {
        let object = if own.priority == desc.usage().priority() {
            device.create_committed(desc, own.memory)
        } else {
            device.create_committed_with_priority(self.permit, desc, own.memory, own.priority)
        }?;
        let api_resource = self.take_in(device, desc, object, (own.wish, None), name)?;
        self.committed.fetch_add(1, Ordering::Relaxed);
        let counted = self.count_memoryless(own.size, own.is_memoryless, AtomicU64::fetch_add);
        self.budgets.note_allocation(own.memory, counted);
        self.limits.note_allocation(own.memory, counted);
        own.part.add(own.memory, counted);
        Ok(api_resource)
    }

    /// Counts lazily allocated bytes separately; returns the bytes for all other counters.
    fn count_memoryless(
        &self,
        size: u64,
        is_memoryless: bool,
        count: impl Fn(&AtomicU64, u64, Ordering) -> u64,
    ) -> u64 {
        if !is_memoryless {
            return size;
        }
        count(&self.memoryless, size, Ordering::Relaxed);
        0
    }

    /// Destroys a committed resource; `own` and `part` as at its creation.
    pub fn destroy_committed(
        &self,
        device: &D,
        parts: ApiParts<D>,
        (own, is_memoryless): (MemorySize, bool),
        part: &PartMemory,
    ) {
        let memory = own.memory;
        let size = self.count_memoryless(own.size, is_memoryless, AtomicU64::fetch_sub);
        self.budgets.begin_release(memory, size);
        self.destroy_resource(device, parts);
        self.budgets.end_release(memory, size);
        self.committed.fetch_sub(1, Ordering::Relaxed);
        self.limits.note_release(memory, size);
        part.remove(memory, size);
    }

    /// Creates a placed resource in a heap.
    pub fn create_placed(
        &self,
        device: &D,
        desc: &ResourceDesc,
        place: &HeapPlace<'_, D>,
        name: &Name,
    ) -> Result<Arc<ApiResource<D>>, DeviceError> {
        let object = device.create_placed(self.permit, desc, place.heap, place.offset)?;
        Ok(Arc::new(self.take_in(device, desc, object, (place.wish, place.block), name)?))
    }

    pub fn create_reserved(
        &self,
        device: &D,
        desc: &ResourceDesc,
        name: &Name,
    ) -> Result<Arc<ApiResource<D>>, DeviceError> {
        let object = device.create_reserved(desc)?;
        Ok(Arc::new(self.take_in(device, desc, object, (MapWish::No, None), name)?))
    }

    /// Names a new API object, counts it, and maps it if requested.
    ///
    /// Inlined, so that the large result is constructed in place.
    #[inline(always)]
    fn take_in(
        &self,
        device: &D,
        desc: &ResourceDesc,
        object: D::Resource,
        (wish, block): (MapWish, Option<BlockKey>),
        name: &Name,
    ) -> Result<ApiResource<D>, DeviceError> {
        match self.name_and_map(device, &object, wish, name) {
            Ok((mapping, mapped)) => {
                self.resources_made.fetch_add(1, Ordering::Relaxed);
                Ok(ApiResource::new(device, object, desc, mapping, None, (mapped, block)))
            }
            Err(error) => {
                device.destroy_resource(self.permit, object);
                Err(error)
            }
        }
    }

    /// The mapping of an object, and the memory type that it is mapped in.
    #[inline]
    fn name_and_map(
        &self,
        device: &D,
        object: &D::Resource,
        wish: MapWish,
        name: &Name,
    ) -> Result<(Option<D::Mapping>, Option<MemoryTypeId>), DeviceError> {
        if !name.is_empty() {
            device.set_name(self.permit, ObjectRef::Resource(object), name.as_str());
        }
        let (MapWish::Required(memory) | MapWish::IfPossible(memory)) = wish else { return Ok((None, None)) };
        match device.map(object) {
            Ok(mapping) => Ok((Some(mapping), Some(memory))),
            Err(error) if wish == MapWish::Required(memory) => Err(error),
            Err(error) => {
                event!(debug, %error, "a resource could not be mapped: its uploads are staged");
                Ok((None, None))
            }
        }
    }

    /// Counts a block as evicted: its heap no longer counts its bytes.
    pub fn note_evicted(&self, MemorySize { memory, size }: MemorySize) {
        self.budgets.begin_release(memory, size);
        self.budgets.end_release(memory, size);
        self.limits.note_evicted(memory, size);
    }

    /// Counts an evicted block as resident again.
    pub fn note_resident(&self, MemorySize { memory, size }: MemorySize) {
        self.budgets.note_allocation(memory, size);
        self.limits.note_resident(memory, size);
    }

    /// Bytes by which a memory heap would exceed the lower of its budget and the program's cap after `more`
    /// bytes.
    pub fn over_budget(&self, device: &D, heap: usize, more: u64) -> u64 {
        let budgets = self.budgets.current(device);
        let known = budgets.get(heap).filter(|found| found.budget != 0);
        let (taken, cap) = (self.limits.taken(heap), self.limits.cap(heap).unwrap_or(u64::MAX));
        // Memory that the operating system has paged out is not part of the reported usage, and returns when it is
        // used.
        let over =
            known.map_or(0, |found| found.usage.max(taken).saturating_add(more).saturating_sub(found.budget));
        over.max(taken.saturating_add(more).saturating_sub(cap))
    }

    /// Bytes available in a memory heap within its budget and its cap.
    pub fn headroom(&self, device: &D, heap: usize) -> u64 {
        let budgets = self.budgets.current(device);
        let known = budgets.get(heap).filter(|found| found.budget != 0);
        let (taken, cap) = (self.limits.taken(heap), self.limits.cap(heap).unwrap_or(u64::MAX));
        let room = known.map_or(u64::MAX, |found| found.budget.saturating_sub(found.usage.max(taken)));
        room.min(cap.saturating_sub(taken))
    }

    /// Counts an adopted resource.
    pub fn note_adopted(&self) {
        self.resources_made.fetch_add(1, Ordering::Relaxed);
    }

    #[inline]
    pub fn destroy_resource(&self, device: &D, parts: ApiParts<D>) {
        let ApiParts { object, mapping, .. } = parts;
        drop(mapping);
        device.destroy_resource(self.permit, object);
        self.resources_destroyed.fetch_add(1, Ordering::Relaxed);
    }

    pub fn counts(&self) -> ObjectCounts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ObjectCounts {
            heaps: read(&self.heaps),
            heaps_made: read(&self.heaps_made),
            committed: read(&self.committed),
            memoryless: read(&self.memoryless),
            peak_reserved: self.limits.memory().peak(),
            allocations_made: self.limits.allocations_made(),
            resources_made: read(&self.resources_made),
            resources_destroyed: read(&self.resources_destroyed),
        }
    }
}
