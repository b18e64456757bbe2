//! The simulated device, with all checks and a budget of 512 MiB.

use tenure::Gpu;
use tenure::sim::{Device, Options as DeviceOptions, Profile};
use voxel_world::Result;

use crate::options::Options;
use crate::{BUDGET, fly};

pub(crate) fn run(options: &Options) -> Result<()> {
    let device = Device::with_options(DeviceOptions::new(Profile::DISCRETE).budgets([BUDGET]));
    fly(options, Gpu::new(device.clone(), Options::config())?)?;
    device.check_clean()?;
    println!("no hazards, no leaks");
    Ok(())
}
