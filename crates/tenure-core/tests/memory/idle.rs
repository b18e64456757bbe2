//! Idle blocks: blocks freed before the peak of memory is exceeded, and blocks that stay.

use std::thread;
use std::time::{Duration, Instant};

use tenure_core::{Buffer, BufferDesc, Config, FrameConfig, Gpu, MemoryUse, PoolConfig, Usage};
use tenure_sim::{Device, DeviceConfig, Profile};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Pools that keep idle blocks, and count frames for it.
fn manager(options: DeviceConfig, pools: PoolConfig) -> Gpu<Device> {
    let config = Config::from(pools).frames(FrameConfig::default().idle(1000));
    Gpu::new(Device::with_config(options), config).unwrap()
}

/// Empty frames, during which idle memory ages.
fn pass_frames(gpu: &Gpu<Device>) {
    for _ in 0..8 {
        gpu.begin_frame().unwrap().end().unwrap();
    }
}

fn buffers(gpu: &Gpu<Device>, count: u64, size: u64, usage: Usage) -> Vec<Buffer<Device>> {
    (0..count).map(|_| gpu.create_buffer(&BufferDesc::new(size, usage)).unwrap()).collect()
}

/// Only as many idle blocks are freed as would raise the peak: the others save driver calls when their users
/// return.
#[test]
fn only_idle_blocks_that_would_raise_the_peak_are_freed() {
    let (min_block, max_buffer_block, max_pooled_buffer) = (4 * MIB, 4 * MIB, 4 * MIB);
    let pools = PoolConfig::default()
        .min_block(min_block)
        .max_buffer_block(max_buffer_block)
        .max_pooled_buffer(max_pooled_buffer);
    let gpu = manager(DeviceConfig::new(Profile::DISCRETE), pools);
    drop(buffers(&gpu, 32, MIB, Usage::VERTEX));
    pass_frames(&gpu);
    let idle = gpu.stats();
    assert_eq!((idle.reserved, idle.peak_reserved), (32 * MIB, 32 * MIB), "nothing is used");
    // Memory of its own: it fits beside seven of the eight blocks.
    let alone =
        gpu.create_buffer(&BufferDesc::new(3 * MIB, Usage::VERTEX).own_resource().name("alone")).unwrap();
    let now = gpu.stats();
    assert!(now.peak_reserved <= 32 * MIB, "{}", now.peak_reserved);
    assert_eq!((idle.reserved + 3 * MIB) - now.reserved, 4 * MIB, "one block has made way");
    drop(buffers(&gpu, 28, MIB, Usage::VERTEX));
    assert_eq!(gpu.stats().driver_allocations, now.driver_allocations, "the others are used again");
    drop(alone);
    assert!(gpu.shutdown().is_clean());
}

/// Buffers of 1 MiB have memory of their own.
fn large_alone() -> PoolConfig {
    PoolConfig::default().max_pooled_buffer(512 * KIB)
}

/// Allocates memory up to the previous peak. Only idle memory exists, so the peak stays.
fn fill_up_to_the_peak(gpu: &Gpu<Device>) {
    let peak = gpu.stats().peak_reserved;
    let alone = BufferDesc::new(MIB, Usage::VERTEX);
    let mut filled = Vec::new();
    for _ in 0..peak / MIB {
        filled.push(gpu.create_buffer(&alone).unwrap());
        let now = gpu.stats();
        assert!(now.peak_reserved <= peak, "{} of {} MiB", filled.len(), peak / MIB);
    }
}

/// Pieces of a block that other shards hold return nothing to the driver; the block is freed once all of them
/// are back.
#[test]
fn idle_memory_of_other_shards_makes_way() {
    let gpu = manager(DeviceConfig::new(Profile::DISCRETE), large_alone());
    let (begun, mut shards) = (Instant::now(), 0);
    while shards < 2 && begun.elapsed() < Duration::from_secs(60) {
        thread::scope(|scope| {
            for usage in [Usage::VERTEX, Usage::INDEX, Usage::VERTEX, Usage::INDEX] {
                scope.spawn({
                    let gpu = &gpu;
                    move || (0..20).for_each(|_| drop(buffers(gpu, 500, 4 * KIB, usage)))
                });
            }
        });
        gpu.reclaim().unwrap();
        shards = gpu.stats().pools.iter().map(|pool| pool.shards).max().unwrap_or(0);
    }
    if thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        assert!(shards > 1, "threads divided nothing");
    }
    // Two kinds of pools, all of whose shards have something.
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let constants = BufferDesc::new(4 * KIB, Usage::CONSTANT).memory(MemoryUse::Upload);
                let upload = (0..2000).map(|_| gpu.create_buffer(&constants).unwrap()).collect::<Vec<_>>();
                let meshes = buffers(&gpu, 2000, 4 * KIB, Usage::VERTEX);
                drop((upload, meshes));
            });
        }
    });
    gpu.reclaim().unwrap();
    pass_frames(&gpu);
    assert!(gpu.stats().reserved > 16 * MIB, "something is idle");
    fill_up_to_the_peak(&gpu);
    assert!(gpu.shutdown().is_clean());
}

/// Small buffers lie in heaps of another pool, or, where the driver wants that, in memory of their own.
#[test]
fn idle_memory_of_small_buffers_makes_way() {
    let discrete = || DeviceConfig::new(Profile::DISCRETE);
    for options in [discrete(), discrete().prefers_dedicated(), discrete().requires_dedicated()] {
        let gpu = manager(options, large_alone());
        drop(buffers(&gpu, 4000, 4 * KIB, Usage::VERTEX));
        pass_frames(&gpu);
        assert!(gpu.stats().reserved > 8 * MIB, "something is idle");
        fill_up_to_the_peak(&gpu);
        assert!(gpu.shutdown().is_clean());
    }
}

/// Empty blocks of a growing pool are freed in any case, so no block of another pool is freed for it.
#[test]
fn a_pool_that_grows_makes_way_itself() {
    let max = 8 * MIB;
    let pools = PoolConfig::default()
        .min_block(4 * MIB)
        .max_buffer_block(max)
        .max_pooled_buffer(max)
        .growth_divisor(64);
    let gpu = manager(DeviceConfig::new(Profile::DISCRETE), pools);
    drop((buffers(&gpu, 32, MIB, Usage::VERTEX), buffers(&gpu, 32, MIB, Usage::UNORDERED_ACCESS)));
    pass_frames(&gpu);
    let idle = gpu.stats();
    assert_eq!((idle.reserved, idle.peak_reserved), (64 * MIB, 64 * MIB), "nothing is used");
    let larger = buffers(&gpu, 1, 6 * MIB, Usage::UNORDERED_ACCESS);
    let now = gpu.stats();
    assert!(now.peak_reserved <= 64 * MIB, "{}", now.peak_reserved);
    drop(buffers(&gpu, 32, MIB, Usage::VERTEX));
    assert_eq!(gpu.stats().driver_allocations, now.driver_allocations, "all of the other pool is there");
    drop(larger);
    assert!(gpu.shutdown().is_clean());
}

/// A manager that keeps idle blocks for the default number of frames.
fn default_manager() -> Gpu<Device> {
    Gpu::new(Device::with_config(DeviceConfig::new(Profile::DISCRETE)), Config::default()).unwrap()
}

/// A block that was used once makes way in the frame in which it runs empty.
#[test]
fn a_block_that_was_used_once_makes_way_at_once() {
    let gpu = default_manager();
    drop(buffers(&gpu, 1, 8 * MIB, Usage::CONSTANT));
    gpu.reclaim().unwrap();
    let constants = gpu.stats().reserved;
    assert!(constants >= 8 * MIB);
    let _indirect = buffers(&gpu, 1, 8 * MIB, Usage::INDIRECT);
    assert_eq!(gpu.stats().peak_reserved, constants);
}

/// A request that an empty block of its pool could serve, if the driver refused a new one, costs no block of another pool.
#[test]
fn a_small_request_beside_an_empty_large_block_costs_no_other_pool_a_block() {
    let gpu = default_manager();
    drop((buffers(&gpu, 1, 8 * MIB, Usage::INDIRECT), buffers(&gpu, 1, 16 * MIB, Usage::UNORDERED_ACCESS)));
    gpu.reclaim().unwrap();
    let before = gpu.stats();
    let _small = buffers(&gpu, 1, 128 << 10, Usage::UNORDERED_ACCESS);
    let now = gpu.stats();
    assert!(now.reserved < before.reserved - 8 * MIB, "the large block makes way: {}", now.reserved);
    drop(buffers(&gpu, 1, 8 * MIB, Usage::INDIRECT));
    assert_eq!(gpu.stats().driver_allocations, now.driver_allocations, "the other pool has its block");
}

/// Two pools that take turns raise the peak once, and allocate nothing from then on: without frames, with a turn in each, and
/// with turns of many frames.
#[test]
fn pools_that_take_turns_keep_their_blocks() {
    for frames in [0, 1, 3, 15, 16, 20, 40] {
        let gpu = default_manager();
        let mut settled = 0;
        for turn in 0..60 {
            let usage = if turn % 2 == 0 { Usage::CONSTANT } else { Usage::INDIRECT };
            let used = buffers(&gpu, 1, 8 * MIB, usage);
            (0..frames).for_each(|_| gpu.begin_frame().unwrap().end().unwrap());
            drop(used);
            gpu.reclaim().unwrap();
            if turn == 29 {
                settled = gpu.stats().driver_allocations;
            }
        }
        let now = gpu.stats();
        assert_eq!(now.driver_allocations, settled, "turns of {frames} frames");
        assert!(settled <= 12, "{settled} allocations with turns of {frames} frames");
        assert!(now.peak_reserved <= 17 * MIB, "{}", now.peak_reserved);
    }
}

/// Memory of its own takes no block from a pool again and again.
#[test]
fn memory_of_its_own_and_a_pool_that_take_turns_keep_the_block() {
    let gpu = manager(DeviceConfig::new(Profile::DISCRETE), large_alone());
    let mut blocks = Vec::new();
    for _ in 0..50 {
        drop(buffers(&gpu, 100, 64 * KIB, Usage::VERTEX));
        drop(buffers(&gpu, 1, 64 * MIB, Usage::VERTEX));
        gpu.reclaim().unwrap();
        blocks.push(gpu.stats().driver_allocations);
    }
    let own = 25;
    assert_eq!(blocks[49] - blocks[24], own, "one for each resource with memory of its own");
}

/// Asking for a cost does not keep idle memory.
#[test]
fn questions_about_costs_do_not_keep_idle_blocks() {
    let gpu = default_manager();
    let desc = BufferDesc::new(8 * MIB, Usage::CONSTANT);
    drop(gpu.create_buffer(&desc).unwrap());
    for _ in 0..40 {
        gpu.buffer_cost(&desc).unwrap();
        gpu.begin_frame().unwrap().end().unwrap();
    }
    assert_eq!(gpu.stats().reserved, 0);
}
