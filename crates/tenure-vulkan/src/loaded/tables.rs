//! A device's properties in the contract's terms.

use ash::vk;
use tenure_core::device::{
    Api, DescriptorLimits, Features, MarkerLimits, MemoryFlags, MemoryHeap, MemoryType, Properties,
    QueryLimits, QueueProperties, RayTracingLimits, Residency, StateModel,
};

use crate::drivers::{Workaround, largest_budgets, works_around};
use crate::features::OptionalFeatures;

/// Up to this `bufferImageGranularity`, in bytes, resources are padded to it and share heaps; above
/// it buffers and textures part.
const LARGEST_PADDING: u64 = 1 << 10;

/// Bytes of a tile: the standard sparse block.
pub(crate) const TILE: u64 = 64 << 10;

/// A device's properties as Vulkan reports them.
pub(crate) struct Facts<'a> {
    pub(crate) properties: &'a vk::PhysicalDeviceProperties,
    pub(crate) descriptors: DescriptorLimits,
    pub(crate) memory: &'a vk::PhysicalDeviceMemoryProperties,
    /// Bytes; `maxMemoryAllocationSize`.
    pub(crate) max_allocation: u64,
    /// Bytes; `maxBufferSize`, if the device reports it.
    pub(crate) max_buffer: Option<u64>,
    pub(crate) queues: Vec<QueueProperties>,
    pub(crate) queries: QueryLimits,
    pub(crate) rays: RayTracingLimits,
    pub(crate) enabled: OptionalFeatures,
    pub(crate) driver: Option<vk::DriverId>,
    /// Bytes of the machine's memory, if known.
    pub(crate) system_memory: Option<u64>,
}

/// The contract's properties, and other frequently used values.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) properties: Properties,
    /// Heaps are for buffers or for textures.
    pub(crate) split: bool,
    /// The granularity of sizes and alignments if heaps contain all kinds of resources, in bytes.
    pub(crate) padding: u64,
    /// Bit *i* is set for memory types of general use.
    pub(crate) general_types: u32,
    /// Bytes of all reserved resources together.
    pub(crate) sparse_space: u64,
    /// Bytes; `maxBufferSize`, for reserved buffers.
    pub(crate) max_buffer: u64,
    /// Bytes that the budget of each memory heap may have.
    pub(crate) largest_budgets: Vec<u64>,
    /// After an import, the driver's usage of memory heaps is wrong.
    pub(crate) counts_after_imports: bool,
}

/// The flags of a memory type.
pub(crate) fn memory_flags(flags: vk::MemoryPropertyFlags) -> MemoryFlags {
    use vk::MemoryPropertyFlags as Vk;
    const TABLE: [(Vk, MemoryFlags); 9] = [
        (Vk::DEVICE_LOCAL, MemoryFlags::DEVICE_LOCAL),
        (Vk::HOST_VISIBLE, MemoryFlags::HOST_VISIBLE),
        (Vk::HOST_COHERENT, MemoryFlags::HOST_COHERENT),
        (Vk::HOST_CACHED, MemoryFlags::HOST_CACHED),
        (Vk::LAZILY_ALLOCATED, MemoryFlags::LAZILY_ALLOCATED),
        (Vk::PROTECTED, MemoryFlags::SPECIAL),
        (Vk::DEVICE_COHERENT_AMD, MemoryFlags::SPECIAL),
        (Vk::DEVICE_UNCACHED_AMD, MemoryFlags::SPECIAL),
        (Vk::RDMA_CAPABLE_NV, MemoryFlags::SPECIAL),
    ];
    TABLE
        .into_iter()
        .filter(|(bit, _)| flags.contains(*bit))
        .fold(MemoryFlags::empty(), |found, (_, flag)| found | flag)
}

/// A limit that is to be a power of two, and by the specification is one.
pub(crate) fn power_of_two(value: u64) -> u64 {
    value.checked_next_power_of_two().unwrap_or(1 << 63)
}

fn memory_types(memory: &vk::PhysicalDeviceMemoryProperties) -> Vec<MemoryType> {
    memory
        .memory_types_as_slice()
        .iter()
        .map(|found| MemoryType {
            flags: memory_flags(found.property_flags),
            heap: u8::try_from(found.heap_index).unwrap_or(u8::MAX),
        })
        .collect()
}

fn memory_heaps(memory: &vk::PhysicalDeviceMemoryProperties) -> Vec<MemoryHeap> {
    memory
        .memory_heaps_as_slice()
        .iter()
        .map(|found| MemoryHeap {
            size: found.size,
            device_local: found.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL),
        })
        .collect()
}

fn features(
    enabled: OptionalFeatures,
    properties: &vk::PhysicalDeviceProperties,
    types: &[MemoryType],
    heaps: &[MemoryHeap],
) -> Features {
    const TABLE: [(OptionalFeatures, Features); 12] = [
        (OptionalFeatures::SPARSE_BUFFERS, Features::RESERVED_BUFFERS),
        (OptionalFeatures::SPARSE_TEXTURES, Features::RESERVED_TEXTURES),
        (OptionalFeatures::MEMORY_BUDGET, Features::MEMORY_BUDGET),
        (OptionalFeatures::MEMORY_PRIORITY, Features::MEMORY_PRIORITY),
        (OptionalFeatures::BUFFER_DEVICE_ADDRESS, Features::DEVICE_ADDRESS),
        (OptionalFeatures::DEDICATED_ALLOCATION, Features::DEDICATED),
        (OptionalFeatures::ACCELERATION_STRUCTURES, Features::ACCELERATION_STRUCTURES),
        (OptionalFeatures::RAY_TRACING_PIPELINES, Features::RAY_TRACING_PIPELINES),
        (OptionalFeatures::RAY_QUERIES, Features::RAY_QUERIES),
        (OptionalFeatures::EXTERNAL_MEMORY_FD, Features::SHARED_MEMORY),
        (OptionalFeatures::HOST_IMAGE_COPY, Features::TEXTURE_WRITES),
        (OptionalFeatures::QUEUE_FAMILY_FOREIGN, Features::SHARED_ACROSS_DRIVERS),
    ];
    // Vulkan never zeroes memory on tenure's behalf.
    let mut features = TABLE
        .into_iter()
        .filter(|(optional, _)| enabled.contains(*optional))
        .fold(Features::NOT_ZEROED | Features::STENCIL_COPIES, |features, (_, feature)| features | feature);
    features.set(Features::GPU_UPLOAD, types.iter().any(|found| found.is_gpu_upload(heaps)));
    let is_reserved = features.intersects(Features::RESERVED_BUFFERS | Features::RESERVED_TEXTURES);
    let is_strict = properties.sparse_properties.residency_non_resident_strict == vk::TRUE;
    features.set(Features::UNMAPPED_TILES, is_reserved && is_strict);
    features
}

/// The control over residency in the device's memory.
const fn residency(enabled: OptionalFeatures) -> Residency {
    if enabled.contains(OptionalFeatures::PAGEABLE_MEMORY) { Residency::Priorities } else { Residency::None }
}

impl Tables {
    pub(crate) fn new(facts: Facts<'_>) -> Self {
        let Facts { properties, descriptors, memory, max_allocation, max_buffer, queues, .. } = facts;
        let Facts { queries, rays, enabled, driver, system_memory, .. } = facts;
        let largest_budgets = largest_budgets(properties, memory, system_memory);
        let limits = &properties.limits;
        let (memory_types, memory_heaps) = (memory_types(memory), memory_heaps(memory));
        let largest = memory_heaps.iter().map(|heap| heap.size).max().unwrap_or(0);
        let max_heap_size = max_allocation.min(largest);
        let granularity = power_of_two(limits.buffer_image_granularity);
        let split = granularity > LARGEST_PADDING;
        let padding = if split { 1 } else { granularity };
        let atom = power_of_two(limits.non_coherent_atom_size);
        let heap_alignment = padding.max(atom).max(256);
        let shader_alignment =
            limits.min_storage_buffer_offset_alignment.max(limits.min_texel_buffer_offset_alignment);
        // The driver's optimal copy alignments are advice; excessive values are clamped.
        let advised = |value: u64, least: u64| power_of_two(value).clamp(least, 512);
        let name = properties.device_name_as_c_str().unwrap_or_default().to_string_lossy();
        let is_shared = [vk::PhysicalDeviceType::INTEGRATED_GPU, vk::PhysicalDeviceType::CPU];
        let special = MemoryFlags::SPECIAL;
        let general_types = (0_u32..32)
            .zip(&memory_types)
            .filter(|(_, found)| !found.flags.contains(special))
            .fold(0, |mask, (index, _)| mask | 1 << index);
        let most_layers = limits.max_image_array_layers;
        let contract = Properties {
            name: if name.is_empty() { "a Vulkan device".to_owned() } else { name.into_owned() },
            backend: "vulkan",
            features: features(enabled, properties, &memory_types, &memory_heaps),
            memory_types,
            memory_heaps,
            queues,
            api: Api::Vulkan,
            state_model: StateModel::Explicit,
            residency: residency(enabled),
            uma: is_shared.contains(&properties.device_type),
            constant_alignment: power_of_two(limits.min_uniform_buffer_offset_alignment),
            storage_alignment: power_of_two(shader_alignment),
            acceleration_structure_alignment: 256,
            heap_alignment,
            msaa_heap_alignment: heap_alignment.max(64 << 10),
            copy_pitch_alignment: advised(limits.optimal_buffer_copy_row_pitch_alignment, 1),
            // Queues that only copy take multiples of 4.
            copy_offset_alignment: advised(limits.optimal_buffer_copy_offset_alignment, 4),
            non_coherent_atom: atom,
            tile_size: TILE,
            max_allocations: u64::from(limits.max_memory_allocation_count),
            max_heap_size,
            max_buffer_size: max_buffer.unwrap_or(u64::MAX).min(max_heap_size),
            max_texture_2d: limits.max_image_dimension2_d,
            max_texture_3d: limits.max_image_dimension3_d,
            max_layers: most_layers,
            descriptors,
            queries,
            rays,
            markers: MarkerLimits::default(),
        };
        Self {
            properties: contract,
            split,
            padding,
            general_types,
            sparse_space: limits.sparse_address_space_size,
            max_buffer: max_buffer.unwrap_or(u64::MAX),
            largest_budgets,
            counts_after_imports: works_around(driver, Workaround::CountUsage),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(granularity: u64) -> vk::PhysicalDeviceProperties {
        let limits = vk::PhysicalDeviceLimits {
            buffer_image_granularity: granularity,
            non_coherent_atom_size: 64,
            min_uniform_buffer_offset_alignment: 256,
            min_storage_buffer_offset_alignment: 16,
            min_texel_buffer_offset_alignment: 64,
            optimal_buffer_copy_offset_alignment: 1,
            optimal_buffer_copy_row_pitch_alignment: 1,
            max_memory_allocation_count: 4096,
            ..Default::default()
        };
        vk::PhysicalDeviceProperties { limits, ..Default::default() }
    }

    /// A card with a BAR window, cached memory that is not coherent, and AMD's debugging types.
    fn memory() -> vk::PhysicalDeviceMemoryProperties {
        use vk::MemoryPropertyFlags as Vk;
        let mut memory = vk::PhysicalDeviceMemoryProperties {
            memory_type_count: 5,
            memory_heap_count: 2,
            ..Default::default()
        };
        let types = [
            (Vk::DEVICE_LOCAL, 0),
            (Vk::DEVICE_LOCAL | Vk::HOST_VISIBLE | Vk::HOST_COHERENT, 0),
            (Vk::HOST_VISIBLE | Vk::HOST_CACHED, 1),
            (Vk::DEVICE_LOCAL | Vk::DEVICE_COHERENT_AMD | Vk::DEVICE_UNCACHED_AMD, 0),
            (Vk::DEVICE_LOCAL | Vk::PROTECTED, 0),
        ];
        for (slot, (property_flags, heap_index)) in memory.memory_types.iter_mut().zip(types) {
            *slot = vk::MemoryType { property_flags, heap_index };
        }
        memory.memory_heaps[0] = vk::MemoryHeap { size: 8 << 30, flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
        memory.memory_heaps[1] = vk::MemoryHeap { size: 16 << 30, flags: vk::MemoryHeapFlags::empty() };
        memory
    }

    fn tables(granularity: u64) -> Tables {
        let properties = limits(granularity);
        Tables::new(Facts {
            properties: &properties,
            descriptors: DescriptorLimits {
                visible_resources: 0,
                visible_samplers: 0,
                descriptors_per_index: 1,
                samplers: 0,
                sets: true,
                null: false,
                anisotropy: 1,
                constant_size: 0,
                storage_size: 0,
                typed_elements: 0,
                typed_alignment: 1,
            },
            memory: &memory(),
            max_allocation: u64::MAX,
            max_buffer: Some(4 << 30),
            queues: Vec::new(),
            queries: QueryLimits::default(),
            rays: RayTracingLimits::default(),
            enabled: OptionalFeatures::all(),
            driver: None,
            system_memory: None,
        })
    }

    /// Reserved resources leave accesses to unmapped tiles undefined, unless the device reports otherwise.
    #[test]
    fn unmapped_tiles_are_defined_where_the_device_is_strict() {
        for (optional, strict, expected) in [
            (OptionalFeatures::SPARSE_TEXTURES, vk::TRUE, true),
            (OptionalFeatures::SPARSE_BUFFERS, vk::TRUE, true),
            (OptionalFeatures::SPARSE_TEXTURES, vk::FALSE, false),
            (OptionalFeatures::empty(), vk::TRUE, false),
        ] {
            let mut properties = vk::PhysicalDeviceProperties::default();
            properties.sparse_properties.residency_non_resident_strict = strict;
            let found = features(optional, &properties, &[], &[]);
            assert_eq!(found.contains(Features::UNMAPPED_TILES), expected, "{optional:?}");
        }
    }

    #[test]
    fn a_small_granularity_is_padding_and_a_large_one_parts_heaps() {
        let small = tables(1024);
        assert_eq!((small.split, small.padding), (false, 1024));
        assert_eq!(small.properties.heap_alignment, 1024);
        let large = tables(64 << 10);
        assert_eq!((large.split, large.padding), (true, 1));
        assert_eq!(large.properties.heap_alignment, 256);
    }

    #[test]
    fn memory_types_keep_their_flags() {
        let tables = tables(1);
        let flags: Vec<_> = tables.properties.memory_types.iter().map(|found| found.flags).collect();
        let (local, visible) = (MemoryFlags::DEVICE_LOCAL, MemoryFlags::HOST_VISIBLE);
        assert_eq!(flags[0], local);
        assert_eq!(flags[1], local | visible | MemoryFlags::HOST_COHERENT);
        assert_eq!(flags[2], visible | MemoryFlags::HOST_CACHED);
        assert_eq!(flags[3], local | MemoryFlags::SPECIAL);
        assert_eq!(flags[4], local | MemoryFlags::SPECIAL);
        assert_eq!(tables.general_types, 0b111);
        assert!(tables.properties.features.contains(Features::GPU_UPLOAD));
        let mut windowed = memory();
        windowed.memory_heap_count = 3;
        windowed.memory_types[1].heap_index = 2;
        windowed.memory_heaps[2] =
            vk::MemoryHeap { size: 256 << 20, flags: vk::MemoryHeapFlags::DEVICE_LOCAL };
        let (types, heaps) = (memory_types(&windowed), memory_heaps(&windowed));
        let found =
            features(OptionalFeatures::empty(), &vk::PhysicalDeviceProperties::default(), &types, &heaps);
        assert!(!found.contains(Features::GPU_UPLOAD), "a window of 256 MiB is none");
        assert_eq!(memory_flags(vk::MemoryPropertyFlags::LAZILY_ALLOCATED), MemoryFlags::LAZILY_ALLOCATED);
    }

    #[test]
    fn limits_bound_each_other() {
        let tables = tables(1);
        assert_eq!(tables.properties.max_heap_size, 16 << 30, "no larger than the largest heap");
        assert_eq!(tables.properties.max_buffer_size, 4 << 30);
        assert_eq!(tables.properties.storage_alignment, 64, "texel buffers are read by shaders too");
        assert_eq!(tables.properties.copy_offset_alignment, 4);
        assert!(!tables.properties.uma);
    }
}
