//! What went to slower memory, and how soon it is back once there is room.

use tenure_core::device::{State, Subresource};
use tenure_core::{Buffer, BufferDesc, Config, Error, Gpu, Queue, Usage};
use tenure_sim::{Device, Lag, Options, Profile};

use super::measure::Figure;
use super::trace::LOCAL;

const MIB: u64 = 1 << 20;

/// Buffers of 1 MiB.
const WORLD: usize = 400;
/// MiB that are granted while the world is made.
const SHORT: u64 = 256;
/// MiB that are granted afterwards.
const AMPLE: u64 = 1024;
/// Buffers that each frame uses: those that were made last.
const HOT: usize = 64;

/// Bytes moved over those that have to move, at most.
const MOST_MOVED: f64 = 1.15;

/// A world that did not fit when it was made, of which some is used in each frame.
struct World {
    gpu: Gpu<Device>,
    buffers: Vec<Buffer<Device>>,
}

impl World {
    fn new() -> Result<Self, Error> {
        let options = Options::new(Profile::VULKAN_NVIDIA).lag(Lag::Submissions(2));
        let gpu = Gpu::new(Device::with_options(options), Config::default())?;
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

    /// Bytes of those buffers that have not moved.
    fn unmoved(buffers: &[Buffer<Device>]) -> u64 {
        buffers.iter().filter(|buffer| buffer.moves() == 0).map(Buffer::size).sum()
    }

    /// Bytes that are not in the card's memory.
    fn slow(&self) -> u64 {
        let objects = self.gpu.report().objects;
        let slow = objects.iter().filter(|object| object.name == "world" && object.heap != Some(LOCAL));
        slow.map(|object| object.bytes).sum()
    }

    /// Bytes moved, over those that were in slower memory: what has come back may move once more, out of a block of which
    /// little is used.
    fn moved_over(&self, slow: u64) -> f64 {
        self.gpu.compaction_stats().bytes as f64 / slow as f64
    }
}

/// Counts.
///
/// # Errors
/// The errors of the manager.
pub(super) fn all() -> Result<Vec<Figure>, Error> {
    let mut figures = after_pressure()?;
    figures.push(sawtooth()?);
    Ok(figures)
}

/// The pressure ends: how long until what each frame uses is local again, and until all is.
fn after_pressure() -> Result<Vec<Figure>, Error> {
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
    let hot = frames(&|| World::unmoved(world.hot()) == 0)?;
    let all = hot + frames(&|| world.slow() == 0)?;
    (0..50).try_for_each(|_| world.draw())?;
    let figure = |what: String, value: f64, target: f64| Figure { what, value, target, is_exact: true };
    let least = |bytes: u64| bytes.div_ceil(a_frame) as f64;
    Ok(vec![
        figure(
            format!(
                "{HOT} MiB in use, in slower memory: frames until local, at {} MiB a frame",
                a_frame / MIB
            ),
            hot as f64,
            2.0 * least(HOT as u64 * MIB),
        ),
        figure(format!("all {} MiB: frames until local", slow / MIB), all as f64, 2.0 * least(slow)),
        figure("moved over what was in slower memory".to_owned(), world.moved_over(slow), MOST_MOVED),
    ])
}

/// The budget goes up and down around what there is, every 10 frames: nothing goes to and fro.
fn sawtooth() -> Result<Figure, Error> {
    let world = World::new()?;
    let slow = world.slow();
    for frame in 0..400 {
        if frame % 10 == 0 {
            world.grant(if frame % 20 == 0 { SHORT } else { SHORT + WORLD as u64 / 2 })?;
        }
        world.draw()?;
    }
    let what =
        "a budget that goes up and down every 10 frames: moved over what was in slower memory".to_owned();
    Ok(Figure { what, value: world.moved_over(slow), target: MOST_MOVED, is_exact: true })
}
