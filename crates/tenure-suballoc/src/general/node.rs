//! A piece of a managed range.

/// No node. The slot exists, looks like a piece in use, and its links mean nothing, so that code may
/// read and write "the neighbour" at the end of a range or of a list without asking whether there is
/// one.
pub(super) const NIL: u32 = 0;

/// Slots that are no pieces.
pub(super) const SPECIAL: u32 = 1;

/// A piece of a range, in use or free (a hole); or a range's anchor: a piece of no size before the
/// first, by which the range is known. An anchor looks as if it were in use, but nobody has a handle.
///
/// As large as half a cache line: allocating and freeing is mostly waiting for these. Not aligned to that:
/// what a program's heap aligns anyway, the system can move by its page tables when the slab grows, and so
/// need not copy. That some then lie on two lines costs less.
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
    /// Odd while in use. It counts up whenever the piece is allocated and freed, and so tells a
    /// handle that is still good from one that is not.
    pub(super) tag: u32,
    /// The block that the piece belongs to.
    pub(super) block: u32,
}

impl Node {
    /// A slot that is no piece.
    pub(super) const fn blank(tag: u32) -> Self {
        Self { list_prev: NIL, list_next: NIL, offset: 0, size: 0, prev: NIL, next: NIL, tag, block: 0 }
    }

    #[inline]
    pub(super) const fn is_free(&self) -> bool {
        self.tag & 1 == 0
    }

    /// Units at the beginning of a piece in use that are only there to align the rest.
    #[inline]
    pub(super) const fn padding(&self) -> u32 {
        self.list_prev
    }

    /// Makes a hole, that is in no list, a piece in use, and returns its tag.
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
    /// is a number.
    #[inline]
    pub(super) const fn fits(&self, units: u32, align_mask: u32) -> bool {
        self.padding_to(align_mask) + units <= self.size
    }
}
