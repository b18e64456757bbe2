//! Lower bounds for the time of an allocator: neither of these manages memory.

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// A counter that wraps around; a free does nothing.
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
}

/// The number of size classes: four for each power of two.
const CLASSES: usize = 256;

/// A stack of free offsets for each size class, without merging: the lower bound for allocators that
/// reuse memory.
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
}
