//! `GeneralBlocks`.

use tenure_suballoc::{BlockSuballocator, GeneralBlocks, Handle};

use super::Peer;
use crate::suballoc::trace::Trace;

/// tenure's general allocator over blocks that are added as needed.
pub(super) struct Blocks {
    set: GeneralBlocks,
    block_bytes: u64,
}

impl Peer for Blocks {
    type Handle = Handle;

    fn new(trace: &Trace, _capacity: u64) -> Self {
        match GeneralBlocks::new(trace.granule) {
            Ok(set) => Self { set, block_bytes: trace.block_bytes },
            Err(error) => panic!("{}: {error}", trace.name),
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

/// Allocates, and adds a block when nothing fits.
#[inline]
pub(super) fn allocate_growing(
    set: &mut impl BlockSuballocator,
    block_bytes: u64,
    size: u64,
    align: u64,
) -> Option<Handle> {
    if let Ok(allocation) = set.allocate(size, align) {
        return Some(allocation.handle);
    }
    set.add_block(block_bytes).ok()?;
    set.allocate(size, align).ok().map(|allocation| allocation.handle)
}
