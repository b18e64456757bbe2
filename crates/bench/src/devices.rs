//! Opening the devices of this machine.

use crate::Result;

/// The first device of Vulkan.
pub(crate) fn vulkan() -> Result<tenure_vulkan::Device> {
    Ok(tenure_vulkan::Device::create(&tenure_vulkan::DeviceConfig::default())?)
}

/// The first device of Direct3D 12.
#[cfg(windows)]
pub(crate) fn d3d12() -> Result<tenure_d3d12::Device> {
    Ok(tenure_d3d12::Device::create(&tenure_d3d12::DeviceConfig::default())?)
}

/// Always an error: Direct3D 12 needs Windows. The type of the device is only one that compiles here.
#[cfg(not(windows))]
pub(crate) fn d3d12() -> Result<tenure_vulkan::Device> {
    Err("Direct3D 12 is on Windows alone".into())
}
