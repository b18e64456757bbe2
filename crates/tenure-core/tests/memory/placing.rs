//! Where resources end up: alignment, the limits of the device, and the state after a failure.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use tenure_core::device::{Api, FieldValue, prelude::*};
use tenure_core::memory::PoolKind;
use tenure_core::{
    Buffer, BufferDesc, BufferLayout, Config, DeviceError, Error, Format, Gpu, LocationKind, MemoryUse, Name,
    OutOfMemory, PageAllocator, PageAllocatorDesc, Plane, PoolConfig, Queue, TextureDesc, TextureRegion,
    UploadConfig, UploadRingDesc, UploadSuballocator, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Lag, Profile};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn gpu(options: DeviceConfig, config: Config) -> Gpu<Device> {
    Gpu::new(Device::with_config(options.lag(Lag::None)), config).unwrap()
}

fn default_gpu(profile: Profile) -> Gpu<Device> {
    gpu(DeviceConfig::new(profile), Config::default())
}

#[track_caller]
fn out_of_memory<T>(result: Result<T, Error>) -> OutOfMemory {
    match result.err() {
        Some(Error::OutOfMemory(error)) => *error,
        other => panic!("expected to be out of memory, got {other:?}"),
    }
}

#[track_caller]
fn invalid<T>(result: Result<T, Error>) -> (Name, &'static str, u64) {
    match result.err() {
        Some(Error::Device {
            name,
            source: DeviceError::InvalidDesc { field, value: FieldValue::Number(value), .. },
        }) => (name, field, value),
        other => panic!("expected an invalid description, got {other:?}"),
    }
}

/// Bytes that the API asks the offset of such a range to be a multiple of, by the tables.
fn needed_alignment(device: &Device, desc: &BufferDesc) -> u64 {
    let properties = device.properties();
    // On Direct3D 12 a structured view begins at an element, whatever its size.
    let is_structured = desc.stride > 0 && properties.api == Api::Direct3D12;
    let mut alignment = desc.alignment;
    if desc.usage.contains(Usage::CONSTANT) {
        alignment = alignment.max(properties.constant_alignment);
    }
    if desc.usage.contains(Usage::SHADER_READ) && !is_structured {
        alignment = alignment.max(properties.storage_alignment);
    }
    alignment
}

#[test]
fn an_offset_honours_the_alignment_and_the_stride() {
    let gpu = default_gpu(Profile::VULKAN_NVIDIA);
    let desc = BufferDesc::new(1000, Usage::VERTEX | Usage::CONSTANT).stride(12).alignment(256);
    let buffers: Vec<_> = (0..4).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    for buffer in &buffers {
        assert_eq!(buffer.location(), LocationKind::Range);
        assert_eq!((buffer.offset() % 256, buffer.offset() % 12), (0, 0), "at {}", buffer.offset());
    }
}

#[test]
fn storage_buffers_with_a_stride_lie_where_vulkan_binds_them() {
    for profile in [Profile::VULKAN_MOBILE, Profile::VULKAN_INTEL, Profile::VULKAN_LAVAPIPE] {
        let gpu = default_gpu(profile);
        let alignment = gpu.device().properties().storage_alignment;
        let desc = BufferDesc::new(1012, Usage::SHADER_READ).stride(20);
        let buffers: Vec<_> = (0..3).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
        for buffer in &buffers {
            assert_eq!((buffer.offset() % alignment, buffer.offset() % 20), (0, 0), "{profile:?}");
        }
    }
}

#[test]
fn structured_buffers_lie_close_on_direct3d_12() {
    let gpu = default_gpu(Profile::DISCRETE);
    let desc = BufferDesc::new(1012, Usage::SHADER_READ).stride(4);
    let buffers: Vec<_> = (0..8).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    let last = buffers.iter().map(Buffer::offset).max().unwrap();
    assert!(last <= 7 * 1024, "eight of them take {last} B and the last");
}

#[test]
fn a_stride_that_would_waste_a_range_gets_a_resource_of_its_own() {
    let gpu = default_gpu(Profile::DISCRETE);
    for (size, stride, alignment) in
        [(100, u32::MAX, 1), (100, (1 << 20) + 1, 256), (MIB, u32::MAX, 1 << 40), (5000, 4099, 4096)]
    {
        let desc = BufferDesc::new(size, Usage::VERTEX).stride(stride).alignment(alignment);
        let buffer = gpu.create_buffer(&desc).unwrap();
        assert_eq!((buffer.location(), buffer.offset()), (LocationKind::Placed, 0), "stride {stride}");
    }
    assert!(gpu.stats().reserved < 4 * MIB, "{} B", gpu.stats().reserved);
}

#[test]
fn committed_buffers_have_the_requested_size() {
    let gpu = default_gpu(Profile::DISCRETE);
    gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateHeap).onwards());
    let size = 4 * 64 * KIB - 4;
    let desc = BufferDesc::new(size, Usage::VERTEX | Usage::SHADER_READ).stride(12);
    gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted));
    let _buffer = gpu.create_buffer(&desc).unwrap();
    assert_eq!(gpu.stats().committed_resources, 1);
    assert_eq!(gpu.stats().reserved, 4 * 64 * KIB, "without room to move to a multiple of its stride");
}

#[test]
fn padding_of_a_stride_is_part_of_the_placed_size() {
    let gpu = default_gpu(Profile::DISCRETE);
    let desc = BufferDesc::new(64 * KIB - 4, Usage::VERTEX).stride(12);
    let buffers: Vec<_> = (0..200).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    let live: u64 = buffers.iter().map(Buffer::size).sum();
    let ratio = gpu.stats().reserved as f64 / live as f64;
    assert!(ratio < 1.15, "{ratio:.2} times what lives");
}

fn any_buffer() -> impl Strategy<Value = BufferDesc> {
    let usages = [Usage::VERTEX, Usage::INDEX, Usage::CONSTANT, Usage::SHADER_READ, Usage::COPY_SRC];
    let usage = prop::sample::subsequence(usages.to_vec(), 1..=usages.len());
    let memory = prop::sample::select(&MemoryUse::ALL[..]);
    (1..200_000_u64, usage, memory, 0..300_u32, 0..14_u32).prop_map(|(size, usage, memory, stride, shift)| {
        let usage = usage.into_iter().fold(Usage::empty(), |all, usage| all | usage);
        BufferDesc::new(size, usage).memory(memory).stride(stride).alignment(1 << shift)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn buffers_are_aligned_and_apart(
        profile in prop::sample::select(Profile::ALL.to_vec()),
        descs in prop::collection::vec(any_buffer(), 1..60),
    ) {
        let gpu = default_gpu(profile);
        let buffers: Vec<_> = descs.iter().map(|desc| gpu.create_buffer(desc).unwrap()).collect();
        let mut ranges = Vec::new();
        for (buffer, desc) in buffers.iter().zip(&descs) {
            prop_assert_eq!(buffer.offset() % needed_alignment(gpu.device(), desc), 0, "{:?}", desc);
            prop_assert_eq!(buffer.offset() % u64::from(desc.stride.max(1)), 0, "{:?}", desc);
            prop_assert_eq!(buffer.size(), desc.size);
            let end = buffer.offset() + buffer.size();
            ranges.push((std::ptr::from_ref(buffer.raw()), buffer.offset(), end));
        }
        ranges.sort_unstable();
        let apart = |pair: &[(_, u64, u64)]| pair[0].0 != pair[1].0 || pair[0].2 <= pair[1].1;
        prop_assert!(ranges.windows(2).all(apart));
    }
}

/// Heaps of 100 MiB, and blocks configured larger than that.
#[test]
fn blocks_are_no_larger_than_the_device_allows() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::DISCRETE] {
        let options = DeviceConfig::new(profile).heap_sizes([100 * MIB, 100 * MIB, 100 * MIB]);
        let gpu = gpu(options, Config::from(PoolConfig::default().min_block(256 * MIB)));
        let written = BufferDesc::new(1000, Usage::UNORDERED_ACCESS);
        let buffer = gpu.create_buffer(&written).unwrap();
        assert_eq!(buffer.location(), LocationKind::Placed, "{profile:?}");
        let read = gpu.create_buffer(&BufferDesc::new(1000, Usage::SHADER_READ)).unwrap();
        let texture = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ);
        let texture = gpu.create_texture(&texture).unwrap();
        drop((buffer, read, texture));
    }
}

/// On a phone a buffer is at most 1 GiB and a heap 2 GiB.
#[test]
fn shared_buffers_are_no_larger_than_a_buffer_may_be() {
    let config = Config::default()
        .pools(PoolConfig::default().growth_divisor(1).max_buffer_block(4 * GIB).max_pooled_buffer(4 * GIB))
        .uploads(UploadConfig::default().max_pooled(4 * GIB));
    let gpu = gpu(DeviceConfig::new(Profile::VULKAN_MOBILE), config);
    let desc = BufferDesc::new(700 * MIB, Usage::SHADER_READ);
    let buffers: Vec<_> = (0..4).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    let small = gpu.create_buffer(&BufferDesc::new(500 * MIB, Usage::SHADER_READ)).unwrap();
    assert!(buffers.iter().all(|buffer| buffer.location() == LocationKind::Range));
    drop((buffers, small));
}

#[test]
fn sizes_beyond_every_heap_are_out_of_memory_with_the_numbers() {
    for strategy in [tenure_core::Strategy::Pooled, tenure_core::Strategy::Committed] {
        let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).heap_sizes([8 * MIB, 8 * MIB, 8 * MIB]);
        let gpu = gpu(options, Config::from(PoolConfig::default().strategy(strategy)));
        for size in [9 * MIB, 15 * MIB, 60 * MIB] {
            for usage in [Usage::SHADER_READ, Usage::UNORDERED_ACCESS] {
                let error = out_of_memory(gpu.create_buffer(&BufferDesc::new(size, usage).name("big")));
                assert_eq!((error.name.as_str(), error.size), ("big", size));
                assert!(error.budget.budget > 0, "{error}");
            }
        }
        let texture = TextureDesc::d2(2048, 2048, Format::Rgba8Unorm, Usage::SHADER_READ).name("sky");
        assert!(out_of_memory(gpu.create_texture(&texture)).size >= 16 * MIB);
        assert_eq!(gpu.stats().reserved, 0, "nothing is left behind");
    }
}

#[test]
fn pages_are_no_larger_than_a_heap_and_its_budget() {
    let options = DeviceConfig::new(Profile::DISCRETE).heap_sizes([100 * MIB, 100 * MIB]);
    let whole = [100 * MIB, 100 * MIB];
    for (options, expected) in [(options.clone().budgets(whole), 100 * MIB), (options, 50 * MIB)] {
        let gpu = gpu(options, Config::default());
        let pages = gpu.create_pages(&PageAllocatorDesc::new(64 * GIB).name("big"));
        let buffer = pages.create_buffer(&BufferDesc::new(1000, Usage::VERTEX)).unwrap();
        assert_eq!(buffer.location(), LocationKind::Page);
        assert_eq!(pages.stats().reserved, expected);
    }
}

#[test]
fn buddies_divide_blocks_that_hold_the_request() {
    for max_small_upload in [512 * KIB, 3 * MIB] {
        let config = Config::from(
            UploadConfig::default()
                .suballocator(UploadSuballocator::Buddy)
                .max_small(max_small_upload)
                .max_block(3 * MIB),
        );
        let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), config);
        let sizes =
            [300 * KIB, 300 * KIB, 511 * KIB, 64 * KIB + 1, 1, max_small_upload - 1, max_small_upload];
        let desc = |size| BufferDesc::new(size, Usage::CONSTANT).memory(MemoryUse::Upload);
        let buffers: Vec<_> = sizes.iter().map(|size| gpu.create_buffer(&desc(*size)).unwrap()).collect();
        assert!(buffers.iter().all(|buffer| buffer.location() == LocationKind::Range));
        let report = gpu.report();
        let pool = report.pools.iter().find(|pool| pool.stats.kind == PoolKind::SmallUploads).unwrap();
        let capacities: Vec<_> = pool.blocks.iter().map(|block| block.size).collect();
        assert!(capacities.iter().all(|capacity| capacity.is_power_of_two()), "{capacities:?}");
    }
}

/// A buddy allocator aligns by rounding up, so that no block suits an extreme alignment.
#[test]
fn buddies_leave_no_block_for_extreme_alignments() {
    let config = Config::from(UploadConfig::default().suballocator(UploadSuballocator::Buddy));
    let gpu = gpu(DeviceConfig::new(Profile::DISCRETE), config);
    let desc = BufferDesc::new(1000, Usage::CONSTANT).memory(MemoryUse::Upload).alignment(1 << 40);
    let buffers: Vec<_> = (0..3).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    assert!(buffers.iter().all(|buffer| buffer.location() == LocationKind::Committed));
    assert_eq!(gpu.stats().reserved, 3 * 64 * KIB);
}

fn plain(pages: &PageAllocator<Device>) -> Result<tenure_core::Texture<Device>, Error> {
    pages.create_texture(&TextureDesc::d2(256, 256, Format::Rgba8Unorm, Usage::RENDER_TARGET))
}

#[test]
fn pages_hold_multisampled_textures_next_to_plain_ones() {
    let gpu = default_gpu(Profile::DISCRETE);
    let pages = gpu.create_pages(&PageAllocatorDesc::new(32 * MIB).name("level"));
    let plain = plain(&pages).unwrap();
    let desc = TextureDesc::d2(1024, 1024, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4);
    let multisampled = pages.create_texture(&desc).unwrap();
    assert_eq!((plain.location(), multisampled.location()), (LocationKind::Page, LocationKind::Page));
}

#[test]
fn a_failed_creation_leaves_no_page() {
    let gpu = default_gpu(Profile::DISCRETE);
    let pages = gpu.create_pages(&PageAllocatorDesc::new(8 * MIB).name("level"));
    let host = FaultKind::OutOfHostMemory;
    gpu.device().faults().inject(Fault::nth(1, host.clone()).of(CallKind::CreatePlaced));
    gpu.device().faults().inject(Fault::nth(1, host).of(CallKind::CreateCommitted).onwards());
    let desc = BufferDesc::new(1000, Usage::VERTEX);
    out_of_memory(pages.create_buffer(&desc));
    assert_eq!((pages.stats().pages, gpu.stats().reserved), (0, 0));
    gpu.device().faults().clear();
    let buffer = pages.create_buffer(&desc).unwrap();
    gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfHostMemory).of(CallKind::CreatePlaced));
    let alone = pages.create_buffer(&desc).unwrap();
    assert_eq!((buffer.location(), alone.location()), (LocationKind::Page, LocationKind::Committed));
    assert_eq!(pages.stats().pages, 1, "a page that others live in stays");
}

/// Uses that a shared buffer of acceleration structures does not support need a buffer of their own.
#[test]
fn acceleration_structures_with_other_uses_stand_alone() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        let gpu = default_gpu(profile);
        let copies = Usage::COPY_SRC | Usage::COPY_DST;
        for (others, location) in [
            (Usage::empty(), LocationKind::Range),
            (Usage::SHADER_READ | copies, LocationKind::Range),
            (Usage::UNORDERED_ACCESS, LocationKind::Placed),
            (Usage::VERTEX, LocationKind::Placed),
            (Usage::INDIRECT | Usage::CONSTANT, LocationKind::Placed),
        ] {
            let desc = BufferDesc::new(4096, Usage::ACCELERATION_STRUCTURE | others);
            assert_eq!(gpu.create_buffer(&desc).unwrap().location(), location, "{profile:?}, {others:?}");
        }
    }
}

#[test]
fn every_upload_buffer_can_be_copied_to_a_texture() {
    for memory in [MemoryUse::Upload, MemoryUse::GpuUpload] {
        for profile in [Profile::DISCRETE, Profile::D3D12_REBAR, Profile::VULKAN_INTEL] {
            let gpu = default_gpu(profile);
            let texture = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::SHADER_READ);
            let texture = gpu.create_texture(&texture).unwrap();
            let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 64 };
            let region =
                TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [64, 64, 1] };
            let desc = BufferDesc::new(64 * 64 * 4 + 16, Usage::COPY_SRC).memory(memory).name("staging");
            let uploads: Vec<_> = (0..4).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
            for upload in &uploads {
                upload.write(0, &[1; 64 * 64 * 4]).unwrap();
                let mut recording = gpu.record(Queue::Graphics, "copy").unwrap();
                recording.copy_buffer_to_texture(upload, layout, &texture, region).unwrap();
                recording.submit().unwrap_or_else(|error| panic!("{profile:?}: {error}"));
            }
        }
    }
}

#[test]
fn small_uploads_lie_close() {
    let gpu = default_gpu(Profile::DISCRETE);
    let desc = BufferDesc::new(100, Usage::COPY_SRC).memory(MemoryUse::Upload);
    let uploads: Vec<_> = (0..8).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    assert!(uploads.iter().map(Buffer::offset).max().unwrap() < KIB);
}

#[test]
fn readback_textures_beyond_the_limits_are_refused_at_once() {
    let gpu = default_gpu(Profile::DISCRETE);
    let properties = gpu.device().properties();
    let flat =
        |width, height| TextureDesc::d2(width, height, Format::Rgba8Unorm, Usage::COPY_SRC).name("big");
    let deep = |side, depth| TextureDesc::d3(side, side, depth, Format::R8Unorm, Usage::COPY_SRC).name("big");
    let (side, depth, layers) = (properties.max_texture_2d, properties.max_texture_3d, properties.max_layers);
    let refused = [
        (flat(1, 1).layers(1 << 26), "depth_or_layers", 1 << 26),
        (flat(1, 1).layers(layers + 1), "depth_or_layers", layers + 1),
        (flat(side + 1, 1), "width", side + 1),
        (flat(1, side + 1), "height", side + 1),
        (deep(depth + 1, 1), "width", depth + 1),
        (deep(1, depth + 1), "depth_or_layers", depth + 1),
        (flat(64, 64).samples(8), "samples", 8),
    ];
    // Other load may slow down some of these runs, but not all.
    let quickest = (0..5).map(|_| {
        let start = Instant::now();
        for (desc, field, value) in &refused {
            let refused = invalid(gpu.create_readback_texture(desc));
            assert_eq!(refused, (Name::from("big"), *field, u64::from(*value)));
        }
        start.elapsed()
    });
    let quickest = quickest.min().unwrap();
    assert!(quickest < Duration::from_secs(1), "{quickest:?}");
    let most = gpu.create_readback_texture(&flat(1, 1).layers(layers)).unwrap();
    assert!(most.layout(layers - 1).is_some());
    assert!(gpu.create_readback_texture(&deep(4, 64)).is_ok());
}

/// Empty blocks are kept if a new block is refused: here one that is filled and emptied in turns.
#[test]
fn a_refused_block_costs_no_other() {
    let gpu = default_gpu(Profile::DISCRETE);
    let desc = |size| BufferDesc::new(size, Usage::SHADER_READ);
    for _ in 0..2 {
        drop(gpu.create_buffer(&desc(100 * KIB)).unwrap());
        gpu.reclaim().unwrap();
    }
    let before = gpu.stats();
    assert!(before.reserved > 0, "an empty block stays for a while");
    gpu.device().faults().inject(Fault::nth(1, FaultKind::OutOfMemory).of(CallKind::CreateCommitted));
    let large = gpu.create_buffer(&desc(MIB)).unwrap();
    let after = gpu.stats();
    assert_eq!(large.location(), LocationKind::Committed);
    assert_eq!(after.reserved, before.reserved + MIB);
}

#[test]
fn a_granted_block_takes_the_place_of_empty_ones() {
    let gpu = default_gpu(Profile::DISCRETE);
    let desc = |size| BufferDesc::new(size, Usage::SHADER_READ);
    drop(gpu.create_buffer(&desc(100 * KIB)).unwrap());
    gpu.reclaim().unwrap();
    let large = gpu.create_buffer(&desc(MIB)).unwrap();
    assert_eq!((large.location(), gpu.stats().reserved), (LocationKind::Range, MIB));
}

/// On a phone with memory that needs flushes, which work on whole atoms of 64 B.
#[test]
fn mapped_ranges_share_no_atom() {
    for upload_suballocator in [UploadSuballocator::General, UploadSuballocator::Buddy] {
        let config = Config::from(UploadConfig::default().suballocator(upload_suballocator));
        let gpu = gpu(DeviceConfig::new(Profile::VULKAN_MOBILE), config);
        let atom = gpu.device().properties().non_coherent_atom;
        // Readbacks prefer cached memory, the only memory that is not coherent.
        let desc = BufferDesc::new(100, Usage::COPY_DST).memory(MemoryUse::Readback);
        let desc = desc.stride(12);
        let buffers: Vec<_> = (0..8).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
        let mut atoms: Vec<_> = buffers
            .iter()
            .map(|buffer| (buffer.offset() / atom, (buffer.offset() + buffer.size()).div_ceil(atom)))
            .collect();
        atoms.sort_unstable();
        assert!(buffers.iter().all(|buffer| buffer.location() == LocationKind::Range));
        assert!(atoms.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{atoms:?}");
    }
}

#[test]
fn a_buffer_may_ask_for_a_resource_of_its_own() {
    let gpu = default_gpu(Profile::DISCRETE);
    let desc = BufferDesc::new(1000, Usage::VERTEX | Usage::COPY_SRC).own_resource();
    let buffers: Vec<_> = (0..2).map(|_| gpu.create_buffer(&desc).unwrap()).collect();
    for buffer in &buffers {
        assert_eq!((buffer.location(), buffer.offset()), (LocationKind::Placed, 0));
    }
    let mut recording = gpu.record(Queue::Graphics, "copy").unwrap();
    recording.copy_buffer(&buffers[0], 0, &buffers[1], 0, 1000).unwrap();
    recording.submit().unwrap();
    let large = gpu.create_buffer(&BufferDesc::new(17 * MIB, Usage::VERTEX).own_resource()).unwrap();
    assert_eq!(large.location(), LocationKind::Committed);
}

/// If a driver prefers dedicated memory for everything, everything gets it, also backing buffers of ranges.
#[test]
fn preferred_dedicated_memory_is_used_for_everything() {
    for profile in Profile::ALL {
        everything_is_committed(DeviceConfig::new(*profile).prefers_dedicated());
    }
}

/// The same if it requires dedicated memory: the simulated device refuses to place anything then.
#[test]
fn required_dedicated_memory_is_used_for_everything() {
    for profile in Profile::ALL {
        everything_is_committed(DeviceConfig::new(*profile).requires_dedicated());
        for strategy in [tenure_core::Strategy::Placed, tenure_core::Strategy::Committed] {
            let options = DeviceConfig::new(*profile).requires_dedicated().lag(Lag::None);
            let gpu = gpu(options, Config::from(PoolConfig::default().strategy(strategy)));
            let buffer = gpu.create_buffer(&BufferDesc::new(3000, Usage::VERTEX)).unwrap();
            assert_eq!(buffer.location(), LocationKind::Committed, "{profile:?}, {strategy:?}");
        }
    }
}

fn everything_is_committed(options: DeviceConfig) {
    let profile = options.profile;
    let device = Device::with_config(options);
    let gpu = Gpu::new(device.clone(), Config::default()).unwrap();
    let pages = gpu.create_pages(&PageAllocatorDesc::new(1 << 20).name("level"));
    let (mut buffers, mut textures) = (Vec::new(), Vec::new());
    for usage in [Usage::VERTEX, Usage::SHADER_READ, Usage::UNORDERED_ACCESS] {
        let desc = BufferDesc::new(3000, usage | Usage::COPY_SRC | Usage::COPY_DST);
        buffers.push(gpu.create_buffer(&desc).unwrap());
        buffers.push(gpu.create_buffer(&desc.clone().own_resource()).unwrap());
        buffers.push(pages.create_buffer(&desc).unwrap());
    }
    for usage in [Usage::SHADER_READ, Usage::RENDER_TARGET, Usage::UNORDERED_ACCESS] {
        let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, usage);
        textures.push(gpu.create_texture(&desc).unwrap());
        textures.push(pages.create_texture(&desc).unwrap());
    }
    let ring = gpu.create_upload_ring(&UploadRingDesc::new(1 << 16)).unwrap();
    gpu.upload(&buffers[0], 0, &[1; 64]).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "every kind of page").unwrap();
    let (_, scratch) = recording.split();
    scratch.constants(&[0_u8; 64]).unwrap();
    ring.allocate(scratch, 64, 4).unwrap().write(0, &[1; 64]).unwrap();
    let read = recording.read_back(&buffers[0], 0, 4).unwrap();
    recording.submit().unwrap();
    drop((read, ring));
    let calls = device.calls();
    assert_eq!(calls.made(CallKind::CreateHeap) + calls.made(CallKind::CreatePlaced), 0, "{profile:?}");
    assert_eq!(buffers[0].location(), LocationKind::Range, "small buffers still share");
    drop((buffers, textures, pages));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// A requested alignment is also honoured for a buffer with an API resource of its own, up to the alignment of
/// heaps.
#[test]
fn own_resources_lie_where_the_program_asks() {
    for profile in Profile::ALL {
        let gpu = default_gpu(*profile);
        let limit = gpu.device().properties().heap_alignment;
        let mut placed = 0;
        let pages = gpu.create_pages(&PageAllocatorDesc::new(MIB).name("pages"));
        let kept: Vec<_> = [256, 4 * KIB, 512, 64 * KIB, 8 * KIB, 2 * MIB, 64 * KIB]
            .into_iter()
            .map(|alignment| {
                let desc = BufferDesc::new(300, Usage::UNORDERED_ACCESS).alignment(alignment);
                let desc = desc.own_resource().name("aligned");
                let buffer = gpu.create_buffer(&desc).unwrap();
                let paged = pages.create_buffer(&desc).unwrap();
                let in_heaps = [LocationKind::Placed, LocationKind::Page];
                for buffer in [&buffer, &paged].into_iter().filter(|it| in_heaps.contains(&it.location())) {
                    placed += 1;
                    let address = buffer.gpu_address().unwrap_or(0);
                    assert!(address.is_multiple_of(alignment.min(limit)), "{profile:?}: {address:#x}");
                }
                [buffer, paged]
            })
            .collect();
        assert!(placed > kept.len(), "{profile:?}: {placed} of {}", kept.len());
        assert!(pages.create_buffer(&BufferDesc::new(300, Usage::VERTEX).alignment(48)).is_err());
        drop((kept, pages));
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
    }
}
