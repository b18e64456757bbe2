//! The crate `gpu-alloc`, over a device that only counts.

use std::borrow::Cow;
use std::cell::Cell;
use std::ptr::NonNull;

use gpu_alloc::{Config, GpuAllocator, MemoryBlock, Request, UsageFlags};
use gpu_alloc_types::{
    AllocationFlags, DeviceMapError, DeviceProperties, MappedMemoryRange, MemoryDevice, MemoryHeap,
    MemoryPropertyFlags, MemoryType, OutOfMemory,
};

use super::buddy::min_block;
use super::{Peer, Placed};
use crate::suballoc::trace::Trace;

/// What it does with lasting allocations.
pub(super) type Buddies = GpuAlloc<false>;
/// What it does with transient ones.
pub(super) type FreeLists = GpuAlloc<true>;

/// The allocator with its device.
pub(super) struct GpuAlloc<const TRANSIENT: bool> {
    allocator: GpuAllocator<Memory>,
    device: Device,
}

/// Memory that is not there.
#[derive(Debug)]
pub(super) struct Memory {
    number: u64,
    bytes: u64,
}

/// Counts the bytes that it gave out.
#[derive(Default)]
struct Device {
    made: Cell<u64>,
    bytes: Cell<u64>,
}

/// More than any trace needs: it must not decide anything.
const HEAP_BYTES: u64 = 1 << 60;

impl<const TRANSIENT: bool> GpuAlloc<TRANSIENT> {
    fn request(size: u64, align: u64) -> Request {
        let transient = if TRANSIENT { UsageFlags::TRANSIENT } else { UsageFlags::empty() };
        let usage = UsageFlags::FAST_DEVICE_ACCESS | transient;
        Request { size, align_mask: align - 1, usage, memory_types: 1 }
    }
}

impl<const TRANSIENT: bool> Peer for GpuAlloc<TRANSIENT> {
    type Handle = MemoryBlock<Memory>;

    fn new(trace: &Trace, _capacity: u64) -> Self {
        let block = trace.block_bytes;
        let config = Config {
            dedicated_threshold: block,
            preferred_dedicated_threshold: block,
            transient_dedicated_threshold: block,
            starting_free_list_chunk: block,
            final_free_list_chunk: block,
            minimal_buddy_size: min_block(trace),
            initial_buddy_dedicated_size: block,
        };
        let properties = DeviceProperties {
            memory_types: Cow::Owned(vec![MemoryType { heap: 0, props: MemoryPropertyFlags::DEVICE_LOCAL }]),
            memory_heaps: Cow::Owned(vec![MemoryHeap { size: HEAP_BYTES }]),
            max_memory_allocation_count: u32::MAX,
            max_memory_allocation_size: HEAP_BYTES,
            non_coherent_atom_size: 1,
            buffer_device_address: false,
        };
        Self { allocator: GpuAllocator::new(config, properties), device: Device::default() }
    }

    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Option<Placed<Self::Handle>> {
        // SAFETY: the allocator only ever meets this device, whose properties it was made with.
        let block = unsafe { self.allocator.alloc(&self.device, Self::request(size, align)) }.ok()?;
        let (number, offset) = (block.memory().number, block.offset());
        let taken = offset..offset + block.size();
        Some(Placed { handle: block, block: number, offset, taken })
    }

    #[inline]
    fn free(&mut self, block: Self::Handle) {
        // SAFETY: the block comes from this allocator and this device.
        unsafe { self.allocator.dealloc(&self.device, block) };
    }

    fn reserved(&self) -> u64 {
        self.device.bytes.get()
    }
}

impl<const TRANSIENT: bool> Drop for GpuAlloc<TRANSIENT> {
    fn drop(&mut self) {
        // SAFETY: the device is the one that all its memory comes from.
        unsafe { self.allocator.cleanup(&self.device) };
    }
}

impl MemoryDevice<Memory> for Device {
    unsafe fn allocate_memory(
        &self,
        size: u64,
        _memory_type: u32,
        _flags: AllocationFlags,
    ) -> Result<Memory, OutOfMemory> {
        self.made.set(self.made.get() + 1);
        self.bytes.set(self.bytes.get() + size);
        Ok(Memory { number: self.made.get(), bytes: size })
    }

    unsafe fn deallocate_memory(&self, memory: Memory) {
        self.bytes.set(self.bytes.get() - memory.bytes);
    }

    unsafe fn map_memory(&self, _: &mut Memory, _: u64, _: u64) -> Result<NonNull<u8>, DeviceMapError> {
        Err(DeviceMapError::MapFailed)
    }

    unsafe fn unmap_memory(&self, _: &mut Memory) {}

    unsafe fn invalidate_memory_ranges(
        &self,
        _: &[MappedMemoryRange<'_, Memory>],
    ) -> Result<(), OutOfMemory> {
        Ok(())
    }

    unsafe fn flush_memory_ranges(&self, _: &[MappedMemoryRange<'_, Memory>]) -> Result<(), OutOfMemory> {
        Ok(())
    }
}
