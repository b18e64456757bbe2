//! Indexed slots: ranges of indices.

use core::ops::Range;

use crate::general::Fit;
use crate::{AllocError, Allocation, BlockError, FreeError, General, Handle, Inconsistency, Suballocator};

/// Divides the indices `0..capacity` into ranges: descriptors in a heap, rows of a table.
///
/// Suitable for objects of one size that are allocated singly or consecutively; exactly the requested number is
/// allocated. Its downside, compared with a plain free list, is 32 bytes of metadata per range.
///
/// # Algorithm
/// A [`General`] with a granule of one index and nothing absorbed. Ranges below 256 indices have a size class
/// each, so a free range of the exact length is found if there is one.
///
/// # Efficiency
/// As for `General`: O(1).
///
/// # Origin
/// As for `General`.
///
/// ```
/// use tenure_suballoc::Slots;
///
/// let mut heap = Slots::new(1_000_000)?;
/// let table = heap.allocate(3)?;
/// assert_eq!((table.first, table.count), (0, 3));
/// assert_eq!(heap.allocate(1)?.first, 3);
/// heap.free(table.handle)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Slots {
    general: General,
}

/// An allocated range of indices: `first..first + count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRange {
    /// The first index.
    pub first: u32,
    /// The number of indices, as requested.
    pub count: u32,
    /// The handle for freeing it.
    pub handle: Handle,
}

impl From<Allocation> for SlotRange {
    /// Converts a range of an allocator whose capacity is a number of 32 bits.
    #[inline]
    fn from(range: Allocation) -> Self {
        Self { first: range.offset as u32, count: range.size as u32, handle: range.handle }
    }
}

impl Slots {
    /// Manages the indices `0..capacity`.
    ///
    /// # Errors
    /// [`BlockError`] when `capacity` is zero or above 2³¹.
    pub fn new(capacity: u32) -> Result<Self, BlockError> {
        Ok(Self { general: General::with_fit(u64::from(capacity), 1, Fit::Exact)? })
    }

    /// Allocates `count` consecutive indices. O(1).
    ///
    /// # Errors
    /// [`AllocError`], in indices instead of bytes; the state is then unchanged.
    #[inline]
    pub fn allocate(&mut self, count: u32) -> Result<SlotRange, AllocError> {
        Ok(self.general.allocate(u64::from(count), 1)?.into())
    }

    /// Frees a range and returns it as `(first, count)`. O(1).
    ///
    /// # Errors
    /// [`FreeError`] if it was already freed or belongs to another allocator; the state is unchanged then.
    #[inline]
    pub fn free(&mut self, handle: Handle) -> Result<(u32, u32), FreeError> {
        let freed = self.general.free(handle)?;
        Ok((freed.offset as u32, freed.size as u32))
    }

    /// Frees all ranges. Their handles become invalid; see [`Suballocator::clear`].
    pub fn clear(&mut self) {
        self.general.clear();
    }

    /// The range of a handle; `None` if it was freed, or belongs to another allocator. O(1).
    #[must_use]
    #[inline]
    pub fn get(&self, handle: Handle) -> Option<SlotRange> {
        self.general.get(handle).map(SlotRange::from)
    }

    /// The handle of a live range, as [`General::live_handle`]. O(1).
    ///
    /// # Errors
    /// [`FreeError`] for values that do not identify a live range of this allocator.
    #[inline]
    pub fn live_handle(&self, raw: [u64; 2]) -> Result<Handle, FreeError> {
        self.general.live_handle(raw)
    }

    /// The allocated ranges, in order of their indices. O(1) per range, allocated or free.
    ///
    /// ```
    /// use tenure_suballoc::Slots;
    ///
    /// let mut heap = Slots::new(100)?;
    /// let [first, second] = [3, 1].map(|count| heap.allocate(count).unwrap());
    /// heap.free(first.handle)?;
    /// assert!(heap.allocations().eq([second]));
    /// assert!(heap.holes().eq([0..3, 4..100]));
    /// heap.clear();
    /// assert_eq!(heap.get(second.handle), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn allocations(&self) -> impl Iterator<Item = SlotRange> {
        self.general.allocations().map(SlotRange::from)
    }

    /// The free ranges, in order of their indices. O(1) per range, allocated or free.
    pub fn holes(&self) -> impl Iterator<Item = Range<u32>> {
        self.general.holes().map(|hole| hole.start as u32..hole.end as u32)
    }

    /// Allocates the metadata of `ranges` more, so that they need no memory later.
    pub fn reserve(&mut self, ranges: usize) {
        self.general.reserve(ranges);
    }

    /// Frees unused metadata; see [`General::trim`].
    pub fn trim(&mut self) {
        self.general.trim();
    }

    /// Indices managed.
    #[must_use]
    pub fn capacity(&self) -> u32 {
        self.general.capacity() as u32
    }

    /// Total number of free indices. O(1).
    #[must_use]
    pub fn free_count(&self) -> u32 {
        self.general.free_bytes() as u32
    }

    /// The longest free range. The cost is that of [`General`]'s `largest_free`.
    #[must_use]
    pub fn largest_free(&self) -> u32 {
        self.general.largest_free() as u32
    }

    /// The fragmentation of the free indices, from 0 to 1; costs a [`largest_free`](Self::largest_free).
    #[must_use]
    pub fn fragmentation(&self) -> f32 {
        self.general.fragmentation()
    }

    /// Whether nothing is allocated. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.general.is_empty()
    }

    /// Checks all invariants, by visiting everything. For tests.
    ///
    /// # Errors
    /// [`Inconsistency`] with the violated invariant; that is a bug in this crate.
    pub fn validate(&self) -> Result<(), Inconsistency> {
        self.general.validate()
    }
}
