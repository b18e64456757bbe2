//! The allocator on a simulated driver, in situations where the original fails.

#![cfg(feature = "vulkan")]
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests")]

mod defaults;
mod fake;
mod faults;
mod logger;
mod outlive;
mod placing;
mod pressure;
mod recordings;
mod shortage;
mod traffic;
#[cfg(feature = "visualizer")]
mod visualizer;

/// The same helpers on this crate and on the original.
macro_rules! program {
    ($name:ident, $krate:ident) => {
        pub(crate) mod $name {
            use ash::vk;
            use $krate::vulkan::{
                Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc,
            };
            use $krate::{AllocationError, AllocationSizes, AllocatorDebugSettings, MemoryLocation};

            use crate::fake::{Driver, install};

            pub(crate) fn allocator(driver: Driver, sizes: AllocationSizes) -> Allocator {
                let (instance, device, physical_device) = install(driver);
                Allocator::new(&AllocatorCreateDesc {
                    instance,
                    device,
                    physical_device,
                    debug_settings: AllocatorDebugSettings::default(),
                    buffer_device_address: true,
                    allocation_sizes: sizes,
                })
                .unwrap()
            }

            pub(crate) fn desc(
                size: u64,
                alignment: u64,
                location: MemoryLocation,
                linear: bool,
            ) -> AllocationCreateDesc<'static> {
                AllocationCreateDesc {
                    name: "thing",
                    requirements: vk::MemoryRequirements { size, alignment, memory_type_bits: u32::MAX },
                    location,
                    linear,
                    allocation_scheme: AllocationScheme::GpuAllocatorManaged,
                }
            }

            /// Creates `count` GPU-only buffers of `size` bytes, or returns the first error.
            pub(crate) fn scene(
                allocator: &mut Allocator,
                count: u64,
                size: u64,
            ) -> (Vec<Allocation>, Option<AllocationError>) {
                let wanted = desc(size, 256, MemoryLocation::GpuOnly, true);
                let mut found = Vec::new();
                for _ in 0..count {
                    match allocator.allocate(&wanted) {
                        Ok(allocation) => found.push(allocation),
                        Err(error) => return (found, Some(error)),
                    }
                }
                (found, None)
            }
        }
    };
}

pub(crate) const MIB: u64 = 1 << 20;

program!(ours, gpu_allocator);
program!(theirs, original);
