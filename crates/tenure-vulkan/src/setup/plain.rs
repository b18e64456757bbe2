//! Devices of programs that do not use `ash`.

use core::ffi::CStr;
use std::ffi::CString;

use ash::vk;

use super::chain::Chain;
use super::raw::{Raw, RawQueue};
use super::support::{FeatureChain, PortabilityFeatures, offered, sparse};
use crate::error::CreateError;
use crate::features::ApiVersion;
use crate::features::OptionalFeatures;

/// The functions of an instance that are always called: `ash` aborts the program if a missing one is called.
const CALLED: [&CStr; 12] = [
    c"vkGetDeviceProcAddr",
    c"vkGetPhysicalDeviceProperties",
    c"vkGetPhysicalDeviceQueueFamilyProperties",
    c"vkGetPhysicalDeviceMemoryProperties",
    c"vkGetPhysicalDeviceFormatProperties",
    c"vkGetPhysicalDeviceProperties2",
    c"vkGetPhysicalDeviceMemoryProperties2",
    c"vkGetPhysicalDeviceFormatProperties2",
    c"vkGetPhysicalDeviceImageFormatProperties2",
    c"vkGetPhysicalDeviceSparseImageFormatProperties2",
    c"vkGetPhysicalDeviceExternalBufferProperties",
    c"vkGetPhysicalDeviceExternalSemaphoreProperties",
];

impl Raw {
    /// A device from raw Vulkan handles and the `VkDeviceCreateInfo` that it was created with, from which the enabled
    /// features and extensions are read. For programs without `ash`, such as C and OpenXR programs. Set the remaining
    /// properties for [`Device::from_raw`](crate::Device::from_raw), such as
    /// [`other_families`](Self::other_families), on the result.
    ///
    /// `instance_version` is the version that the instance was created for. Unknown structures in the chain are
    /// skipped.
    ///
    /// Handles of other crates are converted by [`from_raw`](vk::Handle::from_raw). Structures have the layout of the API,
    /// so a pointer to another crate's `VkDeviceCreateInfo` is cast to [`vk::DeviceCreateInfo`]:
    ///
    /// ```
    /// use ash::vk::{self, Handle as _};
    /// use tenure_vulkan::{ApiVersion, CreateError, Device, DeviceConfig, Raw, RawQueue};
    ///
    /// /// Handles as `vulkanalia` and C have them.
    /// struct Engine {
    ///     get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
    ///     instance: u64,
    ///     physical_device: u64,
    ///     device: u64,
    ///     graphics_queue: u64,
    ///     graphics_family: u32,
    /// }
    ///
    /// /// # Safety
    /// /// The handles belong together, and `info` is what the device was created with.
    /// unsafe fn wrap(engine: &Engine, info: *const vk::DeviceCreateInfo<'_>) -> Result<Device, CreateError> {
    ///     let queue = vk::Queue::from_raw(engine.graphics_queue);
    ///     // SAFETY: as above; what the engine made outlives the device.
    ///     unsafe {
    ///         let raw = Raw::from_create_info(
    ///             engine.get_instance_proc_addr,
    ///             vk::Instance::from_raw(engine.instance),
    ///             vk::PhysicalDevice::from_raw(engine.physical_device),
    ///             vk::Device::from_raw(engine.device),
    ///             &*info,
    ///             ApiVersion::V1_3,
    ///             vec![RawQueue { queue, family: engine.graphics_family, kind: None }],
    ///         )?;
    ///         Device::from_raw(raw, &DeviceConfig::default())
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`CreateError::TooOld`]; [`CreateError::NoFunction`] when `get_instance_proc_addr` does not know a function that tenure
    /// calls; [`CreateError::InvalidFeatures`] for a chain without an end; [`CreateError::InvalidRaw`] for an extension without a
    /// name.
    ///
    /// # Safety
    /// The handles are alive and belong together, the function is of the loader or layer that made them, and the device
    /// was created with `info`, all of whose pointers are valid.
    pub unsafe fn from_create_info(
        get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
        instance: vk::Instance,
        physical_device: vk::PhysicalDevice,
        device: vk::Device,
        info: &vk::DeviceCreateInfo<'_>,
        instance_version: ApiVersion,
        queues: Vec<RawQueue>,
    ) -> Result<Self, CreateError> {
        if instance_version < ApiVersion::V1_1 {
            return Err(CreateError::TooOld { found: instance_version });
        }
        // SAFETY: the caller guarantees that the function is valid; the names end with NUL.
        let is_missing = |name: &&CStr| unsafe { get_instance_proc_addr(instance, name.as_ptr()) }.is_none();
        if let Some(missing) = CALLED.into_iter().find(is_missing) {
            return Err(CreateError::NoFunction { function: missing.to_str().unwrap_or_default() });
        }
        // SAFETY: the caller guarantees that the functions, the handles and `info` are valid and belong together.
        let (entry, names_objects, instance, device, program, extensions) = unsafe {
            let entry = ash::Entry::from_static_fn(ash::StaticFn { get_instance_proc_addr });
            // The function exists if the extension is enabled.
            let messenger = c"vkCreateDebugUtilsMessengerEXT".as_ptr();
            let has_messengers = get_instance_proc_addr(instance, messenger).is_some();
            let instance = ash::Instance::load(entry.static_fn(), instance);
            let name = c"vkSetDebugUtilsObjectNameEXT".as_ptr();
            let names_objects = has_messengers && instance.get_device_proc_addr(device, name).is_some();
            let device = ash::Device::load(instance.fp_v1_0(), device);
            (entry, names_objects, instance, device, Chain::of_device(info)?, extensions(info)?)
        };
        // SAFETY: the caller promises that the physical device belongs to the instance.
        let properties = unsafe { instance.get_physical_device_properties(physical_device) };
        let api_version = instance_version.min(ApiVersion::from_packed(properties.api_version));
        let has = |name: &CStr| extensions.iter().any(|extension| extension.as_c_str() == name);
        let is_subset = has(ash::khr::portability_subset::NAME);
        let (chain, features) = FeatureChain::enabled_in(&program, is_subset);
        let mut enabled = chain.granted(offered(api_version, has)) | sparse(&features);
        enabled |= OptionalFeatures::DEDICATED_ALLOCATION;
        enabled.set(OptionalFeatures::DEBUG_NAMES, names_objects);
        let p_next = core::ptr::null_mut();
        Ok(Self {
            entry: Some(entry),
            instance,
            physical_device,
            device,
            api_version,
            queues,
            enabled,
            features,
            descriptor_indexing: vk::PhysicalDeviceDescriptorIndexingFeatures { p_next, ..chain.indexing },
            portability: chain.portability.map(|found| PortabilityFeatures { p_next, ..found }),
            other_families: Vec::new(),
            extensions,
        })
    }
}

/// The extensions that a device was created with.
///
/// # Errors
/// [`CreateError::InvalidRaw`] for one without a name.
///
/// # Safety
/// The pointers of `info` are null or valid.
unsafe fn extensions(info: &vk::DeviceCreateInfo<'_>) -> Result<Vec<CString>, CreateError> {
    let names = info.pp_enabled_extension_names;
    let name = |index: u32| {
        // SAFETY: the caller guarantees an array of this length, or null.
        let name = (!names.is_null()).then(|| unsafe { *names.add(index as usize) });
        let name = name.filter(|name| !name.is_null()).ok_or(CreateError::InvalidRaw {
            rule: "each enabled extension has a name",
            value: u64::from(index),
        });
        // SAFETY: the caller guarantees that names end with NUL.
        name.map(|name| unsafe { CStr::from_ptr(name) }.to_owned())
    };
    (0..info.enabled_extension_count).map(name).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

    use core::ptr;

    use ash::vk::Handle as _;

    use super::*;

    /// As the loader of another instance.
    unsafe extern "system" fn nothing(
        _: vk::Instance,
        _: *const core::ffi::c_char,
    ) -> vk::PFN_vkVoidFunction {
        None
    }

    fn refused(version: ApiVersion) -> CreateError {
        // SAFETY: the function is valid, and handles are not used without the functions that it lacks.
        let raw = unsafe {
            Raw::from_create_info(
                nothing,
                vk::Instance::from_raw(8),
                vk::PhysicalDevice::from_raw(8),
                vk::Device::from_raw(8),
                &vk::DeviceCreateInfo::default(),
                version,
                Vec::new(),
            )
        };
        raw.unwrap_err()
    }

    #[test]
    fn a_loader_without_functions_is_refused() {
        assert_eq!(refused(ApiVersion::V1_3), CreateError::NoFunction { function: "vkGetDeviceProcAddr" });
        let old = ApiVersion { major: 1, minor: 0 };
        assert_eq!(refused(old), CreateError::TooOld { found: old });
    }

    #[test]
    fn extensions_need_names() {
        let read = |names: *const *const core::ffi::c_char, count| {
            let info = vk::DeviceCreateInfo {
                pp_enabled_extension_names: names,
                enabled_extension_count: count,
                ..Default::default()
            };
            // SAFETY: the array has this length, or is null.
            unsafe { extensions(&info) }
        };
        let names = [c"VK_EXT_one".as_ptr(), ptr::null()];
        let rule = "each enabled extension has a name";
        assert_eq!(read(names.as_ptr(), 1).unwrap(), [c"VK_EXT_one".to_owned()]);
        assert_eq!(read(names.as_ptr(), 2), Err(CreateError::InvalidRaw { rule, value: 1 }));
        assert_eq!(read(ptr::null(), u32::MAX), Err(CreateError::InvalidRaw { rule, value: 0 }));
        assert_eq!(read(ptr::null(), 0).unwrap(), Vec::<CString>::new());
    }
}
