//! Swap chains: calls that are made to fail, and how many there are.

use std::sync::atomic::Ordering;

use core::ffi::{CStr, c_char, c_void};

use tenure_vulkan::ash::vk::{self, Handle as _};

use super::{Hook, LOADER, Stage, addresses, hooked, stage};

pub(super) fn hooks() -> Vec<Hook> {
    vec![
        (c"vkCreateSwapchainKHR", create as *const core::ffi::c_void),
        (c"vkDestroySwapchainKHR", destroy as *const core::ffi::c_void),
        (c"vkGetSwapchainImagesKHR", images as *const core::ffi::c_void),
        (c"vkAcquireNextImageKHR", acquire as *const core::ffi::c_void),
        (c"vkQueuePresentKHR", present as *const core::ffi::c_void),
        (c"vkSetHdrMetadataEXT", describe as *const core::ffi::c_void),
        (c"vkWaitForPresentKHR", wait_for_present as *const core::ffi::c_void),
    ]
}

impl Stage {
    /// The functions beneath.
    fn swapchain(&self) -> tenure_vulkan::ash::khr::swapchain::Device {
        tenure_vulkan::ash::khr::swapchain::Device::new(&self.instance, &self.device)
    }
}

type Callbacks = *const vk::AllocationCallbacks<'static>;

unsafe extern "system" fn create(
    device: vk::Device,
    info: *const vk::SwapchainCreateInfoKHR<'static>,
    callbacks: Callbacks,
    out: *mut vk::SwapchainKHR,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkCreateSwapchainKHR") {
        return result;
    }
    // SAFETY: as the API has it: a description.
    let mut told = unsafe { *info };
    stage.spaces.lock().push(told.image_color_space);
    told.image_color_space = vk::ColorSpaceKHR::SRGB_NONLINEAR;
    // SAFETY: as the API has it.
    let result =
        unsafe { (stage.swapchain().fp().create_swapchain_khr)(device, &raw const told, callbacks, out) };
    if result == vk::Result::SUCCESS {
        // SAFETY: it was just written.
        stage.chains.lock().push(unsafe { (*out).as_raw() });
    }
    result
}

unsafe extern "system" fn destroy(device: vk::Device, chain: vk::SwapchainKHR, callbacks: Callbacks) {
    let stage = stage();
    stage.strike("vkDestroySwapchainKHR");
    stage.chains.lock().retain(|known| *known != chain.as_raw());
    // SAFETY: as the API has it.
    unsafe { (stage.swapchain().fp().destroy_swapchain_khr)(device, chain, callbacks) };
}

unsafe extern "system" fn images(
    device: vk::Device,
    chain: vk::SwapchainKHR,
    count: *mut u32,
    out: *mut vk::Image,
) -> vk::Result {
    let stage = stage();
    if let Some(result) = stage.strike("vkGetSwapchainImagesKHR") {
        return result;
    }
    // SAFETY: as the API has it.
    unsafe { (stage.swapchain().fp().get_swapchain_images_khr)(device, chain, count, out) }
}

unsafe extern "system" fn acquire(
    device: vk::Device,
    chain: vk::SwapchainKHR,
    timeout: u64,
    semaphore: vk::Semaphore,
    fence: vk::Fence,
    out: *mut u32,
) -> vk::Result {
    let stage = stage();
    let struck = stage.strike("vkAcquireNextImageKHR");
    if struck.is_some_and(|result| result != vk::Result::SUBOPTIMAL_KHR) {
        return struck.unwrap_or_default();
    }
    // SAFETY: as the API has it.
    let result = unsafe {
        (stage.swapchain().fp().acquire_next_image_khr)(device, chain, timeout, semaphore, fence, out)
    };
    if result == vk::Result::SUCCESS { struck.unwrap_or(result) } else { result }
}

/// The API still presents, whatever the injected result.
unsafe extern "system" fn present(queue: vk::Queue, info: *const vk::PresentInfoKHR<'static>) -> vk::Result {
    let stage = stage();
    let struck = stage.strike("vkQueuePresentKHR");
    let is_enqueued = |result: vk::Result| {
        let lost = vk::Result::ERROR_SURFACE_LOST_KHR;
        [vk::Result::SUBOPTIMAL_KHR, vk::Result::ERROR_OUT_OF_DATE_KHR, lost].contains(&result)
    };
    if let Some(result) = struck
        && !is_enqueued(result)
    {
        return result;
    }
    let _used = stage.queue.lock();
    // SAFETY: as the API has it: a description.
    let mut told = unsafe { *info };
    let first = told.p_next.cast::<vk::PresentIdKHR<'_>>();
    // SAFETY: each structure of a chain begins with its type.
    if !first.is_null() && unsafe { (*first).s_type } == vk::StructureType::PRESENT_ID_KHR {
        // SAFETY: a structure of this type has numbers for the only chain. The driver beneath may not know it.
        let (number, next) = unsafe { (*(*first).p_present_ids, (*first).p_next) };
        stage.presentations.lock().push(Presentation::Presented(number));
        told.p_next = next;
    }
    if stage.loses_presents.load(Ordering::Relaxed) {
        if let Some(result) = struck {
            return result;
        }
        told.p_next = core::ptr::null();
    }
    // SAFETY: as the API has it; the only queue there is.
    let result = unsafe { (stage.swapchain().fp().queue_present_khr)(queue, &raw const told) };
    struck.unwrap_or(result)
}

/// A call with the number of a presentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presentation {
    /// An image was presented with this number.
    Presented(u64),
    /// The program waits until the image with this number is shown.
    Awaited(u64),
}

unsafe extern "system" fn wait_for_present(
    _: vk::Device,
    chain: vk::SwapchainKHR,
    number: u64,
    timeout: u64,
) -> vk::Result {
    let stage = stage();
    if !stage.chains.lock().contains(&chain.as_raw()) {
        stage.problem("a chain that does not exist is waited for".to_owned());
    }
    if timeout > 1_000_000_000 {
        stage.problem(format!("a hidden window holds the program up for {timeout} ns"));
    }
    let presented = Presentation::Presented(number);
    if !stage.presentations.lock().contains(&presented) {
        stage.problem(format!("image {number} is waited for, which was not presented"));
    }
    stage.presentations.lock().push(Presentation::Awaited(number));
    stage.strike("vkWaitForPresentKHR").unwrap_or(vk::Result::SUCCESS)
}

unsafe extern "system" fn describe(
    _: vk::Device,
    count: u32,
    chains: *const vk::SwapchainKHR,
    metadata: *const vk::HdrMetadataEXT<'static>,
) {
    // SAFETY: as the API has it: as many of both.
    let (chains, metadata) = unsafe {
        (
            core::slice::from_raw_parts(chains, count as usize),
            core::slice::from_raw_parts(metadata, count as usize),
        )
    };
    let described = chains.iter().zip(metadata).map(|(chain, data)| (chain.as_raw(), data.max_luminance));
    stage().described.lock().extend(described);
}

/// A function of the instance, by its name.
pub(super) unsafe extern "system" fn instance_function(
    instance: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    let entry = LOADER.lock().clone().expect("the loader is known");
    let mut hooks: Vec<Hook> = vec![(c"vkGetPhysicalDeviceSurfaceFormatsKHR", formats as *const c_void)];
    hooks.extend(addresses::hooks());
    // SAFETY: the name is a valid string; a hook has the signature of the hooked function.
    unsafe {
        let real = entry.get_instance_proc_addr(instance, name);
        let found = hooked(&hooks, CStr::from_ptr(name), real);
        core::mem::transmute::<*const c_void, vk::PFN_vkVoidFunction>(found)
    }
}

unsafe extern "system" fn formats(
    physical: vk::PhysicalDevice,
    surface: vk::SurfaceKHR,
    count: *mut u32,
    out: *mut vk::SurfaceFormatKHR,
) -> vk::Result {
    let (stage, entry) = (stage(), LOADER.lock().clone().expect("the loader is known"));
    let calls = tenure_vulkan::ash::khr::surface::Instance::new(&entry, &stage.instance);
    if let Some(result) = stage.strike("vkGetPhysicalDeviceSurfaceFormatsKHR") {
        return result;
    }
    // SAFETY: as the API has it.
    let mut found = unsafe { calls.get_physical_device_surface_formats(physical, surface) }.unwrap();
    if stage.offers_hdr.load(Ordering::Relaxed) {
        let color_space = vk::ColorSpaceKHR::HDR10_ST2084_EXT;
        found.extend(found.clone().into_iter().map(|one| vk::SurfaceFormatKHR { color_space, ..one }));
    }
    // SAFETY: as the API has it: the count, and then as many elements.
    unsafe {
        if !out.is_null() {
            let most = (*count as usize).min(found.len());
            out.copy_from_nonoverlapping(found.as_ptr(), most);
        }
        *count = u32::try_from(found.len()).unwrap();
    }
    vk::Result::SUCCESS
}
