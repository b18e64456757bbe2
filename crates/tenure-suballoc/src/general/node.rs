//! A piece of a managed range.

/// No node. The slot exists, looks like a piece in use, and its links mean nothing, so that code may
/// read and write "the neighbour" at the end of a range or of a list without asking whether there is
/// one.
pub(super) const NIL: u32 = 0;

/// A hole without a size that is in no list, and can be taken out of it any number of times.
pub(super) const NO_HOLE: u32 = 1;

/// Slots that are no pieces.
pub(super) const SPECIAL: u32 = 2;

/// A piece of a range, in use or free (a hole); or a range's anchor: a piece of no size before the
/// first, by which the range is known. An anchor looks as if it were in use, but nobody has a handle.
///
/// Half a cache line: allocating and freeing is mostly waiting for these.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
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

    /// Where an allocation of `units` in this hole would begin, if it fits.
    #[inline]
    pub(super) const fn fit(&self, units: u32, align_mask: u32) -> Option<u32> {
        let offset = (self.offset + align_mask) & !align_mask;
        let padded = (offset - self.offset) as u64 + units as u64;
        if padded <= self.size as u64 { Some(offset) } else { None }
    }
}
