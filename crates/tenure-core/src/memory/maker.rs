//! Creation of ranges, blocks and API resources in the steps of the fallback chain.

use std::sync::Arc;

use tenure_heap::{Round, Unfit};

use super::location::{Backing, Location};
use super::make::{buffer_usage, is_mapped, is_range_pool};
use super::objects::{CommittedMemory, HeapPlace, MapWish, MemoryOwner, MemorySize, Objects};
use super::policy::Placement;
use super::pool::{HeapBlock, PoolShard, Store};
use super::pools::Pools;
use super::request::{RangeRequest, ResourceRequest};
use super::residency::WeakBlock;
use super::shards::{PIECE_ALIGNMENT, Shards, pieces};
use super::{AllocationFlags, BlockTraits, Class, MemoryUse, PoolKind, Suballocation};
use crate::api_resource::ApiResource;
use crate::device::{
    BufferInfo, Device, DeviceError, HeapBudget, HeapDesc, MemoryFlags, MemoryTypeId, ResourceDesc,
};
use crate::{Config, Name};

/// A range of a block.
pub(super) struct Found<D: Device> {
    pub(super) suballocation: Suballocation,
    pub(super) store: Store<D>,
    block: Block,
}

impl<D: Device> Found<D> {
    fn old((suballocation, store): (Suballocation, Store<D>)) -> Self {
        Self { suballocation, store, block: Block::Old }
    }
}

/// The origin of a range's block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// The block existed before.
    Old,
    /// The block was made for the range, and is destroyed if the range is not used after all.
    New,
}

/// Parameters of every step.
pub(super) struct Maker<'a, D: Device> {
    pub(super) pools: &'a Pools<D>,
    pub(super) device: &'a D,
    pub(super) config: &'a Config,
}

impl<D: Device> Clone for Maker<'_, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Device> Copy for Maker<'_, D> {}

/// The divisor of a pool's growth: a sharded pool grows in smaller steps, to make up for memory that shards
/// keep in hand.
pub(super) fn steps<D: Device>(shards: &Shards<D>) -> u64 {
    if shards.made() > 1 { 4 } else { 1 }
}

/// The error for a pool whose blocks do not match its kind; [`Maker::make_block`] makes no such blocks.
fn wrong_store(kind: PoolKind) -> DeviceError {
    let rule = "ranges are in buffers and placed resources in heaps (kind of pool)";
    DeviceError::invalid_call(rule, kind as u64, PoolKind::ALL.len() as u64)
}

impl<'a, D: Device> Maker<'a, D> {
    fn objects(&self) -> &'a Objects {
        &self.pools.objects
    }

    pub(super) fn pool(&self, class: Class) -> Result<&'a Shards<D>, DeviceError> {
        let no_such = DeviceError::Unsupported { feature: "more than 32 memory types" };
        let shards = self.pools.find(class);
        shards.or_else(|| self.pools.find_or_make(self.device, self.config, class)).ok_or(no_such)
    }

    fn budget(&self) -> Vec<HeapBudget> {
        self.objects().budgets.current(self.device).into_vec()
    }

    pub(super) fn is_lazy(&self, memory: MemoryTypeId) -> bool {
        let memory_type = self.device.properties().memory_types.get(usize::from(memory.0));
        memory_type.is_some_and(|found| found.flags.contains(MemoryFlags::LAZILY_ALLOCATED))
    }

    /// A range of the blocks of the current thread's shard.
    pub(super) fn existing(&self, shards: &Shards<D>, size: u64, align: u64) -> Option<Found<D>> {
        let shard = self.pools.pool_of_thread(self.device, self.config, shards, size, align);
        shard.allocate(size, align).map(Found::old)
    }

    /// A range when the current thread's shard has none: from a block that another thread has just added, from
    /// a piece that the first shard lends, from a hole of another shard, or from a new block.
    #[cold]
    pub(super) fn grow(
        &self,
        shards: &Shards<D>,
        size: u64,
        align: u64,
        (round, flags): (Round, AllocationFlags),
    ) -> Result<Found<D>, DeviceError> {
        let (shard, _) = shards.of_thread(size, align);
        if !shards.is_first(shard) {
            let _borrowing = shard.lock_growth();
            if let Some(found) = self.borrow(shards, shard, size, align) {
                return Ok(Found::old(found));
            }
        }
        let first = shards.first();
        let _growing = first.lock_growth();
        let again = self.borrow(shards, shard, size, align);
        let again = again.or_else(|| {
            self.call_in(shards, shard);
            self.borrow(shards, shard, size, align)
        });
        // A hole that no other thread fills is better than memory from the driver.
        let others = || shards.each().filter(|other| other.id != shard.id && align <= PIECE_ALIGNMENT);
        if let Some(found) = again.or_else(|| others().find_map(|other| other.allocate(size, align))) {
            return Ok(Found::old(found));
        }
        // Free ranges of blocks that are being emptied are better, too.
        if first.stop_compaction()
            && let Some(found) = self.borrow(shards, shard, size, align)
        {
            return Ok(Found::old(found));
        }
        let in_large_block = |most| first.allocate_anywhere(size, align, most).map(Found::old);
        // A new block is better only if it is smaller.
        if let Some(found) = in_large_block(self.next_block(shards, size, align)) {
            return Ok(found);
        }
        let allowed = flags.check_allocates(size, first.class.memory);
        match allowed.and_then(|()| self.make_block(shards, size, align, round)) {
            Ok((store, capacity)) => self.add_block(first, store, capacity, size, align),
            Err(error) => in_large_block(u64::MAX).ok_or(error),
        }
    }

    /// The size of the new block that a range would get, in bytes.
    fn next_block(&self, shards: &Shards<D>, size: u64, align: u64) -> u64 {
        let growth = self.objects().limits.scale(shards.first().growth);
        let held = shards.first().taken() / steps(shards);
        growth.sizes(size, align, held).next().unwrap_or(u64::MAX)
    }

    /// A new block for a range, and its size.
    fn make_block(
        &self,
        shards: &Shards<D>,
        size: u64,
        align: u64,
        round: Round,
    ) -> Result<(Store<D>, u64), DeviceError> {
        let first = shards.first();
        let (memory, held) = (first.class.memory, first.taken() / steps(shards));
        if first.class.kind == PoolKind::SmallBuffers {
            // Slots are not allocations: they lie in heaps of another pool, which observes the limits.
            let capacity = first.growth.sizes(size, align, held).next();
            let capacity = capacity.ok_or(DeviceError::OutOfMemory { requested: size, memory })?;
            return Ok((self.make_slot(shards, capacity, round)?, capacity));
        }
        let limits = &self.objects().limits;
        let growth = limits.scale(first.growth);
        if let Some(size) = growth.sizes(size, align, held).next() {
            self.pools.make_way(self.device, size, Some(first));
        }
        let sizes = growth.sizes(size, align, held);
        limits.make_block(
            memory,
            sizes,
            round,
            || self.budget(),
            |capacity| {
                if is_range_pool(first.class.kind) {
                    self.make_buffer(shards, capacity)
                } else {
                    self.make_heap(shards, capacity)
                }
            },
        )
    }

    /// A range of the existing blocks, or of a piece that the first shard lends.
    fn borrow(
        &self,
        shards: &Shards<D>,
        pool: &PoolShard<D>,
        size: u64,
        align: u64,
    ) -> Option<(Suballocation, Store<D>)> {
        if let Some(found) = pool.allocate(size, align) {
            return Some(found);
        }
        if shards.is_first(pool) {
            return None;
        }
        let piece =
            shards.first().lend_piece(pieces(pool.taken(), size, pool.growth.max), PIECE_ALIGNMENT)?;
        pool.add_piece(piece, size, align).unwrap_or_else(|piece| {
            self.pools.let_go(self.device, piece);
            None
        })
    }

    /// Makes the other shards give back their empty pieces.
    fn call_in(&self, shards: &Shards<D>, pool: &PoolShard<D>) {
        let mut idle = Vec::new();
        for other in shards.each().filter(|other| other.id != pool.id && !shards.is_first(other)) {
            other.reclaim(&mut idle);
        }
        idle.into_iter().for_each(|piece| self.pools.let_go(self.device, piece));
    }

    /// Puts a new block into its pool, in place of the empty ones, which were too small for the request. They
    /// are removed only now, so that a refusal of the new block changes nothing.
    fn add_block(
        &self,
        pool: &PoolShard<D>,
        store: Store<D>,
        capacity: u64,
        size: u64,
        align: u64,
    ) -> Result<Found<D>, DeviceError> {
        let mut retired = Vec::new();
        let added = pool.add_and_allocate(store, capacity, size, align, &mut retired);
        retired.into_iter().for_each(|block| self.pools.let_go(self.device, block));
        match added {
            Ok((suballocation, store)) => Ok(Found { suballocation, store, block: Block::New }),
            Err(Unfit { block, reason }) => {
                // No other thread has seen the block, so nothing prevents its destruction.
                let unmade = self.pools.unmake(self.device, block);
                debug_assert!(unmade.is_ok(), "a block that was never shared can be unmade");
                Err(DeviceError::Unsupported { feature: reason })
            }
        }
    }

    /// The backing for a range of a shared buffer.
    pub(super) fn range(&self, shards: &Shards<D>, found: Found<D>) -> Result<Backing<D>, DeviceError> {
        match found.store.as_buffer() {
            Some(buffer) => {
                Ok(Backing { api_resource: buffer.clone(), location: Location::Range(found.suballocation) })
            }
            None => {
                self.pools.free(found.suballocation.free_token());
                Err(wrong_store(shards.first().class.kind))
            }
        }
    }

    /// A committed resource, as an evictable block where requested.
    fn share(
        &self,
        mut made: ApiResource<D>,
        CommittedMemory { memory, size, priority, .. }: CommittedMemory<'_>,
        is_evictable: bool,
    ) -> Arc<ApiResource<D>> {
        if !is_evictable {
            return Arc::new(made);
        }
        Arc::new_cyclic(|weak| {
            let (block, own) = (WeakBlock::Resource(weak.clone()), MemorySize { memory, size });
            made.block = self.pools.residency.add(block, own, priority);
            made
        })
    }

    fn make_heap(&self, shards: &Shards<D>, size: u64) -> Result<Store<D>, DeviceError> {
        let pool = shards.first();
        let Class { memory, category, kind, priority, is_evictable, .. } = pool.class;
        let alignment = pool.heap_alignment;
        let desc = HeapDesc { size, alignment, memory, category, priority };
        let heap = self.objects().create_heap(self.device, &desc, kind.as_str(), &shards.memory)?;
        let heap = Arc::new_cyclic(|weak| {
            let block = WeakBlock::Heap(weak.clone());
            let own = MemorySize { memory, size };
            let block = is_evictable.then(|| self.pools.residency.add(block, own, priority)).flatten();
            HeapBlock { heap, size, block }
        });
        Ok(Store::Heap { heap, pool: pool.id })
    }

    fn make_buffer(&self, shards: &Shards<D>, size: u64) -> Result<Store<D>, DeviceError> {
        let pool = shards.first();
        let Class { memory, kind, priority, is_evictable, .. } = pool.class;
        let desc = ResourceDesc::Buffer(BufferInfo { size, usage: pool.buffer_usage });
        let name = Name::from(kind.as_str());
        let wish = MapWish::new(memory, is_mapped(kind), || {
            self.pools.in_place.maps_block(kind, memory, pool.class.traits())
        });
        let part = &shards.memory;
        let own = CommittedMemory { memory, size, is_memoryless: false, wish, priority, part };
        let buffer = self.objects().create_committed(self.device, &desc, &own, &name)?;
        let buffer = self.share(buffer, own, is_evictable);
        event!(debug, pool = kind.as_str(), bytes = size, memory_type = memory.0, "block created");
        Ok(Store::Buffer { buffer, size, pool: pool.id })
    }

    /// A backing buffer of the small-buffer pool: placed, so that many buffers need few heaps, unless the
    /// driver wants it otherwise.
    fn make_slot(&self, shards: &Shards<D>, size: u64, round: Round) -> Result<Store<D>, DeviceError> {
        let pool = shards.first();
        let desc = ResourceDesc::Buffer(BufferInfo { size, usage: buffer_usage(pool.class.kind) });
        let needs = self.device.requirements(&desc)?;
        if needs.wants_dedicated() {
            let limits = &self.objects().limits;
            let make = || {
                self.pools.make_way(self.device, size, Some(pool));
                self.make_buffer(shards, size)
            };
            return limits.make_alone(pool.class.memory, size, round, || self.budget(), make);
        }
        let request = ResourceRequest {
            desc: &desc,
            needs: &needs,
            placement: Placement::Placed(PoolKind::SmallBufferSlots),
            memory_use: MemoryUse::GpuOnly,
            is_filled: false,
            owner: MemoryOwner::Resource,
            flags: AllocationFlags::empty(),
            traits: BlockTraits::default(),
            name: &Name::from(pool.class.kind.as_str()),
        };
        let heaps = self.pool(Class { kind: PoolKind::SmallBufferSlots, ..pool.class })?;
        let found = match self.existing(heaps, needs.size, needs.alignment) {
            Some(found) => found,
            None => self.grow(heaps, needs.size, needs.alignment, (round, request.flags))?,
        };
        let (buffer, suballocation) = self.create_placed(heaps, found, request)?;
        Ok(Store::Slot { buffer, size, suballocation })
    }

    /// A resource placed in one of the pool's heaps, if there is room.
    pub(super) fn placed_in_existing(
        &self,
        shards: &Shards<D>,
        request: ResourceRequest<'_>,
    ) -> Result<Option<Backing<D>>, DeviceError> {
        let found = self.existing(shards, request.needs.size, request.needs.alignment);
        found.map(|found| self.placed(shards, found, request)).transpose()
    }

    /// A resource placed in a range of one of the pool's heaps.
    pub(super) fn placed(
        &self,
        shards: &Shards<D>,
        found: Found<D>,
        request: ResourceRequest<'_>,
    ) -> Result<Backing<D>, DeviceError> {
        let (api_resource, suballocation) = self.create_placed(shards, found, request)?;
        Ok(Backing { api_resource, location: Location::Placed(suballocation) })
    }

    fn create_placed(
        &self,
        shards: &Shards<D>,
        Found { suballocation, store, block: origin }: Found<D>,
        request: ResourceRequest<'_>,
    ) -> Result<(Arc<ApiResource<D>>, Suballocation), DeviceError> {
        let Store::Heap { heap, .. } = store else {
            self.pools.free(suballocation.free_token());
            return Err(wrong_store(shards.first().class.kind));
        };
        let wish = self.map_wish(&request, shards.first().class.memory);
        let place = HeapPlace { heap: &heap.heap, offset: suballocation.offset, wish, block: heap.block };
        let made = self.objects().create_placed(self.device, request.desc, &place, request.name);
        drop(heap);
        match made {
            Ok(api_resource) => Ok((api_resource, suballocation)),
            Err(error) => {
                self.give_up(shards, suballocation, origin);
                Err(error)
            }
        }
    }

    /// Whether a resource gets mapped for the CPU.
    fn map_wish(&self, request: &ResourceRequest<'_>, memory: MemoryTypeId) -> MapWish {
        MapWish::new(memory, request.memory_use.is_mapped(), || {
            request.owner == MemoryOwner::Resource
                && self.pools.in_place.maps_resource(request.desc, request.is_filled, memory, request.traits)
        })
    }

    /// Undoes a suballocation whose resource could not be made, and its block if it was made for it.
    fn give_up(&self, shards: &Shards<D>, suballocation: Suballocation, block: Block) {
        self.pools.free(suballocation.free_token());
        if block == Block::New
            && let Some(pool) = shards.get(suballocation.pool.shard())
            && let Some(block) = pool.remove_if_empty(suballocation.block)
        {
            self.pools.let_go(self.device, block);
        }
    }

    /// A resource with dedicated memory.
    pub(super) fn committed(
        &self,
        request: ResourceRequest<'_>,
        memory: MemoryTypeId,
        round: Round,
    ) -> Result<Backing<D>, DeviceError> {
        let size = self.device.properties().committed_size(request.needs);
        request.flags.check_allocates(size, memory)?;
        let is_memoryless = self.is_lazy(memory);
        let (wish, owner) = (self.map_wish(&request, memory), request.owner);
        let priority = request.traits.priority.unwrap_or(request.desc.usage().priority());
        let part = self.objects().part_of(owner);
        let own = CommittedMemory { memory, size, is_memoryless, wish, priority, part };
        // Counts as nothing until the driver stores something in it.
        let counted = if is_memoryless { 0 } else { size };
        let make = || {
            self.pools.make_way(self.device, counted, None);
            self.objects().create_committed(self.device, request.desc, &own, request.name)
        };
        let made = self.objects().limits.make_alone(memory, counted, round, || self.budget(), make)?;
        let api_resource = self.share(made, own, request.traits.is_evictable && !is_memoryless);
        Ok(Backing {
            api_resource,
            location: Location::Committed { own: MemorySize { memory, size }, owner, is_memoryless },
        })
    }

    /// A committed resource for a request that no pool has a range for.
    pub(super) fn dedicated_buffer(
        &self,
        request: RangeRequest<'_>,
        memory: MemoryTypeId,
        round: Round,
    ) -> Result<Backing<D>, DeviceError> {
        let desc = ResourceDesc::Buffer(request.alone.clone());
        let needs = self.device.requirements(&desc)?;
        let request = ResourceRequest {
            desc: &desc,
            needs: &needs,
            placement: Placement::Committed,
            memory_use: request.memory_use,
            is_filled: request.is_filled,
            owner: MemoryOwner::Resource,
            flags: request.flags,
            traits: request.traits,
            name: request.name,
        };
        self.committed(request, memory, round)
    }
}
