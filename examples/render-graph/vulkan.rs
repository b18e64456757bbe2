//! Vulkan, with the validation layers on request.

use tenure::Gpu;
use tenure::vulkan::{Device, DeviceConfig, Severity, Validation};
use voxel_world::{Messages, Result};

use crate::measure;
use crate::options::Options;

pub(crate) fn run(options: &Options) -> Result<()> {
    let messages = Messages::default();
    let heard = messages.clone();
    let device = DeviceConfig::default().on_message(move |message| {
        if message.severity >= Severity::Warning {
            heard.push(message.to_string());
        }
    });
    let validation = if options.validate { Validation::SYNCHRONIZATION } else { Validation::default() };
    let device = Device::create(&device.validation(validation))?;
    let ran = measure::run(options, Gpu::new(device, Options::config())?);
    ran.and(messages.check())
}
