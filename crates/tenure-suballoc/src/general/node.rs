//! Pieces of the managed ranges, and the slab that holds them.

use alloc::vec;
use alloc::vec::Vec;
use core::hint::select_unpredictable;

/// No node. The slot exists, looks like a piece in use, and its links mean nothing, so that code may
/// read and write "the neighbour" at the end of a range or of a list without asking whether there is
/// one.
pub(super) const NIL: u32 = 0;

/// A hole without a size that is in no list, and can be taken out of it any number of times.
pub(super) const NO_HOLE: u32 = 1;

/// Slots that are no pieces.
pub(super) const SPECIAL: u32 = 2;

/// The piece before (by address) one that is in use is a hole.
pub(super) const LEFT: u32 = 1;
/// The piece after one that is in use is a hole.
pub(super) const RIGHT: u32 = 2;

/// A piece of a range, in use or free (a hole).
///
/// Half a cache line: allocating and freeing is mostly waiting for these.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Node {
    /// Neighbours in the class's list, or [`NIL`]. A piece in use is in no list, and has its padding
    /// and the state of its neighbours there.
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
    #[inline]
    pub(super) const fn is_free(&self) -> bool {
        self.tag & 1 == 0
    }

    /// Units at the beginning of a piece in use that are only there to align the rest.
    #[inline]
    pub(super) const fn padding(&self) -> u32 {
        self.list_prev
    }

    /// Which neighbours of a piece in use are holes: [`LEFT`], [`RIGHT`]. It is written down here
    /// because asking the neighbours would mean waiting for both of their cache lines.
    #[inline]
    pub(super) const fn free_sides(&self) -> u32 {
        self.list_next
    }

    /// Makes a hole, that is in no list, a piece in use.
    #[inline]
    pub(super) const fn occupy(&mut self, padding: u32, free_sides: u32) {
        self.tag = self.tag.wrapping_add(1);
        self.list_prev = padding;
        self.list_next = free_sides;
    }

    /// Where an allocation of `units` in this hole would begin, if it fits.
    #[inline]
    pub(super) const fn fit(&self, units: u32, align_mask: u32) -> Option<u32> {
        let offset = (self.offset + align_mask) & !align_mask;
        let padded = (offset - self.offset) as u64 + units as u64;
        if padded <= self.size as u64 { Some(offset) } else { None }
    }
}

/// Nodes by slot number. A slot stays where it is for as long as its piece exists.
#[derive(Debug)]
pub(super) struct Slab {
    nodes: Vec<Node>,
    /// The first hole of each class, or [`NIL`].
    firsts: Vec<u32>,
    /// First of the vacant slots, chained by `list_next`.
    vacant: u32,
    /// The tag of a slot that has never been used: above those of slots that were given back.
    fresh_tag: u32,
}

/// The slab grows by at least this part of its length: log₂ of 1/4. Doubling would leave half of it
/// unused.
const GROWTH: u32 = 2;
/// And by at least so many.
const LEAST_GROWTH: usize = 14;

impl Slab {
    /// A slab of empty lists for this many classes.
    pub(super) fn new(classes: u32) -> Self {
        let special = |tag| Node {
            list_prev: NIL,
            list_next: NIL,
            offset: 0,
            size: 0,
            prev: NIL,
            next: NIL,
            tag,
            block: 0,
        };
        // In the order of their numbers. NIL looks like a piece in use.
        Self {
            nodes: vec![special(1), special(0)],
            firsts: vec![NIL; classes as usize],
            vacant: NIL,
            fresh_tag: 0,
        }
    }

    /// Forgets all pieces, none of which may be in use, and gives back their memory. The tags go on
    /// where they were: no handle of before is good again.
    pub(super) fn clear(&mut self) {
        let tags = self.nodes.iter().skip(SPECIAL as usize).map(|node| node.tag & !1);
        self.fresh_tag = tags.fold(self.fresh_tag, u32::max);
        self.nodes.truncate(SPECIAL as usize);
        self.nodes.shrink_to_fit();
        self.firsts.fill(NIL);
        self.vacant = NIL;
    }

    /// The first hole in the list of a class, or NIL.
    #[inline]
    pub(super) fn first(&self, class: u32) -> u32 {
        self.firsts[class as usize]
    }

    /// How many classes there are.
    pub(super) fn classes(&self) -> u32 {
        self.firsts.len() as u32
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<&Node> {
        self.nodes.get(slot as usize)
    }

    #[inline]
    pub(super) fn at(&self, slot: u32) -> &Node {
        &self.nodes[slot as usize]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, slot: u32) -> &mut Node {
        &mut self.nodes[slot as usize]
    }

    pub(super) fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Makes room for `pieces` more.
    pub(super) fn reserve(&mut self, pieces: usize) {
        self.nodes.reserve(pieces);
    }

    /// Adds a hole that is in no list yet and has no neighbours.
    #[inline(always)]
    pub(super) fn insert(&mut self, offset: u32, size: u32, block: u32) -> u32 {
        let mut node =
            Node { list_prev: NIL, list_next: NIL, offset, size, prev: NIL, next: NIL, tag: 0, block };
        let slot = self.vacant;
        if slot == NIL {
            node.tag = self.fresh_tag;
            return self.push(node);
        }
        let place = self.at_mut(slot);
        let vacant = place.list_next;
        node.tag = place.tag;
        *place = node;
        self.vacant = vacant;
        slot
    }

    /// Adds a hole that is in no list yet, right after `prev` by address.
    #[inline(always)]
    pub(super) fn insert_after(&mut self, prev: u32, offset: u32, size: u32, block: u32) -> u32 {
        let slot = self.insert(offset, size, block);
        let next = self.at(prev).next;
        let node = self.at_mut(slot);
        node.prev = prev;
        node.next = next;
        self.at_mut(prev).next = slot;
        self.at_mut(next).prev = slot;
        slot
    }

    #[cold]
    fn push(&mut self, node: Node) -> u32 {
        let slot = self.len();
        if self.nodes.len() == self.nodes.capacity() {
            self.nodes.reserve_exact((self.nodes.len() >> GROWTH).max(LEAST_GROWTH));
        }
        self.nodes.push(node);
        slot
    }

    /// Gives up a free piece that is in no list.
    #[inline]
    pub(super) fn vacate(&mut self, slot: u32) {
        self.at_mut(slot).list_next = self.vacant;
        self.vacant = slot;
    }

    /// Gives up a free piece that is in no list, if a condition holds, without a branch.
    #[inline(always)]
    pub(super) fn vacate_if(&mut self, condition: bool, slot: u32) {
        let vacant = self.vacant;
        self.at_mut(select_unpredictable(condition, slot, NIL)).list_next = vacant;
        self.vacant = select_unpredictable(condition, slot, vacant);
    }

    /// Notes in a piece in use which of its neighbours is a hole now. Harmless on [`NIL`].
    #[inline(always)]
    pub(super) fn mark_free_side(&mut self, slot: u32, side: u32) {
        self.at_mut(slot).list_next |= side;
    }

    /// Notes in a piece in use which of its neighbours is a hole no more.
    #[inline(always)]
    pub(super) fn clear_free_side(&mut self, slot: u32, side: u32) {
        self.at_mut(slot).list_next &= !side;
    }

    /// Puts a hole at the front of a class's list.
    #[inline(always)]
    pub(super) fn link(&mut self, slot: u32, class: u32) {
        let first = core::mem::replace(&mut self.firsts[class as usize], slot);
        let node = self.at_mut(slot);
        node.list_prev = NIL;
        node.list_next = first;
        self.at_mut(first).list_prev = slot;
    }

    /// Takes a hole out of its class's list.
    #[inline(always)]
    pub(super) fn unlink(&mut self, slot: u32, class: u32) {
        let Node { list_prev, list_next, .. } = *self.at(slot);
        self.at_mut(list_prev).list_next = list_next;
        self.at_mut(list_next).list_prev = list_prev;
        let first = &mut self.firsts[class as usize];
        *first = select_unpredictable(*first == slot, list_next, *first);
    }

    /// How many slots are vacant.
    pub(super) fn vacant(&self) -> u32 {
        let mut slot = self.vacant;
        let mut count = 0;
        while slot != NIL {
            slot = self.at(slot).list_next;
            count += 1;
        }
        count
    }
}
