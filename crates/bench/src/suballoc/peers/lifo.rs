//! The floor of all that reuse: a stack of free ranges for each size class, nothing merged.

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// Four classes to the power of two.
const CLASSES: usize = 256;

/// One stack of offsets for each size class.
pub(super) struct Lifo {
    stacks: Vec<Vec<u64>>,
    end: u64,
}

fn class(size: u64) -> u8 {
    let above = size.max(4) - 1;
    let log2 = above.ilog2();
    (log2 * 4 + (above >> log2.saturating_sub(2) & 3) as u32) as u8
}

impl Peer for Lifo {
    type Handle = (u64, u8);

    fn new(_trace: &Trace, _capacity: u64) -> Self {
        Self { stacks: vec![Vec::new(); CLASSES], end: 0 }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<(u64, u8)>> {
        let class = class(size.max(align));
        let offset = self.stacks[usize::from(class)].pop().unwrap_or_else(|| {
            self.end = self.end.wrapping_add(size);
            self.end
        });
        Some(Placed { handle: (offset, class), block: 0, offset, taken: 0..0 })
    }

    #[inline]
    fn free(&mut self, (offset, class): (u64, u8)) {
        self.stacks[usize::from(class)].push(offset);
    }

    fn reserved(&self) -> u64 {
        0
    }
}
