//! The device, by its newest interface.

use windows::Win32::Graphics::Direct3D12::{ID3D12Device, ID3D12Device10, ID3D12Device12};

/// A device, by the newest relevant interface.
#[derive(Clone, Debug)]
pub enum ID3D12DeviceVersion {
    /// Legacy barriers only.
    Device(ID3D12Device),
    /// Enhanced barriers.
    Device10(ID3D12Device10),
    /// Enhanced barriers and castable formats.
    Device12(ID3D12Device12),
}

impl core::ops::Deref for ID3D12DeviceVersion {
    type Target = ID3D12Device;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Device(device) => device,
            Self::Device10(device) => device.into(),
            Self::Device12(device) => device.into(),
        }
    }
}
