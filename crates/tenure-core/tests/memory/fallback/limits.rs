//! Budgets of the operating system, and the device's limit on allocations.

use tenure_core::device::prelude::*;
use tenure_core::{
    Buffer, BufferDesc, Config, Format, Gpu, LocationKind, PoolConfig, Strategy, TextureDesc, Usage,
};
use tenure_sim::{CallKind, Device, DeviceConfig, Fault, FaultKind, Profile};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

fn gpu(options: DeviceConfig, config: Config) -> Gpu<Device> {
    Gpu::new(Device::with_config(options), config).unwrap()
}

fn buffer(gpu: &Gpu<Device>, size: u64) -> Buffer<Device> {
    gpu.create_buffer(&BufferDesc::new(size, Usage::UNORDERED_ACCESS).name("buffer")).unwrap()
}

fn usage_of(gpu: &Gpu<Device>, heap: usize) -> u64 {
    usage(gpu)[heap]
}

/// Bytes used of each memory heap.
fn usage(gpu: &Gpu<Device>) -> Vec<u64> {
    gpu.device().budget().unwrap().iter().map(|heap| heap.usage).collect()
}

/// Placed and committed buffers go to system memory before the budget of the card's memory is exceeded; with a
/// budget of 0, the driver still decides, and gives the card's memory first.
#[test]
fn other_memory_is_used_before_the_budget_is_exceeded() {
    for size in [MIB, 40 * MIB] {
        let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).budgets(vec![128 * MIB, 256 * MIB]);
        let gpu = gpu(options, Config::default());
        let mut buffers = Vec::new();
        while usage(&gpu)[1] == 0 {
            buffers.push(buffer(&gpu, size));
            assert!(usage(&gpu)[0] <= 128 * MIB, "within the budget of the card's memory");
        }
        let card = usage(&gpu)[0];
        assert!(card + size > 128 * MIB || card >= 100 * MIB, "{card} B were granted and taken");
        while usage(&gpu)[0] <= 128 * MIB {
            buffers.push(buffer(&gpu, size));
            assert!(usage(&gpu)[1] <= 256 * MIB, "within the budget of system memory");
        }
        // Beyond each budget the order of preference applies again.
        let system = usage(&gpu)[1];
        buffers.push(buffer(&gpu, size));
        assert_eq!(usage(&gpu)[1], system);
        drop(buffers);
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
    }
}

/// The same device without a budget: everything is in the card's memory.
#[test]
fn an_unknown_budget_grants_everything() {
    let gpu = gpu(DeviceConfig::new(Profile::VULKAN_NVIDIA).budgets(vec![0; 3]), Config::default());
    let buffers: Vec<_> = (0..300).map(|_| buffer(&gpu, MIB)).collect();
    assert!(usage(&gpu)[0] >= 300 * MIB);
    assert_eq!(usage(&gpu)[1], 0);
    drop(buffers);
}

/// A program with more committed buffers than the device allows allocations.
#[test]
fn buffers_share_blocks_near_the_limit_on_allocations() {
    let pools = PoolConfig::default().max_pooled_buffer(64 * KIB);
    let gpu = gpu(DeviceConfig::new(Profile::VULKAN_NVIDIA), Config::default().pools(pools));
    let limit = gpu.device().properties().max_allocations;
    let buffers: Vec<_> = (0..limit + 1000).map(|_| buffer(&gpu, 128 * KIB)).collect();
    let committed = buffers.iter().filter(|found| found.location() == LocationKind::Committed).count() as u64;
    assert!((limit / 2..limit).contains(&committed), "{committed} of {limit}");
    assert!(buffers.iter().skip(committed as usize).all(|found| found.location() == LocationKind::Placed));
    drop(buffers);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
}

/// At the limit, a resource that would be committed takes a hole of a block; without blocks it fails.
#[test]
fn a_hole_serves_when_the_device_allows_no_more_allocations() {
    for strategy in [Strategy::Pooled, Strategy::Committed] {
        // The block of the first buffer has a hole for the second.
        let pools = PoolConfig::default().max_pooled_buffer(64 * KIB).min_block(192 * KIB).strategy(strategy);
        let gpu = gpu(DeviceConfig::new(Profile::VULKAN_NVIDIA), Config::default().pools(pools));
        let pooled = buffer(&gpu, 64 * KIB);
        let fault = Fault::nth(1, FaultKind::TooManyAllocations);
        for call in [CallKind::CreateHeap, CallKind::CreateCommitted] {
            gpu.device().faults().inject(fault.clone().of(call).onwards());
        }
        let found = gpu.create_buffer(&BufferDesc::new(128 * KIB, Usage::UNORDERED_ACCESS).name("buffer"));
        match strategy {
            Strategy::Committed => assert!(found.is_err()),
            _ => assert_eq!(found.unwrap().location(), LocationKind::Placed),
        }
        drop(pooled);
    }
}

/// Textures that the GPU draws to or writes stay in its own memory when the budget is exceeded, and leave it
/// only when the driver refuses. Textures that are only read go elsewhere first.
#[test]
fn targets_leave_the_memory_of_the_card_only_after_a_refusal() {
    let large = |format, usage| TextureDesc::d2(8192, 8192, format, usage);
    for (format, usage, stays) in [
        (Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::SHADER_READ, true),
        (Format::D32Float, Usage::DEPTH_STENCIL, true),
        (Format::Rgba8Unorm, Usage::UNORDERED_ACCESS, true),
        (Format::Rgba8Unorm, Usage::SHADER_READ, false),
    ] {
        let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).budgets(vec![1 << 30, 1 << 40, 0]);
        let gpu = gpu(options, Config::default());
        let card = gpu.device().properties().memory_heaps[0].size;
        let mut textures = Vec::new();
        while usage_of(&gpu, 1) == 0 {
            textures.push(gpu.create_texture(&large(format, usage)).unwrap());
        }
        let taken = usage_of(&gpu, 0);
        assert_eq!(
            taken > 1 << 30,
            stays,
            "{usage}: {taken} B of the card are taken, of 1 GiB that is granted"
        );
        assert!(!stays || taken + (256 * MIB) > card, "{usage}: {taken} B of {card} are taken");
        drop(textures);
        assert!(gpu.shutdown().is_clean());
    }
}
