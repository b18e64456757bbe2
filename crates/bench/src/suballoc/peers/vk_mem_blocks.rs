//! The crate `vk-mem` over blocks, one virtual block each.

use vk_mem::{VirtualAllocation, VirtualBlock};

use super::vk_mem::{allocate_in, free_in, make_virtual_block};
use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// Blocks are tried in turn, from the first, as its own pools do; one that is empty is kept.
pub(super) struct VkMemBlocks {
    blocks: Vec<Option<Block>>,
    block_bytes: u64,
    /// How many blocks exist, and how many of them are empty.
    existing: u64,
    empty: u32,
}

struct Block {
    virtual_block: VirtualBlock,
    free_bytes: u64,
}

impl VkMemBlocks {
    /// Adds a block; `None` when the library refuses.
    fn add_block(&mut self) -> Option<usize> {
        let virtual_block = make_virtual_block(self.block_bytes)?;
        let place = self.blocks.iter().position(Option::is_none).unwrap_or(self.blocks.len());
        if place == self.blocks.len() {
            self.blocks.push(None);
        }
        self.blocks[place] = Some(Block { virtual_block, free_bytes: self.block_bytes });
        self.existing += 1;
        self.empty += 1;
        Some(place)
    }

    #[inline]
    fn allocate_at(&mut self, place: usize, size: u64, align: u64) -> Option<Placed<Placing>> {
        let block = self.blocks[place].as_mut()?;
        // Its pools look at this before they ask.
        if block.free_bytes < size {
            return None;
        }
        let (allocation, offset) = allocate_in(&mut block.virtual_block, size, align)?;
        if block.free_bytes == self.block_bytes {
            self.empty -= 1;
        }
        block.free_bytes -= size;
        let placed = Placed::new(Placing { allocation, place, size }, offset, size);
        Some(Placed { block: place as u64, ..placed })
    }
}

/// An allocation, the block that it is in, and its bytes.
pub(super) struct Placing {
    allocation: VirtualAllocation,
    place: usize,
    size: u64,
}

impl Peer for VkMemBlocks {
    type Handle = Placing;

    fn new(trace: &Trace, _capacity: u64) -> Self {
        Self { blocks: Vec::new(), block_bytes: trace.block_bytes, existing: 0, empty: 0 }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Placing>> {
        for place in 0..self.blocks.len() {
            if let Some(placed) = self.allocate_at(place, size, align) {
                return Some(placed);
            }
        }
        let place = self.add_block()?;
        self.allocate_at(place, size, align)
    }

    #[inline]
    fn free(&mut self, Placing { allocation, place, size }: Placing) {
        let Some(block) = &mut self.blocks[place] else { return };
        free_in(&mut block.virtual_block, allocation);
        block.free_bytes += size;
        if block.free_bytes < self.block_bytes {
            return;
        }
        if self.empty == 0 {
            self.empty = 1;
        } else {
            self.blocks[place] = None;
            self.existing -= 1;
        }
    }

    fn reserved(&self) -> u64 {
        self.existing * self.block_bytes
    }
}
