//! The time to create, drop and free a buffer or a texture.
//!
//! Each way is measured on each device that can be opened: tenure with its defaults, tenure with every
//! resource placed or committed, the calls of the device with one heap or one allocation each, and on
//! Vulkan the crates `gpu-allocator` and `vk-mem`. The [null device](crate::null) shows what is
//! the time of tenure alone.

mod bare;
mod managed;
mod peer;
mod raw;
#[cfg(not(windows))]
mod vma;

use std::hint::black_box;
use std::time::Duration;

use clap::ValueEnum;
use tenure_core::device::{Device, ResourceDesc};
use tenure_core::{BufferDesc, BufferInfo, Config, Format, Gpu, PoolConfig, Strategy, TextureDesc, Usage};

use crate::table::{row, table};
use crate::timing::{median_ns, try_time};
use crate::{devices, null};
use bare::{Bare, Memory};
use managed::Managed;

/// Resources created in a round.
const COUNT: u32 = 1000;

/// A device to measure on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// The one whose calls do next to nothing.
    Null,
    /// The first one of Vulkan.
    Vulkan,
    /// The first one of Direct3D 12.
    D3d12,
}

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Rounds of each measurement; the result is their median.
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// The devices; all that can be opened when none is named.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub devices: Vec<DeviceName>,
}

/// Runs the measurements and prints them.
///
/// # Errors
/// What a device that was asked for by name reports, in words.
pub fn run(args: &Args) -> Result<(), String> {
    let mut lines = Vec::new();
    for &name in DeviceName::value_variants() {
        let is_named = args.devices.contains(&name);
        if !is_named && !args.devices.is_empty() {
            continue;
        }
        match measure(name, args.rounds) {
            Ok(found) => lines.extend(found),
            Err(error) if is_named => return Err(format!("{name:?}: {error}")),
            Err(error) => eprintln!("left out: {name:?}: {error}"),
        }
    }
    let header = ["device", "what", "way", "create, ns", "drop", "give back", "together", "/ tenure"];
    let rows = lines.iter().map(|line| {
        let is_same =
            |other: &&Line| (other.way, other.device, &other.what) == ("tenure", line.device, &line.what);
        let [create, drop, give_back, total] = line.ns;
        let over_tenure = lines.iter().find(is_same).map_or(f64::NAN, |tenure| total / tenure.ns[3]);
        let figures = [create, drop, give_back, total, over_tenure].map(|value| format!("{value:.1}"));
        [row![line.device, line.what, line.way], figures.to_vec()].concat()
    });
    println!("{}", table(&header, rows));
    Ok(())
}

/// One subject, created in one way on one device.
struct Line {
    device: &'static str,
    what: String,
    way: &'static str,
    /// Nanoseconds each: to create, to drop, at the end of the frame, and the median of the sums.
    ns: [f64; 4],
}

/// One way to have resources.
trait Way {
    /// A resource.
    type Made;

    /// What comes before a round.
    fn begin(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Creates the resource of this index.
    fn create(&mut self, index: u32) -> Result<Self::Made, String>;

    /// What comes between the creations and the drops.
    fn submit(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Drops all.
    fn drop_all(&mut self, made: &mut Vec<Self::Made>) -> Result<(), String>;

    /// Reclaims the dropped objects.
    fn give_back(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Whether as many resources more live during the measurement, to keep the blocks of an allocator.
    const KEEPS: bool = true;
}

/// What is created.
#[derive(Clone, Copy)]
enum Subject {
    /// A small buffer of vertices.
    Buffer(u64),
    /// A square texture that shaders read.
    Texture(u32),
}

const SUBJECTS: [Subject; 3] = [Subject::Buffer(4 << 10), Subject::Buffer(64 << 10), Subject::Texture(64)];

/// tenure's ways.
const WAYS: [(&str, Strategy); 3] = [
    ("tenure", Strategy::Pooled),
    ("tenure, all placed", Strategy::Placed),
    ("tenure, all committed", Strategy::Committed),
];

/// The device's.
const BARE_WAYS: [(&str, Memory); 2] =
    [("the device's placed", Memory::Shared), ("the device's committed", Memory::Own)];

/// Those of the peers, on Vulkan.
const PEER: &str = "gpu-allocator 0.28";
#[cfg(not(windows))]
const VK_MEM: &str = "vk-mem 0.5";

impl Subject {
    fn name(self) -> String {
        match self {
            Self::Buffer(size) => format!("buffer of {} KiB", size >> 10),
            Self::Texture(side) => format!("texture of {side}x{side}"),
        }
    }

    fn buffer(size: u64) -> BufferDesc {
        BufferDesc::new(size, Usage::VERTEX | Usage::INDEX)
    }

    fn texture(side: u32) -> TextureDesc {
        TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::SHADER_READ)
    }

    /// The same for the device.
    fn resource(self) -> ResourceDesc {
        match self {
            Self::Buffer(size) => ResourceDesc::Buffer(BufferInfo { size, usage: Self::buffer(size).usage }),
            Self::Texture(side) => ResourceDesc::Texture(Self::texture(side).info),
        }
    }
}

/// Measures every way on one device.
fn measure(name: DeviceName, rounds: u32) -> Result<Vec<Line>, String> {
    match name {
        DeviceName::Null => {
            measure_device("null", rounds, || Ok(null::Device::new(tenure_sim::Profile::D3D12_TIER2)))
        }
        DeviceName::Vulkan => {
            let mut lines = measure_device("vulkan", rounds, devices::vulkan)?;
            let device = devices::vulkan()?;
            for subject in SUBJECTS {
                lines.push(measure_way("vulkan", PEER, subject, rounds, peer::Peer::new(&device, subject)?)?);
                #[cfg(not(windows))]
                lines.push(measure_way("vulkan", VK_MEM, subject, rounds, vma::Vma::new(&device, subject)?)?);
            }
            Ok(lines)
        }
        DeviceName::D3d12 => measure_device("d3d12", rounds, devices::d3d12),
    }
}

/// All ways that every device has.
fn measure_device<D: Device>(
    device: &'static str,
    rounds: u32,
    open: impl Fn() -> Result<D, String>,
) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for subject in SUBJECTS {
        for (way, strategy) in WAYS {
            let pools = PoolConfig { strategy, ..PoolConfig::default() };
            let gpu = Gpu::new(open()?, Config::from(pools)).map_err(|error| error.to_string())?;
            lines.push(match subject {
                Subject::Buffer(size) => {
                    let desc = Subject::buffer(size);
                    let create = |gpu: &Gpu<D>| gpu.create_buffer(&desc);
                    measure_way(device, way, subject, rounds, Managed::new(gpu, create))?
                }
                Subject::Texture(side) => {
                    let desc = Subject::texture(side);
                    let create = |gpu: &Gpu<D>| gpu.create_texture(&desc);
                    measure_way(device, way, subject, rounds, Managed::new(gpu, create))?
                }
            });
        }
        for (way, memory) in BARE_WAYS {
            let bare = open()?;
            lines.push(measure_way(device, way, subject, rounds, Bare::new(&bare, subject, memory)?)?);
        }
    }
    Ok(lines)
}

fn measure_way<W: Way>(
    device: &'static str,
    way: &'static str,
    subject: Subject,
    rounds: u32,
    mut found: W,
) -> Result<Line, String> {
    /// Rounds that make the pools' blocks.
    const WARM_UP: u32 = 3;
    let mut kept = Vec::new();
    let kept_count = if W::KEEPS { COUNT } else { 0 };
    fill(&mut found, &mut kept, kept_count)?;
    // Kept from round to round, so that its allocation is not measured.
    let mut made = Vec::new();
    let mut times: [Vec<Duration>; 4] = Default::default();
    for round in 0..WARM_UP + rounds {
        found.begin()?;
        let create = try_time(|| fill(&mut found, &mut made, COUNT))?;
        found.submit()?;
        let drop = try_time(|| found.drop_all(black_box(&mut made)))?;
        let give_back = try_time(|| found.give_back())?;
        if round >= WARM_UP {
            let all = [create, drop, give_back, create + drop + give_back];
            times.iter_mut().zip(all).for_each(|(times, taken)| times.push(taken));
        }
    }
    found.drop_all(&mut kept)?;
    Ok(Line { device, what: subject.name(), way, ns: times.map(|times| median_ns(times, COUNT as usize)) })
}

fn fill<W: Way>(way: &mut W, made: &mut Vec<W::Made>, count: u32) -> Result<(), String> {
    (0..count).try_for_each(|index| {
        made.push(way.create(index)?);
        Ok(())
    })
}
