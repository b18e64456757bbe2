//! tenure's buddy allocator, over one range and over blocks.

use tenure_suballoc::{BlockId, BlockSuballocator, Buddy, Growing, Handle, Suballocator};

use super::general::{allocate_growing, free_shrinking, placed};
use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// tenure's buddy allocator over one range.
pub(super) struct OneBuddy(Buddy);

/// The minimum of the smallest block: with a granule of a few bytes, the metadata of the buddy allocator
/// would be larger than the memory that it manages.
const LEAST_BLOCK: u64 = 64;

/// The smallest block for a trace.
pub(super) fn min_block(trace: &Trace) -> u64 {
    trace.granule.max(LEAST_BLOCK)
}

impl Peer for OneBuddy {
    type Handle = Handle;

    fn new(trace: &Trace, capacity: u64) -> Self {
        match Buddy::with_min_block(capacity, min_block(trace)) {
            Ok(buddy) => Self(buddy),
            Err(error) => panic!("{}: {error}", trace.name),
        }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Handle>> {
        self.0.allocate(size, align).ok().map(placed)
    }

    #[inline]
    fn free(&mut self, handle: Handle) {
        std::hint::black_box(self.0.free(handle).is_ok());
    }

    fn reserved(&self) -> u64 {
        self.0.capacity()
    }
}

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
