//! Opening the devices of this machine.

/// The first device of Vulkan.
pub(crate) fn vulkan() -> Result<tenure_vulkan::Device, String> {
    tenure_vulkan::Device::create(&tenure_vulkan::Options::default()).map_err(|error| error.to_string())
}

/// The first device of Direct3D 12.
#[cfg(windows)]
pub(crate) fn d3d12() -> Result<tenure_d3d12::Device, String> {
    tenure_d3d12::Device::create(&tenure_d3d12::Options::default()).map_err(|error| error.to_string())
}

/// There is none: a device of any type stands in.
#[cfg(not(windows))]
pub(crate) fn d3d12() -> Result<tenure_vulkan::Device, String> {
    Err("Direct3D 12 is on Windows alone".to_owned())
}
