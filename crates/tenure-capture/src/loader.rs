//! The entry of the layer: the interface between the Vulkan loader and its layers, version 2.

use std::ffi::c_void;

use ash::vk;

use crate::hooks::{get_device_proc_addr, get_instance_proc_addr};

/// The newest version of the interface that this layer supports.
const INTERFACE: u32 = 2;
/// `LAYER_NEGOTIATE_INTERFACE_STRUCT`
const NEGOTIATION: i32 = 1;

/// `VkNegotiateLayerInterface`: the versions of loader and layer, and the functions of the layer.
#[repr(C)]
#[derive(Debug)]
pub struct Negotiation {
    structure: i32,
    next: *mut c_void,
    version: u32,
    instance_functions: Option<vk::PFN_vkGetInstanceProcAddr>,
    device_functions: Option<vk::PFN_vkGetDeviceProcAddr>,
    physical_device_functions: Option<vk::PFN_vkGetInstanceProcAddr>,
}

/// The entry of the layer: the loader calls it once after it has loaded the library.
///
/// # Safety
///
/// `negotiation` points to the loader's structure.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is the interface's")]
pub unsafe extern "system" fn vkNegotiateLoaderLayerInterfaceVersion(
    negotiation: *mut Negotiation,
) -> vk::Result {
    // SAFETY: the caller has the structure.
    let Some(negotiation) = (unsafe { negotiation.as_mut() }) else {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    };
    if negotiation.structure != NEGOTIATION || negotiation.version < INTERFACE {
        return vk::Result::ERROR_INITIALIZATION_FAILED;
    }
    negotiation.version = INTERFACE;
    negotiation.instance_functions = Some(get_instance_proc_addr);
    negotiation.device_functions = Some(get_device_proc_addr);
    negotiation.physical_device_functions = None;
    vk::Result::SUCCESS
}
