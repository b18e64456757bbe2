//! The contract of an allocator that divides one range.

use alloc::vec::Vec;
use core::ops::Range;

use crate::{AllocError, FreeError, Handle, Inconsistency};

/// An allocated range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The offset, in bytes from the start of the managed range; a multiple of the alignment.
    pub offset: u64,
    /// The usable bytes from `offset` on: at least the requested size.
    pub size: u64,
    /// Padding bytes before `offset`, too few to be worth keeping as a hole. `free_bytes` decreases by exactly
    /// `size + padding`.
    pub padding: u64,
    /// The handle for freeing it.
    pub handle: Handle,
}

/// A freed range, with the fields of its [`Allocation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// The offset, in bytes from the start of the managed range.
    pub offset: u64,
    /// The usable bytes.
    pub size: u64,
    /// The padding bytes before `offset`.
    pub padding: u64,
}

/// A piece of a range that was looked at to be filled: see [`Suballocator::fill`] and
/// [`BlockSuballocator::fill_block`](crate::BlockSuballocator::fill_block).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilledPiece<A> {
    /// The allocation.
    pub range: A,
    /// Whether the piece was free, and was allocated by this call.
    pub was_free: bool,
}

/// Divides one range of bytes, `0..capacity`, into allocations, without ever touching the bytes.
///
/// All implementations are deterministic: the same calls return the same offsets. None uses a lock or interior
/// mutability: the caller adds a lock if needed.
pub trait Suballocator {
    /// Allocates `size` bytes at an offset that is a multiple of `align`.
    ///
    /// # Errors
    /// [`AllocError`]; the state is unchanged then.
    fn allocate(&mut self, size: u64, align: u64) -> Result<Allocation, AllocError>;

    /// Frees an allocation and merges it with the free space around it.
    ///
    /// # Errors
    /// [`FreeError`] if it was already freed or belongs to another allocator; the state is unchanged then.
    fn free(&mut self, handle: Handle) -> Result<Freed, FreeError>;

    /// Allocates all free bytes, each free range as one allocation: nothing is placed here until these are freed,
    /// while other allocations can still be freed. For emptying a range on purpose, without a check in
    /// `allocate`.
    ///
    /// Visits `most` pieces, in use or free, in order of their offsets, and appends them to `pieces`. The first
    /// is the one behind the allocation `after`, or behind the beginning if that is `None` or not allocated. True
    /// if no piece is left behind the last. Each costs as much as one of [`holes`](Self::holes).
    ///
    /// ```
    /// use tenure_suballoc::{General, Suballocator};
    ///
    /// let mut heap = General::new(4096, 256)?;
    /// let mesh = heap.allocate(512, 256)?;
    /// let mut pieces = Vec::new();
    /// assert!(heap.fill(None, 100, &mut pieces));
    /// assert!(heap.allocate(256, 256).is_err());
    /// let was_free: Vec<_> = pieces.iter().map(|piece| (piece.range.size, piece.was_free)).collect();
    /// assert_eq!(was_free, [(512, false), (3584, true)]);
    /// for piece in pieces {
    ///     heap.free(piece.range.handle)?;
    /// }
    /// assert_eq!(heap.largest_free(), 4096);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn fill(&mut self, after: Option<Handle>, most: usize, pieces: &mut Vec<FilledPiece<Allocation>>)
    -> bool;

    /// Frees all allocations. All earlier handles are refused from then on. The metadata keeps its memory. Costs
    /// as much as [`allocations`](Self::allocations) and [`holes`](Self::holes), and reads all metadata ever
    /// used.
    ///
    /// ```
    /// use tenure_suballoc::{FreeError, General, Suballocator};
    ///
    /// let mut level = General::new(1 << 20, 256)?;
    /// let old = level.allocate(4096, 256)?.handle;
    /// level.clear();
    /// assert_eq!(level.free(old), Err(FreeError::DoubleFree));
    /// assert_eq!(level.largest_free(), 1 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn clear(&mut self);

    /// The allocation of a handle, as [`allocate`](Self::allocate) returned it; `None` if it was freed, or comes
    /// from elsewhere. O(1).
    fn get(&self, handle: Handle) -> Option<Allocation>;

    /// The allocations, in order of their offsets. O(1) per piece, in use or free.
    ///
    /// ```
    /// use tenure_suballoc::{General, Suballocator};
    ///
    /// let mut heap = General::new(4096, 256)?;
    /// let [first, second, third] = [256, 512, 256].map(|size| heap.allocate(size, 256).unwrap());
    /// heap.free(second.handle)?;
    /// assert!(heap.allocations().eq([first, third]));
    /// assert!(heap.holes().eq([256..768, 1024..4096]));
    /// assert_eq!((heap.get(third.handle), heap.get(second.handle)), (Some(third), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn allocations(&self) -> impl Iterator<Item = Allocation>
    where
        Self: Sized;

    /// The free ranges, in order of their offsets. Together with the allocations and their padding they cover the
    /// whole managed range. O(1) per piece, in use or free.
    fn holes(&self) -> impl Iterator<Item = Range<u64>>
    where
        Self: Sized;

    /// Bytes managed.
    fn capacity(&self) -> u64;

    /// Total free bytes. O(1).
    fn free_bytes(&self) -> u64;

    /// Exact size of the largest free range in bytes. See the implementation for its cost.
    fn largest_free(&self) -> u64;

    /// A lower bound of the largest free range in bytes, close to it. O(1).
    fn largest_free_floor(&self) -> u64 {
        self.largest_free()
    }

    /// The smallest [`largest_free_floor`](Self::largest_free_floor) that guarantees that
    /// `allocate(size, align)` succeeds, in bytes; `u64::MAX` when nothing does. O(1).
    ///
    /// Smaller free ranges may also suffice.
    fn sure_fit(&self, size: u64, align: u64) -> u64;

    /// The fragmentation of the free space: 0 if all of it is one range, towards 1 for many small ranges. Costs
    /// one [`largest_free`](Self::largest_free).
    fn fragmentation(&self) -> f32 {
        let free = self.free_bytes();
        if free == 0 {
            return 0.0;
        }
        1.0 - (self.largest_free() as f64 / free as f64) as f32
    }

    /// Whether nothing is allocated. O(1).
    fn is_empty(&self) -> bool {
        self.free_bytes() == self.capacity()
    }

    /// Checks all invariants, by visiting everything. For tests.
    ///
    /// # Errors
    /// [`Inconsistency`] with the violated invariant; that is a bug in this crate.
    fn validate(&self) -> Result<(), Inconsistency>;
}

/// Rejects requests that no allocator can serve.
#[inline]
pub(crate) fn check_request(size: u64, align: u64) -> Result<(), AllocError> {
    if size == 0 {
        return Err(AllocError::ZeroSize);
    }
    if !align.is_power_of_two() {
        return Err(AllocError::BadAlignment { align });
    }
    Ok(())
}

/// The smallest multiple of `align` (a power of two) at or above `value`, if there is one.
#[inline]
pub(crate) fn align_up(value: u64, align: u64) -> Option<u64> {
    let mask = align - 1;
    Some(value.checked_add(mask)? & !mask)
}
