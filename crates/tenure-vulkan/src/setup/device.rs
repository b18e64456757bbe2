//! The ways to a device.

use ash::vk;

use super::adapter::{Adapter, best};
use super::create::create;
use super::raw::{Raw, wrap};
use crate::device::Device;
use crate::error::CreateError;
use crate::instance::Options;

impl Device {
    /// Makes an instance, and a device on the adapter to prefer: a discrete GPU where there is one.
    ///
    /// ```no_run
    /// use tenure_core::{Config, Gpu};
    /// use tenure_vulkan::{Device, Options};
    /// let gpu = Gpu::new(Device::create(&Options::default())?, Config::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CreateError`].
    pub fn create(options: &Options) -> Result<Self, CreateError> {
        Self::create_on(&best(options)?, options)
    }

    /// Makes a device on an adapter: see [`Adapter::create`].
    ///
    /// # Errors
    /// [`CreateError`].
    pub fn create_on(adapter: &Adapter, options: &Options) -> Result<Self, CreateError> {
        // SAFETY: there is nothing in the chain.
        unsafe { Self::create_on_with(adapter, options, vk::PhysicalDeviceFeatures2::default()) }
    }

    /// As [`create`](Self::create), with features of the program's own enabled as well: all that are on in the
    /// chain, Vulkan 1.0's among them. The device must have them; those of [`Options::features`] it may lack.
    ///
    /// The chain is copied, and never written to. What tenure needs is switched on beside it: in the program's
    /// structure where the chain has one for the feature, also in that of a whole version of Vulkan, which may have
    /// no smaller one beside it.
    ///
    /// Structures that [`ash`] does not know are linked as they are. They are at the end of the chain, behind all
    /// others, as `push_next` leaves what was pushed first.
    ///
    /// What [`Options::without`] names and the chain switches on is enabled for the program, and not used by tenure:
    /// [`optional_features`](Self::optional_features) does not name it.
    ///
    /// ```no_run
    /// use ash::vk;
    /// use tenure_vulkan::{CreateError, Device, Options};
    ///
    /// fn create() -> Result<Device, CreateError> {
    ///     let mut newer = vk::PhysicalDeviceVulkan13Features::default().dynamic_rendering(true);
    ///     let features = vk::PhysicalDeviceFeatures2::default().push_next(&mut newer);
    ///     // SAFETY: the chain is valid.
    ///     unsafe { Device::create_with(&Options::default(), features) }
    /// }
    /// ```
    ///
    /// # Errors
    /// [`CreateError`]; [`CreateError::NoFeature`] names a feature that the device does not have, but for those of
    /// structures that `ash` does not know, where it is [`CreateError::Failed`];
    /// [`CreateError::InvalidFeatures`] for a chain that Vulkan forbids (a structure twice, or of a newer version than
    /// [`Options::api_version`] allows, or that of a whole version beside a part of it), or with an unknown structure
    /// before a known one.
    ///
    /// # Safety
    /// The pointers of the chain are valid during the call. What its features need is enabled: each other, and the
    /// extensions that they belong to, in [`Options::device_extensions`].
    pub unsafe fn create_with(
        options: &Options,
        features: vk::PhysicalDeviceFeatures2<'_>,
    ) -> Result<Self, CreateError> {
        // SAFETY: the caller promises just this.
        unsafe { Self::create_on_with(&best(options)?, options, features) }
    }

    /// As [`create_with`](Self::create_with), on an adapter.
    ///
    /// # Errors
    /// As [`create_with`](Self::create_with).
    ///
    /// # Safety
    /// As [`create_with`](Self::create_with).
    pub unsafe fn create_on_with(
        adapter: &Adapter,
        options: &Options,
        features: vk::PhysicalDeviceFeatures2<'_>,
    ) -> Result<Self, CreateError> {
        // SAFETY: the caller promises just this.
        unsafe { create(adapter, options, features) }
    }

    /// Wraps a device that the program made, and destroys nothing of the program's.
    ///
    /// Its queues become tenure's to submit to: the program submits to them only inside
    /// [`Gpu::submit_external`](tenure_core::Gpu::submit_external), and uses them otherwise inside
    /// [`with_queue`](Self::with_queue).
    ///
    /// # Errors
    /// [`CreateError::TooOld`], [`CreateError::InvalidRaw`]; [`CreateError::ExtensionNotEnabled`] when something that
    /// `raw` calls enabled is of an extension which is neither in [`Raw::extensions`] nor part of
    /// [`Raw::api_version`], and [`CreateError::NoFunction`] when the device lacks a function of it, both unless
    /// [`Options::without`] names it; [`CreateError::Failed`] when semaphores cannot be made.
    ///
    /// # Safety
    /// What `raw` says is true: the objects belong together, and versions, features and extensions
    /// are those they were created with. They live until this device, its clones and all that was
    /// made with it are gone. Meanwhile the program uses the queues only inside
    /// [`Gpu::submit_external`](tenure_core::Gpu::submit_external) or [`with_queue`](Self::with_queue).
    /// `vkDeviceWaitIdle` uses all queues.
    pub unsafe fn from_raw(raw: Raw, options: &Options) -> Result<Self, CreateError> {
        // SAFETY: the caller promises just this.
        unsafe { wrap(raw, options) }
    }
}
