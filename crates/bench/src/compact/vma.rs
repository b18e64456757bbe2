//! AMD's Vulkan Memory Allocator, by the crate `vk-mem`: `FLAG` is the algorithm.

use std::time::Instant;

use ash::prelude::VkResult;
use ash::vk::{self, Handle as _};
use tenure_trace::MemoryKind;
use vk_mem::{
    Alloc as _, Allocation, AllocationCreateInfo, Allocator, AllocatorCreateFlags, AllocatorCreateInfo,
    DefragmentationContext,
};

use super::{Compactor, FRAME_BYTES, FRAME_MOVES, Frames};
use crate::recordings::driver;
use crate::recordings::script::Request;
use crate::suballoc::singles::nanoseconds;

/// Its allocator as it is by default, but for its lock: the others have none either.
pub(super) struct Vma<const FLAG: u32>(Allocator);

/// A description of a defragmentation in which everything is 0: the crate does not say the name of its type.
fn nothing<'a, T>(_: unsafe fn(&'a Allocator, &T) -> VkResult<DefragmentationContext<'a>>) -> T {
    // SAFETY: the one such description is a structure of C of numbers, pointers and an optional function.
    unsafe { std::mem::zeroed() }
}

impl<const FLAG: u32> Compactor for Vma<FLAG> {
    type Handle = Allocation;

    fn new() -> Result<Self, String> {
        let (instance, device, physical_device) = driver::install();
        let mut info = AllocatorCreateInfo::new(&instance, &device, physical_device);
        info.flags = AllocatorCreateFlags::EXTERNALLY_SYNCHRONIZED;
        info.vulkan_api_version = vk::API_VERSION_1_0;
        // SAFETY: the driver has the functions that it calls with this version and without extensions, and
        // they keep no pointers.
        unsafe { Allocator::new(info) }.map(Self).map_err(|error| error.to_string())
    }

    fn allocate(&mut self, request: &Request) -> Result<Allocation, String> {
        let required_flags = match request.kind.memory {
            MemoryKind::GpuOnly => vk::MemoryPropertyFlags::DEVICE_LOCAL,
            MemoryKind::CpuToGpu => vk::MemoryPropertyFlags::HOST_VISIBLE,
            MemoryKind::GpuToCpu => vk::MemoryPropertyFlags::HOST_CACHED,
        };
        let info = AllocationCreateInfo { required_flags, ..AllocationCreateInfo::default() };
        // SAFETY: the requirements are those of something that could exist.
        unsafe { self.0.allocate_memory(&driver::requirements(request), &info) }
            .map_err(|error| error.to_string())
    }

    fn free(&mut self, mut allocation: Allocation) -> Result<(), String> {
        // SAFETY: handles come back to the allocator that made them, once, because they are moved.
        unsafe { self.0.free_memory(&mut allocation) };
        Ok(())
    }

    fn place(&self, allocation: &Allocation) -> (u64, u64) {
        let found = self.0.get_allocation_info(allocation);
        (found.device_memory.as_raw(), found.offset)
    }

    fn reserved(&self) -> u64 {
        driver::taken()
    }

    /// The handles stay what they are, and say another place afterwards.
    fn compact(&mut self, _: &mut [Option<Allocation>]) -> Result<Frames, String> {
        let mut info = nothing(Allocator::begin_defragmentation);
        info.flags = FLAG;
        info.maxBytesPerPass = FRAME_BYTES;
        info.maxAllocationsPerPass = FRAME_MOVES;
        // SAFETY: nobody uses what is allocated.
        let context = unsafe { self.0.begin_defragmentation(&info) }.map_err(|error| error.to_string())?;
        let mut frames = Frames::default();
        loop {
            let start = Instant::now();
            let goes_on = context.begin_pass(|_| ());
            frames.times.push(nanoseconds(start));
            if !goes_on {
                break;
            }
        }
        let done = context.end();
        (frames.moves, frames.bytes) = (done.allocationsMoved.into(), done.bytesMoved);
        Ok(frames)
    }
}
