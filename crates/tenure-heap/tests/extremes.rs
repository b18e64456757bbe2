//! What devices may say, and callers may ask for, that no real ones do: nothing may panic or be lost.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_heap::{
    BlockShape, Growth, HeapBudget, HeapCategory, HeapDesc, HeapDevice, HeapError, HeapPools,
    HeapPoolsConfig, HeapProperties, MemoryFlags, MemoryHeap, MemoryLimits, MemoryRequest, MemoryType,
    MemoryTypeId, Pool, Round,
};
use tenure_suballoc::GeneralBlocks;

const MEMORY: MemoryTypeId = MemoryTypeId(0);

/// A device whose heaps are numbers, of which it knows those that live.
struct Card {
    properties: HeapProperties,
    live: RefCell<Vec<u64>>,
    made: Cell<u64>,
    /// The call that panics, counted from now on.
    panics_at: Cell<u64>,
}

impl Card {
    fn new(properties: HeapProperties) -> Self {
        Self { properties, live: RefCell::default(), made: Cell::new(0), panics_at: Cell::new(0) }
    }
}

impl Card {
    fn call(&self) {
        let left = self.panics_at.get();
        self.panics_at.set(left.saturating_sub(1));
        assert!(left != 1, "a device of the test");
    }
}

impl HeapDevice for &Card {
    type Heap = u64;
    type Error = HeapError;

    fn properties(&self) -> HeapProperties {
        self.properties.clone()
    }

    fn create_heap(&self, _: &HeapDesc) -> Result<u64, HeapError> {
        self.call();
        self.made.set(self.made.get() + 1);
        self.live.borrow_mut().push(self.made.get());
        Ok(self.made.get())
    }

    fn destroy_heap(&self, heap: u64) {
        let mut live = self.live.borrow_mut();
        let found = live.iter().position(|other| *other == heap).expect("destroyed once");
        live.remove(found);
        drop(live);
        self.call();
    }

    fn set_name(&self, _: &u64, _: &str) {
        self.call();
    }
}

fn properties(size: u64) -> HeapProperties {
    HeapProperties {
        memory_types: vec![MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 }],
        memory_heaps: vec![MemoryHeap { size, device_local: true }],
        heap_alignment: 64 << 10,
        msaa_heap_alignment: 4 << 20,
        non_coherent_atom: 1,
        max_allocations: 4096,
        max_heap_size: size,
    }
}

fn request(size: u64) -> MemoryRequest<'static> {
    MemoryRequest::new(size, 1, &[MEMORY], HeapCategory::Any)
}

#[test]
fn budgets_of_every_size_say_what_they_grant() {
    let numbers = [0, 1, 1000, i64::MAX as u64, 1 << 63, u64::MAX];
    for (budget, usage, bytes) in
        numbers.iter().flat_map(|b| numbers.iter().flat_map(move |u| numbers.map(|n| (*b, *u, n))))
    {
        let limits = MemoryLimits::new(&properties(u64::MAX));
        let budget = HeapBudget { budget, usage };
        let is_allowed = || limits.allows(MEMORY, bytes, Round::WithinBudget, || vec![budget]);
        // Beyond 2⁶² B bytes are not told apart.
        if bytes < 1 << 62 || !budget.grants(bytes) {
            let is_counted = budget.budget.saturating_sub(budget.usage) < 1 << 62;
            assert_eq!(is_allowed(), budget.grants(bytes) || !is_counted, "{bytes} B of {budget:?}");
        }
        (0..4).for_each(|_| limits.note_allocation(MEMORY, bytes));
        is_allowed();
        (0..4).for_each(|_| limits.note_release(MemoryTypeId(0), bytes));
        assert_eq!((limits.memory().now(), limits.allocations()), (0, 0));
    }
}

#[test]
fn heaps_that_are_larger_than_a_number_together_are_counted() {
    let absurd =
        HeapProperties { heap_alignment: 1 << 63, msaa_heap_alignment: 1 << 63, ..properties(u64::MAX) };
    let card = Card::new(absurd);
    let mut pools = HeapPools::new(&card, HeapPoolsConfig::default()).expect("no rule is broken");
    let ranges: Vec<_> = (0..3).filter_map(|_| pools.allocate(request(1), |_| ()).ok()).collect();
    assert!(!ranges.is_empty());
    for (range, ()) in &ranges {
        pools.free(range).expect("it lives");
    }
    pools.trim();
    assert_eq!((pools.totals().reserved, pools.totals().heaps), (0, 0));
    drop(pools);
    assert!(card.live.borrow().is_empty());
}

#[test]
fn a_caller_that_panics_loses_no_heap() {
    // A range of a block, and a heap of its own.
    for size in [100, 1 << 30] {
        let card = Card::new(properties(8 << 30));
        let mut pools = HeapPools::new(&card, HeapPoolsConfig::default()).expect("no rule is broken");
        for _ in 0..2 {
            let caught =
                catch_unwind(AssertUnwindSafe(|| pools.allocate(request(size), |_| panic!("inspected"))));
            assert!(caught.is_err());
        }
        let (live, totals) = (pools.live(), pools.totals());
        assert_eq!((live.len(), totals.allocations, totals.requested), (2, 2, 2 * size));
        drop(pools);
        assert!(card.live.borrow().is_empty(), "all heaps are given back");
    }
}

#[test]
fn growth_by_any_numbers_gives_blocks_that_the_device_allows() {
    let numbers = [0, 1, 3, 64, 100, 1 << 20, 1 << 63, u64::MAX];
    let pick = |index: usize, digit: u32| numbers[index / numbers.len().pow(digit) % numbers.len()];
    for index in 0..numbers.len().pow(5) {
        for shape in [BlockShape::Multiple, BlockShape::PowerOfTwo] {
            let (min, max, limit) = (pick(index, 0), pick(index, 1), pick(index, 2));
            let (alignment, size) = (pick(index, 3), pick(index, 4));
            for halvings in [0, 3, 64, u32::MAX >> 24] {
                let growth = Growth { min, max, limit, divisor: 0, alignment, shape, halvings };
                for block in growth.sizes(size, 1, max) {
                    assert!(block <= limit && block >= size, "{block} B for {size} B by {growth:?}");
                }
            }
        }
    }
}

#[test]
fn a_pool_whose_ranges_are_mixed_up_has_wrong_totals_and_does_not_panic() {
    let mut pool = Pool::new(GeneralBlocks::new(16).expect("a power of two"), u32::MAX);
    let first = pool.add_and_allocate((), 1 << 20, 100, 1, &mut Vec::new()).expect("there is room").handle;
    let lent = pool.lend(200, 512).expect("there is room").handle;
    pool.free(lent, u64::MAX).expect("it lives");
    assert!(pool.used() <= pool.taken());
    pool.take_back(first).expect("it lives");
    assert!(pool.take_back(first).is_err());
    assert_eq!(pool.totals().used, 0);
}

/// Whichever call of the device panics: every heap is given back in the end, and nothing stays reserved.
#[test]
fn a_device_that_panics_loses_nothing() {
    for panics_at in 1..30 {
        let card = Card::new(properties(64 << 20));
        let mut pools = HeapPools::new(&card, HeapPoolsConfig::default()).expect("valid");
        card.panics_at.set(panics_at);
        let mut live = Vec::new();
        for round in 0..30_u64 {
            // Every third has a heap of its own.
            let size = if round % 3 == 0 { 40 << 20 } else { 100 << 10 };
            let made = catch_unwind(AssertUnwindSafe(|| pools.allocate(request(size), |_| ())));
            live.extend(made.ok().and_then(Result::ok).map(|(range, ())| range));
            if live.len() > 3 {
                let range = live.remove(0);
                let _freed = catch_unwind(AssertUnwindSafe(|| pools.free(&range)));
            }
            let _trimmed = catch_unwind(AssertUnwindSafe(|| pools.trim()));
        }
        let left = card.panics_at.replace(0);
        assert_eq!(left, 0, "all calls were made");
        live.iter().for_each(|range| pools.free(range).expect("it lives"));
        pools.trim();
        // Nothing of the heap is counted as taken.
        let (whole, ()) = pools.allocate(request(60 << 20), |_| ()).expect("all of it is free");
        pools.free(&whole).expect("it lives");
        drop(pools);
        assert!(card.live.borrow().is_empty(), "{panics_at}: {:?}", card.live);
    }
}
