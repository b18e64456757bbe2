//! The lowest floor: a counter, which never frees.

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// Counts up, and round.
pub(super) struct Bump(u64);

impl Peer for Bump {
    type Handle = u64;

    fn new(_trace: &Trace, _capacity: u64) -> Self {
        Self(0)
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<u64>> {
        let offset = self.0.wrapping_add(align - 1) & !(align - 1);
        self.0 = offset.wrapping_add(size);
        Some(Placed { handle: offset, block: 0, offset, taken: 0..0 })
    }

    #[inline]
    fn free(&mut self, offset: u64) {
        std::hint::black_box(offset);
    }

    fn reserved(&self) -> u64 {
        0
    }
}
