//! The features and extensions that a program enables for tenure when it creates its device itself.

use core::fmt;
use std::ffi::CString;

use ash::vk;

use super::create::{extensions, features, wanted};
use super::raw::Raw;
use super::support::{FeatureChain, Support, either};
use crate::error::CreateError;
use crate::features::ApiVersion;
use crate::features::OptionalFeatures;
use crate::instance::DeviceConfig;

/// The extensions and features to enable on a device that the program creates itself, so that tenure can use all
/// capabilities of the physical device: extensions, Vulkan 1.0's features, and a chain of structures with the
/// newer ones.
///
/// The program adds its own features, and passes the device to tenure with [`fill`](Self::fill) and
/// [`Device::from_raw`](crate::Device::from_raw). Vulkan forbids two structures for the same features: if the
/// program links such a structure itself (one of Vulkan 1.2 or newer, say), it sets the features of
/// [`enabled`](Self::enabled) there, and does not [link](Self::link) the chain.
///
/// ```no_run
/// use ash::vk;
/// use tenure_vulkan::{ApiVersion, CreateError, DeviceFeatures, DeviceConfig};
///
/// fn create(instance: &ash::Instance, physical: vk::PhysicalDevice) -> Result<ash::Device, CreateError> {
///     let options = DeviceConfig::default();
///     // SAFETY: the physical device is one of the instance's, which was made for Vulkan 1.3.
///     let mut wanted = unsafe { DeviceFeatures::of(instance, physical, ApiVersion::V1_3, &options) }?;
///     let names: Vec<_> = wanted.extensions().iter().map(|name| name.as_ptr()).collect();
///     let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&[1.0])];
///     let mut features = wanted.link(vk::PhysicalDeviceFeatures2::default());
///     let info = vk::DeviceCreateInfo::default()
///         .queue_create_infos(&queues)
///         .enabled_extension_names(&names)
///         .push_next(&mut features);
///     // SAFETY: all that `info` points to lives until the call returns.
///     unsafe { instance.create_device(physical, &info, None) }
///         .map_err(|result| CreateError::Failed { call: "vkCreateDevice", result })
/// }
/// ```
pub struct DeviceFeatures {
    version: ApiVersion,
    enabled: OptionalFeatures,
    extensions: Vec<CString>,
    features: vk::PhysicalDeviceFeatures,
    indexing: vk::PhysicalDeviceDescriptorIndexingFeatures<'static>,
    portability: Option<vk::PhysicalDevicePortabilitySubsetFeaturesKHR<'static>>,
    chain: Box<FeatureChain>,
}

impl DeviceFeatures {
    /// Queries a physical device. `api_version` is the version of the instance; of the `options`
    /// only features, versions and device extensions matter. `VK_EXT_swapchain_maintenance1` is not included,
    /// because it needs instance extensions; with [`DeviceConfig::presentation`](DeviceConfig::presentation)
    /// `VK_KHR_swapchain` is, and if they are available `VK_EXT_hdr_metadata`, `VK_KHR_present_id` and
    /// `VK_KHR_present_wait`.
    ///
    /// # Errors
    /// [`CreateError::TooOld`], [`CreateError::NoExtension`] for one of the options that is not there,
    /// [`CreateError::Failed`].
    ///
    /// # Safety
    /// The physical device is of the instance, which was created for that version.
    pub unsafe fn of(
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
        api_version: ApiVersion,
        options: &DeviceConfig,
    ) -> Result<Self, CreateError> {
        let support = Support::of(instance, physical, api_version)?;
        let version = support.version.min(options.api_version);
        if version < ApiVersion::V1_1 {
            return Err(CreateError::TooOld { found: version });
        }
        let mut enabled = wanted(&support, options, version);
        enabled.remove(OptionalFeatures::SWAPCHAIN_MAINTENANCE1);
        if !options.presentation {
            enabled.remove(OptionalFeatures::PRESENTATION);
        }
        let extensions = extensions(&support, options, enabled, (version, None))?;
        let features = features(&support, options, enabled);
        let chain = Box::new(FeatureChain::enabling(enabled, &support.indexing, support.portability));
        let (indexing, portability) = (support.indexing.features, support.portability);
        Ok(Self { version, enabled, extensions, features, indexing, portability, chain })
    }

    /// The device extensions to enable.
    #[must_use]
    pub fn extensions(&self) -> &[CString] {
        &self.extensions
    }

    /// The optional features of tenure that this enables. [`DEBUG_NAMES`](OptionalFeatures::DEBUG_NAMES) depends
    /// on the instance: remove it from [`Raw::enabled`] if `VK_EXT_debug_utils` is not enabled.
    #[must_use]
    pub const fn enabled(&self) -> OptionalFeatures {
        self.enabled
    }

    /// Vulkan 1.0's features to enable.
    pub const fn features(&self) -> &vk::PhysicalDeviceFeatures {
        &self.features
    }

    /// Adds the structures to `features`, and Vulkan 1.0's features to the ones set there, for
    /// `vk::DeviceCreateInfo::push_next`.
    pub fn link<'a>(
        &'a mut self,
        features: vk::PhysicalDeviceFeatures2<'a>,
    ) -> vk::PhysicalDeviceFeatures2<'a> {
        let own = self.features;
        let all = either(&features.features, &own);
        self.chain.link(self.enabled, features.features(all))
    }

    /// Adds all of this to the enabled features and extensions of `raw`.
    pub fn fill(&self, raw: &mut Raw) {
        raw.api_version = self.version;
        raw.enabled |= self.enabled;
        raw.features = either(&raw.features, &self.features);
        raw.descriptor_indexing = self.indexing;
        raw.portability = self.portability;
        for name in &self.extensions {
            if !raw.extensions.contains(name) {
                raw.extensions.push(name.clone());
            }
        }
    }
}

impl fmt::Debug for DeviceFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceFeatures")
            .field("enabled", &self.enabled)
            .field("extensions", &self.extensions)
            .finish_non_exhaustive()
    }
}
