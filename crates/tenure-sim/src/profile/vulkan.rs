//! Vulkan: memory types, heaps and limits as drivers of these cards report them.

use tenure_core::device::{Compression, DescriptorLimits, Features, MemoryFlags, QueueKind, TimestampClock};

use super::table::{self, DESKTOP, Formats, GIB, KIB, MIB, Rules, Table};

const NONE: MemoryFlags = MemoryFlags::empty();
const LOCAL: MemoryFlags = MemoryFlags::DEVICE_LOCAL;
const HOST: MemoryFlags = MemoryFlags::HOST_VISIBLE.union(MemoryFlags::HOST_COHERENT);
const CACHED: MemoryFlags = HOST.union(MemoryFlags::HOST_CACHED);
const LOCAL_HOST: MemoryFlags = LOCAL.union(HOST);
const LOCAL_CACHED: MemoryFlags = LOCAL.union(CACHED);

const FEATURES: Features = table::FEATURES.union(Features::DEDICATED);

/// Descriptor indexing with update after bind, mutable descriptor types, and null descriptors.
const DESCRIPTORS: DescriptorLimits = DescriptorLimits {
    visible_resources: 1 << 20,
    visible_samplers: 1 << 20,
    descriptors_per_index: 1,
    samplers: 4_000,
    sets: true,
    null: true,
    anisotropy: 16,
    constant_size: 64 * KIB,
    storage_size: u32::MAX as u64,
    typed_elements: 1 << 27,
    typed_alignment: 16,
};

pub(super) const NVIDIA: Table = Table {
    name: "vulkan-nvidia",
    adapter: "Simulated NVIDIA GeForce RTX 3080, Vulkan",
    rules: Rules::Vulkan {
        buffer_alignment: 16,
        image_alignment: KIB,
        large_image_alignment: 64 * KIB,
        image_types: 0b00011,
        split: true,
        dedicated_targets_from: MIB,
    },
    // The 214 MiB window is the part of a BAR without resizable BAR that drivers leave to programs.
    types: &[(NONE, 1), (LOCAL, 0), (HOST, 1), (CACHED, 1), (LOCAL_HOST, 2)],
    heaps: &[(10 * GIB, true), (24 * GIB, false), (214 * MIB, true)],
    queues: &[(QueueKind::Graphics, 0), (QueueKind::Compute, 2), (QueueKind::Copy, 1)],
    features: FEATURES,
    uma: false,
    zeroed: false,
    constant_alignment: 64,
    storage_alignment: 16,
    heap_alignment: KIB,
    msaa_heap_alignment: 64 * KIB,
    copy_pitch_alignment: 1,
    copy_offset_alignment: 16,
    non_coherent_atom: 64,
    max_allocations: 4096,
    max_heap_size: 10 * GIB,
    max_buffer_size: 4 * GIB,
    max_texture_2d: 32_768,
    max_texture_3d: 16_384,
    max_layers: 2_048,
    descriptors: DESCRIPTORS,
    timestamps: TimestampClock { bits: 64, femtoseconds: 1_000_000 },
    formats: DESKTOP,
    copy_steps: [1; 3],
};

pub(super) const AMD_SMALL_BAR: Table = Table {
    name: "vulkan-amd-small-bar",
    adapter: "Simulated AMD Radeon RX 580, Vulkan, 256 MiB BAR",
    rules: Rules::Vulkan {
        buffer_alignment: 16,
        image_alignment: 256,
        large_image_alignment: 64 * KIB,
        image_types: 0b0000_1111,
        split: false,
        dedicated_targets_from: 4 * MIB,
    },
    // Types 4 to 7 are the device-coherent variants of 0 to 3, for debugging.
    types: &[
        (LOCAL, 0),
        (HOST, 1),
        (LOCAL_HOST, 2),
        (CACHED, 1),
        (LOCAL.union(MemoryFlags::SPECIAL), 0),
        (HOST.union(MemoryFlags::SPECIAL), 1),
        (LOCAL_HOST.union(MemoryFlags::SPECIAL), 2),
        (CACHED.union(MemoryFlags::SPECIAL), 1),
    ],
    heaps: &[(7936 * MIB, true), (16 * GIB, false), (256 * MIB, true)],
    queues: &[(QueueKind::Graphics, 0), (QueueKind::Compute, 1), (QueueKind::Copy, 2)],
    constant_alignment: 16,
    storage_alignment: 4,
    heap_alignment: 256,
    copy_offset_alignment: 4,
    max_heap_size: 2 * GIB,
    max_buffer_size: 2 * GIB,
    max_texture_2d: 16_384,
    max_texture_3d: 2_048,
    descriptors: DescriptorLimits {
        samplers: 1 << 16,
        constant_size: u32::MAX as u64,
        typed_elements: u32::MAX,
        typed_alignment: 4,
        ..DESCRIPTORS
    },
    formats: Formats { d24s8: false, ..DESKTOP },
    copy_steps: [8; 3],
    ..NVIDIA
};

pub(super) const INTEL: Table = Table {
    name: "vulkan-intel",
    adapter: "Simulated Intel UHD Graphics 620, Vulkan",
    rules: Rules::Vulkan {
        buffer_alignment: 64,
        image_alignment: 4 * KIB,
        large_image_alignment: 4 * KIB,
        image_types: 0b11,
        split: false,
        dedicated_targets_from: u64::MAX,
    },
    types: &[(LOCAL_HOST, 0), (LOCAL_CACHED, 0)],
    heaps: &[(12 * GIB, true)],
    queues: &[(QueueKind::Graphics, 0)],
    features: FEATURES.difference(
        Features::RESERVED_TEXTURES.union(Features::RESERVED_BUFFERS).union(Features::UNMAPPED_TILES),
    ),
    uma: true,
    constant_alignment: 64,
    storage_alignment: 4,
    heap_alignment: 4 * KIB,
    copy_offset_alignment: 128,
    copy_pitch_alignment: 128,
    max_allocations: u32::MAX as u64,
    max_heap_size: 4 * GIB,
    max_buffer_size: 4 * GIB,
    max_texture_2d: 16_384,
    max_texture_3d: 2_048,
    descriptors: DescriptorLimits { samplers: 1 << 16, storage_size: GIB, ..DESCRIPTORS },
    ..NVIDIA
};

pub(super) const MOBILE: Table = Table {
    name: "vulkan-mobile",
    adapter: "Simulated phone GPU (Arm Mali class), Vulkan",
    rules: Rules::Vulkan {
        buffer_alignment: 256,
        image_alignment: 4 * KIB,
        large_image_alignment: 4 * KIB,
        image_types: 0b0111,
        split: false,
        dedicated_targets_from: 2 * MIB,
    },
    types: &[
        (LOCAL_HOST, 0),
        // Cached and not coherent: each write needs a flush.
        (LOCAL.union(MemoryFlags::HOST_VISIBLE).union(MemoryFlags::HOST_CACHED), 0),
        (LOCAL.union(MemoryFlags::LAZILY_ALLOCATED), 0),
    ],
    heaps: &[(6 * GIB, true)],
    queues: &[(QueueKind::Graphics, 0)],
    features: Features::DEVICE_ADDRESS.union(Features::DEDICATED).union(Features::STENCIL_COPIES),
    uma: true,
    constant_alignment: 16,
    storage_alignment: 256,
    heap_alignment: 4 * KIB,
    copy_offset_alignment: 64,
    copy_pitch_alignment: 1,
    max_heap_size: 2 * GIB,
    max_buffer_size: GIB,
    max_texture_2d: 8_192,
    max_texture_3d: 4_096,
    max_layers: 4_096,
    // No descriptor indexing: shaders find everything in sets.
    descriptors: DescriptorLimits {
        visible_resources: 0,
        visible_samplers: 0,
        descriptors_per_index: 6,
        null: false,
        storage_size: 128 * MIB,
        typed_elements: 1 << 16,
        typed_alignment: 64,
        ..DESCRIPTORS
    },
    timestamps: TimestampClock { bits: 36, femtoseconds: 52_083_333 },
    formats: Formats { compression: &[Compression::Etc2, Compression::Astc], ..DESKTOP },
    ..NVIDIA
};

pub(super) const LAVAPIPE: Table = Table {
    name: "vulkan-lavapipe",
    adapter: "Simulated Mesa lavapipe, Vulkan",
    rules: Rules::Vulkan {
        buffer_alignment: 64,
        image_alignment: 64,
        large_image_alignment: 64,
        image_types: 0b1,
        split: false,
        dedicated_targets_from: u64::MAX,
    },
    types: &[(LOCAL_CACHED, 0)],
    heaps: &[(16 * GIB, true)],
    queues: &[(QueueKind::Graphics, 0)],
    features: FEATURES.difference(Features::NOT_ZEROED).union(Features::TEXTURE_WRITES),
    uma: true,
    constant_alignment: 64,
    storage_alignment: 64,
    heap_alignment: 64,
    msaa_heap_alignment: 64,
    copy_pitch_alignment: 1,
    copy_offset_alignment: 128,
    max_allocations: u32::MAX as u64,
    max_heap_size: 2 * GIB,
    max_buffer_size: 2 * GIB,
    max_texture_2d: 16_384,
    max_texture_3d: 4_096,
    max_layers: 2_048,
    descriptors: DescriptorLimits {
        visible_resources: 1_000_000,
        visible_samplers: 1_000_000,
        samplers: 1 << 15,
        storage_size: 128 * MIB,
        ..DESCRIPTORS
    },
    ..NVIDIA
};
