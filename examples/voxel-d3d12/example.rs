//! From the device to the picture.

use tenure::Gpu;
use tenure::d3d12::{Device, DeviceConfig, LiveObjects, Severity, Swapchain};
use voxel_world::{Messages, OpenSwapchain, Result};
use windows::Win32::Foundation::HWND;
use winit::raw_window_handle::{HasWindowHandle as _, RawWindowHandle};

use crate::painter::Direct3dPainter;

pub(crate) fn run() -> Result<()> {
    let options = voxel_world::Options::from_command_line();
    let messages = Messages::default();
    let device = create_device(&messages)?;
    println!("debug layer: {}", if device.is_validated() { "on" } else { "not installed" });
    let gpu = Gpu::new(device.clone(), options.config())?;
    let performed = if options.window {
        let open: OpenSwapchain<Swapchain> = |gpu, window, desc| {
            let RawWindowHandle::Win32(handle) = window.window_handle()?.as_raw() else {
                return Err("a window of another system".into());
            };
            Ok(Swapchain::new(gpu, HWND(handle.hwnd.get() as *mut _), desc)?)
        };
        voxel_world::perform_in_window(&options, gpu, open, Direct3dPainter::new)
    } else {
        voxel_world::perform("voxel-d3d12", &options, gpu, Direct3dPainter::new)
    };
    device.deliver_messages();
    let said = messages.check();
    performed.and(said)?;
    let live = device.live_objects();
    if live == LiveObjects::default() { Ok(()) } else { Err(format!("not released: {live:?}").into()) }
}

/// Creates a device, with the debug layer if installed.
fn create_device(messages: &Messages) -> Result<Device> {
    let messages = messages.clone();
    let sink = move |message: &tenure::d3d12::Message| {
        if message.severity >= Severity::Warning {
            messages.push(message.to_string());
        }
    };
    let options = DeviceConfig::default().validation(true).on_message(sink);
    Ok(Device::create(&options)?)
}
