//! Uploads: direct writes by the CPU, and staged copies.

use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::config::InPlaceConfig;
use tenure::resource::TexelData;
use tenure::{BufferDesc, Config, Format, Gpu, TextureDesc, Usage};

use super::examination::{Bounds, Opener};
use super::memory::nanoseconds;
use crate::examined::Failure;

/// The minimum number of repetitions; the first one creates blocks.
const REPETITIONS: u32 = 4;
/// A driver that takes longer than this for an upload has failed.
const LONGEST: Duration = Duration::from_secs(10);
/// Bytes of the largest upload.
const LARGEST: usize = 16 << 20;

/// The times of uploads with both methods.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Default, Serialize)]
pub(super) struct Uploads {
    pub(super) buffers: Comparison,
    pub(super) textures: Comparison,
}

/// The methods for one kind of resource.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Default, Serialize)]
pub(super) struct Comparison {
    pub(super) rows: Vec<Row>,
    /// The smallest size for which staging is faster; `null` if no measured size is.
    pub(super) staged_is_faster_from: Option<u64>,
}

/// The time to create one resource with contents, until the GPU has finished.
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[derive(Debug, Serialize)]
pub(super) struct Row {
    pub(super) bytes: u64,
    /// With direct writes if the device supports them.
    pub(super) direct_nanoseconds: u64,
    pub(super) staged_nanoseconds: u64,
    /// Whether bytes were written directly, so that the two times are of different methods.
    pub(super) is_direct: bool,
}

impl Comparison {
    fn conclude(&mut self) {
        let slower = |row: &Row| row.direct_nanoseconds <= row.staged_nanoseconds;
        let first = self.rows.iter().rposition(slower).map_or(0, |last| last + 1);
        self.staged_is_faster_from = self.rows.get(first).filter(|row| row.is_direct).map(|row| row.bytes);
    }
}

fn config(is_direct: bool) -> Config {
    let in_place = InPlaceConfig::default().initial_data(is_direct).uploads(is_direct);
    in_place.max_over_bus(LARGEST as u64).into()
}

/// The shortest time of several repetitions.
fn shortest(bounds: &Bounds, mut create: impl FnMut() -> Result<(), Failure>) -> Result<u64, Failure> {
    let end = bounds.within(bounds.measured / 2);
    let (mut best, mut done) = (u64::MAX, 0);
    while done < REPETITIONS || !end.is_over() {
        let begun = Instant::now();
        create()?;
        best = best.min(nanoseconds(begun.elapsed()));
        done += 1;
        if bounds.is_over() {
            break;
        }
    }
    Ok(best)
}

/// The times by size, and whether bytes were written directly.
type Measured = Vec<(u64, u64, bool)>;

/// Creates resources of growing sizes. `create` receives the index of the size and the bytes.
fn measured<P: Opener>(
    opener: &P,
    bounds: &Bounds,
    sizes: &[usize],
    is_direct: bool,
    create: impl Fn(&Gpu<P::Device>, usize, &[u8]) -> Result<(), Failure>,
) -> Result<Measured, Failure> {
    let gpu = Gpu::new(opener.open()?, config(is_direct))?;
    let bytes = vec![0x5a; LARGEST];
    let mut times = Vec::new();
    for (number, size) in sizes.iter().enumerate() {
        if bounds.is_over() {
            break;
        }
        let Some(bytes) = bytes.get(..*size) else { break };
        let before = gpu.upload_stats();
        let time = shortest(bounds, || {
            create(&gpu, number, bytes)?;
            let point = gpu.flush_uploads()?;
            if !gpu.wait(&point, LONGEST)? {
                return Err(Failure::Failed(format!("an upload took longer than {} s", LONGEST.as_secs())));
            }
            gpu.reclaim().map_err(Failure::from)
        })?;
        let is_direct = gpu.upload_stats().in_place_bytes > before.in_place_bytes;
        times.push((*size as u64, time, is_direct));
    }
    Ok(times)
}

fn compare<P: Opener>(
    opener: &P,
    bounds: &Bounds,
    sizes: &[usize],
    found: &mut Comparison,
    create: impl Fn(&Gpu<P::Device>, usize, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let half = bounds.within(bounds.left() / 2);
    let direct = measured(opener, &half, sizes, true, &create)?;
    let staged = measured(opener, bounds, sizes, false, &create)?;
    let rows = direct.into_iter().zip(staged);
    found.rows = rows
        .map(|((bytes, direct_nanoseconds, is_direct), (_, staged_nanoseconds, _))| Row {
            bytes,
            direct_nanoseconds,
            staged_nanoseconds,
            is_direct,
        })
        .collect();
    found.conclude();
    if found.rows.len() < sizes.len() { Err(Failure::out_of_time()) } else { Ok(()) }
}

pub(super) fn examine<P: Opener>(opener: &P, bounds: &Bounds, found: &mut Uploads) -> Result<(), Failure> {
    const SIDES: [u32; 5] = [16, 64, 256, 1024, 2048];
    let sizes: Vec<_> = (8..=24).step_by(4).map(|bits| 1_usize << bits).collect();
    let half = bounds.within(bounds.left() / 2);
    let buffers = compare(opener, &half, &sizes, &mut found.buffers, |gpu, _, bytes| {
        let desc = BufferDesc::new(bytes.len() as u64, Usage::VERTEX | Usage::COPY_DST).name("upload");
        gpu.create_buffer_with(&desc, bytes).map(drop).map_err(Failure::from)
    });
    if let Err(Failure::Failed(_)) = buffers {
        return buffers;
    }
    let texels: Vec<_> = SIDES.iter().map(|side| (side * side * 4) as usize).collect();
    compare(opener, bounds, &texels, &mut found.textures, |gpu, number, bytes| {
        let side = SIDES.get(number).copied().unwrap_or(1);
        let desc = TextureDesc::d2(side, side, Format::Rgba8Unorm, Usage::SHADER_READ | Usage::COPY_DST)
            .name("upload");
        gpu.create_texture_with(&desc, &[TexelData::new(bytes)]).map(drop).map_err(Failure::from)
    })?;
    buffers
}
