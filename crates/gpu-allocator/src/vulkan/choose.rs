//! The choice of memory types, category and alignment for an allocation.

use ash::vk;
use smallvec::SmallVec;
use tenure_heap::{HeapCategory, MemoryTypeId};

use super::AllocationCreateDesc;
use crate::{AllocationError, MemoryLocation, Result};

/// Up to this `bufferImageGranularity`, in bytes, images are padded to it and share heaps with buffers. Above it they
/// use separate heaps.
const LARGEST_PADDING: u64 = 1 << 10;

/// Memory types, best first, with inline space for Vulkan's maximum.
pub(super) type Types = SmallVec<[MemoryTypeId; vk::MAX_MEMORY_TYPES]>;

/// Chooses among a device's memory types.
pub(super) struct Chooser {
    orders: Orders,
    /// Bytes; a power of two.
    granularity: u64,
}

/// The parameters of a request to the pools.
pub(super) struct Choice<'a> {
    pub(super) memory: &'a [MemoryTypeId],
    pub(super) category: HeapCategory,
    pub(super) size: u64,
    pub(super) alignment: u64,
}

impl Chooser {
    /// A chooser among these memory types. `granularity` is `bufferImageGranularity` in bytes, a power of two.
    pub(super) fn new(types: &[vk::MemoryType], granularity: u64) -> Self {
        Self { orders: Orders::new(types), granularity }
    }

    /// The choice for an allocation. `room` is scratch space for a filtered list of memory types.
    #[inline(always)]
    pub(super) fn choose<'a>(
        &'a self,
        desc: &AllocationCreateDesc<'_>,
        room: &'a mut Types,
    ) -> Result<Choice<'a>> {
        let vk::MemoryRequirements { size, alignment, memory_type_bits } = desc.requirements;
        if size == 0 || !alignment.is_power_of_two() {
            return Err(AllocationError::InvalidAllocationCreateDesc);
        }
        let memory = self.orders.allowed(desc.location, memory_type_bits, room);
        if memory.is_empty() {
            return Err(AllocationError::NoCompatibleMemoryTypeFound);
        }
        let granularity = self.granularity;
        let category = match (granularity > LARGEST_PADDING, desc.linear) {
            (false, _) => HeapCategory::Any,
            (true, true) => HeapCategory::Buffers,
            (true, false) => HeapCategory::Textures,
        };
        if desc.linear || category != HeapCategory::Any {
            return Ok(Choice { memory, category, size, alignment });
        }
        // Images take whole pages, so that a buffer may begin or end anywhere.
        let mask = granularity - 1;
        let padded = size.checked_add(mask).ok_or(AllocationError::InvalidAllocationCreateDesc)? & !mask;
        Ok(Choice { memory, category, size: padded, alignment: alignment.max(granularity) })
    }
}

/// Flags of memory types for special purposes, which are chosen only for resources that allow no others.
const SPECIAL: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
    vk::MemoryPropertyFlags::PROTECTED.as_raw()
        | vk::MemoryPropertyFlags::DEVICE_COHERENT_AMD.as_raw()
        | vk::MemoryPropertyFlags::DEVICE_UNCACHED_AMD.as_raw()
        | vk::MemoryPropertyFlags::RDMA_CAPABLE_NV.as_raw(),
);

/// The memory types to try for a location.
struct Order {
    types: Types,
    /// The same memory types as a bit mask.
    bits: u32,
    /// Those with [special](SPECIAL) flags.
    special: Types,
}

/// The memory types to try for each location.
struct Orders {
    unknown: Order,
    gpu_only: Order,
    cpu_to_gpu: Order,
    gpu_to_cpu: Order,
}

impl Orders {
    fn new(types: &[vk::MemoryType]) -> Self {
        Self {
            unknown: order(types, MemoryLocation::Unknown),
            gpu_only: order(types, MemoryLocation::GpuOnly),
            cpu_to_gpu: order(types, MemoryLocation::CpuToGpu),
            gpu_to_cpu: order(types, MemoryLocation::GpuToCpu),
        }
    }

    /// The memory types that a resource allows, by its `memoryTypeBits`.
    #[inline(always)]
    fn allowed<'a>(&'a self, location: MemoryLocation, bits: u32, room: &'a mut Types) -> &'a [MemoryTypeId] {
        let order = match location {
            MemoryLocation::Unknown => &self.unknown,
            MemoryLocation::GpuOnly => &self.gpu_only,
            MemoryLocation::CpuToGpu => &self.cpu_to_gpu,
            MemoryLocation::GpuToCpu => &self.gpu_to_cpu,
        };
        if order.bits & !bits == 0 {
            return &order.types;
        }
        let is_allowed = |memory: &MemoryTypeId| bits & (1 << memory.0) != 0;
        room.extend(order.types.iter().copied().filter(is_allowed));
        if room.is_empty() {
            room.extend(order.special.iter().copied().filter(is_allowed));
        }
        room
    }
}

/// The memory types to try: first those with all preferred flags, then those with all required flags, each in the
/// driver's order, which ranks them.
///
/// The first is the type that the original would use, because programs rely on it.
fn order(types: &[vk::MemoryType], location: MemoryLocation) -> Order {
    use vk::MemoryPropertyFlags as Flags;
    let mapped = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
    let (preferred, required) = match location {
        MemoryLocation::GpuOnly => (Flags::DEVICE_LOCAL, Flags::empty()),
        MemoryLocation::CpuToGpu => (mapped | Flags::DEVICE_LOCAL, mapped),
        MemoryLocation::GpuToCpu => (mapped | Flags::HOST_CACHED, mapped),
        MemoryLocation::Unknown => (Flags::empty(), Flags::empty()),
    };
    // At most the number of bits in a resource's requirements.
    let mut order: Vec<(bool, bool, bool, MemoryTypeId)> = (0..32_u8)
        .zip(types)
        .filter(|(_, found)| found.property_flags.contains(required))
        .map(|(index, found)| {
            let flags = found.property_flags;
            // Lazily allocated memory suits only images that stay in tile memory.
            let is_lazy = flags.contains(Flags::LAZILY_ALLOCATED);
            (flags.intersects(SPECIAL), !flags.contains(preferred), is_lazy, MemoryTypeId(index))
        })
        .collect();
    order.sort_unstable();
    let [types, special] = [false, true].map(|is_special| {
        order.iter().filter(|found| found.0 == is_special).map(|found| found.3).collect::<Types>()
    });
    let bits = types.iter().fold(0, |bits, memory| bits | 1 << memory.0);
    Order { types, bits, special }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vk::MemoryPropertyFlags as Flags;

    fn types(flags: &[Flags]) -> Vec<vk::MemoryType> {
        flags.iter().map(|found| vk::MemoryType { property_flags: *found, heap_index: 0 }).collect()
    }

    fn tried(flags: &[Flags], location: MemoryLocation) -> Vec<u8> {
        allowed(&types(flags), u32::MAX, location).into_iter().map(|memory| memory.0).collect()
    }

    fn allowed(types: &[vk::MemoryType], bits: u32, location: MemoryLocation) -> Vec<MemoryTypeId> {
        Orders::new(types).allowed(location, bits, &mut Types::new()).to_vec()
    }

    #[test]
    fn a_discrete_card() {
        let mapped = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
        let card = [
            Flags::empty(),
            Flags::DEVICE_LOCAL,
            mapped,
            mapped | Flags::HOST_CACHED,
            mapped | Flags::DEVICE_LOCAL,
            Flags::DEVICE_LOCAL | Flags::PROTECTED,
        ];
        assert_eq!(tried(&card, MemoryLocation::GpuOnly), [1, 4, 0, 2, 3], "device-local is not required");
        assert_eq!(tried(&card, MemoryLocation::CpuToGpu), [4, 2, 3]);
        assert_eq!(tried(&card, MemoryLocation::GpuToCpu), [3, 2, 4]);
        assert_eq!(tried(&card, MemoryLocation::Unknown), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn only_memory_types_of_the_resource_are_allowed() {
        let both = types(&[Flags::DEVICE_LOCAL, Flags::DEVICE_LOCAL | Flags::LAZILY_ALLOCATED]);
        assert_eq!(allowed(&both, 0b11, MemoryLocation::GpuOnly), [MemoryTypeId(0), MemoryTypeId(1)]);
        assert_eq!(allowed(&both, 0b10, MemoryLocation::GpuOnly), [MemoryTypeId(1)]);
        assert!(allowed(&both, 0b11, MemoryLocation::CpuToGpu).is_empty());
        assert!(allowed(&both, 0b100, MemoryLocation::Unknown).is_empty(), "no such type");
    }

    #[test]
    fn protected_resources_get_protected_memory() {
        let both = types(&[Flags::DEVICE_LOCAL | Flags::PROTECTED, Flags::DEVICE_LOCAL]);
        for location in [MemoryLocation::GpuOnly, MemoryLocation::Unknown] {
            assert_eq!(allowed(&both, 0b01, location), [MemoryTypeId(0)]);
            assert_eq!(allowed(&both, 0b11, location), [MemoryTypeId(1)]);
        }
        assert!(allowed(&both, 0b01, MemoryLocation::CpuToGpu).is_empty());
    }
}
