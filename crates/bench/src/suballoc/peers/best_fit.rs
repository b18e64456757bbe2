//! Best fit on two ordered maps, over one range and over blocks: the reference for packing, without regard to time.

use std::collections::{BTreeMap, BTreeSet};

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// Allocates from the smallest hole that fits with the alignment, and among equal holes from the lowest.
pub(super) struct BestFit {
    granule: u64,
    /// Holes: offset to size.
    by_offset: BTreeMap<u64, u64>,
    /// Holes: (size, offset).
    by_size: BTreeSet<(u64, u64)>,
}

impl BestFit {
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
        let granule = trace.granule;
        let mut new = Self { granule, by_offset: BTreeMap::new(), by_size: BTreeSet::new() };
        new.insert(0, capacity / granule * granule);
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
}

/// Best fit with one set of holes for all blocks. The blocks are in one address space, with a gap of their size after each,
/// so that holes of different blocks never merge, and offsets in every block are aligned as in the first.
pub(super) struct BestFitBlocks {
    holes: BestFit,
    block_bytes: u64,
    /// Whether the block of each index exists.
    blocks: Vec<bool>,
    /// An empty block that is kept.
    spare: Option<usize>,
}

impl BestFitBlocks {
    fn start(&self, block: usize) -> u64 {
        block as u64 * 2 * self.block_bytes
    }

    fn is_empty(&self, block: usize) -> bool {
        self.holes.by_size.contains(&(self.block_bytes, self.start(block)))
    }

    fn add_block(&mut self) {
        let block = self.blocks.iter().position(|exists| !exists).unwrap_or(self.blocks.len());
        self.blocks.resize(self.blocks.len().max(block + 1), true);
        self.blocks[block] = true;
        self.holes.insert(self.start(block), self.block_bytes);
    }
}

impl Peer for BestFitBlocks {
    type Handle = (u64, u64);

    fn new(trace: &Trace, _capacity: u64) -> Self {
        let (holes, block_bytes) = (BestFit::new(trace, 0), trace.block_bytes);
        Self { holes, block_bytes, blocks: Vec::new(), spare: None }
    }

    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<(u64, u64)>> {
        let placed = self.holes.allocate(size, align).or_else(|| {
            self.add_block();
            self.holes.allocate(size, align)
        })?;
        let block = placed.offset / (2 * self.block_bytes);
        let start = self.start(block as usize);
        let taken = placed.taken.start - start..placed.taken.end - start;
        Some(Placed { block, offset: placed.offset - start, taken, ..placed })
    }

    fn free(&mut self, handle: (u64, u64)) {
        let block = (handle.0 / (2 * self.block_bytes)) as usize;
        self.holes.free(handle);
        if !self.is_empty(block) {
            return;
        }
        let spare = self.spare.filter(|&spare| spare != block && self.blocks[spare] && self.is_empty(spare));
        if let Some(spare) = spare {
            let gone = block.max(spare);
            self.holes.remove(self.start(gone), self.block_bytes);
            self.blocks[gone] = false;
        }
        self.spare = Some(spare.map_or(block, |spare| block.min(spare)));
    }

    fn reserved(&self) -> u64 {
        self.blocks.iter().filter(|exists| **exists).count() as u64 * self.block_bytes
    }
}
