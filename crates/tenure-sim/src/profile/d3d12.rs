//! Direct3D 12: the memory types are heap types.
//!
//! 0 is `DEFAULT`, 1 `UPLOAD` (write-combined), 2 `READBACK` (cached), and 3 `GPU_UPLOAD` if supported. Heap 0 is
//! the local, heap 1 the non-local memory segment.

use tenure_core::device::{DescriptorLimits, Features, MemoryFlags, QueueKind, TimestampClock};

use super::table::{DESKTOP, FEATURES, Formats, GIB, KIB, MIB, Rules, Table};

const DEFAULT: MemoryFlags = MemoryFlags::DEVICE_LOCAL;
const UPLOAD: MemoryFlags = MemoryFlags::HOST_VISIBLE.union(MemoryFlags::HOST_COHERENT);
const READBACK: MemoryFlags = UPLOAD.union(MemoryFlags::HOST_CACHED);
const GPU_UPLOAD: MemoryFlags = UPLOAD.union(MemoryFlags::DEVICE_LOCAL);

const QUEUES: &[(QueueKind, u32)] =
    &[(QueueKind::Graphics, 0), (QueueKind::Compute, 0), (QueueKind::Copy, 0)];

pub(super) const TIER2: Table = Table {
    name: "d3d12-tier2",
    adapter: "Simulated Direct3D 12 discrete GPU, heap tier 2",
    rules: Rules::D3d12 { tier1: false, enhanced: false },
    types: &[(DEFAULT, 0), (UPLOAD, 1), (READBACK, 1)],
    heaps: &[(8 * GIB, true), (16 * GIB, false)],
    queues: QUEUES,
    features: FEATURES,
    uma: false,
    zeroed: true,
    constant_alignment: 256,
    storage_alignment: 16,
    heap_alignment: 64 * KIB,
    msaa_heap_alignment: 4 * MIB,
    copy_pitch_alignment: 256,
    copy_offset_alignment: 512,
    non_coherent_atom: 1,
    // Direct3D 12 names no limit; this is about where its drivers run out of kernel handles.
    max_allocations: 65_536,
    max_heap_size: 8 * GIB,
    max_buffer_size: 4 * GIB,
    max_texture_2d: 16_384,
    max_texture_3d: 2_048,
    max_layers: 2_048,
    descriptors: DescriptorLimits {
        // Resource binding tier 2 and up.
        visible_resources: 1_000_000,
        visible_samplers: 2_048,
        descriptors_per_index: 1,
        samplers: 2_048,
        sets: false,
        null: true,
        anisotropy: 16,
        constant_size: 64 * KIB,
        storage_size: 2 * GIB,
        typed_elements: 1 << 27,
        // Typed views begin at any element.
        typed_alignment: 1,
    },
    timestamps: TimestampClock::of_frequency(25_000_000),
    formats: DESKTOP,
    copy_steps: [1; 3],
};

pub(super) const TIER1: Table = Table {
    name: "d3d12-tier1",
    adapter: "Simulated Direct3D 12 discrete GPU, heap tier 1",
    rules: Rules::D3d12 { tier1: true, enhanced: false },
    heaps: &[(4 * GIB, true), (16 * GIB, false)],
    max_heap_size: 4 * GIB,
    max_buffer_size: 2 * GIB,
    formats: Formats { unaligned_blocks: false, ..DESKTOP },
    ..TIER2
};

pub(super) const REBAR: Table = Table {
    name: "d3d12-rebar",
    adapter: "Simulated Direct3D 12 discrete GPU with GPU upload heaps",
    types: &[(DEFAULT, 0), (UPLOAD, 1), (READBACK, 1), (GPU_UPLOAD, 0)],
    heaps: &[(16 * GIB, true), (32 * GIB, false)],
    features: FEATURES.union(Features::GPU_UPLOAD).union(Features::TIGHT_ALIGNMENT),
    max_heap_size: 16 * GIB,
    ..TIER2
};

pub(super) const UMA: Table = Table {
    name: "d3d12-uma",
    adapter: "Simulated Direct3D 12 integrated GPU",
    types: &[(DEFAULT, 0), (UPLOAD, 0), (READBACK, 0)],
    heaps: &[(8 * GIB, true)],
    uma: true,
    ..TIER2
};

pub(super) const ENHANCED: Table = Table {
    name: "d3d12-enhanced",
    adapter: "Simulated Direct3D 12 discrete GPU with enhanced barriers",
    rules: Rules::D3d12 { tier1: false, enhanced: true },
    ..REBAR
};
