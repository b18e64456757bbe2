//! Plays a recording once.

use std::time::Instant;

/// What playing a recording took.
pub(crate) struct Figures {
    /// Nanoseconds of a call: the median and the 99th percentile.
    pub(crate) allocate: [u64; 2],
    /// As above.
    pub(crate) free: [u64; 2],
    /// The most bytes of all blocks.
    pub(crate) reserved: u64,
}

fn percentiles(mut times: Vec<u64>) -> [u64; 2] {
    times.sort_unstable();
    [50, 99].map(|percent| times.get(times.len() * percent / 100).copied().unwrap_or(0))
}

fn timed<R>(times: &mut Vec<u64>, call: impl FnOnce() -> R) -> R {
    let start = Instant::now();
    let result = call();
    times.push(start.elapsed().as_nanos() as u64);
    result
}

/// The same on this crate and on the original.
macro_rules! player {
    ($name:ident, $krate:ident) => {
        pub(crate) mod $name {
            use std::collections::HashMap;

            use ash::vk;
            use tenure_trace::{Event, Kind, Layout, MemoryKind, Trace};
            use $krate::vulkan::{AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc};
            use $krate::{AllocationSizes, AllocatorDebugSettings, MemoryLocation};

            use super::{Figures, percentiles, timed};
            use crate::MIB;
            use crate::fake::{Driver, install};

            /// With the sizes of blocks that wgpu asks for by default.
            fn allocator() -> Allocator {
                let (instance, device, physical_device) = install(Driver::discrete(8 << 30, 8 << 30));
                Allocator::new(&AllocatorCreateDesc {
                    instance,
                    device,
                    physical_device,
                    debug_settings: AllocatorDebugSettings::default(),
                    buffer_device_address: false,
                    allocation_sizes: AllocationSizes::new(128 * MIB, 64 * MIB)
                        .with_max_device_memblock_size(256 * MIB)
                        .with_max_host_memblock_size(128 * MIB),
                })
                .unwrap()
            }

            fn desc(size: u64, alignment: u64, kind: Kind) -> AllocationCreateDesc<'static> {
                AllocationCreateDesc {
                    name: "(wgpu internal) Staging",
                    requirements: vk::MemoryRequirements { size, alignment, memory_type_bits: u32::MAX },
                    location: match kind.memory {
                        MemoryKind::GpuOnly => MemoryLocation::GpuOnly,
                        MemoryKind::CpuToGpu => MemoryLocation::CpuToGpu,
                        MemoryKind::GpuToCpu => MemoryLocation::GpuToCpu,
                    },
                    linear: kind.layout == Layout::Linear,
                    allocation_scheme: AllocationScheme::GpuAllocatorManaged,
                }
            }

            pub(crate) fn play(trace: &Trace) -> Figures {
                let mut allocator = allocator();
                let mut live = HashMap::new();
                let (mut allocates, mut frees) = (Vec::new(), Vec::new());
                let mut reserved = 0;
                for event in &trace.events {
                    match *event {
                        Event::Alloc { id, size, align, kind, .. } => {
                            let wanted = desc(size, align, kind);
                            let found = timed(&mut allocates, || allocator.allocate(&wanted)).unwrap();
                            reserved = allocator.capacity().max(reserved);
                            live.insert(id, found);
                        }
                        Event::Free { id, .. } => {
                            let gone = live.remove(&id).unwrap();
                            timed(&mut frees, || allocator.free(gone)).unwrap();
                        }
                        Event::Frame { .. } => {}
                    }
                }
                Figures { allocate: percentiles(allocates), free: percentiles(frees), reserved }
            }
        }
    };
}

player!(ours, gpu_allocator);
player!(theirs, original);
