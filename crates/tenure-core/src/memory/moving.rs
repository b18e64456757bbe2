//! Moving what lies in pools from one range to another: where it goes, and what becomes of the range it leaves.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use tenure_heap::CompactionBudget;

use super::location::Location;
use super::movable::{MovableBacking, PlannedMove};
use super::objects::{HeapPlace, MapWish};
use super::pool::{PoolShard, Store};
use super::pools::{Pools, allows};
use super::{Class, MemoryUse};
use crate::api_resource::ApiResource;
use crate::config::CompactionConfig;
use crate::device::{Device, DeviceError, MemoryFlags, MemoryTypeId};

impl<D: Device> Pools<D> {
    /// Notes what can move, where it lies in a pool. Nobody gives its range back meanwhile.
    pub(crate) fn note_movable(&self, movable: &Arc<MovableBacking<D>>, location: Option<&Location<D>>) {
        if let Some(Location::Range(found) | Location::Placed(found)) = location
            && let Some((shard, _)) = self.get_with_shards(found.pool)
        {
            shard.note_movable(found.handle, movable);
        }
    }

    /// Notes what can move and went to slower memory, because the memory that suits best was short.
    pub(crate) fn note_spilled(&self, movable: &Arc<MovableBacking<D>>) {
        let allowed = movable.needs.memory_types;
        if movable.current.read(|current| self.is_slow(current.location.as_ref(), allowed)) {
            let spilled = &mut *self.spilled.lock();
            // Those that are gone are forgotten before the vector grows.
            if spilled.len() == spilled.capacity() {
                spilled.retain(|movable| movable.strong_count() > 0);
            }
            spilled.push(Arc::downgrade(movable));
            self.least_spilled.fetch_min(movable.needs.size, Ordering::Release);
        }
    }

    /// Whether a location is in another memory heap than that which suits what is for the GPU alone, on a device where that
    /// is local to the GPU; of the memory types that are `allowed`, a bit each.
    pub(crate) fn is_slow(&self, location: Option<&Location<D>>, allowed: u32) -> bool {
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
        // The window through which the CPU reaches the card's memory is another heap, too: drivers need it.
        best.zip(memory.and_then(of)).is_some_and(|(best, found)| best.heap != found.heap)
    }

    /// The memory type that suits best what is for the GPU alone, of those that are `allowed`.
    pub(crate) fn best_memory(&self, allowed: u32) -> Option<MemoryTypeId> {
        self.order(MemoryUse::GpuOnly).iter().copied().find(|memory| allows(allowed, *memory))
    }

    /// Whether anything that can move may be in slower memory than it should be. One atomic load.
    pub(crate) fn has_spilled(&self) -> bool {
        self.least_spilled.load(Ordering::Acquire) != u64::MAX
    }

    /// What is in slower memory than it should be, what was used last first. O(n log n); nothing, at once, where none has
    /// so few bytes.
    pub(crate) fn spilled(&self, most: u64) -> Vec<Arc<MovableBacking<D>>> {
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
            // What is pinned stays for good; it is kept for reports alone.
            found.extend(movable.filter(|_| is_slow && !is_pinned));
            is_slow
        });
        let least = found.iter().map(|movable| movable.needs.size).min().unwrap_or(u64::MAX);
        self.least_spilled.store(least, Ordering::Release);
        found.retain(|movable| movable.needs.size <= most);
        found.sort_by_cached_key(|movable| Reverse(movable.current.lock().last_holder()));
        found
    }

    /// All that can move: what lies in pools, and what has memory of its own in slower memory. O(n).
    pub(crate) fn movables(&self) -> Vec<Arc<MovableBacking<D>>> {
        let mut found: Vec<_> = self.spilled.lock().iter().filter_map(Weak::upgrade).collect();
        self.each_compacted(|shard| shard.movables(&mut found));
        found
    }

    /// Goes on emptying blocks of movable resources, as far as the budget allows for all pools together; blocks that
    /// are empty are given back. Appends what is to move. With `only_where`, only the pools are looked at in which it is
    /// worth while. True when nothing is left to do.
    pub(crate) fn compact(
        &self,
        device: &D,
        budget: CompactionBudget,
        only_where: Option<&CompactionConfig>,
        moves: &mut Vec<PlannedMove<D>>,
    ) -> bool {
        let (before, mut retired, mut is_done) = (moves.len(), Vec::new(), true);
        self.each_compacted(|shard| {
            // What is evicted would be made resident only to be moved.
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
        retired.into_iter().for_each(|block| self.let_go(device, block));
        for movable in moves[before..].iter().filter_map(|planned| planned.movable.upgrade()) {
            movable.current.change(|current| current.is_planned = true);
        }
        is_done
    }

    /// Stops emptying blocks: what is free in them can be allocated again.
    pub(crate) fn stop_compaction(&self) {
        self.each_compacted(|shard| {
            shard.stop_compaction();
        });
    }

    /// Whether something is evicted of the memory heap of a class of evictable resources.
    fn has_evicted(&self, class: Class) -> bool {
        let heap = self.objects.budgets.heap_index(class.memory);
        class.is_evictable && heap.is_some_and(|heap| self.residency.evicted(heap) > 0)
    }

    /// The shards that have the blocks of movable resources.
    pub(crate) fn each_compacted(&self, mut visit: impl FnMut(&PoolShard<D>)) {
        self.each_class(|shards| {
            if shards.first().class.is_movable {
                visit(shards.first());
            }
        });
    }

    /// What was to move could not, and stays where it is: it is asked to move again later. Whoever calls this gives the
    /// place up.
    pub(crate) fn keep_in_place(&self, planned: &PlannedMove<D>) {
        if planned.is_within_pool()
            && let Some((shard, _)) = self.get_with_shards(planned.to.pool)
        {
            shard.keep_in_place(planned.from.handle);
        }
    }

    /// Gives up a place to which nothing moves.
    pub(crate) fn give_up_place(&self, planned: &PlannedMove<D>) {
        self.free(planned.to.free_token());
        if let Some(movable) = planned.movable.upgrade() {
            movable.current.change(|current| current.is_planned = false);
        }
    }

    /// What something is in the place that was found for it: the shared buffer, or a new API resource.
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn make_at(
        &self,
        device: &D,
        planned: &PlannedMove<D>,
        movable: &MovableBacking<D>,
    ) -> Result<(Arc<ApiResource<D>>, Location<D>), DeviceError> {
        let to = planned.to;
        let store = self.get_with_shards(to.pool).and_then(|(shard, _)| shard.store(to.block));
        match store {
            Some(Store::Buffer { buffer, .. } | Store::Slot { buffer, .. }) => {
                Ok((buffer, Location::Range(to)))
            }
            Some(Store::Heap { heap, .. }) => {
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
