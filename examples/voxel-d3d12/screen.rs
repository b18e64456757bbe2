//! The swap chain of a window.

use std::sync::Arc;

use tenure::d3d12::{Device, Swapchain};
use tenure::present::SwapchainImage;
use tenure::{Gpu, SwapchainDesc};
use voxel_world::{Result, Screen};
use windows::Win32::Foundation::HWND;
use winit::raw_window_handle::{HasWindowHandle as _, RawWindowHandle};
use winit::window::Window;

/// A swap chain.
pub(crate) struct Direct3dScreen(Swapchain);

impl Screen<Device> for Direct3dScreen {
    fn new(gpu: &Gpu<Device>, window: &Arc<Window>, desc: &SwapchainDesc) -> Result<Self> {
        let RawWindowHandle::Win32(handle) = window.window_handle()?.as_raw() else {
            return Err("a window of another system".into());
        };
        Ok(Self(Swapchain::new(gpu, HWND(handle.hwnd.get() as *mut _), desc)?))
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
