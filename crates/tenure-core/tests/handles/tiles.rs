//! Tile mappings: in the order of the calls, from any queues and threads, and alive while any command may use
//! them.

use std::thread;
use std::time::Duration;

use tenure_core::device::{self, Permit};
use tenure_core::memory::PoolKind;
use tenure_core::{
    Buffer, Config, Error, FrameConfig, Gpu, Queue, Recording, Reserved, ReservedDesc, State, Subresource,
    TileRegion, Usage, Used,
};
use tenure_sim::{CallKind, Lag, Profile};

use super::{SECOND, bytes, device, readback, upload};

const TILE: TileRegion = TileRegion::buffer(0, 1);
const BYTES: u64 = 256;

pub(crate) fn reserved<D: device::Checked>(gpu: &Gpu<D>, name: &'static str) -> Reserved<D> {
    let desc = ReservedDesc::buffer(1 << 20, Usage::COPY_SRC | Usage::VERTEX).name(name);
    gpu.create_reserved(&desc).unwrap()
}

#[test]
fn a_reserved_buffer_has_an_address_range() {
    let gpu = Gpu::new(device(Profile::VULKAN_NVIDIA, Lag::None), Config::default()).unwrap();
    let [first, second] = ["first", "second"].map(|name| reserved(&gpu, name));
    let [one, other] = [&first, &second].map(|world| world.gpu_address().unwrap());
    assert!(one.abs_diff(other) >= 1 << 20 && first.size() == 1 << 20);
}

/// Bytes of the tile pools that are given out.
pub(crate) fn tiles_used<D: device::Checked>(gpu: &Gpu<D>) -> u64 {
    let stats = gpu.stats();
    stats.pools.iter().filter(|pool| pool.kind == PoolKind::Tiles).map(|pool| pool.used).sum()
}

fn uses<'a, D: device::Device>(
    recording: &mut Recording<D>,
    from: impl Into<Used<'a, D>>,
    to: impl Into<Used<'a, D>>,
) {
    recording.use_resource(from, Subresource::All, State::COPY_SRC).unwrap();
    recording.use_resource(to, Subresource::All, State::COPY_DST).unwrap();
    recording.barriers();
}

fn copy_in<D: device::Checked>(recording: &mut Recording<D>, from: &Buffer<D>, to: &Reserved<D>) {
    use tenure_core::device::CommandList as _;
    uses(recording, from, to);
    recording.raw_mut(Permit::checked()).copy_buffer(from.raw(), from.offset(), to.raw(), 0, BYTES);
}

fn copy_out<D: device::Checked>(recording: &mut Recording<D>, from: &Reserved<D>, to: &Buffer<D>) {
    use tenure_core::device::CommandList as _;
    uses(recording, from, to);
    recording.raw_mut(Permit::checked()).copy_buffer(from.raw(), 0, to.raw(), to.offset(), BYTES);
}

/// Writes 1 through `first`, then 2 through `second`: the first reads 2 only if both are mapped to the same
/// memory.
fn read_first_after_writing_both<D: device::Checked>(
    gpu: &Gpu<D>,
    first: &Reserved<D>,
    second: &Reserved<D>,
) -> Vec<u8> {
    let (one, two) = (upload(gpu, BYTES as usize, 1), upload(gpu, BYTES as usize, 2));
    let out = readback(gpu, "out", BYTES);
    let mut recording = gpu.record(Queue::Graphics, "write both, read the first").unwrap();
    copy_in(&mut recording, &one, first);
    copy_in(&mut recording, &two, second);
    copy_out(&mut recording, first, &out);
    assert!(gpu.wait(&recording.submit().unwrap(), SECOND).unwrap());
    bytes(&out)
}

#[test]
fn mappings_keep_the_order_of_their_calls_across_queues() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let gpu = super::gpu(&device);
    let (first, second) = (reserved(&gpu, "first"), reserved(&gpu, "second"));
    let old = first.map(Queue::Copy, TILE).unwrap();
    let new = first.map(Queue::Graphics, TILE).unwrap();
    assert_ne!(old.queue, new.queue, "the device has a queue for copies");
    assert!(!device.complete(new.queue, new.serial), "the later call waits for the earlier");
    assert!(device.complete(old.queue, old.serial));
    assert!(device.complete(new.queue, new.serial));
    gpu.reclaim().unwrap();
    // It gets the memory that the first call took, which is free.
    second.map(Queue::Graphics, TILE).unwrap();
    assert!(device.run_until_idle());
    gpu.reclaim().unwrap();
    let (one, two) = (upload(&gpu, BYTES as usize, 1), upload(&gpu, BYTES as usize, 2));
    let out = readback(&gpu, "out", BYTES);
    let mut recording = gpu.record(Queue::Graphics, "work").unwrap();
    copy_in(&mut recording, &one, &first);
    copy_in(&mut recording, &two, &second);
    copy_out(&mut recording, &first, &out);
    recording.submit().unwrap();
    assert!(device.run_until_idle());
    gpu.reclaim().unwrap();
    assert_eq!(bytes(&out), [1; BYTES as usize], "two resources share a tile");
    // Unmapping and copying wait, too.
    let unmapped = second.unmap(Queue::Compute, TILE).unwrap();
    let mapped = second.map(Queue::Copy, TILE).unwrap();
    let copied = first.copy_mappings(Queue::Graphics, TILE, &second, TILE).unwrap();
    let after = second.unmap(Queue::Compute, TILE).unwrap();
    assert!(device.complete(unmapped.queue, unmapped.serial));
    assert!(!device.complete(after.queue, after.serial), "what is copied does not change before it was");
    assert!(!device.complete(copied.queue, copied.serial), "the mappings copied are made before");
    assert!(device.complete(mapped.queue, mapped.serial));
    assert!(device.run_until_idle());
    drop((first, second, one, two, out));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// A copy submitted before the tile was mapped may run only now, through the new mapping.
#[test]
fn tiles_outlive_submissions_made_before_their_mapping() {
    let device = device(Profile::DISCRETE, Lag::Manual);
    let config = Config::from(FrameConfig::default().idle(0).in_flight(8));
    let gpu = Gpu::new(device.clone(), config).unwrap();
    let (sparse, source) = (reserved(&gpu, "sparse"), upload(&gpu, BYTES as usize, 9));
    let mut recording = gpu.record(Queue::Copy, "slow copy").unwrap();
    copy_in(&mut recording, &source, &sparse);
    recording.submit().unwrap();
    let mapped = sparse.map(Queue::Graphics, TILE).unwrap();
    assert!(device.complete(mapped.queue, mapped.serial));
    drop(sparse);
    for _ in 0..4 {
        gpu.begin_frame().unwrap().end().unwrap();
        gpu.trim();
        assert!(tiles_used(&gpu) > 0, "the copy may still write to the tile");
    }
    assert!(device.run_until_idle());
    assert_eq!(device.hazards(), []);
    gpu.reclaim().unwrap();
    assert_eq!(tiles_used(&gpu), 0);
    drop(source);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// Between a mapping's submission and its bookkeeping another thread maps the same tile.
#[test]
fn a_thread_that_maps_in_between_does_not_lose_its_tile() {
    let sim = device(Profile::DISCRETE, Lag::None);
    let copy_queue = Queue::Copy.id(device::Device::properties(&sim));
    let gpu = Gpu::new(sim.clone(), Config::default()).unwrap();
    let (first, second) = (reserved(&gpu, "first"), reserved(&gpu, "second"));
    thread::scope(|scope| {
        sim.faults().delay_return(CallKind::UpdateTiles, Duration::from_millis(150));
        scope.spawn(|| first.map(Queue::Copy, TILE).unwrap());
        while device::QueueDevice::completed(&sim, copy_queue) == Ok(0) {
            thread::yield_now();
        }
        first.map(Queue::Graphics, TILE).unwrap();
    });
    for _ in 0..2 {
        gpu.reclaim().unwrap();
    }
    second.map(Queue::Graphics, TILE).unwrap();
    assert_eq!(read_first_after_writing_both(&gpu, &first, &second), [1; BYTES as usize]);
    drop((first, second));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    sim.check_clean().unwrap();
}

#[test]
fn threads_that_map_the_same_tile_leave_one_tile_mapped() {
    let device = device(Profile::DISCRETE, Lag::None);
    let gpu = super::gpu(&device);
    let (first, second) = (reserved(&gpu, "first"), reserved(&gpu, "second"));
    let queues = [Queue::Graphics, Queue::Graphics, Queue::Compute, Queue::Copy];
    for _ in 0..10 {
        thread::scope(|scope| {
            for queue in queues {
                let (first, second) = (&first, &second);
                scope.spawn(move || {
                    for round in 0..20 {
                        match round % 4 {
                            // Opposite directions, so that both are locked in both orders.
                            0 => first.copy_mappings(queue, TILE, second, TILE).unwrap(),
                            1 => second.copy_mappings(queue, TILE, first, TILE).unwrap(),
                            2 => second.map(queue, TILE).unwrap(),
                            _ => first.map(queue, TILE).unwrap(),
                        };
                    }
                });
            }
        });
        first.map(Queue::Graphics, TILE).unwrap();
        second.map(Queue::Compute, TILE).unwrap();
        for _ in 0..2 {
            assert!(gpu.wait(&gpu.submitted(), SECOND).unwrap());
            gpu.reclaim().unwrap();
        }
        assert_eq!((first.mapped_tiles(), second.mapped_tiles()), (1, 1));
        assert_eq!(tiles_used(&gpu), 2 * first.layout().tile_size, "all others are free");
        assert_eq!(read_first_after_writing_both(&gpu, &first, &second), [1; BYTES as usize]);
    }
    drop((first, second));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}

/// Where the device's own memory is short, tiles get none of a type that they cannot be mapped to.
#[test]
fn tiles_are_mapped_to_memory_that_they_may_have() {
    let device = device(Profile::VULKAN_NVIDIA, Lag::None);
    let gpu = super::gpu(&device);
    let reserved = reserved(&gpu, "tiles");
    let layout = reserved.layout();
    assert_eq!(layout.memory_types, 0b10, "the device's own, which the CPU does not see");
    gpu.set_memory_cap(0, Some(0)).unwrap();
    let refused = reserved.map(Queue::Graphics, TILE).unwrap_err();
    assert!(matches!(refused, Error::OutOfMemory(_)), "{refused}");
    gpu.set_memory_cap(0, None).unwrap();
    reserved.map(Queue::Graphics, TILE).unwrap();
    drop(reserved);
    assert!(gpu.shutdown().is_clean());
}

/// Its memory is taken by tiles, so a reserved buffer may be larger than any allocation.
#[test]
fn reserved_buffers_are_larger_than_allocations() {
    let device = device(Profile::VULKAN_NVIDIA, Lag::None);
    let gpu = super::gpu(&device);
    let most = device::Device::properties(&device).max_buffer_size;
    let size = 3 * most / 2;
    let desc = ReservedDesc::buffer(size, Usage::COPY_SRC | Usage::COPY_DST).name("world");
    let world = gpu.create_reserved(&desc).unwrap();
    let tiles = u32::try_from(size / world.layout().tile_size).unwrap();
    world.map(Queue::Graphics, TileRegion::buffer(tiles - 1, 1)).unwrap();
    assert_eq!(world.mapped_tiles(), 1);
    drop(world);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    device.check_clean().unwrap();
}
