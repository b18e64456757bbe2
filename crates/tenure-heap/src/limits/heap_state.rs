//! What is known of one memory heap: its budget, the program's cap, and what was taken of it.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicI64, AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::HeapBudget;

/// A new budget is asked for when the part of the last one's free bytes that was taken since is larger than one
/// in so many.
const HEADROOM_PARTS: i64 = 8;

/// The free bytes of a budget that nobody knows, and the most that are counted of any other.
const UNKNOWN: i64 = i64::MAX / 2;

/// Bytes to compare with those that are granted.
fn counted(bytes: u64) -> i64 {
    i64::try_from(bytes).map_or(UNKNOWN, |bytes| bytes.min(UNKNOWN))
}

/// What is known of one memory heap.
///
/// Bytes are reserved before the driver is asked for them, so that threads that ask at once exceed nothing together.
/// Reserved bytes have no owner: what the driver gives takes the place of any.
#[derive(Debug)]
pub(super) struct HeapState {
    /// Bytes.
    size: u64,
    /// Bytes that were ever reserved or taken. What was given back since, or was reserved in vain, is in it as well, so
    /// that what is still granted is never too much.
    ever: AtomicI64,
    /// What [`ever`](Self::ever) may come to before the budget is exceeded, as the operating system said last.
    granted: AtomicI64,
    /// The operating system is asked again when it comes to more than this.
    refresh_above: AtomicI64,
    /// Bytes taken from the driver, and reserved.
    taken: AtomicU64,
    /// Of these, the bytes that are reserved, and not yet given by the driver.
    reserved: AtomicU64,
    /// The most that may be taken.
    cap: AtomicU64,
}

/// What was ever taken when the operating system was about to be asked, but for what it may not know of.
#[derive(Clone, Copy)]
pub(super) struct Before(i64);

impl HeapState {
    pub(super) fn new(size: u64) -> Self {
        Self {
            size,
            ever: AtomicI64::new(0),
            granted: AtomicI64::new(0),
            refresh_above: AtomicI64::new(i64::MIN),
            taken: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
            cap: AtomicU64::new(u64::MAX),
        }
    }

    pub(super) fn before(&self) -> Before {
        // In this order: whatever is in the first is in the second, or the driver has given it.
        let ever = self.ever.load(Ordering::Acquire);
        Before(ever.saturating_sub(counted(self.reserved.load(Ordering::Acquire))))
    }

    pub(super) fn refresh(&self, Before(ever): Before, budget: HeapBudget) {
        let is_known = budget.budget != 0;
        let (free, until) = if is_known {
            let free = counted(budget.budget.saturating_sub(budget.usage))
                - counted(budget.usage.saturating_sub(budget.budget));
            (free, free.max(0) / HEADROOM_PARTS)
        } else {
            (UNKNOWN, UNKNOWN / 2)
        };
        self.granted.store(ever.saturating_add(free), Ordering::Relaxed);
        self.refresh_above.store(ever.saturating_add(until), Ordering::Relaxed);
    }

    /// Whether what was ever taken may come to so many bytes, as far as is known. `None`: the operating system has to
    /// be asked.
    pub(super) fn grants(&self, ever: i64) -> Option<bool> {
        (ever <= self.refresh_above.load(Ordering::Relaxed)).then(|| self.grants_now(ever))
    }

    /// After a refresh.
    pub(super) fn grants_now(&self, ever: i64) -> bool {
        ever <= self.granted.load(Ordering::Relaxed)
    }

    /// What was ever taken, with so many bytes more.
    pub(super) fn ever_with(&self, bytes: u64) -> i64 {
        self.ever.load(Ordering::Relaxed).saturating_add(counted(bytes))
    }

    /// Whether the heap is so large.
    pub(super) const fn has(&self, bytes: u64) -> bool {
        bytes <= self.size
    }

    /// Whether so many bytes more are within the heap and the program's cap.
    pub(super) fn leaves(&self, bytes: u64) -> bool {
        self.has(bytes) && self.within_cap(self.taken(), bytes).is_some()
    }

    /// Bytes that are taken, or reserved.
    pub(super) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// The program's cap.
    pub(super) fn cap(&self) -> Option<u64> {
        let cap = self.cap.load(Ordering::Relaxed);
        (cap != u64::MAX).then_some(cap)
    }

    pub(super) fn set_cap(&self, bytes: Option<u64>) {
        self.cap.store(bytes.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// The operating system is asked before more is taken.
    pub(super) fn expire_budget(&self) {
        self.refresh_above.store(i64::MIN, Ordering::Relaxed);
    }

    /// What may be taken in all, with so many bytes more: `None` beyond the program's cap.
    fn within_cap(&self, taken: u64, bytes: u64) -> Option<u64> {
        taken.checked_add(bytes).filter(|taken| *taken <= self.cap.load(Ordering::Relaxed))
    }

    /// Adds to what was ever taken; what it comes to.
    fn note_ever(&self, bytes: u64) -> i64 {
        let with = |ever: i64| ever.saturating_add(counted(bytes));
        // Never refused: there is always a new value.
        let before = self.ever.fetch_update(Ordering::AcqRel, Ordering::Acquire, |ever| Some(with(ever)));
        with(before.unwrap_or_else(|ever| ever))
    }

    /// Reserves bytes if the program's cap leaves them; what was ever taken comes to that.
    pub(super) fn reserve(&self, bytes: u64) -> Option<i64> {
        let within_cap = |taken| self.within_cap(taken, bytes);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within_cap).ok()?;
        self.reserved.fetch_add(bytes, Ordering::AcqRel);
        Some(self.note_ever(bytes))
    }

    /// Takes bytes from those that are reserved; how many of them were.
    pub(super) fn settle(&self, bytes: u64) -> u64 {
        let rest = |reserved: u64| Some(reserved.saturating_sub(bytes));
        let before = self.reserved.fetch_update(Ordering::AcqRel, Ordering::Acquire, rest);
        before.unwrap_or_else(|reserved| reserved).min(bytes)
    }

    /// Gives up what was reserved.
    pub(super) fn cancel(&self, bytes: u64) {
        self.taken.fetch_sub(self.settle(bytes), Ordering::Relaxed);
    }

    pub(super) fn give_back(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn take(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        self.note_ever(bytes);
    }
}
