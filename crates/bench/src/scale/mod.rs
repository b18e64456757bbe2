//! What the end of a frame and an allocation cost, by how much lives and in how many blocks, on a
//! [device whose calls do next to nothing](crate::null).

mod report;

use std::hint::black_box;
use std::time::Duration;

use tenure_core::device::Usage;
use tenure_core::{Buffer, BufferDesc, Config, Error, Gpu, Queue};
use tenure_sim::Profile;

use crate::null::Device;
use crate::suballoc::rng::Rng;
use crate::timing::{median_ns, time};
use report::{Line, Report};

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Rounds of each measurement; the median counts.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
}

/// Resources that a frame creates and drops.
const A_FRAME: usize = 1000;
/// Resources alive.
const LIVE: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Blocks, each with one resource that fills most of it, beside a thousand small ones.
const BLOCKS: [usize; 4] = [1, 10, 100, 1000];
/// Bytes of such a block.
const BLOCK: u64 = 16 << 20;
/// Bytes of what fills most of it.
const LARGE: u64 = 12 << 20;

/// Measures everything and prints it.
///
/// # Errors
/// As the manager reports.
pub fn run(args: &Args) -> Result<(), Error> {
    let mut lines = Vec::new();
    for live in LIVE {
        let scene = Scene::new(Config::default(), 4096, live)?;
        lines.push(scene.measure(args.rounds)?);
    }
    for blocks in BLOCKS {
        let config = Config { min_block: BLOCK, max_buffer_block: BLOCK, ..Config::default() };
        let mut scene = Scene::new(config, 1024, LIVE[0])?;
        scene.add(LARGE, blocks)?;
        lines.push(scene.measure(args.rounds)?);
    }
    let report = Report(lines);
    if args.json {
        println!("{:#}", report.to_json());
    } else {
        println!("{report}");
    }
    Ok(())
}

/// A manager with much alive.
struct Scene {
    gpu: Gpu<Device>,
    desc: BufferDesc,
    live: Vec<Buffer<Device>>,
    /// What is never replaced.
    large: Vec<Buffer<Device>>,
    rng: Rng,
}

/// Times of the rounds.
#[derive(Default)]
struct Times {
    idle: Vec<Duration>,
    create: Vec<Duration>,
    drop: Vec<Duration>,
    end: Vec<Duration>,
    end_anywhere: Vec<Duration>,
}

impl Scene {
    fn new(config: Config, size: u64, live: usize) -> Result<Self, Error> {
        let gpu = Gpu::new(Device::new(Profile::D3D12_TIER2), config)?;
        let desc = BufferDesc::new(size, Usage::VERTEX | Usage::SHADER_READ);
        let live = (0..live).map(|_| gpu.create_buffer(&desc)).collect::<Result<_, _>>()?;
        Ok(Self { gpu, desc, live, large: Vec::new(), rng: Rng::new(1) })
    }

    fn add(&mut self, size: u64, count: usize) -> Result<(), Error> {
        let desc = BufferDesc { size, ..self.desc.clone() };
        for _ in 0..count {
            self.large.push(self.gpu.create_buffer(&desc)?);
        }
        Ok(())
    }

    fn measure(mut self, rounds: u32) -> Result<Line, Error> {
        let mut times = Times::default();
        for round in 0..rounds + 3 {
            if round == 3 {
                times = Times::default();
            }
            self.idle_frame(&mut times)?;
            self.frame(&mut times)?;
            self.frame_anywhere(&mut times)?;
        }
        let stats = self.gpu.stats();
        let blocks = self.gpu.report().pools.iter().map(|pool| pool.blocks.len()).sum();
        Ok(Line {
            live: stats.live_objects,
            blocks,
            idle_ns: median_ns(times.idle, 1),
            create_ns: median_ns(times.create, A_FRAME),
            drop_ns: median_ns(times.drop, A_FRAME),
            end_ns: median_ns(times.end, A_FRAME),
            end_anywhere_ns: median_ns(times.end_anywhere, A_FRAME),
        })
    }

    /// A frame in which nothing is dropped.
    fn idle_frame(&self, times: &mut Times) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        frame.submit(frame.record(Queue::Graphics, "idle")?)?;
        let mut ended = Ok(());
        times.idle.push(time(|| ended = frame.end()));
        ended
    }

    /// A frame that drops what it created.
    fn frame(&self, times: &mut Times) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        let mut made = Vec::with_capacity(A_FRAME);
        let mut done: Result<(), Error> = Ok(());
        times.create.push(time(|| {
            done = (0..A_FRAME).try_for_each(|_| {
                made.push(self.gpu.create_buffer(&self.desc)?);
                Ok(())
            });
        }));
        done?;
        frame.submit(frame.record(Queue::Graphics, "uses them")?)?;
        times.drop.push(time(|| drop(black_box(made))));
        let mut ended = Ok(());
        times.end.push(time(|| ended = frame.end()));
        ended
    }

    /// A frame that replaces some of what lives, drawn at random: what is released lies anywhere in
    /// memory, the GPU's and the CPU's.
    fn frame_anywhere(&mut self, times: &mut Times) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        for _ in 0..A_FRAME {
            let index = self.rng.index(self.live.len());
            let buffer = self.gpu.create_buffer(&self.desc)?;
            self.live[index] = buffer;
        }
        frame.submit(frame.record(Queue::Graphics, "uses them")?)?;
        let mut ended = Ok(());
        times.end_anywhere.push(time(|| ended = frame.end()));
        ended
    }
}
