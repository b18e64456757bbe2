//! The simulated device, with all checks.

use tenure::Gpu;
use tenure::sim::{Device, Profile};
use voxel_world::Result;

use crate::measure;
use crate::options::Options;

pub(crate) fn run(options: &Options) -> Result<()> {
    let device = Device::new(Profile::DISCRETE);
    measure::run(options, Gpu::new(device.clone(), Options::config())?)?;
    Ok(device.check_clean()?)
}
