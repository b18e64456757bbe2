//! `General`.

use tenure_suballoc::{Allocation, General, Handle, Suballocator};

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// As it is made.
pub(super) type Growing = OneRange<false>;
/// With room for all nodes from the beginning, as `offset-allocator` has.
pub(super) type Reserved = OneRange<true>;

/// tenure's general allocator over one range.
pub(super) struct OneRange<const RESERVED: bool>(General);

impl<const RESERVED: bool> Peer for OneRange<RESERVED> {
    type Handle = Handle;

    fn new(trace: &Trace, capacity: u64) -> Self {
        match General::new(capacity, trace.granule) {
            Ok(mut general) => {
                if RESERVED {
                    general.reserve(trace.peak_live);
                }
                Self(general)
            }
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

    fn trim(&mut self) {
        self.0.trim();
    }

    fn reserved(&self) -> u64 {
        self.0.capacity()
    }
}

/// What one of tenure's allocators of one range says.
#[inline]
pub(super) fn placed(allocation: Allocation) -> Placed<Handle> {
    let Allocation { offset, size, padding, handle } = allocation;
    Placed { handle, block: 0, offset, taken: offset - padding..offset + size }
}
