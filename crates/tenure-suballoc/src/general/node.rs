//! A piece of a managed range.

/// The null link. Slot 0 exists and looks like a piece in use, and its own links are unused: code may read and
/// write the neighbour at the end of a range or of a list without a check.
pub(super) const NIL: u32 = 0;

/// The number of slots at the beginning that are never pieces: [`NIL`].
pub(super) const SPECIAL: u32 = 1;

/// A piece of a range, in use or free (a hole); or a range's anchor: a piece of size 0 before the first, which
/// identifies the range. An anchor is marked as in use, but has no handle.
///
/// Half a cache line large, because most of the time of allocating and freeing is cache misses on nodes. Only
/// aligned to 16 bytes, as heap allocations are anyway: then `realloc` can grow a large slab by remapping its
/// pages, without a copy, which is worth more than keeping each node on one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(super) struct Node {
    /// Neighbours in the class's list, or [`NIL`]. A piece in use is in no list, and has its padding
    /// there.
    pub(super) list_prev: u32,
    pub(super) list_next: u32,
    pub(super) offset: u32,
    pub(super) size: u32,
    /// Neighbours by address, or [`NIL`].
    pub(super) prev: u32,
    pub(super) next: u32,
    /// Odd while in use. It is incremented by each allocation and each free of the piece, so that the tag of
    /// an old handle differs.
    pub(super) tag: u32,
    /// The block that the piece belongs to.
    pub(super) block: u32,
}

impl Node {
    /// A slot without a piece.
    pub(super) const fn blank(tag: u32) -> Self {
        Self { list_prev: NIL, list_next: NIL, offset: 0, size: 0, prev: NIL, next: NIL, tag, block: 0 }
    }

    #[inline]
    pub(super) const fn is_free(&self) -> bool {
        self.tag & 1 == 0
    }

    /// Alignment padding at the beginning of a piece in use, in units.
    #[inline]
    pub(super) const fn padding(&self) -> u32 {
        self.list_prev
    }

    /// Marks a hole that is in no list as in use, and returns its tag.
    #[inline]
    pub(super) const fn occupy(&mut self, padding: u32) -> u32 {
        self.tag = self.tag.wrapping_add(1);
        self.list_prev = padding;
        self.tag
    }

    /// Units before the first multiple of `align_mask + 1` in this piece.
    #[inline]
    pub(super) const fn padding_to(&self, align_mask: u32) -> u32 {
        self.offset.wrapping_neg() & align_mask
    }

    /// Whether `units` at a multiple of `align_mask + 1` fit. Neither is above 2³¹, so that their sum
    /// does not overflow.
    #[inline]
    pub(super) const fn fits(&self, units: u32, align_mask: u32) -> bool {
        self.padding_to(align_mask) + units <= self.size
    }
}
