//! Direct3D 12, with the debug layer on request.

use tenure::Gpu;
use tenure::d3d12::{Device, DeviceConfig, Message, Severity};
use voxel_world::{Messages, Result};

use crate::measure;
use crate::options::Options;

pub(crate) fn run(options: &Options) -> Result<()> {
    let messages = Messages::default();
    let heard = messages.clone();
    let sink = move |message: &Message| {
        if message.severity >= Severity::Warning {
            heard.push(message.to_string());
        }
    };
    let validation = options.validate;
    let device = DeviceConfig::default().validation(validation).on_message(sink);
    let device = Device::create(&device)?;
    let ran = measure::run(options, Gpu::new(device.clone(), Options::config())?);
    device.deliver_messages();
    ran.and(messages.check())
}
