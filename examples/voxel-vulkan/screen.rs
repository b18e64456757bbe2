//! The swap chain of a window.

use tenure::present::SwapchainImage;
use tenure::vulkan::ash::vk;
use tenure::vulkan::{Device, Owned, Swapchain};
use tenure::{Gpu, SwapchainDesc};
use voxel_world::{Result, Screen};
use winit::raw_window_handle::{HasDisplayHandle as _, HasWindowHandle as _};
use winit::window::Window;

/// A swap chain and its surface. Fields are dropped in this order.
pub(crate) struct VulkanScreen {
    swapchain: Swapchain,
    _surface: Owned<vk::SurfaceKHR>,
}

impl Screen<Device> for VulkanScreen {
    fn new(gpu: &Gpu<Device>, window: &Window, desc: &SwapchainDesc) -> Result<Self> {
        let (display, handle) = (window.display_handle()?.as_raw(), window.window_handle()?.as_raw());
        let (device, vk) = (gpu.device(), gpu.device().instance());
        let entry = device.entry().ok_or("a device of our own has its loader")?;
        // SAFETY: the window outlives the surface, and nothing else destroys it.
        let surface = unsafe { device.own(ash_window::create_surface(entry, vk, display, handle, None)?) };
        // SAFETY: the surface outlives the swap chain and its images.
        let swapchain = unsafe { Swapchain::new(gpu, *surface, desc) }?;
        Ok(Self { swapchain, _surface: surface })
    }

    fn resize(&mut self, size: [u32; 2]) -> Result<()> {
        Ok(self.swapchain.resize(size)?)
    }

    fn extent(&self) -> [u32; 2] {
        self.swapchain.extent()
    }

    fn acquire(&mut self) -> Result<Option<SwapchainImage<Device>>> {
        Ok(self.swapchain.acquire()?)
    }

    fn present(&mut self, image: SwapchainImage<Device>) -> Result<()> {
        Ok(self.swapchain.present(image)?)
    }
}
