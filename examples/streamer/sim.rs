//! The simulated device, with all checks and a budget of 512 MiB.

use tenure::Gpu;
use tenure::sim::{Device, DeviceConfig, Profile};
use voxel_world::Result;

use crate::options::Options;
use crate::{BUDGET, fly};

pub(crate) fn run(options: &Options) -> Result<()> {
    let device = Device::with_config(DeviceConfig::new(Profile::DISCRETE).budgets([BUDGET]));
    fly(options, Gpu::new(device.clone(), Options::config())?)?;
    device.check_clean()?;
    println!("no hazards, no leaks");
    Ok(())
}
