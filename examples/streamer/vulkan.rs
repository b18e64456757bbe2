//! Vulkan, with the validation layers on request. The driver's budget is not known in advance, so the program
//! sets a cap.

use tenure::Gpu;
use tenure::device::prelude::*;
use tenure::vulkan::{Device, DeviceConfig, Severity, Validation};
use voxel_world::{Messages, Result};

use crate::options::Options;
use crate::{BUDGET, fly};

fn capped(device: Device) -> Result<Gpu<Device>> {
    let gpu = Gpu::new(device, Options::config())?;
    let heaps = gpu.device().properties().memory_heaps.iter().enumerate();
    let local: Vec<usize> = heaps.filter(|(_, heap)| heap.device_local).map(|(index, _)| index).collect();
    local.into_iter().try_for_each(|heap| gpu.set_memory_cap(heap, Some(BUDGET)))?;
    Ok(gpu)
}

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
    let flown = fly(options, capped(device)?);
    flown.and(messages.check())
}
