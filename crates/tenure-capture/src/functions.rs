//! The functions that the layer hooks, under each of their names, and those of the next layer.

use std::ffi::CStr;
use std::mem::transmute;

use ash::vk;

/// A function of any type.
pub(crate) type AnyFunction = unsafe extern "system" fn();

/// The hooked functions of instances and physical devices: the name of the hook, its type, and its names in the API. The name
/// of an extension precedes that of the core, which exists beside it and may only be called by programs that ask for its
/// version.
macro_rules! for_instance_functions {
    ($macro:ident) => {
        $macro! {
            destroy_instance: PFN_vkDestroyInstance, [c"vkDestroyInstance"];
            get_physical_device_properties: PFN_vkGetPhysicalDeviceProperties, [c"vkGetPhysicalDeviceProperties"];
            get_physical_device_properties2: PFN_vkGetPhysicalDeviceProperties2,
                [c"vkGetPhysicalDeviceProperties2KHR", c"vkGetPhysicalDeviceProperties2"];
            get_physical_device_memory_properties: PFN_vkGetPhysicalDeviceMemoryProperties,
                [c"vkGetPhysicalDeviceMemoryProperties"];
            get_physical_device_memory_properties2: PFN_vkGetPhysicalDeviceMemoryProperties2,
                [c"vkGetPhysicalDeviceMemoryProperties2KHR", c"vkGetPhysicalDeviceMemoryProperties2"];
        }
    };
}
pub(crate) use for_instance_functions;

/// The hooked functions of devices and queues. Those that `ash` does not know have the type of another one: only pointers to
/// structures differ, and the hooks do not read these.
macro_rules! for_device_functions {
    ($macro:ident) => {
        $macro! {
            destroy_device: PFN_vkDestroyDevice, [c"vkDestroyDevice"];

            allocate_memory: PFN_vkAllocateMemory, [c"vkAllocateMemory"];
            free_memory: PFN_vkFreeMemory, [c"vkFreeMemory"];
            map_memory: PFN_vkMapMemory, [c"vkMapMemory"];
            map_memory2: PFN_vkMapMemory2KHR, [c"vkMapMemory2KHR", c"vkMapMemory2"];
            unmap_memory: PFN_vkUnmapMemory, [c"vkUnmapMemory"];
            unmap_memory2: PFN_vkUnmapMemory2KHR, [c"vkUnmapMemory2KHR", c"vkUnmapMemory2"];

            create_buffer: PFN_vkCreateBuffer, [c"vkCreateBuffer"];
            destroy_buffer: PFN_vkDestroyBuffer, [c"vkDestroyBuffer"];
            create_image: PFN_vkCreateImage, [c"vkCreateImage"];
            destroy_image: PFN_vkDestroyImage, [c"vkDestroyImage"];
            set_name: PFN_vkSetDebugUtilsObjectNameEXT, [c"vkSetDebugUtilsObjectNameEXT"];

            bind_buffer_memory: PFN_vkBindBufferMemory, [c"vkBindBufferMemory"];
            bind_buffer_memory2: PFN_vkBindBufferMemory2, [c"vkBindBufferMemory2KHR", c"vkBindBufferMemory2"];
            bind_image_memory: PFN_vkBindImageMemory, [c"vkBindImageMemory"];
            bind_image_memory2: PFN_vkBindImageMemory2, [c"vkBindImageMemory2KHR", c"vkBindImageMemory2"];
            bind_video_session_memory: PFN_vkBindVideoSessionMemoryKHR, [c"vkBindVideoSessionMemoryKHR"];
            destroy_video_session: PFN_vkDestroyVideoSessionKHR, [c"vkDestroyVideoSessionKHR"];

            get_buffer_memory_requirements: PFN_vkGetBufferMemoryRequirements, [c"vkGetBufferMemoryRequirements"];
            get_buffer_memory_requirements2: PFN_vkGetBufferMemoryRequirements2,
                [c"vkGetBufferMemoryRequirements2KHR", c"vkGetBufferMemoryRequirements2"];
            get_image_memory_requirements: PFN_vkGetImageMemoryRequirements, [c"vkGetImageMemoryRequirements"];
            get_image_memory_requirements2: PFN_vkGetImageMemoryRequirements2,
                [c"vkGetImageMemoryRequirements2KHR", c"vkGetImageMemoryRequirements2"];
            get_device_buffer_memory_requirements: PFN_vkGetDeviceBufferMemoryRequirements,
                [c"vkGetDeviceBufferMemoryRequirementsKHR", c"vkGetDeviceBufferMemoryRequirements"];
            get_device_image_memory_requirements: PFN_vkGetDeviceImageMemoryRequirements,
                [c"vkGetDeviceImageMemoryRequirementsKHR", c"vkGetDeviceImageMemoryRequirements"];
            get_video_session_memory_requirements: PFN_vkGetVideoSessionMemoryRequirementsKHR,
                [c"vkGetVideoSessionMemoryRequirementsKHR"];
            get_structure_memory_requirements: PFN_vkGetAccelerationStructureMemoryRequirementsNV,
                [c"vkGetAccelerationStructureMemoryRequirementsNV"];
            get_generated_commands_memory_requirements: PFN_vkGetGeneratedCommandsMemoryRequirementsNV,
                [c"vkGetGeneratedCommandsMemoryRequirementsNV"];
            get_generated_commands_memory_requirements_ext: PFN_vkGetGeneratedCommandsMemoryRequirementsNV,
                [c"vkGetGeneratedCommandsMemoryRequirementsEXT"];
            get_tensor_memory_requirements: PFN_vkGetGeneratedCommandsMemoryRequirementsNV,
                [c"vkGetTensorMemoryRequirementsARM"];
            get_device_tensor_memory_requirements: PFN_vkGetGeneratedCommandsMemoryRequirementsNV,
                [c"vkGetDeviceTensorMemoryRequirementsARM"];
            get_data_graph_memory_requirements: PFN_vkGetGeneratedCommandsMemoryRequirementsNV,
                [c"vkGetDataGraphPipelineSessionMemoryRequirementsARM"];
            get_memory_fd_properties: PFN_vkGetMemoryFdPropertiesKHR, [c"vkGetMemoryFdPropertiesKHR"];
            get_memory_handle_properties: PFN_vkGetMemoryWin32HandlePropertiesKHR,
                [c"vkGetMemoryWin32HandlePropertiesKHR"];
            get_memory_host_pointer_properties: PFN_vkGetMemoryHostPointerPropertiesEXT,
                [c"vkGetMemoryHostPointerPropertiesEXT"];
            get_memory_metal_handle_properties: PFN_vkGetMemoryHostPointerPropertiesEXT,
                [c"vkGetMemoryMetalHandlePropertiesEXT"];

            queue_submit: PFN_vkQueueSubmit, [c"vkQueueSubmit"];
            queue_submit2: PFN_vkQueueSubmit2, [c"vkQueueSubmit2KHR", c"vkQueueSubmit2"];
            queue_bind_sparse: PFN_vkQueueBindSparse, [c"vkQueueBindSparse"];
            queue_present: PFN_vkQueuePresentKHR, [c"vkQueuePresentKHR"];
            queue_wait_idle: PFN_vkQueueWaitIdle, [c"vkQueueWaitIdle"];
            device_wait_idle: PFN_vkDeviceWaitIdle, [c"vkDeviceWaitIdle"];
            wait_for_fences: PFN_vkWaitForFences, [c"vkWaitForFences"];
            get_fence_status: PFN_vkGetFenceStatus, [c"vkGetFenceStatus"];
            wait_semaphores: PFN_vkWaitSemaphores, [c"vkWaitSemaphoresKHR", c"vkWaitSemaphores"];
            get_semaphore_counter_value: PFN_vkGetSemaphoreCounterValue,
                [c"vkGetSemaphoreCounterValueKHR", c"vkGetSemaphoreCounterValue"];
            create_swapchain: PFN_vkCreateSwapchainKHR, [c"vkCreateSwapchainKHR"];
        }
    };
}
pub(crate) use for_device_functions;

/// Declares a table of functions.
macro_rules! table {
    ($table:ident: $($function:ident: $type:ident, [$($name:literal),+];)+) => {
        /// The hooked functions of the next layer, where it has them.
        pub(crate) struct $table {
            $(pub(crate) $function: Option<vk::$type>,)+
        }

        impl $table {
            /// Asks the next layer for each function.
            pub(crate) fn load(get: impl Fn(&CStr) -> vk::PFN_vkVoidFunction) -> Self {
                Self {
                    $($function: [$($name),+].into_iter().find_map(&get).map(|found| {
                        // SAFETY: functions of this name have this type.
                        unsafe { transmute::<AnyFunction, vk::$type>(found) }
                    }),)+
                }
            }
        }
    };
}

macro_rules! instance_table { ($($functions:tt)+) => { table! { InstanceFunctions: $($functions)+ } }; }
for_instance_functions!(instance_table);

macro_rules! device_table { ($($functions:tt)+) => { table! { DeviceFunctions: $($functions)+ } }; }
for_device_functions!(device_table);

/// The answer of a hook without a next function. No program gets that far: it only has hooks of functions that the next
/// layer has.
pub(crate) trait Absent {
    const ANSWER: Self;
}

impl Absent for () {
    const ANSWER: Self = ();
}

impl Absent for vk::Result {
    const ANSWER: Self = Self::ERROR_UNKNOWN;
}

/// The instance or device of a dispatchable handle, and a function of the next layer.
macro_rules! next {
    ($object:ident of $handle:expr, $function:ident) => {{
        let Some(object) = $object::of($handle) else { return $crate::functions::Absent::ANSWER };
        let Some(next) = object.next.$function else { return $crate::functions::Absent::ANSWER };
        (object, next)
    }};
}
pub(crate) use next;
