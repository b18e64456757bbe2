//! Wrapping of devices created by the program.

use core::ffi::CStr;
use std::ffi::CString;
use std::fmt;

use ash::vk;
use tenure_core::device::{MAX_QUEUES, QueueKind, QueueProperties};

use super::create::{QueueHandle, assemble, family_of};
use super::queues;
use super::support::{extensions_for, is_enough, other_name, sparse};
use crate::device::Device;
use crate::error::CreateError;
use crate::features::{ApiVersion, OptionalFeatures, Portability};
use crate::instance::{AddressReports, DeviceConfig};
use crate::loaded::{Handles, Owner};
use crate::queue::Family;

/// A queue of a device to be wrapped.
#[derive(Clone, Copy, Debug)]
pub struct RawQueue {
    /// The queue.
    pub queue: vk::Queue,
    /// The family.
    pub family: u32,
    /// The kind of work for tenure; `None`: everything that its family supports.
    pub kind: Option<QueueKind>,
}

/// A device created by the program, and its creation parameters. A program without objects of `ash` creates it by
/// [`from_create_info`](Self::from_create_info).
///
/// ```
/// use ash::vk;
/// use tenure_vulkan::{ApiVersion, CreateError, Device, OptionalFeatures, DeviceConfig, Raw, RawQueue};
///
/// /// What the engine made stays the engine's.
/// fn wrap(
///     instance: ash::Instance,
///     physical_device: vk::PhysicalDevice,
///     device: ash::Device,
///     queue: vk::Queue,
/// ) -> Result<Device, CreateError> {
///     let queues = vec![RawQueue { queue, family: 0, kind: None }];
///     let raw = Raw::new(instance, physical_device, device, ApiVersion::V1_2, queues)
///         .enabled(OptionalFeatures::TIMELINE_SEMAPHORES | OptionalFeatures::DEDICATED_ALLOCATION);
///     // SAFETY: the engine's objects outlive the device and all that is made with it, `enabled` and
///     // `features` are what the device was created with, and the queue is used through tenure only.
///     unsafe { Device::from_raw(raw, &DeviceConfig::default()) }
/// }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Raw {
    /// The loader, for [`Device::entry`](crate::Device::entry) and [`DeviceConfig::address_reports`]; tenure does not need it
    /// otherwise.
    pub entry: Option<ash::Entry>,
    /// The instance.
    pub instance: ash::Instance,
    /// The physical device.
    pub physical_device: vk::PhysicalDevice,
    /// The device.
    pub device: ash::Device,
    /// The lower of the versions that the instance was created for and the physical device has.
    pub api_version: ApiVersion,
    /// The queues to use, at most [`MAX_QUEUES`], each once; the first of a family with graphics
    /// and compute.
    pub queues: Vec<RawQueue>,
    /// The enabled optional features: device extensions with their features, and for
    /// [`DEBUG_NAMES`](OptionalFeatures::DEBUG_NAMES) `VK_EXT_debug_utils` of the instance.
    /// [`DEDICATED_ALLOCATION`](OptionalFeatures::DEDICATED_ALLOCATION) is always available. Features that are
    /// not part of `api_version` need their extension in `extensions`.
    pub enabled: OptionalFeatures,
    /// The enabled features of Vulkan 1.0.
    pub features: vk::PhysicalDeviceFeatures,
    /// The enabled features of descriptor indexing, by this structure or by Vulkan 1.2's, whose fields have the
    /// same names. [`DESCRIPTOR_INDEXING`](OptionalFeatures::DESCRIPTOR_INDEXING) is used if all features in its
    /// documentation are enabled; for constants too if `descriptorBindingUniformBufferUpdateAfterBind` is.
    /// `pNext` is not followed.
    pub descriptor_indexing: vk::PhysicalDeviceDescriptorIndexingFeatures<'static>,
    /// The enabled features of `VK_KHR_portability_subset`, on a portability device (MoltenVK); `None` if that
    /// extension is not enabled. `pNext` is not followed.
    pub portability: Option<vk::PhysicalDevicePortabilitySubsetFeaturesKHR<'static>>,
    /// Families of the program's other queues that use tenure's buffers: all buffers are shared with them as with
    /// the families of `queues`. The program transfers textures to them itself.
    pub other_families: Vec<u32>,
    /// The enabled device extensions: the ones that `enabled` needs, and the program's, because mesh shaders and
    /// ray tracing add shader stages to wait for.
    pub extensions: Vec<CString>,
}

tenure_core::setters!(Raw {
    entry: Option<ash::Entry>,
    instance: ash::Instance,
    physical_device: vk::PhysicalDevice,
    device: ash::Device,
    api_version: ApiVersion,
    queues: Vec<RawQueue>,
    enabled: OptionalFeatures,
    features: vk::PhysicalDeviceFeatures,
    descriptor_indexing: vk::PhysicalDeviceDescriptorIndexingFeatures<'static>,
    portability: Option<vk::PhysicalDevicePortabilitySubsetFeaturesKHR<'static>>,
    other_families: Vec<u32>,
    extensions: Vec<CString>,
});

impl Raw {
    /// A device without optional features, and without extensions beyond those of `api_version`; setters add
    /// those that the program has enabled.
    #[must_use]
    pub fn new(
        instance: ash::Instance,
        physical_device: vk::PhysicalDevice,
        device: ash::Device,
        api_version: ApiVersion,
        queues: Vec<RawQueue>,
    ) -> Self {
        Self {
            entry: None,
            instance,
            physical_device,
            device,
            api_version,
            queues,
            enabled: OptionalFeatures::empty(),
            features: vk::PhysicalDeviceFeatures::default(),
            descriptor_indexing: vk::PhysicalDeviceDescriptorIndexingFeatures::default(),
            portability: None,
            other_families: Vec::new(),
            extensions: Vec::new(),
        }
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Raw")
            .field("physical_device", &self.physical_device)
            .field("device", &self.device.handle())
            .field("api_version", &self.api_version)
            .field("queues", &self.queues)
            .field("enabled", &self.enabled)
            .field("other_families", &self.other_families)
            .finish_non_exhaustive()
    }
}

/// Wraps a device.
///
/// # Safety
/// As [`Device::from_raw`](crate::Device::from_raw).
pub(crate) unsafe fn wrap(raw: Raw, options: &DeviceConfig) -> Result<Device, CreateError> {
    let Raw { entry, instance, physical_device, device, api_version, queues, .. } = raw;
    if api_version < ApiVersion::V1_1 {
        return Err(CreateError::TooOld { found: api_version });
    }
    // SAFETY: the caller promises that the physical device belongs to the instance.
    let found = unsafe { instance.get_physical_device_queue_family_properties(physical_device) };
    let found: Vec<Family> = found.iter().map(Family::from).collect();
    let enabled = raw.enabled & options.usable();
    check_extensions(enabled, api_version, &raw.extensions)?;
    let queues = check_queues(&queues, &found, options.max_queues)?;
    check_families(&raw.other_families, &found)?;
    // A portability device without its feature structure is assumed to lack all features of the subset.
    let is_subset = raw.extensions.iter().any(|name| name.as_c_str() == ash::khr::portability_subset::NAME);
    let portability = raw.portability.or_else(|| is_subset.then(Default::default));
    let mut enabled = usable(enabled, &raw.features, &raw.descriptor_indexing);
    let entry_for_reports = entry.as_ref().filter(|_| enabled.contains(OptionalFeatures::ADDRESS_REPORTS));
    // SAFETY: `enabled` has names only with `VK_EXT_debug_utils`; the caller promises not to use the instance now.
    let addresses = entry_for_reports.and_then(|entry| unsafe { AddressReports::create(entry, &instance) });
    enabled.set(OptionalFeatures::ADDRESS_REPORTS, addresses.is_some());
    let handles = Handles {
        entry,
        instance,
        physical: physical_device,
        device,
        version: api_version.min(options.api_version).min(ApiVersion::V1_3),
        enabled,
        features: raw.features,
        extensions: raw.extensions,
        indexing: raw.descriptor_indexing,
        portability: portability.map_or(Portability::ALL, |enabled| Portability::of(&enabled)),
        other_families: raw.other_families,
        assumed_driver: options.assumed_driver,
        has_markers: options.markers,
        fault_folder: options.fault_folder.clone(),
    };
    assemble(handles, queues, Vec::new(), (Owner::Caller, addresses))
}

/// The enabled features without the ones that have an unmet requirement.
fn usable(
    enabled: OptionalFeatures,
    features: &vk::PhysicalDeviceFeatures,
    indexing: &vk::PhysicalDeviceDescriptorIndexingFeatures<'_>,
) -> OptionalFeatures {
    let all_sparse = OptionalFeatures::SPARSE_BUFFERS | OptionalFeatures::SPARSE_TEXTURES;
    let mut enabled = enabled.difference(all_sparse.difference(sparse(features)));
    if !is_enough(indexing) {
        enabled.remove(OptionalFeatures::DESCRIPTOR_INDEXING);
    }
    enabled.without_unmet()
}

fn check_families(others: &[u32], families: &[Family]) -> Result<(), CreateError> {
    let is_there = |family: &&u32| usize::try_from(**family).is_ok_and(|index| index < families.len());
    match others.iter().find(|family| !is_there(family)) {
        None => Ok(()),
        Some(family) => {
            let rule = "the families of the program's other queues exist";
            Err(CreateError::InvalidRaw { rule, value: u64::from(*family) })
        }
    }
}

fn check_queues(
    queues: &[RawQueue],
    families: &[Family],
    most: usize,
) -> Result<Vec<QueueHandle>, CreateError> {
    let broken = |rule, value: u64| Err(CreateError::InvalidRaw { rule, value });
    if queues.is_empty() || queues.len() > MAX_QUEUES {
        return broken("there are 1 to 8 queues", queues.len() as u64);
    }
    let mut handles: Vec<QueueHandle> = Vec::new();
    for raw in queues.iter().take(most.max(1)) {
        let family = family_of(families, raw.family);
        let Some(able) = queues::kind(family.flags) else {
            return broken("the family of each queue exists and can at least copy", u64::from(raw.family));
        };
        let kind = raw.kind.unwrap_or(able);
        // Kinds are ordered by their capabilities, the most capable first.
        if kind < able {
            return broken("the family of a queue can do what the queue is for", u64::from(raw.family));
        }
        if handles.is_empty() && kind != QueueKind::Graphics {
            return broken("the first queue can do everything", u64::from(raw.family));
        }
        if handles.iter().any(|known| known.handle == raw.queue) {
            return broken("each queue is there once", u64::from(raw.family));
        }
        let properties = QueueProperties { kind, family: raw.family };
        handles.push(QueueHandle { properties, family, handle: raw.queue });
    }
    Ok(handles)
}

/// Additional extensions that features need: until a version includes them, or in all versions.
const ALSO: [(OptionalFeatures, Option<ApiVersion>, &CStr); 9] = [
    (OptionalFeatures::ACCELERATION_STRUCTURES, Some(ApiVersion::V1_2), ash::ext::descriptor_indexing::NAME),
    (OptionalFeatures::RAY_QUERIES, Some(ApiVersion::V1_2), ash::khr::spirv_1_4::NAME),
    (OptionalFeatures::RAY_TRACING_PIPELINES, Some(ApiVersion::V1_2), ash::khr::spirv_1_4::NAME),
    (OptionalFeatures::HOST_IMAGE_COPY, Some(ApiVersion::V1_3), ash::khr::copy_commands2::NAME),
    (OptionalFeatures::HOST_IMAGE_COPY, Some(ApiVersion::V1_3), ash::khr::format_feature_flags2::NAME),
    (OptionalFeatures::PAGEABLE_MEMORY, None, ash::ext::memory_priority::NAME),
    (OptionalFeatures::SWAPCHAIN_MAINTENANCE1, None, ash::khr::swapchain::NAME),
    (OptionalFeatures::PRESENT_ID, None, ash::khr::swapchain::NAME),
    (OptionalFeatures::PRESENT_WAIT, None, ash::khr::swapchain::NAME),
];

/// An error for a feature that needs an extension which is neither enabled nor part of the version.
pub(super) fn check_extensions(
    features: OptionalFeatures,
    version: ApiVersion,
    enabled: &[CString],
) -> Result<(), CreateError> {
    let is_enabled = |name: &CStr| enabled.iter().any(|extension| extension.as_c_str() == name);
    let is_there = |name| is_enabled(name) || other_name(name).is_some_and(is_enabled);
    for (feature, one) in features.iter_names() {
        let also = ALSO.iter().filter(|row| row.0 == one && row.1.is_none_or(|included| version < included));
        let mut needed = extensions_for(one, version).chain(also.map(|row| row.2));
        if let Some(missing) = needed.find(|name| !is_there(name)) {
            let extension = missing.to_str().unwrap_or_default();
            return Err(CreateError::ExtensionNotEnabled { feature, extension, version });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The missing extensions of a feature, looked up one by one.
    fn missing(feature: OptionalFeatures, version: ApiVersion) -> Vec<&'static str> {
        let mut enabled: Vec<CString> = Vec::new();
        let mut missing = Vec::new();
        while let Err(CreateError::ExtensionNotEnabled { extension, .. }) =
            check_extensions(feature, version, &enabled)
        {
            missing.push(extension);
            enabled.push(CString::new(extension).unwrap());
            assert!(missing.len() < 30, "{missing:?}");
        }
        missing
    }

    #[test]
    fn each_feature_needs_its_extension_until_a_version_has_it() {
        let (v11, v12, v13) = (ApiVersion::V1_1, ApiVersion::V1_2, ApiVersion::V1_3);
        let sync = OptionalFeatures::SYNCHRONIZATION2;
        assert_eq!(missing(sync, v12), ["VK_KHR_synchronization2"]);
        assert!(missing(sync, v13).is_empty());
        assert_eq!(missing(OptionalFeatures::DESCRIPTOR_INDEXING, v11), ["VK_EXT_descriptor_indexing"]);
        assert_eq!(missing(OptionalFeatures::MEMORY_BUDGET, v13), ["VK_EXT_memory_budget"]);
        let structures = OptionalFeatures::ACCELERATION_STRUCTURES;
        let deferred = ["VK_KHR_acceleration_structure", "VK_KHR_deferred_host_operations"];
        assert_eq!(missing(structures, v12), deferred);
        assert_eq!(missing(structures, v11)[2..], ["VK_EXT_descriptor_indexing"]);
        assert_eq!(missing(OptionalFeatures::RAY_QUERIES, v11), ["VK_KHR_ray_query", "VK_KHR_spirv_1_4"]);
        let pageable = ["VK_EXT_pageable_device_local_memory", "VK_EXT_memory_priority"];
        assert_eq!(missing(OptionalFeatures::PAGEABLE_MEMORY, v13), pageable);
        let mutable = OptionalFeatures::MUTABLE_DESCRIPTORS;
        assert_eq!(missing(mutable, v13), ["VK_EXT_mutable_descriptor_type"]);
        let free = OptionalFeatures::DEDICATED_ALLOCATION
            | OptionalFeatures::DEBUG_NAMES
            | OptionalFeatures::SPARSE_BUFFERS
            | OptionalFeatures::SPARSE_TEXTURES;
        assert!(missing(free, v11).is_empty(), "of Vulkan 1.1 or of the instance");
        assert_eq!(missing(OptionalFeatures::HOST_IMAGE_COPY, v13), ["VK_EXT_host_image_copy"]);
        assert_eq!(missing(OptionalFeatures::HOST_IMAGE_COPY, v12).len(), 3);
        assert_eq!(missing(OptionalFeatures::BUFFER_MARKERS, v13), ["VK_AMD_buffer_marker"]);
        assert_eq!(missing(OptionalFeatures::all(), v13).len(), 25);
    }

    #[test]
    fn the_error_names_the_feature_and_the_extension() {
        let both = OptionalFeatures::TIMELINE_SEMAPHORES | OptionalFeatures::MAINTENANCE4;
        let error = check_extensions(both, ApiVersion::V1_2, &[]).unwrap_err().to_string();
        let expected = "MAINTENANCE4 is listed as enabled, but needs VK_KHR_maintenance4 with Vulkan 1.2";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn an_extension_has_the_name_that_it_was_taken_over_by() {
        let enabled = [c"VK_KHR_robustness2".to_owned()];
        assert_eq!(check_extensions(OptionalFeatures::NULL_DESCRIPTORS, ApiVersion::V1_1, &enabled), Ok(()));
    }
}
