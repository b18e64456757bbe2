//! Cost of a request in driver memory.

use tenure_heap::Round;

use super::fallback::{no_memory_type, shared_kind, spills_before_budget};
use super::make::{buffer_usage, make_pool};
use super::maker::{Maker, steps};
use super::policy::Placement;
use super::pool::PoolId;
use super::pools::{Pools, allows};
use super::request::{RangeRequest, ResourceRequest};
use super::{BlockTraits, Class, LocationKind, PoolKind};
use crate::Config;
use crate::device::{
    BufferInfo, Device, DeviceError, HeapBudget, HeapCategory, MemoryTypeId, Requirements, ResourceDesc,
};

/// Predicted cost of a request: see [`Gpu::buffer_cost`](crate::Gpu::buffer_cost). Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// Bytes taken from a block, or from dedicated memory, before rounding.
    pub size: u64,
    /// Alignment of the offset.
    pub alignment: u64,
    /// Predicted location.
    pub location: LocationKind,
    /// Predicted memory type.
    pub memory_type: u8,
    /// The memory heap of that type.
    pub heap: usize,
    /// Bytes requested from the driver: 0 if a block has room, otherwise a new block, or dedicated memory.
    pub new_bytes: u64,
    /// Whether usage stays within the budget (or the budget is unknown) and the manager's memory within the
    /// program's [cap](crate::Gpu::set_memory_cap). If not, idle memory is given back first, and then the
    /// budget is exceeded; the cap never is.
    pub is_within_budget: bool,
}

/// The parts of a request that determine its cost. Sizes in bytes.
struct Asked<'a> {
    size: u64,
    align: u64,
    /// Size of a dedicated allocation for the request.
    alone: u64,
    /// The pool that would serve it.
    pool: Option<PoolKind>,
    traits: BlockTraits,
    /// The kind of location in that pool.
    kind: LocationKind,
    category: HeapCategory,
    /// The memory types, as bits, that the request allows, and those that its resource can use.
    memory_types: (u32, u32),
    order: &'a [MemoryTypeId],
    /// Whether the request goes to slower memory before a budget is exceeded.
    spills: bool,
}

impl<D: Device> Pools<D> {
    /// The cost of a range of a shared buffer.
    pub(crate) fn range_cost(
        &self,
        device: &D,
        config: &Config,
        request: RangeRequest<'_>,
    ) -> Result<Cost, DeviceError> {
        let needs = self.range_needs(device, request.kind)?;
        let alone = device.requirements(&ResourceDesc::Buffer(request.alone.clone()))?;
        let asked = Asked {
            size: request.size,
            align: request.align,
            alone: device.properties().committed_size(&alone),
            pool: Some(request.kind),
            traits: request.traits,
            kind: LocationKind::Range,
            category: needs.category,
            memory_types: (
                request.flags.memory_types(device.properties(), needs.memory_types),
                needs.memory_types,
            ),
            order: self.order_for_range(&request),
            spills: !request.traits.is_evictable && spills_before_budget(request.memory_use, None),
        };
        self.cost(device, config, &asked)
    }

    /// The cost of an API resource.
    pub(crate) fn resource_cost(
        &self,
        device: &D,
        config: &Config,
        request: ResourceRequest<'_>,
    ) -> Result<Cost, DeviceError> {
        let Requirements { size, alignment, memory_types, category, .. } = *request.needs;
        let pool = match request.placement {
            Placement::Placed(kind) | Placement::Range(kind) => Some(kind),
            Placement::Committed => {
                shared_kind(&request, config).filter(|_| self.objects.limits.is_near_max_allocations())
            }
        };
        let asked = Asked {
            size,
            align: alignment,
            alone: device.properties().committed_size(request.needs),
            pool,
            traits: request.traits,
            kind: LocationKind::Placed,
            category,
            memory_types: (request.flags.memory_types(device.properties(), memory_types), memory_types),
            order: self.order_for(&request),
            spills: spills_before_budget(request.memory_use, Some(&request)),
        };
        self.cost(device, config, &asked)
    }

    /// Simulates the steps of the fallback chain within budgets; if they find nothing, the first result beyond
    /// the budget.
    fn cost(&self, device: &D, config: &Config, asked: &Asked<'_>) -> Result<Cost, DeviceError> {
        let (memory_types, category) = (asked.memory_types.0, asked.category);
        let mut order = asked.order.iter().copied().filter(|memory| allows(memory_types, *memory)).peekable();
        let none = || no_memory_type(asked.order, asked.memory_types.1, asked.size);
        let preferred = *order.peek().ok_or_else(none)?;
        let budgets = self.objects.budgets.current(device);
        let is_alike = |memory| self.heap_properties().is_alike(preferred, memory);
        let mut beyond = None;
        for memory in order.filter(|memory| asked.spills || is_alike(*memory)) {
            // Lazily allocated memory takes nothing until used, and shares no block.
            let is_lazy = Maker { pools: self, device, config }.is_lazy(memory);
            let pool =
                asked.pool.filter(|_| !is_lazy).map(|kind| Class::new(memory, category, kind, asked.traits));
            let found = device.properties().memory_types.get(usize::from(memory.0));
            let heap = found.map_or(0, |found| usize::from(found.heap));
            let budget = budgets.get(heap).copied();
            let limits = &self.objects.limits;
            // The program's cap is never exceeded, whatever the budget is.
            let is_capped = |bytes| !limits.allows(memory, bytes, Round::WhateverBudget, Vec::new);
            let is_granted = |bytes| budget.is_none_or(|budget: HeapBudget| budget.grants(bytes));
            let grants = |bytes: u64| is_granted(bytes) && !is_capped(bytes);
            let alone =
                if is_lazy { (LocationKind::Memoryless, 0) } else { (LocationKind::Committed, asked.alone) };
            let in_pool = pool.into_iter().flat_map(|class| {
                let sizes = self.new_bytes(device, config, class, asked.size, asked.align);
                sizes.into_iter().map(|bytes| (asked.kind, bytes))
            });
            for (location, new_bytes) in in_pool.chain([alone]) {
                let is_within_budget = new_bytes == 0 || grants(new_bytes);
                let (size, alignment, memory_type) = (asked.size, asked.align, memory.0);
                let found =
                    Cost { size, alignment, location, memory_type, heap, new_bytes, is_within_budget };
                if is_within_budget {
                    return Ok(found);
                }
                beyond.get_or_insert(found);
            }
        }
        beyond.ok_or(DeviceError::OutOfMemory { requested: asked.size, memory: preferred })
    }

    /// Bytes that a range of a pool may request from the driver, in the order of attempts: 0 if a block has
    /// room, otherwise the sizes of a new block.
    fn new_bytes(&self, device: &D, config: &Config, class: Class, size: u64, align: u64) -> Vec<u64> {
        if self.has_room(class, size, align) {
            return vec![0];
        }
        if class.kind == PoolKind::SmallBuffers {
            // The blocks are buffers in heaps of another pool.
            let slot = ResourceDesc::Buffer(BufferInfo {
                size: config.pools.small_buffer_slot,
                usage: buffer_usage(class.kind),
            });
            let Ok(needs) = device.requirements(&slot) else { return Vec::new() };
            if needs.wants_dedicated() {
                return vec![needs.size];
            }
            let heaps = Class { kind: PoolKind::SmallBufferSlots, ..class };
            return self.new_bytes(device, config, heaps, needs.size, needs.alignment);
        }
        let limits = &self.objects.limits;
        let (growth, held) = match self.find(class) {
            Some(shards) => (shards.first().growth, shards.first().taken() / steps(shards)),
            None => match make_pool(device, self.heap_properties(), config, PoolId(0), class) {
                Some(pool) => (pool.growth, 0),
                None => return Vec::new(),
            },
        };
        limits.scale(growth).sizes(size, align, held).collect()
    }

    /// Whether a block of the pool has room.
    fn has_room(&self, class: Class, size: u64, align: u64) -> bool {
        self.find(class).is_some_and(|shards| shards.each().any(|shard| shard.has_room(size, align)))
    }
}
