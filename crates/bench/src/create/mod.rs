//! The time to create, drop and free a buffer or a texture.
//!
//! Each way is measured on each device that can be opened: tenure with its defaults, tenure with every
//! resource placed or committed, the calls of the device with one heap or one allocation each, and on
//! Vulkan the crates `gpu-allocator` and `vk-mem`. The [null device](crate::null) shows what is
//! the time of tenure alone.

mod bare;
mod devices;
mod managed;
mod peer;
mod raw;
mod report;
#[cfg(not(windows))]
mod vma;

use std::time::Duration;

use clap::ValueEnum;
use tenure_core::device::{Device, ResourceDesc};
use tenure_core::{BufferDesc, Gpu, Strategy};
use tenure_core::{BufferInfo, Format, TextureDesc, Usage};

use crate::timing::{median_ns, time};
use bare::{Bare, Memory};
use managed::Managed;
use report::{Line, Report};

/// A device to measure on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// The one whose calls do next to nothing.
    Null,
    /// The simulated one, whose calls check.
    Sim,
    /// The first one of Vulkan.
    Vulkan,
    /// The first one of Direct3D 12.
    D3d12,
}

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Rounds of each measurement; the result is their median.
    #[arg(long, default_value_t = 31, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Resources created in a round.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub count: u32,
    /// The devices; all that can be opened when none is named.
    #[arg(long, value_enum, value_delimiter = ',')]
    pub devices: Vec<DeviceName>,
    /// Only what contains this in its name; may be given more than once.
    #[arg(long)]
    pub what: Vec<String>,
    /// Only these ways, by their whole names; may be given more than once.
    #[arg(long)]
    pub way: Vec<String>,
}

impl Args {
    fn wants(&self, subject: Subject, way: &str) -> bool {
        let (name, is_empty) = (subject.name(), self.what.is_empty());
        let is_named = is_empty || self.what.iter().any(|part| name.contains(part.as_str()));
        is_named && (self.way.is_empty() || self.way.iter().any(|named| named == way))
    }
}

/// Runs the measurements and prints them.
///
/// # Errors
/// What a device that was asked for by name reports, in words.
pub fn run(args: &Args) -> Result<(), String> {
    let mut report = Report::default();
    for &name in DeviceName::value_variants() {
        let is_named = args.devices.contains(&name);
        if !is_named && !args.devices.is_empty() {
            continue;
        }
        match devices::measure(name, args) {
            Ok(lines) => report.0.extend(lines),
            Err(error) if is_named => return Err(format!("{name:?}: {error}")),
            Err(error) => eprintln!("left out: {name:?}: {error}"),
        }
    }
    if args.json {
        println!("{:#}", report.to_json());
    } else {
        println!("{report}");
    }
    Ok(())
}

/// Times of one round: creating, dropping, and giving back what was dropped.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    create: Duration,
    drop: Duration,
    give_back: Duration,
}

/// Creates `count` things and says what that took; those made before an error are in `made`.
fn fill<T, E>(
    made: &mut Vec<T>,
    count: u32,
    mut create: impl FnMut(u32) -> Result<T, E>,
) -> Result<Duration, E> {
    let mut done = Ok(());
    let time = time(|| {
        done = (0..count).try_for_each(|index| {
            made.push(create(index)?);
            Ok(())
        });
    });
    done.map(|()| time)
}

/// One way to have resources.
trait Way {
    /// Creates `count` of them, drops them, and gives back what may be.
    fn round(&mut self, count: u32) -> Result<Round, String>;
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

/// All ways that every device has.
fn measure_device<D: Device>(
    device: &'static str,
    args: &Args,
    open: impl Fn() -> Result<D, String>,
) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for subject in SUBJECTS {
        for (way, strategy) in WAYS {
            if args.wants(subject, way) {
                let gpu = manager(open()?, strategy)?;
                lines.push(measure_managed(device, way, subject, args, gpu)?);
            }
        }
        for (way, memory) in BARE_WAYS {
            if args.wants(subject, way) {
                let bare = open()?;
                let mut found = Bare::new(&bare, subject, memory, args.count)?;
                lines.push(measure_way(device, way, subject, args, &mut found)?);
            }
        }
    }
    Ok(lines)
}

fn measure_managed<D: Device>(
    device: &'static str,
    way: &'static str,
    subject: Subject,
    args: &Args,
    gpu: Gpu<D>,
) -> Result<Line, String> {
    match subject {
        Subject::Buffer(size) => {
            let desc = Subject::buffer(size);
            let mut found = Managed::new(gpu, |gpu| gpu.create_buffer(&desc));
            measure_way(device, way, subject, args, &mut found)
        }
        Subject::Texture(side) => {
            let desc = Subject::texture(side);
            let mut found = Managed::new(gpu, |gpu| gpu.create_texture(&desc));
            measure_way(device, way, subject, args, &mut found)
        }
    }
}

fn measure_way(
    device: &'static str,
    way: &'static str,
    subject: Subject,
    args: &Args,
    found: &mut dyn Way,
) -> Result<Line, String> {
    // The first rounds make the pools' blocks.
    for _ in 0..3 {
        found.round(args.count)?;
    }
    let rounds = (0..args.rounds).map(|_| found.round(args.count)).collect::<Result<Vec<_>, _>>()?;
    let median = |part: fn(&Round) -> Duration| {
        median_ns(rounds.iter().map(part).collect(), usize::try_from(args.count).unwrap_or(1))
    };
    Ok(Line {
        device,
        what: subject.name(),
        way,
        create_ns: median(|round| round.create),
        drop_ns: median(|round| round.drop),
        give_back_ns: median(|round| round.give_back),
        total_ns: median(|round| round.create + round.drop + round.give_back),
    })
}

/// The manager, told how to place.
fn manager<D: Device>(device: D, strategy: Strategy) -> Result<Gpu<D>, String> {
    let config =
        tenure_core::Config::from(tenure_core::PoolConfig { strategy, ..tenure_core::PoolConfig::default() });
    Gpu::new(device, config).map_err(|error| error.to_string())
}
