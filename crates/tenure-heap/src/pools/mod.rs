//! Pools of heaps, used by one thread at a time.

mod allocations;
mod compaction;
mod error;
mod fallback;
mod request;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

pub use allocations::{LiveMemory, MemoryBlock, MemoryBlockId, MemoryTotals};
pub use compaction::MemoryMove;
pub use error::{InvalidSetup, MemoryError, RequestField};
pub use request::{BlockSizes, HeapPoolsConfig, MemoryRange, MemoryRequest};

use self::allocations::{AllocationTable, Backing, Suballocation};
use self::fallback::Steps;
use self::request::MAX_ALIGNMENT;
use self::table::PoolTable;
use crate::caught::run_caught;
use crate::{HeapCategory, HeapDesc, HeapDevice, HeapProperties, MemoryLimits, MemoryTypeId, Name};

/// A heap with its size in bytes.
pub(crate) struct HeapBlock<H> {
    pub(crate) heap: H,
    pub(crate) size: u64,
    pub(crate) memory: MemoryTypeId,
}

/// Ranges of pooled heaps, allocated by the [fallback chain](crate).
///
/// Requests larger than the largest block get a dedicated heap.
///
/// Not synchronised: threads that share it need a lock. In steady state an allocation is one suballocation without an
/// allocation on the program's own heap, and O(1) in the live ranges. Deterministic: the same calls result in the
/// same heaps and offsets.
///
/// Dropping it destroys all heaps, including heaps with live ranges, which [`live`](Self::live) lists. Panics of the
/// device reach the caller, except during the drop; in both cases all heaps are eventually destroyed.
///
/// ```
/// use tenure_heap::{
///     HeapCategory, HeapDesc, HeapDevice, HeapError, HeapPools, HeapPoolsConfig, HeapProperties, MemoryFlags,
///     MemoryHeap, MemoryRequest, MemoryType, MemoryTypeId,
/// };
///
/// /// A device whose heaps are plain sizes.
/// struct Card;
///
/// impl HeapDevice for Card {
///     type Heap = u64;
///     type Error = HeapError;
///
///     fn properties(&self) -> HeapProperties {
///         HeapProperties {
///             memory_types: vec![MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 }],
///             memory_heaps: vec![MemoryHeap { size: 8 << 30, device_local: true }],
///             heap_alignment: 64 << 10,
///             msaa_heap_alignment: 4 << 20,
///             non_coherent_atom: 1,
///             max_allocations: 4096,
///             max_heap_size: 8 << 30,
///         }
///     }
///
///     fn create_heap(&self, desc: &HeapDesc) -> Result<u64, HeapError> {
///         Ok(desc.size)
///     }
///
///     fn destroy_heap(&self, _heap: u64) {}
/// }
///
/// let mut pools = HeapPools::new(Card, HeapPoolsConfig::default())?;
/// let order = [MemoryTypeId(0)];
/// let mut request = MemoryRequest::new(48 << 10, 256, &order, HeapCategory::Any);
/// request.name = "rock".into();
/// // `inspect` reads the heap under the same borrow.
/// let (rock, heap_size) = pools.allocate(request, |heap| *heap)?;
/// assert_eq!((rock.offset(), rock.size(), heap_size), (0, 48 << 10, 1 << 20));
/// assert_eq!(pools.live()[0].name.as_str(), "rock");
///
/// pools.free(&rock)?;
/// assert!(pools.free(&rock).is_err(), "freed twice");
/// assert_eq!(pools.totals().allocations, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct HeapPools<D: HeapDevice> {
    pools: PoolTable<D::Heap>,
    allocations: AllocationTable<D::Heap>,
    /// Blocks being removed; empty between calls.
    retired: Vec<HeapBlock<D::Heap>>,
    limits: MemoryLimits,
    /// Number and bytes of ranges in memory other than the preferred type.
    spilled: (u64, u64),
    properties: HeapProperties,
    /// Declared last: the device outlives its heaps.
    device: D,
}

impl<D: HeapDevice> HeapPools<D> {
    /// Takes the device. Does not call the driver yet.
    ///
    /// # Errors
    /// [`InvalidSetup`] for a field out of range, or inconsistent properties.
    pub fn new(device: D, config: HeapPoolsConfig) -> Result<Self, InvalidSetup> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        config.validate()?;
        let properties = device.properties();
        properties.check()?;
        Ok(Self {
            allocations: AllocationTable::new(LAST.fetch_add(1, Ordering::Relaxed) + 1, config.compacts),
            pools: PoolTable::new(config, &properties),
            retired: Vec::new(),
            limits: MemoryLimits::new(&properties),
            spilled: (0, 0),
            properties,
            device,
        })
    }

    /// The device that creates the heaps.
    #[must_use]
    pub fn device(&self) -> &D {
        &self.device
    }

    /// Allocates a range. `inspect` receives its heap; if it panics, the range stays live.
    ///
    /// # Errors
    /// [`MemoryError`]; nothing is changed then, except that idle blocks may have been freed.
    #[inline]
    pub fn allocate<R>(
        &mut self,
        request: MemoryRequest<'_>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R), MemoryError<D::Error>> {
        let MemoryRequest { name, size, alignment, memory, category, shortage } = request;
        if let Some(&memory) = memory.first()
            && let Some((heap, suballocation)) =
                Self::room(&mut self.pools, memory, category, size, alignment)
        {
            // Live first, because `inspect` may panic.
            let range = self.allocations.insert_pooled(name, size, alignment, memory, suballocation);
            return Ok((range, inspect(&heap.heap)));
        }
        self.allocate_elsewhere(MemoryRequest { name, size, alignment, memory, category, shortage }, inspect)
    }

    /// Like [`allocate`](Self::allocate), for requests that the blocks of the preferred memory type cannot serve.
    #[cold]
    #[inline(never)]
    fn allocate_elsewhere<R>(
        &mut self,
        request: MemoryRequest<'_>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R), MemoryError<D::Error>> {
        self.allocate_by(&Steps::All, request, inspect)
    }

    /// Creates a dedicated heap with `make`, for driver-specific parameters (the resource of Vulkan's dedicated
    /// allocations). Each memory type is tried, but no block.
    ///
    /// Callers must use this for resources that require a dedicated allocation, because a request does not contain
    /// the resource.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_dedicated<R>(
        &mut self,
        request: MemoryRequest<'_>,
        make: impl Fn(&D, &HeapDesc) -> Result<D::Heap, D::Error>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R), MemoryError<D::Error>> {
        self.allocate_by(&Steps::Dedicated(&make), request, inspect)
    }

    /// A range of the blocks of a memory type, with its heap. Does not check for invalid requests, except for the
    /// coarsest alignments, which no block can serve.
    #[inline(always)]
    fn room(
        pools: &mut PoolTable<D::Heap>,
        memory: MemoryTypeId,
        category: HeapCategory,
        size: u64,
        alignment: u64,
    ) -> Option<(&HeapBlock<D::Heap>, Suballocation)> {
        if alignment > MAX_ALIGNMENT {
            return None;
        }
        let pool = pools.key(memory, category, alignment).index();
        let (found, heap) = pools.get_mut(pool)?.pool.allocate(size, alignment)?;
        Some((heap, Suballocation::new(pool, &found)))
    }

    /// Allocates with the fallback chain.
    fn allocate_by<R>(
        &mut self,
        steps: &Steps<'_, D>,
        request: MemoryRequest<'_>,
        inspect: impl FnOnce(&D::Heap) -> R,
    ) -> Result<(MemoryRange, R), MemoryError<D::Error>> {
        request.check(self.properties.memory_types.len())?;
        let (memory, backing) = self.find(&request, steps)?;
        let MemoryRequest { name, size, alignment, .. } = request;
        // Live first, because `inspect` may panic.
        let range = self.allocations.insert(name, size, alignment, memory, backing);
        // Every range has a heap.
        let seen = inspect(self.heap(&range).ok_or(MemoryError::Foreign)?);
        Ok((range, seen))
    }

    /// Frees a range. The GPU must no longer use it.
    ///
    /// # Errors
    /// [`MemoryError::DoubleFree`] or [`MemoryError::Foreign`]; nothing is changed then.
    #[inline]
    pub fn free(&mut self, range: &MemoryRange) -> Result<(), MemoryError<D::Error>> {
        if !self.allocations.has_made(range) {
            return Err(MemoryError::Foreign);
        }
        let suballocation = match self.allocations.remove(range) {
            Some(Backing::Pooled(suballocation)) => suballocation,
            Some(Backing::Dedicated(block)) => {
                destroy_heap(&self.limits, &self.device, block);
                return Ok(());
            }
            None => return Err(MemoryError::DoubleFree),
        };
        let Some(found) = self.pools.get_mut(suballocation.pool) else { return Err(MemoryError::Foreign) };
        match found.pool.free(suballocation.handle, range.size) {
            Ok(freed) if freed.block_is_empty => {
                // In place of the end of a frame: a block has become empty.
                found.pool.end_frame(&mut self.retired);
                self.destroy_retired();
            }
            Ok(_) => {}
            Err(_) => return Err(MemoryError::DoubleFree),
        }
        Ok(())
    }

    /// The live range with the values of [`MemoryRange::to_raw`]. Safe for any values, because callers in other
    /// languages may pass wrong ones. O(1).
    ///
    /// # Errors
    /// [`MemoryError::DoubleFree`] or [`MemoryError::Foreign`] for values that are not those of a live range of these
    /// pools.
    pub fn live_range(&self, raw: [u64; 3]) -> Result<MemoryRange, MemoryError<D::Error>> {
        self.allocations.live_range(raw)
    }

    /// The heap of a live range; `None` if it is not live.
    #[must_use]
    pub fn heap(&self, range: &MemoryRange) -> Option<&D::Heap> {
        let block = match self.allocations.pooled(range) {
            Some(found) => self.pools.get(found.pool)?.pool.block(found.block),
            None => self.allocations.dedicated(range),
        };
        block.map(|block| &block.heap)
    }

    /// The name of a live range; `None` if it is not live.
    #[must_use]
    pub fn name(&self, range: &MemoryRange) -> Option<&Name> {
        self.allocations.name(range)
    }

    /// Renames a live range.
    ///
    /// # Errors
    /// [`MemoryError::DoubleFree`] or [`MemoryError::Foreign`] if it is not live.
    pub fn rename(&mut self, range: &MemoryRange, name: Name) -> Result<(), MemoryError<D::Error>> {
        if !self.allocations.has_made(range) {
            return Err(MemoryError::Foreign);
        }
        if self.allocations.rename(range, name) { Ok(()) } else { Err(MemoryError::DoubleFree) }
    }

    /// Frees all empty blocks.
    pub fn trim(&mut self) {
        for found in self.pools.iter_mut() {
            found.pool.take_empty(&mut self.retired);
        }
        self.destroy_retired();
    }

    /// The live ranges, in order of allocation.
    #[must_use]
    pub fn live(&self) -> Vec<LiveMemory> {
        let mut live = self.allocations.live();
        live.sort_unstable_by_key(|found| found.serial);
        live
    }

    /// Every heap with its live ranges: shared heaps by memory type, then dedicated ones. O(n log n) in the live
    /// ranges.
    #[must_use]
    pub fn blocks(&self) -> Vec<MemoryBlock> {
        let mut live: BTreeMap<MemoryBlockId, Vec<LiveMemory>> = BTreeMap::new();
        for found in self.live() {
            live.entry(found.block_id()).or_default().push(found);
        }
        let mut blocks = Vec::new();
        for pool in self.pools.iter() {
            for (number, _, size, _) in pool.pool.blocks() {
                let (id, memory) = (MemoryBlockId::Pool(pool.key.index(), number), pool.key.memory);
                let allocations = live.remove(&id).unwrap_or_default();
                blocks.push(MemoryBlock { id, memory, size, is_dedicated: false, allocations });
            }
        }
        blocks.extend(live.into_iter().filter_map(|(id, allocations)| {
            let &LiveMemory { memory, heap_size: size, .. } = allocations.first()?;
            let is_dedicated = matches!(id, MemoryBlockId::Dedicated(_));
            is_dedicated.then_some(MemoryBlock { id, memory, size, is_dedicated, allocations })
        }));
        blocks
    }

    /// Totals, in O(number of pools).
    #[must_use]
    pub fn totals(&self) -> MemoryTotals {
        let (mut allocations, mut requested) = self.allocations.dedicated_totals();
        for found in self.pools.iter() {
            let counts = found.pool.counts();
            allocations += counts.allocations;
            requested = requested.wrapping_add(counts.requested);
        }
        MemoryTotals {
            reserved: self.limits.memory().now(),
            peak_reserved: self.limits.memory().peak(),
            requested,
            allocations,
            heaps: self.limits.allocations(),
            heaps_made: self.limits.allocations_made(),
            spilled: self.spilled.0,
            spilled_bytes: self.spilled.1,
        }
    }

    /// Caps the bytes that the pools take from a memory heap, by its index in [`HeapProperties::memory_heaps`],
    /// independently of the operating system's budget; `None` removes the cap. Existing allocations are kept. False
    /// if there is no such heap.
    pub fn set_cap(&mut self, heap: usize, bytes: Option<u64>) -> bool {
        self.limits.set_cap(heap, bytes)
    }

    fn create_heap(
        &self,
        desc: &HeapDesc,
        name: &str,
        make: impl FnOnce(&D, &HeapDesc) -> Result<D::Heap, D::Error>,
    ) -> Result<D::Heap, D::Error> {
        let heap = self.limits.create_heap(&self.device, desc, name, make)?;
        let (bytes, memory_type) = (desc.size, desc.memory.0);
        // A panicking subscriber must not lose the heap.
        run_caught(
            || tracing::debug!(target: "tenure", name, bytes, memory_type, category = ?desc.category, "heap created"),
        );
        Ok(heap)
    }

    /// Destroys the heaps of retired blocks.
    fn destroy_retired(&mut self) {
        // One by one: if the device panics, the others are kept.
        while let Some(block) = self.retired.pop() {
            destroy_heap(&self.limits, &self.device, block);
        }
    }
}

fn destroy_heap<D: HeapDevice>(limits: &MemoryLimits, device: &D, block: HeapBlock<D::Heap>) {
    let HeapBlock { heap, size, memory } = block;
    limits.destroy_heap(device, heap, memory, size);
    run_caught(|| tracing::debug!(target: "tenure", bytes = size, memory_type = memory.0, "heap destroyed"));
}

impl<D: HeapDevice> Drop for HeapPools<D> {
    fn drop(&mut self) {
        for found in self.pools.iter_mut() {
            self.retired.extend(found.pool.take_blocks());
        }
        self.retired.extend(self.allocations.take_dedicated());
        // If the device panics for one, the others are still destroyed, and no panic leaves the drop.
        while let Some(block) = self.retired.pop() {
            run_caught(|| destroy_heap(&self.limits, &self.device, block));
        }
    }
}

impl<D: HeapDevice> fmt::Debug for HeapPools<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeapPools").field("totals", &self.totals()).finish_non_exhaustive()
    }
}
