//! The time of an allocation and of the end of a frame, by the number of live resources and blocks, on a
//! [null device](crate::null).
//!
//! All scenes exist at the same time and alternate, so that other load on the machine and the age of the
//! managers affect all of them alike.

use std::hint::black_box;
use std::time::Duration;

use tenure_core::{Buffer, BufferDesc, Config, Error, Frame, Gpu, PoolConfig, Queue, Usage};
use tenure_sim::Profile;

use crate::Result;
use crate::null::Device;
use crate::suballoc::rng::Rng;
use crate::table::table;
use crate::timing::{median, median_ns, time, try_time};

/// Rounds of each measurement; the result is their median.
const ROUNDS: u32 = 301;
/// Warm-up rounds for pools, vectors and holes.
const WARM_UP: u32 = 30;
/// Live resources.
const LIVE: [usize; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Blocks, each with one resource that fills most of it, beside a thousand small ones.
const BLOCKS: [usize; 4] = [1, 10, 100, 1000];
/// Bytes of such a block.
const BLOCK: u64 = 16 << 20;
/// Bytes of the resource that fills most of it.
const LARGE: u64 = 12 << 20;
/// Resources that a frame creates and drops.
const A_FRAME: usize = 1000;

/// Runs the measurements and prints them.
///
/// # Errors
/// The errors of the manager.
pub fn run() -> Result {
    let alive = |live: &usize| Scene::new(&Config::default(), 4096, *live, 0);
    let config = Config::from(PoolConfig::default().min_block(BLOCK).max_buffer_block(BLOCK));
    let in_blocks = |blocks: &usize| Scene::new(&config, 1024, LIVE[0], *blocks);
    let scenes = LIVE.iter().map(alive).chain(BLOCKS.iter().map(in_blocks));
    let mut scenes = scenes.collect::<Result<Vec<_>, _>>()?;
    let count = scenes.len();
    for round in 0..WARM_UP + ROUNDS {
        if round == WARM_UP {
            scenes.iter_mut().for_each(|scene| scene.times = Default::default());
        }
        // Another one begins each time.
        scenes.rotate_left(1);
        scenes.iter_mut().try_for_each(Scene::round)?;
    }
    // Restore the order of creation.
    scenes.rotate_right((WARM_UP + ROUNDS) as usize % count);
    let ns: Vec<_> = scenes.iter().map(Scene::ns).collect();
    let rows = scenes.iter().zip(&ns).map(|(scene, ns)| {
        let blocks: usize = scene.calm.gpu.report().pools.iter().map(|pool| pool.blocks.len()).sum();
        let figures = ns.map(|ns| format!("{ns:.1}")).join(" | ");
        format!("{} | {blocks} | {figures}", scene.calm.gpu.stats().live_objects)
    });
    let spreads = (0..TIMES).map(|column| spread(ns.iter().map(|ns| ns[column]).collect()));
    let spreads = format!("median |  | {}", spreads.collect::<Vec<_>>().join(" | "));
    let header = "alive | blocks | frame end, idle (ns) | create | drop | \
                  frame end, a release side by side | between live ranges | anywhere";
    println!("{}", table(header, rows.chain([spreads])));
    Ok(())
}

/// The median of the scenes, and the distance of the least and the most from it.
fn spread(mut all: Vec<f64>) -> String {
    all.sort_by(f64::total_cmp);
    let (least, most) = (all[0], all[all.len() - 1]);
    let median = median(all).unwrap_or_default();
    let percent = |value: f64| (value / median - 1.0) * 100.0;
    format!("{median:.1} ({:+.0} %, {:+.0} %)", percent(least), percent(most))
}

/// A manager with many live resources.
struct World {
    gpu: Gpu<Device>,
    desc: BufferDesc,
    live: Vec<Buffer<Device>>,
    /// The number that a frame creates, spread among the others, no two side by side.
    among: Vec<Buffer<Device>>,
    /// Never replaced.
    _large: Vec<Buffer<Device>>,
}

impl World {
    fn new(config: Config, size: u64, live: usize, large: usize) -> Result<Self, Error> {
        let gpu = Gpu::new(Device::new(Profile::D3D12_TIER2), config)?;
        let desc = BufferDesc::new(size, Usage::VERTEX | Usage::SHADER_READ);
        let (mut all, mut among) = (Vec::with_capacity(live), Vec::with_capacity(A_FRAME));
        let mut rng = Rng::new(2);
        for index in 0..live {
            all.push(gpu.create_buffer(&desc)?);
            // The requested number, chosen at random after the remaining ones.
            if rng.index(live - index) < A_FRAME - among.len() {
                among.push(gpu.create_buffer(&desc)?);
            }
        }
        let large_desc = desc.clone().size(LARGE);
        let large = (0..large).map(|_| gpu.create_buffer(&large_desc)).collect::<Result<_, _>>()?;
        Ok(Self { gpu, desc, live: all, among, _large: large })
    }

    /// A frame that drops the resources that it created: the times of the creations, the drops, and its end.
    fn frame(&self) -> Result<[Duration; 3], Error> {
        let frame = self.gpu.begin_frame()?;
        let mut made = Vec::with_capacity(A_FRAME);
        let create = try_time(|| {
            (0..A_FRAME).try_for_each(|_| {
                made.push(self.gpu.create_buffer(&self.desc)?);
                Ok::<(), Error>(())
            })
        })?;
        let drop = time(|| drop(black_box(made)));
        Ok([create, drop, end(frame)?])
    }

    /// A frame that replaces live resources, drawn at random: the released ranges lie anywhere in memory, the GPU's and the
    /// CPU's.
    fn frame_anywhere(&mut self, rng: &mut Rng) -> Result<Duration, Error> {
        let frame = self.gpu.begin_frame()?;
        for _ in 0..A_FRAME {
            let index = rng.index(self.live.len());
            self.live[index] = self.gpu.create_buffer(&self.desc)?;
        }
        end(frame)
    }
}

/// Submits a recording that may use the dropped resources, and ends the frame. Returns the time of the end.
fn end(frame: Frame<Device>) -> Result<Duration, Error> {
    frame.submit(frame.record(Queue::Graphics, "uses them")?)?;
    try_time(|| frame.end())
}

/// The end of a frame in which nothing was dropped; a creation and a drop; and the end of a frame, a release:
/// of the frame's buffers, side by side, and each between two live ones, and of any live buffer.
const TIMES: usize = 6;

/// Live resources in two managers: in one, frames drop only their own resources, in the other they replace live ones.
struct Scene {
    calm: World,
    stirred: World,
    rng: Rng,
    times: [Vec<Duration>; TIMES],
}

impl Scene {
    /// A manager with `live` buffers of `size` bytes, and some large ones.
    fn new(config: &Config, size: u64, live: usize, large: usize) -> Result<Self, Error> {
        let world = || World::new(config.clone(), size, live, large);
        Ok(Self { calm: world()?, stirred: world()?, rng: Rng::new(1), times: Default::default() })
    }

    /// A round. Each frame comes twice, and only the second counts: the first reloads the caches after other
    /// scenes.
    fn round(&mut self) -> Result<(), Error> {
        let Self { calm, stirred, rng, times } = self;
        end(calm.gpu.begin_frame()?)?;
        let idle = end(calm.gpu.begin_frame()?)?;
        calm.frame()?;
        let [create, drop, side_by_side] = calm.frame()?;
        // Holes, each between two live resources.
        let frame = calm.gpu.begin_frame()?;
        calm.among.clear();
        end(frame)?;
        calm.frame()?;
        let [.., in_holes] = calm.frame()?;
        while calm.among.len() < A_FRAME {
            calm.among.push(calm.gpu.create_buffer(&calm.desc)?);
        }
        stirred.frame_anywhere(rng)?;
        let anywhere = stirred.frame_anywhere(rng)?;
        let all = [idle, create, drop, side_by_side, in_holes, anywhere];
        times.iter_mut().zip(all).for_each(|(times, taken)| times.push(taken));
        Ok(())
    }

    fn ns(&self) -> [f64; TIMES] {
        let counts = [1, A_FRAME, A_FRAME, A_FRAME, A_FRAME, A_FRAME];
        std::array::from_fn(|at| median_ns(self.times[at].clone(), counts[at]))
    }
}
