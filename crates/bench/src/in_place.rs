//! Uploads that the CPU writes into place, beside those that are staged and copied.
//!
//! A frame uploads 20 MB and waits until the GPU has them, so that the copy is included. Frames on both roads take turns;
//! the result is the median of each.

use std::time::Duration;

use clap::ValueEnum;
use tenure_core::device::{Device, Features};
use tenure_core::memory::PoolKind;
use tenure_core::memory::in_place::writable_types;
use tenure_core::{
    Buffer, BufferDesc, Config, Error, Format, Gpu, InPlaceConfig, TexelData, Texture, TextureDesc, Usage,
};

use crate::devices;
use crate::table::{mib, row, table};
use crate::timing::{median_ns, try_time};

/// A device to measure on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeviceName {
    /// The first one of Vulkan.
    Vulkan,
    /// The first one of Direct3D 12.
    D3d12,
}

/// What to measure.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Frames of each road; the result is their median.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// The device.
    #[arg(long, value_enum, default_value_t = DeviceName::Vulkan)]
    pub device: DeviceName,
    /// Write over the bus whatever the size, on a card with memory of its own.
    #[arg(long)]
    pub over_bus: bool,
}

/// Bytes that a frame uploads.
const FRAME: u64 = 20_000_000;
/// Frames until staging memory and pools are there.
const WARM_UP: u32 = 5;
/// In place this part of the staged time at most, for buffers of 64 KiB.
const TARGET: f64 = 0.5;
const TIMEOUT: Duration = Duration::from_secs(10);

/// What a frame does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Uploads to buffers that were just created.
    InitialData,
    /// Creates buffers with their data.
    Creation,
    /// Uploads to the buffers of the frame before.
    Again,
    /// Creates textures with their texels.
    Textures,
    /// Uploads to the textures of the frame before.
    TexturesAgain,
}

impl What {
    const ALL: [Self; 5] =
        [Self::InitialData, Self::Creation, Self::Again, Self::Textures, Self::TexturesAgain];

    const fn is_of_textures(self) -> bool {
        matches!(self, Self::Textures | Self::TexturesAgain)
    }

    const fn is_of_each_frame(self) -> bool {
        !matches!(self, Self::Again | Self::TexturesAgain)
    }

    const fn text(self) -> &'static str {
        match self {
            Self::InitialData => "initial data",
            Self::Creation => "creation with initial data",
            Self::Again => "later uploads, the GPU idle",
            Self::Textures => "creation of textures with texels",
            Self::TexturesAgain => "later uploads to textures, the GPU idle",
        }
    }
}

const SIZES: [u64; 4] = [4 << 10, 64 << 10, 1 << 20, 4 << 20];

/// Runs the measurements and prints them.
///
/// # Errors
/// What the device reports, and targets that are missed, in words.
pub fn run(args: &Args) -> Result<(), String> {
    match args.device {
        DeviceName::Vulkan => run_on(args, devices::vulkan),
        DeviceName::D3d12 => run_on(args, devices::d3d12),
    }
}

fn run_on<D: Device>(args: &Args, open: impl Fn() -> Result<D, String>) -> Result<(), String> {
    let in_place = match args.over_bus {
        true => InPlaceConfig { max_over_bus: 4 << 30, ..InPlaceConfig::default() },
        false => InPlaceConfig::default(),
    };
    let staged = InPlaceConfig { initial_data: false, uploads: false, ..InPlaceConfig::default() };
    let mut roads = Vec::new();
    for config in [staged, in_place] {
        let gpu = Gpu::new(open()?, Config::from(config)).map_err(|error| error.to_string())?;
        roads.push(gpu);
    }
    let properties = roads[0].device().properties();
    let (name, is_reached) = (properties.name.clone(), writable_types(properties) != 0);
    let has_textures = properties.features.contains(Features::TEXTURE_WRITES);
    let mut lines = Vec::new();
    for what in What::ALL {
        for size in SIZES {
            lines.push(measure(&roads, what, size, args.rounds).map_err(|error| error.to_string())?);
        }
    }
    let is_expected = |line: &Line| if line.is_of_textures { has_textures } else { is_reached };
    let missed = lines.iter().find(|line| is_expected(line) && line.misses_target());
    let missed = missed.map(|line| format!("{}: {:.2} of the staged time", line.what, line.ratio()));
    let header = [
        "20 MB a frame",
        "each of (KiB)",
        "staged (ms)",
        "in place (ms)",
        "of staged",
        "staging memory (MiB)",
        "in place (MiB)",
        "written in place",
    ];
    println!("{name}\n{}", table(&header, lines.iter().map(Line::row)));
    missed.map_or(Ok(()), Err)
}

/// Frames of buffers or textures of one size: staged, and in place.
struct Line {
    what: &'static str,
    is_of_textures: bool,
    /// Bytes of a buffer or texture.
    size: u64,
    /// Milliseconds a frame.
    times: [f64; 2],
    /// Bytes of staging memory at most.
    staging: [u64; 2],
    /// The part of the bytes that was written in place.
    share: f64,
    has_target: bool,
}

impl Line {
    fn ratio(&self) -> f64 {
        self.times[1] / self.times[0]
    }

    fn misses_target(&self) -> bool {
        self.has_target && (self.ratio() > TARGET || self.staging[1] > 0)
    }

    fn row(&self) -> Vec<String> {
        let [staged, in_place, ratio] =
            [self.times[0], self.times[1], self.ratio()].map(|value| format!("{value:.2}"));
        let ([staging, staging_in_place], share) = (self.staging.map(mib), self.share * 100.0);
        let share = format!("{share:.0} %");
        row![self.what, self.size >> 10, staged, in_place, ratio, staging, staging_in_place, share]
    }
}

/// Frames of one road.
struct Frames<'a, D: Device> {
    gpu: &'a Gpu<D>,
    what: What,
    size: u64,
    buffers: Vec<Buffer<D>>,
    textures: Vec<Texture<D>>,
    times: Vec<Duration>,
    /// Bytes; the most staging memory that there was.
    staging: u64,
    /// Bytes written in place before.
    before: u64,
}

impl<'a, D: Device> Frames<'a, D> {
    fn new(gpu: &'a Gpu<D>, what: What, size: u64) -> Self {
        let (buffers, textures, times) = (Vec::new(), Vec::new(), Vec::new());
        let before = gpu.upload_stats().in_place_bytes;
        Self { gpu, what, size, buffers, textures, times, staging: 0, before }
    }

    fn desc(&self) -> BufferDesc {
        BufferDesc::new(self.size, Usage::VERTEX).filled().name("mesh")
    }

    /// A square of texels of 4 bytes.
    fn texture_desc(&self) -> TextureDesc {
        let side = (self.size / 4).isqrt() as u32;
        TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::SHADER_READ).name("picture")
    }

    fn play(&mut self, data: &[u8]) -> Result<(), Error> {
        let frame = self.gpu.begin_frame()?;
        let count = FRAME / self.size;
        if self.what.is_of_each_frame() {
            self.buffers.clear();
            self.textures.clear();
            self.gpu.purge()?;
        }
        if matches!(self.what, What::InitialData | What::Again) {
            while (self.buffers.len() as u64) < count {
                self.buffers.push(self.gpu.create_buffer(&self.desc())?);
            }
        }
        let taken = try_time(|| self.upload(count, data))?;
        self.times.push(taken);
        let pools = self.gpu.stats().pools;
        let staging =
            pools.iter().filter(|pool| pool.kind == PoolKind::UploadPages).map(|pool| pool.reserved);
        self.staging = self.staging.max(staging.sum());
        for buffer in &self.buffers {
            // As commands would have it.
            let _offset = buffer.offset();
        }
        for texture in &self.textures {
            let _raw = texture.raw();
        }
        frame.end()
    }

    fn upload(&mut self, count: u64, data: &[u8]) -> Result<(), Error> {
        if self.what == What::Creation {
            for _ in 0..count {
                self.buffers.push(self.gpu.create_buffer_with(&self.desc(), data)?);
            }
        } else if self.what.is_of_textures() {
            self.upload_textures(count, data)?;
        } else {
            self.buffers.iter().try_for_each(|buffer| self.gpu.upload(buffer, 0, data).map(drop))?;
        }
        let point = self.gpu.flush_uploads()?;
        self.gpu.wait(&point, TIMEOUT).map(drop)
    }

    fn upload_textures(&mut self, count: u64, data: &[u8]) -> Result<(), Error> {
        let texels = TexelData::new(data);
        while (self.textures.len() as u64) < count {
            self.textures.push(self.gpu.create_texture_with(&self.texture_desc(), &[texels])?);
        }
        if self.what == What::TexturesAgain {
            for texture in &self.textures {
                self.gpu.upload_texture(texture, texture.info().region(0, 0), texels)?;
            }
        }
        Ok(())
    }

    fn in_place_bytes(&self) -> u64 {
        self.gpu.upload_stats().in_place_bytes - self.before
    }
}

fn measure<D: Device>(roads: &[Gpu<D>], what: What, size: u64, rounds: u32) -> Result<Line, Error> {
    let data = vec![7; usize::try_from(size).unwrap_or_default()];
    let mut roads: Vec<_> = roads.iter().map(|gpu| Frames::new(gpu, what, size)).collect();
    for round in 0..WARM_UP + rounds {
        for frames in &mut roads {
            frames.play(&data)?;
            if round + 1 == WARM_UP {
                frames.times.clear();
            }
        }
    }
    // Textures that stay are created in the first frame.
    let uploads = u64::from(WARM_UP + rounds) + u64::from(what == What::TexturesAgain);
    let bytes = FRAME / size * size * uploads;
    let share = roads[1].in_place_bytes() as f64 / bytes as f64;
    let staging = [roads[0].staging, roads[1].staging];
    let ms = |frames: &Frames<'_, D>| median_ns(frames.times.clone(), 1) / 1e6;
    let times = [ms(&roads[0]), ms(&roads[1])];
    for frames in roads {
        drop((frames.buffers, frames.textures));
        frames.gpu.purge()?;
        frames.gpu.trim();
    }
    let is_of_textures = what.is_of_textures();
    let has_target = size == 64 << 10 && !is_of_textures;
    Ok(Line { what: what.text(), is_of_textures, size, times, staging, share, has_target })
}
