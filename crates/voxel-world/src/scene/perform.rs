//! The whole run of an example, from its options to its picture.

use std::time::{Duration, Instant};

use tenure::device::Device;
use tenure::{Format, Gpu};

use super::{Painter, Show};
use crate::{Options, Picture, Result, Terrain, memory_table};

/// Loads the world, draws and edits it, writes the picture, prints how much memory it takes, and shuts the
/// manager down. `name` is the name of the example.
///
/// # Errors
/// The errors of tenure and the painter; [`PictureError`](crate::PictureError) if the picture has a defect; an
/// error if objects are alive after the shutdown.
pub fn perform<D: Device, P: Painter<D>>(
    name: &str,
    options: &Options,
    gpu: Gpu<D>,
    painter: impl FnOnce(&Show<D>) -> Result<P>,
) -> Result<()> {
    let mut show = load(gpu, options, Format::Rgba8Srgb)?;
    let mut painter = painter(&show)?;
    draw_frames(&mut show, &mut painter)?;
    let picture = show.picture()?;
    drop(painter);
    give_back(show)?;
    let path = options.picture_of(name);
    picture.write(&path)?;
    let (sky, contrast) = (picture.sky_percent(), picture.contrast());
    println!("the picture: {} ({sky:.1} % sky, contrast of the ground {contrast:.1})", path.display());
    picture.check()?;
    compare(&picture, options)
}

/// Prints the device, and loads the world.
pub(crate) fn load<D: Device>(gpu: Gpu<D>, options: &Options, format: Format) -> Result<Show<D>> {
    println!("{} ({})", gpu.device().properties().name, gpu.device().properties().backend);
    let start = Instant::now();
    let terrain = Terrain::new();
    println!("the landscape: {} chunks, in {}", terrain.chunks(), seconds(start.elapsed()));
    let start = Instant::now();
    let show = Show::load(gpu, terrain, options.size, format, options.cull || options.window)?;
    let frames = show.gpu.stats().frames;
    println!("their meshes: loaded over {frames} frames, in {}", seconds(start.elapsed()));
    Ok(show)
}

/// Prints the memory of the world, and shuts the manager down.
pub(crate) fn give_back<D: Device>(show: Show<D>) -> Result<()> {
    println!("\n{}", memory_table(&show.gpu.report()));
    let shutdown = show.finish();
    if !shutdown.is_clean() {
        let (leaks, lost) = (shutdown.leaks.len(), shutdown.lost.unwrap_or_default());
        return Err(format!("not everything was released: {leaks} leaks; {lost}").into());
    }
    Ok(())
}

/// Compares the picture with the one that the options name.
pub(crate) fn compare(picture: &Picture, options: &Options) -> Result<()> {
    if let Some(other) = &options.compare {
        let percent = picture.compare(other)?;
        println!("{percent:.3} % of its pixels differ from {}", other.display());
    }
    Ok(())
}

fn draw_frames<D: Device>(show: &mut Show<D>, painter: &mut impl Painter<D>) -> Result<()> {
    for edit in 0..show.edits() {
        let start = Instant::now();
        let log = show.edit_and_draw(edit, painter)?;
        println!(
            "frame {}: {} draws, {} meshes rebuilt, {:.1} KiB dropped that the GPU may still use, in {}",
            show.gpu.stats().frames,
            log.draws,
            log.remeshed,
            log.waiting_bytes as f64 / 1024.0,
            seconds(start.elapsed()),
        );
    }
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
