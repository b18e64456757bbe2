//! The placement policy, the order of memory types, and the configuration.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::time::Duration;

use tenure_core::device::{
    ClearValue, Device as _, Features, Format, HeapCategory, MemoryTypeId, Properties, Requirements, State,
    Subresource, Usage,
};
use tenure_core::memory::policy::{Placement, Subject, buffer_subject, place_buffer, place_texture};
use tenure_core::memory::{MemoryUse, PoolKind, type_order};
use tenure_core::{
    Buffer, BufferDesc, Config, Error, Gpu, LocationKind, Queue, Strategy, TextureDesc, UploadSuballocator,
};
use tenure_sim::{CallKind, Device, Fault, FaultKind, Options, Profile};

mod support;
use support::Rng;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The subject, its limits in order and where what is at or below each goes.
const TABLE: [(Subject, &[(u64, Placement)]); 7] = [
    (Subject::Dynamic, &[(64 * MIB, Placement::Range(PoolKind::Uploads))]),
    (Subject::Readback, &[(16 * MIB, Placement::Range(PoolKind::Readbacks))]),
    (
        Subject::Mesh,
        &[
            (64 * KIB, Placement::Range(PoolKind::SmallBuffers)),
            (16 * MIB, Placement::Range(PoolKind::ReadOnlyBuffers)),
        ],
    ),
    (Subject::ReadOnly, &[(16 * MIB, Placement::Range(PoolKind::ReadOnlyBuffers))]),
    (Subject::Indirect, &[(16 * MIB, Placement::Range(PoolKind::IndirectBuffers))]),
    (Subject::AccelerationStructure, &[(16 * MIB, Placement::Range(PoolKind::AccelerationStructures))]),
    (Subject::Unordered, &[(16 * MIB, Placement::Placed(PoolKind::UnorderedBuffers))]),
];

#[test]
fn each_row_of_the_table_ends_at_its_limit() {
    let config = Config::default();
    for (subject, rows) in TABLE {
        let mut smallest = 1;
        for (limit, placement) in rows {
            for size in [smallest, (smallest + limit) / 2, limit - 1, *limit] {
                assert_eq!(place_buffer(subject, size, &config), *placement, "{subject:?} of {size} B");
            }
            smallest = limit + 1;
        }
        for size in [smallest, u64::MAX] {
            assert_eq!(place_buffer(subject, size, &config), Placement::Committed, "{subject:?} of {size} B");
        }
    }
}

#[test]
fn buddies_take_small_uploads() {
    let config = Config { upload_suballocator: UploadSuballocator::Buddy, ..Config::default() };
    for (size, placement) in [
        (1, Placement::Range(PoolKind::SmallUploads)),
        (64 * KIB, Placement::Range(PoolKind::SmallUploads)),
        (64 * KIB + 1, Placement::Range(PoolKind::Uploads)),
        (64 * MIB, Placement::Range(PoolKind::Uploads)),
        (64 * MIB + 1, Placement::Committed),
    ] {
        assert_eq!(place_buffer(Subject::Dynamic, size, &config), placement, "{size} B");
    }
}

#[test]
fn limits_follow_the_configuration() {
    let config = Config {
        upload_suballocator: UploadSuballocator::Buddy,
        small_buffer_slot: MIB,
        max_pooled_buffer: 2 * MIB,
        max_small_upload: 512,
        max_pooled_upload: 4 * KIB,
        ..Config::default()
    };
    for (subject, limit) in [
        (Subject::Mesh, MIB),
        (Subject::Mesh, 2 * MIB),
        (Subject::ReadOnly, 2 * MIB),
        (Subject::Unordered, 2 * MIB),
        (Subject::Dynamic, 512),
        (Subject::Dynamic, 4 * KIB),
    ] {
        let (at, above) = (place_buffer(subject, limit, &config), place_buffer(subject, limit + 1, &config));
        assert_ne!(at, above, "{subject:?} changes above {limit} B");
    }
}

#[test]
fn strategies_override_the_table() {
    for (subject, rows) in TABLE {
        for (limit, placement) in rows {
            let placed = Config { strategy: Strategy::Placed, ..Config::default() };
            let expected = match placement {
                Placement::Range(_) => Placement::Placed(PoolKind::PlacedBuffers),
                other => *other,
            };
            assert_eq!(place_buffer(subject, *limit, &placed), expected);
            let committed = Config { strategy: Strategy::Committed, ..Config::default() };
            assert_eq!(place_buffer(subject, *limit, &committed), Placement::Committed);
        }
    }
}

#[test]
fn usage_and_memory_decide_the_subject() {
    use MemoryUse::{Dynamic, GpuOnly, GpuUpload, Readback};
    let copies = Usage::COPY_SRC | Usage::COPY_DST;
    for (usage, memory, subject) in [
        (Usage::VERTEX | copies, GpuOnly, Subject::Mesh),
        (Usage::INDEX, GpuOnly, Subject::Mesh),
        (Usage::VERTEX | Usage::INDEX, GpuOnly, Subject::Mesh),
        (Usage::VERTEX | Usage::SHADER_READ, GpuOnly, Subject::ReadOnly),
        (Usage::CONSTANT | copies, GpuOnly, Subject::ReadOnly),
        (copies, GpuOnly, Subject::ReadOnly),
        (Usage::INDIRECT | Usage::VERTEX, GpuOnly, Subject::Indirect),
        (Usage::INDIRECT | Usage::UNORDERED_ACCESS, GpuOnly, Subject::Unordered),
        (Usage::ACCELERATION_STRUCTURE, GpuOnly, Subject::AccelerationStructure),
        (Usage::UNORDERED_ACCESS | Usage::VERTEX, GpuOnly, Subject::Unordered),
        (Usage::CONSTANT, Dynamic, Subject::Dynamic),
        (Usage::VERTEX | copies, GpuUpload, Subject::Dynamic),
        (Usage::UNORDERED_ACCESS, Dynamic, Subject::Unordered),
        (Usage::COPY_DST, Readback, Subject::Readback),
        (Usage::UNORDERED_ACCESS, Readback, Subject::Unordered),
        (Usage::VERTEX, Readback, Subject::Unordered),
    ] {
        assert_eq!(buffer_subject(usage, memory), subject, "{usage:?}, {memory:?}");
    }
}

fn needs(size: u64, alignment: u64) -> Requirements {
    Requirements {
        size,
        alignment,
        memory_types: 1,
        category: HeapCategory::Any,
        prefers_dedicated: false,
        requires_dedicated: false,
    }
}

#[test]
fn textures_go_to_the_pool_of_their_kind() {
    let config = Config::default();
    let sampled = Usage::SHADER_READ;
    let texture = |usage, samples| TextureDesc::d2(8, 8, Format::Rgba8Unorm, usage).samples(samples).info;
    for (info, alignment, kind) in [
        (texture(sampled, 1), 4 * KIB, PoolKind::SmallTextures),
        (texture(sampled, 1), 256, PoolKind::SmallTextures),
        (texture(sampled, 1), 8 * KIB, PoolKind::Textures),
        (texture(sampled, 1), 64 * KIB, PoolKind::Textures),
        (texture(sampled | Usage::RENDER_TARGET, 1), 64 * KIB, PoolKind::Targets),
        (texture(sampled | Usage::RENDER_TARGET | Usage::UNORDERED_ACCESS, 1), 64 * KIB, PoolKind::Targets),
        (texture(Usage::DEPTH_STENCIL, 1), 64 * KIB, PoolKind::Targets),
        (texture(sampled | Usage::UNORDERED_ACCESS, 1), 4 * KIB, PoolKind::UnorderedTextures),
        (texture(Usage::RENDER_TARGET, 4), 4 * MIB, PoolKind::MultisampledTextures),
        (texture(Usage::RENDER_TARGET, 4), 64 * KIB, PoolKind::MultisampledTextures),
    ] {
        for size in [1, 64 * MIB] {
            let placed = place_texture(&info, &needs(size, alignment), &config);
            assert_eq!(placed, Placement::Placed(kind), "{info:?} at {alignment}");
        }
        let above = place_texture(&info, &needs(64 * MIB + 1, alignment), &config);
        assert_eq!(above, Placement::Committed);
        for dedicated in [
            Requirements { prefers_dedicated: true, ..needs(1, alignment) },
            Requirements { requires_dedicated: true, ..needs(1, alignment) },
        ] {
            assert_eq!(place_texture(&info, &dedicated, &config), Placement::Committed);
        }
        let committed = Config { strategy: Strategy::Committed, ..Config::default() };
        assert_eq!(place_texture(&info, &needs(1, alignment), &committed), Placement::Committed);
    }
}

/// What the table says is where resources end up.
#[test]
fn resources_follow_the_table() {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    for (memory, usage, size, location) in [
        (MemoryUse::GpuOnly, Usage::VERTEX, 64 * KIB, LocationKind::Range),
        (MemoryUse::GpuOnly, Usage::VERTEX, 64 * KIB + 1, LocationKind::Range),
        (MemoryUse::GpuOnly, Usage::VERTEX, 16 * MIB, LocationKind::Range),
        (MemoryUse::GpuOnly, Usage::VERTEX, 16 * MIB + 1, LocationKind::Committed),
        (MemoryUse::GpuOnly, Usage::UNORDERED_ACCESS, 16 * MIB, LocationKind::Placed),
        (MemoryUse::GpuOnly, Usage::UNORDERED_ACCESS, 16 * MIB + 1, LocationKind::Committed),
        (MemoryUse::Dynamic, Usage::CONSTANT, 64 * MIB, LocationKind::Range),
        (MemoryUse::Dynamic, Usage::CONSTANT, 64 * MIB + 1, LocationKind::Committed),
        (MemoryUse::Readback, Usage::COPY_DST, 16 * MIB, LocationKind::Range),
        (MemoryUse::Readback, Usage::COPY_DST, 16 * MIB + 1, LocationKind::Committed),
    ] {
        let buffer = gpu.create_buffer(&BufferDesc::new(size, usage).memory(memory)).unwrap();
        assert_eq!(buffer.location(), location, "{memory:?}, {usage:?}, {size} B");
    }
    // On Direct3D 12 only buffers and small textures are this small; multisampled ones need 4 MiB.
    let target = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    let target = target.samples(4).clear(ClearValue::Color([0.0; 4]));
    assert_eq!(gpu.create_texture(&target).unwrap().location(), LocationKind::Placed);
    let pools = gpu.stats().pools;
    assert!(pools.iter().any(|pool| pool.kind == PoolKind::MultisampledTextures), "{pools:?}");
}

/// By profile: the memory types for the GPU alone, dynamic, readback, and upload on the GPU.
const ORDERS: [(Profile, [&[u8]; 4]); 10] = [
    (Profile::D3D12_TIER1, [&[0], &[1], &[2], &[1]]),
    (Profile::D3D12_TIER2, [&[0], &[1], &[2], &[1]]),
    (Profile::D3D12_REBAR, [&[0, 3], &[1, 3], &[2], &[3, 1]]),
    (Profile::D3D12_UMA, [&[0], &[1], &[2], &[1]]),
    (Profile::D3D12_ENHANCED, [&[0, 3], &[1, 3], &[2], &[3, 1]]),
    (Profile::VULKAN_NVIDIA, [&[1, 4, 0, 2, 3], &[2, 3, 4], &[3, 2, 4], &[2, 3, 4]]),
    (Profile::VULKAN_AMD_SMALL_BAR, [&[0, 2, 1, 3], &[1, 2, 3], &[3, 1, 2], &[1, 2, 3]]),
    (Profile::VULKAN_INTEL, [&[0, 1], &[0, 1], &[1, 0], &[0, 1]]),
    // Cached memory that needs invalidating beats uncached memory for reading back; memory that
    // stays on the tile is never for resources in general.
    (Profile::VULKAN_MOBILE, [&[0, 1], &[0, 1], &[1, 0], &[0, 1]]),
    (Profile::VULKAN_LAVAPIPE, [&[0], &[0], &[0], &[0]]),
];

#[test]
fn memory_types_are_tried_in_the_right_order_on_every_card() {
    assert_eq!(ORDERS.map(|(profile, _)| profile), Profile::ALL);
    for (profile, orders) in ORDERS {
        let device = Device::new(profile);
        for (memory_use, expected) in MemoryUse::ALL.into_iter().zip(orders) {
            let expected: Vec<_> = expected.iter().map(|index| MemoryTypeId(*index)).collect();
            let order = type_order(device.properties(), memory_use);
            assert_eq!(order.as_slice(), expected, "{profile:?}, {memory_use:?}");
        }
    }
}

/// Uploads in device memory are offered where there is enough of it, and nobody drains a small window.
#[test]
fn uploads_in_device_memory_are_not_offered_for_a_window() {
    for profile in Profile::ALL.iter().copied() {
        let device = Device::new(profile);
        let properties = device.properties();
        let Properties { memory_types, memory_heaps, .. } = properties;
        let upload = |memory: &MemoryTypeId| memory_types[usize::from(memory.0)].is_gpu_upload(memory_heaps);
        let offered = properties.features.contains(Features::GPU_UPLOAD);
        assert_eq!(
            offered,
            memory_types.iter().any(|found| found.is_gpu_upload(memory_heaps)),
            "{profile:?}"
        );
        let order = type_order(properties, MemoryUse::GpuUpload);
        assert_eq!(upload(&order[0]), offered, "{profile:?}");
        if !offered {
            assert_eq!(order, type_order(properties, MemoryUse::Dynamic), "{profile:?}");
        }
    }
    let has = |profile| Device::new(profile).properties().features.contains(Features::GPU_UPLOAD);
    assert!(!has(Profile::VULKAN_NVIDIA) && !has(Profile::VULKAN_AMD_SMALL_BAR), "214 and 256 MiB");
    assert!(has(Profile::VULKAN_INTEL) && has(Profile::VULKAN_MOBILE), "shared memory");
}

/// A field, its two ends, and how to set it with the others made to fit.
type Field = (&'static str, u64, u64, fn(u64) -> Config);

const FIELDS: [Field; 25] = [
    ("frames_in_flight", 1, 16, |value| Config { frames_in_flight: value as u32, ..Config::default() }),
    ("pool_shards", 1, 16, |value| Config { pool_shards: value as u32, ..Config::default() }),
    ("idle_frames", 0, 1_000_000, |value| Config { idle_frames: value as u32, ..Config::default() }),
    ("small_buffer_slot", 64 * KIB, 16 * MIB, |value| Config {
        small_buffer_slot: value,
        ..Config::default()
    }),
    ("min_block", 64 * KIB, 256 * MIB, |value| Config { min_block: value, ..Config::default() }),
    ("max_buffer_block", 64 * KIB, 4 * GIB, |value| Config {
        max_buffer_block: value,
        max_pooled_buffer: 0,
        ..Config::default()
    }),
    ("max_texture_block", 64 * KIB, 4 * GIB, |value| Config {
        max_texture_block: value,
        ..Config::default()
    }),
    ("max_pooled_buffer", 0, 32 * MIB, |value| Config { max_pooled_buffer: value, ..Config::default() }),
    ("growth_divisor", 1, 64, |value| Config { growth_divisor: value, ..Config::default() }),
    ("max_upload_block", 64 * KIB, 256 * MIB, |value| Config {
        max_upload_block: value,
        max_small_upload: 256,
        ..Config::default()
    }),
    ("max_small_upload", 256, 4 * MIB, |value| Config { max_small_upload: value, ..Config::default() }),
    ("max_pooled_upload", 64 * KIB, 4 * GIB, |value| Config {
        max_pooled_upload: value,
        ..Config::default()
    }),
    ("constant_page", 4 * KIB, 4 * MIB, |value| Config { constant_page: value, ..Config::default() }),
    ("upload_page", 64 * KIB, 64 * MIB, |value| Config { upload_page: value, ..Config::default() }),
    ("max_pending_upload", 64 * KIB, 4 * GIB, |value| Config {
        max_pending_upload: value,
        ..Config::default()
    }),
    ("readback_page", 64 * KIB, 64 * MIB, |value| Config { readback_page: value, ..Config::default() }),
    ("descriptor_block", 16, 65_536, |value| Config { descriptor_block: value as u32, ..Config::default() }),
    ("descriptor_chunk", 16, 65_536, |value| Config { descriptor_chunk: value as u32, ..Config::default() }),
    ("set_block", 1, 4096, |value| Config { set_block: value as u32, ..Config::default() }),
    ("transient_heap", 0, 4 * GIB, |value| Config { transient_heap: value, ..Config::default() }),
    ("transient_cache", 0, 1_000_000, |value| Config { transient_cache: value as u32, ..Config::default() }),
    ("transient_latency", 0, 1_000_000, |value| Config {
        transient_latency: value as u32,
        ..Config::default()
    }),
    ("transient_improvement", 0, 1_000_000_000, |value| Config {
        transient_improvement: value,
        ..Config::default()
    }),
    ("shutdown_timeout (ms)", 0, 3_600_000, |value| Config {
        shutdown_timeout: Duration::from_millis(value),
        ..Config::default()
    }),
    ("frame_timeout (ms)", 0, 3_600_000, |value| Config {
        frame_timeout: Duration::from_millis(value),
        ..Config::default()
    }),
];

#[test]
fn every_field_of_the_configuration_has_two_ends() {
    // A new field does not compile here: it needs a line above, unless it has no range.
    let Config {
        frames_in_flight: _,
        idle_frames: _,
        pool_shards: _,
        strategy: _,
        small_buffer_slot: _,
        min_block: _,
        max_buffer_block: _,
        max_texture_block: _,
        max_pooled_buffer: _,
        growth_divisor: _,
        max_small_upload: _,
        max_pooled_upload: _,
        max_upload_block: _,
        upload_suballocator: _,
        constant_page: _,
        upload_page: _,
        max_pending_upload: _,
        readback_page: _,
        descriptor_block: _,
        // These depend on the device: see the tests of descriptors.
        static_resource_descriptors: _,
        dynamic_resource_descriptors: _,
        static_sampler_descriptors: _,
        dynamic_sampler_descriptors: _,
        descriptor_chunk: _,
        set_block: _,
        poison_descriptors: _,
        transient_heap: _,
        transient_cache: _,
        transient_latency: _,
        transient_improvement: _,
        shutdown_timeout: _,
        frame_timeout: _,
        leak_backtraces: _,
    } = Config::default();
    for (field, min, max, with) in FIELDS {
        for value in [min, max] {
            assert_eq!(with(value).validate(), Ok(()), "{field} = {value}");
            let gpu = Gpu::new(Device::new(Profile::DISCRETE), with(value)).unwrap();
            assert!(gpu.create_buffer(&BufferDesc::new(1000, Usage::VERTEX)).is_ok(), "{field} = {value}");
        }
        for value in [min.checked_sub(1), Some(max + 1)].into_iter().flatten() {
            let error = with(value).validate().expect_err(field);
            assert_eq!((error.field, error.value, error.min, error.max), (field, value, min, max));
            let text = error.to_string();
            assert!(text.contains(field) && text.contains(&value.to_string()), "{text}");
            let refused = Gpu::new(Device::new(Profile::DISCRETE), with(value)).err();
            assert_eq!(refused, Some(Error::Config(error)));
        }
    }
}

#[test]
fn slots_and_pages_are_powers_of_two() {
    let with = |field, value| match field {
        "small_buffer_slot" => Config { small_buffer_slot: value, ..Config::default() },
        "upload_page" => Config { upload_page: value, ..Config::default() },
        "readback_page" => Config { readback_page: value, ..Config::default() },
        _ => Config { constant_page: value, ..Config::default() },
    };
    for (field, value) in [
        ("small_buffer_slot", 64 * KIB + 1),
        ("small_buffer_slot", 96 * KIB),
        ("small_buffer_slot", 3 * MIB),
        ("upload_page", 96 * KIB),
        ("readback_page", 96 * KIB),
        ("constant_page", 5 * KIB),
        ("constant_page", 64 * KIB + 1),
    ] {
        let error = with(field, value).validate().unwrap_err();
        assert_eq!(error.field, field);
        assert!(error.to_string().contains("a power of two"), "{error}");
    }
}

/// Creates and drops at random; where each resource went.
fn places(config: Config, profile: Profile, seed: u64) -> Vec<(LocationKind, u64)> {
    let gpu = Gpu::new(Device::new(profile), config).unwrap();
    let mut rng = Rng::new(seed);
    let mut alive: Vec<Buffer<Device>> = Vec::new();
    let mut places = Vec::new();
    for _ in 0..100 {
        let frame = gpu.begin_frame().unwrap();
        for _ in 0..20 {
            let usages = [Usage::VERTEX, Usage::CONSTANT, Usage::UNORDERED_ACCESS, Usage::INDIRECT];
            let usage = usages[rng.below(4) as usize];
            let memory = [MemoryUse::GpuOnly, MemoryUse::Dynamic][rng.below(2) as usize];
            let desc = BufferDesc::new(1 + rng.below(100_000), usage).memory(memory);
            let buffer = gpu.create_buffer(&desc.stride(rng.below(64) as u32)).unwrap();
            places.push((buffer.location(), buffer.offset()));
            alive.push(buffer);
            if rng.below(3) > 0 {
                alive.swap_remove(rng.below(alive.len() as u64) as usize);
            }
        }
        frame.submit(frame.record(Queue::Graphics, "frame").unwrap()).unwrap();
        frame.end().unwrap();
    }
    places
}

#[test]
fn the_same_calls_find_the_same_places() {
    for upload_suballocator in [UploadSuballocator::General, UploadSuballocator::Buddy] {
        for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
            let config = Config { upload_suballocator, ..Config::default() };
            let first = places(config.clone(), profile, 5);
            assert_eq!(first, places(config, profile, 5));
            assert!(first.iter().any(|(location, offset)| *location == LocationKind::Range && *offset > 0));
        }
    }
}

/// Their state is fixed on Direct3D 12, and they can be used in it.
#[test]
fn acceleration_structures_are_used_in_their_state() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        for size in [1000, 17 * MIB] {
            let gpu = Gpu::new(Device::new(profile), Config::default()).unwrap();
            let desc = BufferDesc::new(size, Usage::ACCELERATION_STRUCTURE).name("tlas");
            let tlas = gpu.create_buffer(&desc).unwrap();
            let mut recording = gpu.record(Queue::Graphics, "trace").unwrap();
            let state = State::ACCELERATION_STRUCTURE;
            recording.use_resource(&tlas, Subresource::All, state).unwrap();
            recording.barriers();
            recording.raw().use_buffer(tlas.raw(), tlas.offset(), size, state);
            recording.submit().unwrap();
            drop(tlas);
            let device = gpu.device().clone();
            assert!(gpu.shutdown().is_clean());
            let hazards = device.take_hazards();
            let is_wrong_state =
                |hazard: &&tenure_sim::Hazard| hazard.kind == tenure_sim::HazardKind::WrongState;
            assert_eq!(hazards.iter().find(is_wrong_state), None, "{profile:?}");
        }
    }
}

/// What is a target and nothing else may never leave the chip: it gets memory that is allocated lazily, where
/// there is any, and other memory where that is refused.
#[test]
fn targets_live_in_lazily_allocated_memory() {
    let in_lazy_memory = |profile, info: Usage, is_refused: bool| {
        let device = Device::with_options(Options::new(profile).record_calls());
        let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
        if is_refused {
            device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted));
        }
        let format = if info.contains(Usage::DEPTH_STENCIL) { Format::D32Float } else { Format::Rgba8Unorm };
        let texture = gpu.create_texture(&TextureDesc::d2(640, 480, format, info)).unwrap();
        let calls = device.call_log();
        drop(texture);
        assert!(gpu.shutdown().is_clean());
        device.check_clean().unwrap();
        calls.iter().any(|call| call.starts_with("create_committed") && call.ends_with(", 2): ok"))
    };
    let (color, depth) = (Usage::RENDER_TARGET, Usage::DEPTH_STENCIL);
    let phone = Profile::VULKAN_MOBILE;
    assert!(in_lazy_memory(phone, depth, false) && in_lazy_memory(phone, color, false));
    assert!(!in_lazy_memory(phone, depth | Usage::SHADER_READ, false), "read later on");
    assert!(!in_lazy_memory(phone, color | Usage::COPY_SRC, false), "read later on");
    assert!(!in_lazy_memory(phone, depth, true), "refused");
    assert!(!in_lazy_memory(Profile::VULKAN_LAVAPIPE, depth, false), "there is none");
}
