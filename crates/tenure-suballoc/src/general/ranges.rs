//! The algorithm, in units (granules): lists of holes over any number of ranges.

use super::class::{CLASSES, class};
use super::node::{NIL, Node};
use super::pieces::{Extent, Placed};
use super::search::Found;
use super::slab::Slab;

/// Maximum number of units in a range: the sum of a size and an alignment mask must fit in 32 bits.
pub(super) const MAX_UNITS: u32 = 1 << 31;

/// An allocation also takes the rest of its hole, if that is at most 1/32 of its own size: as a shift.
pub(super) const ABSORB: u32 = 5;
/// The shift for allocations that take exactly their request.
pub(super) const EXACT: u32 = 31;

/// Holes by size class, and pieces by address, of ranges that never merge with one another.
#[derive(Debug)]
pub(super) struct Ranges {
    pub(super) slab: Slab,
    absorb: u32,
    free_units: u64,
}

impl Ranges {
    /// The bookkeeping for ranges of up to `max_units` units, at most [`MAX_UNITS`].
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

    /// Removes all ranges, and frees the memory of all nodes but `kept`. Each range must be one hole.
    pub(super) fn clear(&mut self, kept: usize) {
        self.slab.clear(kept);
        self.free_units = 0;
    }

    /// Removes all ranges with everything allocated in them. The metadata keeps its memory.
    pub(super) fn vacate(&mut self) {
        self.slab.vacate();
        self.free_units = 0;
    }

    /// Frees the memory of the nodes behind the last piece, but keeps that of `kept` nodes in all.
    pub(super) fn trim(&mut self, kept: usize) {
        self.slab.trim(kept);
    }

    /// Whether there is metadata that [`clear`](Self::clear) would free, with this number of ranges.
    pub(super) fn has_grown(&self, ranges: usize, kept: usize) -> bool {
        self.slab.has_more_than(kept.max(2 * ranges))
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

    /// Allocates `units` at a multiple of `align_mask + 1` units in the hole that suits best. `LOW`
    /// prefers lower blocks.
    #[inline(always)]
    pub(super) fn allocate<const LOW: bool>(&mut self, units: u32, align_mask: u32) -> Option<Placed> {
        let sliver = units >> self.absorb;
        let mut pieces = self.slab.pieces_and_room();
        let found = pieces.search::<LOW>(units, align_mask)?;
        let hole = pieces.at(found.hole);
        let padding = hole.padding_to(align_mask);
        if padding > sliver || padding + units > hole.size {
            return self.allocate_on(found, units, align_mask);
        }
        let placed = pieces.take::<true>(found, padding, units, sliver);
        self.free_units -= u64::from(placed.extent.padding + placed.extent.size);
        Some(placed)
    }

    /// Allocates if the first hole does not fit, or needs more padding than an allocation may take.
    #[inline(never)]
    fn allocate_on(&mut self, first: Found, units: u32, align_mask: u32) -> Option<Placed> {
        let found = if self.slab.at(first.hole).fits(units, align_mask) {
            first
        } else {
            self.search_on(first, units, align_mask)?
        };
        Some(self.take(found, units, align_mask))
    }

    /// Allocates at the beginning of a range that is one hole, if it is large enough.
    #[cold]
    pub(super) fn allocate_in(&mut self, anchor: u32, units: u32) -> Option<Placed> {
        let hole = self.slab.at(anchor).next;
        let size = self.slab.at(hole).size;
        (units <= size).then(|| self.take(Found { class: class(size), hole }, units, 0))
    }

    /// Allocates `units` at a multiple of `align_mask + 1` units in the first sufficient hole of a range.
    pub(super) fn allocate_within(&mut self, anchor: u32, units: u32, align_mask: u32) -> Option<Placed> {
        let fits = |node: &Node| node.is_free() && node.fits(units, align_mask);
        let found = self
            .pieces_of(anchor)
            .find(|(_, node)| fits(node))
            .map(|(hole, node)| Found { class: class(node.size), hole })?;
        Some(self.take(found, units, align_mask))
    }

    /// Takes `units` of a hole into which they fit, without more padding than is worth keeping.
    #[inline(always)]
    fn take(&mut self, found: Found, units: u32, align_mask: u32) -> Placed {
        let sliver = units >> self.absorb;
        let mut padding = self.slab.at(found.hole).padding_to(align_mask);
        if padding > sliver {
            self.cut_padding(found.hole, padding);
            padding = 0;
        }
        let mut pieces = self.slab.pieces_and_room();
        let placed = pieces.take::<false>(found, padding, units, sliver);
        self.free_units -= u64::from(placed.extent.padding + placed.extent.size);
        placed
    }

    /// Splits the first units of a hole off as another hole. The rest stays in its list, which may be the wrong
    /// class for its new size.
    #[inline(never)]
    fn cut_padding(&mut self, hole: u32, padding: u32) {
        let mut pieces = self.slab.pieces_and_room();
        let rest = pieces.at_mut(hole);
        let Node { offset, prev, block, .. } = *rest;
        rest.offset = offset + padding;
        rest.size -= padding;
        let low = pieces.insert_between(prev, hole, offset, padding, block);
        pieces.link(low, padding);
    }

    /// Allocates each hole among the `most` pieces behind the one in a slot, which is in use or an anchor, as one
    /// piece. Reports each of them, and whether it was free. True if no piece is left.
    pub(super) fn fill(&mut self, behind: u32, most: usize, mut note: impl FnMut(Placed, bool)) -> bool {
        let mut slot = self.slab.at(behind).next;
        for _ in 0..most {
            if slot == NIL {
                break;
            }
            let node = *self.slab.at(slot);
            if node.is_free() {
                let found = Found { class: class(node.size), hole: slot };
                note(self.slab.pieces().take::<false>(found, 0, node.size, 0), true);
                self.free_units -= u64::from(node.size);
            } else {
                note(Placed { slot, tag: node.tag, extent: Extent::of(&node) }, false);
            }
            slot = node.next;
        }
        slot == NIL
    }

    /// Reads the nodes that freeing the pieces in these slots will read. The links of a slot without a piece
    /// may be out of bounds.
    #[inline]
    pub(super) fn expect(&self, slots: impl Iterator<Item = u32>) {
        let nodes = self.slab.nodes();
        let tag = |slot: u32| nodes.get(slot as usize).map_or(0, |node| node.tag);
        let neighbours = |node: &Node| tag(node.prev) ^ tag(node.next);
        let read = slots.filter_map(|slot| nodes.get(slot as usize)).map(neighbours);
        core::hint::black_box(read.fold(0, |all, tags| all ^ tags));
    }

    /// Frees the piece identified by `slot` and `tag`; `None` if there is none.
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
        Some(Extent::of(&node))
    }

    /// The piece identified by `slot` and `tag`; `None` if there is none.
    #[inline]
    pub(super) fn get(&self, slot: u32, tag: u32) -> Option<Placed> {
        let node = self.slab.nodes().get(slot as usize)?;
        (node.tag == tag).then(|| Placed { slot, tag, extent: Extent::of(node) })
    }

    /// Whether `slot` and `tag`, which may have any values, identify a piece in use, and not a hole or an anchor.
    #[inline]
    pub(super) fn is_in_use(&self, slot: u32, tag: u32) -> bool {
        let node = self.slab.nodes().get(slot as usize);
        node.is_some_and(|node| node.tag == tag && !node.is_free() && node.size > 0)
    }

    /// The pieces of an anchor's range, with their slots, in order of their offsets.
    pub(super) fn pieces_of(&self, anchor: u32) -> impl Iterator<Item = (u32, &Node)> {
        let piece = |slot: u32| (slot != NIL).then(|| (slot, self.slab.at(slot)));
        core::iter::successors(piece(self.slab.at(anchor).next), move |(_, node)| piece(node.next))
    }

    /// The allocations in an anchor's range, in order of their offsets.
    pub(super) fn allocations_of(&self, anchor: u32) -> impl Iterator<Item = Placed> {
        let in_use = self.pieces_of(anchor).filter(|(_, node)| !node.is_free());
        in_use.map(|(slot, node)| Placed { slot, tag: node.tag, extent: Extent::of(node) })
    }

    /// Offsets and sizes of the holes in an anchor's range, in order of their offsets.
    pub(super) fn holes_of(&self, anchor: u32) -> impl Iterator<Item = (u32, u32)> {
        self.pieces_of(anchor).filter(|(_, node)| node.is_free()).map(|(_, node)| (node.offset, node.size))
    }

    /// Units of the first hole in the last class: less than the largest by no more than the class's width.
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
