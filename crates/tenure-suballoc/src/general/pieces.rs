//! What is done to the pieces: lists, neighbours, slots.

use core::hint::select_unpredictable;

use super::bits::ClassBits;
use super::class::class;
use super::node::{NIL, NO_HOLE, Node};

/// All of a slab, borrowed once for a whole operation: slices of its own stay in registers, where the
/// slab's vectors would be looked up again after every write.
pub(super) struct Pieces<'a> {
    pub(super) nodes: &'a mut [Node],
    /// The first hole of each class, or [`NIL`].
    pub(super) firsts: &'a mut [u32],
    pub(super) used: &'a mut ClassBits,
    /// First of the vacant slots, chained by `list_next`.
    pub(super) vacant: &'a mut u32,
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

    /// Makes a vacant slot, of which there must be one, a hole in no list, between two pieces.
    ///
    /// Its fields are written where they belong: a node that is made elsewhere is written in parts and
    /// read as a whole to be copied, for which a processor waits.
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

    /// Gives up a free piece that is in no list.
    #[inline]
    pub(super) fn vacate(&mut self, slot: u32) {
        self.at_mut(slot).list_next = *self.vacant;
        *self.vacant = slot;
    }

    /// Gives up a free piece that is in no list, if a condition holds, without a branch.
    #[inline(always)]
    pub(super) fn vacate_if(&mut self, condition: bool, slot: u32) {
        let vacant = *self.vacant;
        self.at_mut(select_unpredictable(condition, slot, NIL)).list_next = vacant;
        *self.vacant = select_unpredictable(condition, slot, vacant);
    }

    /// Puts a hole of `size` at the front of its class's list.
    #[inline(always)]
    pub(super) fn link(&mut self, slot: u32, size: u32) {
        let class = class(size);
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

    /// Makes one hole of a piece and its free neighbours; the lowest keeps its slot.
    ///
    /// Which of the neighbours are free is as good as random, and a branch on it would be guessed
    /// wrongly every other time. So both are treated as if they were, with something harmless in the
    /// place of one that is not.
    #[inline(always)]
    pub(super) fn merge(&mut self, slot: u32, node: &Node, left_is_free: bool, right_is_free: bool) {
        let left = select_unpredictable(left_is_free, node.prev, NO_HOLE);
        let right = select_unpredictable(right_is_free, node.next, NO_HOLE);
        let left_size = self.at(left).size;
        let Node { size: right_size, next: after_right, .. } = *self.at(right);
        self.unlink(left, class(left_size));
        self.unlink(right, class(right_size));
        let hole = select_unpredictable(left_is_free, left, slot);
        let after = select_unpredictable(right_is_free, after_right, node.next);
        let size = left_size + node.size + right_size;
        let merged = self.at_mut(hole);
        merged.size = size;
        merged.next = after;
        self.at_mut(after).prev = hole;
        self.vacate_if(left_is_free, slot);
        self.vacate_if(right_is_free, right);
        self.link(hole, size);
    }
}
