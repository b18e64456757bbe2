//! Cost of a request in driver memory.

use tenure_heap::{Round, Spill};

use super::block::PoolId;
use super::class::allows;
use super::engine::Engine;
use super::fallback::no_memory_type;
use super::pool_settings::{buffer_usage, make_pool};
use super::request::{RangeRequest, ResourceRequest};
use super::terms::{Request as _, Terms};
use super::{Class, LocationKind, PoolKind};
use crate::device::{BufferInfo, Device, DeviceError, HeapBudget, Requirements, ResourceDesc};

/// Predicted cost of a request: see `Gpu::buffer_cost`. Bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// Bytes allocated in a block, or in dedicated memory, before rounding.
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
    /// program's cap. If not, idle memory is freed first, and then the budget is exceeded, but never the cap.
    pub is_within_budget: bool,
}

impl<D: Device> Engine<'_, D> {
    /// The cost of a range of a shared buffer.
    pub fn range_cost(self, request: RangeRequest<'_>) -> Result<Cost, DeviceError> {
        let terms = request.terms(self)?;
        let alone = self.device.requirements(&ResourceDesc::Buffer(request.alone.clone()))?;
        self.cost(&terms, &alone, LocationKind::Range)
    }

    /// The cost of an API resource.
    pub fn resource_cost(self, request: ResourceRequest<'_>) -> Result<Cost, DeviceError> {
        self.cost(&request.terms(self)?, request.needs, LocationKind::Placed)
    }

    /// Simulates the steps of the fallback chain within budgets; if they find nothing, the first result beyond
    /// the budget. `alone`: the requirements for dedicated memory; `kind`: the location in a block.
    fn cost(self, terms: &Terms<'_>, alone: &Requirements, kind: LocationKind) -> Result<Cost, DeviceError> {
        let Terms { size, align: alignment, order, usable, allowed, .. } = *terms;
        let mut types = order.iter().copied().filter(|memory| allows(allowed, *memory)).peekable();
        let preferred = *types.peek().ok_or_else(|| no_memory_type(order, usable, size))?;
        let budgets = self.pools.objects.budgets.current(self.device);
        let is_alike = |memory| self.pools.heap_properties().is_alike(preferred, memory);
        let mut beyond = None;
        for memory in types.filter(|memory| terms.spill == Spill::BeforeBudget || is_alike(*memory)) {
            // Lazily allocated memory is not allocated until used, and shares no block.
            let is_lazy = self.is_lazy(memory);
            let found = self.device.properties().memory_types.get(usize::from(memory.0));
            let heap = found.map_or(0, |found| usize::from(found.heap));
            let budget = budgets.get(heap).copied();
            // The program's cap is never exceeded, regardless of the budget.
            let is_capped = |bytes| !self.limits().allows(memory, bytes, Round::WhateverBudget, Vec::new);
            let is_granted = |bytes| budget.is_none_or(|budget: HeapBudget| budget.grants(bytes));
            let dedicated = match is_lazy {
                true => (LocationKind::Memoryless, 0),
                false => (LocationKind::Committed, self.device.properties().committed_size(alone)),
            };
            let in_pool = terms.kind.filter(|_| !is_lazy).into_iter().flat_map(|pool| {
                let class = Class::new(memory, terms.category, pool, terms.traits);
                self.new_bytes(class, size, alignment).into_iter().map(|bytes| (kind, bytes))
            });
            for (location, new_bytes) in in_pool.chain([dedicated]) {
                let is_within_budget = new_bytes == 0 || (is_granted(new_bytes) && !is_capped(new_bytes));
                let memory_type = memory.0;
                let found =
                    Cost { size, alignment, location, memory_type, heap, new_bytes, is_within_budget };
                if is_within_budget {
                    return Ok(found);
                }
                beyond.get_or_insert(found);
            }
        }
        beyond.ok_or(DeviceError::OutOfMemory { requested: size, memory: preferred })
    }

    /// Bytes that a range of a pool may request from the driver, in the order of attempts: 0 if a block has
    /// room, otherwise the sizes of a new block.
    fn new_bytes(self, class: Class, size: u64, align: u64) -> Vec<u64> {
        let pool = self.pools.find(class);
        if pool.is_some_and(|shards| shards.each().any(|shard| shard.lock().has_room(size, align))) {
            return vec![0];
        }
        if class.kind == PoolKind::SmallBuffers {
            // The blocks are buffers in heaps of another pool.
            let (size, usage) = (self.config.pools.small_buffer_slot, buffer_usage(class.kind));
            let slot = ResourceDesc::Buffer(BufferInfo::new(size, usage));
            let Ok(needs) = self.device.requirements(&slot) else { return Vec::new() };
            if needs.wants_dedicated() {
                return vec![needs.size];
            }
            let heaps = Class { kind: PoolKind::SmallBufferSlots, ..class };
            return self.new_bytes(heaps, needs.size, needs.alignment);
        }
        if let Some(shards) = pool {
            return shards.block_sizes(self.limits(), size, align).collect();
        }
        let heaps = self.pools.heap_properties();
        let pool = make_pool(self.device, heaps, self.config, PoolId::new(0, 0), class);
        pool.map_or_else(Vec::new, |pool| self.limits().scale(pool.growth).sizes(size, align, 0).collect())
    }
}
