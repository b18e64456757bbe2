//! The terms of each request for memory, and the creation of its object there.

use std::sync::Arc;

use tenure_heap::{Round, Spill};

use super::api_objects::{CommittedMemory, HeapPlace, MapWish, MemoryOwner, MemorySize};
use super::block::{HeapBlock, Store, Suballocation};
use super::engine::Engine;
use super::location::{Backing, Location};
use super::new_blocks::{Found, Origin};
use super::policy::{PlacementKind, shared_pool};
use super::request::{RangeRequest, ResourceRequest, TileRequest};
use super::sharding::Shards;
use super::{AllocationFlags, BlockTraits, MemoryUse, PoolKind};
use crate::Strategy;
use crate::api_resource::ApiResource;
use crate::device::{Device, DeviceError, HeapCategory, MemoryTypeId, Priority, ResourceDesc};

/// The memory requirements of a request, and its permissions.
pub struct Terms<'a> {
    /// Bytes.
    pub(super) size: u64,
    pub(super) align: u64,
    pub(super) category: HeapCategory,
    /// The kind of the pools that serve it; `None`: only dedicated memory.
    pub(super) kind: Option<PoolKind>,
    /// For a resource with dedicated memory by policy: the pool whose free ranges are better than a failure.
    pub(super) shared: Option<PoolKind>,
    pub(super) traits: BlockTraits,
    pub(super) flags: AllocationFlags,
    /// The memory types, best first.
    pub(super) order: &'a [MemoryTypeId],
    /// The memory types that the resource can use, one bit each.
    pub(super) usable: u32,
    /// The usable memory types that the flags allow, one bit each.
    pub(super) allowed: u32,
    pub(super) spill: Spill,
}

/// A request for memory.
pub trait Request<D: Device> {
    type Found;

    /// # Errors
    /// The errors of the device's requirement queries.
    fn terms<'p>(&self, engine: Engine<'p, D>) -> Result<Terms<'p>, DeviceError>;

    /// Uses a range of a block.
    ///
    /// # Errors
    /// The errors of the device. The range is then free again.
    fn in_block(&self, engine: Engine<'_, D>, found: Found<'_, D>) -> Result<Self::Found, DeviceError>;

    /// Allocates dedicated memory; `None` if the request can only use blocks.
    fn dedicated(
        &self,
        engine: Engine<'_, D>,
        memory: MemoryTypeId,
        round: Round,
    ) -> Option<Result<Self::Found, DeviceError>>;
}

impl<D: Device> Request<D> for RangeRequest<'_> {
    type Found = Backing<D>;

    fn terms<'p>(&self, engine: Engine<'p, D>) -> Result<Terms<'p>, DeviceError> {
        let needs = engine.pools.range_needs(engine.device, self.kind)?;
        Ok(Terms {
            size: self.size,
            align: self.align,
            category: needs.category,
            kind: Some(self.kind),
            shared: None,
            traits: self.traits,
            flags: self.flags,
            order: engine.pools.order_for_range(self),
            usable: needs.memory_types,
            allowed: self.flags.memory_types(engine.device.properties(), needs.memory_types),
            spill: spill(self.memory_use, self.traits.is_evictable),
        })
    }

    fn in_block(&self, engine: Engine<'_, D>, found: Found<'_, D>) -> Result<Backing<D>, DeviceError> {
        match found.store {
            Store::Buffer(api_resource) => {
                Ok(Backing { api_resource, location: Location::Range(found.suballocation) })
            }
            Store::Heap(_) => Err(engine.refuse_store(found.shards, &found.suballocation)),
        }
    }

    fn dedicated(
        &self,
        engine: Engine<'_, D>,
        memory: MemoryTypeId,
        round: Round,
    ) -> Option<Result<Backing<D>, DeviceError>> {
        let desc = ResourceDesc::Buffer(self.alone.clone());
        let needs = match engine.device.requirements(&desc) {
            Ok(needs) => needs,
            Err(error) => return Some(Err(error)),
        };
        let RangeRequest { memory_use, is_filled, flags, traits, name, .. } = *self;
        let request = ResourceRequest::new(&desc, &needs, PlacementKind::Committed, name);
        let request = ResourceRequest { memory_use, is_filled, flags, traits, ..request };
        request.dedicated(engine, memory, round)
    }
}

impl<D: Device> Request<D> for ResourceRequest<'_> {
    type Found = Backing<D>;

    /// Inlined, so that only the terms that the caller needs are computed.
    #[inline(always)]
    fn terms<'p>(&self, engine: Engine<'p, D>) -> Result<Terms<'p>, DeviceError> {
        let shared = shared_kind(self, engine);
        Ok(Terms {
            size: self.needs.size,
            align: self.needs.alignment,
            category: self.needs.category,
            kind: match self.placement {
                PlacementKind::Placed(kind) | PlacementKind::Range(kind) => Some(kind),
                PlacementKind::Committed => shared.filter(|_| engine.limits().is_near_max_allocations()),
            },
            shared,
            traits: self.traits,
            flags: self.flags,
            order: engine.pools.order_for(self),
            usable: self.needs.memory_types,
            allowed: self.flags.memory_types(engine.device.properties(), self.needs.memory_types),
            spill: spill(self.memory_use, stays(self)),
        })
    }

    #[inline(always)]
    fn in_block(&self, engine: Engine<'_, D>, found: Found<'_, D>) -> Result<Backing<D>, DeviceError> {
        let (api_resource, suballocation) = self.create_placed(engine, found)?;
        Ok(Backing { api_resource, location: Location::Placed(suballocation) })
    }

    fn dedicated(
        &self,
        engine: Engine<'_, D>,
        memory: MemoryTypeId,
        round: Round,
    ) -> Option<Result<Backing<D>, DeviceError>> {
        Some(self.create_committed(engine, memory, round))
    }
}

/// Undoes a suballocation when it is dropped, after an error or a panic of the device.
struct Undo<'a, D: Device> {
    engine: Engine<'a, D>,
    shards: &'a Shards<D>,
    suballocation: Suballocation,
    origin: Origin,
}

impl<D: Device> Drop for Undo<'_, D> {
    #[cold]
    fn drop(&mut self) {
        self.engine.undo_suballocation(self.shards, self.suballocation, self.origin);
    }
}

impl ResourceRequest<'_> {
    /// Creates the resource in a range of a heap. Inlined, so that the result is copied less often.
    #[inline(always)]
    pub(super) fn create_placed<D: Device>(
        &self,
        engine: Engine<'_, D>,
        Found { shards, suballocation, store, origin }: Found<'_, D>,
    ) -> Result<(Arc<ApiResource<D>>, Suballocation), DeviceError> {
        let Store::Heap(heap) = store else { return Err(engine.refuse_store(shards, &suballocation)) };
        let wish = self.map_wish(engine, shards.first().class.memory);
        let place = HeapPlace { heap: &heap.heap, offset: suballocation.offset, wish, block: heap.block };
        let undo = Undo { engine, shards, suballocation, origin };
        let made = engine.pools.objects.create_placed(engine.device, self.desc, &place, self.name);
        drop(heap);
        let api_resource = made?;
        std::mem::forget(undo);
        Ok((api_resource, suballocation))
    }

    /// Creates the resource with dedicated memory.
    fn create_committed<D: Device>(
        &self,
        engine: Engine<'_, D>,
        memory: MemoryTypeId,
        round: Round,
    ) -> Result<Backing<D>, DeviceError> {
        let (objects, owner) = (&engine.pools.objects, self.owner);
        let size = engine.device.properties().committed_size(self.needs);
        self.flags.check_allocates(size, memory)?;
        let is_memoryless = engine.is_lazy(memory);
        let wish = self.map_wish(engine, memory);
        let priority = self.traits.priority.unwrap_or(self.desc.usage().priority());
        let part = objects.part_of(owner);
        let own = CommittedMemory { memory, size, is_memoryless, wish, priority, part };
        // Counts as nothing until the driver stores something in it.
        let counted = if is_memoryless { 0 } else { size };
        let make = || {
            engine.pools.make_way(engine.device, counted, None);
            objects.create_committed(engine.device, self.desc, &own, self.name)
        };
        let made = objects.limits.make_alone(memory, counted, round, || engine.budget(), make)?;
        let is_evictable = self.traits.is_evictable && !is_memoryless;
        let own = MemorySize { memory, size };
        let api_resource = engine.pools.residency.share(made, own, priority, is_evictable);
        Ok(Backing { api_resource, location: Location::Committed { own, owner, is_memoryless } })
    }

    /// Whether the resource gets mapped for the CPU.
    fn map_wish<D: Device>(&self, engine: Engine<'_, D>, memory: MemoryTypeId) -> MapWish {
        MapWish::new(memory, self.memory_use.is_mapped(), || {
            let in_place = &engine.pools.in_place;
            self.owner == MemoryOwner::Resource
                && in_place.maps_resource(self.desc, self.is_filled, memory, self.traits)
        })
    }
}

impl<D: Device> Request<D> for TileRequest<'_> {
    type Found = (Suballocation, Arc<HeapBlock<D>>);

    fn terms<'p>(&self, engine: Engine<'p, D>) -> Result<Terms<'p>, DeviceError> {
        Ok(Terms {
            size: self.size,
            align: self.tile,
            category: self.needs.category,
            kind: Some(PoolKind::Tiles),
            shared: None,
            traits: BlockTraits::default(),
            flags: AllocationFlags::empty(),
            order: engine.pools.order(MemoryUse::GpuOnly),
            usable: self.needs.memory_types,
            allowed: self.needs.memory_types,
            spill: Spill::AfterRefusal,
        })
    }

    fn in_block(&self, engine: Engine<'_, D>, found: Found<'_, D>) -> Result<Self::Found, DeviceError> {
        match found.store {
            Store::Heap(heap) => Ok((found.suballocation, heap)),
            Store::Buffer(_) => Err(engine.refuse_store(found.shards, &found.suballocation)),
        }
    }

    fn dedicated(
        &self,
        _: Engine<'_, D>,
        _: MemoryTypeId,
        _: Round,
    ) -> Option<Result<Self::Found, DeviceError>> {
        None
    }
}

/// Whether a resource stays in the preferred memory: evictable resources, targets and storage textures.
fn stays(request: &ResourceRequest<'_>) -> bool {
    let is_target = |desc: &ResourceDesc| matches!(desc, ResourceDesc::Texture(info) if info.usage.priority() == Priority::High);
    request.traits.is_evictable || is_target(request.desc)
}

/// The condition for placing a request in memory unlike the preferred one. Targets and storage textures, which
/// `stay`, are too slow in system memory: the operating system pages other resources out for them. Evictable
/// resources are evicted while unused, and fast while used.
const fn spill(memory_use: MemoryUse, stays: bool) -> Spill {
    match memory_use {
        MemoryUse::GpuOnly if stays => Spill::AfterRefusal,
        MemoryUse::GpuOnly | MemoryUse::GpuUpload => Spill::BeforeBudget,
        MemoryUse::Upload | MemoryUse::Readback => Spill::AfterRefusal,
    }
}

/// The pool for a resource with dedicated memory by policy, if it may share a block instead.
fn shared_kind<D: Device>(request: &ResourceRequest<'_>, engine: Engine<'_, D>) -> Option<PoolKind> {
    let may_share = request.placement == PlacementKind::Committed
        && request.owner == MemoryOwner::Resource
        && !request.needs.requires_dedicated
        && engine.config.pools.strategy != Strategy::Committed;
    may_share.then(|| shared_pool(request.desc, request.needs))
}
