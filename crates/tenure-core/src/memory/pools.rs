//! All pools of a device, made on demand.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::class::MAX_MEMORY_TYPES;
use super::growth::{BlockShape, Growth};
use super::objects::Objects;
use super::place::{Home, Place};
use super::pool::{HeapBlock, Pool, PoolId, Spot, Store};
use super::ranges::Ranges;
use super::types::flush_atom;
use super::{Class, MemoryUse, PoolKind, TypeOrder, type_order};
use crate::device::{
    BufferInfo, Device, DeviceError, HeapCategory, MemoryTypeId, Properties, ResourceDesc, Usage,
};
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
            Place::Reserved | Place::Range(_) => self.objects.destroy_resource(device, native),
        }
        Ok(())
    }

    /// Gives a range back to its pool.
    pub(crate) fn free(&self, spot: Spot) {
        let freed = self.get(spot.pool).map(|pool| pool.free(spot.handle, spot.size));
        // A spot is made by its pool and given back once, with the home that it belongs to.
        debug_assert!(matches!(freed, Some(Ok(()))), "a spot is freed once, in its own pool");
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
}

impl<D: Device> Pools<D> {
    /// Leaves every block to the driver, for good: the GPU may still use it.
    pub(crate) fn abandon(&self) {
        self.each(|pool| std::mem::forget(pool.take_stores()));
        std::mem::forget(std::mem::take(&mut *self.leaving.lock()));
    }
}

/// Everything the buffers of a range pool may be used as.
pub(crate) const fn buffer_usage(kind: PoolKind) -> Usage {
    const COPIES: Usage = Usage::COPY_SRC.union(Usage::COPY_DST);
    match kind {
        PoolKind::SmallBuffers | PoolKind::SmallBufferSlots => {
            Usage::VERTEX.union(Usage::INDEX).union(COPIES)
        }
        PoolKind::IndirectBuffers => Usage::READ_ONLY.union(COPIES),
        PoolKind::AccelerationStructures => {
            Usage::ACCELERATION_STRUCTURE.union(Usage::SHADER_READ).union(COPIES)
        }
        PoolKind::Readbacks => COPIES,
        PoolKind::ReadOnlyBuffers => Usage::READ_ONLY.difference(Usage::INDIRECT).union(COPIES),
        _ => Usage::READ_ONLY.union(COPIES),
    }
}

/// True when the blocks of a pool of this kind are buffers, else heaps.
pub(crate) const fn is_range_pool(kind: PoolKind) -> bool {
    matches!(
        kind,
        PoolKind::SmallBuffers
            | PoolKind::ReadOnlyBuffers
            | PoolKind::IndirectBuffers
            | PoolKind::AccelerationStructures
            | PoolKind::SmallUploads
            | PoolKind::Uploads
            | PoolKind::Readbacks
    )
}

/// Who reads and writes what a pool of this kind holds, where that follows from the kind.
pub(crate) const fn is_mapped(kind: PoolKind) -> bool {
    matches!(kind, PoolKind::SmallUploads | PoolKind::Uploads | PoolKind::Readbacks)
}

/// Whether the tables that pools are made by keep the contract.
fn check(properties: &Properties) -> Result<(), Error> {
    let types = properties.memory_types.len();
    if types == 0 || types > MAX_MEMORY_TYPES {
        return Err(Error::Contract { rule: "1 to 32 memory types", value: types as u64 });
    }
    for memory_type in &properties.memory_types {
        if usize::from(memory_type.heap) >= properties.memory_heaps.len() {
            let heap = u64::from(memory_type.heap);
            return Err(Error::Contract { rule: "each memory type's heap must exist", value: heap });
        }
    }
    for (rule, value) in [
        ("heap_alignment is a power of two", properties.heap_alignment),
        ("msaa_heap_alignment is a power of two", properties.msaa_heap_alignment),
        ("tile_size is a power of two", properties.tile_size),
        ("non_coherent_atom is a power of two", properties.non_coherent_atom),
    ] {
        if !value.is_power_of_two() {
            return Err(Error::Contract { rule, value });
        }
    }
    Ok(())
}

/// Bytes of the memory behind a type that one block may take of its own accord: an eighth, as in
/// VMA, so that one pool does not leave the others without.
fn share_of_memory(properties: &Properties, memory: MemoryTypeId) -> u64 {
    let memory_type = properties.memory_types.get(usize::from(memory.0));
    let heap = memory_type.and_then(|found| properties.memory_heaps.get(usize::from(found.heap)));
    heap.map_or(0, |heap| heap.size / 8)
}

/// `None` when the granule is refused, which the table below never causes.
fn make_pool<D: Device>(device: &D, config: &Config, id: PoolId, class: Class) -> Option<Pool<D>> {
    let properties = device.properties();
    let buffers = [config.min_block, config.max_buffer_block];
    let textures = [config.min_block, config.max_texture_block];
    let slots = [config.small_buffer_slot, config.small_buffer_slot];
    let small_uploads = [config.min_block.min(config.max_upload_block), config.max_upload_block];
    let uploads = [config.min_block, config.max_pooled_upload.max(config.min_block)];
    let ([min, max], granule) = match class.kind {
        PoolKind::SmallBuffers => (slots, 4),
        PoolKind::ReadOnlyBuffers | PoolKind::IndirectBuffers | PoolKind::Readbacks => (buffers, 16),
        PoolKind::AccelerationStructures => (buffers, 256),
        PoolKind::SmallBufferSlots | PoolKind::UnorderedBuffers | PoolKind::PlacedBuffers => (buffers, 256),
        PoolKind::SmallUploads => (small_uploads, 16),
        PoolKind::Uploads => (uploads, 16),
        PoolKind::SmallTextures
        | PoolKind::Textures
        | PoolKind::Targets
        | PoolKind::UnorderedTextures
        | PoolKind::MultisampledTextures => (textures, 256),
        PoolKind::Tiles => (textures, properties.tile_size),
    };
    // Everything begins and ends at a granule, so that no two ranges share an atom.
    let granule = granule.max(flush_atom(properties, class.memory));
    let (ranges, shape) = match class.kind {
        PoolKind::SmallUploads => (Ranges::buddy(granule.max(256)), BlockShape::PowerOfTwo),
        _ => (Ranges::general(granule).ok()?, BlockShape::Multiple),
    };
    let heap_alignment = match class.kind {
        PoolKind::MultisampledTextures => properties.msaa_heap_alignment,
        PoolKind::Tiles => properties.heap_alignment.max(properties.tile_size),
        _ => properties.heap_alignment,
    };
    let alignment = match class.kind {
        // Whole slots, so that none is cut off at the end of a heap.
        PoolKind::SmallBuffers | PoolKind::SmallBufferSlots => config.small_buffer_slot.max(heap_alignment),
        _ => heap_alignment.max(64 << 10).max(granule),
    };
    let limit = match class.kind {
        kind if is_range_pool(kind) => properties.max_heap_size.min(properties.max_buffer_size),
        _ => properties.max_heap_size,
    };
    let limit = limit - limit % alignment;
    let share = share_of_memory(properties, class.memory).max(alignment);
    let (min, max) = (min.min(share), max.min(share));
    let halvings = if class.kind == PoolKind::SmallBuffers { 0 } else { 3 };
    let divisor = match class.kind {
        // Even so they need few heaps, and the part of the last one that is still empty stays small.
        PoolKind::SmallBufferSlots => config.growth_divisor.saturating_mul(4),
        _ => config.growth_divisor,
    };
    let growth = Growth { min, max, limit, divisor, alignment, shape, halvings };
    let usage = buffer_usage(class.kind);
    Some(Pool::new(id, class, growth, heap_alignment, usage, ranges, config.idle_frames))
}

/// True when the mask has the memory type.
pub(crate) fn allows(memory_types: u32, memory: MemoryTypeId) -> bool {
    memory_types.checked_shr(u32::from(memory.0)).is_some_and(|bits| bits & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::{buffer_usage, check, is_mapped, is_range_pool};
    use crate::device::{
        Features, MemoryFlags, MemoryHeap, MemoryType, Properties, QueueKind, QueueProperties, StateModel,
        Usage,
    };
    use crate::memory::MemoryUse;
    use crate::memory::policy::{Placement, buffer_subject, place_buffer};
    use crate::{Config, Error, UploadSuballocator};

    /// Whatever a buffer is used as, the buffer that it is a range of may be used as.
    #[test]
    fn a_shared_buffer_has_every_usage_of_its_ranges() {
        for upload_suballocator in [UploadSuballocator::General, UploadSuballocator::Buddy] {
            let config = Config { upload_suballocator, ..Config::default() };
            let buffer_bits = Usage::all().difference(Usage::TEXTURE_ONLY).bits();
            for usage in (0..=buffer_bits).filter_map(Usage::from_bits) {
                if usage.intersects(Usage::TEXTURE_ONLY) {
                    continue;
                }
                for memory_use in MemoryUse::ALL {
                    for size in [1, 64 << 10, (64 << 10) + 1, 16 << 20] {
                        let subject = buffer_subject(usage, memory_use);
                        let Placement::Range(kind) = place_buffer(subject, size, &config) else { continue };
                        let what = format!("{usage:?} {memory_use:?}, {size} B in {kind:?}");
                        assert!(is_range_pool(kind), "{what}");
                        assert!(buffer_usage(kind).contains(usage), "{what}");
                        assert_eq!(is_mapped(kind), memory_use.is_mapped(), "{what}");
                    }
                }
            }
        }
    }

    fn properties() -> Properties {
        Properties {
            name: String::new(),
            backend: "sim",
            memory_types: vec![MemoryType { flags: MemoryFlags::all(), heap: 0 }],
            memory_heaps: vec![MemoryHeap { size: 1 << 30, device_local: true }],
            queues: vec![QueueProperties { kind: QueueKind::Graphics, family: 0 }],
            features: Features::empty(),
            state_model: StateModel::Explicit,
            uma: true,
            constant_alignment: 256,
            storage_alignment: 16,
            acceleration_structure_alignment: 256,
            heap_alignment: 64 << 10,
            msaa_heap_alignment: 4 << 20,
            copy_pitch_alignment: 256,
            copy_offset_alignment: 512,
            non_coherent_atom: 64,
            tile_size: 64 << 10,
            max_allocations: 4096,
            max_heap_size: 1 << 30,
            max_buffer_size: 1 << 30,
            max_texture_2d: 16_384,
            max_texture_3d: 2048,
            max_layers: 2048,
        }
    }

    #[test]
    fn tables_that_break_the_contract_are_refused() {
        assert_eq!(check(&properties()), Ok(()));
        /// Breaks a rule; returns the number that is wrong.
        type Break = fn(&mut Properties) -> u64;
        let break_it: [(&str, Break); 7] = [
            ("memory types", |tables| {
                tables.memory_types.clear();
                0
            }),
            ("memory types", |tables| {
                tables.memory_types = vec![tables.memory_types[0].clone(); 33];
                33
            }),
            ("heap must exist", |tables| {
                tables.memory_types[0].heap = 1;
                1
            }),
            ("heap_alignment", |tables| {
                tables.heap_alignment = 0;
                0
            }),
            ("msaa_heap_alignment", |tables| {
                tables.msaa_heap_alignment = 3;
                3
            }),
            ("tile_size", |tables| {
                tables.tile_size = 0;
                0
            }),
            ("non_coherent_atom", |tables| {
                tables.non_coherent_atom = 48;
                48
            }),
        ];
        for (text, break_it) in break_it {
            let mut tables = properties();
            let wrong = break_it(&mut tables);
            match check(&tables) {
                Err(Error::Contract { rule, value }) => {
                    assert!(rule.contains(text) && value == wrong, "{rule} ({value})");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
