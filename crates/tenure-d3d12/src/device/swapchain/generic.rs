//! The swap chain in code for all backends.

use tenure_core::{Error, Format, PresentMode, SwapchainImage, present};

use super::Swapchain;
use crate::device::Device;

impl present::Swapchain for Swapchain {
    type Device = Device;

    fn acquire(&mut self) -> Result<Option<SwapchainImage<Device>>, Error> {
        Self::acquire(self)
    }

    fn present(&mut self, image: SwapchainImage<Device>) -> Result<(), Error> {
        Self::present(self, image)
    }

    fn resize(&mut self, size: [u32; 2]) -> Result<(), Error> {
        Self::resize(self, size)
    }

    fn is_outdated(&self) -> bool {
        Self::is_outdated(self)
    }

    fn extent(&self) -> [u32; 2] {
        Self::extent(self)
    }

    fn format(&self) -> Format {
        Self::format(self)
    }

    fn mode(&self) -> PresentMode {
        Self::mode(self)
    }

    fn images(&self) -> u32 {
        Self::images(self)
    }
}
