//! `Growing<Buddy>`.

use tenure_suballoc::{BlockSuballocator, Buddy, Growing, Handle};

use super::Peer;
use super::buddy::min_block;
use super::general_blocks::allocate_growing;
use crate::suballoc::trace::Trace;

/// tenure's buddy allocator over blocks that are added as needed.
pub(super) struct Buddies {
    set: Growing<Buddy>,
    block_bytes: u64,
}

impl Peer for Buddies {
    type Handle = Handle;

    fn new(trace: &Trace, _capacity: u64) -> Self {
        let min_block = min_block(trace);
        Self {
            set: Growing::new(move |capacity| Buddy::with_min_block(capacity, min_block)),
            block_bytes: trace.block_bytes,
        }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Handle> {
        allocate_growing(&mut self.set, self.block_bytes, size, align)
    }

    #[inline]
    fn free(&mut self, handle: Handle) {
        std::hint::black_box(self.set.free(handle).is_ok());
    }

    fn reserved(&self) -> u64 {
        self.set.capacity()
    }
}
