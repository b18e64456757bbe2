//! The placement policy, the order of memory types, and the configuration.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::time::Duration;

use tenure_core::device::{Features, HeapCategory, MemoryTypeId, Properties, Requirements, prelude::*};
use tenure_core::memory::policy::{PlacementKind, Subject, buffer_subject, place_buffer, place_texture};
use tenure_core::memory::{Cost, MemoryUse, PoolKind, type_order};
use tenure_core::{
    Buffer, BufferDesc, ClearValue, Config, ConfigRule, Error, Format, Gpu, LocationKind, PoolConfig, Queue,
    State, Strategy, Subresource, TextureDesc, UploadConfig, UploadSuballocator, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Profile};

use test_random::Rng;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The subject, its limits in order, and the placement for sizes up to each limit.
const TABLE: [(Subject, &[(u64, PlacementKind)]); 7] = [
    (Subject::Upload, &[(64 * MIB, PlacementKind::Range(PoolKind::Uploads))]),
    (Subject::Readback, &[(16 * MIB, PlacementKind::Range(PoolKind::Readbacks))]),
    (
        Subject::Mesh,
        &[
            (64 * KIB, PlacementKind::Range(PoolKind::SmallBuffers)),
            (16 * MIB, PlacementKind::Range(PoolKind::ReadOnlyBuffers)),
        ],
    ),
    (Subject::ReadOnly, &[(16 * MIB, PlacementKind::Range(PoolKind::ReadOnlyBuffers))]),
    (Subject::Indirect, &[(16 * MIB, PlacementKind::Range(PoolKind::IndirectBuffers))]),
    (Subject::AccelerationStructure, &[(16 * MIB, PlacementKind::Range(PoolKind::AccelerationStructures))]),
    (Subject::Unordered, &[(16 * MIB, PlacementKind::Placed(PoolKind::UnorderedBuffers))]),
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
            assert_eq!(
                place_buffer(subject, size, &config),
                PlacementKind::Committed,
                "{subject:?} of {size} B"
            );
        }
    }
}

#[test]
fn buddies_take_small_uploads() {
    let config = Config::from(UploadConfig::default().suballocator(UploadSuballocator::Buddy));
    for (size, placement) in [
        (1, PlacementKind::Range(PoolKind::SmallUploads)),
        (64 * KIB, PlacementKind::Range(PoolKind::SmallUploads)),
        (64 * KIB + 1, PlacementKind::Range(PoolKind::Uploads)),
        (64 * MIB, PlacementKind::Range(PoolKind::Uploads)),
        (64 * MIB + 1, PlacementKind::Committed),
    ] {
        assert_eq!(place_buffer(Subject::Upload, size, &config), placement, "{size} B");
    }
}

#[test]
fn limits_follow_the_configuration() {
    let config = Config::default()
        .uploads(
            UploadConfig::default()
                .suballocator(UploadSuballocator::Buddy)
                .max_small(512)
                .max_pooled(4 * KIB),
        )
        .pools(PoolConfig::default().small_buffer_slot(MIB).max_pooled_buffer(2 * MIB));
    for (subject, limit) in [
        (Subject::Mesh, MIB),
        (Subject::Mesh, 2 * MIB),
        (Subject::ReadOnly, 2 * MIB),
        (Subject::Unordered, 2 * MIB),
        (Subject::Upload, 512),
        (Subject::Upload, 4 * KIB),
    ] {
        let (at, above) = (place_buffer(subject, limit, &config), place_buffer(subject, limit + 1, &config));
        assert_ne!(at, above, "{subject:?} changes above {limit} B");
    }
}

#[test]
fn strategies_override_the_table() {
    for (subject, rows) in TABLE {
        for (limit, placement) in rows {
            let placed = Config::from(PoolConfig::default().strategy(Strategy::Placed));
            let expected = match placement {
                PlacementKind::Range(_) => PlacementKind::Placed(PoolKind::PlacedBuffers),
                other => *other,
            };
            assert_eq!(place_buffer(subject, *limit, &placed), expected);
            let committed = Config::from(PoolConfig::default().strategy(Strategy::Committed));
            assert_eq!(place_buffer(subject, *limit, &committed), PlacementKind::Committed);
        }
    }
}

#[test]
fn usage_and_memory_decide_the_subject() {
    use MemoryUse::{GpuOnly, GpuUpload, Readback, Upload};
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
        (Usage::CONSTANT, Upload, Subject::Upload),
        (Usage::VERTEX | copies, GpuUpload, Subject::Upload),
        (Usage::UNORDERED_ACCESS, Upload, Subject::Unordered),
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
            assert_eq!(placed, PlacementKind::Placed(kind), "{info:?} at {alignment}");
        }
        let above = place_texture(&info, &needs(64 * MIB + 1, alignment), &config);
        assert_eq!(above, PlacementKind::Committed);
        for dedicated in [
            Requirements { prefers_dedicated: true, ..needs(1, alignment) },
            Requirements { requires_dedicated: true, ..needs(1, alignment) },
        ] {
            assert_eq!(place_texture(&info, &dedicated, &config), PlacementKind::Committed);
        }
        let committed = Config::from(PoolConfig::default().strategy(Strategy::Committed));
        assert_eq!(place_texture(&info, &needs(1, alignment), &committed), PlacementKind::Committed);
    }
}

/// Resources are placed as the table says.
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
        (MemoryUse::Upload, Usage::CONSTANT, 64 * MIB, LocationKind::Range),
        (MemoryUse::Upload, Usage::CONSTANT, 64 * MIB + 1, LocationKind::Committed),
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

/// Upload buffers go to device memory if there is enough of it; a small window is not exhausted.
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
            assert_eq!(order, type_order(properties, MemoryUse::Upload), "{profile:?}");
        }
    }
    let has = |profile| Device::new(profile).properties().features.contains(Features::GPU_UPLOAD);
    assert!(!has(Profile::VULKAN_NVIDIA) && !has(Profile::VULKAN_AMD_SMALL_BAR), "214 and 256 MiB");
    assert!(has(Profile::VULKAN_INTEL) && has(Profile::VULKAN_MOBILE), "shared memory");
}

/// A field, its minimum and maximum, and a function that sets it and adapts the other fields.
type Field = (&'static str, u64, u64, fn(&mut Config, u64));

const FIELDS: [Field; 39] = [
    ("frames.in_flight", 1, 16, |config, value| config.frames.in_flight = value as u32),
    ("frames.idle", 0, 1_000_000, |config, value| config.frames.idle = value as u32),
    ("frames.timeout", 0, 3_600_000, |config, value| config.frames.timeout = Duration::from_millis(value)),
    ("frames.shutdown_timeout", 0, 3_600_000, |config, value| {
        config.frames.shutdown_timeout = Duration::from_millis(value);
    }),
    ("pools.small_buffer_slot", 64 * KIB, 16 * MIB, |config, value| config.pools.small_buffer_slot = value),
    ("pools.min_block", 64 * KIB, 256 * MIB, |config, value| config.pools.min_block = value),
    ("pools.max_buffer_block", 64 * KIB, 4 * GIB, |config, value| {
        config.pools.max_buffer_block = value;
        config.pools.max_pooled_buffer = 0;
    }),
    ("pools.max_texture_block", 64 * KIB, 4 * GIB, |config, value| config.pools.max_texture_block = value),
    ("pools.max_pooled_buffer", 0, 32 * MIB, |config, value| config.pools.max_pooled_buffer = value),
    ("pools.growth_divisor", 1, 64, |config, value| config.pools.growth_divisor = value),
    ("pools.shards", 1, 16, |config, value| config.pools.shards = value as u32),
    ("pools.max_wait", 0, 60_000, |config, value| config.pools.max_wait = Duration::from_millis(value)),
    ("uploads.max_block", 64 * KIB, 256 * MIB, |config, value| {
        config.uploads.max_block = value;
        config.uploads.max_small = 256;
    }),
    ("uploads.max_small", 256, 4 * MIB, |config, value| config.uploads.max_small = value),
    ("uploads.max_pooled", 64 * KIB, 4 * GIB, |config, value| config.uploads.max_pooled = value),
    ("staging.constant_page", 4 * KIB, 4 * MIB, |config, value| config.staging.constant_page = value),
    ("staging.upload_page", 64 * KIB, 64 * MIB, |config, value| config.staging.upload_page = value),
    ("staging.readback_page", 64 * KIB, 64 * MIB, |config, value| config.staging.readback_page = value),
    ("staging.build_scratch_page", 64 * KIB, 256 * MIB, |config, value| {
        config.staging.build_scratch_page = value;
    }),
    ("staging.max_pending", 64 * KIB, 4 * GIB, |config, value| config.staging.max_pending = value),
    ("in_place.max_upload", 0, 4 * GIB, |config, value| config.in_place.max_upload = value),
    ("in_place.max_over_bus", 0, 4 * GIB, |config, value| config.in_place.max_over_bus = value),
    ("descriptors.block", 16, 65_536, |config, value| config.descriptors.block = value as u32),
    ("descriptors.chunk", 16, 65_536, |config, value| config.descriptors.chunk = value as u32),
    ("descriptors.set_pool", 1, 4096, |config, value| config.descriptors.set_pool = value as u32),
    ("transient.heap", 0, 4 * GIB, |config, value| config.transient.heap = value),
    ("transient.cache", 0, 1_000_000, |config, value| config.transient.cache = value as u32),
    ("transient.latency", 0, 1_000_000, |config, value| config.transient.latency = value as u32),
    ("transient.improvement", 0, 1_000_000_000, |config, value| config.transient.improvement = value),
    ("pressure.high", 1, 95, |config, value| config.pressure.high = value as u32),
    ("pressure.critical", 1, 100, |config, value| {
        config.pressure.critical = value as u32;
        config.pressure.high = 1;
    }),
    ("pressure.hysteresis", 0, 50, |config, value| config.pressure.hysteresis = value as u32),
    ("pressure.interval", 1, 1000, |config, value| config.pressure.interval = value as u32),
    ("compaction.min_free", 1, 100, |config, value| config.compaction.min_free = value as u32),
    ("compaction.quiet_frames", 0, 1_000_000, |config, value| {
        config.compaction.quiet_frames = value as u32;
    }),
    ("compaction.frame_bytes", 64 * KIB, 4 * GIB, |config, value| config.compaction.frame_bytes = value),
    ("compaction.frame_moves", 1, 65_536, |config, value| config.compaction.frame_moves = value as u32),
    ("compaction.frame_pieces", 1, 1_000_000, |config, value| {
        config.compaction.frame_pieces = value as u32;
    }),
    ("released_history", 0, 65_536, |config, value| config.released_history = value as u32),
];

/// Fields whose maximum is another field.
const LIMITED_BY: [(&str, &str); 3] = [
    ("pools.max_pooled_buffer", "pools.max_buffer_block"),
    ("uploads.max_small", "uploads.max_block"),
    ("pressure.high", "pressure.critical"),
];

/// The defaults with one changed field.
fn with(set: fn(&mut Config, u64), value: u64) -> Config {
    let mut config = Config::default();
    set(&mut config, value);
    config
}

#[test]
fn a_field_that_limits_another_is_named() {
    let config = with(|config, value| config.pools.max_buffer_block = value, MIB);
    assert_eq!(
        config.validate().unwrap_err().to_string(),
        "configuration: pools.max_pooled_buffer = 16777216 B: must be 0 to pools.max_buffer_block, which is 1048576 B"
    );
}

/// The fields without a range. Those of the parts of a descriptor heap depend on the device: see the tests of descriptors.
const WITHOUT_RANGE: [&str; 13] = [
    "pools.strategy",
    "uploads.suballocator",
    "in_place.initial_data",
    "in_place.uploads",
    "in_place.textures",
    "descriptors.static_resources",
    "descriptors.dynamic_resources",
    "descriptors.static_samplers",
    "descriptors.dynamic_samplers",
    "descriptors.poison",
    "descriptors.report_unnamed",
    "transient.gpu_times",
    "compaction.is_automatic",
];

#[test]
fn every_field_of_the_configuration_has_two_ends() {
    let mut part = "";
    let shown = format!("{:#?}", Config::default());
    for line in shown.lines().filter(|line| line.contains(": ")) {
        let (name, value) = line.trim().split_once(": ").unwrap();
        match (line.starts_with("        "), value.ends_with('{')) {
            (false, true) => part = name,
            (true, _) => {
                let field = format!("{part}.{name}");
                let is_listed = FIELDS.iter().any(|(listed, ..)| *listed == field);
                assert!(is_listed || WITHOUT_RANGE.contains(&&*field), "{field}: add a line to `FIELDS`");
            }
            (false, false) => assert!(["leak_backtraces", "released_history"].contains(&name), "{name}"),
        }
    }
    for (field, min, max, set) in FIELDS {
        for value in [min, max] {
            assert_eq!(with(set, value).validate(), Ok(()), "{field} = {value}");
            let gpu = Gpu::new(Device::new(Profile::DISCRETE), with(set, value)).unwrap();
            assert!(gpu.create_buffer(&BufferDesc::new(1000, Usage::VERTEX)).is_ok(), "{field} = {value}");
        }
        for value in [min.checked_sub(1), Some(max + 1)].into_iter().flatten() {
            let error = with(set, value).validate().expect_err(field);
            assert_eq!((error.field, error.value), (field, value));
            let rule = match LIMITED_BY.iter().find(|(limited, _)| *limited == field) {
                Some(&(_, field)) => ConfigRule::UpTo { min, field, max },
                None => ConfigRule::Range { min, max },
            };
            assert_eq!(error.rule, rule);
            let text = error.to_string();
            assert!(text.contains(field) && text.contains(&value.to_string()), "{text}");
            let refused = Gpu::new(Device::new(Profile::DISCRETE), with(set, value)).err();
            assert_eq!(refused, Some(Error::Config(error)));
        }
    }
}

#[test]
fn slots_and_pages_are_powers_of_two() {
    for (field, value) in [
        ("pools.small_buffer_slot", 64 * KIB + 1),
        ("pools.small_buffer_slot", 96 * KIB),
        ("pools.small_buffer_slot", 3 * MIB),
        ("staging.upload_page", 96 * KIB),
        ("staging.readback_page", 96 * KIB),
        ("staging.constant_page", 5 * KIB),
        ("staging.constant_page", 64 * KIB + 1),
    ] {
        let (_, _, _, set) = FIELDS.into_iter().find(|(name, ..)| *name == field).unwrap();
        let error = with(set, value).validate().unwrap_err();
        assert_eq!((error.field, error.rule), (field, ConfigRule::PowerOfTwo));
        let text = format!("configuration: {field} = {value} B: must be a power of two");
        assert_eq!(error.to_string(), text);
    }
}

/// Creates and drops resources at random; returns where each was placed.
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
            let memory = [MemoryUse::GpuOnly, MemoryUse::Upload][rng.below(2) as usize];
            let desc =
                BufferDesc::new(1 + rng.below(100_000), usage).memory(crate::possible(&gpu, usage, memory));
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
            let config = Config::from(UploadConfig::default().suballocator(upload_suballocator));
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
            drop(gpu);
            let hazards = device.take_hazards();
            let is_wrong_state =
                |hazard: &&tenure_sim::Hazard| hazard.kind == tenure_sim::HazardKind::WrongState;
            assert_eq!(hazards.iter().find(is_wrong_state), None, "{profile:?}");
        }
    }
}

/// Where a texture goes: whether to lazily allocated memory, the memory type 2 of a phone.
fn is_in_lazy_memory(profile: Profile, desc: &TextureDesc, is_refused: bool) -> bool {
    let device = Device::with_config(DeviceConfig::new(profile).record_calls());
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    if is_refused {
        device.faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted));
    }
    let texture = gpu.create_texture(desc).unwrap();
    let calls = device.call_log();
    let stats = gpu.stats();
    let is_memoryless = texture.location() == LocationKind::Memoryless;
    assert_eq!(is_memoryless, stats.memoryless > 0 && stats.reserved == 0, "{stats:?}");
    drop(texture);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
    let is_lazy = calls.iter().any(|call| call.starts_with("create_committed") && call.ends_with(", 2): ok"));
    assert_eq!(is_lazy, is_memoryless);
    is_lazy
}

/// Only resources that stay in a render pass get lazily allocated memory, if the device has it, and other
/// memory if it is refused.
#[test]
fn transient_attachments_live_in_lazily_allocated_memory() {
    let is_lazy = |profile, usage: Usage, is_refused| {
        let format = if usage.contains(Usage::DEPTH_STENCIL) { Format::D32Float } else { Format::Rgba8Unorm };
        is_in_lazy_memory(profile, &TextureDesc::d2(640, 480, format, usage), is_refused)
    };
    let transient = Usage::TRANSIENT_ATTACHMENT;
    let (color, depth) = (Usage::RENDER_TARGET, Usage::DEPTH_STENCIL);
    let phone = Profile::VULKAN_MOBILE;
    assert!(is_lazy(phone, depth | transient, false) && is_lazy(phone, color | transient, false));
    assert!(!is_lazy(phone, depth, false) && !is_lazy(phone, color, false), "another pass may load it");
    assert!(!is_lazy(phone, depth | transient, true), "refused");
    for &profile in Profile::ALL.iter().filter(|profile| **profile != phone) {
        assert!(!is_lazy(profile, depth | transient, false), "{}: there is none", profile.name());
    }
}

/// On a phone the targets of a render pass that nothing else reads use no memory, neither by the driver's count
/// nor by tenure's, and no budget. None of them can be evicted.
#[test]
fn transient_attachments_take_no_bytes() {
    let device = Device::with_config(DeviceConfig::new(Profile::VULKAN_MOBILE));
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let desc = |format, usage, samples| {
        TextureDesc::d2(1920, 1080, format, usage | Usage::TRANSIENT_ATTACHMENT).samples(samples)
    };
    let (color, depth) = (Usage::RENDER_TARGET, Usage::DEPTH_STENCIL);
    let all = [
        desc(Format::Rgba8Unorm, color, 4),
        desc(Format::D32Float, depth, 4).evictable(),
        desc(Format::Rgba16Float, color | Usage::INPUT_ATTACHMENT, 1),
    ];
    let targets: Vec<_> = all.iter().map(|desc| gpu.create_texture(desc).unwrap()).collect();
    assert!(targets.iter().all(|target| target.location() == LocationKind::Memoryless));
    let costs: Vec<_> = all.iter().map(|desc| gpu.texture_cost(desc).unwrap()).collect();
    let is_free = |cost: &Cost| cost.new_bytes == 0 && cost.is_within_budget;
    assert!(costs.iter().all(|cost| is_free(cost) && cost.location == LocationKind::Memoryless), "{costs:?}");
    let bytes: u64 = costs.iter().map(|cost| cost.size).sum();
    let stats = gpu.stats();
    assert_eq!((stats.reserved, stats.peak_reserved, stats.memoryless), (0, 0, bytes));
    let memory = gpu.memory();
    assert!(memory.heaps.iter().all(|heap| heap.usage == 0 && heap.evicted == 0), "{memory:?}");
    assert_eq!(device.budget().unwrap()[0].usage, 0);
    drop(targets);
    gpu.reclaim().unwrap();
    assert_eq!(gpu.stats().memoryless, 0);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}
