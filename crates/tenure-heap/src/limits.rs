//! The limits of the fallback chain, and the count of memory taken from the driver.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU64, Ordering};

mod counter;
mod heap_state;

pub use counter::MemoryCounter;
use heap_state::{Before, HeapState};

use crate::caught::run_caught;
use crate::{Growth, HeapBudget, HeapDesc, HeapDevice, HeapDeviceError, HeapProperties, MemoryTypeId, Round};

/// The memory limits of a device, with the current usage: bytes of each heap's budget, and allocations.
///
/// The operating system is queried for budgets only if the result may matter: after an eighth of the free bytes was
/// taken, if a request seems to exceed the budget, and after [`expire_budgets`](Self::expire_budgets).
///
/// May be used by any thread. Every call is O(1), except for the query of the operating system.
///
/// ```
/// use tenure_heap::{HeapBudget, HeapProperties, MemoryFlags, MemoryHeap, MemoryLimits, MemoryType};
/// use tenure_heap::{MemoryTypeId, Round};
/// let limits = MemoryLimits::new(&HeapProperties {
///     memory_types: vec![MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 }],
///     memory_heaps: vec![MemoryHeap { size: 1000, device_local: true }],
///     heap_alignment: 1,
///     msaa_heap_alignment: 1,
///     non_coherent_atom: 1,
///     max_allocations: 8,
///     max_heap_size: 1000,
/// });
/// let memory = MemoryTypeId(0);
/// let budget = || vec![HeapBudget { budget: 500, usage: 100 }];
/// assert!(limits.allows(memory, 400, Round::WithinBudget, budget));
/// assert!(!limits.allows(memory, 401, Round::WithinBudget, budget), "more than is granted");
/// assert!(limits.allows(memory, 1000, Round::WhateverBudget, budget), "the driver decides");
/// assert!(!limits.allows(memory, 1001, Round::WhateverBudget, budget), "more than the heap has");
///
/// for _ in 0..7 {
///     limits.note_allocation(memory, 1);
/// }
/// assert!(limits.is_near_max_allocations());
/// ```
#[derive(Debug)]
pub struct MemoryLimits {
    /// Bytes.
    max_heap_size: u64,
    max_allocations: u64,
    /// The heap index of each memory type.
    heap_of_type: Box<[u8]>,
    heaps: Box<[HeapState]>,
    allocations: AtomicU64,
    allocations_made: AtomicU64,
    memory: MemoryCounter,
}

impl MemoryLimits {
    /// The limits of a device without allocations.
    #[must_use]
    pub fn new(properties: &HeapProperties) -> Self {
        Self {
            max_heap_size: properties.max_heap_size,
            max_allocations: properties.max_allocations,
            heap_of_type: properties.memory_types.iter().map(|found| found.heap).collect(),
            heaps: properties.memory_heaps.iter().map(|heap| HeapState::new(heap.size)).collect(),
            allocations: AtomicU64::new(0),
            allocations_made: AtomicU64::new(0),
            memory: MemoryCounter::default(),
        }
    }

    fn heap(&self, memory: MemoryTypeId) -> Option<(usize, &HeapState)> {
        let heap = usize::from(*self.heap_of_type.get(usize::from(memory.0))?);
        Some((heap, self.heaps.get(heap)?))
    }

    /// Counts memory that the driver allocated.
    pub fn note_allocation(&self, memory: MemoryTypeId, bytes: u64) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
        self.allocations_made.fetch_add(1, Ordering::Relaxed);
        self.memory.add(bytes);
        if let Some((_, heap)) = self.heap(memory) {
            match bytes - heap.settle(bytes) {
                0 => {}
                more => heap.take(more),
            }
        }
    }

    /// Counts memory that the driver freed.
    pub fn note_release(&self, memory: MemoryTypeId, bytes: u64) {
        self.allocations.fetch_sub(1, Ordering::Relaxed);
        self.memory.remove(bytes);
        if let Some((_, heap)) = self.heap(memory) {
            heap.release(bytes);
        }
    }

    /// Notes that an allocation was evicted: its bytes do not count against budget and cap until it is resident
    /// again. It still counts as an allocation.
    ///
    /// ```
    /// # use tenure_heap::{HeapProperties, MemoryFlags, MemoryHeap, MemoryLimits, MemoryType, MemoryTypeId};
    /// # let limits = MemoryLimits::new(&HeapProperties {
    /// #     memory_types: vec![MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 }],
    /// #     memory_heaps: vec![MemoryHeap { size: 1 << 30, device_local: true }],
    /// #     heap_alignment: 1,
    /// #     msaa_heap_alignment: 1,
    /// #     non_coherent_atom: 1,
    /// #     max_allocations: 8,
    /// #     max_heap_size: 1 << 30,
    /// # });
    /// limits.note_allocation(MemoryTypeId(0), 1 << 20);
    /// limits.note_evicted(MemoryTypeId(0), 1 << 20);
    /// assert_eq!((limits.taken(0), limits.memory().now()), (0, 1 << 20));
    /// limits.note_resident(MemoryTypeId(0), 1 << 20);
    /// assert_eq!(limits.taken(0), 1 << 20);
    /// ```
    pub fn note_evicted(&self, memory: MemoryTypeId, bytes: u64) {
        if let Some((_, heap)) = self.heap(memory) {
            heap.release(bytes);
            // The last queried budget is out of date.
            heap.expire_budget();
        }
    }

    /// Notes that [evicted](Self::note_evicted) memory is resident again.
    pub fn note_resident(&self, memory: MemoryTypeId, bytes: u64) {
        if let Some((_, heap)) = self.heap(memory) {
            heap.take(bytes);
        }
    }

    /// Bytes taken from a memory heap; 0 if there is no such heap.
    #[must_use]
    pub fn taken(&self, heap: usize) -> u64 {
        self.heaps.get(heap).map_or(0, HeapState::taken)
    }

    /// Caps the bytes taken from a memory heap, by its index, independently of the operating system's budget;
    /// `None` removes the cap. Existing allocations stay. False if there is no such heap.
    ///
    /// ```
    /// # use tenure_heap::{HeapProperties, MemoryFlags, MemoryHeap, MemoryLimits, MemoryType, MemoryTypeId, Round};
    /// # let limits = MemoryLimits::new(&HeapProperties {
    /// #     memory_types: vec![MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 }],
    /// #     memory_heaps: vec![MemoryHeap { size: 1000, device_local: true }],
    /// #     heap_alignment: 1,
    /// #     msaa_heap_alignment: 1,
    /// #     non_coherent_atom: 1,
    /// #     max_allocations: 8,
    /// #     max_heap_size: 1000,
    /// # });
    /// assert!(limits.set_cap(0, Some(300)));
    /// limits.note_allocation(MemoryTypeId(0), 200);
    /// assert!(limits.allows(MemoryTypeId(0), 100, Round::WhateverBudget, Vec::new));
    /// assert!(!limits.allows(MemoryTypeId(0), 101, Round::WhateverBudget, Vec::new));
    /// assert!(!limits.set_cap(1, None), "there is no such heap");
    /// ```
    pub fn set_cap(&self, heap: usize, bytes: Option<u64>) -> bool {
        let Some(heap) = self.heaps.get(heap) else { return false };
        heap.set_cap(bytes);
        true
    }

    /// The cap of a memory heap, by its index.
    #[must_use]
    pub fn cap(&self, heap: usize) -> Option<u64> {
        self.heaps.get(heap)?.cap()
    }

    /// The number of live allocations.
    #[must_use]
    pub fn allocations(&self) -> u64 {
        self.allocations.load(Ordering::Relaxed)
    }

    /// The total number of allocations made.
    #[must_use]
    pub fn allocations_made(&self) -> u64 {
        self.allocations_made.load(Ordering::Relaxed)
    }

    /// Bytes of all allocations.
    #[must_use]
    pub const fn memory(&self) -> &MemoryCounter {
        &self.memory
    }

    /// Whether more than three quarters of the device's allocations are in use (the same limit as in VMA). Requests
    /// without need for a dedicated allocation should then share one.
    #[must_use]
    pub fn is_near_max_allocations(&self) -> bool {
        self.allocations().saturating_mul(4) > self.max_allocations.saturating_mul(3)
    }

    /// A pool's growth, with block sizes doubled for each eighth of the device's allocations in use, so that the
    /// remaining allocations suffice.
    #[must_use]
    pub fn scale(&self, growth: Growth) -> Growth {
        let eighths = self.allocations().saturating_mul(8) / self.max_allocations.max(1);
        let factor = 1_u64 << eighths.min(8);
        let larger = |bytes: u64| bytes.saturating_mul(factor).min(growth.limit.max(bytes));
        Growth { min: larger(growth.min), max: larger(growth.max), ..growth }
    }

    /// Creates a heap with `make`, names it, and counts it.
    ///
    /// # Errors
    /// The driver's error.
    pub fn create_heap<D: HeapDevice>(
        &self,
        device: &D,
        desc: &HeapDesc,
        name: &str,
        make: impl FnOnce(&D, &HeapDesc) -> Result<D::Heap, D::Error>,
    ) -> Result<D::Heap, D::Error> {
        let heap = make(device, desc)?;
        // The heap has no owner yet, so it must be destroyed after a panic.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| device.set_name(&heap, name))) {
            // The first panic is propagated.
            run_caught(|| device.destroy_heap(heap));
            resume_unwind(panic);
        }
        self.note_allocation(desc.memory, desc.size);
        Ok(heap)
    }

    /// Destroys a heap of `size` bytes of a memory type, and updates the counts.
    pub fn destroy_heap<D: HeapDevice>(&self, device: &D, heap: D::Heap, memory: MemoryTypeId, size: u64) {
        let _counted = OnDrop(|| self.note_release(memory, size));
        device.destroy_heap(heap);
    }

    /// Makes the next use of each budget query the operating system, because other programs allocate memory, too.
    /// Called at the end of a frame or of a call.
    pub fn expire_budgets(&self) {
        for heap in &self.heaps {
            heap.expire_budget();
        }
    }

    /// Whether `bytes` of a memory type may be requested: at most the heap's size, the [cap](Self::set_cap) and, in
    /// the first round, the operating system's budget. `budget` queries the budgets; an empty result means no limit.
    pub fn allows(
        &self,
        memory: MemoryTypeId,
        bytes: u64,
        round: Round,
        budget: impl FnOnce() -> Vec<HeapBudget>,
    ) -> bool {
        let Some((_, heap)) = self.heap(memory) else { return false };
        if !heap.leaves(bytes) {
            return false;
        }
        self.is_granted(heap, round, || heap.ever_with(bytes), budget)
    }

    /// Whether the cumulative bytes taken from a heap may grow to this value in this round. Queries the budgets if
    /// that is unknown.
    fn is_granted(
        &self,
        heap: &HeapState,
        round: Round,
        ever: impl Fn() -> i64,
        budget: impl FnOnce() -> Vec<HeapBudget>,
    ) -> bool {
        round == Round::WhateverBudget
            || heap.grants(ever()).unwrap_or_else(|| {
                self.refresh(budget);
                heap.grants_now(ever())
            })
    }

    /// Queries the budgets of all heaps.
    #[cold]
    fn refresh(&self, budget: impl FnOnce() -> Vec<HeapBudget>) {
        let before: Vec<Before> = self.heaps.iter().map(HeapState::before).collect();
        let budgets = budget();
        for (index, (heap, before)) in self.heaps.iter().zip(before).enumerate() {
            heap.refresh(before, budgets.get(index).copied().unwrap_or_default());
        }
    }

    /// Like [`allows`](Self::allows); if true, the bytes count as taken until the driver has
    /// [allocated](Self::note_allocation) them or the reservation is [cancelled](HeapState::cancel).
    fn reserve(
        &self,
        memory: MemoryTypeId,
        bytes: u64,
        round: Round,
        budget: impl FnOnce() -> Vec<HeapBudget>,
    ) -> bool {
        let Some((_, heap)) = self.heap(memory).filter(|(_, heap)| heap.has(bytes)) else { return false };
        let Some(ever) = heap.reserve(bytes) else { return false };
        let is_granted = self.is_granted(heap, round, || ever, budget);
        if !is_granted {
            heap.cancel(bytes);
        }
        is_granted
    }

    /// Calls `make` to create a dedicated driver allocation, and [counts](Self::note_allocation) it, if the limits
    /// [allow](Self::allows) it and it is at most the device's largest heap. Concurrent callers cannot exceed a limit
    /// together.
    ///
    /// # Errors
    /// A shortage, or the error of `make`.
    pub fn make_alone<T, E: HeapDeviceError>(
        &self,
        memory: MemoryTypeId,
        bytes: u64,
        round: Round,
        budget: impl FnOnce() -> Vec<HeapBudget>,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if bytes > self.max_heap_size || !self.reserve(memory, bytes, round, budget) {
            return Err(E::not_granted(bytes, memory));
        }
        self.make_reserved(memory, bytes, make)
    }

    /// Calls `make` to create a block of the first of the `sizes` that the limits allow and the driver accepts, and
    /// [counts](Self::note_allocation) it. Concurrent callers cannot exceed a limit together.
    ///
    /// # Errors
    /// The last shortage, or the first error of another kind.
    pub fn make_block<T, E: HeapDeviceError>(
        &self,
        memory: MemoryTypeId,
        sizes: impl Iterator<Item = u64>,
        round: Round,
        budget: impl Fn() -> Vec<HeapBudget>,
        mut make: impl FnMut(u64) -> Result<T, E>,
    ) -> Result<(T, u64), E> {
        // The error if no size is allowed.
        let mut refusal = None;
        for size in sizes {
            if !self.reserve(memory, size, round, &budget) {
                refusal.get_or_insert_with(|| E::not_granted(size, memory));
                continue;
            }
            match self.make_reserved(memory, size, || make(size)) {
                Ok(block) => return Ok((block, size)),
                Err(error) if error.is_shortage() => refusal = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(refusal.unwrap_or_else(|| E::not_granted(0, memory)))
    }

    /// Creates an object for reserved bytes, and cancels the reservation after a failure or panic.
    fn make_reserved<T, E>(
        &self,
        memory: MemoryTypeId,
        bytes: u64,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        // Also runs after a panic of the device.
        let reserved = OnDrop(|| {
            if let Some((_, heap)) = self.heap(memory) {
                heap.cancel(bytes);
            }
        });
        let made = make()?;
        std::mem::forget(reserved);
        Ok(made)
    }
}

/// Calls a function when dropped, also during a panic.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{BlockShape, MemoryFlags, MemoryHeap, MemoryType};

    const MEMORY: MemoryTypeId = MemoryTypeId(0);

    fn limits() -> MemoryLimits {
        MemoryLimits::new(&HeapProperties {
            memory_types: vec![MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 }],
            memory_heaps: vec![MemoryHeap { size: 10_000, device_local: true }],
            heap_alignment: 1,
            msaa_heap_alignment: 1,
            non_coherent_atom: 1,
            max_allocations: 64,
            max_heap_size: 5000,
        })
    }

    #[test]
    fn budgets_are_queried_only_when_they_may_matter() {
        let (limits, usage, asked) = (limits(), Cell::new(0), Cell::new(0));
        let budget = || {
            asked.set(asked.get() + 1);
            vec![HeapBudget { budget: 1600, usage: usage.get() }]
        };
        let take = |bytes| {
            let is_allowed = limits.allows(MEMORY, bytes, Round::WithinBudget, budget);
            if is_allowed {
                limits.note_allocation(MEMORY, bytes);
                usage.set(usage.get() + bytes);
            }
            is_allowed
        };
        assert!((0..20).all(|_| take(10)));
        assert_eq!(asked.get(), 1, "an eighth of 1600");
        assert!(take(10));
        assert_eq!(asked.get(), 2);
        assert!(!take(1391), "1390 are left");
        assert!(take(1390));
        assert!(!take(1), "nothing is left");
        limits.note_release(MEMORY, 1390);
        usage.set(210);
        assert!(take(100), "released bytes count as soon as they matter");
        let before = asked.get();
        limits.expire_budgets();
        assert!(take(1));
        assert_eq!(asked.get(), before + 1);
    }

    /// Memory is evicted after the budget has shrunk, so the earlier budget must not be used afterwards.
    #[test]
    fn the_budget_is_queried_again_after_an_eviction() {
        let (limits, granted) = (limits(), Cell::new(9000));
        let budget = || vec![HeapBudget { budget: granted.get(), usage: limits.taken(0) }];
        assert!(limits.allows(MEMORY, 500, Round::WithinBudget, budget));
        limits.note_allocation(MEMORY, 500);
        granted.set(100);
        limits.note_evicted(MEMORY, 500);
        assert!(!limits.allows(MEMORY, 200, Round::WithinBudget, budget), "only 100 are granted now");
        assert!(limits.allows(MEMORY, 100, Round::WithinBudget, budget));
    }

    /// Concurrent callers cannot exceed the cap or the budget together, and a failed request leaves no
    /// reservation.
    #[test]
    fn concurrent_requests_exceed_no_limit() {
        use std::sync::atomic::{AtomicU64, Ordering};

        use crate::HeapError;

        let (cap, granted) = (700, 1000);
        for round in [Round::WhateverBudget, Round::WithinBudget] {
            let limits = limits();
            if round == Round::WhateverBudget {
                limits.set_cap(0, Some(cap));
            }
            let most = if round == Round::WhateverBudget { cap } else { granted };
            let (usage, peak) = (AtomicU64::new(0), AtomicU64::new(0));
            let at_once = std::sync::Barrier::new(8);
            // As in a driver: allocated bytes are in the reported usage.
            let budget = || vec![HeapBudget { budget: granted, usage: usage.load(Ordering::SeqCst) }];
            let work = &|thread: u64| {
                for step in 0..400 {
                    let bytes = 60 + (thread * 7 + step * 13) % 90;
                    at_once.wait();
                    let make = || {
                        if step % 5 == 0 {
                            return Err(HeapError::OutOfMemory { requested: bytes, memory: MEMORY });
                        }
                        peak.fetch_max(usage.fetch_add(bytes, Ordering::SeqCst) + bytes, Ordering::SeqCst);
                        std::thread::yield_now();
                        limits.note_allocation(MEMORY, bytes);
                        Ok(())
                    };
                    if limits.make_alone(MEMORY, bytes, round, budget, make).is_ok() {
                        std::thread::yield_now();
                        usage.fetch_sub(bytes, Ordering::SeqCst);
                        limits.note_release(MEMORY, bytes);
                    }
                }
            };
            std::thread::scope(|scope| {
                (0..8).for_each(|thread| {
                    scope.spawn(move || work(thread));
                });
            });
            let peak = peak.into_inner();
            assert!(peak <= most && peak > most / 2, "{peak} of {most}, {round:?}");
            assert_eq!((limits.taken(0), limits.memory().now(), limits.allocations()), (0, 0, 0));
            limits.expire_budgets();
            assert!(limits.allows(MEMORY, most, round, budget), "failed requests leave no reservation");
            assert!(!limits.allows(MEMORY, most + 1, round, budget));
        }
    }

    #[test]
    fn an_unknown_budget_grants_everything() {
        for answer in [vec![], vec![HeapBudget { budget: 0, usage: 77 }]] {
            let limits = limits();
            for _ in 0..100 {
                assert!(limits.allows(MEMORY, 10_000, Round::WithinBudget, || answer.clone()));
                limits.note_allocation(MEMORY, 10_000);
            }
            assert!(!limits.allows(MEMORY, 10_001, Round::WithinBudget, || answer.clone()));
        }
        assert!(!limits().allows(MemoryTypeId(1), 1, Round::WhateverBudget, Vec::new), "no such type");
    }

    #[test]
    fn blocks_become_larger_near_the_limit_on_allocations() {
        let limits = limits();
        let growth = Growth {
            min: 100,
            max: 1000,
            limit: 5000,
            divisor: 16,
            alignment: 1,
            shape: BlockShape::Multiple,
            halvings: 3,
        };
        let sizes = |growth: Growth| (growth.min, growth.max);
        assert_eq!(sizes(limits.scale(growth)), (100, 1000));
        (0..8).for_each(|_| limits.note_allocation(MEMORY, 1));
        assert_eq!(sizes(limits.scale(growth)), (200, 2000));
        (0..40).for_each(|_| limits.note_allocation(MEMORY, 1));
        assert!(!limits.is_near_max_allocations());
        limits.note_allocation(MEMORY, 1);
        assert!(limits.is_near_max_allocations());
        assert_eq!(sizes(limits.scale(growth)), (5000, 5000));
    }
}

/// Every interleaving of two concurrent requests to the driver.
#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU64, Ordering};
    use loom::thread;

    use super::*;
    use crate::{HeapError, MemoryFlags, MemoryHeap, MemoryType};

    const MEMORY: MemoryTypeId = MemoryTypeId(0);
    /// The bytes requested by each thread: the limit allows one request, but not both.
    const BYTES: u64 = 60;
    const MOST: u64 = 100;

    fn limits() -> MemoryLimits {
        MemoryLimits::new(&HeapProperties {
            memory_types: vec![MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 }],
            memory_heaps: vec![MemoryHeap { size: 1000, device_local: true }],
            heap_alignment: 1,
            msaa_heap_alignment: 1,
            non_coherent_atom: 1,
            max_allocations: 64,
            max_heap_size: 1000,
        })
    }

    /// Two threads request memory in a round; the driver refuses one of them if `refuses`. Returns the number of
    /// successes.
    fn ask_at_once(limits: MemoryLimits, round: Round, refuses: bool) -> u64 {
        let (limits, usage) = (Arc::new(limits), Arc::new(AtomicU64::new(0)));
        let asker = |is_refused: bool| {
            let (limits, usage) = (limits.clone(), usage.clone());
            move || {
                // As in a driver: an allocation is in the reported usage before it is counted.
                let budget = || vec![HeapBudget { budget: MOST, usage: usage.load(Ordering::SeqCst) }];
                let make = || {
                    if is_refused {
                        return Err(HeapError::OutOfMemory { requested: BYTES, memory: MEMORY });
                    }
                    usage.fetch_add(BYTES, Ordering::SeqCst);
                    limits.note_allocation(MEMORY, BYTES);
                    Ok(())
                };
                u64::from(limits.make_alone(MEMORY, BYTES, round, budget, make).is_ok())
            }
        };
        let other = thread::spawn(asker(refuses));
        let given = asker(false)() + other.join().unwrap();
        assert_eq!(limits.taken(0), given * BYTES, "failed requests leave no reservation");
        assert!(usage.load(Ordering::SeqCst) <= MOST);
        given
    }

    #[test]
    fn two_threads_never_exceed_a_cap() {
        for refuses in [false, true] {
            loom::model(move || {
                let limits = limits();
                limits.set_cap(0, Some(MOST));
                let given = ask_at_once(limits, Round::WhateverBudget, refuses);
                assert!(given == 1 || refuses, "one of the two succeeds");
            });
        }
    }

    /// At most three preemptions: all interleavings take minutes.
    #[test]
    fn two_threads_never_exceed_a_budget() {
        for refuses in [false, true] {
            let mut builder = loom::model::Builder::new();
            builder.preemption_bound = Some(3);
            builder.check(move || {
                ask_at_once(limits(), Round::WithinBudget, refuses);
            });
        }
    }
}
