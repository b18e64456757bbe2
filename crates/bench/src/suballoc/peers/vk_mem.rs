//! The crate `vk-mem`: the virtual blocks of AMD's Vulkan Memory Allocator.

use vk_mem::{
    VirtualAllocation, VirtualAllocationCreateFlags, VirtualAllocationCreateInfo, VirtualBlock,
    VirtualBlockCreateFlags, VirtualBlockCreateInfo,
};

use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// Its general algorithm.
pub(super) type Tlsf = OneBlock<false>;
/// Its linear one, which is a ring when freed in order.
pub(super) type Linear = OneBlock<true>;

/// One virtual block.
pub(super) struct OneBlock<const LINEAR: bool>(VirtualBlock);

fn make(capacity: u64, is_linear: bool) -> Option<VirtualBlock> {
    let linear = VirtualBlockCreateFlags::VMA_VIRTUAL_BLOCK_CREATE_LINEAR_ALGORITHM_BIT;
    VirtualBlock::new(VirtualBlockCreateInfo {
        size: capacity,
        flags: if is_linear { linear } else { VirtualBlockCreateFlags::empty() },
        allocation_callbacks: None,
    })
    .ok()
}

/// A virtual block with the general algorithm.
pub(in crate::suballoc) fn make_virtual_block(capacity: u64) -> Option<VirtualBlock> {
    make(capacity, false)
}

/// Allocates in a virtual block.
#[inline]
pub(super) fn allocate_in(
    block: &mut VirtualBlock,
    size: u64,
    alignment: u64,
) -> Option<(VirtualAllocation, u64)> {
    let flags = VirtualAllocationCreateFlags::empty();
    let request = VirtualAllocationCreateInfo { size, alignment, user_data: 0, flags };
    // SAFETY: the request has a size above zero and an alignment that is a power of two.
    unsafe { block.allocate(request) }.ok()
}

/// Frees all allocations of this virtual block.
#[inline]
pub(super) fn free_in(block: &mut VirtualBlock, mut allocation: VirtualAllocation) {
    // SAFETY: handles come back to the block that made them, once, because they are moved.
    unsafe { block.free(&mut allocation) };
}

impl<const LINEAR: bool> Peer for OneBlock<LINEAR> {
    type Handle = VirtualAllocation;

    fn new(trace: &Trace, capacity: u64) -> Self {
        match make(capacity, LINEAR) {
            Some(block) => Self(block),
            None => panic!("{}: no virtual block of {capacity} bytes", trace.name),
        }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<VirtualAllocation>> {
        let (handle, offset) = allocate_in(&mut self.0, size, align)?;
        Some(Placed::new(handle, offset, size))
    }

    #[inline]
    fn free(&mut self, handle: VirtualAllocation) {
        free_in(&mut self.0, handle);
    }
}
