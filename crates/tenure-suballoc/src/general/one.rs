//! The general allocator over one range.

use alloc::vec::Vec;
use core::ops::Range;

use super::pieces::Placed;
use super::ranges::{ABSORB, EXACT, Ranges};
use super::units::Granule;
use crate::handle::Owner;
use crate::{
    AllocError, Allocation, BlockError, FilledPiece, FreeError, Freed, Handle, Inconsistency, Suballocator,
};

/// Divides one range into allocations of any sizes: packs like best fit, in constant time.
///
/// The default choice, unless the sizes or the order of frees have a known pattern. Its downside is 32 bytes of
/// metadata per allocation and per hole, where a [`Ring`](crate::Ring) or [`Linear`](crate::Linear) needs none.
///
/// Sizes and alignments are rounded up to the granule: choose the smallest requested alignment. A range has up to
/// 2³¹ granules (512 GiB at 256 B).
///
/// # Algorithm
/// *Units.* Everything is counted in granules, in 32 bits.
///
/// *Classes.* Each hole is in the list of its size class: exact below 256 granules, then 128 steps per power of
/// two. Two levels of bits mark the non-empty lists, so that "the first class at or above this size with a hole"
/// is two bit scans.
///
/// *Search.* The head of the first class that may contain a sufficient hole is tried, then two more heads on the
/// way to the first class whose holes are all sufficient, including alignment padding, then the head of that.
/// With classes this narrow the first is nearly the best fit. Up to eight more holes are tried if there is no
/// such sure class, or, instead of the two heads, if the padding might be more than 1/8 of the request.
///
/// *Split.* The bytes before and behind an aligned allocation become holes, unless they are at most 1/32 of the request:
/// the allocation then includes them, because such slivers cost more time and metadata than they are worth.
/// `Allocation::size` and `padding` include them.
///
/// *Free.* A piece has links to its neighbours by address; free neighbours merge with it. The merged hole keeps
/// the older hole's position in the list if the class is the same.
///
/// # Efficiency
/// Allocating and freeing are O(1): at most a dozen holes tried, at most two merges. 32 bytes for each piece, in
/// use or free, and 4 for each class below the largest size (6 KiB for 64 MiB at 256 B). The slab of pieces grows
/// when it is full, by an eighth; [`reserve`](Self::reserve) grows it beforehand, and [`trim`](Self::trim) frees
/// memory.
///
/// # Guarantees
/// A request fails only when no hole has `size + align - granule` bytes, rounded up to a size class
/// (by less than 1/128; not at all below 256 granules). A smaller hole may also fit. An empty
/// range serves any size up to its capacity at any alignment.
///
/// # Origin
/// Segregated fits with two levels of bit maps and immediate merging: Masmano, Ripoll, Crespo,
/// Real, *TLSF: a New Dynamic Memory Allocator for Real-Time Systems*, 2004. Offsets only, with the
/// metadata apart from the memory: Aaltonen, *OffsetAllocator*, 2023. Finer classes, the second
/// head, absorbed slivers and block preference are tenure's.
///
/// ```
/// use tenure_suballoc::{General, Suballocator};
///
/// let mut heap = General::new(64 << 20, 256)?;
/// let vertices = heap.allocate(48 * 1024, 256)?;
/// let texture = heap.allocate(1 << 20, 64 * 1024)?;
/// assert_eq!(texture.offset % (64 * 1024), 0);
///
/// heap.free(vertices.handle)?;
/// assert!(heap.free(vertices.handle).is_err()); // reported, and harmless
/// heap.free(texture.handle)?;
/// assert_eq!(heap.largest_free(), 64 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct General {
    ranges: Ranges,
    granule: Granule,
    capacity: u64,
    anchor: u32,
    owner: Owner,
}

/// Whether an allocation may get slightly more than its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// Up to 1/32 more, when that leaves no sliver behind.
    Loose,
    /// Exactly the whole granules.
    Exact,
}

impl General {
    /// Manages `0..capacity`, rounded down to whole granules of `granule` bytes.
    ///
    /// # Errors
    /// [`BlockError`] if the granule is not a power of two, or if the capacity is less than one granule or more
    /// than 2³¹.
    pub fn new(capacity: u64, granule: u64) -> Result<Self, BlockError> {
        Self::with_fit(capacity, granule, Fit::Loose)
    }

    pub(crate) fn with_fit(capacity: u64, granule: u64, fit: Fit) -> Result<Self, BlockError> {
        let granule = Granule::new(granule)?;
        let units = granule.capacity(capacity)?;
        let absorb = match fit {
            Fit::Loose => ABSORB,
            Fit::Exact => EXACT,
        };
        let mut ranges = Ranges::new(units, absorb);
        let anchor = ranges.add_range(units, 0);
        Ok(Self { ranges, granule, capacity: granule.bytes(u64::from(units)), anchor, owner: Owner::next() })
    }

    /// Allocates the metadata of `allocations` more and touches its pages, so that later allocations need no memory,
    /// neither from the heap nor from the operating system.
    pub fn reserve(&mut self, allocations: usize) {
        self.ranges.slab.reserve(allocations.saturating_mul(2));
    }

    /// Frees metadata: all but the lists (a word for each size class) if nothing is allocated; otherwise only the
    /// nodes behind that of the last piece, because handles name slots, which cannot move.
    /// [Reserved](Self::reserve) metadata is freed, too.
    ///
    /// It frees much memory after a program has freed its latest allocations, and little after it has freed scattered
    /// ones. O(peak number of pieces).
    ///
    /// ```
    /// use tenure_suballoc::{General, Suballocator};
    ///
    /// let mut heap = General::new(64 << 20, 256)?;
    /// let old = heap.allocate(4096, 256)?.handle;
    /// heap.free(old)?;
    /// heap.trim();
    /// let new = heap.allocate(4096, 256)?.handle;
    /// assert!(heap.free(old).is_err()); // still reported
    /// assert!(heap.free(new).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trim(&mut self) {
        if !self.is_empty() {
            self.ranges.trim(0);
        } else if self.ranges.has_grown(1, 0) {
            self.ranges.clear(0);
            self.anchor = self.ranges.add_range(self.units(), 0);
        }
    }

    /// The handle of a live allocation, from the values of [`Handle::to_raw`]. Safe for any values: for callers in other
    /// languages, whose values may be wrong. O(1).
    ///
    /// # Errors
    /// [`FreeError`] for values that do not identify a live allocation of this allocator.
    ///
    /// ```
    /// use tenure_suballoc::{FreeError, General, Suballocator};
    ///
    /// let mut heap = General::new(4096, 256)?;
    /// let mesh = heap.allocate(512, 256)?;
    /// let raw = mesh.handle.to_raw();
    /// assert_eq!(heap.live_handle(raw), Ok(mesh.handle));
    /// heap.free(mesh.handle)?;
    /// assert_eq!(heap.live_handle(raw), Err(FreeError::DoubleFree));
    /// assert_eq!(heap.live_handle([0, 0]), Err(FreeError::Foreign));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn live_handle(&self, raw: [u64; 2]) -> Result<Handle, FreeError> {
        let handle = Handle::from_raw(raw, self.owner).ok_or(FreeError::Foreign)?;
        match self.ranges.is_in_use(handle.slot(), handle.tag()) {
            true => Ok(handle),
            false => Err(FreeError::DoubleFree),
        }
    }

    /// Granules managed.
    fn units(&self) -> u32 {
        (self.capacity / self.granule.size()) as u32
    }

    #[inline(always)]
    fn allocation(&self, placed: Placed) -> Allocation {
        allocation(self.granule, self.owner, placed)
    }

    /// Bytes in the unit of management.
    #[must_use]
    pub fn granule(&self) -> u64 {
        self.granule.size()
    }

    #[cold]
    fn full(&self, size: u64, align: u64) -> AllocError {
        AllocError::Full {
            size,
            align,
            free_bytes: self.free_bytes(),
            largest_free: self.largest_free_floor(),
        }
    }
}

/// The allocation of a piece, as returned to callers.
#[inline(always)]
fn allocation(granule: Granule, owner: Owner, Placed { slot, tag, extent }: Placed) -> Allocation {
    Allocation {
        offset: granule.bytes_in_range(extent.offset),
        size: granule.bytes_in_range(extent.size),
        padding: granule.bytes_in_range(extent.padding),
        handle: Handle::new(owner, extent.block, slot, tag),
    }
}

impl Suballocator for General {
    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Result<Allocation, AllocError> {
        let request = self.granule.request(size, align, self.capacity)?;
        let placed = self.ranges.allocate::<false>(request.units, request.align_mask);
        let Some(placed) = placed else {
            return Err(self.full(size, align));
        };
        Ok(self.allocation(placed))
    }

    #[inline]
    fn free(&mut self, handle: Handle) -> Result<Freed, FreeError> {
        if !handle.is_of(self.owner) {
            return Err(FreeError::Foreign);
        }
        let extent = self.ranges.free(handle.slot(), handle.tag()).ok_or(FreeError::DoubleFree)?;
        Ok(Freed {
            offset: self.granule.bytes_in_range(extent.offset),
            size: self.granule.bytes_in_range(extent.size),
            padding: self.granule.bytes_in_range(extent.padding),
        })
    }

    fn fill(
        &mut self,
        after: Option<Handle>,
        most: usize,
        pieces: &mut Vec<FilledPiece<Allocation>>,
    ) -> bool {
        let after = after.filter(|handle| self.get(*handle).is_some());
        let (granule, owner) = (self.granule, self.owner);
        self.ranges.fill(after.map_or(self.anchor, Handle::slot), most, |placed, was_free| {
            pieces.push(FilledPiece { range: allocation(granule, owner, placed), was_free });
        })
    }

    fn clear(&mut self) {
        self.ranges.vacate();
        self.anchor = self.ranges.add_range(self.units(), 0);
    }

    #[inline]
    fn get(&self, handle: Handle) -> Option<Allocation> {
        if !handle.is_of(self.owner) {
            return None;
        }
        Some(self.allocation(self.ranges.get(handle.slot(), handle.tag())?))
    }

    fn allocations(&self) -> impl Iterator<Item = Allocation> {
        self.ranges.allocations_of(self.anchor).map(|placed| self.allocation(placed))
    }

    fn holes(&self) -> impl Iterator<Item = Range<u64>> {
        self.ranges.holes_of(self.anchor).map(|hole| self.granule.bytes_of_hole(hole))
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn free_bytes(&self) -> u64 {
        self.granule.bytes(self.ranges.free_units())
    }

    /// O(1) when no hole has 256 granules, otherwise O(holes of the largest size class), which are
    /// few unless many have nearly the same size.
    fn largest_free(&self) -> u64 {
        self.granule.bytes(u64::from(self.ranges.largest_free()))
    }

    fn largest_free_floor(&self) -> u64 {
        self.granule.bytes(u64::from(self.ranges.largest_free_floor()))
    }

    fn sure_fit(&self, size: u64, align: u64) -> u64 {
        self.granule.sure_fit(size, align)
    }

    fn validate(&self) -> Result<(), Inconsistency> {
        self.ranges.validate(core::iter::once((self.anchor, 0, self.units())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_wrap_around_in_clear_as_in_free() {
        let mut heap = General::new(1 << 20, 256).unwrap();
        let first = heap.allocate(256, 256).unwrap().handle;
        heap.free(first).unwrap();
        for node in heap.ranges.slab.pieces().nodes.iter_mut().filter(|node| node.is_free()) {
            node.tag = u32::MAX - 1;
        }
        let old: Vec<_> = (0..3).map(|_| heap.allocate(256, 256).unwrap().handle).collect();
        assert!(old.iter().any(|handle| handle.tag() == u32::MAX));
        heap.clear();
        heap.validate().unwrap();
        let new: Vec<_> = (0..100).map(|_| heap.allocate(256, 256).unwrap()).collect();
        old.iter().for_each(|&handle| assert_eq!(heap.free(handle), Err(FreeError::DoubleFree)));
        assert!(heap.allocations().eq(new));
    }

    #[test]
    fn a_trim_frees_the_slots_behind_the_last_piece() {
        let mut heap = General::new(1 << 20, 256).unwrap();
        let handles: Vec<_> = (0..1000).map(|_| heap.allocate(256, 256).unwrap().handle).collect();
        handles[100..].iter().for_each(|&handle| {
            heap.free(handle).unwrap();
        });
        heap.trim();
        // NIL, the anchor, the slot of the first hole (vacant now), the 100 allocations, and the hole.
        assert_eq!((heap.ranges.slab.len(), heap.ranges.slab.vacant()), (104, 1));
        handles[100..].iter().for_each(|&handle| assert_eq!(heap.free(handle), Err(FreeError::DoubleFree)));
        heap.validate().unwrap();
    }
}
