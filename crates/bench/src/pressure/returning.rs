//! Resources that spilled to slower memory, and how soon they are back once there is room.

use tenure_core::device::{State, Subresource};
use tenure_core::{Buffer, BufferDesc, Config, Error, Gpu, Queue, Usage};
use tenure_sim::{Device, DeviceConfig, Lag, Profile};

use super::report::Figure;
use super::trace::LOCAL;
use crate::Result;

const MIB: u64 = 1 << 20;

/// Buffers of 1 MiB.
const WORLD: usize = 400;
/// MiB that are granted while the world is made.
const SHORT: u64 = 256;
/// MiB that are granted afterwards.
const AMPLE: u64 = 1024;
/// Buffers that each frame uses: the newest ones.
const HOT: usize = 64;

/// Limit on moved bytes divided by bytes that must move.
const MOST_MOVED: f64 = 1.15;

/// A world that did not fit when it was made. Some of it is used in each frame.
struct World {
    gpu: Gpu<Device>,
    buffers: Vec<Buffer<Device>>,
}

impl World {
    fn new() -> Result<Self, Error> {
        let options = DeviceConfig::new(Profile::VULKAN_NVIDIA).lag(Lag::Submissions(2));
        let gpu = Gpu::new(Device::with_config(options), Config::default())?;
        let world = Self { gpu, buffers: Vec::new() };
        world.grant(SHORT)?;
        world.gpu.begin_frame()?.end()?;
        let (desc, bytes) = (BufferDesc::new(MIB, Usage::SHADER_READ).movable(), vec![1; MIB as usize]);
        let make = |_| world.gpu.create_buffer_with(&desc.clone().name("world"), &bytes);
        let buffers = (0..WORLD).map(make).collect::<Result<_, _>>()?;
        Ok(Self { buffers, ..world })
    }

    fn grant(&self, mib: u64) -> Result<(), Error> {
        Ok(self.gpu.device().set_budget(LOCAL, mib * MIB)?)
    }

    fn hot(&self) -> &[Buffer<Device>] {
        &self.buffers[WORLD - HOT..]
    }

    fn draw(&self) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        let mut recording = frame.record(Queue::Graphics, "frame")?;
        for buffer in self.hot() {
            recording.use_resource(buffer, Subresource::All, State::NON_PIXEL_SHADER)?;
        }
        frame.submit(recording)?;
        frame.end()
    }

    /// Bytes that are not in the card's memory.
    fn slow(&self) -> u64 {
        let objects = self.gpu.report().objects;
        let slow = objects.iter().filter(|object| object.name == "world" && object.heap != Some(LOCAL));
        slow.map(|object| object.bytes).sum()
    }

    /// Moved bytes divided by bytes in slower memory: a resource that has come back may move once more, out of
    /// a sparse block.
    fn moved_over(&self, slow: u64) -> f64 {
        self.gpu.compaction_stats().bytes as f64 / slow as f64
    }
}

/// Counts.
///
/// # Errors
/// The errors of the manager.
pub(super) fn all() -> Result<Vec<Figure>, Error> {
    // The pressure ends: the time until the resources of each frame are local again, and until all are.
    let world = World::new()?;
    (0..8).try_for_each(|_| world.draw())?;
    let slow = world.slow();
    world.grant(AMPLE)?;
    let a_frame = Config::default().compaction.frame_bytes;
    let frames = |is_done: &dyn Fn() -> bool| -> Result<u64, Error> {
        let mut frames = 0;
        while !is_done() && frames < 1000 {
            world.draw()?;
            frames += 1;
        }
        Ok(frames)
    };
    let hot = frames(&|| world.hot().iter().all(|buffer| buffer.moves() > 0))?;
    let all = hot + frames(&|| world.slow() == 0)?;
    (0..50).try_for_each(|_| world.draw())?;
    let least = |bytes: u64| bytes.div_ceil(a_frame) as f64;
    let (until_local, a_frame) = ("frames until local", a_frame / MIB);
    let figure = |what: String, value: f64, target: f64| Figure { what, value, target, is_exact: true };
    let what = format!("{HOT} MiB in use, in slower memory: {until_local}, at {a_frame} MiB a frame");
    let hot = figure(what, hot as f64, 2.0 * least(HOT as u64 * MIB));
    let all = figure(format!("all {} MiB: {until_local}", slow / MIB), all as f64, 2.0 * least(slow));
    let moved = "moved bytes / bytes in slower memory";
    let once = figure(moved.to_owned(), world.moved_over(slow), MOST_MOVED);
    // The budget rises and falls around the existing bytes: nothing goes to and fro.
    let world = World::new()?;
    let slow = world.slow();
    for frame in 0..400 {
        if frame % 10 == 0 {
            world.grant(if frame % 20 == 0 { SHORT } else { SHORT + WORLD as u64 / 2 })?;
        }
        world.draw()?;
    }
    let what = format!("a budget that rises and falls every 10 frames: {moved}");
    Ok(vec![hot, all, once, figure(what, world.moved_over(slow), MOST_MOVED)])
}
