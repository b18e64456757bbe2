//! Direct uploads by the CPU, compared with staged uploads.
//!
//! A frame uploads 20 MB and waits until the GPU can read them, so that the copy is included. Frames of both
//! kinds take turns; the result is the median of each.

use std::time::Duration;

use tenure_core::device::prelude::*;
use tenure_core::memory::PoolKind;
use tenure_core::memory::in_place::writable_types;
use tenure_core::{
    Buffer, BufferDesc, Config, Error, Format, Gpu, InPlaceConfig, TexelData, Texture, TextureDesc, Usage,
};
use tenure_vulkan::Device;

use crate::table::{mib, table};
use crate::timing::{median_ns, try_time};
use crate::{Result, devices};

/// The arguments.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Frames of each kind; the result is their median.
    #[arg(long, default_value_t = 101, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Write over the bus for all sizes, on a discrete card.
    #[arg(long)]
    pub over_bus: bool,
}

/// Bytes that a frame uploads.
const FRAME: u64 = 20_000_000;
/// Warm-up frames for staging memory and pools.
const WARM_UP: u32 = 5;
/// Target: direct time divided by staged time, at most, for buffers of 64 KiB.
const TARGET: f64 = 0.5;
const TIMEOUT: Duration = Duration::from_secs(10);

/// The work of a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
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

const WHATS: [(What, &str); 5] = [
    (What::InitialData, "initial data"),
    (What::Creation, "creation with initial data"),
    (What::Again, "later uploads, the GPU idle"),
    (What::Textures, "creation of textures with texels"),
    (What::TexturesAgain, "later uploads to textures, the GPU idle"),
];

impl What {
    const fn is_of_textures(self) -> bool {
        matches!(self, Self::Textures | Self::TexturesAgain)
    }
}

const SIZES: [u64; 4] = [4 << 10, 64 << 10, 1 << 20, 4 << 20];

/// Runs the measurements and prints them.
///
/// # Errors
/// Those of the first device of Vulkan, and targets that are missed.
pub fn run(args: &Args) -> Result {
    let mut in_place = InPlaceConfig::default();
    if args.over_bus {
        in_place.max_over_bus = 4 << 30;
    }
    let staged = InPlaceConfig::default().initial_data(false).uploads(false);
    let open =
        |config: InPlaceConfig| -> Result<_> { Ok(Gpu::new(devices::vulkan()?, Config::from(config))?) };
    let roads = [open(staged)?, open(in_place)?];
    let properties = roads[0].device().properties();
    let is_reached = writable_types(properties) != 0;
    let (mut rows, mut missed) = (Vec::new(), None);
    for (what, text) in WHATS {
        for size in SIZES {
            let (ratio, staging, row) = measure(&roads, what, size, args.rounds)?;
            let has_target = size == 64 << 10 && !what.is_of_textures() && is_reached;
            if has_target && (ratio > TARGET || staging > 0) && missed.is_none() {
                missed = Some(format!("{text}: {ratio:.2} of the staged time"));
            }
            rows.push(format!("{text} | {row}"));
        }
    }
    let header = "20 MB a frame | each of (KiB) | staged (ms) | in place (ms) | of staged | staging memory (MiB) | \
                  in place (MiB) | written in place";
    println!("{}\n{}", properties.name, table(header, rows));
    missed.map_or(Ok(()), |missed| Err(missed.into()))
}

/// Frames of one kind.
struct Frames<'a> {
    gpu: &'a Gpu<Device>,
    what: What,
    size: u64,
    buffers: Vec<Buffer<Device>>,
    textures: Vec<Texture<Device>>,
    times: Vec<Duration>,
    /// Peak of staging memory in bytes.
    staging: u64,
    /// Bytes written in place before.
    before: u64,
}

impl<'a> Frames<'a> {
    fn new(gpu: &'a Gpu<Device>, what: What, size: u64) -> Self {
        let (buffers, textures, times) = (Vec::new(), Vec::new(), Vec::new());
        let before = gpu.upload_stats().in_place_bytes;
        Self { gpu, what, size, buffers, textures, times, staging: 0, before }
    }

    fn play(&mut self, data: &[u8]) -> Result<(), Error> {
        let desc = BufferDesc::new(self.size, Usage::VERTEX).filled().name("mesh");
        let frame = self.gpu.begin_frame()?;
        if !matches!(self.what, What::Again | What::TexturesAgain) {
            self.buffers.clear();
            self.textures.clear();
            self.gpu.reclaim()?;
        }
        if matches!(self.what, What::InitialData | What::Again) {
            while (self.buffers.len() as u64) < FRAME / self.size {
                self.buffers.push(self.gpu.create_buffer(&desc)?);
            }
        }
        let taken = try_time(|| self.upload(&desc, data))?;
        self.times.push(taken);
        let pools = self.gpu.stats().pools;
        let staging =
            pools.iter().filter(|pool| pool.kind == PoolKind::UploadPages).map(|pool| pool.reserved);
        self.staging = self.staging.max(staging.sum());
        // As commands would use them.
        self.buffers.iter().for_each(|buffer| _ = buffer.offset());
        self.textures.iter().for_each(|texture| _ = texture.raw());
        frame.end()
    }

    fn upload(&mut self, desc: &BufferDesc, data: &[u8]) -> Result<(), Error> {
        let (gpu, count) = (self.gpu, FRAME / self.size);
        let texels = TexelData::new(data);
        if self.what.is_of_textures() {
            // A square of texels of 4 bytes.
            let side = (self.size / 4).isqrt() as u32;
            let desc = TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::SHADER_READ).name("picture");
            while (self.textures.len() as u64) < count {
                self.textures.push(gpu.create_texture_with(&desc, &[texels])?);
            }
            let mut again = self.textures.iter().filter(|_| self.what == What::TexturesAgain);
            again.try_for_each(|it| gpu.upload_texture(it, it.info().region(0, 0), texels).map(drop))?;
        } else if self.what == What::Creation {
            for _ in 0..count {
                self.buffers.push(gpu.create_buffer_with(desc, data)?);
            }
        } else {
            self.buffers.iter().try_for_each(|buffer| gpu.upload(buffer, 0, data).map(drop))?;
        }
        let point = gpu.flush_uploads()?;
        gpu.wait(&point, TIMEOUT).map(drop)
    }
}

/// Direct time divided by staged time, the staging memory of direct uploads, and a row of the table.
fn measure(
    roads: &[Gpu<Device>; 2],
    what: What,
    size: u64,
    rounds: u32,
) -> Result<(f64, u64, String), Error> {
    let data = vec![7; usize::try_from(size).unwrap_or_default()];
    let mut roads = roads.each_ref().map(|gpu| Frames::new(gpu, what, size));
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
    let in_place_bytes = roads[1].gpu.upload_stats().in_place_bytes - roads[1].before;
    let share = in_place_bytes as f64 / (FRAME / size * size * uploads) as f64 * 100.0;
    let [staged, in_place] = roads.each_ref().map(|frames| median_ns(frames.times.clone(), 1) / 1e6);
    let staging = roads.each_ref().map(|frames| frames.staging);
    let in_place_staging = staging[1];
    for frames in roads {
        drop((frames.buffers, frames.textures));
        frames.gpu.reclaim()?;
        frames.gpu.trim();
    }
    let ratio = in_place / staged;
    let ([staging, staging_in_place], size) = (staging.map(mib), size >> 10);
    let row = format!(
        "{size} | {staged:.2} | {in_place:.2} | {ratio:.2} | {staging} | {staging_in_place} | {share:.0} %"
    );
    Ok((ratio, in_place_staging, row))
}
