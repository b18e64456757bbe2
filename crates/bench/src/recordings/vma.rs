//! The crate `vk-mem`: AMD's Vulkan Memory Allocator.

use ash::vk::{self, Handle as _};
use tenure_trace::MemoryKind;
use vk_mem::{
    Alloc as _, Allocation, AllocationCreateInfo, Allocator, AllocatorCreateFlags, AllocatorCreateInfo,
};

use super::driver;
use super::play::Player;
use crate::Result;
use crate::script::Request;

/// Its allocator with default settings, but without its lock, because the others have none either.
pub(crate) struct Vma(pub(crate) Allocator);

impl Player for Vma {
    type Handle = Allocation;

    fn new() -> Result<Self> {
        let (instance, device, physical_device) = driver::install();
        let mut info = AllocatorCreateInfo::new(&instance, &device, physical_device);
        info.flags = AllocatorCreateFlags::EXTERNALLY_SYNCHRONIZED;
        info.vulkan_api_version = vk::API_VERSION_1_0;
        // SAFETY: the driver has the functions that it calls with this version and without extensions, and
        // they keep no pointers.
        Ok(Self(unsafe { Allocator::new(info) }?))
    }

    #[inline]
    fn allocate(&mut self, request: &Request) -> Result<Allocation> {
        let required_flags = match request.kind.memory {
            MemoryKind::GpuOnly => vk::MemoryPropertyFlags::DEVICE_LOCAL,
            MemoryKind::CpuToGpu => vk::MemoryPropertyFlags::HOST_VISIBLE,
            MemoryKind::GpuToCpu => vk::MemoryPropertyFlags::HOST_CACHED,
        };
        let info = AllocationCreateInfo { required_flags, ..AllocationCreateInfo::default() };
        // SAFETY: the requirements are those of something that could exist.
        Ok(unsafe { self.0.allocate_memory(&driver::requirements(request), &info) }?)
    }

    #[inline]
    fn free(&mut self, mut allocation: Allocation) -> Result {
        // SAFETY: handles come back to the allocator that made them, once, because they are moved.
        unsafe { self.0.free_memory(&mut allocation) };
        Ok(())
    }

    fn place(&self, allocation: &Allocation) -> (u64, u64) {
        let found = self.0.get_allocation_info(allocation);
        (found.device_memory.as_raw(), found.offset)
    }

    fn peak_reserved(&self) -> u64 {
        driver::peak()
    }

    fn driver_allocations(&self) -> u64 {
        driver::made()
    }
}
