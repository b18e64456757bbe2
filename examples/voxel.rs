//! A voxel world: 20,000 small meshes with continuous re-meshing.
//!
//! A committed buffer would take 64 KiB for each mesh of 2 KiB. The small-buffer pool reserves only a few per
//! cent more than the sizes of the meshes, and a creation needs no API call.
//!
//! `cargo run --release --example voxel`

use std::error::Error;
use std::time::Instant;

use tenure::sim::{Device, DeviceConfig, Lag, Profile};
use tenure::{
    Buffer, BufferDesc, Config, Gpu, Queue, Usage,
    config::{PoolConfig, Strategy},
};

const CHUNKS: usize = 20_000;
const REMESHES: usize = 100_000;
const REMESHES_A_FRAME: usize = 64;
const VERTEX: u32 = 20;

/// Typical mesh sizes of voxel worlds: lognormal around 2.5 KiB, from a seed.
struct Meshes(u64);

impl Meshes {
    /// A number in 0.0..1.0 (splitmix64).
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn size(&mut self) -> u64 {
        // The sum of twelve uniform numbers is nearly normal.
        let normal = (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0;
        let bytes = (2500.0 * normal.exp()).clamp(4.0, 40.0 * 1024.0);
        (bytes as u64).next_multiple_of(4)
    }

    fn chunk(&mut self) -> usize {
        (self.uniform() * CHUNKS as f64) as usize % CHUNKS
    }
}

struct Outcome {
    live: u64,
    peak_reserved: u64,
    driver_calls: u64,
    driver_ms: f64,
    wall_ms: f64,
}

/// Creates the world and re-meshes it, frame by frame.
fn run(strategy: Strategy) -> Result<Outcome, Box<dyn Error>> {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).lag(Lag::Submissions(2)));
    let gpu = Gpu::new(device.clone(), Config::from(PoolConfig::default().strategy(strategy)))?;
    let mut meshes = Meshes(7);
    let start = Instant::now();
    let mesh = |size| gpu.create_buffer(&BufferDesc::new(size, Usage::VERTEX).stride(VERTEX).name("chunk"));
    let mut world: Vec<Buffer<Device>> = Vec::with_capacity(CHUNKS);
    for _ in 0..CHUNKS {
        world.push(mesh(meshes.size())?);
    }
    let mut live: u64 = world.iter().map(Buffer::size).sum();
    let mut peak_live = live;
    for _ in 0..REMESHES / REMESHES_A_FRAME {
        let frame = gpu.begin_frame()?;
        let recording = frame.record(Queue::Graphics, "world")?;
        for _ in 0..REMESHES_A_FRAME {
            let (chunk, size) = (meshes.chunk(), meshes.size());
            live = live - world[chunk].size() + size;
            // The old mesh is dropped here, while the GPU still draws it.
            world[chunk] = mesh(size)?;
            peak_live = peak_live.max(live);
        }
        frame.submit(recording)?;
        frame.end()?;
    }
    let calls = device.calls();
    let first_draw = world[0].first_element(VERTEX).ok_or("a mesh is aligned to its vertices")?;
    println!("{strategy:?}: chunk 0 is drawn from base vertex {first_draw}");
    drop(world);
    let wall_ms = start.elapsed().as_secs_f64() * 1e3;
    let report = gpu.shutdown();
    drop(gpu);
    device.check_clean()?;
    report.into_result()?;
    let (peak_reserved, driver_calls) = (calls.peak_reserved_bytes, calls.total());
    Ok(Outcome {
        live: peak_live,
        peak_reserved,
        driver_calls,
        driver_ms: calls.cost_ns as f64 / 1e6,
        wall_ms,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{CHUNKS} meshes, {REMESHES} re-meshes, {REMESHES_A_FRAME} a frame, on a simulated discrete GPU\n"
    );
    let outcomes = [
        ("committed", run(Strategy::Committed)?),
        ("placed", run(Strategy::Placed)?),
        ("tenure", run(Strategy::Pooled)?),
    ];
    println!(
        "\n          | live MiB | reserved MiB | overhead | driver calls | driver time (model) | wall time"
    );
    for (name, outcome) in &outcomes {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let overhead = outcome.peak_reserved as f64 / outcome.live as f64;
        println!(
            "{name:9} | {:8.1} | {:12.1} | {overhead:7.2}x | {:12} | {:16.0} ms | {:6.0} ms",
            mib(outcome.live),
            mib(outcome.peak_reserved),
            outcome.driver_calls,
            outcome.driver_ms,
            outcome.wall_ms,
        );
    }
    Ok(())
}
