//! The functions of surfaces and swap chains.

use ash::vk;
use tenure_core::device::DeviceError;

use crate::error::unsupported;
use crate::queue::Queues;

/// The functions of swap chains. All are loaded.
pub(crate) struct Calls {
    pub(crate) surface: ash::khr::surface::Instance,
    pub(crate) swapchain: ash::khr::swapchain::Device,
    /// `None` without the extension.
    pub(crate) hdr: Option<ash::ext::hdr_metadata::Device>,
    /// The surface, if it is destroyed with the last chain. Each chain shares these calls.
    #[cfg(feature = "window")]
    pub(crate) owned: Option<super::surface::Surface>,
}

impl Calls {
    /// Loads the functions. `ash` aborts the program if a missing function is called, so each is looked up first.
    pub(crate) fn new(queues: &Queues) -> Result<Self, DeviceError> {
        let api = &queues.api;
        let Some(entry) = &api.entry else {
            return Err(unsupported(
                "surfaces: a wrapped device comes with its loader for that (Raw::entry)",
            ));
        };
        let surface_calls = [
            c"vkGetPhysicalDeviceSurfaceSupportKHR",
            c"vkGetPhysicalDeviceSurfaceCapabilitiesKHR",
            c"vkGetPhysicalDeviceSurfaceFormatsKHR",
            c"vkGetPhysicalDeviceSurfacePresentModesKHR",
        ];
        let swapchain_calls = [
            c"vkCreateSwapchainKHR",
            c"vkDestroySwapchainKHR",
            c"vkGetSwapchainImagesKHR",
            c"vkAcquireNextImageKHR",
            c"vkQueuePresentKHR",
        ];
        // SAFETY: the instance is alive, and the names are valid strings.
        let has_surface = |name: &&core::ffi::CStr| unsafe {
            entry.get_instance_proc_addr(api.instance.handle(), name.as_ptr()).is_some()
        };
        // SAFETY: the device is one of the instance's, and the names are valid strings.
        let has_swapchain = |name: &&core::ffi::CStr| unsafe {
            api.instance.get_device_proc_addr(api.handle(), name.as_ptr()).is_some()
        };
        if !surface_calls.iter().all(has_surface) {
            return Err(unsupported("surfaces (VK_KHR_surface, with DeviceConfig::presentation)"));
        }
        if !api.has_extension(ash::khr::swapchain::NAME) || !swapchain_calls.iter().all(has_swapchain) {
            return Err(unsupported("swap chains (VK_KHR_swapchain, with DeviceConfig::presentation)"));
        }
        let has_hdr =
            api.has_extension(ash::ext::hdr_metadata::NAME) && has_swapchain(&c"vkSetHdrMetadataEXT");
        Ok(Self {
            hdr: has_hdr.then(|| ash::ext::hdr_metadata::Device::new(&api.instance, &api.device)),
            surface: ash::khr::surface::Instance::new(entry, &api.instance),
            swapchain: ash::khr::swapchain::Device::new(&api.instance, &api.device),
            #[cfg(feature = "window")]
            owned: None,
        })
    }

    /// The current capabilities of the surface.
    pub(crate) fn capabilities(
        &self,
        physical: vk::PhysicalDevice,
        surface: vk::SurfaceKHR,
    ) -> Result<vk::SurfaceCapabilitiesKHR, vk::Result> {
        // SAFETY: the surface is the instance's and alive, as the creator of the swap chain promises.
        unsafe { self.surface.get_physical_device_surface_capabilities(physical, surface) }
    }
}
