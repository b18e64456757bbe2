//! Counting the bytes that the program allocates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};

/// The system allocator, with a counter that can be switched on.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;
/// Whether counting is on; otherwise an allocation only reads this flag.
static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// Notes that a block of `new` bytes replaces one of `old` bytes.
fn note(new: usize, old: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        let change = new.cast_signed().wrapping_sub(old.cast_signed());
        let live = LIVE.fetch_add(change, Ordering::Relaxed).wrapping_add(change);
        PEAK.fetch_max(live, Ordering::Relaxed);
        ALLOCATIONS.fetch_add(usize::from(new > 0), Ordering::Relaxed);
    }
}

// SAFETY: every call is forwarded unchanged to the system's allocator, which keeps the contract; counting
// neither allocates nor accesses the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size(), 0);
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc_zeroed`, which is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        note(0, layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc::dealloc`, which is the same.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size, layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc::realloc`, which is the same.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Bytes allocated since counting began, and their peak, while this value exists. Only one may exist at a time.
pub(crate) struct Count(());

impl Count {
    /// Begins to count, at zero.
    pub(crate) fn start() -> Self {
        LIVE.store(0, Ordering::Relaxed);
        PEAK.store(0, Ordering::Relaxed);
        ALLOCATIONS.store(0, Ordering::Relaxed);
        IS_COUNTING.store(true, Ordering::Relaxed);
        Self(())
    }

    /// Bytes allocated since the beginning and not freed.
    pub(crate) fn live(&self) -> usize {
        usize::try_from(LIVE.load(Ordering::Relaxed)).unwrap_or(0)
    }

    /// The number of allocations and reallocations.
    pub(crate) fn allocations(&self) -> usize {
        ALLOCATIONS.load(Ordering::Relaxed)
    }

    /// The most bytes so far.
    pub(crate) fn peak(&self) -> usize {
        usize::try_from(PEAK.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        IS_COUNTING.store(false, Ordering::Relaxed);
    }
}
