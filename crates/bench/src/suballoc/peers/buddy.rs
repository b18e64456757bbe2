//! `Buddy`.

use tenure_suballoc::{Buddy, Handle, Suballocator};

use super::general::placed;
use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// tenure's buddy allocator over one range.
pub(super) struct OneBuddy(Buddy);

/// Where the granule is as fine as a byte or so, a buddy's metadata for each would dwarf the rest;
/// it then rounds up to this.
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
