//! Conversions between the types of the original and tenure's.

use original::{AllocationError as Error, AllocatorDebugSettings, AllocatorReport, MemoryLocation};

use crate::{AllocationReport, MemoryBlockReport};

pub(crate) fn settings(from: AllocatorDebugSettings) -> tenure::AllocatorDebugSettings {
    let mut to = tenure::AllocatorDebugSettings::default();
    to.log_memory_information = from.log_memory_information;
    to.log_leaks_on_shutdown = from.log_leaks_on_shutdown;
    to.log_allocations = from.log_allocations;
    to.log_frees = from.log_frees;
    to
}

pub(crate) fn desc<'a>(
    from: &original::vulkan::AllocationCreateDesc<'a>,
) -> tenure::vulkan::AllocationCreateDesc<'a> {
    use original::vulkan::AllocationScheme as From;
    use tenure::vulkan::AllocationScheme as To;
    tenure::vulkan::AllocationCreateDesc {
        name: from.name,
        requirements: from.requirements,
        location: match from.location {
            MemoryLocation::Unknown => tenure::MemoryLocation::Unknown,
            MemoryLocation::GpuOnly => tenure::MemoryLocation::GpuOnly,
            MemoryLocation::CpuToGpu => tenure::MemoryLocation::CpuToGpu,
            MemoryLocation::GpuToCpu => tenure::MemoryLocation::GpuToCpu,
        },
        linear: from.linear,
        allocation_scheme: match from.allocation_scheme {
            From::DedicatedBuffer(buffer) => To::DedicatedBuffer(buffer),
            From::DedicatedImage(image) => To::DedicatedImage(image),
            From::GpuAllocatorManaged => To::GpuAllocatorManaged,
        },
    }
}

pub(crate) fn error(from: tenure::AllocationError) -> Error {
    use tenure::AllocationError as From;
    match from {
        From::OutOfMemory => Error::OutOfMemory,
        From::FailedToMap(why) => Error::FailedToMap(why),
        From::NoCompatibleMemoryTypeFound => Error::NoCompatibleMemoryTypeFound,
        From::InvalidAllocationCreateDesc => Error::InvalidAllocationCreateDesc,
        From::InvalidAllocatorCreateDesc(why) => Error::InvalidAllocatorCreateDesc(why),
        From::Internal(why) => Error::Internal(why),
        From::BarrierLayoutNeedsDevice10 => Error::BarrierLayoutNeedsDevice10,
        From::CastableFormatsRequiresEnhancedBarriers => Error::CastableFormatsRequiresEnhancedBarriers,
        From::CastableFormatsRequiresAtLeastDevice12 => Error::CastableFormatsRequiresAtLeastDevice12,
    }
}

pub(crate) fn report(from: tenure::AllocatorReport) -> AllocatorReport {
    let tenure::AllocatorReport { allocations, blocks, total_allocated_bytes, total_capacity_bytes } = from;
    let allocation =
        |it: tenure::AllocationReport| AllocationReport { name: it.name, offset: it.offset, size: it.size };
    let block =
        |it: tenure::MemoryBlockReport| MemoryBlockReport { size: it.size, allocations: it.allocations };
    AllocatorReport {
        allocations: allocations.into_iter().map(allocation).collect(),
        blocks: blocks.into_iter().map(block).collect(),
        total_allocated_bytes,
        total_capacity_bytes,
    }
}
