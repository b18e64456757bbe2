//! A device's properties.

use tenure_core::device::{
    Api, DescriptorLimits, Features, MarkerLimits, MemoryFlags, MemoryHeap, MemoryType, Properties,
    QueueKind, QueueProperties, RayTracingLimits, Residency, StateModel, TimestampClock,
};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_CONSTANT_BUFFER_DATA_PLACEMENT_ALIGNMENT, D3D12_MAX_MAXANISOTROPY,
    D3D12_MAX_SHADER_VISIBLE_DESCRIPTOR_HEAP_SIZE_TIER_1, D3D12_MAX_SHADER_VISIBLE_SAMPLER_HEAP_SIZE,
    D3D12_RAW_UAV_SRV_BYTE_ALIGNMENT, D3D12_RAYTRACING_ACCELERATION_STRUCTURE_BYTE_ALIGNMENT,
    D3D12_REQ_BUFFER_RESOURCE_TEXEL_COUNT_2_TO_EXP, D3D12_REQ_CONSTANT_BUFFER_ELEMENT_COUNT,
    D3D12_REQ_RESOURCE_SIZE_IN_MEGABYTES_EXPRESSION_C_TERM, D3D12_REQ_TEXTURE2D_ARRAY_AXIS_DIMENSION,
    D3D12_REQ_TEXTURE2D_U_OR_V_DIMENSION, D3D12_REQ_TEXTURE3D_U_V_OR_W_DIMENSION,
    D3D12_TEXTURE_DATA_PITCH_ALIGNMENT, D3D12_TEXTURE_DATA_PLACEMENT_ALIGNMENT,
    D3D12_TILED_RESOURCE_TILE_SIZE_IN_BYTES,
};

use crate::device::query;
use crate::device::setup::adapter::AdapterReport;
use crate::device::setup::caps::Caps;
use crate::drivers::{Actions, Workarounds};
use crate::small_alignment::{DEFAULT, MULTISAMPLED};

/// The inputs of the properties.
pub(crate) struct Facts<'a> {
    pub(crate) caps: &'a Caps,
    pub(crate) adapter: &'a AdapterReport,
    pub(crate) queues: &'a [(QueueKind, TimestampClock)],
    pub(crate) has_budget: bool,
    pub(crate) has_priorities: bool,
    pub(crate) workarounds: &'a Workarounds,
}

/// The assumed size of a memory heap that the adapter does not describe, in bytes.
const UNDESCRIBED: u64 = 1 << 30;

const UPLOAD: MemoryFlags = MemoryFlags::HOST_VISIBLE.union(MemoryFlags::HOST_COHERENT);

/// The local and the non-local memory segment; one of both on a UMA device.
fn memory_heaps(caps: &Caps, adapter: &AdapterReport) -> Vec<MemoryHeap> {
    let dedicated = adapter.dedicated_video.saturating_add(adapter.dedicated_system);
    let known = |size: u64| if size == 0 { UNDESCRIBED } else { size };
    let local = |size| MemoryHeap { size: known(size), device_local: true };
    if caps.uma {
        return vec![local(dedicated.saturating_add(adapter.shared_system))];
    }
    vec![local(dedicated), MemoryHeap { size: known(adapter.shared_system), device_local: false }]
}

/// One memory type for each heap type: `DEFAULT`, `UPLOAD`, `READBACK`, and `GPU_UPLOAD` if the device has it.
fn memory_types(caps: &Caps) -> Vec<MemoryType> {
    let system = u8::from(!caps.uma);
    let mut types = vec![
        MemoryType { flags: MemoryFlags::DEVICE_LOCAL, heap: 0 },
        MemoryType { flags: UPLOAD, heap: system },
        MemoryType { flags: UPLOAD | MemoryFlags::HOST_CACHED, heap: system },
    ];
    if caps.gpu_upload_heaps {
        types.push(MemoryType { flags: UPLOAD | MemoryFlags::DEVICE_LOCAL, heap: 0 });
    }
    types
}

fn features(facts: &Facts<'_>) -> Features {
    let caps = facts.caps;
    // Layouts do not have the fault that states have.
    let is_copied = facts.workarounds.has(Actions::COPY_SOURCE_TOO) && !caps.enhanced_barriers;
    let mut features = Features::DEVICE_ADDRESS;
    for (feature, is_there) in [
        (Features::RESERVED_BUFFERS | Features::RESERVED_TEXTURES, caps.tiled_tier > 0),
        // Tier 1 leaves accesses to unmapped tiles undefined.
        (Features::UNMAPPED_TILES, caps.tiled_tier > 1),
        (Features::COPY_SRC_WITH_READS, is_copied),
        (Features::STENCIL_COPIES, caps.stencil_copies),
        (Features::NO_STENCIL_UPLOADS, facts.workarounds.has(Actions::NO_STENCIL_UPLOADS)),
        (Features::NO_DEPTH_LAYER_COPIES, facts.workarounds.has(Actions::NO_LAYER_COPIES)),
        (Features::MEMORY_BUDGET, facts.has_budget),
        (Features::MEMORY_PRIORITY, facts.has_priorities),
        (Features::NOT_ZEROED, caps.not_zeroed),
        (Features::GPU_UPLOAD, caps.gpu_upload_heaps),
        (Features::DEDICATED, facts.workarounds.has(Actions::COMMIT)),
        (Features::TIGHT_ALIGNMENT, caps.tight_alignment),
        (Features::ACCELERATION_STRUCTURES, caps.acceleration_structures),
        (Features::RAY_TRACING_PIPELINES, caps.acceleration_structures),
        (Features::RAY_QUERIES, caps.ray_queries),
        (Features::SHARED_MEMORY, caps.shared_memory),
    ] {
        features.set(feature, is_there);
    }
    features
}

/// All queues belong to one family: Direct3D 12 has no ownership.
fn queues(facts: &Facts<'_>) -> Vec<QueueProperties> {
    facts.queues.iter().map(|(kind, _)| QueueProperties { kind: *kind, family: 0 }).collect()
}

pub(crate) fn properties(facts: &Facts<'_>) -> Properties {
    let caps = facts.caps;
    let memory_heaps = memory_heaps(caps, facts.adapter);
    // Direct3D 12 has no limit but the memory.
    let max_heap_size = memory_heaps.iter().map(|heap| heap.size).max().unwrap_or(0);
    Properties {
        name: facts.adapter.name.clone(),
        backend: "d3d12",
        memory_types: memory_types(caps),
        memory_heaps,
        queues: queues(facts),
        features: features(facts),
        api: Api::Direct3D12,
        state_model: if caps.enhanced_barriers { StateModel::Explicit } else { StateModel::Promotion },
        residency: Residency::Explicit,
        uma: caps.uma,
        constant_alignment: u64::from(D3D12_CONSTANT_BUFFER_DATA_PLACEMENT_ALIGNMENT),
        storage_alignment: u64::from(D3D12_RAW_UAV_SRV_BYTE_ALIGNMENT),
        acceleration_structure_alignment: u64::from(D3D12_RAYTRACING_ACCELERATION_STRUCTURE_BYTE_ALIGNMENT),
        heap_alignment: DEFAULT,
        msaa_heap_alignment: MULTISAMPLED,
        copy_pitch_alignment: u64::from(D3D12_TEXTURE_DATA_PITCH_ALIGNMENT),
        copy_offset_alignment: u64::from(D3D12_TEXTURE_DATA_PLACEMENT_ALIGNMENT),
        non_coherent_atom: 1,
        tile_size: u64::from(D3D12_TILED_RESOURCE_TILE_SIZE_IN_BYTES),
        // Direct3D 12 names no limit; this is about where its drivers run out of kernel handles.
        max_allocations: 65_536,
        max_heap_size,
        max_buffer_size: 1 << caps.address_bits.clamp(31, 40),
        max_texture_2d: D3D12_REQ_TEXTURE2D_U_OR_V_DIMENSION,
        max_texture_3d: D3D12_REQ_TEXTURE3D_U_V_OR_W_DIMENSION,
        max_layers: D3D12_REQ_TEXTURE2D_ARRAY_AXIS_DIMENSION,
        descriptors: DESCRIPTORS,
        queries: query::limits(facts.queues, caps.copy_queue_timestamps),
        // The same on every device.
        rays: RayTracingLimits::default(),
        markers: MarkerLimits::default(),
    }
}

/// The same on every tier of resource binding: tiers differ in the number of descriptors that a shader reaches at
/// once.
const DESCRIPTORS: DescriptorLimits = DescriptorLimits {
    visible_resources: D3D12_MAX_SHADER_VISIBLE_DESCRIPTOR_HEAP_SIZE_TIER_1,
    visible_samplers: D3D12_MAX_SHADER_VISIBLE_SAMPLER_HEAP_SIZE,
    descriptors_per_index: 1,
    samplers: D3D12_MAX_SHADER_VISIBLE_SAMPLER_HEAP_SIZE,
    sets: false,
    null: true,
    anisotropy: D3D12_MAX_MAXANISOTROPY,
    // Elements of 16 bytes.
    constant_size: 16 * D3D12_REQ_CONSTANT_BUFFER_ELEMENT_COUNT as u64,
    storage_size: (D3D12_REQ_RESOURCE_SIZE_IN_MEGABYTES_EXPRESSION_C_TERM as u64) << 20,
    typed_elements: 1 << D3D12_REQ_BUFFER_RESOURCE_TEXEL_COUNT_2_TO_EXP,
    // Whole elements are enough.
    typed_alignment: 1,
};

#[cfg(test)]
mod tests {
    use tenure_core::device::{Features, MemoryFlags, QueueKind, StateModel, TimestampClock};

    use super::{Facts, properties};
    use crate::device::setup::adapter::AdapterReport;
    use crate::device::setup::caps::{Caps, NOTHING};
    use crate::drivers::{AdapterId, NVIDIA, Workarounds};

    const GIB: u64 = 1 << 30;

    fn adapter() -> AdapterReport {
        AdapterReport {
            name: "GPU".to_owned(),
            vendor: 0,
            device: 0,
            driver: None,
            dedicated_video: 8 * GIB,
            dedicated_system: 0,
            shared_system: 16 * GIB,
            software: false,
        }
    }

    fn made(caps: &Caps, adapter: &AdapterReport) -> tenure_core::device::Properties {
        let queues = &[QueueKind::Graphics, QueueKind::Compute, QueueKind::Copy]
            .map(|kind| (kind, TimestampClock::of_frequency(1_000_000)));
        let (has_budget, has_priorities) = (true, false);
        let workarounds = &Workarounds::default();
        properties(&Facts { caps, adapter, queues, has_budget, has_priorities, workarounds })
    }

    #[test]
    fn discrete_cards_have_two_memories() {
        let plain = made(&NOTHING, &adapter());
        assert_eq!(plain.memory_heaps.iter().map(|heap| heap.size).collect::<Vec<_>>(), [8 * GIB, 16 * GIB]);
        assert_eq!(plain.memory_types.iter().map(|memory| memory.heap).collect::<Vec<_>>(), [0, 1, 1]);
        assert_eq!((plain.max_heap_size, plain.max_buffer_size), (16 * GIB, 2 * GIB));
        assert_eq!(plain.features, Features::DEVICE_ADDRESS | Features::MEMORY_BUDGET);
        let rebar = made(&Caps { gpu_upload_heaps: true, ..NOTHING }, &adapter());
        assert_eq!(rebar.memory_types[3].heap, 0);
        assert!(rebar.memory_types[3].flags.contains(MemoryFlags::DEVICE_LOCAL | MemoryFlags::HOST_VISIBLE));
        assert!(rebar.features.contains(Features::GPU_UPLOAD));
    }

    #[test]
    fn integrated_ones_have_one() {
        let shared = made(&Caps { uma: true, ..NOTHING }, &adapter());
        assert_eq!(shared.memory_heaps.iter().map(|heap| heap.size).collect::<Vec<_>>(), [24 * GIB]);
        assert!(shared.memory_types.iter().all(|memory| memory.heap == 0));
        let unknown = AdapterReport { dedicated_video: 0, shared_system: 0, ..adapter() };
        assert!(made(&NOTHING, &unknown).memory_heaps.iter().all(|heap| heap.size > 0));
    }

    #[test]
    fn features_follow_tiers_and_faults() {
        let has = |caps: &Caps, workarounds: &Workarounds, feature| {
            let (has_budget, has_priorities, adapter) = (false, false, &adapter());
            let queues = &[(QueueKind::Graphics, TimestampClock::default())];
            let facts = Facts { caps, adapter, queues, has_budget, has_priorities, workarounds };
            properties(&facts).features.contains(feature)
        };
        for (tier, reserved, unmapped) in
            [(0, false, false), (1, true, false), (2, true, true), (4, true, true)]
        {
            let caps = Caps { tiled_tier: tier, ..NOTHING };
            assert_eq!(has(&caps, &Workarounds::default(), Features::RESERVED_TEXTURES), reserved);
            assert_eq!(has(&caps, &Workarounds::default(), Features::UNMAPPED_TILES), unmapped);
        }
        let nvidia = Workarounds::of(&AdapterId { vendor: NVIDIA, device: 0x2684, ..AdapterId::default() });
        let enhanced = Caps { enhanced_barriers: true, ..NOTHING };
        assert!(has(&NOTHING, &nvidia, Features::COPY_SRC_WITH_READS));
        assert!(!has(&enhanced, &nvidia, Features::COPY_SRC_WITH_READS), "resource states alone");
        assert!(!has(&NOTHING, &Workarounds::default(), Features::COPY_SRC_WITH_READS));
    }

    #[test]
    fn queues_have_one_family_with_either_kind_of_barriers() {
        let enhanced = Caps { enhanced_barriers: true, ..NOTHING };
        for (caps, model) in [(&NOTHING, StateModel::Promotion), (&enhanced, StateModel::Explicit)] {
            let properties = made(caps, &adapter());
            assert_eq!(properties.queues.iter().map(|queue| queue.family).collect::<Vec<_>>(), [0, 0, 0]);
            assert_eq!(properties.state_model, model);
        }
    }
}
