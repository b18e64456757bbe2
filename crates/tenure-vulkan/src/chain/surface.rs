//! Surfaces that outlive their swap chains.

use core::ffi::CStr;
use std::sync::Arc;

use ash::vk;
use raw_window_handle::{HandleError, HasDisplayHandle, HasWindowHandle, RawDisplayHandle};
use tenure_core::device::DeviceError;
use tenure_core::{Error, SwapchainDesc, SwapchainRule};

use super::Calls;
use crate::error::unsupported;
use crate::loaded::Loaded;
use crate::queue::Queues;

/// The API has no call for surfaces of such windows.
const NO_SUCH_WINDOW: DeviceError = unsupported("surfaces of windows of this kind");

/// A surface, which keeps its window alive.
pub(crate) struct Surface {
    handle: vk::SurfaceKHR,
    calls: ash::khr::surface::Instance,
    /// Declared before the window: drivers may use the window system's connection until the instance is
    /// destroyed.
    _instance: Arc<Loaded>,
    _window: Box<dyn Send + Sync>,
}

impl Surface {
    pub(crate) fn new<W>(
        queues: &Arc<Queues>,
        calls: &Calls,
        window: W,
        desc: &SwapchainDesc,
    ) -> Result<Self, Error>
    where
        W: HasDisplayHandle + HasWindowHandle + Send + Sync + 'static,
    {
        let device_error = |source| Error::Device { name: desc.name.clone(), source };
        let unavailable = |error| match error {
            HandleError::NotSupported => device_error(NO_SUCH_WINDOW),
            _ => Error::Swapchain { name: desc.name.clone(), rule: SwapchainRule::WindowLost },
        };
        let display = window.display_handle().map_err(unavailable)?.as_raw();
        let handle = window.window_handle().map_err(unavailable)?.as_raw();
        let api = &queues.api;
        let (entry, call) =
            api.entry.as_ref().zip(creation(display)).ok_or_else(|| device_error(NO_SUCH_WINDOW))?;
        // SAFETY: the instance is alive, and the name a valid string.
        if unsafe { entry.get_instance_proc_addr(api.instance.handle(), call.as_ptr()) }.is_none() {
            return Err(device_error(unsupported(
                "surfaces of this window system (an extension of the instance, with DeviceConfig::presentation)",
            )));
        }
        // SAFETY: both handles are valid while the window lives, which the surface keeps, and the instance has the
        // call.
        let made = unsafe { ash_window::create_surface(entry, &api.instance, display, handle, None) };
        let handle = made.map_err(|result| device_error(failed(queues, result)))?;
        let calls = calls.surface.clone();
        Ok(Self { handle, calls, _instance: queues.loaded().clone(), _window: Box::new(window) })
    }

    pub(crate) const fn handle(&self) -> vk::SurfaceKHR {
        self.handle
    }
}

fn failed(queues: &Queues, result: vk::Result) -> DeviceError {
    match result {
        vk::Result::ERROR_EXTENSION_NOT_PRESENT => NO_SUCH_WINDOW,
        result => queues.error("the creation of a surface", result),
    }
}

/// The call that creates a surface: `ash` aborts the program if it is missing.
const fn creation(display: RawDisplayHandle) -> Option<&'static CStr> {
    Some(match display {
        RawDisplayHandle::Windows(_) => c"vkCreateWin32SurfaceKHR",
        RawDisplayHandle::Wayland(_) => c"vkCreateWaylandSurfaceKHR",
        RawDisplayHandle::Xlib(_) => c"vkCreateXlibSurfaceKHR",
        RawDisplayHandle::Xcb(_) => c"vkCreateXcbSurfaceKHR",
        RawDisplayHandle::Android(_) => c"vkCreateAndroidSurfaceKHR",
        RawDisplayHandle::AppKit(_) | RawDisplayHandle::UiKit(_) => c"vkCreateMetalSurfaceEXT",
        _ => return None,
    })
}

impl Drop for Surface {
    fn drop(&mut self) {
        // SAFETY: every chain of it keeps it alive, so all are destroyed.
        unsafe { self.calls.destroy_surface(self.handle, None) };
    }
}
