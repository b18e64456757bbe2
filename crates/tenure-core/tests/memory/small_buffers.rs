//! Small vertex and index buffers by address heap: their cost in memory and calls.
#![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

use std::collections::BTreeMap;

use tenure_core::{Buffer, BufferDesc, Config, Gpu, LocationKind, PoolConfig, Queue, Strategy, Usage};
use tenure_sim::{Checks, Device, DeviceConfig, Lag, Profile};

use test_random::Rng;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const MESHES: usize = 20_000;
const REMESHES: usize = 100_000;
const REMESHES_A_FRAME: usize = 64;
const STRIDES: [u32; 2] = [20, 2];

/// Sizes of voxel chunk meshes: lognormal, median 2,500 B, sigma 1, from 4 B to 40 KiB.
fn mesh_size(rng: &mut Rng) -> u64 {
    let uniform = |rng: &mut Rng| ((rng.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let (radius, angle) = (uniform(rng), uniform(rng));
    let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
    ((2500.0 * normal.exp()) as u64).clamp(4, 40 * KIB)
}

fn mesh(rng: &mut Rng) -> BufferDesc {
    let kind = rng.below(2) as usize;
    let usage = [Usage::VERTEX, Usage::INDEX][kind];
    BufferDesc::new(mesh_size(rng), usage).stride(STRIDES[kind]).name("mesh")
}

/// A world of chunks that are meshed anew all the time.
struct World {
    gpu: Gpu<Device>,
    meshes: Vec<Buffer<Device>>,
    rng: Rng,
    /// Bytes asked for by the live handles.
    live: u64,
}

impl World {
    fn new(profile: Profile, config: Config) -> Self {
        let options = DeviceConfig::new(profile).lag(Lag::Submissions(2)).checks(Checks::LIFETIME);
        let gpu = Gpu::new(Device::with_config(options), config).unwrap();
        Self { gpu, meshes: Vec::new(), rng: Rng::new(7), live: 0 }
    }

    fn fill(&mut self) {
        for _ in 0..MESHES {
            let buffer = self.gpu.create_buffer(&mesh(&mut self.rng)).unwrap();
            self.live += buffer.size();
            self.meshes.push(buffer);
        }
    }

    /// A frame with a submission, in which some chunks get new meshes.
    fn frame(&mut self) {
        let frame = self.gpu.begin_frame().unwrap();
        let recording = frame.record(Queue::Graphics, "frame").unwrap();
        for _ in 0..REMESHES_A_FRAME {
            let index = self.rng.below(self.meshes.len() as u64) as usize;
            let buffer = self.gpu.create_buffer(&mesh(&mut self.rng)).unwrap();
            self.live = self.live + buffer.size() - self.meshes[index].size();
            self.meshes[index] = buffer;
        }
        frame.submit(recording).unwrap();
        frame.end().unwrap();
    }

    /// Device memory over live bytes.
    fn overhead(&self) -> f64 {
        self.gpu.device().calls().reserved_bytes as f64 / self.live as f64
    }

    fn waste(&self) -> String {
        let stats = self.gpu.stats();
        let mut text = format!("{} B live, {} B in flight", self.live, stats.pending_bytes);
        for pool in stats.pools {
            let (kind, reserved, used) = (pool.kind.as_str(), pool.reserved, pool.used);
            text += &format!("; {kind}: reserved {reserved}, used {used}, requested {}", pool.requested);
        }
        text
    }
}

#[test]
fn they_stay_within_1_15_times_their_live_bytes() {
    for profile in [Profile::DISCRETE, Profile::VULKAN_NVIDIA] {
        for small_buffer_slot in [64 * KIB, 256 * KIB, MIB] {
            let mut world =
                World::new(profile, Config::from(PoolConfig::default().small_buffer_slot(small_buffer_slot)));
            world.fill();
            let mut worst = (world.overhead(), world.waste());
            for _ in 0..REMESHES / REMESHES_A_FRAME {
                world.frame();
                let overhead = world.overhead();
                if overhead > worst.0 {
                    worst = (overhead, world.waste());
                }
            }
            println!("{profile:?}, slots of {small_buffer_slot} B: {:.3} at the worst; {}", worst.0, worst.1);
            assert!(
                worst.0 <= 1.15,
                "{profile:?}, slots of {small_buffer_slot} B: {:.3}: {}",
                worst.0,
                worst.1
            );
        }
    }
}

#[test]
fn creating_them_is_ten_times_cheaper_than_committed() {
    let fill = |config: Config| {
        let mut world = World::new(Profile::DISCRETE, config);
        let before = world.gpu.device().calls();
        world.fill();
        let after = world.gpu.device().calls();
        (after.total() - before.total(), after.cost_ns - before.cost_ns, world.overhead())
    };
    let (calls, cost, overhead) = fill(Config::from(PoolConfig::default().strategy(Strategy::Committed)));
    for small_buffer_slot in [64 * KIB, MIB] {
        let (our_calls, our_cost, ours) =
            fill(Config::from(PoolConfig::default().small_buffer_slot(small_buffer_slot)));
        println!(
            "slots of {small_buffer_slot} B: {our_calls} calls, {our_cost} ns, {ours:.3} x live; \
             committed: {calls} calls, {cost} ns, {overhead:.3} x live"
        );
        assert!(our_calls * 10 <= calls, "{our_calls} driver calls, committed {calls}");
        assert!(our_cost * 10 <= cost, "{our_cost} ns, committed {cost} ns");
    }
    assert!(overhead > 6.0, "a committed resource each costs 64 KiB: {overhead:.3}");
}

#[test]
fn slots_come_and_go_with_their_content() {
    for small_buffer_slot in [64 * KIB, MIB] {
        let config = Config::from(PoolConfig::default().small_buffer_slot(small_buffer_slot));
        let mut world = World::new(Profile::DISCRETE, config);
        world.fill();
        for _ in 0..50 {
            world.frame();
        }
        let full = world.gpu.device().calls();
        world.meshes.clear();
        let idle = world.gpu.config().frames.idle as usize;
        // A slot is kept for the configured frames, then the heap that it was placed in for as many.
        for _ in 0..2 * idle + 8 {
            let frame = world.gpu.begin_frame().unwrap();
            let recording = frame.record(Queue::Graphics, "frame").unwrap();
            frame.submit(recording).unwrap();
            frame.end().unwrap();
        }
        let empty = world.gpu.device().calls();
        assert!(full.live_resources > 50 && full.reserved_bytes > world.live);
        assert_eq!((empty.live_resources, empty.reserved_bytes), (0, 0), "everything is returned");
        let device = world.gpu.device().clone();
        assert!(world.gpu.shutdown().is_clean());
        drop(world.gpu);
        device.check_clean().unwrap();
    }
}

#[test]
fn ranges_never_overlap_nor_straddle_a_slot() {
    for small_buffer_slot in [64 * KIB, MIB] {
        let mut world = World::new(
            Profile::DISCRETE,
            Config::from(PoolConfig::default().small_buffer_slot(small_buffer_slot)),
        );
        world.fill();
        (0..100).for_each(|_| world.frame());
        let mut slots: BTreeMap<*const _, Vec<(u64, u64)>> = BTreeMap::new();
        for buffer in &world.meshes {
            assert_eq!(buffer.location(), LocationKind::Range);
            let stride = if buffer.usage().contains(Usage::VERTEX) { STRIDES[0] } else { STRIDES[1] };
            let first = buffer.first_element(stride).unwrap();
            assert_eq!(first * u64::from(stride), buffer.offset());
            let end = buffer.offset() + buffer.size();
            assert!(end <= small_buffer_slot, "a range ends at {end}, beyond its slot");
            slots.entry(std::ptr::from_ref(buffer.raw())).or_default().push((buffer.offset(), end));
        }
        for ranges in slots.values_mut() {
            ranges.sort_unstable();
            assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two ranges overlap");
        }
    }
}
