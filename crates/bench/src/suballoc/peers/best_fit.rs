//! Best fit on two ordered maps: the reference for packing, at any price.

use std::collections::{BTreeMap, BTreeSet};

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// Takes the smallest hole that fits with its alignment, and of equal ones the lowest.
pub(super) struct BestFit {
    capacity: u64,
    granule: u64,
    /// Holes: offset to size.
    by_offset: BTreeMap<u64, u64>,
    /// Holes: (size, offset).
    by_size: BTreeSet<(u64, u64)>,
}

impl BestFit {
    /// Without any memory.
    pub(super) fn empty(granule: u64) -> Self {
        Self { capacity: 0, granule, by_offset: BTreeMap::new(), by_size: BTreeSet::new() }
    }

    /// Adds memory.
    pub(super) fn add(&mut self, offset: u64, size: u64) {
        self.insert(offset, size);
        self.capacity += size;
    }

    /// Takes a hole away, if it is one: says whether it was.
    pub(super) fn take_away(&mut self, offset: u64, size: u64) -> bool {
        let is_hole = self.by_size.contains(&(size, offset));
        if is_hole {
            self.remove(offset, size);
            self.capacity -= size;
        }
        is_hole
    }

    fn insert(&mut self, offset: u64, size: u64) {
        if size > 0 {
            self.by_offset.insert(offset, size);
            self.by_size.insert((size, offset));
        }
    }

    fn remove(&mut self, offset: u64, size: u64) {
        self.by_offset.remove(&offset);
        self.by_size.remove(&(size, offset));
    }
}

impl Peer for BestFit {
    /// Offset and size.
    type Handle = (u64, u64);

    fn new(trace: &Trace, capacity: u64) -> Self {
        let mut new = Self::empty(trace.granule);
        new.add(0, capacity / trace.granule * trace.granule);
        new
    }

    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<(u64, u64)>> {
        let size = size.next_multiple_of(self.granule);
        let padding = |offset: u64| offset.next_multiple_of(align) - offset;
        let fits = |&&(hole, offset): &&(u64, u64)| padding(offset) + size <= hole;
        let &(hole, start) = self.by_size.range((size, 0)..).find(fits)?;
        let offset = start + padding(start);
        self.remove(start, hole);
        self.insert(start, offset - start);
        self.insert(offset + size, start + hole - offset - size);
        Some(Placed::new((offset, size), offset, size))
    }

    fn free(&mut self, (mut offset, mut size): (u64, u64)) {
        if let Some((&before, &hole)) = self.by_offset.range(..offset).next_back()
            && before + hole == offset
        {
            self.remove(before, hole);
            offset = before;
            size += hole;
        }
        if let Some(&hole) = self.by_offset.get(&(offset + size)) {
            self.remove(offset + size, hole);
            size += hole;
        }
        self.insert(offset, size);
    }

    fn reserved(&self) -> u64 {
        self.capacity
    }
}
