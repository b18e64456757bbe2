//! The structures with all features of one version of Vulkan. Vulkan does not allow the structures of single features
//! beside them in one chain.

use core::ffi::CStr;

use ash::vk;

use crate::features::ApiVersion;

const V11: vk::StructureType = vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
const V12: vk::StructureType = vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
const V13: vk::StructureType = vk::StructureType::PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;

/// Extensions that go together with features of a version's structure, where that is in the chain
/// (VUID-VkDeviceCreateInfo-ppEnabledExtensionNames-02831 to 02835, pNext-04476).
pub(super) const IMPLIED: [(&CStr, vk::StructureType, &str); 7] = [
    (ash::khr::shader_draw_parameters::NAME, V11, "shader_draw_parameters"),
    (ash::khr::draw_indirect_count::NAME, V12, "draw_indirect_count"),
    (ash::khr::sampler_mirror_clamp_to_edge::NAME, V12, "sampler_mirror_clamp_to_edge"),
    (ash::ext::descriptor_indexing::NAME, V12, "descriptor_indexing"),
    (ash::ext::sampler_filter_minmax::NAME, V12, "sampler_filter_minmax"),
    (ash::ext::shader_viewport_index_layer::NAME, V12, "shader_output_viewport_index"),
    (ash::ext::shader_viewport_index_layer::NAME, V12, "shader_output_layer"),
];

/// The first version with a structure for a whole version.
pub(super) fn since(kind: vk::StructureType) -> Option<ApiVersion> {
    match kind {
        // The structure for 1.1 is of 1.2, too.
        V11 | V12 => Some(ApiVersion::V1_2),
        V13 => Some(ApiVersion::V1_3),
        _ => None,
    }
}

/// The structure for a whole version that has the features of a smaller one
/// (VUID-VkDeviceCreateInfo-pNext-02829, 02830, 06532).
pub(super) fn whole_of(part: vk::StructureType) -> Option<vk::StructureType> {
    use vk::StructureType as T;
    match part {
        T::PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES
        | T::PHYSICAL_DEVICE_MULTIVIEW_FEATURES
        | T::PHYSICAL_DEVICE_VARIABLE_POINTERS_FEATURES
        | T::PHYSICAL_DEVICE_PROTECTED_MEMORY_FEATURES
        | T::PHYSICAL_DEVICE_SAMPLER_YCBCR_CONVERSION_FEATURES
        | T::PHYSICAL_DEVICE_SHADER_DRAW_PARAMETERS_FEATURES => Some(V11),
        T::PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES
        | T::PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES
        | T::PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES
        | T::PHYSICAL_DEVICE_DESCRIPTOR_INDEXING_FEATURES
        | T::PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES
        | T::PHYSICAL_DEVICE_IMAGELESS_FRAMEBUFFER_FEATURES
        | T::PHYSICAL_DEVICE_UNIFORM_BUFFER_STANDARD_LAYOUT_FEATURES
        | T::PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES
        | T::PHYSICAL_DEVICE_SEPARATE_DEPTH_STENCIL_LAYOUTS_FEATURES
        | T::PHYSICAL_DEVICE_HOST_QUERY_RESET_FEATURES
        | T::PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES
        | T::PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES
        | T::PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES => Some(V12),
        T::PHYSICAL_DEVICE_DYNAMIC_RENDERING_FEATURES
        | T::PHYSICAL_DEVICE_IMAGE_ROBUSTNESS_FEATURES
        | T::PHYSICAL_DEVICE_INLINE_UNIFORM_BLOCK_FEATURES
        | T::PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES
        | T::PHYSICAL_DEVICE_PIPELINE_CREATION_CACHE_CONTROL_FEATURES
        | T::PHYSICAL_DEVICE_PRIVATE_DATA_FEATURES
        | T::PHYSICAL_DEVICE_SHADER_DEMOTE_TO_HELPER_INVOCATION_FEATURES
        | T::PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES
        | T::PHYSICAL_DEVICE_SHADER_TERMINATE_INVOCATION_FEATURES
        | T::PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES
        | T::PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES
        | T::PHYSICAL_DEVICE_TEXTURE_COMPRESSION_ASTC_HDR_FEATURES
        | T::PHYSICAL_DEVICE_ZERO_INITIALIZE_WORKGROUP_MEMORY_FEATURES => Some(V13),
        _ => None,
    }
}
