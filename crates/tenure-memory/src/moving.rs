//! Moving resources from one range of a pool to another: the new location, and the release of the old range.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use tenure_heap::CompactionBudget;

use super::api_objects::{HeapPlace, MapWish};
use super::block::Store;
use super::class::allows;
use super::location::Location;
use super::movable::{MovableBacking, PlannedMove};
use super::pools::Pools;
use super::shard::PoolShard;
use super::{Class, MemoryUse};
use crate::api_resource::ApiResource;
use crate::config::CompactionConfig;
use crate::device::{Device, DeviceError, MemoryFlags, MemoryTypeId};

impl<D: Device> Pools<D> {
    /// Notes a movable resource in the pool that contains it. The caller keeps its range alive meanwhile.
    pub fn note_movable(&self, movable: &Arc<MovableBacking<D>>, location: Option<&Location<D>>) {
        if let Some(Location::Range(found) | Location::Placed(found)) = location
            && let Some((shard, _)) = self.get_with_shards(found.pool)
        {
            shard.lock_as_it_is().note_movable(found.handle, Arc::downgrade(movable));
        }
    }

    /// Notes a movable resource placed in slower memory because its preferred memory was short.
    pub fn note_spilled(&self, movable: &Arc<MovableBacking<D>>) {
        let allowed = movable.needs.memory_types;
        if movable.current.read(|current| self.is_slow(current.location.as_ref(), allowed)) {
            let spilled = &mut *self.spilled.lock();
            // Dropped resources are removed before the vector grows.
            if spilled.len() == spilled.capacity() {
                spilled.retain(|movable| movable.strong_count() > 0);
            }
            spilled.push(Arc::downgrade(movable));
            self.least_spilled.fetch_min(movable.needs.size, Ordering::Release);
        }
    }

    /// Whether a location is in another memory heap than the preferred one for GPU-only resources, on a device
    /// where that heap is local to the GPU. `allowed`: one bit per memory type.
    pub fn is_slow(&self, location: Option<&Location<D>>, allowed: u32) -> bool {
        let memory = match location {
            Some(Location::Range(found) | Location::Placed(found)) => {
                self.get_with_shards(found.pool).map(|(shard, _)| shard.class.memory)
            }
            Some(Location::Committed { own, .. }) => Some(own.memory),
            _ => None,
        };
        let types = &self.heap_properties().memory_types;
        let of = |memory: MemoryTypeId| types.get(usize::from(memory.0));
        let best = self.best_memory(allowed).and_then(of);
        let best = best.filter(|best| best.flags.contains(MemoryFlags::DEVICE_LOCAL));
        // The CPU-visible window of the card's memory counts as another heap, too: drivers need it.
        best.zip(memory.and_then(of)).is_some_and(|(best, found)| best.heap != found.heap)
    }

    /// The preferred memory type for GPU-only resources, among the `allowed` ones.
    pub fn best_memory(&self, allowed: u32) -> Option<MemoryTypeId> {
        self.order(MemoryUse::GpuOnly).iter().copied().find(|memory| allows(allowed, *memory))
    }

    /// Whether any movable resource may be in slower memory than its preferred one. One atomic load.
    pub fn has_spilled(&self) -> bool {
        self.least_spilled.load(Ordering::Acquire) != u64::MAX
    }

    /// Movable resources in slower memory than their preferred one, most recently used first. O(n log n);
    /// returns immediately if none has `most` bytes or less.
    pub fn spilled(&self, most: u64) -> Vec<Arc<MovableBacking<D>>> {
        if self.least_spilled.load(Ordering::Acquire) > most {
            return Vec::new();
        }
        let spilled = &mut *self.spilled.lock();
        let mut found = Vec::new();
        spilled.retain(|movable| {
            let movable = movable.upgrade();
            let (is_slow, is_pinned) = movable.as_ref().map_or((false, false), |movable| {
                let current = movable.current.lock();
                let location = current.value().location.as_ref();
                (self.is_slow(location, movable.needs.memory_types), current.is_pinned())
            });
            // A pinned resource never moves; it is listed only for reports.
            found.extend(movable.filter(|_| is_slow && !is_pinned));
            is_slow
        });
        let least = found.iter().map(|movable| movable.needs.size).min().unwrap_or(u64::MAX);
        self.least_spilled.store(least, Ordering::Release);
        found.retain(|movable| movable.needs.size <= most);
        found.sort_by_cached_key(|movable| Reverse(movable.current.lock().last_holder()));
        found
    }

    /// All movable resources: those in pools, and those in slower memory with dedicated memory. O(n).
    pub fn movables(&self) -> Vec<Arc<MovableBacking<D>>> {
        let mut found: Vec<_> = self.spilled.lock().iter().filter_map(Weak::upgrade).collect();
        self.each_compacted(|shard| found.extend(shard.lock().movables()));
        found
    }

    /// Continues emptying blocks of movable resources, within the budget for all pools together; empty blocks
    /// are freed. Appends the moves to perform. With `only_where`, visits only the pools in which compaction is
    /// worthwhile. True when nothing is left to do.
    pub fn compact(
        &self,
        device: &D,
        budget: CompactionBudget,
        only_where: Option<&CompactionConfig>,
        moves: &mut Vec<PlannedMove<D>>,
    ) -> bool {
        let (before, mut retired, mut is_done) = (moves.len(), Vec::new(), true);
        self.each_compacted(|shard| {
            // An evicted block would be made resident only to be moved.
            if self.has_evicted(shard.class) {
                return;
            }
            if only_where.is_some_and(|config| !shard.wants_compaction(config)) {
                return;
            }
            let found = &moves[before..];
            let bytes = found.iter().map(|planned| planned.to.size).sum();
            let left = CompactionBudget {
                bytes: budget.bytes.saturating_sub(bytes),
                moves: budget.moves.saturating_sub(found.len()),
                ..budget
            };
            is_done &= shard.compact(left, moves, &mut retired);
        });
        self.destroy_blocks(device, retired);
        is_done
    }

    /// Stops emptying blocks: their free ranges can be allocated again.
    pub fn stop_compaction(&self) {
        self.each_compacted(|shard| {
            shard.lock().pool.stop_compaction();
        });
    }

    /// Whether the memory heap of a class of evictable resources has evicted blocks.
    fn has_evicted(&self, class: Class) -> bool {
        let heap = self.objects.budgets.heap_index(class.memory);
        class.is_evictable && heap.is_some_and(|heap| self.residency.evicted(heap) > 0)
    }

    /// The shards that have blocks of movable resources.
    pub fn each_compacted(&self, mut visit: impl FnMut(&PoolShard<D>)) {
        self.each_class(|shards| {
            if shards.first().class.is_movable {
                visit(shards.first());
            }
        });
    }

    /// Notes that a move failed: the resource stays in place, and can be chosen again later. The caller
    /// releases the planned location.
    pub fn keep_in_place(&self, planned: &PlannedMove<D>) {
        if planned.is_within_pool()
            && let Some((shard, _)) = self.get_with_shards(planned.to.pool)
        {
            shard.lock().pool.keep_in_place(planned.from.handle);
        }
    }

    /// Releases a planned location.
    pub fn cancel_move(&self, planned: &PlannedMove<D>) {
        self.free(planned.to.free_token());
        if let Some(movable) = planned.movable.upgrade() {
            movable.current.change(|current| current.is_planned = false);
        }
    }

    /// Creates the resource at its planned location: a range of the shared buffer, or a new API resource.
    ///
    /// # Errors
    /// The errors of the device.
    pub fn make_at(
        &self,
        device: &D,
        planned: &PlannedMove<D>,
        movable: &MovableBacking<D>,
    ) -> Result<(Arc<ApiResource<D>>, Location<D>), DeviceError> {
        let to = planned.to;
        let shard = self.get_with_shards(to.pool);
        let store = shard.and_then(|(shard, _)| Some(shard.lock().pool.block(to.block)?.store.clone()));
        match store {
            Some(Store::Buffer(buffer)) => Ok((buffer, Location::Range(to))),
            Some(Store::Heap(heap)) => {
                let (desc, name) = (&movable.needs.desc, &movable.name);
                let place =
                    HeapPlace { heap: &heap.heap, offset: to.offset, wish: MapWish::No, block: heap.block };
                let made = self.objects.create_placed(device, desc, &place, name)?;
                Ok((made, Location::Placed(to)))
            }
            None => Err(DeviceError::broken_rule("a range lies in a block")),
        }
    }
}
