//! The steps of the fallback chain for heaps without API resources.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tenure_suballoc::BlockAllocation;

use super::allocations::{Backing, Suballocation};
use super::table::{KeyedPool, PoolKey};
use super::{HeapBlock, HeapPools, MemoryError, MemoryRequest};
use crate::pool::Unfit;
use crate::{
    AllocationFailure, Fallback, HeapDesc, HeapDevice, HeapDeviceError, MemoryTypeId, Priority, Round,
    try_each_memory_type,
};

/// Creates a heap.
type Make<'a, D> = dyn Fn(&D, &HeapDesc) -> Result<<D as HeapDevice>::Heap, <D as HeapDevice>::Error> + 'a;

/// The memory found by the fallback chain, with its memory type, or the reason of its failure.
type FindResult<D> =
    Result<(MemoryTypeId, Backing<<D as HeapDevice>::Heap>), MemoryError<<D as HeapDevice>::Error>>;

const NO_SUCH_POOL: &str = "more than 32 memory types";

/// The steps to try in each memory type.
pub(super) enum Steps<'a, D: HeapDevice> {
    /// A range of the existing blocks, of a new block, or a dedicated heap.
    All,
    /// A dedicated heap, created by the caller's function.
    Dedicated(&'a Make<'a, D>),
}

/// A request in the fallback chain.
struct Attempt<'a, 'r, D: HeapDevice> {
    pools: &'a mut HeapPools<D>,
    request: &'a MemoryRequest<'r>,
    steps: &'a Steps<'a, D>,
}

impl<D: HeapDevice> HeapPools<D> {
    /// Allocates memory with the fallback chain.
    #[cold]
    pub(super) fn find(&mut self, request: &MemoryRequest<'_>, steps: &Steps<'_, D>) -> FindResult<D> {
        // Without frames, the last budgets may be out of date.
        self.limits.expire_budgets();
        let types = self.properties.memory_types.len();
        let allowed = request.memory.iter().copied().filter(|memory| usize::from(memory.0) < types);
        let mut attempt = Attempt { pools: self, request, steps };
        let found = try_each_memory_type(&mut attempt, request.shortage, allowed);
        found.map_err(|failure| match failure {
            AllocationFailure::NoMemoryType => MemoryError::NoMemoryType,
            AllocationFailure::Refused(source) => MemoryError::Device { name: request.name.clone(), source },
            AllocationFailure::OutOfMemory { preferred, answers } => {
                let pool = self.pools.get(self.key(request, preferred).index());
                MemoryError::OutOfMemory {
                    name: request.name.clone(),
                    size: request.size,
                    alignment: request.alignment,
                    memory: preferred,
                    largest_free: pool.map_or(0, |found| found.pool.totals().largest_free),
                    answers,
                }
            }
        })
    }

    fn key(&self, request: &MemoryRequest<'_>, memory: MemoryTypeId) -> PoolKey {
        self.pools.key(memory, request.category, request.alignment)
    }

    /// Allocates a range of a full pool: of the blocks that were being emptied, of an empty block that was created
    /// for a larger range, or of a new block.
    fn grow(
        &mut self,
        key: PoolKey,
        request: &MemoryRequest<'_>,
        round: Round,
    ) -> Result<Suballocation, D::Error> {
        let MemoryRequest { size: wanted, alignment, .. } = *request;
        let range = |found: BlockAllocation| Suballocation::new(key.index(), &found);
        let KeyedPool { growth, pool, .. } = self
            .pools
            .find_or_make(&self.properties, key)
            .ok_or_else(|| D::Error::unsupported(NO_SUCH_POOL))?;
        if pool.stop_compaction()
            && let Some((found, _)) = pool.allocate(wanted, alignment)
        {
            return Ok(range(found));
        }
        let growth = self.limits.scale(*growth);
        if wanted > growth.max {
            return Err(D::Error::not_granted(wanted, key.memory));
        }
        let sizes = growth.sizes(wanted, alignment, pool.taken());
        if let Some(size) = sizes.clone().next() {
            // A new block is only better if it is smaller.
            if let Some((found, _)) = pool.allocate_anywhere(wanted, alignment, size) {
                return Ok(range(found));
            }
            self.make_way(size);
        }
        let (memory, category, priority) = (key.memory, key.category, key.priority());
        let make = |size| {
            let alignment = key.heap_alignment(&self.properties);
            let desc = HeapDesc { size, alignment, memory, category, priority };
            let heap = self.create_heap(&desc, key.name(), D::create_heap)?;
            Ok(HeapBlock { heap, size, memory })
        };
        let made = self.limits.make_block(memory, sizes, round, || self.device.budget(), make);
        match made {
            Ok((block, _)) => self.add_block(key, block, request).map(range),
            Err(error) => {
                let Some(keyed) = self.pools.get_mut(key.index()) else { return Err(error) };
                let found = keyed.pool.allocate_anywhere(wanted, alignment, u64::MAX);
                found.map(|(found, _)| range(found)).ok_or(error)
            }
        }
    }

    /// Frees idle blocks before memory use reaches a new peak: blocks kept for reuse must not raise the peak. Below
    /// the peak they save driver calls at no cost.
    fn make_way(&mut self, size: u64) {
        if self.limits.memory().is_peak(size) {
            self.trim();
        }
    }

    /// Adds a new block to its pool, in place of the empty blocks, which were too small.
    fn add_block(
        &mut self,
        key: PoolKey,
        block: HeapBlock<D::Heap>,
        &MemoryRequest { size, alignment, .. }: &MemoryRequest<'_>,
    ) -> Result<BlockAllocation, D::Error> {
        let capacity = block.size;
        let added = match self.pools.get_mut(key.index()) {
            Some(found) => found.pool.add_and_allocate(block, capacity, size, alignment, &mut self.retired),
            None => Err(Unfit { block, reason: NO_SUCH_POOL }),
        };
        let found = added.map_err(|Unfit { block, reason }| {
            self.retired.push(block);
            D::Error::unsupported(reason)
        });
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.destroy_retired())) {
            // The range has no owner yet, so it must be freed after a panic.
            if let (Ok(found), Some(owner)) = (&found, self.pools.get_mut(key.index())) {
                let _lives = owner.pool.free(found.handle, size);
            }
            resume_unwind(panic);
        }
        found
    }
}

impl<D: HeapDevice> Fallback for Attempt<'_, '_, D> {
    type Found = (MemoryTypeId, Backing<D::Heap>);
    type Error = D::Error;

    /// Allocates a range of an existing block. Skips the first memory type, whose blocks were tried before the chain.
    fn existing_block(&mut self, memory: MemoryTypeId, _: Round) -> Result<Option<Self::Found>, D::Error> {
        let MemoryRequest { size, alignment, category, .. } = *self.request;
        let is_first = self.request.memory.first() == Some(&memory);
        if is_first || matches!(self.steps, Steps::Dedicated(_)) {
            return Ok(None);
        }
        let found = HeapPools::<D>::room(&mut self.pools.pools, memory, category, size, alignment);
        Ok(found.map(|(_, range)| (memory, Backing::Pooled(range))))
    }

    fn new_block(&mut self, memory: MemoryTypeId, round: Round) -> Result<Self::Found, D::Error> {
        if matches!(self.steps, Steps::Dedicated(_)) {
            return Err(D::Error::not_granted(self.request.size, memory));
        }
        let key = self.pools.key(self.request, memory);
        self.pools.grow(key, self.request, round).map(|range| (memory, Backing::Pooled(range)))
    }

    fn dedicated(
        &mut self,
        memory: MemoryTypeId,
        round: Round,
        _: D::Error,
    ) -> Result<Self::Found, D::Error> {
        let Self { pools, request, steps } = self;
        let alignment = pools.key(request, memory).heap_alignment(&pools.properties);
        let size = request.size.next_multiple_of(alignment);
        pools.make_way(size);
        let category = request.category;
        let desc = HeapDesc { size, alignment, memory, category, priority: Priority::Normal };
        let make = |device: &D, desc: &HeapDesc| match steps {
            Steps::All => device.create_heap(desc),
            Steps::Dedicated(make) => make(device, desc),
        };
        let create = || pools.create_heap(&desc, request.name.as_str(), make);
        let heap = pools.limits.make_alone(memory, size, round, || pools.device.budget(), create)?;
        Ok((memory, Backing::Dedicated(HeapBlock { heap, size, memory })))
    }

    fn is_alike(&self, one: MemoryTypeId, other: MemoryTypeId) -> bool {
        self.pools.properties.is_alike(one, other)
    }

    fn make_room(&mut self) {
        self.pools.trim();
    }

    fn note_spill(&mut self, _: MemoryTypeId, _: MemoryTypeId) {
        let (ranges, bytes) = &mut self.pools.spilled;
        *ranges += 1;
        *bytes = bytes.saturating_add(self.request.size);
    }
}
