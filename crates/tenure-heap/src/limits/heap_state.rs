//! The state of one memory heap: its budget, the program's cap, and the bytes taken.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicI64, AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::HeapBudget;

/// The budget is queried again after the free bytes divided by this number were taken.
const HEADROOM_PARTS: i64 = 8;

/// The free bytes of an unknown budget, and the maximum for any other.
const UNKNOWN: i64 = i64::MAX / 2;

/// Converts bytes for comparison with a budget.
fn counted(bytes: u64) -> i64 {
    i64::try_from(bytes).map_or(UNKNOWN, |bytes| bytes.min(UNKNOWN))
}

/// The state of one memory heap.
///
/// Bytes are reserved before the driver is called, so that concurrent callers cannot exceed a limit together.
/// Reserved bytes have no owner: an allocation settles any of them.
#[derive(Debug)]
pub(super) struct HeapState {
    /// Bytes.
    size: u64,
    /// Cumulative bytes reserved or taken. Freed bytes and cancelled reservations are not subtracted, so that the
    /// remaining budget is never overestimated.
    ever: AtomicI64,
    /// The value of [`ever`](Self::ever) at which the last queried budget is used up.
    granted: AtomicI64,
    /// The value of `ever` above which the operating system is queried again.
    refresh_above: AtomicI64,
    /// Bytes taken from the driver, including reserved bytes.
    taken: AtomicU64,
    /// The part of `taken` that is reserved, but not yet allocated by the driver.
    reserved: AtomicU64,
    /// The maximum of `taken`.
    cap: AtomicU64,
}

/// The value of `ever` before a query of the operating system, without bytes that the result may not include.
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
        // In this order: a reservation counted in the first is also in the second, or was settled by an allocation.
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

    /// Whether the cumulative count may reach `ever`, according to the last query; `None` if a new query is needed.
    pub(super) fn grants(&self, ever: i64) -> Option<bool> {
        (ever <= self.refresh_above.load(Ordering::Relaxed)).then(|| self.grants_now(ever))
    }

    /// Like [`grants`](Self::grants), immediately after a query.
    pub(super) fn grants_now(&self, ever: i64) -> bool {
        ever <= self.granted.load(Ordering::Relaxed)
    }

    /// The cumulative count with `bytes` more.
    pub(super) fn ever_with(&self, bytes: u64) -> i64 {
        self.ever.load(Ordering::Relaxed).saturating_add(counted(bytes))
    }

    /// Whether the heap has at least `bytes` bytes, free or not.
    pub(super) const fn has(&self, bytes: u64) -> bool {
        bytes <= self.size
    }

    /// Whether `bytes` more are within the heap and the program's cap.
    pub(super) fn leaves(&self, bytes: u64) -> bool {
        self.has(bytes) && self.within_cap(self.taken(), bytes).is_some()
    }

    /// Bytes taken or reserved.
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

    /// Requires a query before further bytes are taken.
    pub(super) fn expire_budget(&self) {
        self.refresh_above.store(i64::MIN, Ordering::Relaxed);
    }

    /// The bytes taken including `bytes` more; `None` above the program's cap.
    fn within_cap(&self, taken: u64, bytes: u64) -> Option<u64> {
        taken.checked_add(bytes).filter(|taken| *taken <= self.cap.load(Ordering::Relaxed))
    }

    /// Adds to the cumulative count, and returns it.
    fn note_ever(&self, bytes: u64) -> i64 {
        let with = |ever: i64| ever.saturating_add(counted(bytes));
        // Cannot fail: the closure always returns a value.
        let before = self.ever.fetch_update(Ordering::AcqRel, Ordering::Acquire, |ever| Some(with(ever)));
        with(before.unwrap_or_else(|ever| ever))
    }

    /// Reserves bytes if the program's cap allows it. Returns the new cumulative count.
    pub(super) fn reserve(&self, bytes: u64) -> Option<i64> {
        let within_cap = |taken| self.within_cap(taken, bytes);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within_cap).ok()?;
        self.reserved.fetch_add(bytes, Ordering::AcqRel);
        Some(self.note_ever(bytes))
    }

    /// Turns reserved bytes into taken ones. Returns the number of reserved bytes.
    pub(super) fn settle(&self, bytes: u64) -> u64 {
        let rest = |reserved: u64| Some(reserved.saturating_sub(bytes));
        let before = self.reserved.fetch_update(Ordering::AcqRel, Ordering::Acquire, rest);
        before.unwrap_or_else(|reserved| reserved).min(bytes)
    }

    /// Cancels a reservation.
    pub(super) fn cancel(&self, bytes: u64) {
        self.taken.fetch_sub(self.settle(bytes), Ordering::Relaxed);
    }

    pub(super) fn release(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn take(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
        self.note_ever(bytes);
    }
}
