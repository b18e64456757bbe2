//! The crate `offset-allocator`.

use offset_allocator::{Allocation, Allocator};

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// The port of OffsetAllocator to Rust. It has no alignment parameter and 32-bit offsets: here they
/// count granules, and each request includes the largest padding.
pub(super) struct Offsets {
    allocator: Allocator,
    granule_log2: u32,
}

/// The default number of nodes; each allocation and each hole needs one.
const DEFAULT_NODES: u32 = 128 * 1024;

impl Peer for Offsets {
    type Handle = Allocation;

    fn new(trace: &Trace, capacity: u64) -> Self {
        let granule_log2 = trace.granule.trailing_zeros();
        let units = u32::try_from(capacity >> granule_log2).unwrap_or(u32::MAX);
        let nodes = (2 * trace.slots as u32).max(DEFAULT_NODES);
        Self { allocator: Allocator::with_max_allocs(units, nodes), granule_log2 }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Allocation>> {
        let units = ((size - 1) >> self.granule_log2) + 1;
        let padding = (align >> self.granule_log2).saturating_sub(1);
        let allocation = self.allocator.allocate((units + padding) as u32)?;
        let start = u64::from(allocation.offset) << self.granule_log2;
        let offset = (start + align - 1) & !(align - 1);
        let taken = start..start + ((units + padding) << self.granule_log2);
        Some(Placed { handle: allocation, block: 0, offset, taken })
    }

    #[inline]
    fn free(&mut self, allocation: Allocation) {
        self.allocator.free(allocation);
    }
}
