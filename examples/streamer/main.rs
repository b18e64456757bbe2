//! A world twenty times as large as its memory: 5,000 textures and 20,000 meshes, 10 GiB in total, are streamed
//! through 512 MiB while a camera moves through them.
//!
//! The program's own rule is [`Streamer::stream`]: the nearest objects are loaded, and the farthest are dropped
//! when there is no room. Each frame reads back some texels and vertices of loaded objects, which are compared
//! with the uploaded bytes. An error ends the program: a wrong byte, a frame that exceeds the budget, and, on
//! the simulated device, a hazard or a leak.
//!
//! `cargo run --release --example streamer -- --device sim` (or `vulkan`)

mod content;
mod options;
mod pick;
mod sim;
mod streamer;
#[cfg(test)]
mod tests;
mod vulkan;
mod world;

use std::process::ExitCode;
use std::time::Instant;

use options::{DeviceKind, Options};
use streamer::Streamer;
use tenure::Gpu;
use tenure::device::Device;
use voxel_world::Result;

/// Bytes that the program may use of the memory that is local to the GPU.
const BUDGET: u64 = 512 << 20;

/// Flies through the world and prints the statistics.
fn fly<D: Device>(options: &Options, gpu: Gpu<D>) -> Result<()> {
    let properties = gpu.device().properties();
    println!("{} ({})", properties.name, properties.backend);
    let start = Instant::now();
    let mut streamer = Streamer::new(gpu)?;
    println!("{}", streamer.world());
    for number in 0..options.frames {
        streamer.frame(number)?;
    }
    streamer.finish(start)
}

fn run(options: &Options) -> Result<()> {
    match options.device {
        DeviceKind::Sim => sim::run(options),
        DeviceKind::Vulkan => vulkan::run(options),
    }
}

fn main() -> ExitCode {
    voxel_world::exit_code(run(&clap::Parser::parse()))
}
