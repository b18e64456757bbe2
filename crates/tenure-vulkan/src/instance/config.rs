//! Configuration of a device.

use std::ffi::CString;
use std::path::PathBuf;

use ash::vk;

use super::message::{Message, MessageSink};
use crate::features::{ApiVersion, OptionalFeatures};

/// Queues of one family to make for the program's own use: see [`DeviceConfig::own_queues`](crate::DeviceConfig::own_queues).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OwnQueues {
    /// The family.
    pub family: u32,
    /// The priority of each queue, 0 to 1. Tenure's queues have 1.
    pub priorities: Vec<f32>,
}

/// The level of validation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Validation {
    /// Load `VK_LAYER_KHRONOS_validation`. Without it the rest has no effect.
    pub enabled: bool,
    /// Whether the layer also detects missing barriers.
    pub synchronization: bool,
    /// Whether the layer also advises on performance.
    pub best_practices: bool,
}

tenure_core::setters!(Validation { enabled: bool, synchronization: bool, best_practices: bool });

impl Validation {
    /// No validation layer.
    pub const OFF: Self = Self { enabled: false, synchronization: false, best_practices: false };
    /// The layer's own checks.
    pub const CORE: Self = Self { enabled: true, ..Self::OFF };
    /// Core and synchronization validation.
    pub const SYNCHRONIZATION: Self = Self { synchronization: true, ..Self::CORE };
}

/// The settings of a device that tenure creates or wraps.
///
/// ```
/// use tenure_vulkan::{OptionalFeatures, DeviceConfig, Validation};
///
/// let options = DeviceConfig::default()
///     .validation(Validation::CORE)
///     .without(OptionalFeatures::TIMELINE_SEMAPHORES)
///     .max_queues(1);
/// assert!(!options.optional.contains(OptionalFeatures::TIMELINE_SEMAPHORES));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceConfig {
    /// The features to use if available. *Default*: all.
    pub optional: OptionalFeatures,
    /// *Default*: [`Validation::OFF`]. Not used with wrapped instances.
    pub validation: Validation,
    /// The receiver of messages of the layers and the driver. *Default*: events of the `tracing` crate. Not used
    /// with wrapped instances.
    pub sink: Option<MessageSink>,
    /// The maximum number of queues, one of each kind at most: 1 for graphics only. *Default*: 8.
    pub max_queues: usize,
    /// Queues to make for the program's own use, each family once. *Default*: none. Not used with wrapped devices.
    pub own_queues: Vec<OwnQueues>,
    /// The newest version of Vulkan to use. *Default*: 1.3.
    pub api_version: ApiVersion,
    /// Features of Vulkan 1.0 to enable if available, beyond tenure's requirements. *Default*: the features that
    /// renderers commonly use (compressed textures, cube arrays, anisotropy, indirect draws). Not used with
    /// wrapped devices.
    pub features: vk::PhysicalDeviceFeatures,
    /// Required extensions of the instance. Not used with wrapped instances.
    pub instance_extensions: Vec<CString>,
    /// Required extensions of the device. Not used with wrapped devices.
    pub device_extensions: Vec<CString>,
    /// Enables the extensions that a [`Swapchain`](crate::Swapchain) needs. *Default*: off. Not used with wrapped
    /// devices.
    pub presentation: bool,
    /// Use buffers for shader-visible heaps instead of descriptor sets, if the device supports it. *Default*: off.
    pub descriptor_buffers: bool,
    /// Recordings and their scopes write markers, so that [`Gpu::loss`](tenure_core::Gpu::loss) shows the GPU's progress. They cost
    /// time on the GPU. With [`OptionalFeatures::CHECKPOINTS`] the checkpoints of a queue are tenure's, also for the program that
    /// asks for them, and scopes do not begin or end between suspended instances of a render pass. *Default*: off.
    pub markers: bool,
    /// The folder for the vendor's data about the loss of the device, which is created if needed: see
    /// [`OptionalFeatures::DEVICE_FAULT_DATA`]. *Default*: `None`, for no data.
    pub fault_folder: Option<PathBuf>,
    /// The driver reports the addresses of textures that tenure creates, so that [`Gpu::whose`](tenure_core::Gpu::whose) and
    /// [`Gpu::loss`](tenure_core::Gpu::loss) find them, too: see [`OptionalFeatures::ADDRESS_REPORTS`]. The driver calls tenure for
    /// each object of the instance that gets or loses an address. Released textures count in
    /// [`Config::released_history`](tenure_core::Config::released_history) then. For an own device, the options of its
    /// [`Adapter`](crate::Adapter) decide. *Default*: off.
    pub address_reports: bool,
    /// The driver whose faults are worked around, instead of the device's own: see [`drivers`](crate::drivers).
    pub assumed_driver: Option<vk::DriverId>,
}

tenure_core::setters!(DeviceConfig {
    instance_extensions: Vec<CString>,
    device_extensions: Vec<CString>,
    markers: bool,
    address_reports: bool,
    assumed_driver: Option<vk::DriverId>,
});

impl Default for DeviceConfig {
    fn default() -> Self {
        Self {
            optional: OptionalFeatures::all(),
            validation: Validation::OFF,
            sink: None,
            max_queues: tenure_core::device::MAX_QUEUES,
            own_queues: Vec::new(),
            api_version: ApiVersion::V1_3,
            features: vk::PhysicalDeviceFeatures::default()
                .texture_compression_bc(true)
                .texture_compression_etc2(true)
                .texture_compression_astc_ldr(true)
                .sampler_anisotropy(true)
                .image_cube_array(true)
                .multi_draw_indirect(true)
                .draw_indirect_first_instance(true)
                .fill_mode_non_solid(true)
                .independent_blend(true),
            instance_extensions: Vec::new(),
            device_extensions: Vec::new(),
            presentation: false,
            descriptor_buffers: false,
            markers: false,
            fault_folder: None,
            address_reports: false,
            assumed_driver: None,
        }
    }
}

impl DeviceConfig {
    /// Does without `features`.
    #[must_use]
    pub fn without(self, features: OptionalFeatures) -> Self {
        Self { optional: self.optional.difference(features), ..self }
    }

    /// Sets the level of validation.
    #[must_use]
    pub fn validation(self, validation: Validation) -> Self {
        Self { validation, ..self }
    }

    /// Sends messages to `sink`, from any thread, also while the device is destroyed. It must not
    /// call Vulkan, and a panic in it is swallowed.
    #[must_use]
    pub fn on_message(self, sink: impl Fn(&Message) + Send + Sync + 'static) -> Self {
        Self { sink: Some(MessageSink::new(sink)), ..self }
    }

    /// Limits the number of queues; at least one is used.
    #[must_use]
    pub fn max_queues(self, max_queues: usize) -> Self {
        Self { max_queues, ..self }
    }

    /// Creates queues of a family for the program's own use, one for each priority (0 to 1): see
    /// [`Device::own_queues`](crate::Device::own_queues).
    #[must_use]
    pub fn own_queues(mut self, family: u32, priorities: &[f32]) -> Self {
        self.own_queues.push(OwnQueues { family, priorities: priorities.to_vec() });
        self
    }

    /// Uses no newer version of Vulkan.
    #[must_use]
    pub fn api_version(self, api_version: ApiVersion) -> Self {
        Self { api_version, ..self }
    }

    /// Enables the extensions that a [`Swapchain`](crate::Swapchain) needs: the instance's `VK_KHR_surface` and
    /// the surface extensions of all available window systems, and the device's `VK_KHR_swapchain`. Where they are
    /// available, also `VK_EXT_swapchain_colorspace` and `VK_EXT_hdr_metadata`.
    #[must_use]
    pub fn presentation(self, presentation: bool) -> Self {
        Self { presentation, ..self }
    }

    /// Uses buffers for shader-visible heaps instead of descriptor sets, if the device has
    /// [`OptionalFeatures::DESCRIPTOR_BUFFERS`]: see
    /// [descriptor buffers](crate#descriptor-buffers). A pipeline uses either these or sets: then the device has
    /// no [sets](tenure_core::device::DescriptorLimits::sets).
    #[must_use]
    pub fn descriptor_buffers(self, descriptor_buffers: bool) -> Self {
        Self { descriptor_buffers, ..self }
    }

    /// Keeps the vendor's data about the loss of the device as a file in this folder. Drivers that have it collect it at a cost of
    /// time and memory; tools of the vendor read it. A fault of [`Gpu::loss`](tenure_core::Gpu::loss) names the file.
    #[must_use]
    pub fn fault_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { fault_folder: Some(folder.into()), ..self }
    }

    /// The allowed optional features.
    pub(crate) fn usable(&self) -> OptionalFeatures {
        let mut unused = OptionalFeatures::empty();
        unused.set(OptionalFeatures::DESCRIPTOR_BUFFERS, !self.descriptor_buffers);
        unused.set(OptionalFeatures::BUFFER_MARKERS | OptionalFeatures::CHECKPOINTS, !self.markers);
        let data = OptionalFeatures::DEVICE_FAULT_DATA | OptionalFeatures::KHR_DEVICE_FAULT_DATA;
        unused.set(data, self.fault_folder.is_none());
        unused.set(OptionalFeatures::ADDRESS_REPORTS, !self.address_reports);
        self.optional.difference(unused)
    }

    /// Enables features of Vulkan 1.0 if available.
    #[must_use]
    pub fn features(self, features: vk::PhysicalDeviceFeatures) -> Self {
        Self { features, ..self }
    }
}
