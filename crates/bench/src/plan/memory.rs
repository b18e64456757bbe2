//! How much memory planning takes at its peak, beyond the items themselves.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use tenure_plan::{Options, plan};

use super::measure::table;
use super::sources::{Lifetimes, random};

/// The system's allocator, which counts while it is told to.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;
/// All that is allocated otherwise costs this one look.
static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);

/// Notes that one block of `new` bytes takes the place of one of `old` bytes.
fn note(new: usize, old: usize) {
    if IS_COUNTING.load(Ordering::Relaxed) {
        let change = new.cast_signed().wrapping_sub(old.cast_signed());
        let live = LIVE.fetch_add(change, Ordering::Relaxed).wrapping_add(change);
        PEAK.fetch_max(live, Ordering::Relaxed);
    }
}

// SAFETY: every call goes on to the system's allocator as it is, which keeps the contract; counting
// neither allocates nor touches the memory.
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

/// The most bytes that `run` had allocated at once, and what it returned. One at a time.
fn peak_of<T>(run: impl FnOnce() -> T) -> (usize, T) {
    LIVE.store(0, Ordering::Relaxed);
    PEAK.store(0, Ordering::Relaxed);
    IS_COUNTING.store(true, Ordering::Relaxed);
    let outcome = black_box(run());
    IS_COUNTING.store(false, Ordering::Relaxed);
    (PEAK.load(Ordering::Relaxed).unsigned_abs(), outcome)
}

pub(super) fn report(with_million: bool) -> String {
    let mut counts = vec![2_000, 10_000, 100_000];
    if with_million {
        counts.push(1_000_000);
    }
    let mut rows = Vec::new();
    for lifetimes in [Lifetimes::Short, Lifetimes::Uniform, Lifetimes::Mixed] {
        for &count in &counts {
            rows.push(of(lifetimes, count));
        }
    }
    let header = ["lifetimes", "items", "one pass, MiB", "bytes an item", "by default, MiB", "bytes an item"];
    format!("Memory at its peak, beyond the items themselves.\n\n{}\n", table(&header, rows))
}

fn of(lifetimes: Lifetimes, count: u64) -> Vec<String> {
    let items = random(lifetimes, count, 0);
    let cells = [Options::new().nodes(0), Options::new()].map(|options| {
        let (bytes, plan) = peak_of(|| plan(&items, &options));
        assert!(plan.is_ok(), "the items can be planned");
        [format!("{:.2}", bytes as f64 / f64::from(1 << 20)), format!("{:.0}", bytes as f64 / count as f64)]
    });
    let name = format!("{lifetimes:?}").to_lowercase();
    [name, count.to_string()].into_iter().chain(cells.into_iter().flatten()).collect()
}
