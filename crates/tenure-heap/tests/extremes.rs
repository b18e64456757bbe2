//! Extreme values of devices and requests: nothing may panic or be lost.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_heap::{
    BlockShape, CompactionBudget, Growth, HeapBudget, HeapCategory, HeapDesc, HeapDevice, HeapError,
    HeapPools, HeapPoolsConfig, HeapProperties, MemoryError, MemoryFlags, MemoryHeap, MemoryLimits,
    MemoryRequest, MemoryType, MemoryTypeId, Pool, Round,
};
use tenure_suballoc::GeneralBlocks;

const MEMORY: MemoryTypeId = MemoryTypeId(0);

/// A device whose heaps are numbers; it tracks the live ones.
struct Card {
    properties: HeapProperties,
    live: RefCell<Vec<u64>>,
    made: Cell<u64>,
    /// The number of calls until one panics.
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
fn budgets_of_every_size_grant_exact_bytes() {
    let numbers = [0, 1, 1000, i64::MAX as u64, 1 << 63, u64::MAX];
    for (budget, usage, bytes) in
        numbers.iter().flat_map(|b| numbers.iter().flat_map(move |u| numbers.map(|n| (*b, *u, n))))
    {
        let limits = MemoryLimits::new(&properties(u64::MAX));
        let budget = HeapBudget { budget, usage };
        let is_allowed = || limits.allows(MEMORY, bytes, Round::WithinBudget, || vec![budget]);
        // Above 2⁶² B single bytes are not distinguished.
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
fn heaps_whose_total_overflows_are_counted() {
    let absurd =
        HeapProperties { heap_alignment: 1 << 63, msaa_heap_alignment: 1 << 63, ..properties(u64::MAX) };
    let card = Card::new(absurd);
    let mut pools = HeapPools::new(&card, HeapPoolsConfig::default()).expect("valid");
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
fn a_panicking_caller_loses_no_heap() {
    // A range of a block, and a dedicated heap.
    for size in [100, 1 << 30] {
        let card = Card::new(properties(8 << 30));
        let mut pools = HeapPools::new(&card, HeapPoolsConfig::default()).expect("valid");
        for _ in 0..2 {
            let caught =
                catch_unwind(AssertUnwindSafe(|| pools.allocate(request(size), |_| panic!("inspected"))));
            assert!(caught.is_err());
        }
        let (live, totals) = (pools.live(), pools.totals());
        assert_eq!((live.len(), totals.allocations, totals.requested), (2, 2, 2 * size));
        drop(pools);
        assert!(card.live.borrow().is_empty(), "all heaps are freed");
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
fn ranges_of_other_pools_give_wrong_totals_without_a_panic() {
    let mut pool = Pool::new(GeneralBlocks::new(16).expect("a power of two"), u32::MAX);
    let first = pool.add_and_allocate((), 1 << 20, 100, 1, &mut Vec::new()).expect("there is room").handle;
    let lent = pool.lend(200, 512).expect("there is room").handle;
    pool.free(lent, u64::MAX).expect("it lives");
    assert!(pool.used() <= pool.taken());
    pool.free_lent(first).expect("it lives");
    assert!(pool.free_lent(first).is_err());
    assert_eq!(pool.totals().used, 0);
}

/// If any call of the device panics, every heap is eventually freed, and nothing stays reserved.
#[test]
fn a_panicking_device_loses_nothing() {
    for panics_at in 1..30 {
        let card = Card::new(properties(64 << 20));
        let mut pools = HeapPools::new(&card, HeapPoolsConfig::default()).expect("valid");
        card.panics_at.set(panics_at);
        let mut live = Vec::new();
        for round in 0..30_u64 {
            // Every third range has a dedicated heap.
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
        // No bytes of the heap count as taken.
        let (whole, ()) = pools.allocate(request(60 << 20), |_| ()).expect("the whole heap is free");
        pools.free(&whole).expect("it lives");
        drop(pools);
        assert!(card.live.borrow().is_empty(), "{panics_at}: {:?}", card.live);
    }
}

/// If any destruction panics while the pools are dropped, every heap is freed, and the panic does not propagate.
#[test]
fn a_device_that_panics_in_the_drop_loses_nothing() {
    for panics_at in 1..5 {
        let card = Card::new(properties(1 << 30));
        let mut pools = HeapPools::new(&card, HeapPoolsConfig::default()).expect("valid");
        for size in [200 << 20, 200 << 20, 200 << 20, 100] {
            pools.allocate(request(size), |_| ()).expect("there is room");
        }
        assert_eq!(card.live.borrow().len(), 4);
        card.panics_at.set(panics_at);
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(pools)));
        assert!(dropped.is_ok(), "{panics_at}");
        assert!(card.live.borrow().is_empty(), "{panics_at}: {:?}", card.live);
    }
}

/// A new block replaces an empty one that is too small, and the destruction of that one panics: the allocated range
/// is freed again.
#[test]
fn a_range_of_a_block_that_replaces_others_is_not_lost() {
    let panics = |panics_at: u64| {
        let card = Card::new(properties(8 << 30));
        let mut pools = HeapPools::new(&card, HeapPoolsConfig::default()).expect("valid");
        let allocate = |pools: &mut HeapPools<&Card>, size| {
            let (range, ()) = pools.allocate(request(size), |_| ()).expect("there is room");
            pools.free(&range).expect("it lives");
        };
        // The following requests stay below the peak, so that empty blocks are not freed before them.
        allocate(&mut pools, 60 << 20);
        pools.trim();
        allocate(&mut pools, 100);
        card.panics_at.set(panics_at);
        let caught = catch_unwind(AssertUnwindSafe(|| allocate(&mut pools, 20 << 20)));
        card.panics_at.set(0);
        let totals = pools.totals();
        assert_eq!((totals.allocations, totals.requested), (0, 0), "call {panics_at} panics");
        pools.trim();
        assert_eq!((pools.totals().reserved, pools.totals().heaps), (0, 0), "call {panics_at} panics");
        caught.is_err()
    };
    let panicked = (1..8).filter(|panics_at| panics(*panics_at)).count();
    assert!(panicked > 2, "the creation, the name, and the destruction of the empty heap");
}

/// Identities as plain values, which a caller in another language may get wrong.
#[test]
fn values_of_no_live_range_are_refused() {
    let card = Card::new(properties(8 << 30));
    let mut pools = HeapPools::new(&card, HeapPoolsConfig::default()).expect("valid");
    let mut allocate = |size| pools.allocate(request(size), |_| ()).expect("there is room").0;
    let [freed, pooled, dedicated] = [4096, 4096, 1 << 30].map(&mut allocate);
    pools.free(&freed).expect("it lives");
    assert!(dedicated.is_dedicated() && !pooled.is_dedicated());
    for range in [&pooled, &dedicated] {
        assert_eq!(pools.live_range(range.to_raw()).as_ref(), Ok(range));
    }
    let [number, ..] = pooled.to_raw();
    let mut accepted = 0;
    for key in (0..1000).chain([u64::MAX]) {
        for serial in (0..5).chain([u64::MAX]) {
            accepted += u32::from(pools.live_range([number, key, serial]).is_ok());
            assert_eq!(pools.live_range([number + 1, key, serial]), Err(MemoryError::Foreign));
        }
    }
    assert_eq!(accepted, 2);
    assert_eq!(pools.live_range(freed.to_raw()), Err(MemoryError::DoubleFree));
}

/// The caller's filter panics in a compaction, or the device panics while it destroys heaps: no range of a move is
/// lost.
#[test]
fn a_compaction_that_panics_loses_no_range() {
    // Panics of the filter and of the device.
    for (filter_at, device_at) in (0..40).map(|at| (at, 0)).chain((1..4).map(|at| (u32::MAX, at))) {
        let card = Card::new(properties(8 << 30));
        let config = HeapPoolsConfig::default().compacts(true);
        let mut pools = HeapPools::new(&card, config).expect("valid");
        // Uses two pools.
        let second = |mut request: MemoryRequest<'static>| {
            request.category = HeapCategory::Targets;
            request
        };
        let mut live = Vec::new();
        for index in 0..200 {
            let request = if index % 2 == 0 { request(100 << 10) } else { second(request(100 << 10)) };
            live.push(pools.allocate(request, |_| ()).expect("there is room").0);
        }
        for range in live.extract_if(.., |range| !range.index().is_multiple_of(7)) {
            pools.free(&range).expect("it lives");
        }
        let (asked, mut panicked) = (Cell::new(0), false);
        card.panics_at.set(device_at);
        for _ in 0..50 {
            let mut moves = Vec::new();
            let budget = CompactionBudget { bytes: 16 << 20, moves: 128, pieces: 1000 };
            let compact = || {
                let is_movable = |_: &_| {
                    assert!(asked.replace(asked.get() + 1) != filter_at, "a filter of the test");
                    true
                };
                pools.compact(budget, is_movable, &mut moves)
            };
            panicked |= catch_unwind(AssertUnwindSafe(compact)).is_err();
            for moved in moves {
                let found = live.iter_mut().find(|range| **range == moved.from).expect("it lives");
                *found = moved.to;
                let _freed = catch_unwind(AssertUnwindSafe(|| pools.free(&moved.from).expect("it lives")));
            }
        }
        card.panics_at.set(0);
        assert!(panicked || filter_at > 20, "{filter_at}, {device_at}");
        assert_eq!(pools.totals().allocations, live.len() as u64, "{filter_at}, {device_at}");
        live.iter().for_each(|range| pools.free(range).expect("it lives"));
        pools.trim();
        assert_eq!((pools.totals().reserved, pools.totals().heaps), (0, 0), "{filter_at}, {device_at}");
    }
}
