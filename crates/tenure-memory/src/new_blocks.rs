//! Ranges of existing blocks, and new blocks if these are full.

use std::sync::Arc;

use tenure_heap::{Round, Unfit};

use super::api_objects::{CommittedMemory, MapWish};
use super::block::{Block, HeapBlock, PoolId, Source, Store, Suballocation};
use super::engine::Engine;
use super::idle_blocks::Growing;
use super::policy::PlacementKind;
use super::pool_settings::{buffer_usage, is_mapped, is_range_pool, make_pool};
use super::request::ResourceRequest;
use super::shard::PoolShard;
use super::sharding::{PIECE_ALIGNMENT, Shards, pieces};
use super::{AllocationFlags, Class, PoolKind};
use crate::Name;
use crate::device::{BufferInfo, Device, DeviceError, HeapDesc, ResourceDesc};

/// A range of a block.
pub struct Found<'s, D: Device> {
    pub(super) shards: &'s Shards<D>,
    pub(super) suballocation: Suballocation,
    pub(super) store: Store<D>,
    pub(super) origin: Origin,
}

impl<'s, D: Device> Found<'s, D> {
    fn existing(shards: &'s Shards<D>, (suballocation, store): (Suballocation, Store<D>)) -> Self {
        Self { shards, suballocation, store, origin: Origin::Existing }
    }
}

/// The origin of a range's block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The block existed before.
    Existing,
    /// The block was created for the range, and is destroyed if the range is not used after all.
    New,
}

impl<D: Device> Engine<'_, D> {
    /// The shard from which the current thread allocates a range of this size and alignment.
    #[inline]
    pub(super) fn shard_of_thread(self, shards: &Shards<D>, size: u64, align: u64) -> &PoolShard<D> {
        let (shard, contends) = shards.of_thread(size, align);
        if contends {
            self.note_contention(shards, size);
        }
        shard
    }

    /// Counts that the current thread found its shard of a pool locked.
    #[cold]
    fn note_contention(self, shards: &Shards<D>, size: u64) {
        let PoolShard { id, class, .. } = *shards.first();
        let heaps = self.pools.heap_properties();
        shards.note_contention(size, |shard| {
            make_pool(self.device, heaps, self.config, PoolId::new(id.class(), shard), class)
        });
    }

    /// A range of the blocks of the current thread's shard.
    #[inline(always)]
    pub(super) fn in_existing_block(self, shards: &Shards<D>, size: u64, align: u64) -> Option<Found<'_, D>> {
        let found = self.shard_of_thread(shards, size, align).lock().allocate(size, align);
        found.map(|found| Found::existing(shards, found))
    }

    /// A range when the current thread's shard has none: from a block that another thread has just added, from
    /// a piece lent by the first shard, from a hole of another shard, or from a new block.
    #[cold]
    pub(super) fn grow(
        self,
        shards: &Shards<D>,
        size: u64,
        align: u64,
        (round, flags): (Round, AllocationFlags),
    ) -> Result<Found<'_, D>, DeviceError> {
        let (shard, _) = shards.of_thread(size, align);
        if !shard.is_first() {
            let _borrowing = shard.lock_growth();
            if let Some(found) = self.borrow(shards, shard, size, align) {
                return Ok(Found::existing(shards, found));
            }
        }
        let first = shards.first();
        let _growing = first.lock_growth();
        let again = self.borrow(shards, shard, size, align).or_else(|| {
            self.call_in(shards, shard);
            self.borrow(shards, shard, size, align)
        });
        // A hole that no other thread fills is better than memory from the driver.
        let others = || shards.each().filter(|other| other.id != shard.id && align <= PIECE_ALIGNMENT);
        let again = again.or_else(|| others().find_map(|other| other.lock().allocate(size, align)));
        // Free ranges of blocks that are being emptied are better, too.
        let again = again.or_else(|| {
            let has_stopped = first.lock().pool.stop_compaction();
            has_stopped.then(|| self.borrow(shards, shard, size, align)).flatten()
        });
        let in_large_block = |most| first.lock().allocate_anywhere(size, align, most);
        // A new block is better only if it is smaller.
        let sizes = shards.block_sizes(self.limits(), size, align);
        let next = sizes.clone().next();
        if let Some(found) = again.or_else(|| in_large_block(next.unwrap_or(u64::MAX))) {
            return Ok(Found::existing(shards, found));
        }
        // An empty block that was too large for the request serves it if the driver refuses a new one.
        let keeps_empty = first.lock().pool.has_room_anywhere(size, align);
        let allowed = flags.check_allocates(size, first.class.memory);
        match allowed.and_then(|()| self.make_block(shards, sizes, size, (round, keeps_empty))) {
            Ok(block) => self.add_block(shards, block, size, align),
            Err(error) => in_large_block(u64::MAX).map(|found| Found::existing(shards, found)).ok_or(error),
        }
    }

    /// A range of the existing blocks, or of a piece lent by the first shard.
    fn borrow(
        self,
        shards: &Shards<D>,
        shard: &PoolShard<D>,
        size: u64,
        align: u64,
    ) -> Option<(Suballocation, Store<D>)> {
        let mut blocks = shard.lock();
        if let Some(found) = blocks.allocate(size, align) {
            return Some(found);
        }
        if shard.is_first() {
            return None;
        }
        let sizes = pieces(blocks.pool.taken(), size, shard.growth.max);
        drop(blocks);
        let piece = shards.first().lock().lend(sizes, PIECE_ALIGNMENT)?;
        let added = shard.lock_as_it_is().add_lent(piece, size, align);
        added.unwrap_or_else(|piece| {
            self.pools.destroy_block(self.device, piece);
            None
        })
    }

    /// Makes the other shards return their empty pieces.
    fn call_in(self, shards: &Shards<D>, shard: &PoolShard<D>) {
        let mut idle = Vec::new();
        for other in shards.each().filter(|other| other.id != shard.id && !other.is_first()) {
            other.take_empty(&mut idle);
        }
        self.pools.destroy_blocks(self.device, idle);
    }

    /// A new block of the first of these sizes that the limits and the driver allow.
    fn make_block(
        self,
        shards: &Shards<D>,
        mut sizes: impl Iterator<Item = u64> + Clone,
        requested: u64,
        (round, keeps_empty): (Round, bool),
    ) -> Result<Block<D>, DeviceError> {
        let first = shards.first();
        let Class { memory, kind, .. } = first.class;
        if kind == PoolKind::SmallBuffers {
            // Slots are not allocations: they are in heaps of another pool, which observes the limits.
            let size = sizes.next().ok_or(DeviceError::OutOfMemory { requested, memory })?;
            return self.make_slot(shards, size, round);
        }
        if let Some(size) = sizes.clone().next() {
            self.pools.make_way(self.device, size, Some(Growing { pool: first, keeps_empty }));
        }
        let make = |size| match is_range_pool(kind) {
            true => self.make_buffer(shards, size),
            false => self.make_heap(shards, size),
        };
        let made = self.limits().make_block(memory, sizes, round, || self.budget(), make);
        made.map(|(block, _)| block)
    }

    /// Adds a new block to its pool, in place of the empty ones, which were too small for the request. They
    /// are removed only now, so that a refusal of the new block changes nothing.
    fn add_block(
        self,
        shards: &Shards<D>,
        block: Block<D>,
        size: u64,
        align: u64,
    ) -> Result<Found<'_, D>, DeviceError> {
        let mut retired = Vec::new();
        let added = shards.first().lock_as_it_is().add_and_allocate(block, size, align, &mut retired);
        self.pools.destroy_blocks(self.device, retired);
        match added {
            Ok((suballocation, store)) => Ok(Found { shards, suballocation, store, origin: Origin::New }),
            Err(Unfit { block, reason }) => {
                self.pools.destroy_block(self.device, block);
                Err(DeviceError::Unsupported { feature: reason })
            }
        }
    }

    fn make_heap(self, shards: &Shards<D>, size: u64) -> Result<Block<D>, DeviceError> {
        let pool = shards.first();
        let Class { memory, category, kind, priority, is_evictable, .. } = pool.class;
        let desc = HeapDesc { size, alignment: pool.heap_alignment, memory, category, priority };
        let objects = &self.pools.objects;
        let heap = objects.create_heap(self.device, &desc, kind.as_str(), &shards.memory)?;
        let residency = &self.pools.residency;
        let heap = Arc::new_cyclic(|weak| {
            let block = is_evictable.then(|| residency.add_heap(weak, shards.own(size), priority)).flatten();
            HeapBlock { heap, block }
        });
        Ok(Block { store: Store::Heap(heap), size, source: Source::Driver(pool.id) })
    }

    fn make_buffer(self, shards: &Shards<D>, size: u64) -> Result<Block<D>, DeviceError> {
        let pool = shards.first();
        let Class { memory, kind, priority, is_evictable, .. } = pool.class;
        let desc = ResourceDesc::Buffer(BufferInfo::new(size, pool.buffer_usage));
        let name = Name::from(kind.as_str());
        let wish = MapWish::new(memory, is_mapped(kind), || {
            self.pools.in_place.maps_block(kind, memory, pool.class.traits())
        });
        let part = &shards.memory;
        let own = CommittedMemory { memory, size, is_memoryless: false, wish, priority, part };
        let mut buffer = self.pools.objects.create_committed(self.device, &desc, &own, &name)?;
        if kind == PoolKind::ReadbackPages {
            buffer.states.set_disjoint_uses();
        }
        let buffer = self.pools.residency.share(buffer, shards.own(size), priority, is_evictable);
        event!(debug, pool = kind.as_str(), bytes = size, memory_type = memory.0, "block created");
        Ok(Block { store: Store::Buffer(buffer), size, source: Source::Driver(pool.id) })
    }

    /// A backing buffer of the small-buffer pool: placed, so that many buffers need few heaps, unless the
    /// driver prefers otherwise.
    fn make_slot(self, shards: &Shards<D>, size: u64, round: Round) -> Result<Block<D>, DeviceError> {
        let pool = shards.first();
        let desc = ResourceDesc::Buffer(BufferInfo::new(size, buffer_usage(pool.class.kind)));
        let needs = self.device.requirements(&desc)?;
        if needs.wants_dedicated() {
            let make = || {
                self.pools.make_way(self.device, size, Some(Growing { pool, keeps_empty: false }));
                self.make_buffer(shards, size)
            };
            return self.limits().make_alone(pool.class.memory, size, round, || self.budget(), make);
        }
        let placement = PlacementKind::Placed(PoolKind::SmallBufferSlots);
        let name = Name::from(pool.class.kind.as_str());
        let request = ResourceRequest::new(&desc, &needs, placement, &name);
        let heaps = self.pool(Class { kind: PoolKind::SmallBufferSlots, ..pool.class })?;
        let found = match self.in_existing_block(heaps, needs.size, needs.alignment) {
            Some(found) => found,
            None => self.grow(heaps, needs.size, needs.alignment, (round, request.flags))?,
        };
        let (buffer, range) = request.create_placed(self, found)?;
        Ok(Block { store: Store::Buffer(buffer), size, source: Source::Slot(range) })
    }

    /// Undoes a suballocation after its resource could not be created, and removes its block if it was created
    /// for it.
    pub(super) fn undo_suballocation(self, shards: &Shards<D>, range: Suballocation, origin: Origin) {
        self.pools.free(range.free_token());
        if origin == Origin::New
            && let Some(shard) = shards.get(range.pool.shard())
            && let Some(block) = shard.lock().remove_if_empty(range.block)
        {
            self.pools.destroy_block(self.device, block);
        }
    }

    /// Frees a range of a block of the wrong kind, which [`make_block`](Self::make_block) never creates.
    #[cold]
    pub(super) fn refuse_store(self, shards: &Shards<D>, range: &Suballocation) -> DeviceError {
        self.pools.free(range.free_token());
        let rule = "ranges are in buffers and placed resources in heaps (kind of pool)";
        DeviceError::invalid_call(rule, shards.first().class.kind as u64, PoolKind::ALL.len() as u64)
    }
}
