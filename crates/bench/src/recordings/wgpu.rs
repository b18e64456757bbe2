//! The allocators that wgpu can use: the crate `gpu-allocator`, the original and tenure's drop-in for it.

use tenure_trace::{Layout, MemoryKind};

use super::play::Player;
use crate::Result;
use crate::script::Request;

const MIB: u64 = 1 << 20;

/// The implementation for both: their APIs are identical.
macro_rules! player {
    ($(#[$doc:meta])* $name:ident, $krate:ident) => {
        pub(super) mod $krate {
            use ::$krate::vulkan::{
                Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc,
            };
            use ::$krate::{AllocationSizes, AllocatorDebugSettings, MemoryLocation};
            use ash::vk::Handle as _;

            use super::{Layout, MIB, MemoryKind, Player, Request, Result};
            use crate::recordings::driver;

            $(#[$doc])*
            pub(in crate::recordings) struct $name(Allocator);

            impl Player for $name {
                type Handle = Allocation;

                fn new() -> Result<Self> {
                    let (instance, device, physical_device) = driver::install();
                    Ok(Self(Allocator::new(&AllocatorCreateDesc {
                        instance,
                        device,
                        physical_device,
                        debug_settings: AllocatorDebugSettings::default(),
                        buffer_device_address: false,
                        allocation_sizes: AllocationSizes::new(128 * MIB, 64 * MIB)
                            .with_max_device_memblock_size(256 * MIB)
                            .with_max_host_memblock_size(128 * MIB),
                    })?))
                }

                #[inline]
                fn allocate(&mut self, request: &Request) -> Result<Allocation> {
                    let desc = AllocationCreateDesc {
                        name: "(wgpu internal) Staging",
                        requirements: driver::requirements(request),
                        location: match request.kind.memory {
                            MemoryKind::GpuOnly => MemoryLocation::GpuOnly,
                            MemoryKind::CpuToGpu => MemoryLocation::CpuToGpu,
                            MemoryKind::GpuToCpu => MemoryLocation::GpuToCpu,
                        },
                        linear: request.kind.layout == Layout::Linear,
                        allocation_scheme: AllocationScheme::GpuAllocatorManaged,
                    };
                    Ok(self.0.allocate(&desc)?)
                }

                #[inline]
                fn free(&mut self, allocation: Allocation) -> Result {
                    Ok(self.0.free(allocation)?)
                }

                fn place(&self, allocation: &Allocation) -> (u64, u64) {
                    // SAFETY: the handle is only read.
                    (unsafe { allocation.memory() }.as_raw(), allocation.offset())
                }

                fn peak_reserved(&self) -> u64 {
                    driver::peak()
                }

                fn driver_allocations(&self) -> u64 {
                    driver::made()
                }
            }
        }
    };
}

player!(
    /// The original, with the sizes of blocks that wgpu asks for by default.
    Original,
    original
);
player!(
    /// The drop-in, with the same.
    DropIn,
    gpu_allocator
);
