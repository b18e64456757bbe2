//! Managers with so much alive, and the frames that are timed.

use std::hint::black_box;
use std::time::Duration;

use tenure_core::{Buffer, BufferDesc, Config, Error, Frame, Gpu, Queue, Usage};
use tenure_sim::Profile;

use crate::null::Device;
use crate::suballoc::rng::Rng;
use crate::timing::{median_ns, time, try_time};

/// Resources that a frame creates and drops.
pub(super) const A_FRAME: usize = 1000;

/// A manager with much alive.
struct World {
    gpu: Gpu<Device>,
    desc: BufferDesc,
    live: Vec<Buffer<Device>>,
    /// As many as a frame creates, here and there among what else lives, no two side by side.
    among: Vec<Buffer<Device>>,
    /// What is never replaced.
    _large: Vec<Buffer<Device>>,
}

impl World {
    fn new(config: Config, size: u64, live: usize, (large, count): (u64, usize)) -> Result<Self, Error> {
        let gpu = Gpu::new(Device::new(Profile::D3D12_TIER2), config)?;
        let desc = BufferDesc::new(size, Usage::VERTEX | Usage::SHADER_READ);
        let (mut all, mut among) = (Vec::with_capacity(live), Vec::with_capacity(A_FRAME));
        let mut rng = Rng::new(2);
        for index in 0..live {
            all.push(gpu.create_buffer(&desc)?);
            // As many as are wanted, after any of those that are left alike.
            if rng.index(live - index) < A_FRAME - among.len() {
                among.push(gpu.create_buffer(&desc)?);
            }
        }
        let large_desc = BufferDesc { size: large, ..desc.clone() };
        let large = (0..count).map(|_| gpu.create_buffer(&large_desc)).collect::<Result<_, _>>()?;
        Ok(Self { gpu, desc, live: all, among, _large: large })
    }

    /// Leaves holes, each between two that live.
    fn leave_holes(&mut self) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        self.among.clear();
        Self::end(frame).map(drop)
    }

    /// Fills them.
    fn fill_holes(&mut self) -> Result<(), Error> {
        while self.among.len() < A_FRAME {
            self.among.push(self.gpu.create_buffer(&self.desc)?);
        }
        Ok(())
    }

    /// Submits a recording that may use the dropped resources, and ends the frame. Returns the time of the
    /// end.
    fn end(frame: Frame<Device>) -> Result<Duration, Error> {
        frame.submit(frame.record(Queue::Graphics, "uses them")?)?;
        try_time(|| frame.end())
    }
}

/// What came of a scene.
pub(super) struct Line {
    pub(super) live: u64,
    pub(super) blocks: usize,
    /// The end of a frame in which nothing was dropped; a creation and a drop; and the end of a frame, a release: of what
    /// the frame created, side by side, and each between two that live, and of anything that lived.
    pub(super) ns: [f64; 6],
}

/// Times of the rounds.
#[derive(Default)]
struct Times {
    idle: Vec<Duration>,
    create: Vec<Duration>,
    drop: Vec<Duration>,
    side_by_side: Vec<Duration>,
    in_holes: Vec<Duration>,
    anywhere: Vec<Duration>,
}

/// So much alive, in two managers: in one nothing is dropped but what the frame itself created, in the other
/// frames replace what lives.
pub(super) struct Scene {
    calm: World,
    stirred: World,
    rng: Rng,
    times: Times,
}

impl Scene {
    /// With so many living buffers of `size` bytes, and beside them `count` of `large` bytes.
    pub(super) fn new(config: &Config, size: u64, live: usize, large: (u64, usize)) -> Result<Self, Error> {
        let world = || World::new(config.clone(), size, live, large);
        Ok(Self { calm: world()?, stirred: world()?, rng: Rng::new(1), times: Times::default() })
    }

    /// Forgets what it has timed.
    pub(super) fn forget_times(&mut self) {
        self.times = Times::default();
    }

    /// A round. Each frame comes twice, and only the second counts: the first brings back into the caches
    /// what other scenes have displaced.
    pub(super) fn round(&mut self) -> Result<(), Error> {
        let Self { calm, stirred, rng, times } = self;
        World::end(calm.gpu.begin_frame()?)?;
        times.idle.push(World::end(calm.gpu.begin_frame()?)?);
        Self::frame(calm, &mut Times::default())?;
        let side_by_side = Self::frame(calm, times)?;
        times.side_by_side.push(side_by_side);
        calm.leave_holes()?;
        Self::frame(calm, &mut Times::default())?;
        times.in_holes.push(Self::frame(calm, &mut Times::default())?);
        calm.fill_holes()?;
        Self::frame_anywhere(stirred, rng)?;
        times.anywhere.push(Self::frame_anywhere(stirred, rng)?);
        Ok(())
    }

    /// A frame that drops what it created.
    fn frame(world: &World, times: &mut Times) -> Result<Duration, Error> {
        let frame = world.gpu.begin_frame()?;
        let mut made = Vec::with_capacity(A_FRAME);
        times.create.push(try_time(|| {
            (0..A_FRAME).try_for_each(|_| {
                made.push(world.gpu.create_buffer(&world.desc)?);
                Ok::<(), Error>(())
            })
        })?);
        times.drop.push(time(|| drop(black_box(made))));
        World::end(frame)
    }

    /// A frame that replaces some of what lives, drawn at random: what is released lies anywhere in
    /// memory, the GPU's and the CPU's.
    fn frame_anywhere(world: &mut World, rng: &mut Rng) -> Result<Duration, Error> {
        let frame = world.gpu.begin_frame()?;
        for _ in 0..A_FRAME {
            let index = rng.index(world.live.len());
            world.live[index] = world.gpu.create_buffer(&world.desc)?;
        }
        World::end(frame)
    }

    /// What came of it.
    pub(super) fn line(self) -> Line {
        let Self { calm, times, .. } = self;
        let Times { idle, create, drop, side_by_side, in_holes, anywhere } = times;
        let [create, drop, side_by_side, in_holes, anywhere] =
            [create, drop, side_by_side, in_holes, anywhere].map(|times| median_ns(times, A_FRAME));
        Line {
            live: calm.gpu.stats().live_objects,
            blocks: calm.gpu.report().pools.iter().map(|pool| pool.blocks.len()).sum(),
            ns: [median_ns(idle, 1), create, drop, side_by_side, in_holes, anywhere],
        }
    }
}
