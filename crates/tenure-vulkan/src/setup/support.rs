//! The capabilities of a physical device that tenure can use.

use core::ffi::CStr;
use std::ffi::CString;

use ash::vk;

use super::chain::Chain;
use crate::error::CreateError;
use crate::features::ApiVersion;
use crate::features::OptionalFeatures;
use crate::instance::KHR_SWAPCHAIN_MAINTENANCE1;
use crate::newer::{self, KHR_DEVICE_FAULT};
use crate::queue::Family;

/// An optional feature: the version that includes it, and the extension that offers it before.
const EXTENSIONS: [(OptionalFeatures, Option<ApiVersion>, &CStr); 31] = [
    (OptionalFeatures::TIMELINE_SEMAPHORES, Some(ApiVersion::V1_2), ash::khr::timeline_semaphore::NAME),
    (OptionalFeatures::SYNCHRONIZATION2, Some(ApiVersion::V1_3), ash::khr::synchronization2::NAME),
    (OptionalFeatures::BUFFER_DEVICE_ADDRESS, Some(ApiVersion::V1_2), ash::khr::buffer_device_address::NAME),
    (OptionalFeatures::MAINTENANCE4, Some(ApiVersion::V1_3), ash::khr::maintenance4::NAME),
    (OptionalFeatures::FORMAT_LISTS, Some(ApiVersion::V1_2), ash::khr::image_format_list::NAME),
    (OptionalFeatures::DESCRIPTOR_INDEXING, Some(ApiVersion::V1_2), ash::ext::descriptor_indexing::NAME),
    (OptionalFeatures::NULL_DESCRIPTORS, None, ash::ext::robustness2::NAME),
    (OptionalFeatures::MUTABLE_DESCRIPTORS, None, ash::ext::mutable_descriptor_type::NAME),
    (OptionalFeatures::DESCRIPTOR_BUFFERS, None, ash::ext::descriptor_buffer::NAME),
    (OptionalFeatures::MEMORY_BUDGET, None, ash::ext::memory_budget::NAME),
    (OptionalFeatures::MEMORY_PRIORITY, None, ash::ext::memory_priority::NAME),
    (OptionalFeatures::PAGEABLE_MEMORY, None, ash::ext::pageable_device_local_memory::NAME),
    (OptionalFeatures::ACCELERATION_STRUCTURES, None, ash::khr::acceleration_structure::NAME),
    (OptionalFeatures::RAY_QUERIES, None, ash::khr::ray_query::NAME),
    (OptionalFeatures::RAY_TRACING_PIPELINES, None, ash::khr::ray_tracing_pipeline::NAME),
    (OptionalFeatures::SWAPCHAIN_MAINTENANCE1, None, ash::ext::swapchain_maintenance1::NAME),
    (OptionalFeatures::EXTERNAL_MEMORY_FD, None, ash::khr::external_memory_fd::NAME),
    (OptionalFeatures::EXTERNAL_MEMORY_DMA_BUF, None, ash::ext::external_memory_dma_buf::NAME),
    (OptionalFeatures::EXTERNAL_SEMAPHORE_FD, None, ash::khr::external_semaphore_fd::NAME),
    (OptionalFeatures::EXTERNAL_MEMORY_HOST, None, ash::ext::external_memory_host::NAME),
    (OptionalFeatures::HOST_IMAGE_COPY, None, ash::ext::host_image_copy::NAME),
    (OptionalFeatures::QUEUE_FAMILY_FOREIGN, None, ash::ext::queue_family_foreign::NAME),
    (OptionalFeatures::DEVICE_FAULT, None, ash::ext::device_fault::NAME),
    (OptionalFeatures::DEVICE_FAULT_DATA, None, ash::ext::device_fault::NAME),
    (OptionalFeatures::KHR_DEVICE_FAULT, None, KHR_DEVICE_FAULT),
    (OptionalFeatures::KHR_DEVICE_FAULT_DATA, None, KHR_DEVICE_FAULT),
    (OptionalFeatures::ADDRESS_REPORTS, None, ash::ext::device_address_binding_report::NAME),
    (OptionalFeatures::BUFFER_MARKERS, None, ash::amd::buffer_marker::NAME),
    (OptionalFeatures::CHECKPOINTS, None, ash::nv::device_diagnostic_checkpoints::NAME),
    (OptionalFeatures::PRESENT_ID, None, ash::khr::present_id::NAME),
    (OptionalFeatures::PRESENT_WAIT, None, ash::khr::present_wait::NAME),
];

/// The newer name of `VK_EXT_robustness2`: the same structure, the same feature.
const KHR_ROBUSTNESS2: &CStr = c"VK_KHR_robustness2";

/// The other name of an extension that was taken over unchanged.
pub(super) fn other_name(name: &CStr) -> Option<&'static CStr> {
    let names = [
        (ash::ext::robustness2::NAME, KHR_ROBUSTNESS2),
        (ash::ext::swapchain_maintenance1::NAME, KHR_SWAPCHAIN_MAINTENANCE1),
        (ash::ext::mutable_descriptor_type::NAME, ash::valve::mutable_descriptor_type::NAME),
    ];
    names.into_iter().find(|(known, _)| *known == name).map(|(_, other)| other)
}

/// The capabilities of a physical device.
#[derive(Clone, Debug)]
pub(crate) struct Support {
    /// The version of the device, as far as the instance allows.
    pub(crate) version: ApiVersion,
    pub(crate) optional: OptionalFeatures,
    pub(crate) features: vk::PhysicalDeviceFeatures,
    /// The features and limits of descriptor indexing.
    pub(crate) indexing: Indexing,
    /// The features of a device with `VK_KHR_portability_subset`; `None` for other devices.
    pub(crate) portability: Option<PortabilityFeatures>,
    pub(crate) extensions: Vec<CString>,
    pub(crate) families: Vec<Family>,
}

pub(super) type PortabilityFeatures = vk::PhysicalDevicePortabilitySubsetFeaturesKHR<'static>;

/// A structure for each feature: its field, its type, the switch in it, and those of features that need the first.
macro_rules! chained {
    ($($field:ident: $structure:ident, $switch:ident = $feature:ident $(, $more:ident = $also:ident)*;)*) => {
        /// The structures for querying and enabling features.
        #[derive(Default)]
        pub(crate) struct FeatureChain {
            $($field: newer::$structure<'static>,)*
            pub(super) indexing: vk::PhysicalDeviceDescriptorIndexingFeatures<'static>,
            /// Linked if the device is a portability subset.
            pub(super) portability: Option<PortabilityFeatures>,
        }

        impl FeatureChain {
            fn set(&mut self, wanted: OptionalFeatures) {
                let on = |feature| vk::Bool32::from(wanted.contains(feature));
                $(
                    self.$field.$switch = on(OptionalFeatures::$feature);
                    $(self.$field.$more = on(OptionalFeatures::$also);)*
                )*
            }

            /// The features of `asked` whose switch is on, or that have no switch.
            pub(super) fn granted(&self, mut asked: OptionalFeatures) -> OptionalFeatures {
                let mut grant = |switch, feature| {
                    if switch == vk::FALSE {
                        asked.remove(feature);
                    }
                };
                $(
                    grant(self.$field.$switch, OptionalFeatures::$feature);
                    $(grant(self.$field.$more, OptionalFeatures::$also);)*
                )*
                if !is_enough(&self.indexing) {
                    asked.remove(OptionalFeatures::DESCRIPTOR_INDEXING);
                }
                asked
            }

            /// Adds the structures of `wanted` to `features`.
            pub(crate) fn link<'a>(
                &'a mut self,
                wanted: OptionalFeatures,
                mut features: vk::PhysicalDeviceFeatures2<'a>,
            ) -> vk::PhysicalDeviceFeatures2<'a> {
                $(if wanted.contains(OptionalFeatures::$feature) {
                    features = features.push_next(&mut self.$field);
                })*
                if wanted.contains(OptionalFeatures::DESCRIPTOR_INDEXING) {
                    features = features.push_next(&mut self.indexing);
                }
                if let Some(portability) = &mut self.portability {
                    features = features.push_next(portability);
                }
                features
            }
        }
    };
}

chained! {
    timeline: PhysicalDeviceTimelineSemaphoreFeatures, timeline_semaphore = TIMELINE_SEMAPHORES;
    synchronization2: PhysicalDeviceSynchronization2Features, synchronization2 = SYNCHRONIZATION2;
    address: PhysicalDeviceBufferDeviceAddressFeatures, buffer_device_address = BUFFER_DEVICE_ADDRESS;
    maintenance4: PhysicalDeviceMaintenance4Features, maintenance4 = MAINTENANCE4;
    priority: PhysicalDeviceMemoryPriorityFeaturesEXT, memory_priority = MEMORY_PRIORITY;
    pageable: PhysicalDevicePageableDeviceLocalMemoryFeaturesEXT, pageable_device_local_memory = PAGEABLE_MEMORY;
    structures: PhysicalDeviceAccelerationStructureFeaturesKHR, acceleration_structure = ACCELERATION_STRUCTURES;
    ray_queries: PhysicalDeviceRayQueryFeaturesKHR, ray_query = RAY_QUERIES;
    ray_pipelines: PhysicalDeviceRayTracingPipelineFeaturesKHR, ray_tracing_pipeline = RAY_TRACING_PIPELINES;
    robustness: PhysicalDeviceRobustness2FeaturesEXT, null_descriptor = NULL_DESCRIPTORS;
    buffers: PhysicalDeviceDescriptorBufferFeaturesEXT, descriptor_buffer = DESCRIPTOR_BUFFERS;
    mutable: PhysicalDeviceMutableDescriptorTypeFeaturesEXT, mutable_descriptor_type = MUTABLE_DESCRIPTORS;
    swapchain: PhysicalDeviceSwapchainMaintenance1FeaturesEXT, swapchain_maintenance1 = SWAPCHAIN_MAINTENANCE1;
    host_copies: PhysicalDeviceHostImageCopyFeaturesEXT, host_image_copy = HOST_IMAGE_COPY;
    faults: PhysicalDeviceFaultFeaturesEXT, device_fault = DEVICE_FAULT,
        device_fault_vendor_binary = DEVICE_FAULT_DATA;
    khr_faults: PhysicalDeviceFaultFeaturesKHR, device_fault = KHR_DEVICE_FAULT,
        device_fault_vendor_binary = KHR_DEVICE_FAULT_DATA;
    reports: PhysicalDeviceAddressBindingReportFeaturesEXT, report_address_binding = ADDRESS_REPORTS;
    present_id: PhysicalDevicePresentIdFeaturesKHR, present_id = PRESENT_ID;
    present_wait: PhysicalDevicePresentWaitFeaturesKHR, present_wait = PRESENT_WAIT;
}

impl FeatureChain {
    /// A chain of the structures of `wanted`, with each feature enabled, and all features of `indexing` and of a
    /// portability subset.
    pub(crate) fn enabling(
        wanted: OptionalFeatures,
        indexing: &Indexing,
        portability: Option<PortabilityFeatures>,
    ) -> Self {
        let mut chain = Self { portability, ..Self::default() };
        chain.set(wanted);
        if wanted.contains(OptionalFeatures::DESCRIPTOR_INDEXING) {
            chain.indexing = indexing.features;
        }
        chain
    }

    /// The features that the chain of a device enables.
    pub(super) fn enabled_in(device: &Chain, is_subset: bool) -> (Self, vk::PhysicalDeviceFeatures) {
        let mut chain = Self { portability: is_subset.then(PortabilityFeatures::default), ..Self::default() };
        let mut features = chain.link(OptionalFeatures::all(), vk::PhysicalDeviceFeatures2::default());
        // SAFETY: all that it points to is in `chain`.
        unsafe { device.copy_to(core::ptr::from_mut(&mut features).cast()) };
        let features = features.features;
        (chain, features)
    }
}

/// The descriptor indexing of a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Indexing {
    pub(crate) features: vk::PhysicalDeviceDescriptorIndexingFeatures<'static>,
    /// Robust access to buffers does not rule it out.
    pub(crate) is_robust: bool,
}

impl Indexing {
    fn of(
        chain: &FeatureChain,
        granted: OptionalFeatures,
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
    ) -> Self {
        if !granted.contains(OptionalFeatures::DESCRIPTOR_INDEXING) {
            return Self::default();
        }
        let mut found = vk::PhysicalDeviceDescriptorIndexingProperties::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut found);
        // SAFETY: the structure in the chain belongs to a version or extension of the device.
        unsafe { instance.get_physical_device_properties2(physical, &mut properties) };
        let next = core::ptr::null_mut();
        Self {
            features: vk::PhysicalDeviceDescriptorIndexingFeatures { p_next: next, ..chain.indexing },
            is_robust: found.robust_buffer_access_update_after_bind == vk::TRUE,
        }
    }
}

/// True if it is sufficient for descriptor heaps.
pub(crate) fn is_enough(found: &vk::PhysicalDeviceDescriptorIndexingFeatures<'_>) -> bool {
    [
        found.runtime_descriptor_array,
        found.descriptor_binding_partially_bound,
        found.descriptor_binding_update_unused_while_pending,
        found.descriptor_binding_sampled_image_update_after_bind,
        found.descriptor_binding_storage_image_update_after_bind,
        found.descriptor_binding_storage_buffer_update_after_bind,
        found.descriptor_binding_uniform_texel_buffer_update_after_bind,
        found.descriptor_binding_storage_texel_buffer_update_after_bind,
    ]
    .into_iter()
    .all(|feature| feature == vk::TRUE)
}

/// The supported sparse memory, by Vulkan 1.0's features. Tiles are shared between resources, so it requires
/// aliasing.
pub(crate) fn sparse(features: &vk::PhysicalDeviceFeatures) -> OptionalFeatures {
    let on = |feature: vk::Bool32| feature == vk::TRUE;
    let is_there = on(features.sparse_binding) && on(features.sparse_residency_aliased);
    let mut found = OptionalFeatures::empty();
    found.set(OptionalFeatures::SPARSE_BUFFERS, is_there && on(features.sparse_residency_buffer));
    found.set(OptionalFeatures::SPARSE_TEXTURES, is_there && on(features.sparse_residency_image2_d));
    found
}

/// Everything that depends on a version or an extension.
pub(crate) fn versioned() -> OptionalFeatures {
    EXTENSIONS.iter().fold(OptionalFeatures::empty(), |all, row| all | row.0)
}

/// The extensions to enable for `wanted` on a device of that version.
pub(crate) fn extensions_for(
    wanted: OptionalFeatures,
    version: ApiVersion,
) -> impl Iterator<Item = &'static CStr> {
    let needed = move |row: &&(OptionalFeatures, Option<ApiVersion>, &'static CStr)| {
        wanted.contains(row.0) && row.1.is_none_or(|included| version < included)
    };
    let structures = wanted.contains(OptionalFeatures::ACCELERATION_STRUCTURES);
    let deferred = structures.then_some(ash::khr::deferred_host_operations::NAME);
    EXTENSIONS.iter().filter(needed).map(|row| row.2).chain(deferred)
}

/// The features in the table that the version and the extensions provide.
pub(super) fn offered(version: ApiVersion, has: impl Fn(&CStr) -> bool) -> OptionalFeatures {
    let mut offered = OptionalFeatures::empty();
    for (feature, included, name) in EXTENSIONS {
        let in_core = included.is_some_and(|included| version >= included);
        offered.set(feature, in_core || has(name) || other_name(name).is_some_and(&has));
    }
    // The dependencies of acceleration structures are core from Vulkan 1.2 on. Older versions have too many to
    // list.
    let structures = version >= ApiVersion::V1_2 && has(ash::khr::deferred_host_operations::NAME);
    // As for the copies of texels by the CPU, from 1.3 on.
    if version < ApiVersion::V1_3 {
        offered.remove(OptionalFeatures::HOST_IMAGE_COPY);
    }
    if !structures {
        offered.remove(OptionalFeatures::ACCELERATION_STRUCTURES);
    }
    if !offered.contains(OptionalFeatures::ACCELERATION_STRUCTURES) {
        offered.remove(OptionalFeatures::RAY_QUERIES | OptionalFeatures::RAY_TRACING_PIPELINES);
    }
    offered
}

impl Support {
    /// Queries a physical device of an instance of the given version.
    pub(crate) fn of(
        instance: &ash::Instance,
        physical: vk::PhysicalDevice,
        instance_version: ApiVersion,
    ) -> Result<Self, CreateError> {
        // SAFETY: the physical device is one of the instance's.
        let (properties, found, families) = unsafe {
            (
                instance.get_physical_device_properties(physical),
                instance.enumerate_device_extension_properties(physical),
                instance.get_physical_device_queue_family_properties(physical),
            )
        };
        let found = found.map_err(CreateError::failed("vkEnumerateDeviceExtensionProperties"))?;
        let names = found.iter().filter_map(|each| each.extension_name_as_c_str().ok());
        let mut support = Self {
            version: ApiVersion::from_packed(properties.api_version).min(instance_version),
            optional: OptionalFeatures::DEDICATED_ALLOCATION | OptionalFeatures::DEBUG_NAMES,
            features: vk::PhysicalDeviceFeatures::default(),
            indexing: Indexing::default(),
            portability: None,
            extensions: names.map(CStr::to_owned).collect(),
            families: families.iter().map(Family::from).collect(),
        };
        support.optional |= support.offered_in(support.version);
        if support.version >= ApiVersion::V1_1 {
            support.ask(instance, physical);
        }
        Ok(support)
    }

    /// The features in the table that a version and the extensions allow.
    pub(crate) fn offered_in(&self, version: ApiVersion) -> OptionalFeatures {
        offered(version, |name| self.has_extension(name))
    }

    /// Queries the supported features among the candidates.
    fn ask(&mut self, instance: &ash::Instance, physical: vk::PhysicalDevice) {
        let asked = self.optional;
        let is_subset = self.has_extension(ash::khr::portability_subset::NAME);
        let mut chain = FeatureChain {
            portability: is_subset.then(PortabilityFeatures::default),
            ..FeatureChain::default()
        };
        let mut features = chain.link(asked, vk::PhysicalDeviceFeatures2::default());
        // SAFETY: each structure in the chain belongs to a version or extension of the device.
        unsafe { instance.get_physical_device_features2(physical, &mut features) };
        self.features = features.features;
        self.optional = chain.granted(asked);
        let next = core::ptr::null_mut();
        self.portability = chain.portability.map(|found| PortabilityFeatures { p_next: next, ..found });
        self.indexing = Indexing::of(&chain, self.optional, instance, physical);
        self.optional = self.optional.without_unmet();
        let binds = |family: &Family| family.flags.contains(vk::QueueFlags::SPARSE_BINDING);
        if self.families.iter().any(binds) {
            self.optional |= sparse(&self.features);
        }
    }

    /// The name under which an extension is supported.
    pub(crate) fn offered_name(&self, name: &'static CStr) -> Option<&'static CStr> {
        [Some(name), other_name(name)].into_iter().flatten().find(|name| self.has_extension(name))
    }

    pub(crate) fn has_extension(&self, name: &CStr) -> bool {
        self.extensions.iter().any(|extension| extension.as_c_str() == name)
    }
}

/// The Vulkan 1.0 features in both sets.
pub(crate) fn both(
    wanted: &vk::PhysicalDeviceFeatures,
    offered: &vk::PhysicalDeviceFeatures,
) -> vk::PhysicalDeviceFeatures {
    combined(wanted, offered, |wanted, offered| wanted && offered)
}

/// The Vulkan 1.0 features in one of the sets.
pub(super) fn either(
    one: &vk::PhysicalDeviceFeatures,
    other: &vk::PhysicalDeviceFeatures,
) -> vk::PhysicalDeviceFeatures {
    combined(one, other, |one, other| one || other)
}

/// Combines the flags of two sets of Vulkan 1.0 features by `is_on`.
fn combined(
    one: &vk::PhysicalDeviceFeatures,
    other: &vk::PhysicalDeviceFeatures,
    is_on: impl Fn(bool, bool) -> bool,
) -> vk::PhysicalDeviceFeatures {
    macro_rules! combined {
        ($($field:ident)*) => {
            vk::PhysicalDeviceFeatures {
                $($field: vk::Bool32::from(is_on(one.$field == vk::TRUE, other.$field == vk::TRUE)),)*
            }
        };
    }
    vulkan_1_0!(combined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_named_until_a_version_includes_them() {
        let names = |wanted, version| extensions_for(wanted, version).collect::<Vec<_>>();
        let timeline = OptionalFeatures::TIMELINE_SEMAPHORES;
        assert_eq!(names(timeline, ApiVersion::V1_1), [ash::khr::timeline_semaphore::NAME]);
        assert!(names(timeline, ApiVersion::V1_2).is_empty());
        let newer = OptionalFeatures::SYNCHRONIZATION2 | OptionalFeatures::MEMORY_BUDGET;
        assert_eq!(names(newer, ApiVersion::V1_2).len(), 2);
        assert_eq!(names(newer, ApiVersion::V1_3), [ash::ext::memory_budget::NAME]);
        let structures = OptionalFeatures::ACCELERATION_STRUCTURES;
        assert_eq!(names(structures, ApiVersion::V1_3).len(), 2, "with deferred host operations");
    }

    fn offering(extension: &CStr) -> Support {
        Support {
            version: ApiVersion::V1_3,
            optional: OptionalFeatures::empty(),
            features: vk::PhysicalDeviceFeatures::default(),
            indexing: Indexing::default(),
            portability: None,
            extensions: vec![extension.to_owned()],
            families: Vec::new(),
        }
    }

    #[test]
    fn some_extensions_have_two_names() {
        let name = ash::ext::robustness2::NAME;
        let (null, mutable) = (OptionalFeatures::NULL_DESCRIPTORS, OptionalFeatures::MUTABLE_DESCRIPTORS);
        let rows = [
            (null, name, c"VK_KHR_robustness2"),
            (mutable, c"VK_EXT_mutable_descriptor_type", c"VK_VALVE_mutable_descriptor_type"),
        ];
        for (feature, name, other) in rows {
            for offered in [name, other] {
                let support = offering(offered);
                assert!(support.offered_in(ApiVersion::V1_1).contains(feature), "{offered:?}");
                assert_eq!(support.offered_name(name), Some(offered), "enabled by the name that is there");
            }
        }
        assert_eq!(offering(c"VK_KHR_robustness").offered_name(name), None);
    }

    #[test]
    fn a_feature_is_granted_when_its_switch_is_on() {
        let asked = OptionalFeatures::all();
        let on = OptionalFeatures::TIMELINE_SEMAPHORES | OptionalFeatures::MAINTENANCE4;
        let granted = FeatureChain::enabling(on, &Indexing::default(), None).granted(asked);
        assert!(granted.contains(on));
        assert!(!granted.contains(OptionalFeatures::DESCRIPTOR_INDEXING), "it takes many switches");
        assert!(!granted.contains(OptionalFeatures::SYNCHRONIZATION2));
        assert!(granted.contains(OptionalFeatures::MEMORY_BUDGET), "has no switch");
    }

    /// The supported features of a portability subset are enabled with the extension.
    #[test]
    fn a_portability_subset_is_part_of_the_chain() {
        let offered = PortabilityFeatures::default().multisample_array_image(true);
        for portability in [None, Some(offered)] {
            let mut chain =
                FeatureChain::enabling(OptionalFeatures::empty(), &Indexing::default(), portability);
            let linked = chain.link(OptionalFeatures::empty(), vk::PhysicalDeviceFeatures2::default()).p_next;
            assert_eq!(!linked.is_null(), portability.is_some());
            if portability.is_some() {
                // SAFETY: the only structure in the chain, which is alive.
                let found = unsafe { &*linked.cast::<PortabilityFeatures>() };
                assert_eq!(found.s_type, offered.s_type);
                assert_eq!((found.multisample_array_image, found.events), (vk::TRUE, vk::FALSE));
            }
        }
    }

    #[test]
    fn features_are_enabled_when_wanted_and_offered() {
        let wanted = vk::PhysicalDeviceFeatures::default().sampler_anisotropy(true).shader_int64(true);
        let offered = vk::PhysicalDeviceFeatures::default().sampler_anisotropy(true).logic_op(true);
        let enabled = both(&wanted, &offered);
        assert_eq!((enabled.sampler_anisotropy, enabled.shader_int64, enabled.logic_op), (1, 0, 0));
    }
}
