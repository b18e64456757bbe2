//! The handles and functions through which the API is called.

use core::ffi::CStr;
use std::ffi::CString;

use ash::vk;

use crate::error::CreateError;
use crate::features::{ApiVersion, OptionalFeatures, Portability};

/// Gives a function the type that its name has in the API.
macro_rules! typed {
    ($handles:ident, $type:ty, $core:literal, $extension:literal) => {{
        let found = $handles.function([$core, $extension])?;
        // SAFETY: the function of that name has this type, as all function pointers have one size.
        unsafe { core::mem::transmute::<unsafe extern "system" fn(), $type>(found) }
    }};
}

#[cfg(unix)]
mod file_descriptors;

#[cfg(unix)]
pub(crate) use file_descriptors::{FileDescriptorCalls, MemoryFdCalls, SemaphoreFdCalls};

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

/// The functions by which the CPU writes images.
#[derive(Clone, Copy)]
pub(crate) struct HostImageCalls {
    pub(crate) copy: vk::PFN_vkCopyMemoryToImageEXT,
    pub(crate) transition: vk::PFN_vkTransitionImageLayoutEXT,
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
    pub(crate) portability: Portability,
    pub(crate) timeline: Option<TimelineCalls>,
    pub(crate) synchronization2: Option<Synchronization2Calls>,
    pub(crate) requirements: Option<RequirementCalls>,
    pub(crate) address: Option<vk::PFN_vkGetBufferDeviceAddress>,
    pub(crate) set_priority: Option<vk::PFN_vkSetDeviceMemoryPriorityEXT>,
    pub(crate) names: Option<ash::ext::debug_utils::Device>,
    pub(crate) structures: Option<ash::khr::acceleration_structure::Device>,
    pub(crate) descriptor_buffers: Option<ash::ext::descriptor_buffer::Device>,
    #[cfg(unix)]
    pub(crate) file_descriptors: FileDescriptorCalls,
    pub(crate) host_pointer: Option<vk::PFN_vkGetMemoryHostPointerPropertiesEXT>,
    pub(crate) host_images: Option<HostImageCalls>,
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
    /// What is enabled of descriptor indexing.
    pub(crate) indexing: vk::PhysicalDeviceDescriptorIndexingFeatures<'static>,
    pub(crate) portability: Portability,
    /// Families of queues that are not tenure's, but use its buffers.
    pub(crate) other_families: Vec<u32>,
}

impl Api {
    /// Finds the functions of what is enabled, by the name of the core or of the extension, whichever
    /// the device has.
    pub(crate) fn new(handles: Handles) -> Result<Self, CreateError> {
        let Handles { version, enabled, .. } = handles;
        let has = |feature| enabled.contains(feature);
        let timeline = has(OptionalFeatures::TIMELINE_SEMAPHORES).then(|| timeline_calls(&handles));
        let synchronization2 =
            has(OptionalFeatures::SYNCHRONIZATION2).then(|| synchronization2_calls(&handles));
        let requirements = has(OptionalFeatures::MAINTENANCE4).then(|| requirement_calls(&handles));
        let address = has(OptionalFeatures::BUFFER_DEVICE_ADDRESS).then(|| address_call(&handles));
        let (timeline, synchronization2) = (timeline.transpose()?, synchronization2.transpose()?);
        let (requirements, address) = (requirements.transpose()?, address.transpose()?);
        let set_priority = has(OptionalFeatures::PAGEABLE_MEMORY).then(|| priority_call(&handles));
        let set_priority = set_priority.transpose()?;
        #[cfg(unix)]
        let file_descriptors = FileDescriptorCalls::find(&handles)?;
        let host_pointer = has(OptionalFeatures::EXTERNAL_MEMORY_HOST).then(|| host_pointer_call(&handles));
        let host_pointer = host_pointer.transpose()?;
        let host_images = has(OptionalFeatures::HOST_IMAGE_COPY).then(|| host_image_calls(&handles));
        let host_images = host_images.transpose()?;
        if has(OptionalFeatures::DEBUG_NAMES) {
            handles.function([c"vkSetDebugUtilsObjectNameEXT"; 2])?;
        }
        if has(OptionalFeatures::ACCELERATION_STRUCTURES) {
            handles.check_structures()?;
        }
        if has(OptionalFeatures::DESCRIPTOR_BUFFERS) {
            handles.check_descriptor_buffers()?;
        }
        handles.check_core()?;
        let Handles { entry, instance, physical, device, features, extensions, portability, .. } = handles;
        let names = has(OptionalFeatures::DEBUG_NAMES)
            .then(|| ash::ext::debug_utils::Device::new(&instance, &device));
        let structures = has(OptionalFeatures::ACCELERATION_STRUCTURES)
            .then(|| ash::khr::acceleration_structure::Device::new(&instance, &device));
        let descriptor_buffers = has(OptionalFeatures::DESCRIPTOR_BUFFERS)
            .then(|| ash::ext::descriptor_buffer::Device::new(&instance, &device));
        Ok(Self {
            entry,
            instance,
            physical,
            device,
            version,
            enabled,
            features,
            extensions,
            portability,
            timeline,
            synchronization2,
            requirements,
            address,
            set_priority,
            names,
            structures,
            descriptor_buffers,
            #[cfg(unix)]
            file_descriptors,
            host_pointer,
            host_images,
        })
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

impl Handles {
    /// The first of the names by which the device has a function.
    fn function(&self, names: [&'static CStr; 2]) -> Result<unsafe extern "system" fn(), CreateError> {
        let find = |name: &&'static CStr| {
            // SAFETY: the device is one of the instance's; the name is a valid string.
            unsafe { self.instance.get_device_proc_addr(self.device.handle(), name.as_ptr()) }
        };
        let missing = CreateError::NoFunction { function: names[0].to_str().unwrap_or_default() };
        names.iter().find_map(find).ok_or(missing)
    }

    /// The functions of acceleration structures that tenure calls.
    fn check_structures(&self) -> Result<(), CreateError> {
        let names = [
            c"vkCreateAccelerationStructureKHR",
            c"vkDestroyAccelerationStructureKHR",
            c"vkGetAccelerationStructureDeviceAddressKHR",
            c"vkCmdCopyAccelerationStructureKHR",
            c"vkCmdWriteAccelerationStructuresPropertiesKHR",
        ];
        names.into_iter().try_for_each(|name| self.function([name; 2]).map(drop))
    }

    /// The functions of descriptor buffers that tenure calls.
    fn check_descriptor_buffers(&self) -> Result<(), CreateError> {
        let names = [
            c"vkGetDescriptorSetLayoutSizeEXT",
            c"vkGetDescriptorSetLayoutBindingOffsetEXT",
            c"vkGetDescriptorEXT",
            c"vkCmdBindDescriptorBuffersEXT",
        ];
        names.into_iter().try_for_each(|name| self.function([name; 2]).map(drop))
    }

    /// Functions of Vulkan 1.1 that are called whatever is enabled: `ash` ends the program where they are
    /// called and missing.
    fn check_core(&self) -> Result<(), CreateError> {
        let names = [
            c"vkGetBufferMemoryRequirements2",
            c"vkGetImageMemoryRequirements2",
            c"vkGetImageSparseMemoryRequirements2",
            c"vkGetDescriptorSetLayoutSupport",
        ];
        names.into_iter().try_for_each(|name| self.function([name; 2]).map(drop))
    }
}

fn timeline_calls(handles: &Handles) -> Result<TimelineCalls, CreateError> {
    Ok(TimelineCalls {
        value: typed!(
            handles,
            vk::PFN_vkGetSemaphoreCounterValue,
            c"vkGetSemaphoreCounterValue",
            c"vkGetSemaphoreCounterValueKHR"
        ),
        wait: typed!(handles, vk::PFN_vkWaitSemaphores, c"vkWaitSemaphores", c"vkWaitSemaphoresKHR"),
    })
}

fn synchronization2_calls(handles: &Handles) -> Result<Synchronization2Calls, CreateError> {
    Ok(Synchronization2Calls {
        submit: typed!(handles, vk::PFN_vkQueueSubmit2, c"vkQueueSubmit2", c"vkQueueSubmit2KHR"),
        barrier: typed!(
            handles,
            vk::PFN_vkCmdPipelineBarrier2,
            c"vkCmdPipelineBarrier2",
            c"vkCmdPipelineBarrier2KHR"
        ),
    })
}

fn requirement_calls(handles: &Handles) -> Result<RequirementCalls, CreateError> {
    Ok(RequirementCalls {
        buffer: typed!(
            handles,
            vk::PFN_vkGetDeviceBufferMemoryRequirements,
            c"vkGetDeviceBufferMemoryRequirements",
            c"vkGetDeviceBufferMemoryRequirementsKHR"
        ),
        image: typed!(
            handles,
            vk::PFN_vkGetDeviceImageMemoryRequirements,
            c"vkGetDeviceImageMemoryRequirements",
            c"vkGetDeviceImageMemoryRequirementsKHR"
        ),
    })
}

fn address_call(handles: &Handles) -> Result<vk::PFN_vkGetBufferDeviceAddress, CreateError> {
    Ok(typed!(
        handles,
        vk::PFN_vkGetBufferDeviceAddress,
        c"vkGetBufferDeviceAddress",
        c"vkGetBufferDeviceAddressKHR"
    ))
}

fn priority_call(handles: &Handles) -> Result<vk::PFN_vkSetDeviceMemoryPriorityEXT, CreateError> {
    Ok(typed!(
        handles,
        vk::PFN_vkSetDeviceMemoryPriorityEXT,
        c"vkSetDeviceMemoryPriorityEXT",
        c"vkSetDeviceMemoryPriorityEXT"
    ))
}

fn host_image_calls(handles: &Handles) -> Result<HostImageCalls, CreateError> {
    Ok(HostImageCalls {
        copy: typed!(
            handles,
            vk::PFN_vkCopyMemoryToImageEXT,
            c"vkCopyMemoryToImage",
            c"vkCopyMemoryToImageEXT"
        ),
        transition: typed!(
            handles,
            vk::PFN_vkTransitionImageLayoutEXT,
            c"vkTransitionImageLayout",
            c"vkTransitionImageLayoutEXT"
        ),
    })
}

fn host_pointer_call(handles: &Handles) -> Result<vk::PFN_vkGetMemoryHostPointerPropertiesEXT, CreateError> {
    Ok(typed!(
        handles,
        vk::PFN_vkGetMemoryHostPointerPropertiesEXT,
        c"vkGetMemoryHostPointerPropertiesEXT",
        c"vkGetMemoryHostPointerPropertiesEXT"
    ))
}
