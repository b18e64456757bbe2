//! tenure's ring.

use tenure_suballoc::Ring;

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;
use crate::suballoc::workloads::FRAMES_LIVE;

/// tenure's ring, which frees whole frames: the free of a single allocation does nothing.
pub(super) struct FrameRing {
    ring: Ring<usize>,
    frame: usize,
}

impl Peer for FrameRing {
    type Handle = u64;

    fn new(_trace: &Trace, capacity: u64) -> Self {
        Self { ring: Ring::new(capacity), frame: 0 }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<u64>> {
        self.ring.allocate(size, align).map(|offset| Placed::new(offset, offset, size))
    }

    #[inline]
    fn free(&mut self, _offset: u64) {}

    fn end_frame(&mut self) {
        self.ring.close(self.frame);
        self.frame += 1;
        let live_from = (self.frame + 1).saturating_sub(FRAMES_LIVE);
        self.ring.release_while(|&frame| frame < live_from);
    }
}
