//! tenure's set of blocks, with nothing above it.

use tenure_suballoc::{BlockId, BlockSuballocator as _, GeneralBlocks, Handle};
use tenure_trace::MemoryKind;

use super::play::Player;
use crate::script::Request;
use crate::suballoc::peers::general::{allocate_growing, free_shrinking};

/// What ranges are counted in, in bytes.
const GRANULE: u64 = 16;
/// Bytes of a block, unless the request is larger.
const BLOCK: u64 = 64 << 20;

/// A set for each kind of memory. One block that ran empty is kept.
pub(super) struct Blocks {
    sets: [Set; MemoryKind::ALL.len()],
    peak_reserved: u64,
}

struct Set {
    blocks: GeneralBlocks,
    spare: Option<BlockId>,
}

/// An allocation: its set, what frees it, its block and its first byte.
pub(super) struct Range {
    set: usize,
    handle: Handle,
    block: u64,
    offset: u64,
}

impl Player for Blocks {
    type Handle = Range;

    fn new() -> Result<Self, String> {
        let set = || GeneralBlocks::new(GRANULE).map(|blocks| Set { blocks, spare: None });
        let sets = [set(), set(), set()];
        let [Ok(local), Ok(upload), Ok(readback)] = sets else { return Err("no such granule".to_owned()) };
        Ok(Self { sets: [local, upload, readback], peak_reserved: 0 })
    }

    #[inline]
    fn allocate(&mut self, request: &Request) -> Result<Range, String> {
        let set = request.kind.memory as usize;
        let blocks = &mut self.sets[set].blocks;
        let held = blocks.capacity();
        let block_bytes = request.size.next_multiple_of(GRANULE).max(BLOCK);
        let found = allocate_growing(blocks, block_bytes, request.size, request.align);
        let found = found.ok_or_else(|| format!("no room for {request:?}"))?;
        if blocks.capacity() > held {
            let reserved = self.sets.iter().map(|set| set.blocks.capacity()).sum();
            self.peak_reserved = self.peak_reserved.max(reserved);
        }
        Ok(Range { set, handle: found.handle, block: found.block, offset: found.offset })
    }

    #[inline]
    fn free(&mut self, range: Range) -> Result<(), String> {
        let Set { blocks, spare } = &mut self.sets[range.set];
        free_shrinking(blocks, spare, range.handle);
        Ok(())
    }

    fn place(&self, range: &Range) -> (u64, u64) {
        ((range.set as u64) << 32 | range.block, range.offset)
    }

    fn peak_reserved(&self) -> u64 {
        self.peak_reserved
    }
}
