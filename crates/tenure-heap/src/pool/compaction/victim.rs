//! A block that is being emptied.

use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator, FilledPiece, Handle};

/// The state of a chosen block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is being visited, or new locations for its ranges are being searched.
    Chosen,
    /// It was chosen, but is kept.
    Kept,
    /// All of its moves were returned to the caller.
    Leaving,
    /// It was removed.
    Gone,
}

/// The content of a piece of a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// A free piece, filled to block allocations.
    Filler,
    /// A range.
    Range,
    /// A range whose move was returned to the caller.
    Told,
}

/// A piece of a victim.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) handle: Handle,
    /// Offset in the block, in bytes.
    offset: u64,
    pub(super) content: Content,
}

impl Piece {
    pub(super) const fn filler(range: &BlockAllocation) -> Self {
        Self { handle: range.handle, offset: range.offset, content: Content::Filler }
    }

    const fn range(range: &BlockAllocation) -> Self {
        Self { handle: range.handle, offset: range.offset, content: Content::Range }
    }
}

/// The new location of a range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination {
    /// Index of the range among the pieces.
    pub(super) piece: u32,
    pub(super) to: Handle,
    /// Requested bytes.
    pub(super) size: u64,
}

/// A block that is being emptied. None of its visited pieces is free.
#[derive(Debug)]
pub(super) struct Victim {
    pub(super) block: BlockId,
    /// Bytes.
    pub(super) capacity: u64,
    /// Bytes that were used when it was chosen.
    pub(super) used: u64,
    pub(super) state: State,
    /// The pieces found so far, by offset.
    pub(super) pieces: Vec<Piece>,
    /// Whether all pieces have been visited.
    pub(super) is_filled: bool,
    /// Bytes of its largest filler.
    pub(super) largest_hole: u64,
    /// The new locations found so far.
    pub(super) places: Vec<Destination>,
    /// Pieces that are not fillers.
    pub(super) live: usize,
}

impl Victim {
    pub(super) const fn new(block: BlockId, capacity: u64, used: u64) -> Self {
        Self {
            block,
            capacity,
            used,
            state: State::Chosen,
            pieces: Vec::new(),
            is_filled: false,
            largest_hole: 0,
            places: Vec::new(),
            live: 0,
        }
    }

    /// Adds visited pieces. Returns the bytes of fillers.
    pub(super) fn note(&mut self, found: &[FilledPiece<BlockAllocation>]) -> u64 {
        let mut filled = 0;
        for FilledPiece { range, was_free } in found {
            if *was_free {
                filled += range.size + range.padding;
                self.largest_hole = self.largest_hole.max(range.size);
                self.pieces.push(Piece::filler(range));
            } else {
                self.live += 1;
                self.pieces.push(Piece::range(range));
            }
        }
        filled
    }

    /// Replaces a freed range by a filler. Returns the filler's bytes; 0 if the range has not been visited.
    pub(super) fn refill(&mut self, offset: u64, ranges: &mut impl BlockSuballocator) -> u64 {
        let found = self.pieces.binary_search_by_key(&offset, |piece| piece.offset);
        let Ok(number) = found else { return 0 };
        let after = number.checked_sub(1).map(|before| self.pieces[before].handle);
        let mut filled = Vec::with_capacity(1);
        ranges.fill_block(self.block, after, 1, &mut filled);
        let Some(FilledPiece { range, .. }) = filled.first() else { return 0 };
        self.pieces[number] = Piece::filler(range);
        self.live -= 1;
        range.size + range.padding
    }

    /// Block and offset of the ranges whose moves were returned and that have not been freed.
    pub(super) fn told(&self) -> impl Iterator<Item = (BlockId, u64)> {
        let told = self.pieces.iter().filter(|piece| piece.content == Content::Told);
        told.map(|piece| (self.block, piece.offset))
    }

    /// The allocations made to empty it: fillers, and new locations that are not yet in use.
    pub(super) fn lent(&self) -> impl Iterator<Item = Handle> {
        let fillers = self.pieces.iter().filter(|piece| piece.content == Content::Filler);
        fillers.map(|piece| piece.handle).chain(self.places.iter().map(|place| place.to))
    }
}
