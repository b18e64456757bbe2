//! The algorithm itself, in units (granules): lists of holes over any number of ranges.

use super::class::{CLASSES, class};
use super::node::{NIL, Node, SPECIAL};
use super::search::Found;
use super::slab::Slab;

/// Units in a range at most: the sum of a size and an alignment mask must fit in 32 bits.
pub(super) const MAX_UNITS: u32 = 1 << 31;

/// An allocation takes what would be left of its hole, up to this part of its own size: log₂ of 1/32.
pub(super) const ABSORB: u32 = 5;
/// An allocation takes nothing that it did not ask for.
pub(super) const EXACT: u32 = 31;

/// Holes by size class, and pieces by address, of ranges that never merge with one another.
#[derive(Debug)]
pub(super) struct Ranges {
    pub(super) slab: Slab,
    absorb: u32,
    free_units: u64,
}

/// What an allocation takes.
pub(super) struct Extent {
    pub(super) offset: u32,
    pub(super) size: u32,
    /// Units before `offset`.
    pub(super) padding: u32,
    pub(super) block: u32,
}

/// A piece that is in use from now on.
pub(super) struct Placed {
    pub(super) slot: u32,
    pub(super) tag: u32,
    pub(super) extent: Extent,
}

impl Ranges {
    /// For ranges of up to `max_units` ([`MAX_UNITS`] at most).
    pub(super) fn new(max_units: u32, absorb: u32) -> Self {
        let classes = (class(max_units) + 1).min(CLASSES);
        Self { slab: Slab::new(classes), absorb, free_units: 0 }
    }

    pub(super) fn free_units(&self) -> u64 {
        self.free_units
    }

    /// Adds a range of `units`, all free, and returns its anchor.
    pub(super) fn add_range(&mut self, units: u32, block: u32) -> u32 {
        let mut pieces = self.slab.pieces_and_room();
        let anchor = pieces.insert_between(NIL, NIL, 0, 0, block);
        pieces.at_mut(anchor).occupy(0);
        let mut pieces = self.slab.pieces_and_room();
        let hole = pieces.insert_between(anchor, NIL, 0, units, block);
        pieces.link(hole, units);
        self.free_units += u64::from(units);
        anchor
    }

    /// Forgets all ranges, each of which must be one hole, and gives back their metadata.
    pub(super) fn clear(&mut self) {
        self.slab.clear();
        self.free_units = 0;
    }

    /// Whether there is metadata that [`clear`](Self::clear) would give back, with this many ranges.
    pub(super) fn has_grown(&self, ranges: usize) -> bool {
        self.slab.len() as usize > SPECIAL as usize + 2 * ranges
    }

    /// Removes a range that is one hole.
    pub(super) fn remove_range(&mut self, anchor: u32) {
        let hole = self.slab.at(anchor).next;
        let size = self.slab.at(hole).size;
        self.free_units -= u64::from(size);
        let mut pieces = self.slab.pieces();
        pieces.unlink(hole, class(size));
        pieces.vacate(hole);
        let node = pieces.at_mut(anchor);
        node.tag = node.tag.wrapping_add(1);
        pieces.vacate(anchor);
    }

    /// Allocates `units` at a multiple of `align_mask + 1` units in the hole that suits best.
    #[inline(always)]
    pub(super) fn allocate<const LOW: bool>(&mut self, units: u32, align_mask: u32) -> Option<Placed> {
        let found = self.search::<LOW>(units, align_mask)?;
        Some(self.take(found, units))
    }

    /// Allocates at the beginning of a range that is one hole, if it is large enough.
    #[cold]
    pub(super) fn allocate_in(&mut self, anchor: u32, units: u32) -> Option<Placed> {
        let hole = self.slab.at(anchor).next;
        let size = self.slab.at(hole).size;
        let found = Found { hole, class: class(size), offset: 0 };
        (units <= size).then(|| self.take(found, units))
    }

    /// Turns `offset..offset + units` of a hole into a piece in use, with what is not worth keeping
    /// on either side of it.
    ///
    /// What is left behind it keeps the hole's slot, and its place in the list if the class is still
    /// the same.
    #[inline(always)]
    fn take(&mut self, found: Found, units: u32) -> Placed {
        let Found { hole, class: old_class, offset } = found;
        let sliver = units >> self.absorb;
        let mut padding = offset - self.slab.at(hole).offset;
        if padding > sliver {
            self.cut_padding(hole, offset);
            padding = 0;
        }
        let Node { size: available, prev, block, .. } = *self.slab.at(hole);
        let rest = available - padding - units;
        let (slot, size, tag) = if rest > sliver {
            let mut pieces = self.slab.pieces_and_room();
            let size = padding + units;
            let left = pieces.at_mut(hole);
            left.offset = offset + units;
            left.size = rest;
            if class(rest) != old_class {
                pieces.unlink(hole, old_class);
                pieces.link(hole, rest);
            }
            let slot = pieces.insert_between(prev, hole, offset - padding, size, block);
            (slot, size, pieces.at_mut(slot).occupy(padding))
        } else {
            let mut pieces = self.slab.pieces();
            pieces.unlink(hole, old_class);
            (hole, available, pieces.at_mut(hole).occupy(padding))
        };
        self.free_units -= u64::from(size);
        Placed { slot, tag, extent: Extent { offset, size: size - padding, padding, block } }
    }

    /// Makes what lies before `offset` a hole of its own. The one behind stays where it was listed,
    /// which may be the wrong class for its size now.
    #[inline(never)]
    fn cut_padding(&mut self, hole: u32, offset: u32) {
        let mut pieces = self.slab.pieces_and_room();
        let Node { offset: start, size, prev, block, .. } = *pieces.at(hole);
        let padding = offset - start;
        let rest = pieces.at_mut(hole);
        rest.offset = offset;
        rest.size = size - padding;
        let low = pieces.insert_between(prev, hole, start, padding, block);
        pieces.link(low, padding);
    }

    /// Frees the piece that `slot` and `tag` name; `None` if they name none.
    #[inline(always)]
    pub(super) fn free(&mut self, slot: u32, tag: u32) -> Option<Extent> {
        let mut pieces = self.slab.pieces();
        let node = *pieces.nodes.get(slot as usize)?;
        if node.tag != tag {
            return None;
        }
        self.free_units += u64::from(node.size);
        pieces.at_mut(slot).tag = tag.wrapping_add(1);
        let left_is_free = pieces.at(node.prev).is_free();
        let right_is_free = pieces.at(node.next).is_free();
        if left_is_free | right_is_free {
            pieces.merge(slot, &node, left_is_free, right_is_free);
        } else {
            pieces.link(slot, node.size);
        }
        let padding = node.padding();
        Some(Extent { offset: node.offset + padding, size: node.size - padding, padding, block: node.block })
    }

    /// Units of the first hole in the last class: the largest, but for the width of the class.
    pub(super) fn largest_free_floor(&self) -> u32 {
        self.slab.last_class().map_or(0, |class| self.slab.at(self.slab.first(class)).size)
    }

    /// Units of the largest hole. Walks the last class, unless it is an exact one.
    pub(super) fn largest_free(&self) -> u32 {
        let Some(class) = self.slab.last_class() else {
            return 0;
        };
        let mut largest = 0;
        let mut hole = self.slab.first(class);
        while hole != NIL {
            largest = largest.max(self.slab.at(hole).size);
            hole = self.slab.at(hole).list_next;
        }
        largest
    }
}
