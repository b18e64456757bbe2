//! `Growing<Buddy>`.

use tenure_suballoc::{BlockId, BlockSuballocator, Buddy, Growing, Handle};

use super::buddy::min_block;
use super::general_blocks::{allocate_growing, free_shrinking};
use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// tenure's buddy allocator over blocks that are added as needed.
pub(super) struct Buddies {
    set: Growing<Buddy>,
    block_bytes: u64,
    spare: Option<BlockId>,
}

impl Peer for Buddies {
    type Handle = Handle;

    fn new(trace: &Trace, _capacity: u64) -> Self {
        let min_block = min_block(trace);
        Self {
            set: Growing::new(move |capacity| Buddy::with_min_block(capacity, min_block)),
            block_bytes: trace.block_bytes,
            spare: None,
        }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Handle>> {
        allocate_growing(&mut self.set, self.block_bytes, size, align)
    }

    #[inline]
    fn free(&mut self, handle: Handle) {
        free_shrinking(&mut self.set, &mut self.spare, handle);
    }

    fn trim(&mut self) {
        self.set.trim(&mut Vec::new());
    }

    fn reserved(&self) -> u64 {
        self.set.capacity()
    }
}
