//! The swap chain of a window.

use std::sync::Arc;

use tenure::present::SwapchainImage;
use tenure::vulkan::{Device, Swapchain};
use tenure::{Gpu, SwapchainDesc};
use voxel_world::{Result, Screen};
use winit::window::Window;

/// A swap chain, which keeps its window.
pub(crate) struct VulkanScreen(Swapchain);

impl Screen<Device> for VulkanScreen {
    fn new(gpu: &Gpu<Device>, window: &Arc<Window>, desc: &SwapchainDesc) -> Result<Self> {
        Ok(Self(Swapchain::for_window(gpu, window.clone(), desc)?))
    }

    fn resize(&mut self, size: [u32; 2]) -> Result<()> {
        Ok(self.0.resize(size)?)
    }

    fn extent(&self) -> [u32; 2] {
        self.0.extent()
    }

    fn acquire(&mut self) -> Result<Option<SwapchainImage<Device>>> {
        Ok(self.0.acquire()?)
    }

    fn present(&mut self, image: SwapchainImage<Device>) -> Result<()> {
        Ok(self.0.present(image)?)
    }
}
