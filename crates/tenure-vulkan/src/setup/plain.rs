//! Devices of programs without objects of `ash`.

use core::ffi::CStr;
use std::ffi::CString;

use ash::vk;

use super::chain::Chain;
use super::raw::{Raw, RawQueue};
use super::support::{FeatureChain, PortabilityFeatures, offered, sparse};
use crate::features::ApiVersion;
use crate::features::OptionalFeatures;

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
    ///         );
    ///         Device::from_raw(raw, &DeviceConfig::default())
    ///     }
    /// }
    /// ```
    ///
    /// # Safety
    /// The handles are alive and belong together, the function is of the loader or layer that made them, and the device
    /// was created with `info`, all of whose pointers are valid.
    #[must_use]
    pub unsafe fn from_create_info(
        get_instance_proc_addr: vk::PFN_vkGetInstanceProcAddr,
        instance: vk::Instance,
        physical_device: vk::PhysicalDevice,
        device: vk::Device,
        info: &vk::DeviceCreateInfo<'_>,
        instance_version: ApiVersion,
        queues: Vec<RawQueue>,
    ) -> Self {
        // SAFETY: the caller promises all of it.
        let (entry, names_objects, instance, device, program, extensions) = unsafe {
            let entry = ash::Entry::from_static_fn(ash::StaticFn { get_instance_proc_addr });
            // The function exists if the extension is enabled.
            let messenger = c"vkCreateDebugUtilsMessengerEXT".as_ptr();
            let has_messengers = get_instance_proc_addr(instance, messenger).is_some();
            let instance = ash::Instance::load(entry.static_fn(), instance);
            let name = c"vkSetDebugUtilsObjectNameEXT".as_ptr();
            let names_objects = has_messengers && instance.get_device_proc_addr(device, name).is_some();
            let device = ash::Device::load(instance.fp_v1_0(), device);
            (entry, names_objects, instance, device, Chain::of_device(info), extensions(info))
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
        Self {
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
        }
    }
}

/// The extensions that a device was created with.
///
/// # Safety
/// `info` is valid.
unsafe fn extensions(info: &vk::DeviceCreateInfo<'_>) -> Vec<CString> {
    let names = (0..info.enabled_extension_count as usize).map(|index| {
        // SAFETY: the caller guarantees an array of this length with null-terminated strings.
        unsafe { CStr::from_ptr(*info.pp_enabled_extension_names.add(index)) }.to_owned()
    });
    names.collect()
}
