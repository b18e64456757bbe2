//! A frame without a frame graph: four threads record 2,000 draws with constants and 200 dynamic descriptor
//! tables, upload 20 MB and read the result back, a thousand times.
//!
//! Every draw writes the values that it read from its constants and through its table, and each frame's
//! readback is compared with the expected values. The output shows the time of a frame spent in tenure (and the
//! driver below it), the waits, the memory, and the number of API objects created after the first frames.
//!
//! `cargo run --release --example frame -- --device sim` (or `vulkan`, or `d3d12` on Windows)

#[cfg(windows)]
#[path = "../voxel-d3d12/bytecode.rs"]
mod bytecode;
#[cfg(windows)]
mod d3d12;
mod load;
mod meter;
mod options;
mod painter;
mod scene;
mod sim;
mod vulkan;

use std::process::ExitCode;

use options::{DeviceKind, Options};
use voxel_world::Result;

fn run(options: &Options) -> Result<()> {
    match options.device {
        DeviceKind::Sim => sim::run(options),
        DeviceKind::Vulkan => vulkan::run(options),
        #[cfg(windows)]
        DeviceKind::D3d12 => d3d12::run(options),
        #[cfg(not(windows))]
        DeviceKind::D3d12 => Err("Direct3D 12 is on Windows only".into()),
    }
}

fn main() -> ExitCode {
    voxel_world::exit_code(run(&clap::Parser::parse()))
}
