//! From the device to the picture.

use std::sync::Arc;

use tenure::Gpu;
use tenure::d3d12::{Device, LiveObjects, Options, Severity};
use voxel_world::{Messages, Result};

use crate::painter::Direct3dPainter;
use crate::screen::Direct3dScreen;

pub(crate) fn run() -> Result<()> {
    let options = voxel_world::Options::from_command_line();
    let messages = Messages::default();
    let device = create_device(&messages)?;
    println!("debug layer: {}", if device.is_validated() { "on" } else { "not installed" });
    let gpu = Gpu::new(device.clone(), options.config())?;
    let performed = if options.window {
        voxel_world::perform_in_window::<_, _, Direct3dScreen>(&options, gpu, Direct3dPainter::new)
    } else {
        voxel_world::perform("voxel-d3d12", &options, gpu, Direct3dPainter::new)
    };
    device.deliver_messages();
    let said = messages.check();
    performed.and(said)?;
    let live = device.live_objects();
    if live == LiveObjects::default() { Ok(()) } else { Err(format!("not released: {live:?}").into()) }
}

/// A device of our own making, watched by the debug layer if that is installed.
fn create_device(messages: &Messages) -> Result<Device> {
    let messages = messages.clone();
    let sink = move |message: &tenure::d3d12::Message| {
        if message.severity >= Severity::Warning {
            messages.push(format!("{:?} {}: {}", message.severity, message.id, message.text));
        }
    };
    let options = Options { validation: true, messages: Some(Arc::new(sink)), ..Options::default() };
    Ok(Device::create(&options)?)
}
