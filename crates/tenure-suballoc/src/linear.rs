//! The linear suballocator: a counter that only increases.

use crate::suballocator::{align_up, check_request};

/// Allocates consecutive ranges and frees all of them at once.
///
/// It is the fastest and wastes only alignment padding; its downside is that allocations cannot be freed
/// individually. Suitable for objects that are released together: a frame's constants, a loaded level.
///
/// # Algorithm
/// A cursor moves from the start to the end of the range. An allocation rounds the cursor up to the
/// alignment and adds the size; [`reset`](Self::reset) moves it back to the start.
///
/// # Efficiency
/// Everything is O(1), in a few instructions; 24 bytes of state.
///
/// # Origin
/// Folklore, known as arena, bump or region allocation (Hanson, *Fast Allocation and Deallocation
/// of Memory Based on Object Lifetimes*, 1990).
///
/// ```
/// use tenure_suballoc::Linear;
///
/// let mut page = Linear::new(64 * 1024);
/// assert_eq!(page.allocate(100, 256), Some(0));
/// assert_eq!(page.allocate(100, 256), Some(256));
/// assert_eq!(page.used(), 356);
/// page.reset();
/// assert_eq!(page.allocate(65_537, 1), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Linear {
    start: u64,
    cursor: u64,
    end: u64,
}

impl Linear {
    /// Manages `0..capacity`.
    #[must_use]
    pub const fn new(capacity: u64) -> Self {
        Self::with_start(0, capacity)
    }

    /// Manages `start..start + capacity` (limited to `u64::MAX`): the offsets begin at `start` and have
    /// absolute alignment, not relative to it.
    #[must_use]
    pub const fn with_start(start: u64, capacity: u64) -> Self {
        Self { start, cursor: start, end: start.saturating_add(capacity) }
    }

    /// Allocates `size` bytes at a multiple of `align` and returns the offset.
    ///
    /// `None`, with the state unchanged, if it does not fit, if `size` is zero or if `align` is not a power of
    /// two.
    #[inline]
    pub fn allocate(&mut self, size: u64, align: u64) -> Option<u64> {
        check_request(size, align).ok()?;
        let offset = align_up(self.cursor, align)?;
        let cursor = offset.checked_add(size)?;
        if cursor > self.end {
            return None;
        }
        self.cursor = cursor;
        Some(offset)
    }

    /// Frees everything.
    pub const fn reset(&mut self) {
        self.cursor = self.start;
    }

    /// Bytes taken, alignment padding included.
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.cursor - self.start
    }

    /// Bytes managed.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.end - self.start
    }

    /// Bytes left. They are one range, so this is also the largest free one.
    #[must_use]
    pub const fn free_bytes(&self) -> u64 {
        self.end - self.cursor
    }

    /// The first offset managed.
    #[must_use]
    pub const fn start(&self) -> u64 {
        self.start
    }
}
