//! What the fallback chain must not exceed, and what was taken from the driver so far.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::{Growth, HeapBudget, HeapDesc, HeapDevice, HeapDeviceError, HeapProperties, MemoryTypeId, Round};

/// Bytes that are taken from the driver, and the most that ever were at once. Every change is O(1), from any
/// thread.
///
/// ```
/// let counter = tenure_heap::MemoryCounter::default();
/// counter.add(100);
/// counter.remove(60);
/// assert_eq!((counter.now(), counter.peak()), (40, 100));
/// ```
#[derive(Debug, Default)]
pub struct MemoryCounter {
    now: AtomicU64,
    peak: AtomicU64,
}

impl MemoryCounter {
    /// Counts bytes that were taken.
    pub fn add(&self, bytes: u64) {
        // Wraps where a device claims more than 2⁶⁴ B, and is right again when they are given back.
        let now = self.now.fetch_add(bytes, Ordering::Relaxed).wrapping_add(bytes);
        self.peak.fetch_max(now, Ordering::Relaxed);
    }

    /// Counts bytes that were given back.
    pub fn remove(&self, bytes: u64) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Bytes now.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// The most bytes that there ever were.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

/// A new budget is asked for when the part of the last one's free bytes that was taken since is larger than one
/// in so many.
const HEADROOM_PARTS: i64 = 8;

/// The free bytes of a budget that nobody knows, and the most that are counted of any other.
const UNKNOWN: i64 = i64::MAX / 2;

/// Bytes to compare with a headroom.
fn counted(bytes: u64) -> i64 {
    i64::try_from(bytes).map_or(UNKNOWN, |bytes| bytes.min(UNKNOWN))
}

/// What is known of one memory heap.
#[derive(Debug)]
struct HeapState {
    /// Bytes.
    size: u64,
    /// Bytes that may still be taken before the budget is exceeded: as the operating system said last, less what
    /// was taken since. What was given back since is not in it, so that it is never too many.
    headroom: AtomicI64,
    /// The operating system is asked again when the headroom is below this.
    refresh_below: AtomicI64,
    /// Bytes taken from the driver.
    taken: AtomicU64,
    /// The most that may be taken.
    cap: AtomicU64,
}

impl HeapState {
    fn new(size: u64) -> Self {
        Self {
            size,
            headroom: AtomicI64::new(0),
            refresh_below: AtomicI64::new(i64::MAX),
            taken: AtomicU64::new(0),
            cap: AtomicU64::new(u64::MAX),
        }
    }

    fn refresh(&self, budget: HeapBudget) {
        let is_known = budget.budget != 0;
        let (headroom, refresh_below) = if is_known {
            let free = counted(budget.budget.saturating_sub(budget.usage))
                - counted(budget.usage.saturating_sub(budget.budget));
            (free, free - free.max(0) / HEADROOM_PARTS)
        } else {
            (UNKNOWN, UNKNOWN / 2)
        };
        self.headroom.store(headroom, Ordering::Relaxed);
        self.refresh_below.store(refresh_below, Ordering::Relaxed);
    }

    /// Whether so many bytes are within the budget, as far as is known. `None`: the operating system has to be
    /// asked.
    fn grants(&self, bytes: u64) -> Option<bool> {
        let left = self.headroom.load(Ordering::Relaxed).saturating_sub(counted(bytes));
        (left >= self.refresh_below.load(Ordering::Relaxed)).then_some(left >= 0)
    }

    /// After a refresh.
    fn grants_now(&self, bytes: u64) -> bool {
        counted(bytes) <= self.headroom.load(Ordering::Relaxed)
    }

    /// Whether so many bytes more are within the program's cap.
    fn cap_leaves(&self, bytes: u64) -> bool {
        let with_them = self.taken.load(Ordering::Relaxed).checked_add(bytes);
        with_them.is_some_and(|taken| taken <= self.cap.load(Ordering::Relaxed))
    }

    fn take(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        let less = |headroom: i64| Some(headroom.saturating_sub(counted(bytes)));
        // Never refused: there is always a new value.
        let _ = self.headroom.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// The limits of a device's memory, and how much of them is used: bytes of each memory heap's budget, and
/// allocations.
///
/// The operating system is asked for budgets only when that may matter: when an eighth of what was free is
/// taken, when a request seems to exceed the budget, and after [`expire_budgets`](Self::expire_budgets).
///
/// Any thread may use it; every call is O(1) but for the question to the operating system.
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
/// assert!(limits.allows(memory, 1000, Round::WhateverBudget, budget), "the driver has the last word");
/// assert!(!limits.allows(memory, 1001, Round::WhateverBudget, budget), "more than there is");
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
    /// For each memory type the index of its heap.
    heap_of_type: Box<[u8]>,
    heaps: Box<[HeapState]>,
    allocations: AtomicU64,
    allocations_made: AtomicU64,
    memory: MemoryCounter,
}

impl MemoryLimits {
    /// The limits of a device from which nothing was taken.
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

    /// Counts memory that the driver gave.
    pub fn note_allocation(&self, memory: MemoryTypeId, bytes: u64) {
        self.allocations.fetch_add(1, Ordering::Relaxed);
        self.allocations_made.fetch_add(1, Ordering::Relaxed);
        self.memory.add(bytes);
        if let Some((_, heap)) = self.heap(memory) {
            heap.take(bytes);
        }
    }

    /// Counts memory that was given back to the driver.
    pub fn note_release(&self, memory: MemoryTypeId, bytes: u64) {
        self.allocations.fetch_sub(1, Ordering::Relaxed);
        self.memory.remove(bytes);
        if let Some((_, heap)) = self.heap(memory) {
            heap.taken.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    /// Memory that the program has was evicted: it takes nothing of its heap until it is resident again, and counts
    /// against no cap. It is one allocation all the same.
    ///
    /// ```
    /// use tenure_heap::{HeapProperties, MemoryHeap, MemoryLimits, MemoryType, MemoryTypeId};
    ///
    /// let properties = HeapProperties {
    ///     memory_heaps: vec![MemoryHeap { size: 1 << 30, device_local: true }],
    ///     memory_types: vec![MemoryType::default()],
    ///     ..HeapProperties::default()
    /// };
    /// let limits = MemoryLimits::new(&properties);
    /// limits.note_allocation(MemoryTypeId(0), 1 << 20);
    /// limits.note_evicted(MemoryTypeId(0), 1 << 20);
    /// assert_eq!((limits.taken(0), limits.memory().now()), (0, 1 << 20));
    /// limits.note_resident(MemoryTypeId(0), 1 << 20);
    /// assert_eq!(limits.taken(0), 1 << 20);
    /// ```
    pub fn note_evicted(&self, memory: MemoryTypeId, bytes: u64) {
        if let Some((_, heap)) = self.heap(memory) {
            heap.taken.fetch_sub(bytes, Ordering::Relaxed);
            // What was granted before is out of date.
            heap.refresh_below.store(i64::MAX, Ordering::Relaxed);
        }
    }

    /// Memory that was [evicted](Self::note_evicted) is resident again.
    pub fn note_resident(&self, memory: MemoryTypeId, bytes: u64) {
        if let Some((_, heap)) = self.heap(memory) {
            heap.take(bytes);
        }
    }

    /// Bytes that are taken of a memory heap; 0 if there is no such heap.
    #[must_use]
    pub fn taken(&self, heap: usize) -> u64 {
        self.heaps.get(heap).map_or(0, |heap| heap.taken.load(Ordering::Relaxed))
    }

    /// Sets the most bytes that may be taken of a memory heap, by its index, whatever the operating system grants;
    /// `None` for no such cap. What was taken before stays. Threads that take memory at the same moment may exceed it
    /// by a block each. False where there is no such heap.
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
        heap.cap.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
        true
    }

    /// The cap of a memory heap, by its index.
    #[must_use]
    pub fn cap(&self, heap: usize) -> Option<u64> {
        let cap = self.heaps.get(heap)?.cap.load(Ordering::Relaxed);
        (cap != u64::MAX).then_some(cap)
    }

    /// Allocations that live.
    #[must_use]
    pub fn allocations(&self) -> u64 {
        self.allocations.load(Ordering::Relaxed)
    }

    /// Allocations that were ever made.
    #[must_use]
    pub fn allocations_made(&self) -> u64 {
        self.allocations_made.load(Ordering::Relaxed)
    }

    /// Bytes of all allocations.
    #[must_use]
    pub const fn memory(&self) -> &MemoryCounter {
        &self.memory
    }

    /// Whether more than three quarters of the allocations that the device allows are in use (the limit of VMA,
    /// too): what need not have an allocation of its own had better share one.
    #[must_use]
    pub fn is_near_max_allocations(&self) -> bool {
        self.allocations().saturating_mul(4) > self.max_allocations.saturating_mul(3)
    }

    /// A pool's growth, with block sizes times 2 for each eighth of the device's allocations that is in use: the
    /// fewer the device still allows, the more each has to hold.
    #[must_use]
    pub fn scale(&self, growth: Growth) -> Growth {
        let eighths = self.allocations().saturating_mul(8) / self.max_allocations.max(1);
        let factor = 1_u64 << eighths.min(8);
        let larger = |bytes: u64| bytes.saturating_mul(factor).min(growth.limit.max(bytes));
        Growth { min: larger(growth.min), max: larger(growth.max), ..growth }
    }

    /// Takes a heap from the driver by `make`, names and counts it.
    ///
    /// # Errors
    /// The driver's.
    pub fn create_heap<D: HeapDevice>(
        &self,
        device: &D,
        desc: &HeapDesc,
        name: &str,
        make: impl FnOnce(&D, &HeapDesc) -> Result<D::Heap, D::Error>,
    ) -> Result<D::Heap, D::Error> {
        let heap = make(device, desc)?;
        device.set_name(&heap, name);
        self.note_allocation(desc.memory, desc.size);
        let (bytes, memory_type) = (desc.size, desc.memory.0);
        tracing::debug!(target: "tenure", name, bytes, memory_type, category = ?desc.category, "heap created");
        Ok(heap)
    }

    /// Gives a heap of `size` bytes of a memory type back to the driver, and counts that.
    pub fn destroy_heap<D: HeapDevice>(&self, device: &D, heap: D::Heap, memory: MemoryTypeId, size: u64) {
        device.destroy_heap(heap);
        self.note_release(memory, size);
        tracing::debug!(target: "tenure", bytes = size, "heap destroyed");
    }

    /// Asks the operating system for each budget again before it next matters. For the end of a frame or of a
    /// call: other programs take memory, too.
    pub fn expire_budgets(&self) {
        for heap in &self.heaps {
            heap.refresh_below.store(i64::MAX, Ordering::Relaxed);
        }
    }

    /// Whether so many bytes of a memory type may be asked for: never more than the memory has or the
    /// [cap](Self::set_cap) leaves, nor, in the first round, more than the operating system grants. `budget` asks it;
    /// with an empty answer everything is granted.
    pub fn allows(
        &self,
        memory: MemoryTypeId,
        bytes: u64,
        round: Round,
        budget: impl FnOnce() -> Vec<HeapBudget>,
    ) -> bool {
        let Some((_, heap)) = self.heap(memory) else { return false };
        if bytes > heap.size || !heap.cap_leaves(bytes) {
            return false;
        }
        round == Round::WhateverBudget
            || heap.grants(bytes).unwrap_or_else(|| {
                let budgets = budget();
                for (index, heap) in self.heaps.iter().enumerate() {
                    heap.refresh(budgets.get(index).copied().unwrap_or_default());
                }
                heap.grants_now(bytes)
            })
    }

    /// As [`allows`](Self::allows), for memory of its own, and no more than the device's largest heap.
    ///
    /// # Errors
    /// A shortage.
    pub fn check<E: HeapDeviceError>(
        &self,
        memory: MemoryTypeId,
        bytes: u64,
        round: Round,
        budget: impl FnOnce() -> Vec<HeapBudget>,
    ) -> Result<(), E> {
        let is_fine = bytes <= self.max_heap_size && self.allows(memory, bytes, round, budget);
        if is_fine { Ok(()) } else { Err(E::not_granted(bytes, memory)) }
    }

    /// Makes a block of the first of the `sizes` that the limits allow and the driver does not refuse.
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
        // What it comes to when no size is allowed.
        let mut refusal = None;
        for size in sizes {
            if !self.allows(memory, size, round, &budget) {
                refusal.get_or_insert_with(|| E::not_granted(size, memory));
                continue;
            }
            match make(size) {
                Ok(block) => return Ok((block, size)),
                Err(error) if error.is_shortage() => refusal = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(refusal.unwrap_or_else(|| E::not_granted(0, memory)))
    }
}

#[cfg(test)]
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
    fn budgets_are_asked_for_only_when_they_may_matter() {
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
        assert!(take(100), "what was given back counts as soon as it matters");
        let before = asked.get();
        limits.expire_budgets();
        assert!(take(1));
        assert_eq!(asked.get(), before + 1);
    }

    #[test]
    fn a_budget_that_nobody_knows_grants_everything() {
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
