//! Versions of Vulkan, and optional features of devices.

use core::fmt;

use ash::vk;
use bitflags::bitflags;

/// A version of Vulkan; patches do not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiVersion {
    /// 1.
    pub major: u32,
    /// 1 in Vulkan 1.1.
    pub minor: u32,
}

impl ApiVersion {
    /// Vulkan 1.1, the oldest that tenure works with.
    pub const V1_1: Self = Self { major: 1, minor: 1 };
    /// Vulkan 1.2.
    pub const V1_2: Self = Self { major: 1, minor: 2 };
    /// Vulkan 1.3, the newest whose functions tenure calls as part of the core.
    pub const V1_3: Self = Self { major: 1, minor: 3 };

    /// From Vulkan's packed number.
    ///
    /// ```
    /// use tenure_vulkan::ApiVersion;
    /// let packed = ash::vk::make_api_version(0, 1, 2, 203);
    /// assert_eq!(ApiVersion::from_packed(packed), ApiVersion::V1_2);
    /// assert_eq!(ApiVersion::V1_2.to_packed(), ash::vk::API_VERSION_1_2);
    /// ```
    #[must_use]
    pub const fn from_packed(packed: u32) -> Self {
        Self { major: vk::api_version_major(packed), minor: vk::api_version_minor(packed) }
    }

    /// As Vulkan's packed number.
    #[must_use]
    pub const fn to_packed(self) -> u32 {
        vk::make_api_version(0, self.major, self.minor, 0)
    }
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

bitflags! {
    /// Features that tenure uses if the device has them, and does not require.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct OptionalFeatures: u64 {
        /// Timeline semaphores (1.2, `VK_KHR_timeline_semaphore`). Otherwise a pool of fences, and binary
        /// semaphores between queues.
        const TIMELINE_SEMAPHORES = 1 << 0;
        /// `vkQueueSubmit2` and `vkCmdPipelineBarrier2` (1.3, `VK_KHR_synchronization2`). Otherwise their
        /// predecessors.
        const SYNCHRONIZATION2 = 1 << 1;
        /// The budget and usage that the OS reports (`VK_EXT_memory_budget`). Otherwise a share of each memory
        /// heap, and tenure's own allocations.
        const MEMORY_BUDGET = 1 << 2;
        /// Priorities of allocations (`VK_EXT_memory_priority`). Otherwise none.
        const MEMORY_PRIORITY = 1 << 3;
        /// Dedicated allocations (1.1): if the driver prefers them, and for all committed resources. Otherwise
        /// only if the driver requires them.
        const DEDICATED_ALLOCATION = 1 << 4;
        /// GPU addresses of buffers (1.2, `VK_KHR_buffer_device_address`).
        const BUFFER_DEVICE_ADDRESS = 1 << 5;
        /// Reserved buffers (`sparseBinding`, `sparseResidencyBuffer`).
        const SPARSE_BUFFERS = 1 << 6;
        /// Reserved 2D textures (`sparseBinding`, `sparseResidencyImage2D`).
        const SPARSE_TEXTURES = 1 << 7;
        /// Querying memory requirements without creating an object (1.3, `VK_KHR_maintenance4`). Otherwise one is
        /// created and destroyed.
        const MAINTENANCE4 = 1 << 8;
        /// Names of objects for debuggers and messages (`VK_EXT_debug_utils`).
        const DEBUG_NAMES = 1 << 9;
        /// Buffers for acceleration structures (`VK_KHR_acceleration_structure`, from Vulkan 1.2).
        const ACCELERATION_STRUCTURES = 1 << 10;
        /// Naming the formats of an image's views (1.2, `VK_KHR_image_format_list`).
        const FORMAT_LISTS = 1 << 11;
        /// Heaps of descriptors that shaders index (1.2, `VK_EXT_descriptor_indexing`): runtime arrays, partially
        /// bound, updated after bind, and updated while pending if unused; for all kinds in such a heap, except
        /// constants if the device does not support it for them. Otherwise only sets.
        const DESCRIPTOR_INDEXING = 1 << 12;
        /// Null descriptors (`nullDescriptor` of `VK_EXT_robustness2`). Otherwise freed descriptors keep their
        /// content.
        const NULL_DESCRIPTORS = 1 << 13;
        /// Fences that are signalled at the end of a presentation (`VK_EXT_swapchain_maintenance1`), with
        /// [`DeviceConfig::presentation`](crate::DeviceConfig::presentation). Otherwise the end is detected when an image
        /// is acquired again.
        const SWAPCHAIN_MAINTENANCE1 = 1 << 14;
        /// Rays traced by shaders of all kinds (`VK_KHR_ray_query`), with
        /// [`ACCELERATION_STRUCTURES`](Self::ACCELERATION_STRUCTURES).
        const RAY_QUERIES = 1 << 15;
        /// Pipelines of ray tracing shaders, and buffers for their binding tables
        /// (`VK_KHR_ray_tracing_pipeline`), with [`ACCELERATION_STRUCTURES`](Self::ACCELERATION_STRUCTURES).
        const RAY_TRACING_PIPELINES = 1 << 16;
        /// Priorities of memory that can change after the allocation (`VK_EXT_pageable_device_local_memory`),
        /// with [`MEMORY_PRIORITY`](Self::MEMORY_PRIORITY). Then
        /// [`Properties::residency`](tenure_core::device::Properties::residency) is
        /// [`Priorities`](tenure_core::device::Residency::Priorities); otherwise only the driver decides
        /// the residency.
        const PAGEABLE_MEMORY = 1 << 17;
        /// Descriptors that can each be one of several types (`VK_EXT_mutable_descriptor_type`, or
        /// `VK_VALVE_mutable_descriptor_type`), with [`DESCRIPTOR_INDEXING`](Self::DESCRIPTOR_INDEXING): a
        /// shader-visible heap of views is one array, as on Direct3D 12. Without them it has an array for each of
        /// six types, and an index takes a descriptor in each.
        const MUTABLE_DESCRIPTORS = 1 << 18;
        /// Shader-visible heaps are buffers (`VK_EXT_descriptor_buffer`), with
        /// [`DeviceConfig::descriptor_buffers`](crate::DeviceConfig::descriptor_buffers),
        /// [`BUFFER_DEVICE_ADDRESS`](Self::BUFFER_DEVICE_ADDRESS),
        /// [`DESCRIPTOR_INDEXING`](Self::DESCRIPTOR_INDEXING) and [`SYNCHRONIZATION2`](Self::SYNCHRONIZATION2).
        /// Then there are no descriptor sets. Otherwise such a heap is a descriptor set.
        const DESCRIPTOR_BUFFERS = 1 << 19;
        /// Memory shared with other processes and APIs by file descriptors (`VK_KHR_external_memory_fd`): see
        /// [`Sharing`](crate::Sharing). Otherwise resources of
        /// [`Usage::SHARED`](tenure_core::device::Usage::SHARED) are `Unsupported`.
        const EXTERNAL_MEMORY_FD = 1 << 20;
        /// Sharing by DMA-BUFs (`VK_EXT_external_memory_dma_buf`), with
        /// [`EXTERNAL_MEMORY_FD`](Self::EXTERNAL_MEMORY_FD).
        const EXTERNAL_MEMORY_DMA_BUF = 1 << 21;
        /// Timeline semaphores shared by file descriptors (`VK_KHR_external_semaphore_fd`), with
        /// [`TIMELINE_SEMAPHORES`](Self::TIMELINE_SEMAPHORES).
        const EXTERNAL_SEMAPHORE_FD = 1 << 22;
        /// Buffers in the program's own memory (`VK_EXT_external_memory_host`): see
        /// [`HostMemory`](crate::HostMemory).
        const EXTERNAL_MEMORY_HOST = 1 << 23;
        /// Writes of the CPU directly to textures (`VK_EXT_host_image_copy`, from Vulkan 1.3): see
        /// [`Device::write_texture`](tenure_core::device::MemoryDevice::write_texture). Otherwise texels are staged.
        const HOST_IMAGE_COPY = 1 << 24;
        /// Transferring memory to other drivers and devices (`VK_EXT_queue_family_foreign`), with
        /// [`EXTERNAL_MEMORY_FD`](Self::EXTERNAL_MEMORY_FD). Otherwise resources of
        /// [`Usage::SHARED_ACROSS_DRIVERS`](tenure_core::device::Usage::SHARED_ACROSS_DRIVERS) are `Unsupported`.
        const QUEUE_FAMILY_FOREIGN = 1 << 25;
        /// The faults of the GPU that caused the loss of the device (`VK_EXT_device_fault`): see
        /// [`Gpu::loss`](tenure_core::Gpu::loss). Without it, and without [`KHR_DEVICE_FAULT`](Self::KHR_DEVICE_FAULT), none is known.
        const DEVICE_FAULT = 1 << 26;
        /// Numbers of presentations (`VK_KHR_present_id`), with
        /// [`DeviceConfig::presentation`](crate::DeviceConfig::presentation), for [`PRESENT_WAIT`](Self::PRESENT_WAIT).
        const PRESENT_ID = 1 << 27;
        /// Waits until an image is shown (`VK_KHR_present_wait`), with [`PRESENT_ID`](Self::PRESENT_ID): see
        /// [`Swapchain::set_frame_latency`](crate::Swapchain::set_frame_latency). Otherwise the number of images is the
        /// only limit for those that wait to be shown.
        const PRESENT_WAIT = 1 << 28;
        /// Markers also in render passes (`VK_AMD_buffer_marker`), with [`DeviceConfig::markers`](crate::DeviceConfig::markers).
        /// Otherwise only recordings and passes of graphs have markers.
        const BUFFER_MARKERS = 1 << 29;
        /// The vendor's data about the loss of the device, as a file (`deviceFaultVendorBinary` of `VK_EXT_device_fault`), with
        /// [`DEVICE_FAULT`](Self::DEVICE_FAULT) and [`DeviceConfig::fault_folder`](crate::DeviceConfig::fault_folder).
        const DEVICE_FAULT_DATA = 1 << 30;
        /// The addresses of textures that tenure creates (`VK_EXT_device_address_binding_report`), with [`DEBUG_NAMES`](Self::DEBUG_NAMES) and
        /// [`DeviceConfig::address_reports`](crate::DeviceConfig::address_reports). Otherwise textures have none.
        const ADDRESS_REPORTS = 1 << 31;
        /// Markers also in render passes (`VK_NV_device_diagnostic_checkpoints`), with
        /// [`DeviceConfig::markers`](crate::DeviceConfig::markers) and without [`BUFFER_MARKERS`](Self::BUFFER_MARKERS). On 64-bit
        /// systems. Scopes of a recording that a later one of its queue has followed count as begun.
        const CHECKPOINTS = 1 << 32;
        /// As [`DEVICE_FAULT`](Self::DEVICE_FAULT), by `VK_KHR_device_fault`, which is queried first if a device has both. A driver
        /// returns each report once, to tenure or to the program.
        const KHR_DEVICE_FAULT = 1 << 33;
        /// As [`DEVICE_FAULT_DATA`](Self::DEVICE_FAULT_DATA), with [`KHR_DEVICE_FAULT`](Self::KHR_DEVICE_FAULT).
        const KHR_DEVICE_FAULT_DATA = 1 << 34;
    }
}

impl OptionalFeatures {
    /// The features of swap chains.
    pub(crate) const PRESENTATION: Self =
        Self::SWAPCHAIN_MAINTENANCE1.union(Self::PRESENT_ID).union(Self::PRESENT_WAIT);

    /// Removes features with an unmet requirement: acceleration structures need buffer device addresses, ray
    /// tracing needs acceleration structures, changing priorities need allocation priorities, mutable descriptors
    /// need descriptor indexing, descriptor buffers need descriptor indexing, addresses and synchronization2,
    /// DMA-BUFs and foreign queue families need memory of file descriptors, shared semaphores need timeline
    /// semaphores, waits for presentations need their numbers, the vendor's data needs faults, and reports of
    /// addresses need a messenger.
    pub(crate) fn without_unmet(self) -> Self {
        // Ordered: required features come before the features that need them.
        const NEEDED: [(OptionalFeatures, OptionalFeatures); 11] = [
            (
                OptionalFeatures::BUFFER_DEVICE_ADDRESS,
                OptionalFeatures::ACCELERATION_STRUCTURES.union(OptionalFeatures::DESCRIPTOR_BUFFERS),
            ),
            (
                OptionalFeatures::ACCELERATION_STRUCTURES,
                OptionalFeatures::RAY_QUERIES.union(OptionalFeatures::RAY_TRACING_PIPELINES),
            ),
            (OptionalFeatures::MEMORY_PRIORITY, OptionalFeatures::PAGEABLE_MEMORY),
            (
                OptionalFeatures::DESCRIPTOR_INDEXING,
                OptionalFeatures::MUTABLE_DESCRIPTORS.union(OptionalFeatures::DESCRIPTOR_BUFFERS),
            ),
            (OptionalFeatures::SYNCHRONIZATION2, OptionalFeatures::DESCRIPTOR_BUFFERS),
            (
                OptionalFeatures::EXTERNAL_MEMORY_FD,
                OptionalFeatures::EXTERNAL_MEMORY_DMA_BUF.union(OptionalFeatures::QUEUE_FAMILY_FOREIGN),
            ),
            (OptionalFeatures::TIMELINE_SEMAPHORES, OptionalFeatures::EXTERNAL_SEMAPHORE_FD),
            (OptionalFeatures::PRESENT_ID, OptionalFeatures::PRESENT_WAIT),
            (OptionalFeatures::DEVICE_FAULT, OptionalFeatures::DEVICE_FAULT_DATA),
            (OptionalFeatures::KHR_DEVICE_FAULT, OptionalFeatures::KHR_DEVICE_FAULT_DATA),
            (OptionalFeatures::DEBUG_NAMES, OptionalFeatures::ADDRESS_REPORTS),
        ];
        let without = |found: Self, (needed, by)| if found.contains(needed) { found } else { found - by };
        let mut met = NEEDED.into_iter().fold(self, without);
        // A checkpoint has two numbers of 32 bits in its pointer.
        if met.contains(OptionalFeatures::BUFFER_MARKERS) || usize::BITS < 64 {
            met.remove(OptionalFeatures::CHECKPOINTS);
        }
        met
    }
}

type Features = vk::PhysicalDevicePortabilitySubsetFeaturesKHR<'static>;

/// The optional capabilities of a portability subset; other devices have all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "the API's")]
pub(crate) struct Portability {
    /// Slices of volumes are targets.
    pub(crate) slices: bool,
    /// Arrays have samples.
    pub(crate) multisampled_arrays: bool,
    /// Samplers that compare are written to sets.
    pub(crate) comparison_samplers: bool,
    /// Samplers have a bias.
    pub(crate) mip_bias: bool,
    /// Views have formats of other components.
    pub(crate) reinterpretation: bool,
}

impl Portability {
    /// A device that is not a portability subset.
    pub(crate) const ALL: Self = Self {
        slices: true,
        multisampled_arrays: true,
        comparison_samplers: true,
        mip_bias: true,
        reinterpretation: true,
    };

    /// Reads the enabled features of the subset.
    pub(crate) fn of(enabled: &Features) -> Self {
        let on = |feature: vk::Bool32| feature == vk::TRUE;
        Self {
            slices: on(enabled.image_view2_d_on3_d_image),
            multisampled_arrays: on(enabled.multisample_array_image),
            comparison_samplers: on(enabled.mutable_comparison_samplers),
            mip_bias: on(enabled.sampler_mip_lod_bias),
            reinterpretation: on(enabled.image_view_format_reinterpretation),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_looked_at() {
        let none = Portability::of(&Features::default());
        let flags = |found: Portability| {
            let Portability { slices, multisampled_arrays, comparison_samplers, mip_bias, reinterpretation } =
                found;
            [slices, multisampled_arrays, comparison_samplers, mip_bias, reinterpretation]
        };
        assert_eq!(flags(none), [false; 5]);
        let each = [
            Features::default().image_view2_d_on3_d_image(true),
            Features::default().multisample_array_image(true),
            Features::default().mutable_comparison_samplers(true),
            Features::default().sampler_mip_lod_bias(true),
            Features::default().image_view_format_reinterpretation(true),
        ];
        for (index, features) in each.iter().enumerate() {
            let found = flags(Portability::of(features));
            assert!((0..5).all(|other| found[other] == (other == index)), "{features:?}");
        }
    }
}
