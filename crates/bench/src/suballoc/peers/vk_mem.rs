//! The crate `vk-mem`: the virtual blocks of AMD's Vulkan Memory Allocator.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::c_void;
use std::ptr;

use ash::vk;
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
pub(super) struct OneBlock<const LINEAR: bool> {
    block: VirtualBlock,
    capacity: u64,
}

/// A virtual block that takes its own memory from Rust's allocator, where it is counted.
fn make(capacity: u64, is_linear: bool) -> Option<VirtualBlock> {
    let callbacks = vk::AllocationCallbacks {
        pfn_allocation: Some(allocate),
        pfn_reallocation: Some(reallocate),
        pfn_free: Some(free),
        ..vk::AllocationCallbacks::default()
    };
    let linear = VirtualBlockCreateFlags::VMA_VIRTUAL_BLOCK_CREATE_LINEAR_ALGORITHM_BIT;
    VirtualBlock::new(VirtualBlockCreateInfo {
        size: capacity,
        flags: if is_linear { linear } else { VirtualBlockCreateFlags::empty() },
        allocation_callbacks: Some(&callbacks),
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

/// Frees what was allocated in this virtual block.
#[inline]
pub(super) fn free_in(block: &mut VirtualBlock, mut allocation: VirtualAllocation) {
    // SAFETY: handles come back to the block that made them, once, because they are moved.
    unsafe { block.free(&mut allocation) };
}

impl<const LINEAR: bool> Peer for OneBlock<LINEAR> {
    type Handle = VirtualAllocation;

    fn new(trace: &Trace, capacity: u64) -> Self {
        match make(capacity, LINEAR) {
            Some(block) => Self { block, capacity },
            None => panic!("{}: no virtual block of {capacity} bytes", trace.name),
        }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<VirtualAllocation>> {
        let (handle, offset) = allocate_in(&mut self.block, size, align)?;
        Some(Placed::new(handle, offset, size))
    }

    #[inline]
    fn free(&mut self, handle: VirtualAllocation) {
        free_in(&mut self.block, handle);
    }

    fn reserved(&self) -> u64 {
        self.capacity
    }
}

/// Before each piece of memory for the library lie its length and where it really begins.
const NOTE: usize = size_of::<[usize; 2]>();

unsafe extern "system" fn allocate(
    _: *mut c_void,
    size: usize,
    align: usize,
    _: vk::SystemAllocationScope,
) -> *mut c_void {
    let align = align.max(NOTE);
    let Ok(layout) = Layout::from_size_align(size.saturating_add(align), align) else {
        return ptr::null_mut();
    };
    // SAFETY: the layout has a size of at least `align`, which is above zero.
    let start = unsafe { alloc(layout) };
    if start.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: `align` bytes lie before the result, of which the note takes the last; as `align` is at
    // least the note's size, and both are powers of two, the note is aligned.
    unsafe {
        let memory = start.add(align);
        memory.sub(NOTE).cast::<[usize; 2]>().write([layout.size(), align]);
        memory.cast()
    }
}

/// The library never calls it; the callbacks would be incomplete without.
unsafe extern "system" fn reallocate(
    _: *mut c_void,
    _: *mut c_void,
    _: usize,
    _: usize,
    _: vk::SystemAllocationScope,
) -> *mut c_void {
    ptr::null_mut()
}

unsafe extern "system" fn free(_: *mut c_void, memory: *mut c_void) {
    if memory.is_null() {
        return;
    }
    let memory = memory.cast::<u8>();
    // SAFETY: `memory` comes from `allocate`, which left the note.
    let [size, align] = unsafe { memory.sub(NOTE).cast::<[usize; 2]>().read() };
    if let Ok(layout) = Layout::from_size_align(size, align) {
        // SAFETY: this is how `allocate` came by it.
        unsafe { dealloc(memory.sub(align), layout) };
    }
}
