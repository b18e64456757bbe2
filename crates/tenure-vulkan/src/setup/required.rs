//! The extensions without which features of a wrapped device cannot be enabled.

use core::ffi::CStr;
use std::ffi::CString;

use super::support::{extensions_for, other_name};
use crate::error::CreateError;
use crate::features::ApiVersion;
use crate::features::OptionalFeatures;

/// What features need beside the extension that they are of: until a version includes it, or in all versions.
const ALSO: [(OptionalFeatures, Option<ApiVersion>, &CStr); 7] = [
    (OptionalFeatures::ACCELERATION_STRUCTURES, Some(ApiVersion::V1_2), ash::ext::descriptor_indexing::NAME),
    (OptionalFeatures::RAY_QUERIES, Some(ApiVersion::V1_2), ash::khr::spirv_1_4::NAME),
    (OptionalFeatures::RAY_TRACING_PIPELINES, Some(ApiVersion::V1_2), ash::khr::spirv_1_4::NAME),
    (OptionalFeatures::HOST_IMAGE_COPY, Some(ApiVersion::V1_3), ash::khr::copy_commands2::NAME),
    (OptionalFeatures::HOST_IMAGE_COPY, Some(ApiVersion::V1_3), ash::khr::format_feature_flags2::NAME),
    (OptionalFeatures::PAGEABLE_MEMORY, None, ash::ext::memory_priority::NAME),
    (OptionalFeatures::SWAPCHAIN_MAINTENANCE1, None, ash::khr::swapchain::NAME),
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

    /// The extensions that are missing of what a feature needs, found one by one.
    fn missing(feature: OptionalFeatures, version: ApiVersion) -> Vec<&'static str> {
        let mut enabled: Vec<CString> = Vec::new();
        let mut missing = Vec::new();
        while let Err(CreateError::ExtensionNotEnabled { extension, .. }) =
            check_extensions(feature, version, &enabled)
        {
            missing.push(extension);
            enabled.push(CString::new(extension).unwrap());
            assert!(missing.len() < 20, "{missing:?}");
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
        assert_eq!(missing(OptionalFeatures::all(), v13).len(), 18);
    }

    #[test]
    fn the_error_names_the_feature_and_the_extension() {
        let both = OptionalFeatures::TIMELINE_SEMAPHORES | OptionalFeatures::MAINTENANCE4;
        let error = check_extensions(both, ApiVersion::V1_2, &[]).unwrap_err().to_string();
        let expected = "MAINTENANCE4 is said to be enabled, which needs VK_KHR_maintenance4 with Vulkan 1.2";
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn an_extension_has_the_name_that_it_was_taken_over_by() {
        let enabled = [c"VK_KHR_robustness2".to_owned()];
        assert_eq!(check_extensions(OptionalFeatures::NULL_DESCRIPTORS, ApiVersion::V1_1, &enabled), Ok(()));
    }
}
