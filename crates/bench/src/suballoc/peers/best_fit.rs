//! Best fit on two ordered maps, over one range and over blocks: the reference for packing, without
//! regard to time.

use std::collections::{BTreeMap, BTreeSet};

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// Allocates from the smallest hole that fits with the alignment, and among equal holes from the lowest.
pub(super) struct BestFit {
    capacity: u64,
    granule: u64,
    /// Holes: offset to size.
    by_offset: BTreeMap<u64, u64>,
    /// Holes: (size, offset).
    by_size: BTreeSet<(u64, u64)>,
}

impl BestFit {
    /// An allocator without memory.
    pub(super) fn empty(granule: u64) -> Self {
        Self { capacity: 0, granule, by_offset: BTreeMap::new(), by_size: BTreeSet::new() }
    }

    /// Adds memory.
    pub(super) fn add(&mut self, offset: u64, size: u64) {
        self.insert(offset, size);
        self.capacity += size;
    }

    /// Removes the memory if it is a single hole; returns whether it was.
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

/// Best fit with one set of holes for all blocks. The blocks are in one address space, with a gap after
/// each, so that holes of different blocks never merge.
pub(super) struct BestFitBlocks {
    holes: BestFit,
    block_bytes: u64,
    gap: u64,
    /// Whether the block of each index exists.
    blocks: Vec<bool>,
    /// An empty block that is kept.
    spare: Option<usize>,
}

impl BestFitBlocks {
    fn stride(&self) -> u64 {
        self.block_bytes + self.gap
    }

    fn add_block(&mut self) {
        let block = self.blocks.iter().position(|exists| !exists).unwrap_or(self.blocks.len());
        if block == self.blocks.len() {
            self.blocks.push(false);
        }
        self.blocks[block] = true;
        self.holes.add(block as u64 * self.stride(), self.block_bytes);
    }

    fn remove_if_empty(&mut self, block: usize) {
        self.blocks[block] = !self.holes.take_away(block as u64 * self.stride(), self.block_bytes);
    }

    fn is_empty(&mut self, block: usize) -> bool {
        let offset = block as u64 * self.stride();
        let is_empty = self.holes.take_away(offset, self.block_bytes);
        if is_empty {
            self.holes.add(offset, self.block_bytes);
        }
        is_empty
    }
}

impl Peer for BestFitBlocks {
    type Handle = (u64, u64);

    fn new(trace: &Trace, _capacity: u64) -> Self {
        Self {
            holes: BestFit::empty(trace.granule),
            block_bytes: trace.block_bytes,
            // The size of a block, so that offsets in every block are aligned as in the first.
            gap: trace.block_bytes,
            blocks: Vec::new(),
            spare: None,
        }
    }

    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<(u64, u64)>> {
        let placed = self.holes.allocate(size, align).or_else(|| {
            self.add_block();
            self.holes.allocate(size, align)
        })?;
        let block = placed.offset / self.stride();
        let start = block * self.stride();
        let taken = placed.taken.start - start..placed.taken.end - start;
        Some(Placed { block, offset: placed.offset - start, taken, ..placed })
    }

    fn free(&mut self, handle: (u64, u64)) {
        let block = (handle.0 / self.stride()) as usize;
        self.holes.free(handle);
        if !self.is_empty(block) {
            return;
        }
        let spare = self.spare.filter(|&spare| spare != block && self.blocks[spare]);
        match spare {
            Some(spare) if self.is_empty(spare) => {
                self.remove_if_empty(block.max(spare));
                self.spare = Some(block.min(spare));
            }
            _ => self.spare = Some(block),
        }
    }

    fn reserved(&self) -> u64 {
        self.holes.reserved()
    }
}
