//! Bytes taken, and their peak.

#[cfg(all(test, loom))]
use loom::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(all(test, loom)))]
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes taken from the driver, and their peak. Every change is O(1); any thread may call.
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
    /// Adds bytes taken.
    pub fn add(&self, bytes: u64) {
        // Wraps if a device reports more than 2⁶⁴ B, and is correct again after they are freed.
        let now = self.now.fetch_add(bytes, Ordering::Relaxed).wrapping_add(bytes);
        self.peak.fetch_max(now, Ordering::Relaxed);
    }

    /// Subtracts freed bytes.
    pub fn remove(&self, bytes: u64) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Current bytes.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// The peak in bytes.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }

    /// Whether `bytes` more would set a new peak.
    #[must_use]
    pub fn is_peak(&self, bytes: u64) -> bool {
        self.over_peak(bytes) > 0
    }

    /// The bytes by which `bytes` more would exceed the peak.
    #[must_use]
    pub fn over_peak(&self, bytes: u64) -> u64 {
        self.now().saturating_add(bytes).saturating_sub(self.peak())
    }
}
