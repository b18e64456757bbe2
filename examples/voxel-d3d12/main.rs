//! The voxel world on Direct3D 12: 20,000 meshes in tenure's memory, drawn off-screen or in a window while some
//! are re-meshed, with the debug layer if installed.
//!
//! `cargo run --release --example voxel-d3d12`; with a camera that flies: `… -- --window`

#[cfg(windows)]
mod bytecode;
#[cfg(windows)]
mod descriptors;
#[cfg(windows)]
mod example;
#[cfg(windows)]
mod painter;
#[cfg(windows)]
mod pipeline;
#[cfg(windows)]
mod root;

use std::process::ExitCode;

#[cfg(windows)]
fn main() -> ExitCode {
    voxel_world::exit_code(example::run())
}

#[cfg(not(windows))]
fn main() -> ExitCode {
    eprintln!(
        "Direct3D 12 needs Windows, or on Linux the device lab as cargo's runner for\n\
         --target x86_64-pc-windows-gnu: see lab/README.md."
    );
    ExitCode::FAILURE
}
