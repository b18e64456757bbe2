//! The handles and functions through which the API is called.

use std::ffi::CString;

use ash::vk;

use crate::setup::{ApiVersion, OptionalFeatures};

/// The functions of timeline semaphores.
#[derive(Clone, Copy)]
pub(crate) struct TimelineCalls {
    pub(crate) value: vk::PFN_vkGetSemaphoreCounterValue,
    pub(crate) wait: vk::PFN_vkWaitSemaphores,
}

/// The functions of synchronization2.
#[derive(Clone, Copy)]
pub(crate) struct Synchronization2Calls {
    pub(crate) submit: vk::PFN_vkQueueSubmit2,
    pub(crate) barrier: vk::PFN_vkCmdPipelineBarrier2,
}

/// The functions that ask for requirements without an object.
#[derive(Clone, Copy)]
pub(crate) struct RequirementCalls {
    pub(crate) buffer: vk::PFN_vkGetDeviceBufferMemoryRequirements,
    pub(crate) image: vk::PFN_vkGetDeviceImageMemoryRequirements,
}

/// A device and what is used of it. Functions that are `None` are not used.
pub(crate) struct Api {
    pub(crate) entry: Option<ash::Entry>,
    pub(crate) instance: ash::Instance,
    pub(crate) physical: vk::PhysicalDevice,
    pub(crate) device: ash::Device,
    pub(crate) version: ApiVersion,
    /// What is used.
    pub(crate) enabled: OptionalFeatures,
    /// What is enabled of Vulkan 1.0's features.
    pub(crate) features: vk::PhysicalDeviceFeatures,
    /// The device extensions that are enabled.
    pub(crate) extensions: Vec<CString>,
    pub(crate) timeline: Option<TimelineCalls>,
    pub(crate) synchronization2: Option<Synchronization2Calls>,
    pub(crate) requirements: Option<RequirementCalls>,
    pub(crate) address: Option<vk::PFN_vkGetBufferDeviceAddress>,
    pub(crate) names: Option<ash::ext::debug_utils::Device>,
}

/// What an [`Api`] is made from: everything but the functions.
pub(crate) struct Handles {
    pub(crate) entry: Option<ash::Entry>,
    pub(crate) instance: ash::Instance,
    pub(crate) physical: vk::PhysicalDevice,
    pub(crate) device: ash::Device,
    pub(crate) version: ApiVersion,
    pub(crate) enabled: OptionalFeatures,
    pub(crate) features: vk::PhysicalDeviceFeatures,
    pub(crate) extensions: Vec<CString>,
}

impl Api {
    /// Finds the functions of what is enabled: the core's where the version includes them, else the
    /// extension's.
    pub(crate) fn new(handles: Handles) -> Self {
        let Handles { entry, instance, physical, device, version, enabled, features, extensions } = handles;
        let has = |feature| enabled.contains(feature);
        let timeline = has(OptionalFeatures::TIMELINE_SEMAPHORES)
            .then(|| timeline_calls(&instance, &device, version >= ApiVersion::V1_2));
        let synchronization2 = has(OptionalFeatures::SYNCHRONIZATION2)
            .then(|| synchronization2_calls(&instance, &device, version >= ApiVersion::V1_3));
        let requirements = has(OptionalFeatures::MAINTENANCE4)
            .then(|| requirement_calls(&instance, &device, version >= ApiVersion::V1_3));
        let address = has(OptionalFeatures::BUFFER_DEVICE_ADDRESS).then(|| {
            if version >= ApiVersion::V1_2 {
                device.fp_v1_2().get_buffer_device_address
            } else {
                let extension = ash::khr::buffer_device_address::Device::new(&instance, &device);
                extension.fp().get_buffer_device_address_khr
            }
        });
        let names = has(OptionalFeatures::DEBUG_NAMES)
            .then(|| ash::ext::debug_utils::Device::new(&instance, &device));
        Self {
            entry,
            instance,
            physical,
            device,
            version,
            enabled,
            features,
            extensions,
            timeline,
            synchronization2,
            requirements,
            address,
            names,
        }
    }

    pub(crate) const fn uses(&self, feature: OptionalFeatures) -> bool {
        self.enabled.contains(feature)
    }

    pub(crate) fn has_extension(&self, name: &core::ffi::CStr) -> bool {
        self.extensions.iter().any(|extension| extension.as_c_str() == name)
    }

    /// The device's handle, for functions that are called by pointer.
    pub(crate) fn handle(&self) -> vk::Device {
        self.device.handle()
    }
}

fn timeline_calls(instance: &ash::Instance, device: &ash::Device, core: bool) -> TimelineCalls {
    if core {
        let functions = device.fp_v1_2();
        TimelineCalls { value: functions.get_semaphore_counter_value, wait: functions.wait_semaphores }
    } else {
        let extension = ash::khr::timeline_semaphore::Device::new(instance, device);
        let functions = extension.fp();
        TimelineCalls {
            value: functions.get_semaphore_counter_value_khr,
            wait: functions.wait_semaphores_khr,
        }
    }
}

fn synchronization2_calls(
    instance: &ash::Instance,
    device: &ash::Device,
    core: bool,
) -> Synchronization2Calls {
    if core {
        let functions = device.fp_v1_3();
        Synchronization2Calls { submit: functions.queue_submit2, barrier: functions.cmd_pipeline_barrier2 }
    } else {
        let extension = ash::khr::synchronization2::Device::new(instance, device);
        let functions = extension.fp();
        Synchronization2Calls {
            submit: functions.queue_submit2_khr,
            barrier: functions.cmd_pipeline_barrier2_khr,
        }
    }
}

fn requirement_calls(instance: &ash::Instance, device: &ash::Device, core: bool) -> RequirementCalls {
    if core {
        let functions = device.fp_v1_3();
        RequirementCalls {
            buffer: functions.get_device_buffer_memory_requirements,
            image: functions.get_device_image_memory_requirements,
        }
    } else {
        let extension = ash::khr::maintenance4::Device::new(instance, device);
        let functions = extension.fp();
        RequirementCalls {
            buffer: functions.get_device_buffer_memory_requirements_khr,
            image: functions.get_device_image_memory_requirements_khr,
        }
    }
}
