//! A small number for each thread, which distributes threads over shards.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The number of the current thread: consecutive from 0 in the order of first use.
#[inline]
pub fn current() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local!(static SLOT: usize = NEXT.fetch_add(1, Ordering::Relaxed));
    // A terminating thread no longer has a number; any number is valid.
    SLOT.try_with(|slot| *slot).unwrap_or(0)
}
