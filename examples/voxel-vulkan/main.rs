//! The voxel world on Vulkan: 20,000 meshes in tenure's memory, drawn off-screen or in a window while some are
//! re-meshed, with the validation layers if installed.
//!
//! `cargo run --release --example voxel-vulkan`; with a camera that flies: `… -- --window`

mod bindings;
mod painter;
mod pipeline;
mod target;

use std::process::ExitCode;

use painter::VulkanPainter;
use tenure::Gpu;
use tenure::vulkan::{CreateError, Device, DeviceConfig, Severity, Swapchain, Validation};
use voxel_world::{Messages, OpenSwapchain, Result};

/// Creates a device; true if the validation layers are active.
fn create_device(messages: &Messages, has_window: bool) -> Result<(Device, bool)> {
    let messages = messages.clone();
    let options = DeviceConfig::default().presentation(has_window).on_message(move |message| {
        if message.severity >= Severity::Warning {
            messages.push(message.to_string());
        }
    });
    match Device::create(&options.clone().validation(Validation::SYNCHRONIZATION)) {
        Ok(device) => Ok((device, true)),
        Err(CreateError::NoLayer { .. }) => Ok((Device::create(&options)?, false)),
        Err(error) => Err(error.into()),
    }
}

fn run() -> Result<()> {
    let options = voxel_world::Options::from_command_line();
    let messages = Messages::default();
    let (device, is_validated) = create_device(&messages, options.window)?;
    println!("validation layers: {}", if is_validated { "on" } else { "not installed" });
    let gpu = Gpu::new(device, options.config())?;
    let performed = if options.window {
        let open: OpenSwapchain<Swapchain> =
            |gpu, window, desc| Ok(Swapchain::for_window(gpu, window.clone(), desc)?);
        voxel_world::perform_in_window(&options, gpu, open, VulkanPainter::new)
    } else {
        voxel_world::perform("voxel-vulkan", &options, gpu, VulkanPainter::new)
    };
    // The device is destroyed: there are no more messages.
    let said = messages.check();
    performed.and(said)
}

fn main() -> ExitCode {
    voxel_world::exit_code(run())
}
