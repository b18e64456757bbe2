//! Other planners, written anew from what is published about them.

mod climb;
mod gaps;
mod online;
mod orders;

use tenure_plan::Item;

use gaps::Fit;
pub use online::{HEAP_UNITS, Heaps};

/// A planner: a name, and the peak that it needs for some items.
#[derive(Clone, Copy)]
pub struct Peer {
    /// What it is called.
    pub name: &'static str,
    /// The peak for these items.
    pub peak: fn(&[Item]) -> u64,
    /// Whether it places items: the others only count.
    pub is_planner: bool,
}

/// All of them. Those that have heaps have heaps of 128 MiB, in units of 64 KiB.
#[must_use]
pub fn all() -> Vec<Peer> {
    let peer = |name, peak, is_planner| Peer { name, peak, is_planner };
    vec![
        peer("no aliasing", online::no_aliasing, false),
        peer("pool of equal sizes", online::equal_sizes, false),
        peer("online first fit, 128 MiB heaps, committed", |items| Heaps::of(items).committed, false),
        peer("online first fit, high-water marks", |items| Heaps::of(items).high_water, false),
        peer("size-descending, best fit", |items| orders::peak(items, orders::Key::Size, Fit::Best), true),
        peer("size-descending, first gap", |items| orders::peak(items, orders::Key::Size, Fit::First), true),
        peer("best fit in two orders", |items| orders::best(items, &orders::TWO), true),
        peer("best fit in six orders", |items| orders::best(items, &orders::ALL), true),
        peer("hill climb over orders, 500 steps", climb::peak, true),
    ]
}
