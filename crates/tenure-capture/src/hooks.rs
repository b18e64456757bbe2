//! The functions that the layer hands out.

use std::ffi::{CStr, c_char};
use std::mem::transmute;

use ash::vk;

use crate::bind::*;
use crate::device::{Device, create_device, destroy_device};
use crate::functions::{AnyFunction, for_device_functions, for_instance_functions};
use crate::instance::*;
use crate::memory::*;
use crate::queue::*;
use crate::requirements::*;
use crate::resource::*;

/// The hook of a name.
fn hook(name: &CStr) -> Option<AnyFunction> {
    macro_rules! find {
        ($($function:ident: $type:ident, [$($name:literal),+];)+) => {
            $(if [$($name),+].contains(&name) {
                let hook: vk::$type = $function;
                // SAFETY: the caller knows the type by the name.
                return Some(unsafe { transmute::<vk::$type, AnyFunction>(hook) });
            })+
        };
    }
    find! {
        create_instance: PFN_vkCreateInstance, [c"vkCreateInstance"];
        create_device: PFN_vkCreateDevice, [c"vkCreateDevice"];
        get_instance_proc_addr: PFN_vkGetInstanceProcAddr, [c"vkGetInstanceProcAddr"];
        get_device_proc_addr: PFN_vkGetDeviceProcAddr, [c"vkGetDeviceProcAddr"];
    }
    for_instance_functions!(find);
    for_device_functions!(find);
    None
}

/// `vkGetInstanceProcAddr`. Only functions that the next layer has are hooked: otherwise a program would see
/// extensions that are off.
pub(crate) unsafe extern "system" fn get_instance_proc_addr(
    handle: vk::Instance,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: names are strings, and the handle is null or that of an instance.
    unsafe {
        let name = CStr::from_ptr(name);
        let hook = hook(name);
        // Before there is an instance, the loader asks with a handle of its own.
        if name == c"vkCreateInstance" {
            return hook;
        }
        let next = (Instance::of(handle)?.functions_of_next)(handle, name.as_ptr())?;
        Some(hook.unwrap_or(next))
    }
}

/// `vkGetDeviceProcAddr`, likewise.
pub(crate) unsafe extern "system" fn get_device_proc_addr(
    handle: vk::Device,
    name: *const c_char,
) -> vk::PFN_vkVoidFunction {
    // SAFETY: names are strings, and the handle is that of a device.
    unsafe {
        let next = (Device::of(handle)?.functions_of_next)(handle, name)?;
        Some(hook(CStr::from_ptr(name)).unwrap_or(next))
    }
}
