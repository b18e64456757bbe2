//! Operations on pieces: lists, neighbours, slots.

use core::hint::select_unpredictable;

use super::bits::ClassBits;
use super::class::class;
use super::node::{NIL, Node};
use super::search::Found;

/// All of a slab, borrowed once for a whole operation: the pointers of these slices stay in registers, whereas
/// the compiler would reload the pointers of the slab's vectors after every write.
pub(super) struct Pieces<'a> {
    pub(super) nodes: &'a mut [Node],
    /// The first hole of each class, or [`NIL`].
    pub(super) firsts: &'a mut [u32],
    pub(super) used: &'a mut ClassBits,
    /// First of the vacant slots, chained by `list_next`.
    pub(super) vacant: &'a mut u32,
}

/// The units of an allocation.
#[derive(Clone, Copy)]
pub(super) struct Extent {
    pub(super) offset: u32,
    pub(super) size: u32,
    /// Units before `offset`.
    pub(super) padding: u32,
    pub(super) block: u32,
}

impl Extent {
    /// The extent of a piece in use.
    #[inline(always)]
    pub(super) const fn of(node: &Node) -> Self {
        let padding = node.padding();
        Self { offset: node.offset + padding, size: node.size - padding, padding, block: node.block }
    }
}

/// A piece that is in use.
pub(super) struct Placed {
    pub(super) slot: u32,
    pub(super) tag: u32,
    pub(super) extent: Extent,
}

impl Pieces<'_> {
    #[inline(always)]
    pub(super) fn at(&self, slot: u32) -> &Node {
        &self.nodes[slot as usize]
    }

    #[inline(always)]
    pub(super) fn at_mut(&mut self, slot: u32) -> &mut Node {
        &mut self.nodes[slot as usize]
    }

    /// Turns a vacant slot into a hole between two pieces, in no list. A vacant slot must exist.
    ///
    /// The fields are written in place: a node built on the stack is written field by field and then loaded
    /// in one wide read, which stalls because the stores cannot be forwarded to it.
    #[inline(always)]
    pub(super) fn insert_between(&mut self, prev: u32, next: u32, offset: u32, size: u32, block: u32) -> u32 {
        let slot = *self.vacant;
        let node = self.at_mut(slot);
        let vacant = node.list_next;
        node.offset = offset;
        node.size = size;
        node.prev = prev;
        node.next = next;
        node.block = block;
        *self.vacant = vacant;
        self.at_mut(prev).next = slot;
        self.at_mut(next).prev = slot;
        slot
    }

    /// Makes the slot of a free piece that is in no list vacant.
    #[inline]
    pub(super) fn vacate(&mut self, slot: u32) {
        self.at_mut(slot).list_next = *self.vacant;
        *self.vacant = slot;
    }

    /// Puts a hole of `size` at the front of its class's list.
    #[inline(always)]
    pub(super) fn link(&mut self, slot: u32, size: u32) {
        self.link_in(slot, class(size));
    }

    /// Puts a hole at the front of a class's list.
    #[inline(always)]
    fn link_in(&mut self, slot: u32, class: u32) {
        let first = core::mem::replace(&mut self.firsts[class as usize], slot);
        let node = self.at_mut(slot);
        node.list_prev = NIL;
        node.list_next = first;
        self.at_mut(first).list_prev = slot;
        self.used.set(class);
    }

    /// Takes a hole out of its class's list.
    #[inline(always)]
    pub(super) fn unlink(&mut self, slot: u32, class: u32) {
        let Node { list_prev, list_next, .. } = *self.at(slot);
        self.at_mut(list_prev).list_next = list_next;
        self.at_mut(list_next).list_prev = list_prev;
        let first = &mut self.firsts[class as usize];
        *first = select_unpredictable(*first == slot, list_next, *first);
        let is_empty = *first == NIL;
        self.used.clear_if(is_empty, class);
    }

    /// Takes the first hole out of its class's list.
    #[inline(always)]
    pub(super) fn unlink_first(&mut self, slot: u32, class: u32) {
        let next = self.at(slot).list_next;
        self.at_mut(next).list_prev = NIL;
        self.firsts[class as usize] = next;
        self.used.clear_if(next == NIL, class);
    }

    /// Turns `padding + units` at the beginning of a hole into a piece in use, and the rest as well if it is a
    /// sliver. A slot must be vacant. With `FIRST` the hole is the first of its list.
    ///
    /// The rest keeps the hole's slot, and its position in the list if the class is still the same.
    #[inline(always)]
    pub(super) fn take<const FIRST: bool>(
        &mut self,
        found: Found,
        padding: u32,
        units: u32,
        sliver: u32,
    ) -> Placed {
        let Found { class: old_class, hole } = found;
        let node = self.at_mut(hole);
        let Node { offset, size: available, prev, block, .. } = *node;
        let rest = available - padding - units;
        let (slot, size, tag) = if rest > sliver {
            let size = padding + units;
            node.offset = offset + size;
            node.size = rest;
            let class = class(rest);
            if class != old_class {
                self.unlink_as::<FIRST>(hole, old_class);
                self.link_in(hole, class);
            }
            let slot = self.insert_between(prev, hole, offset, size, block);
            (slot, size, self.at_mut(slot).occupy(padding))
        } else {
            self.unlink_as::<FIRST>(hole, old_class);
            (hole, available, self.at_mut(hole).occupy(padding))
        };
        let extent = Extent { offset: offset + padding, size: size - padding, padding, block };
        Placed { slot, tag, extent }
    }

    #[inline(always)]
    fn unlink_as<const FIRST: bool>(&mut self, slot: u32, class: u32) {
        if FIRST { self.unlink_first(slot, class) } else { self.unlink(slot, class) }
    }

    /// Merges a piece and its free neighbours, at least one, into one hole.
    ///
    /// The case of two free neighbours is rare enough for a branch. Which of the two is free is random, so
    /// that a branch would be mispredicted half of the time: hence the selects. The hole keeps its slot, and
    /// its position in the list if the class is still the same.
    #[inline(always)]
    pub(super) fn merge(&mut self, slot: u32, node: &Node, left_is_free: bool, right_is_free: bool) {
        let Node { mut size, mut next, .. } = *node;
        if left_is_free & right_is_free {
            let right = *self.at(next);
            self.unlink(next, class(right.size));
            self.vacate(next);
            size += right.size;
            next = right.next;
        }
        let hole = select_unpredictable(left_is_free, node.prev, next);
        let old = self.at_mut(hole);
        let old_class = class(old.size);
        size += old.size;
        let class = class(size);
        old.size = size;
        old.offset = select_unpredictable(left_is_free, old.offset, node.offset);
        old.prev = select_unpredictable(left_is_free, old.prev, node.prev);
        old.next = select_unpredictable(left_is_free, next, old.next);
        let beyond = self.at_mut(select_unpredictable(left_is_free, next, node.prev));
        beyond.prev = select_unpredictable(left_is_free, hole, beyond.prev);
        beyond.next = select_unpredictable(left_is_free, beyond.next, hole);
        self.vacate(slot);
        if class != old_class {
            self.unlink(hole, old_class);
            self.link_in(hole, class);
        }
    }
}
