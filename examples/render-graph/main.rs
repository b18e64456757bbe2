//! The frame of a deferred renderer as a render graph: 85 passes on three queues share the memory of 85
//! textures and buffers.
//!
//! The frame runs off-screen, with copies in place of shaders: the bytes that each pass reads are read back and
//! compared with the last write. Then the same frame runs with empty passes, as fast as possible. The output
//! shows the memory without sharing, with sharing between equal descriptions, with resources acquired pass by
//! pass, and as planned; the time to execute a frame; and the number of API objects created after the first
//! frames. `--svg` draws the plan.
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
