//! Bare memory: ranges of pooled heaps, for programs that create their resources themselves.
//!
//! [`MemoryPools`] is the floor below [`Gpu`](crate::Gpu): the same pools, suballocator, block growth
//! and ladder, but no API resources, no frames and no deferred release. A range is free the moment it
//! is given back.
//!
//! # How a request is served
//! For each memory type of the request, in its order:
//! 1. a range of the pool's blocks;
//! 2. a new block: the size that the pool has grown to, then a half, a quarter, an eighth of it;
//! 3. a heap of its own.
//!
//! The first time round no heap is asked for that exceeds what the OS grants
//! ([`Device::budget`]): another memory type is better than paging. When
//! all have refused, idle blocks are given back and the driver has the last word, whatever the budget.
//! Requests larger than the largest block get a heap of their own from the start. As the number of heaps
//! nears the device's limit, blocks become larger.

mod climb;
mod error;
mod ledger;
mod request;
mod shelf;
mod shelves;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

pub use error::MemoryError;
pub use ledger::{LiveMemory, MemoryBlock, MemoryTotals};
pub use request::{BlockSizes, MemoryPoolsConfig, MemoryRange, MemoryRequest};

use self::climb::Rungs;
use self::ledger::{Home, Ledger, Spot};
use self::request::MAX_ALIGNMENT;
use self::shelves::Shelves;
use super::make::check;
use super::objects::{Objects, Taken};
use super::pool::HeapBlock;
use crate::device::{Device, DeviceError, HeapCategory, HeapDesc, MemoryTypeId};
use crate::{Error, Name};

/// Ranges of pooled heaps. See the [module documentation](self).
///
/// They belong to one thread at a time: whoever shares them puts a lock around them. In steady state an
/// allocation is one suballocation and takes nothing from the program's own heap, O(1) in what lives.
/// Deterministic: the same calls give the same heaps and offsets.
///
/// Dropping it gives all heaps back, whatever lives in them: [`live`](Self::live) says what does.
///
/// ```
/// use tenure::device::{Device, HeapCategory};
/// use tenure::memory::bare::{MemoryPools, MemoryPoolsConfig, MemoryRequest};
/// use tenure::memory::{MemoryUse, type_order};
/// use tenure::sim;
///
/// let device = sim::Device::new(sim::Profile::DISCRETE);
/// let order = type_order(device.properties(), MemoryUse::GpuOnly);
/// let mut pools = MemoryPools::new(device, MemoryPoolsConfig::default())?;
///
/// let mut request = MemoryRequest::new(48 << 10, 256, &order, HeapCategory::Any);
/// request.name = "rock".into();
/// // What the heap is needed for is done while nobody can take it away.
/// let (rock, ()) = pools.allocate(request, |_heap| ())?;
/// assert_eq!((rock.offset(), rock.size()), (0, 48 << 10));
/// assert_eq!(pools.live()[0].name.as_str(), "rock");
///
/// pools.free(&rock)?;
/// assert!(pools.free(&rock).is_err(), "freed twice");
/// assert_eq!(pools.totals().allocations, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryPools<D: Device> {
    id: u64,
    shelves: Shelves<D>,
    ledger: Ledger<D>,
    /// Blocks on their way out; empty between calls.
    retired: Vec<HeapBlock<D>>,
    objects: Objects,
    taken: Taken,
    /// Declared last: the device outlives what is made of it.
    device: D,
}

impl<D: Device> MemoryPools<D> {
    /// Takes the device; asks the driver for nothing yet.
    ///
    /// # Errors
    /// [`Error::Config`] for a field out of range, [`Error::Contract`] when the device's tables contradict
    /// themselves.
    pub fn new(device: D, config: MemoryPoolsConfig) -> Result<Self, Error> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        config.validate()?;
        check(device.properties())?;
        let id = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Self {
            id,
            shelves: Shelves::new(config, device.properties()),
            ledger: Ledger::default(),
            retired: Vec::new(),
            objects: Objects::default(),
            taken: Taken::default(),
            device,
        })
    }

    /// The device that the heaps are made by.
    #[must_use]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Finds a range. `inspect` gets the heap in which it lies.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing was changed then, but that idle blocks may have been given back.
    #[inline]
    pub fn allocate<R>(
        &mut self,
        request: MemoryRequest<'_>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R), MemoryError> {
        let MemoryRequest { name, size, alignment, memory, category } = request;
        if let Some((memory, heap, spot)) = Self::room(&mut self.shelves, memory, category, size, alignment) {
            let seen = inspect(&heap.heap);
            return Ok((self.ledger.insert_pooled(self.id, name, size, memory, spot), seen));
        }
        self.allocate_elsewhere(MemoryRequest { name, size, alignment, memory, category }, inspect)
    }

    /// As [`allocate`](Self::allocate), where there is no range in the blocks of the memory type that is best,
    /// or there cannot be one.
    #[cold]
    #[inline(never)]
    fn allocate_elsewhere<R>(
        &mut self,
        request: MemoryRequest<'_>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R), MemoryError> {
        request.check(self.device.properties())?;
        let (memory, home) = self.climb(&request, &Rungs::All)?;
        self.settle(request, memory, home, inspect)
    }

    /// Makes a heap for this request alone, by `make`: for what the driver must know about it (the
    /// resource of Vulkan's dedicated allocations). No other rung but the memory types is tried.
    ///
    /// A request does not say what the range is for, so it is for the caller to come here with what
    /// [`requires_dedicated`](crate::device::Requirements::requires_dedicated) memory.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_dedicated<R>(
        &mut self,
        request: MemoryRequest<'_>,
        make: impl Fn(&D, &HeapDesc) -> Result<D::Heap, DeviceError>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R), MemoryError> {
        request.check(self.device.properties())?;
        let (memory, home) = self.climb(&request, &Rungs::Alone(&make))?;
        self.settle(request, memory, home, inspect)
    }

    /// A range of the blocks of the memory type that is best, with its heap. No block has what requests may
    /// not ask for, but for the coarsest alignments.
    #[inline(always)]
    fn room<'s>(
        shelves: &'s mut Shelves<D>,
        memory: &[MemoryTypeId],
        category: HeapCategory,
        size: u64,
        alignment: u64,
    ) -> Option<(MemoryTypeId, &'s HeapBlock<D>, Spot)> {
        if alignment > MAX_ALIGNMENT {
            return None;
        }
        let memory = *memory.first()?;
        let shelf = shelves.sort(memory, category, alignment).index();
        let (found, heap) = shelves.get_mut(shelf)?.allocate_with_heap(size, alignment)?;
        Some((memory, heap, Spot::new(shelf, &found)))
    }

    /// Takes down what was found.
    #[inline]
    fn settle<R>(
        &mut self,
        request: MemoryRequest<'_>,
        memory: MemoryTypeId,
        home: Home<D>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R), MemoryError> {
        let block = match &home {
            Home::Pooled(spot) => self.shelves.get(spot.shelf).and_then(|shelf| shelf.heap(spot.block)),
            Home::Alone(heap) => Some(heap),
        };
        // Every block of a shelf has its heap.
        let seen = inspect(&block.ok_or(MemoryError::Foreign)?.heap);
        let MemoryRequest { name, size, .. } = request;
        Ok((self.ledger.insert(self.id, name, size, memory, home), seen))
    }

    /// Gives a range back. The GPU is done with it.
    ///
    /// # Errors
    /// [`MemoryError::DoubleFree`] or [`MemoryError::Foreign`]; nothing was changed then.
    #[inline]
    pub fn free(&mut self, range: &MemoryRange) -> Result<(), MemoryError> {
        if range.pools != self.id {
            return Err(MemoryError::Foreign);
        }
        let spot = match self.ledger.remove(range) {
            Some(Home::Pooled(spot)) => spot,
            Some(Home::Alone(HeapBlock { heap, size })) => {
                self.objects.destroy_heap(&self.device, heap, size, &self.taken);
                return Ok(());
            }
            None => return Err(MemoryError::DoubleFree),
        };
        let Some(shelf) = self.shelves.get_mut(spot.shelf) else { return Err(MemoryError::Foreign) };
        match shelf.free(spot.handle) {
            Ok(false) => {}
            Ok(true) => {
                shelf.age(&mut self.retired);
                self.give_back();
            }
            Err(_) => return Err(MemoryError::DoubleFree),
        }
        Ok(())
    }

    /// The name of a live range; `None` for one that is not.
    #[must_use]
    pub fn name(&self, range: &MemoryRange) -> Option<&Name> {
        (range.pools == self.id).then(|| self.ledger.name(range)).flatten()
    }

    /// Gives a live range another name.
    ///
    /// # Errors
    /// [`MemoryError::DoubleFree`] or [`MemoryError::Foreign`] when it is not one.
    pub fn rename(&mut self, range: &MemoryRange, name: Name) -> Result<(), MemoryError> {
        if range.pools != self.id {
            return Err(MemoryError::Foreign);
        }
        if self.ledger.rename(range, name) { Ok(()) } else { Err(MemoryError::DoubleFree) }
    }

    /// Gives back every block in which nothing lives.
    pub fn trim(&mut self) {
        for shelf in self.shelves.iter_mut() {
            shelf.reclaim(&mut self.retired);
        }
        self.give_back();
    }

    /// What lives, in the order of allocation.
    #[must_use]
    pub fn live(&self) -> Vec<LiveMemory> {
        let mut live = self.ledger.live();
        live.sort_unstable_by_key(|found| found.serial);
        live
    }

    /// Every heap with what lives in it: those that are shared, by memory type, then those that are for one
    /// range alone.
    #[must_use]
    pub fn blocks(&self) -> Vec<MemoryBlock> {
        let mut live = self.live();
        let mut blocks = Vec::new();
        for shelf in self.shelves.iter() {
            for (number, size) in shelf.blocks() {
                let is_here = |found: &LiveMemory| found.block == Some((shelf.sort.index(), number));
                let allocations = live.iter().filter(|found| is_here(found)).cloned().collect();
                live.retain(|found| !is_here(found));
                let memory = shelf.sort.memory;
                blocks.push(MemoryBlock { memory, size, is_dedicated: false, allocations });
            }
        }
        let alone = live.into_iter().filter(|found| found.block.is_none());
        blocks.extend(alone.map(|found| MemoryBlock {
            memory: found.memory,
            size: found.heap_size,
            is_dedicated: true,
            allocations: vec![found],
        }));
        blocks
    }

    /// Totals, in O(number of pools).
    #[must_use]
    pub fn totals(&self) -> MemoryTotals {
        let counts = self.objects.counts();
        let (allocations, requested) = self.ledger.totals();
        MemoryTotals {
            reserved: self.taken.now(),
            peak_reserved: self.taken.peak(),
            requested,
            allocations,
            heaps: counts.heaps,
            heaps_made: counts.heaps_made,
        }
    }

    /// Gives the heaps of retired blocks back.
    fn give_back(&mut self) {
        for HeapBlock { heap, size } in self.retired.drain(..) {
            self.objects.destroy_heap(&self.device, heap, size, &self.taken);
        }
    }
}

impl<D: Device> Drop for MemoryPools<D> {
    fn drop(&mut self) {
        for shelf in self.shelves.iter_mut() {
            self.retired.extend(shelf.take_heaps());
        }
        self.retired.extend(self.ledger.take_alone());
        self.give_back();
    }
}

impl<D: Device> fmt::Debug for MemoryPools<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryPools").field("totals", &self.totals()).finish_non_exhaustive()
    }
}
