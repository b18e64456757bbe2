//! The frame of a deferred renderer as a render graph: 85 passes on three queues share the memory of 85
//! textures and buffers.
//!
//! The frame runs off-screen, with copies in place of shaders: what each pass reads comes back and is
//! compared with what was written last. Then the same frame, with nothing to do for its passes, is run
//! as fast as it goes. Printed are the memory that it takes if nothing shares, if equal descriptions
//! share, if resources are acquired pass by pass, and as planned; the time that executing a frame takes;
//! and how many API objects were created once the first frames were over. `--svg` draws the plan.
//!
//! `cargo run --release --example render-graph -- --device sim` (or `vulkan`, or `d3d12` on Windows)

#[cfg(windows)]
mod d3d12;
mod measure;
mod options;
mod picture;
mod pool;
mod sim;
mod table;
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
