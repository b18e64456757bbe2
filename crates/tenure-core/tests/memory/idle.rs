//! Idle blocks: what goes before more memory is taken than ever, and what stays.

use tenure_core::{BufferDesc, Config, FrameConfig, Gpu, PoolConfig, Usage};
use tenure_sim::{Device, Options, Profile};

const MIB: u64 = 1 << 20;

/// Idle blocks make way for as many bytes as would make the peak higher, and no others: those that stay save calls of the
/// driver when what used them comes back.
#[test]
fn no_more_idle_blocks_make_way_than_the_peak_asks_for() {
    let device = Device::with_options(Options::new(Profile::DISCRETE));
    let (min_block, max_buffer_block, max_pooled_buffer) = (4 * MIB, 4 * MIB, 4 * MIB);
    let pools = PoolConfig { min_block, max_buffer_block, max_pooled_buffer, ..PoolConfig::default() };
    let config =
        Config { frames: FrameConfig { idle: 1000, ..FrameConfig::default() }, ..Config::from(pools) };
    let gpu = Gpu::new(device, config).unwrap();
    let mesh = || gpu.create_buffer(&BufferDesc::new(MIB, Usage::VERTEX)).unwrap();
    drop((0..32).map(|_| mesh()).collect::<Vec<_>>());
    for _ in 0..8 {
        gpu.begin_frame().unwrap().end().unwrap();
    }
    let idle = gpu.stats();
    assert_eq!((idle.reserved, idle.peak_reserved), (32 * MIB, 32 * MIB), "nothing is used");
    // Memory of its own: it fits beside seven of the eight blocks.
    let alone =
        gpu.create_buffer(&BufferDesc::new(3 * MIB, Usage::VERTEX).own_resource().name("alone")).unwrap();
    let now = gpu.stats();
    assert!(now.peak_reserved <= 32 * MIB, "{}", now.peak_reserved);
    assert_eq!((idle.reserved + 3 * MIB) - now.reserved, 4 * MIB, "one block has made way");
    drop((0..28).map(|_| mesh()).collect::<Vec<_>>());
    assert_eq!(gpu.stats().driver_allocations, now.driver_allocations, "the others are used again");
    drop(alone);
    assert!(gpu.shutdown().is_clean());
}
