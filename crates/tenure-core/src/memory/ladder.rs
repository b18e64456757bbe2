//! What is tried, in which order, until memory is found (spec M11).

use std::sync::Arc;

use super::lending::pieces;
use super::make::{buffer_usage, is_mapped, is_range_pool};
use super::notices::Notices;
use super::objects::{CommittedMemory, MemoryOwner, Objects};
use super::place::{Home, Place};
use super::policy::Placement;
use super::pool::{HeapBlock, Pool, Store, Unfit};
use super::pools::{Pools, allows};
use super::shards::{PIECE_ALIGNMENT, Shards};
use super::{Class, MemoryUse, PoolKind, Spot};
use crate::device::{
    BufferInfo, Device, DeviceError, HeapDesc, MemoryFlags, MemoryTypeId, Requirements, ResourceDesc,
};
use crate::resource::native::Native;
use crate::{Config, Name};

/// Why no place was found.
#[derive(Debug)]
pub(crate) enum Fall {
    /// Every rung was short of memory; the class preferred and the driver's last word.
    Short { class: Class, refusal: DeviceError },
    /// The device refused for another reason.
    Refused(DeviceError),
}

/// A range of a shared buffer is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RangeRequest<'a> {
    pub(crate) kind: PoolKind,
    pub(crate) memory_use: MemoryUse,
    /// Bytes of the range.
    pub(crate) size: u64,
    pub(crate) align: u64,
    /// What to create, should it get memory of its own.
    pub(crate) alone: &'a BufferInfo,
    pub(crate) name: &'a Name,
}

/// An API resource of its own is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourceRequest<'a> {
    pub(crate) desc: &'a ResourceDesc,
    pub(crate) needs: &'a Requirements,
    pub(crate) placement: Placement,
    pub(crate) memory_use: MemoryUse,
    /// Whose memory it is, should it get memory of its own.
    pub(crate) owner: MemoryOwner,
    pub(crate) name: &'a Name,
}

/// A range of a block.
struct Found<D: Device> {
    spot: Spot,
    store: Store<D>,
    block: Block,
}

/// How the block of a range came to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Block {
    /// It was there.
    Old,
    /// It was made for the range, and goes again if the range is not used after all.
    New,
}

/// What every rung needs.
#[derive(Clone, Copy)]
struct Ground<'a, D: Device> {
    pools: &'a Pools<D>,
    device: &'a D,
    config: &'a Config,
}

impl<D: Device> Pools<D> {
    /// Finds a range of a shared buffer. In steady state [`take_range`](Self::take_range) does the same with
    /// less ado.
    pub(crate) fn place_range(
        &self,
        device: &D,
        config: &Config,
        request: RangeRequest<'_>,
        make_room: impl Fn(),
    ) -> Result<Home<D>, Fall> {
        let needs = self.range_needs(device, request.kind).map_err(Fall::Refused)?;
        let class = |memory| Class { memory, category: needs.category, kind: request.kind };
        let order = self.order(request.memory_use);
        if let Some(first) = order.iter().find(|memory| allows(needs.memory_types, **memory)) {
            self.note_usual(request.kind, request.memory_use, class(*first));
        }
        let ground = Ground { pools: self, device, config };
        climb(&self.notices, order, needs.memory_types, class, make_room, |memory| {
            let pool = ground.pool(class(memory))?;
            match ground.find(pool, request.size, request.align) {
                Ok(found) => ground.range_home(pool, found),
                Err(error) if may_stand_alone(&error) => ground.dedicated_buffer(request, memory),
                Err(error) => Err(error),
            }
        })
    }

    /// Finds a run of tiles in a heap. Tiles have no memory of their own to fall back on.
    pub(crate) fn place_tiles(
        &self,
        device: &D,
        config: &Config,
        needs: &Requirements,
        size: u64,
        tile: u64,
        make_room: impl Fn(),
    ) -> Result<(Spot, Store<D>), Fall> {
        let class = |memory| Class { memory, category: needs.category, kind: PoolKind::Tiles };
        let ground = Ground { pools: self, device, config };
        let order = self.order(MemoryUse::GpuOnly);
        climb(&self.notices, order, needs.memory_types, class, make_room, |memory| {
            let found = ground.find(ground.pool(class(memory))?, size, tile)?;
            Ok((found.spot, found.store))
        })
    }

    /// Finds a place for an API resource and creates it there.
    pub(crate) fn place_resource(
        &self,
        device: &D,
        config: &Config,
        request: ResourceRequest<'_>,
        make_room: impl Fn(),
    ) -> Result<Home<D>, Fall> {
        let needs = request.needs;
        let kind = match request.placement {
            Placement::Placed(kind) | Placement::Range(kind) => Some(kind),
            Placement::Committed => None,
        };
        let class =
            |memory| Class { memory, category: needs.category, kind: kind.unwrap_or(PoolKind::Committed) };
        let order = self.order_for(request.memory_use, request.desc);
        let ground = Ground { pools: self, device, config };
        let flags = |memory: MemoryTypeId| {
            let memory_type = device.properties().memory_types.get(usize::from(memory.0));
            memory_type.map_or(MemoryFlags::empty(), |memory_type| memory_type.flags)
        };
        climb(&self.notices, order, needs.memory_types, class, make_room, |memory| {
            // What is allocated lazily costs nothing as long as it is not used; a block would be.
            let is_lazy = flags(memory).contains(MemoryFlags::LAZILY_ALLOCATED);
            let pool = match kind {
                Some(_) if !is_lazy => ground.pool(class(memory))?,
                _ => return ground.committed(request, memory),
            };
            match ground.placed(pool, request) {
                Ok((native, spot)) => Ok(Home { native, place: Place::Placed(spot) }),
                Err(error) if may_stand_alone(&error) => ground.committed(request, memory),
                Err(error) => Err(error),
            }
        })
    }
}

/// A pool that is divided grows in smaller steps: what shards keep in hand is made up for.
fn steps<D: Device>(shards: &Shards<D>) -> u64 {
    if shards.made() > 1 { 4 } else { 1 }
}

/// True when memory of its own may do where the pool did not: the driver is short of memory for a
/// block, or no block suits the request.
const fn may_stand_alone(error: &DeviceError) -> bool {
    error.is_shortage() || matches!(error, DeviceError::Unsupported { .. })
}

/// A pool whose blocks are not what its kind says; [`Ground::make_block`] makes none such.
const fn wrong_store(kind: PoolKind) -> DeviceError {
    let rule = "ranges are in buffers and placed resources in heaps (kind of pool)";
    DeviceError::InvalidCall { rule, value: kind as u64, limit: PoolKind::ALL.len() as u64 }
}

/// Tries each allowed memory type, makes room once, and tries again.
fn climb<T>(
    notices: &Notices,
    order: &[MemoryTypeId],
    memory_types: u32,
    class: impl Fn(MemoryTypeId) -> Class,
    make_room: impl Fn(),
    mut attempt: impl FnMut(MemoryTypeId) -> Result<T, DeviceError>,
) -> Result<T, Fall> {
    let allowed = || order.iter().copied().filter(|memory| allows(memory_types, *memory));
    let Some(first) = allowed().next() else {
        return Err(Fall::Refused(DeviceError::Unsupported {
            feature: "a memory type for this resource and use",
        }));
    };
    let mut refusal = None;
    for is_last_round in [false, true] {
        for memory in allowed() {
            match attempt(memory) {
                Ok(found) => return Ok(found),
                Err(error) if error.is_shortage() => {
                    note_refusal(notices, class(memory), &error);
                    refusal = Some(error);
                }
                Err(error) => return Err(Fall::Refused(error)),
            }
        }
        if !is_last_round {
            make_room();
        }
    }
    let refusal = refusal.unwrap_or(DeviceError::OutOfMemory { requested: 0, memory: first });
    Err(Fall::Short { class: class(first), refusal })
}

#[cold]
fn note_refusal(notices: &Notices, class: Class, refusal: &DeviceError) {
    if let Some(times) = notices.refusal(class) {
        tracing::debug!(target: "tenure", %class, %refusal, times, "no memory in this class; the next step follows");
    }
}

impl<'a, D: Device> Ground<'a, D> {
    fn objects(&self) -> &'a Objects {
        &self.pools.objects
    }

    fn pool(&self, class: Class) -> Result<&'a Shards<D>, DeviceError> {
        let no_such = DeviceError::Unsupported { feature: "more than 32 memory types" };
        let shards = self.pools.find(class);
        shards.or_else(|| self.pools.find_or_make(self.device, self.config, class)).ok_or(no_such)
    }

    /// A range of the blocks there are, or of a new one.
    fn find(&self, shards: &Shards<D>, size: u64, align: u64) -> Result<Found<D>, DeviceError> {
        let pool = self.pools.pool_of_thread(self.device, self.config, shards, size, align);
        match pool.allocate(size, align) {
            Some((spot, store)) => Ok(Found { spot, store, block: Block::Old }),
            None => self.find_more(shards, pool, size, align),
        }
    }

    /// A range although the pool has none: what another thread has brought meanwhile, a part of a piece that
    /// the first shard lends, a hole of another shard, or a part of a new block.
    #[cold]
    fn find_more(
        &self,
        shards: &Shards<D>,
        pool: &Pool<D>,
        size: u64,
        align: u64,
    ) -> Result<Found<D>, DeviceError> {
        let old = |(spot, store)| Found { spot, store, block: Block::Old };
        if !shards.is_first(pool) {
            let _borrowing = pool.lock_growth();
            if let Some(found) = self.borrow(shards, pool, size, align) {
                return Ok(old(found));
            }
        }
        let first = shards.first();
        let _growing = first.lock_growth();
        let again = self.borrow(shards, pool, size, align);
        let again = again.or_else(|| {
            self.call_in(shards, pool);
            self.borrow(shards, pool, size, align)
        });
        // A hole that nobody else fills is better than memory from the driver.
        let others = || shards.each().filter(|other| other.id != pool.id && align <= PIECE_ALIGNMENT);
        if let Some(found) = again.or_else(|| others().find_map(|other| other.allocate(size, align))) {
            return Ok(old(found));
        }
        // What it comes to when the device allows no block that would do.
        let mut refusal = DeviceError::OutOfMemory { requested: size, memory: first.class.memory };
        for capacity in first.growth.sizes(size, align, first.taken() / steps(shards)) {
            match self.make_block(shards, capacity) {
                Ok(store) => return self.add_block(first, store, capacity, size, align),
                Err(error) if error.is_shortage() => refusal = error,
                Err(error) => return Err(error),
            }
        }
        Err(refusal)
    }

    /// A range of the blocks there are, or of a piece that the first shard lends.
    fn borrow(&self, shards: &Shards<D>, pool: &Pool<D>, size: u64, align: u64) -> Option<(Spot, Store<D>)> {
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

    /// Has the other shards give back the pieces that nothing lives in.
    fn call_in(&self, shards: &Shards<D>, pool: &Pool<D>) {
        let mut idle = Vec::new();
        for other in shards.each().filter(|other| other.id != pool.id && !shards.is_first(other)) {
            other.reclaim(&mut idle);
        }
        idle.into_iter().for_each(|piece| self.pools.let_go(self.device, piece));
    }

    /// Puts a new block into its pool, in place of the empty ones, which were too small for the
    /// request. They go only now: had the driver refused the new one, nothing would have changed.
    fn add_block(
        &self,
        pool: &Pool<D>,
        store: Store<D>,
        capacity: u64,
        size: u64,
        align: u64,
    ) -> Result<Found<D>, DeviceError> {
        let mut retired = Vec::new();
        let added = pool.add_and_allocate(store, capacity, size, align, &mut retired);
        retired.into_iter().for_each(|block| self.pools.let_go(self.device, block));
        match added {
            Ok((spot, store)) => Ok(Found { spot, store, block: Block::New }),
            Err(Unfit { store, reason }) => {
                // Nobody else has seen the block, so nothing keeps it from going.
                let unmade = self.pools.unmake(self.device, store);
                debug_assert!(unmade.is_ok(), "a block that was never shared can be unmade");
                Err(DeviceError::Unsupported { feature: reason })
            }
        }
    }

    /// The home that a range of a shared buffer is.
    fn range_home(&self, shards: &Shards<D>, found: Found<D>) -> Result<Home<D>, DeviceError> {
        match found.store.as_buffer() {
            Some(buffer) => Ok(Home { native: buffer.clone(), place: Place::Range(found.spot) }),
            None => {
                self.pools.free(found.spot.receipt());
                Err(wrong_store(shards.first().class.kind))
            }
        }
    }

    fn make_block(&self, shards: &Shards<D>, capacity: u64) -> Result<Store<D>, DeviceError> {
        match shards.first().class.kind {
            PoolKind::SmallBuffers => self.make_slot(shards, capacity),
            kind if is_range_pool(kind) => self.make_buffer(shards, capacity),
            _ => self.make_heap(shards, capacity),
        }
    }

    fn make_heap(&self, shards: &Shards<D>, size: u64) -> Result<Store<D>, DeviceError> {
        let pool = shards.first();
        let Class { memory, category, kind } = pool.class;
        let alignment = pool.heap_alignment;
        let desc = HeapDesc { size, alignment, memory, category, priority: kind.priority() };
        let heap = self.objects().create_heap(self.device, &desc, kind.as_str(), &shards.taken)?;
        Ok(Store::Heap { heap: Arc::new(HeapBlock { heap, size }), pool: pool.id })
    }

    fn make_buffer(&self, shards: &Shards<D>, size: u64) -> Result<Store<D>, DeviceError> {
        let pool = shards.first();
        let Class { memory, kind, .. } = pool.class;
        let desc = ResourceDesc::Buffer(BufferInfo { size, usage: pool.buffer_usage });
        let name = Name::from(kind.as_str());
        let own = CommittedMemory { memory, size, is_mapped: is_mapped(kind), part: &shards.taken };
        let buffer = self.objects().create_committed(self.device, &desc, &own, &name)?;
        tracing::debug!(target: "tenure", pool = kind.as_str(), bytes = size, memory_type = memory.0, "block created");
        Ok(Store::Buffer { buffer, size, pool: pool.id })
    }

    /// A backing buffer of the small-buffer pool: placed, so that many need few heaps, unless the
    /// driver wants it otherwise.
    fn make_slot(&self, shards: &Shards<D>, size: u64) -> Result<Store<D>, DeviceError> {
        let pool = shards.first();
        let desc = ResourceDesc::Buffer(BufferInfo { size, usage: buffer_usage(pool.class.kind) });
        let needs = self.device.requirements(&desc)?;
        if needs.wants_dedicated() {
            return self.make_buffer(shards, size);
        }
        let request = ResourceRequest {
            desc: &desc,
            needs: &needs,
            placement: Placement::Placed(PoolKind::SmallBufferSlots),
            memory_use: MemoryUse::GpuOnly,
            owner: MemoryOwner::Resource,
            name: &Name::from(pool.class.kind.as_str()),
        };
        let heaps = self.pool(Class { kind: PoolKind::SmallBufferSlots, ..pool.class })?;
        let (buffer, place) = self.placed(heaps, request)?;
        Ok(Store::Slot { buffer, size, place })
    }

    /// A resource placed in a heap of the pool.
    fn placed(
        &self,
        shards: &Shards<D>,
        request: ResourceRequest<'_>,
    ) -> Result<(Arc<Native<D>>, Spot), DeviceError> {
        let Requirements { size, alignment, .. } = *request.needs;
        let Found { spot, store, block } = self.find(shards, size, alignment)?;
        let Store::Heap { heap, .. } = store else {
            self.pools.free(spot.receipt());
            return Err(wrong_store(shards.first().class.kind));
        };
        let mapped = request.memory_use.is_mapped().then_some(shards.first().class.memory);
        let made = self.objects().create_placed(
            self.device,
            request.desc,
            &heap.heap,
            spot.offset,
            mapped,
            request.name,
        );
        drop(heap);
        made.map(|native| (native, spot)).inspect_err(|_| self.give_up(shards, spot, block))
    }

    /// Undoes a suballocation whose resource could not be made, and the block if it was made for it.
    fn give_up(&self, shards: &Shards<D>, spot: Spot, block: Block) {
        self.pools.free(spot.receipt());
        if block == Block::New
            && let Some(pool) = shards.get(spot.pool.shard())
            && let Some(block) = pool.remove_if_empty(spot.block)
        {
            self.pools.let_go(self.device, block);
        }
    }

    fn committed(&self, request: ResourceRequest<'_>, memory: MemoryTypeId) -> Result<Home<D>, DeviceError> {
        let size = request.needs.size;
        if size > self.device.properties().max_heap_size {
            return Err(DeviceError::OutOfMemory { requested: size, memory });
        }
        let (is_mapped, owner) = (request.memory_use.is_mapped(), request.owner);
        let own = CommittedMemory { memory, size, is_mapped, part: self.objects().part_of(owner) };
        let native = self.objects().create_committed(self.device, request.desc, &own, request.name)?;
        Ok(Home { native, place: Place::Committed { size, owner } })
    }

    /// Memory of its own for what was to be a range.
    fn dedicated_buffer(
        &self,
        request: RangeRequest<'_>,
        memory: MemoryTypeId,
    ) -> Result<Home<D>, DeviceError> {
        let desc = ResourceDesc::Buffer(request.alone.clone());
        let needs = self.device.requirements(&desc)?;
        let request = ResourceRequest {
            desc: &desc,
            needs: &needs,
            placement: Placement::Committed,
            memory_use: request.memory_use,
            owner: MemoryOwner::Resource,
            name: request.name,
        };
        self.committed(request, memory)
    }
}
