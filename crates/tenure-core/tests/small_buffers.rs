//! Small vertex and index buffers by address heap (spec M6): what they cost in memory and calls.

use tenure_core::device::{Device as _, Usage};
use tenure_core::{Buffer, BufferDesc, Config, Gpu, LocationKind, Queue, Strategy};
use tenure_sim::{Calls, Checks, Device, Lag, Options, Profile};

mod support;
use support::Rng;

const BUFFERS: usize = 20_000;
const REMESHES: usize = 100_000;
const REMESHES_A_FRAME: usize = 64;

/// Sizes of voxel chunk meshes: lognormal, median 2,500 B, sigma 1, from 4 B to 40 KiB.
fn mesh_size(rng: &mut Rng) -> u64 {
    let uniform = |rng: &mut Rng| ((rng.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let (radius, angle) = (uniform(rng), uniform(rng));
    let normal = (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos();
    ((2500.0 * normal.exp()) as u64).clamp(4, 40 << 10)
}

fn mesh(rng: &mut Rng) -> BufferDesc {
    let (usage, stride) = if rng.below(2) == 0 { (Usage::VERTEX, 20) } else { (Usage::INDEX, 2) };
    BufferDesc::new(mesh_size(rng), usage).stride(stride).name("mesh")
}

fn device(profile: Profile) -> Device {
    Device::with_options(Options::new(profile).lag(Lag::Submissions(2)).checks(Checks::LIFETIME))
}

/// One frame with a submission, in which `work` runs.
fn frame(gpu: &Gpu<Device>, work: impl FnOnce()) {
    let frame = gpu.begin_frame().unwrap();
    let recording = frame.record(Queue::Graphics, "frame").unwrap();
    work();
    frame.submit(recording).unwrap();
    frame.end().unwrap();
}

struct World {
    gpu: Gpu<Device>,
    meshes: Vec<Buffer<Device>>,
    rng: Rng,
    live: u64,
    /// The worst reserved over live, in thousandths.
    worst: u64,
    worst_report: String,
}

impl World {
    fn new(profile: Profile, config: Config) -> Self {
        let gpu = Gpu::new(device(profile), config).unwrap();
        let rng = Rng::new(7);
        Self { gpu, meshes: Vec::new(), rng, live: 0, worst: 0, worst_report: String::new() }
    }

    fn fill(&mut self) {
        for _ in 0..BUFFERS {
            let buffer = self.gpu.create_buffer(&mesh(&mut self.rng)).unwrap();
            self.live += buffer.size();
            self.meshes.push(buffer);
        }
    }

    fn remesh(&mut self) {
        let index = self.rng.below(self.meshes.len() as u64) as usize;
        let buffer = self.gpu.create_buffer(&mesh(&mut self.rng)).unwrap();
        self.live = self.live + buffer.size() - self.meshes[index].size();
        self.meshes[index] = buffer;
    }

    fn churn(&mut self, operations: usize) {
        self.measure();
        for _ in 0..operations / REMESHES_A_FRAME {
            let frame = self.gpu.begin_frame().unwrap();
            let number = frame.number();
            let recording = frame.record(Queue::Graphics, "frame").unwrap();
            frame.submit(recording).unwrap();
            frame.end().unwrap();
            for _ in 0..REMESHES_A_FRAME {
                self.remesh();
            }
            let _ = number;
            self.measure();
        }
    }

    fn measure(&mut self) {
        let reserved = self.gpu.stats().reserved;
        let ratio = reserved * 1000 / self.live;
        if ratio > self.worst {
            self.worst = ratio;
            self.worst_report = self.describe(reserved);
        }
    }

    fn describe(&self, reserved: u64) -> String {
        let stats = self.gpu.stats();
        let mut text = format!(
            "frame {}: reserved {reserved} for {} live bytes; {} B wait for release",
            stats.frames, self.live, stats.pending_bytes
        );
        for pool in &stats.pools {
            text += &format!(
                "\n  {}: reserved {} used {} requested {} allocations {}",
                pool.kind.as_str(),
                pool.reserved,
                pool.used,
                pool.requested,
                pool.allocations
            );
        }
        text
    }
}

