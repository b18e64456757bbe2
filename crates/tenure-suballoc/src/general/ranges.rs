//! The algorithm itself, in units (granules): lists of holes over any number of ranges.

use core::hint::select_unpredictable;

use super::bits::ClassBits;
use super::class::{CLASSES, class};
use super::node::{LEFT, NIL, NO_HOLE, Node, RIGHT, SPECIAL, Slab};

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
    /// Set for each class with a hole. Cleared late, by the search that finds the list empty, so
    /// that taking a hole out of a list needs no look at what is left of it.
    pub(super) used_classes: ClassBits,
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
        Self {
            slab: Slab::new((class(max_units) + 1).min(CLASSES)),
            used_classes: ClassBits::new(),
            absorb,
            free_units: 0,
        }
    }

    pub(super) fn free_units(&self) -> u64 {
        self.free_units
    }

    /// Adds a range of `units`, all free, and returns its first piece, which keeps its slot for as
    /// long as the range exists.
    pub(super) fn add_range(&mut self, units: u32, block: u32) -> u32 {
        let slot = self.slab.insert(0, units, block);
        self.free_units += u64::from(units);
        self.link(slot, units);
        slot
    }

    /// Forgets all ranges, each of which must be one hole, and gives back their metadata.
    pub(super) fn clear(&mut self) {
        self.slab.clear();
        self.used_classes = ClassBits::new();
        self.free_units = 0;
    }

    /// Whether there is metadata that [`clear`](Self::clear) would give back, with this many ranges.
    pub(super) fn has_grown(&self, ranges: usize) -> bool {
        self.slab.len() as usize > SPECIAL as usize + ranges
    }

    /// Removes a range that is one hole.
    pub(super) fn remove_range(&mut self, first: u32) {
        let size = self.slab.at(first).size;
        self.free_units -= u64::from(size);
        self.slab.unlink(first, class(size));
        self.slab.vacate(first);
    }

    /// Allocates `units` at a multiple of `align_mask + 1` units in the hole that suits best, or in
    /// `reserve` (a hole, or NIL) if the search comes back with nothing.
    #[inline(always)]
    pub(super) fn allocate<const LOW: bool>(
        &mut self,
        units: u32,
        align_mask: u32,
        reserve: u32,
    ) -> Option<Placed> {
        let slot = match self.search::<LOW>(units, align_mask) {
            NIL => reserve,
            found => found,
        };
        let offset = self.slab.at(slot).fit(units, align_mask)?;
        Some(self.take(slot, offset, units))
    }

    /// Turns `offset..offset + units` of a hole into a piece in use, with what is not worth keeping
    /// on either side of it.
    #[inline(always)]
    fn take(&mut self, hole: u32, offset: u32, units: u32) -> Placed {
        let Node { offset: start, size: available, prev, next, block, .. } = *self.slab.at(hole);
        self.slab.unlink(hole, class(available));
        let sliver = units >> self.absorb;
        let mut slot = hole;
        let mut padding = offset - start;
        let mut size = available;
        let mut free_sides = 0;
        if padding > sliver {
            // The lower piece keeps the slot: a range's first piece is where it always was.
            self.slab.at_mut(hole).size = padding;
            self.link(hole, padding);
            size -= padding;
            slot = self.slab.insert_after(hole, offset, size, block);
            padding = 0;
            free_sides = LEFT;
        } else {
            self.slab.clear_free_side(prev, RIGHT);
        }
        let rest = size - padding - units;
        if rest > sliver {
            let right = self.slab.insert_after(slot, offset + units, rest, block);
            self.link(right, rest);
            size -= rest;
            self.slab.at_mut(slot).size = size;
            free_sides |= RIGHT;
        } else {
            self.slab.clear_free_side(next, LEFT);
        }
        self.free_units -= u64::from(size);
        let node = self.slab.at_mut(slot);
        node.occupy(padding, free_sides);
        let tag = node.tag;
        Placed { slot, tag, extent: Extent { offset, size: size - padding, padding, block } }
    }

    /// Frees the piece that `slot` and `tag` name; `None` if they name none.
    #[inline]
    pub(super) fn free(&mut self, slot: u32, tag: u32) -> Option<Extent> {
        let node = *self.slab.get(slot)?;
        if node.tag != tag {
            return None;
        }
        self.slab.at_mut(slot).tag = tag.wrapping_add(1);
        self.free_units += u64::from(node.size);
        if node.free_sides() == 0 {
            self.slab.mark_free_side(node.prev, RIGHT);
            self.slab.mark_free_side(node.next, LEFT);
            self.link(slot, node.size);
        } else {
            self.merge(slot, &node);
        }
        let padding = node.padding();
        Some(Extent { offset: node.offset + padding, size: node.size - padding, padding, block: node.block })
    }

    /// Makes one hole of a piece and its free neighbours; the lowest keeps its slot.
    ///
    /// Which of the neighbours are free is as good as random, and a branch on it would be guessed
    /// wrongly every other time. So both are treated as if they were, with something harmless in the
    /// place of one that is not.
    #[inline(always)]
    fn merge(&mut self, slot: u32, node: &Node) {
        let left_is_free = node.free_sides() & LEFT != 0;
        let right_is_free = node.free_sides() & RIGHT != 0;
        let left = select_unpredictable(left_is_free, node.prev, NO_HOLE);
        let right = select_unpredictable(right_is_free, node.next, NO_HOLE);
        let left_size = self.slab.at(left).size;
        let Node { size: right_size, next: after_right, .. } = *self.slab.at(right);
        self.slab.unlink(left, class(left_size));
        self.slab.unlink(right, class(right_size));
        let before = select_unpredictable(left_is_free, NIL, node.prev);
        self.slab.mark_free_side(before, RIGHT);
        let hole = select_unpredictable(left_is_free, left, slot);
        let after = select_unpredictable(right_is_free, after_right, node.next);
        let size = left_size + node.size + right_size;
        let merged = self.slab.at_mut(hole);
        merged.size = size;
        merged.next = after;
        self.slab.at_mut(after).prev = hole;
        self.slab.mark_free_side(after, LEFT);
        self.slab.vacate_if(left_is_free, slot);
        self.slab.vacate_if(right_is_free, right);
        self.link(hole, size);
    }

    /// Puts a hole of `size` into the list of its class.
    #[inline(always)]
    fn link(&mut self, hole: u32, size: u32) {
        let class = class(size);
        self.slab.link(hole, class);
        self.used_classes.set(class);
    }

    /// The first hole of the first class that has one, from `class` on.
    #[inline(always)]
    pub(super) fn first_hole(&mut self, class: u32) -> Option<(u32, u32)> {
        loop {
            let class = self.used_classes.first_from(class)?;
            let hole = self.slab.first(class);
            if hole != NIL {
                return Some((class, hole));
            }
            self.used_classes.clear(class);
        }
    }

    /// The last class that has a hole.
    fn last_class(&self) -> Option<u32> {
        self.used_classes.descending().find(|&class| self.slab.first(class) != NIL)
    }

    /// Units of the first hole in the last class: the largest, but for the width of the class.
    pub(super) fn largest_free_floor(&self) -> u32 {
        self.last_class().map_or(0, |class| self.slab.at(self.slab.first(class)).size)
    }

    /// Units of the largest hole. Walks the last class, unless it is an exact one.
    pub(super) fn largest_free(&self) -> u32 {
        let Some(class) = self.last_class() else {
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
