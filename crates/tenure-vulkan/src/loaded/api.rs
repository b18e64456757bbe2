//! The handles and functions of the API.

use core::ffi::CStr;
use std::ffi::CString;
use std::path::PathBuf;

use ash::vk;

use crate::error::CreateError;
use crate::features::{ApiVersion, OptionalFeatures, Portability};
use crate::newer;

/// Functions that are called by pointer, by the feature that they need. Each is found by the first of its names
/// that the device has: the core's and the extension's.
macro_rules! calls {
    ($(
        $(#[$attribute:meta])*
        $calls:ident, $feature:ident { $($field:ident: $kind:ident = $core:literal $(or $extension:literal)?;)* }
    )*) => {$(
        $(#[$attribute])*
        #[derive(Clone, Copy)]
        pub(crate) struct $calls {
            $(pub(crate) $field: newer::$kind,)*
        }

        $(#[$attribute])*
        impl $calls {
            fn find(handles: &Handles) -> Result<Option<Self>, CreateError> {
                if !handles.enabled.contains(OptionalFeatures::$feature) {
                    return Ok(None);
                }
                $(
                    let found = handles.function(&[$core $(, $extension)?])?;
                    // SAFETY: the function of that name has this type, as all function pointers have one size.
                    let $field = unsafe { core::mem::transmute::<unsafe extern "system" fn(), newer::$kind>(found) };
                )*
                Ok(Some(Self { $($field),* }))
            }
        }
    )*};
}

calls! {
    /// The functions of timeline semaphores.
    TimelineCalls, TIMELINE_SEMAPHORES {
        value: PFN_vkGetSemaphoreCounterValue = c"vkGetSemaphoreCounterValue" or c"vkGetSemaphoreCounterValueKHR";
        wait: PFN_vkWaitSemaphores = c"vkWaitSemaphores" or c"vkWaitSemaphoresKHR";
    }

    /// The functions of synchronization2.
    Synchronization2Calls, SYNCHRONIZATION2 {
        submit: PFN_vkQueueSubmit2 = c"vkQueueSubmit2" or c"vkQueueSubmit2KHR";
        barrier: PFN_vkCmdPipelineBarrier2 = c"vkCmdPipelineBarrier2" or c"vkCmdPipelineBarrier2KHR";
    }

    /// The functions for querying requirements without an object.
    RequirementCalls, MAINTENANCE4 {
        buffer: PFN_vkGetDeviceBufferMemoryRequirements =
            c"vkGetDeviceBufferMemoryRequirements" or c"vkGetDeviceBufferMemoryRequirementsKHR";
        image: PFN_vkGetDeviceImageMemoryRequirements =
            c"vkGetDeviceImageMemoryRequirements" or c"vkGetDeviceImageMemoryRequirementsKHR";
    }

    /// The function for querying addresses of buffers.
    AddressCalls, BUFFER_DEVICE_ADDRESS {
        get: PFN_vkGetBufferDeviceAddress = c"vkGetBufferDeviceAddress" or c"vkGetBufferDeviceAddressKHR";
    }

    /// The function that changes priorities.
    PriorityCalls, PAGEABLE_MEMORY {
        set: PFN_vkSetDeviceMemoryPriorityEXT = c"vkSetDeviceMemoryPriorityEXT";
    }

    /// The functions for writing images by the CPU.
    HostImageCalls, HOST_IMAGE_COPY {
        copy: PFN_vkCopyMemoryToImageEXT = c"vkCopyMemoryToImage" or c"vkCopyMemoryToImageEXT";
        transition: PFN_vkTransitionImageLayoutEXT = c"vkTransitionImageLayout" or c"vkTransitionImageLayoutEXT";
    }

    /// The function that describes faults after the loss of the device.
    FaultCalls, DEVICE_FAULT {
        info: PFN_vkGetDeviceFaultInfoEXT = c"vkGetDeviceFaultInfoEXT";
    }

    /// The functions of the newer extension for that.
    KhrFaultCalls, KHR_DEVICE_FAULT {
        reports: PFN_vkGetDeviceFaultReportsKHR = c"vkGetDeviceFaultReportsKHR";
        data: PFN_vkGetDeviceFaultDebugInfoKHR = c"vkGetDeviceFaultDebugInfoKHR";
    }

    /// The function that writes markers.
    MarkerCalls, BUFFER_MARKERS {
        write: PFN_vkCmdWriteBufferMarkerAMD = c"vkCmdWriteBufferMarkerAMD";
    }

    /// The functions of checkpoints: markers that the driver stores.
    CheckpointCalls, CHECKPOINTS {
        set: PFN_vkCmdSetCheckpointNV = c"vkCmdSetCheckpointNV";
        data: PFN_vkGetQueueCheckpointDataNV = c"vkGetQueueCheckpointDataNV";
    }

    /// The function that waits for an image to be shown.
    PresentWaitCalls, PRESENT_WAIT {
        wait: PFN_vkWaitForPresentKHR = c"vkWaitForPresentKHR";
    }

    /// The function for querying properties of the program's memory.
    HostPointerCalls, EXTERNAL_MEMORY_HOST {
        properties: PFN_vkGetMemoryHostPointerPropertiesEXT = c"vkGetMemoryHostPointerPropertiesEXT";
    }

    /// The functions of memory shared by file descriptors.
    #[cfg(unix)]
    MemoryFdCalls, EXTERNAL_MEMORY_FD {
        get: PFN_vkGetMemoryFdKHR = c"vkGetMemoryFdKHR";
        properties: PFN_vkGetMemoryFdPropertiesKHR = c"vkGetMemoryFdPropertiesKHR";
    }

    /// The functions of semaphores shared by file descriptors.
    #[cfg(unix)]
    SemaphoreFdCalls, EXTERNAL_SEMAPHORE_FD {
        get: PFN_vkGetSemaphoreFdKHR = c"vkGetSemaphoreFdKHR";
        import: PFN_vkImportSemaphoreFdKHR = c"vkImportSemaphoreFdKHR";
        signal: PFN_vkSignalSemaphore = c"vkSignalSemaphore" or c"vkSignalSemaphoreKHR";
    }
}

/// Functions of Vulkan 1.1 that are always called: `ash` aborts the program if a missing one is called.
const CORE: &[&CStr] = &[
    c"vkGetBufferMemoryRequirements2",
    c"vkGetImageMemoryRequirements2",
    c"vkGetImageSparseMemoryRequirements2",
    c"vkGetDescriptorSetLayoutSupport",
];

/// Functions called through `ash`, by the feature that requires them.
const CALLED: [(OptionalFeatures, &[&CStr]); 4] = [
    (OptionalFeatures::empty(), CORE),
    (OptionalFeatures::DEBUG_NAMES, &[c"vkSetDebugUtilsObjectNameEXT"]),
    (
        OptionalFeatures::ACCELERATION_STRUCTURES,
        &[
            c"vkCreateAccelerationStructureKHR",
            c"vkDestroyAccelerationStructureKHR",
            c"vkGetAccelerationStructureDeviceAddressKHR",
            c"vkCmdCopyAccelerationStructureKHR",
            c"vkCmdWriteAccelerationStructuresPropertiesKHR",
        ],
    ),
    (
        OptionalFeatures::DESCRIPTOR_BUFFERS,
        &[
            c"vkGetDescriptorSetLayoutSizeEXT",
            c"vkGetDescriptorSetLayoutBindingOffsetEXT",
            c"vkGetDescriptorEXT",
            c"vkCmdBindDescriptorBuffersEXT",
        ],
    ),
];

/// A device with its functions and features. `None` functions are not used.
pub(crate) struct Api {
    pub(crate) entry: Option<ash::Entry>,
    pub(crate) instance: ash::Instance,
    pub(crate) physical: vk::PhysicalDevice,
    pub(crate) device: ash::Device,
    pub(crate) version: ApiVersion,
    /// The features in use.
    pub(crate) enabled: OptionalFeatures,
    /// The enabled features of Vulkan 1.0.
    pub(crate) features: vk::PhysicalDeviceFeatures,
    /// The enabled device extensions.
    pub(crate) extensions: Vec<CString>,
    pub(crate) portability: Portability,
    pub(crate) timeline: Option<TimelineCalls>,
    pub(crate) synchronization2: Option<Synchronization2Calls>,
    pub(crate) requirements: Option<RequirementCalls>,
    pub(crate) address: Option<AddressCalls>,
    pub(crate) priority: Option<PriorityCalls>,
    pub(crate) names: Option<ash::ext::debug_utils::Device>,
    pub(crate) structures: Option<ash::khr::acceleration_structure::Device>,
    pub(crate) descriptor_buffers: Option<ash::ext::descriptor_buffer::Device>,
    #[cfg(unix)]
    pub(crate) memory_fds: Option<MemoryFdCalls>,
    #[cfg(unix)]
    pub(crate) semaphore_fds: Option<SemaphoreFdCalls>,
    pub(crate) host_pointer: Option<HostPointerCalls>,
    pub(crate) host_images: Option<HostImageCalls>,
    pub(crate) faults: Option<FaultCalls>,
    pub(crate) khr_faults: Option<KhrFaultCalls>,
    pub(crate) markers: Option<MarkerCalls>,
    pub(crate) checkpoints: Option<CheckpointCalls>,
    pub(crate) present_wait: Option<PresentWaitCalls>,
    /// The folder for the vendor's data.
    pub(crate) fault_folder: Option<PathBuf>,
}

/// The parts of an [`Api`] without the functions.
pub(crate) struct Handles {
    pub(crate) entry: Option<ash::Entry>,
    pub(crate) instance: ash::Instance,
    pub(crate) physical: vk::PhysicalDevice,
    pub(crate) device: ash::Device,
    pub(crate) version: ApiVersion,
    pub(crate) enabled: OptionalFeatures,
    pub(crate) features: vk::PhysicalDeviceFeatures,
    pub(crate) extensions: Vec<CString>,
    /// The enabled features of descriptor indexing.
    pub(crate) indexing: vk::PhysicalDeviceDescriptorIndexingFeatures<'static>,
    pub(crate) portability: Portability,
    /// Families of queues that are not tenure's, but use its buffers.
    pub(crate) other_families: Vec<u32>,
    /// The driver to assume instead of the device's own.
    pub(crate) assumed_driver: Option<vk::DriverId>,
    /// Whether lists write markers.
    pub(crate) has_markers: bool,
    /// The folder for the vendor's data about a loss.
    pub(crate) fault_folder: Option<PathBuf>,
}

impl Api {
    /// Loads the functions of the enabled features.
    pub(crate) fn new(handles: Handles) -> Result<Self, CreateError> {
        for (_, names) in CALLED.iter().filter(|(feature, _)| handles.enabled.contains(*feature)) {
            names.iter().try_for_each(|name| handles.function(&[name]).map(drop))?;
        }
        let (instance, device, enabled) = (&handles.instance, &handles.device, handles.enabled);
        Ok(Self {
            timeline: TimelineCalls::find(&handles)?,
            synchronization2: Synchronization2Calls::find(&handles)?,
            requirements: RequirementCalls::find(&handles)?,
            address: AddressCalls::find(&handles)?,
            priority: PriorityCalls::find(&handles)?,
            names: enabled
                .contains(OptionalFeatures::DEBUG_NAMES)
                .then(|| ash::ext::debug_utils::Device::new(instance, device)),
            structures: enabled
                .contains(OptionalFeatures::ACCELERATION_STRUCTURES)
                .then(|| ash::khr::acceleration_structure::Device::new(instance, device)),
            descriptor_buffers: enabled
                .contains(OptionalFeatures::DESCRIPTOR_BUFFERS)
                .then(|| ash::ext::descriptor_buffer::Device::new(instance, device)),
            #[cfg(unix)]
            memory_fds: MemoryFdCalls::find(&handles)?,
            #[cfg(unix)]
            semaphore_fds: SemaphoreFdCalls::find(&handles)?,
            host_pointer: HostPointerCalls::find(&handles)?,
            host_images: HostImageCalls::find(&handles)?,
            faults: FaultCalls::find(&handles)?,
            khr_faults: KhrFaultCalls::find(&handles)?,
            markers: MarkerCalls::find(&handles)?,
            checkpoints: CheckpointCalls::find(&handles)?,
            present_wait: PresentWaitCalls::find(&handles)?,
            fault_folder: handles.fault_folder,
            entry: handles.entry,
            instance: handles.instance,
            physical: handles.physical,
            device: handles.device,
            version: handles.version,
            enabled,
            features: handles.features,
            extensions: handles.extensions,
            portability: handles.portability,
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
    /// The first function that the device has among the names.
    fn function(&self, names: &[&'static CStr]) -> Result<unsafe extern "system" fn(), CreateError> {
        let find = |name: &&'static CStr| {
            // SAFETY: the device is one of the instance's; the name is a valid string.
            unsafe { self.instance.get_device_proc_addr(self.device.handle(), name.as_ptr()) }
        };
        let first = names.first().and_then(|name| name.to_str().ok());
        let missing = CreateError::NoFunction { function: first.unwrap_or_default() };
        names.iter().find_map(find).ok_or(missing)
    }
}
