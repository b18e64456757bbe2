//! The storage of the pieces and of the lists of holes.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::bits::ClassBits;
use super::node::{NIL, Node, SPECIAL};
use super::pieces::Pieces;
use super::search::Found;

/// Nodes by slot number, and the lists of holes. A piece keeps its slot.
#[derive(Debug)]
pub(super) struct Slab {
    nodes: Vec<Node>,
    /// The first hole of each class, or [`NIL`].
    firsts: Box<[u32]>,
    /// Set for each class with a hole.
    used: ClassBits,
    /// First of the vacant slots, chained by `list_next`.
    vacant: u32,
    /// The tag of slots without an earlier piece. Not less than the tag of any removed slot.
    fresh_tag: u32,
}

/// The slab grows by at least this part of its length: log₂ of 1/8. Doubling would leave half of it
/// unused.
const GROWTH: u32 = 3;
/// The slab grows by at least this many nodes.
const LEAST_GROWTH: usize = 13;
/// The number of new slots made vacant at once; few, because one call takes the time for all.
const AT_ONCE: usize = 16;

impl Slab {
    /// A slab of empty lists for this many classes.
    pub(super) fn new(classes: u32) -> Self {
        Self {
            // NIL looks like a piece in use.
            nodes: vec![Node::blank(1)],
            firsts: vec![NIL; classes as usize].into_boxed_slice(),
            used: ClassBits::new(),
            vacant: NIL,
            fresh_tag: 0,
        }
    }

    /// Removes all pieces, and frees the memory of all nodes but `kept`. No piece may be in use. New tags begin
    /// above the old ones, so that no old handle becomes valid again.
    pub(super) fn clear(&mut self, kept: usize) {
        let tags = self.nodes.iter().skip(SPECIAL as usize).map(|node| node.tag & !1);
        self.fresh_tag = tags.fold(self.fresh_tag, u32::max);
        self.nodes.truncate(SPECIAL as usize);
        self.nodes.shrink_to(kept);
        self.firsts.fill(NIL);
        self.used = ClassBits::new();
        self.vacant = NIL;
    }

    /// Makes all slots vacant. The tags of pieces in use increase, as when they are freed.
    pub(super) fn vacate(&mut self) {
        self.firsts.fill(NIL);
        self.used = ClassBits::new();
        self.vacant = NIL;
        for (slot, node) in self.nodes.iter_mut().enumerate().skip(SPECIAL as usize).rev() {
            if !node.is_free() {
                node.tag = node.tag.wrapping_add(1);
            }
            node.list_next = self.vacant;
            self.vacant = slot as u32;
        }
    }

    /// Frees the memory of vacant slots behind the last piece, but keeps that of `kept` nodes in all. The vacant
    /// slots before it are reused from the lowest on, so that the next trim can free more.
    ///
    /// O(slots).
    pub(super) fn trim(&mut self, kept: usize) {
        self.mark_vacant();
        let last = self.nodes.iter().rposition(|node| !is_marked_vacant(node)).unwrap_or(0);
        let gone = self.nodes.drain(last + 1..);
        self.fresh_tag = gone.map(|node| node.tag).fold(self.fresh_tag, u32::max);
        self.nodes.shrink_to(kept);
        self.vacant = NIL;
        for (slot, node) in self.nodes.iter_mut().enumerate().rev().filter(|(_, node)| is_marked_vacant(node))
        {
            node.list_next = self.vacant;
            self.vacant = slot as u32;
        }
    }

    /// Marks vacant slots as holes of size 0; pieces are never empty.
    fn mark_vacant(&mut self) {
        let mut slot = self.vacant;
        while slot != NIL {
            let node = &mut self.nodes[slot as usize];
            node.size = 0;
            slot = node.list_next;
        }
    }

    /// The whole slab, with at least one vacant slot.
    #[inline(always)]
    pub(super) fn pieces_and_room(&mut self) -> Pieces<'_> {
        if self.vacant == NIL {
            self.grow();
        }
        self.pieces()
    }

    /// The nodes by slot number.
    #[inline]
    pub(super) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The whole slab.
    #[inline(always)]
    pub(super) fn pieces(&mut self) -> Pieces<'_> {
        Pieces {
            nodes: &mut self.nodes,
            firsts: &mut self.firsts,
            used: &mut self.used,
            vacant: &mut self.vacant,
        }
    }

    /// Adds vacant slots when there are none.
    #[cold]
    fn grow(&mut self) {
        let first = self.nodes.len();
        if first == self.nodes.capacity() {
            self.nodes.reserve_exact((first >> GROWTH).max(LEAST_GROWTH));
        }
        let last = (first + AT_ONCE).min(self.nodes.capacity()) - 1;
        self.vacant = first as u32;
        for slot in first..=last {
            let next = if slot < last { slot as u32 + 1 } else { NIL };
            self.nodes.push(Node { list_next: next, ..Node::blank(self.fresh_tag) });
        }
    }

    /// Allocates memory for `pieces` more and touches its pages, so that later allocations need none from the
    /// heap or from the operating system.
    pub(super) fn reserve(&mut self, pieces: usize) {
        let (len, before) = (self.nodes.len(), self.nodes.capacity());
        self.nodes.reserve(pieces);
        if self.nodes.capacity() > before {
            self.nodes.resize(self.nodes.capacity(), Node::blank(0));
            self.nodes.truncate(len);
        }
    }

    /// The first hole of the first class that has one, from `class` on.
    #[inline(always)]
    pub(super) fn first_hole(&self, class: u32) -> Option<Found> {
        let class = self.used.first_from(class)?;
        Some(Found { class, hole: self.first(class) })
    }

    /// The last class that has a hole.
    pub(super) fn last_class(&self) -> Option<u32> {
        self.used.descending().find(|&class| self.first(class) != NIL)
    }

    /// The first hole in the list of a class, or NIL.
    #[inline]
    pub(super) fn first(&self, class: u32) -> u32 {
        self.firsts[class as usize]
    }

    /// The number of classes.
    pub(super) fn classes(&self) -> u32 {
        self.firsts.len() as u32
    }

    /// Whether a class is marked as one with holes.
    pub(super) fn is_marked(&self, class: u32) -> bool {
        self.used.contains(class)
    }

    #[inline]
    pub(super) fn at(&self, slot: u32) -> &Node {
        &self.nodes[slot as usize]
    }

    pub(super) fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// Whether there are more slots than this number of pieces needs, with the growth step on top.
    pub(super) fn has_more_than(&self, pieces: usize) -> bool {
        self.nodes.len() >= SPECIAL as usize + pieces + AT_ONCE
    }

    /// The number of vacant slots.
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

/// Whether it is a slot that [`Slab::mark_vacant`] has marked.
const fn is_marked_vacant(node: &Node) -> bool {
    node.is_free() && node.size == 0
}
