//! Compaction of pools: empties sparse heaps.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::allocations::Suballocation;
use super::{HeapPools, MemoryRange};
use crate::caught::run_caught;
use crate::pool::Left;
use crate::{CompactionBudget, HeapDevice, RangeNeeds};

/// A move of a range, see [`HeapPools::compact`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryMove {
    /// The old location: [free](HeapPools::free) it after its last use.
    pub from: MemoryRange,
    /// The new location, which is already live, with the same name.
    pub to: MemoryRange,
}

impl<D: HeapDevice> HeapPools<D> {
    /// Continues emptying sparse heaps within the budget, and appends the moves of ranges to `moves`.
    /// `is_movable` is called once for each range of the heaps to empty. Nothing moves unless
    /// [`HeapPoolsConfig::compacts`](super::HeapPoolsConfig::compacts) is set.
    ///
    /// The caller creates a resource in [`to`](MemoryMove::to), in the heap returned by [`heap`](Self::heap), lets
    /// the GPU copy the content, and frees [`from`](MemoryMove::from) after its last use. If that fails, it frees
    /// `to` instead, and [stops](Self::stop_compaction): otherwise the heap would wait for `from`, whose move is not
    /// returned again. Call this repeatedly, for example once per frame, until it returns true: then there is no work
    /// until ranges are allocated or freed. Ranges can be allocated and freed at any time in between. A request that
    /// finds all heaps full stops the emptying before a new heap is created for it.
    ///
    /// The heaps to empty are those with the fewest used bytes, and nothing moves before all their ranges have new
    /// locations: see [`Pool::compact`](crate::Pool::compact), also for the cost. `budget` applies to all pools
    /// together.
    ///
    /// # Panics
    /// With the panic of `is_movable` or of the device, after all moves were appended to `moves`.
    ///
    /// ```
    /// # use tenure_heap::{
    /// #     HeapDesc, HeapDevice, HeapError, HeapProperties, MemoryFlags, MemoryHeap, MemoryType,
    /// # };
    /// use tenure_heap::{
    ///     CompactionBudget, HeapCategory, HeapPools, HeapPoolsConfig, MemoryRequest, MemoryTypeId,
    /// };
    /// # struct Card;
    /// # impl HeapDevice for Card {
    /// #     type Heap = u64;
    /// #     type Error = HeapError;
    /// #     fn properties(&self) -> HeapProperties {
    /// #         HeapProperties {
    /// #             memory_types: vec![MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 }],
    /// #             memory_heaps: vec![MemoryHeap { size: 8 << 30, device_local: true }],
    /// #             heap_alignment: 64 << 10,
    /// #             msaa_heap_alignment: 4 << 20,
    /// #             non_coherent_atom: 1,
    /// #             max_allocations: 4096,
    /// #             max_heap_size: 8 << 30,
    /// #         }
    /// #     }
    /// #     fn create_heap(&self, desc: &HeapDesc) -> Result<u64, HeapError> {
    /// #         Ok(desc.size)
    /// #     }
    /// #     fn destroy_heap(&self, _heap: u64) {}
    /// # }
    /// let mut pools = HeapPools::new(Card, HeapPoolsConfig::default().compacts(true))?;
    /// let order = [MemoryTypeId(0)];
    /// let mesh = MemoryRequest::new(100 << 10, 256, &order, HeapCategory::Buffers);
    /// let mut meshes = Vec::new();
    /// for _ in 0..100 {
    ///     meshes.push(pools.allocate(mesh.clone(), |_| ())?.0);
    /// }
    /// // Nine in ten go.
    /// for (index, mesh) in meshes.iter().enumerate().filter(|(index, _)| index % 10 > 0) {
    ///     pools.free(mesh)?;
    /// }
    /// let before = pools.totals().reserved;
    /// let frame = CompactionBudget { bytes: 16 << 20, moves: 128, pieces: 1000 };
    /// let mut moves = Vec::new();
    /// while !pools.compact(frame, |_| true, &mut moves) {
    ///     for moved in moves.drain(..) {
    ///         // Copy its bytes here, and update its owner.
    ///         pools.free(&moved.from)?;
    ///     }
    /// }
    /// assert!(pools.totals().reserved < before / 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact(
        &mut self,
        budget: CompactionBudget,
        mut is_movable: impl FnMut(&MemoryRange) -> bool,
        moves: &mut Vec<MemoryMove>,
    ) -> bool {
        let (mut left, mut is_done) = (Left::new(budget), true);
        let (mut found, mut keys) = (Vec::new(), Vec::new());
        let mut panicked = None;
        for pool in self.pools.iter_mut() {
            let (index, allocations) = (pool.key.index(), &self.allocations);
            let needs = |range: &_| {
                let (range, alignment) = allocations.find(index, range)?;
                if panicked.is_some() {
                    return None;
                }
                // A panic that escaped here would lose the locations found so far.
                let is_movable =
                    catch_unwind(AssertUnwindSafe(|| is_movable(&range))).unwrap_or_else(|panic| {
                        panicked = Some(panic);
                        false
                    });
                is_movable.then_some(RangeNeeds { size: range.size, alignment })
            };
            is_done &= pool.pool.compact_within(&mut left, needs, &mut found, &mut self.retired);
            keys.resize(found.len(), index);
        }
        for (moved, pool) in found.iter().zip(keys) {
            let Some((from, alignment)) = self.allocations.find(pool, &moved.from) else { continue };
            self.allocations.note_moved(pool, &moved.from);
            let name = self.allocations.name(&from).cloned().unwrap_or_default();
            let to = Suballocation::new(pool, &moved.to);
            let to = self.allocations.insert_pooled(name, from.size, alignment, from.memory, to);
            moves.push(MemoryMove { from, to });
        }
        if let Some(panic) = panicked {
            run_caught(|| self.destroy_retired());
            resume_unwind(panic);
        }
        self.destroy_retired();
        is_done
    }

    /// Stops emptying heaps, so that their free bytes can be allocated again. Returned moves stay valid. True if
    /// there was anything to stop.
    pub fn stop_compaction(&mut self) -> bool {
        self.pools.iter_mut().fold(false, |is_any, found| found.pool.stop_compaction() | is_any)
    }
}
