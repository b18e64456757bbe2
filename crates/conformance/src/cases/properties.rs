//! The properties and requirements that a device reports.

use tenure_core::device::{Device, MAX_QUEUES, MemoryDevice as _, MemoryFlags, Properties, ResourceDesc};
use tenure_core::memory::{MemoryUse, type_order};
use tenure_core::{BufferInfo, Format, QueueKind, TextureDesc, Usage};

use crate::Harness;
use crate::bench::no_problems;
use crate::texels::compressed;

/// Tables are neither empty nor too long, their indices exist, and alignments are powers of two.
pub fn properties_keep_the_contract<H: Harness>(harness: &H) {
    let device = harness.device();
    let properties = device.properties();
    assert!(!properties.name.is_empty(), "the adapter has no name");
    assert!(["sim", "vulkan", "d3d12"].contains(&properties.backend), "{}", properties.backend);
    check_memory(properties);
    check_queues(properties);
    for (name, alignment) in [
        ("constant_alignment", properties.constant_alignment),
        ("storage_alignment", properties.storage_alignment),
        ("acceleration_structure_alignment", properties.acceleration_structure_alignment),
        ("heap_alignment", properties.heap_alignment),
        ("msaa_heap_alignment", properties.msaa_heap_alignment),
        ("copy_pitch_alignment", properties.copy_pitch_alignment),
        ("copy_offset_alignment", properties.copy_offset_alignment),
        ("non_coherent_atom", properties.non_coherent_atom),
        ("tile_size", properties.tile_size),
    ] {
        assert!(alignment.is_power_of_two(), "{name} = {alignment}");
    }
    assert!(properties.msaa_heap_alignment >= properties.heap_alignment);
    assert!(properties.max_allocations > 0);
    assert!(properties.max_buffer_size >= 64 << 20, "{}", properties.max_buffer_size);
    let largest = properties.memory_heaps.iter().map(|heap| heap.size).max();
    assert!(Some(properties.max_heap_size) <= largest, "the largest heap is larger than any memory heap");
    assert!(
        properties.max_texture_2d >= 2048 && properties.max_texture_3d >= 256 && properties.max_layers >= 256
    );
    assert_eq!(device.status(), Ok(()));
    drop(device);
    no_problems(harness);
}

fn check_memory(properties: &Properties) {
    assert!((1..=32).contains(&properties.memory_types.len()), "1 to 32 memory types");
    assert!((1..=16).contains(&properties.memory_heaps.len()), "1 to 16 memory heaps");
    assert!(properties.memory_heaps.iter().all(|heap| heap.size > 0));
    for memory_type in &properties.memory_types {
        let heap = properties.memory_heaps.get(usize::from(memory_type.heap));
        let heap = heap.expect("the memory heap of a memory type exists");
        let local = memory_type.flags.contains(MemoryFlags::DEVICE_LOCAL);
        assert!(
            !local || heap.device_local || properties.uma,
            "a device-local type is in a heap that is not device-local"
        );
        let mapped = memory_type.flags.contains(MemoryFlags::HOST_VISIBLE);
        let of_mapped = MemoryFlags::HOST_COHERENT | MemoryFlags::HOST_CACHED;
        assert!(mapped || !memory_type.flags.intersects(of_mapped), "{:?}", memory_type.flags);
    }
}

fn check_queues(properties: &Properties) {
    assert!((1..=MAX_QUEUES).contains(&properties.queues.len()), "1 to 8 queues");
    assert_eq!(properties.queues[0].kind, QueueKind::Graphics, "the first queue is not a graphics queue");
    for kind in [QueueKind::Graphics, QueueKind::Compute, QueueKind::Copy] {
        let queue = properties.queue(kind);
        assert!(queue.index() < properties.queues.len(), "{kind:?} has no queue");
    }
}

fn descriptions(device: &impl Device) -> Vec<ResourceDesc> {
    let [_, blocks] = compressed(device);
    let buffer = |size, usage| ResourceDesc::Buffer(BufferInfo::new(size, usage));
    let texture = |desc: TextureDesc| ResourceDesc::Texture(desc.info);
    let sampled = Usage::SHADER_READ;
    let mut all = vec![
        buffer(1, Usage::VERTEX),
        buffer(65_536, Usage::INDEX | Usage::COPY_DST),
        buffer(65_537, Usage::CONSTANT),
        buffer(1 << 20, Usage::UNORDERED_ACCESS | Usage::SHADER_READ),
        buffer(12_345_678, Usage::INDIRECT | Usage::COPY_SRC),
        texture(TextureDesc::d2(1, 1, Format::R8Unorm, sampled)),
        texture(TextureDesc::d2(64, 64, Format::Rgba8Unorm, sampled).mips(7)),
        texture(TextureDesc::d2(1000, 700, Format::Rgba16Float, sampled | Usage::UNORDERED_ACCESS)),
        texture(TextureDesc::d2(256, 256, blocks, sampled).mips(9).layers(6)),
        texture(TextureDesc::d3(33, 20, 9, Format::Rgba8Unorm, sampled)),
        texture(TextureDesc::d2(640, 360, Format::Rgba8Unorm, Usage::RENDER_TARGET | sampled)),
        texture(TextureDesc::d2(640, 360, Format::D32Float, Usage::DEPTH_STENCIL)),
        texture(TextureDesc::d2(128, 128, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4)),
    ];
    all.extend((0..12).map(|power| buffer(3 << power, Usage::VERTEX | Usage::COPY_SRC)));
    all
}

/// Required sizes are large enough and multiples of the alignment, alignments are powers of two, memory types
/// exist, and equal descriptions have equal requirements.
pub fn requirements_keep_the_contract<H: Harness>(harness: &H) {
    let device = harness.device();
    let types = device.properties().memory_types.len();
    for desc in descriptions(&device) {
        let needs = device.requirements(&desc).unwrap_or_else(|error| panic!("{desc:?}: {error}"));
        assert!(needs.alignment.is_power_of_two(), "{desc:?}: {needs:?}");
        // Neither API rounds the sizes of textures up to the largest alignments, and tenure does not rely on it.
        let rounded = needs.alignment.min(64 << 10);
        assert!(needs.size > 0 && needs.size.is_multiple_of(rounded), "{desc:?}: {needs:?}");
        let asked = match &desc {
            ResourceDesc::Buffer(info) => info.size,
            ResourceDesc::Texture(info) => info.packed_bytes().unwrap(),
        };
        assert!(needs.size >= asked, "{desc:?} of {asked} B: {needs:?}");
        assert_ne!(needs.memory_types, 0, "{desc:?}: no memory type is allowed");
        let existing = u32::MAX >> (32 - types);
        assert_eq!(needs.memory_types & !existing, 0, "{desc:?}: a memory type does not exist");
        assert!(
            needs.prefers_dedicated || !needs.requires_dedicated,
            "{desc:?}: a dedicated allocation is required but not preferred"
        );
        assert_eq!(device.requirements(&desc), Ok(needs));
    }
    drop(device);
    no_problems(harness);
}

/// Each memory use has a memory type for plain buffers, and it is mapped if the CPU accesses the buffer.
pub fn every_memory_use_has_a_memory_type<H: Harness>(harness: &H) {
    let device = harness.device();
    let usage = Usage::VERTEX | Usage::COPY_SRC | Usage::COPY_DST;
    let desc = ResourceDesc::Buffer(BufferInfo::new(4096, usage));
    let mask = device.requirements(&desc).unwrap().memory_types;
    for memory_use in MemoryUse::ALL {
        let order = type_order(device.properties(), memory_use);
        let mut allowed = order.iter().filter(|memory| mask >> memory.0 & 1 == 1);
        let first = allowed.next().unwrap_or_else(|| panic!("no memory type for {memory_use:?}"));
        let flags = device.properties().memory_types[usize::from(first.0)].flags;
        assert!(!memory_use.is_mapped() || flags.contains(MemoryFlags::HOST_VISIBLE), "{memory_use:?}");
    }
    drop(device);
    no_problems(harness);
}

/// The budget has an entry for each memory heap.
pub fn the_budget_covers_every_heap<H: Harness>(harness: &H) {
    let device = harness.device();
    let budgets = device.budget().unwrap();
    assert_eq!(budgets.len(), device.properties().memory_heaps.len());
    assert!(budgets.iter().all(|heap| heap.budget > 0), "{budgets:?}");
    drop(device);
    no_problems(harness);
}
