//! The ladder of bare memory.

use std::sync::Arc;

use super::ledger::Home;
use super::slots::Sort;
use super::{MemoryError, MemoryPools, MemoryRange, MemoryRequest};
use crate::device::{Device, DeviceError, HeapDesc, MemoryTypeId, Priority};
use crate::memory::growth::Growth;
use crate::memory::pool::{HeapBlock, Pool, Spot, Store, Unfit};

/// Whether new heaps must stay within what the OS grants.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    WithinBudget,
    Whatever,
}

/// A place and the heap in which it is.
enum Found<D: Device> {
    Pooled(Spot, Arc<HeapBlock<D>>),
    Alone(HeapBlock<D>),
}

impl<D: Device> MemoryPools<D> {
    pub(super) fn place<R>(
        &self,
        request: &MemoryRequest<'_>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R), MemoryError> {
        self.climb(request, inspect, |memory, round| self.find(request, memory, round))
    }

    pub(super) fn place_alone<R>(
        &self,
        request: &MemoryRequest<'_>,
        make: impl Fn(&D, &HeapDesc) -> Result<D::Heap, DeviceError>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R), MemoryError> {
        self.climb(request, inspect, |memory, round| self.alone(request, memory, round, &make))
    }

    /// Tries each memory type within the budget, gives idle blocks back, and tries each again.
    fn climb<R>(
        &self,
        request: &MemoryRequest<'_>,
        inspect: impl FnOnce(&D::Heap) -> R,
        attempt: impl Fn(MemoryTypeId, Round) -> Result<Found<D>, DeviceError>,
    ) -> Result<(MemoryRange, R), MemoryError> {
        let types = self.device.properties().memory_types.len();
        let allowed = || request.memory.iter().copied().filter(|memory| usize::from(memory.0) < types);
        let first = allowed().next().ok_or(MemoryError::NoMemoryType)?;
        let mut refusal = DeviceError::OutOfMemory { requested: request.size, memory: first };
        for round in [Round::WithinBudget, Round::Whatever] {
            for memory in allowed() {
                match attempt(memory, round) {
                    Ok(found) => return Ok(self.settle(request, memory, found, inspect)),
                    Err(error) if error.is_shortage() => refusal = error,
                    Err(source) => return Err(MemoryError::Device { name: request.name.clone(), source }),
                }
            }
            if round == Round::WithinBudget {
                self.trim();
            }
        }
        let pool = self.slots.find_or_make(self.device.properties(), self.sort(request, first));
        Err(MemoryError::OutOfMemory {
            name: request.name.clone(),
            size: request.size,
            alignment: request.alignment,
            memory: first,
            largest_free: pool.map_or(0, |pool| pool.totals().largest_free),
            refusal,
        })
    }

    /// Takes down what was found.
    fn settle<R>(
        &self,
        request: &MemoryRequest<'_>,
        memory: MemoryTypeId,
        found: Found<D>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> (MemoryRange, R) {
        let (home, seen) = match found {
            Found::Pooled(spot, heap) => (Home::Pooled(spot), inspect(&heap.heap)),
            Found::Alone(heap) => {
                let seen = inspect(&heap.heap);
                (Home::Alone(heap), seen)
            }
        };
        (self.ledger.insert(self.id, request.name.clone(), request.size, memory, home), seen)
    }

    fn sort(&self, request: &MemoryRequest<'_>, memory: MemoryTypeId) -> Sort {
        let properties = self.device.properties();
        let is_coarse = request.alignment > properties.heap_alignment
            && properties.msaa_heap_alignment > properties.heap_alignment;
        Sort { memory, category: request.category, is_coarse }
    }

    /// A range of the pool's blocks, of a new one, or a heap of its own.
    fn find(
        &self,
        request: &MemoryRequest<'_>,
        memory: MemoryTypeId,
        round: Round,
    ) -> Result<Found<D>, DeviceError> {
        let make = |device: &D, desc: &HeapDesc| device.create_heap(desc);
        let no_such = DeviceError::Unsupported { feature: "more than 32 memory types" };
        let sort = self.sort(request, memory);
        let pool = self.slots.find_or_make(self.device.properties(), sort).ok_or(no_such)?;
        if let Some((spot, Store::Heap(heap))) = pool.allocate(request.size, request.alignment) {
            return Ok(Found::Pooled(spot, heap));
        }
        if request.size > self.growth(pool).max {
            return self.alone(request, memory, round, &make);
        }
        match self.grow(pool, request, round) {
            Err(error) if error.is_shortage() || matches!(error, DeviceError::Unsupported { .. }) => {
                self.alone(request, memory, round, &make)
            }
            grown => grown,
        }
    }

    /// The pool's growth. The fewer heaps the device still allows, the more each has to hold.
    fn growth(&self, pool: &Pool<D>) -> Growth {
        let properties = self.device.properties();
        let heaps = self.objects.counts().heaps;
        let eighths = heaps.saturating_mul(8) / properties.max_allocations.max(1);
        let times = 1_u64 << eighths.min(8);
        let growth = pool.growth;
        let larger = |bytes: u64| bytes.saturating_mul(times).min(growth.limit.max(bytes));
        Growth { min: larger(growth.min), max: larger(growth.max), ..growth }
    }

    /// A range after adding a block, or of one that another thread has added meanwhile.
    #[cold]
    fn grow(
        &self,
        pool: &Pool<D>,
        request: &MemoryRequest<'_>,
        round: Round,
    ) -> Result<Found<D>, DeviceError> {
        let (size, align) = (request.size, request.alignment);
        let _growing = pool.lock_growth();
        if let Some((spot, Store::Heap(heap))) = pool.allocate(size, align) {
            return Ok(Found::Pooled(spot, heap));
        }
        let memory = pool.class.memory;
        let mut refusal = DeviceError::OutOfMemory { requested: size, memory };
        for capacity in self.growth(pool).sizes(size, align, pool.used()) {
            if !self.may_take(memory, capacity, round) {
                continue;
            }
            let desc = HeapDesc {
                size: capacity,
                alignment: pool.heap_alignment,
                memory,
                category: pool.class.category,
                priority: pool.class.kind.priority(),
            };
            match self.objects.create_heap(&self.device, &desc, pool.class.kind.as_str()) {
                Ok(heap) => return self.add_block(pool, HeapBlock { heap, size: capacity }, size, align),
                Err(error) if error.is_shortage() => refusal = error,
                Err(error) => return Err(error),
            }
        }
        Err(refusal)
    }

    /// Puts a new block into its pool, in place of the empty ones, which were too small.
    fn add_block(
        &self,
        pool: &Pool<D>,
        heap: HeapBlock<D>,
        size: u64,
        align: u64,
    ) -> Result<Found<D>, DeviceError> {
        let capacity = heap.size;
        let mut retired = Vec::new();
        let added = pool.add_and_allocate(Store::Heap(Arc::new(heap)), capacity, size, align, &mut retired);
        retired.into_iter().for_each(|store| self.unmake(store));
        match added {
            Ok((spot, Store::Heap(heap))) => Ok(Found::Pooled(spot, heap)),
            Ok((_, store)) | Err(Unfit { store, .. }) => {
                self.unmake(store);
                Err(DeviceError::Unsupported { feature: "a block of this size in the suballocator" })
            }
        }
    }

    /// A heap for this request alone.
    fn alone(
        &self,
        request: &MemoryRequest<'_>,
        memory: MemoryTypeId,
        round: Round,
        make: &impl Fn(&D, &HeapDesc) -> Result<D::Heap, DeviceError>,
    ) -> Result<Found<D>, DeviceError> {
        let properties = self.device.properties();
        let alignment = self.sort(request, memory).heap_alignment(properties);
        let size = request.size.next_multiple_of(alignment);
        if size > properties.max_heap_size || !self.may_take(memory, size, round) {
            return Err(DeviceError::OutOfMemory { requested: size, memory });
        }
        let category = request.category;
        let desc = HeapDesc { size, alignment, memory, category, priority: Priority::Normal };
        let heap = self.objects.create_heap_by(&self.device, &desc, request.name.as_str(), make)?;
        Ok(Found::Alone(HeapBlock { heap, size }))
    }

    /// Whether a heap of so many bytes may be asked for: the driver has the last word, but is not asked
    /// for more than the memory has, nor at first for more than the OS grants.
    fn may_take(&self, memory: MemoryTypeId, size: u64, round: Round) -> bool {
        let properties = self.device.properties();
        let Some(memory_type) = properties.memory_types.get(usize::from(memory.0)) else { return false };
        let heap = usize::from(memory_type.heap);
        if properties.memory_heaps.get(heap).is_none_or(|heap| size > heap.size) {
            return false;
        }
        let is_granted = || {
            let Ok(budgets) = self.device.budget() else { return true };
            budgets.get(heap).is_none_or(|found| found.usage.saturating_add(size) <= found.budget)
        };
        round == Round::Whatever || is_granted()
    }
}
