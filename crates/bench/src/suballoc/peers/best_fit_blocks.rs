//! Best fit over blocks: the reference for how much memory blocks take.

use super::best_fit::BestFit;
use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// One set of holes over all blocks. Blocks lie in one space of addresses, with a gap after each, so
/// that they never merge.
pub(super) struct BestFitBlocks {
    holes: BestFit,
    block_bytes: u64,
    gap: u64,
    /// Which blocks exist.
    blocks: Vec<bool>,
    /// A block that ran empty and is kept.
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
            // As much as a block, so that alignments hold in each block as in the first.
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
