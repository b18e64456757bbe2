//! Checks of all invariants of the general allocator.

use super::class::class;
use super::node::{NIL, SPECIAL};
use super::ranges::Ranges;
use crate::Inconsistency;
use crate::error::ensure;

impl Ranges {
    /// Walks the given ranges (anchor, block, units), which must be all ranges, and all
    /// lists.
    pub(super) fn validate(
        &self,
        ranges: impl Iterator<Item = (u32, u32, u32)>,
    ) -> Result<(), Inconsistency> {
        let mut pieces = 0;
        let mut holes = 0;
        let mut free = 0;
        for (anchor, block, units) in ranges {
            let walked = self.validate_range(anchor, block, units)?;
            pieces += 1 + walked.pieces;
            holes += walked.holes;
            free += self.free_units_from(anchor);
        }
        ensure!(free == self.free_units(), "{free} units are free, not {}", self.free_units());
        let listed = self.validate_lists()?;
        ensure!(holes == listed, "{listed} holes are listed, {holes} exist");
        let slots = SPECIAL + pieces + self.slab.vacant();
        ensure!(slots == self.slab.len(), "{} slots, not {slots}", self.slab.len());
        self.validate_nil()
    }

    fn validate_nil(&self) -> Result<(), Inconsistency> {
        let nil = self.slab.at(NIL);
        ensure!(!nil.is_free() && nil.size == 0, "NIL looks like a hole");
        ensure!(self.slab.first(0) == NIL, "a hole without a size is listed");
        Ok(())
    }

    fn validate_range(&self, anchor: u32, block: u32, units: u32) -> Result<Walked, Inconsistency> {
        let start = self.slab.at(anchor);
        ensure!(start.prev == NIL && start.size == 0, "slot {anchor}: a piece, not an anchor");
        ensure!(!start.is_free(), "slot {anchor}: an anchor that could be merged");
        let mut walked = Walked::default();
        let (mut before, mut slot, mut end, mut after_hole) = (anchor, start.next, 0, false);
        while slot != NIL {
            let node = self.slab.at(slot);
            ensure!(node.prev == before, "slot {slot}: its neighbour has no link to it");
            ensure!(node.block == block, "slot {slot}: in block {}, not {block}", node.block);
            ensure!(node.offset == end, "slot {slot}: begins at {}, not {end}", node.offset);
            ensure!(node.size > 0, "slot {slot}: empty");
            ensure!(!(after_hole && node.is_free()), "slot {slot}: two holes in a row");
            if !node.is_free() {
                ensure!(node.padding() < node.size, "slot {slot}: all padding");
            }
            walked.pieces += 1;
            walked.holes += u32::from(node.is_free());
            after_hole = node.is_free();
            end += node.size;
            (before, slot) = (slot, node.next);
        }
        ensure!(end == units, "block {block}: pieces make {end} units, not {units}");
        Ok(walked)
    }

    /// Counts the holes in all lists.
    fn validate_lists(&self) -> Result<u32, Inconsistency> {
        let mut holes = 0;
        for head in 1..self.slab.classes() {
            let (mut before, mut slot) = (NIL, self.slab.first(head));
            let is_empty = slot == NIL;
            ensure!(self.slab.is_marked(head) != is_empty, "class {head}: the mark and the list differ");
            while slot != NIL {
                let node = self.slab.at(slot);
                ensure!(node.list_prev == before, "slot {slot}: its list has no link to it");
                ensure!(node.is_free(), "slot {slot}: in use, but listed");
                ensure!(class(node.size) == head, "slot {slot}: in the list of another class");
                holes += 1;
                (before, slot) = (slot, node.list_next);
            }
        }
        Ok(holes)
    }

    /// Units that are free in the range of an anchor.
    pub(super) fn free_units_from(&self, anchor: u32) -> u64 {
        self.holes_of(anchor).map(|(_, size)| u64::from(size)).sum()
    }
}

#[derive(Default)]
struct Walked {
    pieces: u32,
    holes: u32,
}
