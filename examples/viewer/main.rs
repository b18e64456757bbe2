//! The usual renderer, on both APIs: a lit scene with shadows in a window, or off screen.
//!
//! A thread loads meshes from a glTF file, and makes textures with their mips, while frames are drawn already. Each frame
//! is a render graph: shadows, the scene with four samples per pixel in 16-bit floats, and tone mapping to the screen.
//!
//! `renderer.rs` has the frame, `loader.rs` the loading thread, and `screen.rs` the target and the window: all of them for
//! any device. `vulkan.rs` and `d3d12.rs` have the pipelines and the draw calls.
//!
//! `cargo run --release --example viewer -- --device vulkan` (or `d3d12` on Windows); off screen:
//! `… -- --device vulkan --headless --picture target/viewer.png`.

#[cfg(windows)]
#[path = "../voxel-d3d12/bytecode.rs"]
mod bytecode;
#[cfg(windows)]
mod d3d12;
mod loader;
mod renderer;
mod scene;
mod screen;
mod vulkan;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use clap::Parser as _;
use tenure::{Config, Gpu, config::FrameConfig};
use voxel_world::Result;

use renderer::{Backend, Renderer};

#[derive(Clone, Copy, clap::ValueEnum)]
enum DeviceKind {
    Vulkan,
    D3d12,
}

/// Draws a lit scene
#[derive(clap::Parser)]
struct Arguments {
    /// The device
    #[arg(long, value_enum)]
    device: DeviceKind,
    /// Draw off screen, without a window
    #[arg(long)]
    headless: bool,
    /// Number of frames; more until the scene is loaded [off screen: 1]
    #[arg(long)]
    frames: Option<u64>,
    /// Begin with a smaller window, and resize it before the last frame: a test
    #[arg(long, requires = "frames", conflicts_with = "headless")]
    resize: bool,
    /// Write the last frame to a PNG file
    #[arg(long, value_name = "PNG")]
    picture: Option<PathBuf>,
    /// Fail if more than 0.5 % of the last frame's pixels differ from this PNG by more than 8 of 255
    #[arg(long, value_name = "PNG")]
    compare: Option<PathBuf>,
}

/// Runs the viewer on a device, to a clean exit.
fn view<B: Backend>(arguments: &Arguments, device: B::Device) -> Result<()> {
    // A software device may take seconds for a frame.
    let timeout = Duration::from_secs(120);
    let frames = FrameConfig::default().timeout(timeout).shutdown_timeout(timeout);
    let gpu = Gpu::new(device, Config::from(frames))?;
    let backend = B::new(&gpu)?;
    let picture = thread::scope(|scope| {
        // The loading thread ends when it has sent everything, or when nobody receives it because the renderer is gone.
        let (sender, loading) = channel();
        let (gpu, backend) = (&gpu, &backend);
        scope.spawn(move || loader::load(gpu, backend, &sender));
        let draw = if arguments.headless { screen::off_screen } else { screen::in_window };
        draw(&mut Renderer::new(gpu, backend, loading), arguments)
    })?;
    drop(backend);
    let shutdown = gpu.shutdown();
    if !shutdown.is_clean() {
        return Err(format!("not everything was released: {shutdown:?}").into());
    }
    if let (Some(picture), Some(path)) = (&picture, &arguments.picture) {
        picture.write(path)?;
    }
    if let (Some(picture), Some(path)) = (&picture, &arguments.compare) {
        println!("{:.3} % of the pixels differ from {}", picture.compare(path)?, path.display());
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    voxel_world::exit_code(match arguments.device {
        DeviceKind::Vulkan => vulkan::run(&arguments),
        #[cfg(windows)]
        DeviceKind::D3d12 => d3d12::run(&arguments),
        #[cfg(not(windows))]
        DeviceKind::D3d12 => Err("Direct3D 12 needs Windows; lab/README.md says how Linux runs it".into()),
    })
}
