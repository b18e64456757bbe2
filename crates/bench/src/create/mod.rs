//! The time to create, drop and reclaim a buffer or a texture.
//!
//! Each way is measured on each device that can be opened: tenure with its defaults, the calls of the device with one heap
//! or one allocation each, and on Vulkan the crates `gpu-allocator` and `vk-mem`. The [null device](crate::null) shows the
//! time of tenure alone.

mod vulkan;
mod ways;

use std::hint::black_box;
use std::time::Duration;

use clap::ValueEnum;
use tenure_core::device::{Device, ResourceDesc};
use tenure_core::{BufferDesc, BufferInfo, Config, Format, Gpu, TextureDesc, Usage};

use crate::table::table;
use crate::timing::{median_ns, try_time};
use crate::{Result, devices, null};
use ways::{Bare, Managed};

/// Resources created in a round.
const COUNT: u32 = 1000;

/// A device to measure on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// The null device, whose calls do almost nothing.
    Null,
    /// The first one of Vulkan.
    Vulkan,
    /// The first one of Direct3D 12.
    D3d12,
}

/// The arguments.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Rounds of each measurement; the result is their median.
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// The devices; by default all that can be opened.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub devices: Vec<DeviceName>,
}

/// Runs the measurements and prints them.
///
/// # Errors
/// The errors of a requested device.
pub fn run(args: &Args) -> Result {
    let mut rows = Vec::new();
    for &name in DeviceName::value_variants() {
        let is_named = args.devices.contains(&name);
        if !is_named && !args.devices.is_empty() {
            continue;
        }
        match measure(name, args.rounds) {
            Ok(found) => rows.extend(found),
            Err(error) if is_named => return Err(format!("{name:?}: {error}").into()),
            Err(error) => eprintln!("left out: {name:?}: {error}"),
        }
    }
    println!("{}", table("device | what | way | create, ns | drop | reclaim | together | / tenure", rows));
    Ok(())
}

/// One way to have resources.
trait Way: Sized {
    /// A resource.
    type Made;
    /// Whether the same number of additional resources live during the measurement, to keep the blocks of an
    /// allocator.
    const KEEPS: bool = true;

    /// Creates the resource of this index.
    fn create(&mut self, index: u32) -> Result<Self::Made>;

    /// Drops all.
    fn drop_all(&mut self, made: &mut Vec<Self::Made>) -> Result;

    /// Creates resources, drops them, and reclaims them: the times of each.
    fn round(&mut self, made: &mut Vec<Self::Made>) -> Result<[Duration; 3]> {
        let create = try_time(|| fill(self, made, COUNT))?;
        Ok([create, try_time(|| self.drop_all(black_box(made)))?, Duration::ZERO])
    }
}

/// A resource to create.
#[derive(Clone, Copy)]
enum Subject {
    /// A small buffer of vertices.
    Buffer,
    /// A square texture that shaders read.
    Texture,
}

/// Bytes of the buffers.
const BYTES: u64 = 4 << 10;
/// Texels of a side of the textures.
const SIDE: u32 = 64;

const SUBJECTS: [(Subject, &str); 2] =
    [(Subject::Buffer, "buffer of 4 KiB"), (Subject::Texture, "texture of 64x64")];

fn buffer() -> BufferDesc {
    BufferDesc::new(BYTES, Usage::VERTEX | Usage::INDEX)
}

fn texture() -> TextureDesc {
    TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, Usage::SHADER_READ)
}

impl Subject {
    /// The description for the device.
    fn resource(self) -> ResourceDesc {
        match self {
            Self::Buffer => ResourceDesc::Buffer(BufferInfo::new(BYTES, buffer().usage)),
            Self::Texture => ResourceDesc::Texture(texture().info),
        }
    }
}

/// Measures every way on one device.
fn measure(name: DeviceName, rounds: u32) -> Result<Vec<String>> {
    let mut lines = Lines { device: "null", what: "", rounds, tenure: f64::NAN, rows: Vec::new() };
    match name {
        DeviceName::Null => {
            lines.measure(|| Ok(null::Device::new(tenure_sim::Profile::D3D12_TIER2)), |_, _, _| Ok(()))?;
        }
        DeviceName::Vulkan => {
            lines.device = "vulkan";
            lines.measure(devices::vulkan, |lines, device, subject| {
                lines.add("gpu-allocator 0.28", vulkan::GpuAllocator::new(device, subject)?)?;
                #[cfg(not(windows))]
                lines.add("vk-mem 0.5", vulkan::Vma::new(device, subject)?)?;
                Ok(())
            })?;
        }
        DeviceName::D3d12 => {
            lines.device = "d3d12";
            lines.measure(devices::d3d12, |_, _, _| Ok(()))?;
        }
    }
    Ok(lines.rows)
}

/// The rows of a device.
struct Lines {
    device: &'static str,
    what: &'static str,
    rounds: u32,
    /// Tenure's nanoseconds for all operations together.
    tenure: f64,
    rows: Vec<String>,
}

impl Lines {
    /// The ways that every device has, then those of `others`.
    fn measure<D: Device>(
        &mut self,
        open: impl Fn() -> Result<D>,
        others: impl Fn(&mut Self, &D, Subject) -> Result,
    ) -> Result {
        for (subject, what) in SUBJECTS {
            self.what = what;
            let gpu = Gpu::new(open()?, Config::default())?;
            match subject {
                Subject::Buffer => {
                    let desc = buffer();
                    self.add("tenure", Managed(gpu, |gpu: &Gpu<D>| gpu.create_buffer(&desc)))?;
                }
                Subject::Texture => {
                    let desc = texture();
                    self.add("tenure", Managed(gpu, |gpu: &Gpu<D>| gpu.create_texture(&desc)))?;
                }
            }
            let device = open()?;
            for (way, has_heap) in [("the device's placed", true), ("the device's committed", false)] {
                self.add(way, Bare::new(&device, subject, has_heap)?)?;
            }
            others(self, &device, subject)?;
        }
        Ok(())
    }

    /// Adds the row of a way.
    fn add<W: Way>(&mut self, name: &str, mut way: W) -> Result {
        /// Rounds that make the pools' blocks.
        const WARM_UP: u32 = 3;
        let mut kept = Vec::new();
        fill(&mut way, &mut kept, if W::KEEPS { COUNT } else { 0 })?;
        // Kept from round to round, so that its allocation is not measured.
        let mut made = Vec::new();
        let mut times: [Vec<Duration>; 4] = Default::default();
        for round in 0..WARM_UP + self.rounds {
            let [create, drop, reclaim] = way.round(&mut made)?;
            if round >= WARM_UP {
                let all = [create, drop, reclaim, create + drop + reclaim];
                times.iter_mut().zip(all).for_each(|(times, taken)| times.push(taken));
            }
        }
        way.drop_all(&mut kept)?;
        let [create, drop, reclaim, all] = times.map(|times| median_ns(times, COUNT as usize));
        if name == "tenure" {
            self.tenure = all;
        }
        let Self { device, what, tenure, .. } = *self;
        self.rows.push(format!(
            "{device} | {what} | {name} | {create:.1} | {drop:.1} | {reclaim:.1} | {all:.1} | {:.1}",
            all / tenure
        ));
        Ok(())
    }
}

fn fill<W: Way>(way: &mut W, made: &mut Vec<W::Made>, count: u32) -> Result {
    (0..count).try_for_each(|index| {
        made.push(way.create(index)?);
        Ok(())
    })
}
