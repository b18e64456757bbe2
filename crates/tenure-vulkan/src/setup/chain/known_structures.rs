//! The structures of features that `ash` declares, and newer ones, each with its features in order.

use core::mem::{align_of, offset_of, size_of};

use ash::vk;

use super::FeatureCopy;
use crate::newer;

/// A structure of features: a header, then a `VkBool32` for each.
pub(super) struct Structure {
    pub(super) kind: vk::StructureType,
    /// As the API's specification has it.
    pub(super) name: &'static str,
    pub(super) features: &'static [&'static str],
}

macro_rules! structures {
    ($($name:ident { $($feature:ident)* })*) => {
        /// All but the first of a chain.
        const STRUCTURES: &[Structure] = &[$(Structure {
            kind: <newer::$name<'static> as newer::TaggedStructure>::STRUCTURE_TYPE,
            name: concat!("Vk", stringify!($name)),
            features: &[$(stringify!($feature)),*],
        }),*];

        // A structure is copied by its number of features.
        const _: () = {$(
            let mut at = offset_of!(FeatureCopy, flags);
            $(
                assert!(offset_of!(newer::$name<'static>, $feature) == at);
                at += size_of::<vk::Bool32>();
            )*
            let size = size_of::<newer::$name<'static>>();
            assert!(at <= size && size < at + align_of::<usize>() && size <= size_of::<FeatureCopy>());
        )*};
    };
}

macro_rules! head {
    ($($feature:ident)*) => {
        /// The first of each chain: Vulkan 1.0's features.
        pub(super) static HEAD: Structure = Structure {
            kind: vk::StructureType::PHYSICAL_DEVICE_FEATURES_2,
            name: "VkPhysicalDeviceFeatures",
            features: &[$(stringify!($feature)),*],
        };

        const _: () = {
            let mut at = 0;
            $(
                assert!(offset_of!(vk::PhysicalDeviceFeatures, $feature) == at);
                at += size_of::<vk::Bool32>();
            )*
            assert!(at == size_of::<vk::PhysicalDeviceFeatures>());
            assert!(offset_of!(vk::PhysicalDeviceFeatures2<'static>, features) == offset_of!(FeatureCopy, flags));
            assert!(size_of::<vk::PhysicalDeviceFeatures2<'static>>() <= size_of::<FeatureCopy>());
        };
    };
}

/// The structure of a type; `None` if it is unknown.
pub(super) fn known(kind: vk::StructureType) -> Option<&'static Structure> {
    structures().find(|structure| structure.kind == kind)
}

/// All known structures.
pub(super) fn structures() -> impl Iterator<Item = &'static Structure> {
    core::iter::once(&HEAD).chain(STRUCTURES)
}

vulkan_1_0!(head);

structures! {
    PhysicalDeviceDeviceGeneratedCommandsFeaturesNV { device_generated_commands }
    PhysicalDeviceDeviceGeneratedCommandsComputeFeaturesNV {
        device_generated_compute device_generated_compute_pipelines device_generated_compute_capture_replay
    }
    PhysicalDevicePrivateDataFeatures { private_data }
    PhysicalDeviceVariablePointersFeatures { variable_pointers_storage_buffer variable_pointers }
    PhysicalDeviceMultiviewFeatures { multiview multiview_geometry_shader multiview_tessellation_shader }
    PhysicalDevicePresentIdFeaturesKHR { present_id }
    PhysicalDevicePresentWaitFeaturesKHR { present_wait }
    PhysicalDevice16BitStorageFeatures {
        storage_buffer16_bit_access uniform_and_storage_buffer16_bit_access storage_push_constant16
        storage_input_output16
    }
    PhysicalDeviceShaderSubgroupExtendedTypesFeatures { shader_subgroup_extended_types }
    PhysicalDeviceSamplerYcbcrConversionFeatures { sampler_ycbcr_conversion }
    PhysicalDeviceProtectedMemoryFeatures { protected_memory }
    PhysicalDeviceBlendOperationAdvancedFeaturesEXT { advanced_blend_coherent_operations }
    PhysicalDeviceMultiDrawFeaturesEXT { multi_draw }
    PhysicalDeviceInlineUniformBlockFeatures {
        inline_uniform_block descriptor_binding_inline_uniform_block_update_after_bind
    }
    PhysicalDeviceMaintenance4Features { maintenance4 }
    PhysicalDeviceMaintenance5FeaturesKHR { maintenance5 }
    PhysicalDeviceMaintenance6FeaturesKHR { maintenance6 }
    PhysicalDeviceShaderDrawParametersFeatures { shader_draw_parameters }
    PhysicalDeviceShaderFloat16Int8Features { shader_float16 shader_int8 }
    PhysicalDeviceHostQueryResetFeatures { host_query_reset }
    PhysicalDeviceGlobalPriorityQueryFeaturesKHR { global_priority_query }
    PhysicalDeviceDeviceMemoryReportFeaturesEXT { device_memory_report }
    PhysicalDeviceDescriptorIndexingFeatures {
        shader_input_attachment_array_dynamic_indexing shader_uniform_texel_buffer_array_dynamic_indexing
        shader_storage_texel_buffer_array_dynamic_indexing shader_uniform_buffer_array_non_uniform_indexing
        shader_sampled_image_array_non_uniform_indexing shader_storage_buffer_array_non_uniform_indexing
        shader_storage_image_array_non_uniform_indexing shader_input_attachment_array_non_uniform_indexing
        shader_uniform_texel_buffer_array_non_uniform_indexing
        shader_storage_texel_buffer_array_non_uniform_indexing
        descriptor_binding_uniform_buffer_update_after_bind descriptor_binding_sampled_image_update_after_bind
        descriptor_binding_storage_image_update_after_bind descriptor_binding_storage_buffer_update_after_bind
        descriptor_binding_uniform_texel_buffer_update_after_bind
        descriptor_binding_storage_texel_buffer_update_after_bind descriptor_binding_update_unused_while_pending
        descriptor_binding_partially_bound descriptor_binding_variable_descriptor_count runtime_descriptor_array
    }
    PhysicalDeviceTimelineSemaphoreFeatures { timeline_semaphore }
    PhysicalDevice8BitStorageFeatures {
        storage_buffer8_bit_access uniform_and_storage_buffer8_bit_access storage_push_constant8
    }
    PhysicalDeviceConditionalRenderingFeaturesEXT { conditional_rendering inherited_conditional_rendering }
    PhysicalDeviceVulkanMemoryModelFeatures {
        vulkan_memory_model vulkan_memory_model_device_scope vulkan_memory_model_availability_visibility_chains
    }
    PhysicalDeviceShaderAtomicInt64Features { shader_buffer_int64_atomics shader_shared_int64_atomics }
    PhysicalDeviceShaderAtomicFloatFeaturesEXT {
        shader_buffer_float32_atomics shader_buffer_float32_atomic_add shader_buffer_float64_atomics
        shader_buffer_float64_atomic_add shader_shared_float32_atomics shader_shared_float32_atomic_add
        shader_shared_float64_atomics shader_shared_float64_atomic_add shader_image_float32_atomics
        shader_image_float32_atomic_add sparse_image_float32_atomics sparse_image_float32_atomic_add
    }
    PhysicalDeviceShaderAtomicFloat2FeaturesEXT {
        shader_buffer_float16_atomics shader_buffer_float16_atomic_add shader_buffer_float16_atomic_min_max
        shader_buffer_float32_atomic_min_max shader_buffer_float64_atomic_min_max shader_shared_float16_atomics
        shader_shared_float16_atomic_add shader_shared_float16_atomic_min_max
        shader_shared_float32_atomic_min_max shader_shared_float64_atomic_min_max
        shader_image_float32_atomic_min_max sparse_image_float32_atomic_min_max
    }
    PhysicalDeviceVertexAttributeDivisorFeaturesKHR {
        vertex_attribute_instance_rate_divisor vertex_attribute_instance_rate_zero_divisor
    }
    PhysicalDeviceASTCDecodeFeaturesEXT { decode_mode_shared_exponent }
    PhysicalDeviceTransformFeedbackFeaturesEXT { transform_feedback geometry_streams }
    PhysicalDeviceRepresentativeFragmentTestFeaturesNV { representative_fragment_test }
    PhysicalDeviceExclusiveScissorFeaturesNV { exclusive_scissor }
    PhysicalDeviceCornerSampledImageFeaturesNV { corner_sampled_image }
    PhysicalDeviceComputeShaderDerivativesFeaturesNV {
        compute_derivative_group_quads compute_derivative_group_linear
    }
    PhysicalDeviceShaderImageFootprintFeaturesNV { image_footprint }
    PhysicalDeviceCopyMemoryIndirectFeaturesNV { indirect_copy }
    PhysicalDeviceMemoryDecompressionFeaturesNV { memory_decompression }
    PhysicalDeviceShadingRateImageFeaturesNV { shading_rate_image shading_rate_coarse_sample_order }
    PhysicalDeviceInvocationMaskFeaturesHUAWEI { invocation_mask }
    PhysicalDeviceMeshShaderFeaturesNV { task_shader mesh_shader }
    PhysicalDeviceMeshShaderFeaturesEXT {
        task_shader mesh_shader multiview_mesh_shader primitive_fragment_shading_rate_mesh_shader
        mesh_shader_queries
    }
    PhysicalDeviceAccelerationStructureFeaturesKHR {
        acceleration_structure acceleration_structure_capture_replay acceleration_structure_indirect_build
        acceleration_structure_host_commands descriptor_binding_acceleration_structure_update_after_bind
    }
    PhysicalDeviceRayTracingPipelineFeaturesKHR {
        ray_tracing_pipeline ray_tracing_pipeline_shader_group_handle_capture_replay
        ray_tracing_pipeline_shader_group_handle_capture_replay_mixed ray_tracing_pipeline_trace_rays_indirect
        ray_traversal_primitive_culling
    }
    PhysicalDeviceRayQueryFeaturesKHR { ray_query }
    PhysicalDeviceRayTracingMaintenance1FeaturesKHR {
        ray_tracing_maintenance1 ray_tracing_pipeline_trace_rays_indirect2
    }
    PhysicalDeviceFragmentDensityMapFeaturesEXT {
        fragment_density_map fragment_density_map_dynamic fragment_density_map_non_subsampled_images
    }
    PhysicalDeviceFragmentDensityMap2FeaturesEXT { fragment_density_map_deferred }
    PhysicalDeviceFragmentDensityMapOffsetFeaturesQCOM { fragment_density_map_offset }
    PhysicalDeviceScalarBlockLayoutFeatures { scalar_block_layout }
    PhysicalDeviceUniformBufferStandardLayoutFeatures { uniform_buffer_standard_layout }
    PhysicalDeviceDepthClipEnableFeaturesEXT { depth_clip_enable }
    PhysicalDeviceMemoryPriorityFeaturesEXT { memory_priority }
    PhysicalDevicePageableDeviceLocalMemoryFeaturesEXT { pageable_device_local_memory }
    PhysicalDeviceBufferDeviceAddressFeatures {
        buffer_device_address buffer_device_address_capture_replay buffer_device_address_multi_device
    }
    PhysicalDeviceBufferDeviceAddressFeaturesEXT {
        buffer_device_address buffer_device_address_capture_replay buffer_device_address_multi_device
    }
    PhysicalDeviceImagelessFramebufferFeatures { imageless_framebuffer }
    PhysicalDeviceTextureCompressionASTCHDRFeatures { texture_compression_astc_hdr }
    PhysicalDeviceCooperativeMatrixFeaturesNV { cooperative_matrix cooperative_matrix_robust_buffer_access }
    PhysicalDeviceYcbcrImageArraysFeaturesEXT { ycbcr_image_arrays }
    PhysicalDevicePresentBarrierFeaturesNV { present_barrier }
    PhysicalDevicePerformanceQueryFeaturesKHR {
        performance_counter_query_pools performance_counter_multiple_query_pools
    }
    PhysicalDeviceCoverageReductionModeFeaturesNV { coverage_reduction_mode }
    PhysicalDeviceShaderIntegerFunctions2FeaturesINTEL { shader_integer_functions2 }
    PhysicalDeviceShaderClockFeaturesKHR { shader_subgroup_clock shader_device_clock }
    PhysicalDeviceIndexTypeUint8FeaturesKHR { index_type_uint8 }
    PhysicalDeviceShaderSMBuiltinsFeaturesNV { shader_sm_builtins }
    PhysicalDeviceFragmentShaderInterlockFeaturesEXT {
        fragment_shader_sample_interlock fragment_shader_pixel_interlock fragment_shader_shading_rate_interlock
    }
    PhysicalDeviceSeparateDepthStencilLayoutsFeatures { separate_depth_stencil_layouts }
    PhysicalDevicePrimitiveTopologyListRestartFeaturesEXT {
        primitive_topology_list_restart primitive_topology_patch_list_restart
    }
    PhysicalDevicePipelineExecutablePropertiesFeaturesKHR { pipeline_executable_info }
    PhysicalDeviceShaderDemoteToHelperInvocationFeatures { shader_demote_to_helper_invocation }
    PhysicalDeviceTexelBufferAlignmentFeaturesEXT { texel_buffer_alignment }
    PhysicalDeviceSubgroupSizeControlFeatures { subgroup_size_control compute_full_subgroups }
    PhysicalDeviceLineRasterizationFeaturesKHR {
        rectangular_lines bresenham_lines smooth_lines stippled_rectangular_lines stippled_bresenham_lines
        stippled_smooth_lines
    }
    PhysicalDevicePipelineCreationCacheControlFeatures { pipeline_creation_cache_control }
    PhysicalDeviceVulkan11Features {
        storage_buffer16_bit_access uniform_and_storage_buffer16_bit_access storage_push_constant16
        storage_input_output16 multiview multiview_geometry_shader multiview_tessellation_shader
        variable_pointers_storage_buffer variable_pointers protected_memory sampler_ycbcr_conversion
        shader_draw_parameters
    }
    PhysicalDeviceVulkan12Features {
        sampler_mirror_clamp_to_edge draw_indirect_count storage_buffer8_bit_access
        uniform_and_storage_buffer8_bit_access storage_push_constant8 shader_buffer_int64_atomics
        shader_shared_int64_atomics shader_float16 shader_int8 descriptor_indexing
        shader_input_attachment_array_dynamic_indexing shader_uniform_texel_buffer_array_dynamic_indexing
        shader_storage_texel_buffer_array_dynamic_indexing shader_uniform_buffer_array_non_uniform_indexing
        shader_sampled_image_array_non_uniform_indexing shader_storage_buffer_array_non_uniform_indexing
        shader_storage_image_array_non_uniform_indexing shader_input_attachment_array_non_uniform_indexing
        shader_uniform_texel_buffer_array_non_uniform_indexing
        shader_storage_texel_buffer_array_non_uniform_indexing
        descriptor_binding_uniform_buffer_update_after_bind descriptor_binding_sampled_image_update_after_bind
        descriptor_binding_storage_image_update_after_bind descriptor_binding_storage_buffer_update_after_bind
        descriptor_binding_uniform_texel_buffer_update_after_bind
        descriptor_binding_storage_texel_buffer_update_after_bind descriptor_binding_update_unused_while_pending
        descriptor_binding_partially_bound descriptor_binding_variable_descriptor_count runtime_descriptor_array
        sampler_filter_minmax scalar_block_layout imageless_framebuffer uniform_buffer_standard_layout
        shader_subgroup_extended_types separate_depth_stencil_layouts host_query_reset timeline_semaphore
        buffer_device_address buffer_device_address_capture_replay buffer_device_address_multi_device
        vulkan_memory_model vulkan_memory_model_device_scope vulkan_memory_model_availability_visibility_chains
        shader_output_viewport_index shader_output_layer subgroup_broadcast_dynamic_id
    }
    PhysicalDeviceVulkan13Features {
        robust_image_access inline_uniform_block descriptor_binding_inline_uniform_block_update_after_bind
        pipeline_creation_cache_control private_data shader_demote_to_helper_invocation
        shader_terminate_invocation subgroup_size_control compute_full_subgroups synchronization2
        texture_compression_astc_hdr shader_zero_initialize_workgroup_memory dynamic_rendering
        shader_integer_dot_product maintenance4
    }
    PhysicalDeviceCoherentMemoryFeaturesAMD { device_coherent_memory }
    PhysicalDeviceCustomBorderColorFeaturesEXT { custom_border_colors custom_border_color_without_format }
    PhysicalDeviceBorderColorSwizzleFeaturesEXT { border_color_swizzle border_color_swizzle_from_image }
    PhysicalDeviceExtendedDynamicStateFeaturesEXT { extended_dynamic_state }
    PhysicalDeviceExtendedDynamicState2FeaturesEXT {
        extended_dynamic_state2 extended_dynamic_state2_logic_op extended_dynamic_state2_patch_control_points
    }
    PhysicalDeviceExtendedDynamicState3FeaturesEXT {
        extended_dynamic_state3_tessellation_domain_origin extended_dynamic_state3_depth_clamp_enable
        extended_dynamic_state3_polygon_mode extended_dynamic_state3_rasterization_samples
        extended_dynamic_state3_sample_mask extended_dynamic_state3_alpha_to_coverage_enable
        extended_dynamic_state3_alpha_to_one_enable extended_dynamic_state3_logic_op_enable
        extended_dynamic_state3_color_blend_enable extended_dynamic_state3_color_blend_equation
        extended_dynamic_state3_color_write_mask extended_dynamic_state3_rasterization_stream
        extended_dynamic_state3_conservative_rasterization_mode
        extended_dynamic_state3_extra_primitive_overestimation_size extended_dynamic_state3_depth_clip_enable
        extended_dynamic_state3_sample_locations_enable extended_dynamic_state3_color_blend_advanced
        extended_dynamic_state3_provoking_vertex_mode extended_dynamic_state3_line_rasterization_mode
        extended_dynamic_state3_line_stipple_enable extended_dynamic_state3_depth_clip_negative_one_to_one
        extended_dynamic_state3_viewport_w_scaling_enable extended_dynamic_state3_viewport_swizzle
        extended_dynamic_state3_coverage_to_color_enable extended_dynamic_state3_coverage_to_color_location
        extended_dynamic_state3_coverage_modulation_mode
        extended_dynamic_state3_coverage_modulation_table_enable
        extended_dynamic_state3_coverage_modulation_table extended_dynamic_state3_coverage_reduction_mode
        extended_dynamic_state3_representative_fragment_test_enable
        extended_dynamic_state3_shading_rate_image_enable
    }
    PhysicalDeviceDiagnosticsConfigFeaturesNV { diagnostics_config }
    PhysicalDeviceZeroInitializeWorkgroupMemoryFeatures { shader_zero_initialize_workgroup_memory }
    PhysicalDeviceRobustness2FeaturesEXT { robust_buffer_access2 robust_image_access2 null_descriptor }
    PhysicalDeviceImageRobustnessFeatures { robust_image_access }
    PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR {
        workgroup_memory_explicit_layout workgroup_memory_explicit_layout_scalar_block_layout
        workgroup_memory_explicit_layout8_bit_access workgroup_memory_explicit_layout16_bit_access
    }
    PhysicalDevicePortabilitySubsetFeaturesKHR {
        constant_alpha_color_blend_factors events image_view_format_reinterpretation image_view_format_swizzle
        image_view2_d_on3_d_image multisample_array_image mutable_comparison_samplers point_polygons
        sampler_mip_lod_bias separate_stencil_mask_ref shader_sample_rate_interpolation_functions
        tessellation_isolines tessellation_point_mode triangle_fans vertex_attribute_access_beyond_stride
    }
    PhysicalDevice4444FormatsFeaturesEXT { format_a4r4g4b4 format_a4b4g4r4 }
    PhysicalDeviceSubpassShadingFeaturesHUAWEI { subpass_shading }
    PhysicalDeviceClusterCullingShaderFeaturesHUAWEI { clusterculling_shader multiview_cluster_culling_shader }
    PhysicalDeviceShaderImageAtomicInt64FeaturesEXT { shader_image_int64_atomics sparse_image_int64_atomics }
    PhysicalDeviceFragmentShadingRateFeaturesKHR {
        pipeline_fragment_shading_rate primitive_fragment_shading_rate attachment_fragment_shading_rate
    }
    PhysicalDeviceShaderTerminateInvocationFeatures { shader_terminate_invocation }
    PhysicalDeviceFragmentShadingRateEnumsFeaturesNV {
        fragment_shading_rate_enums supersample_fragment_shading_rates no_invocation_fragment_shading_rates
    }
    PhysicalDeviceImage2DViewOf3DFeaturesEXT { image2_d_view_of3_d sampler2_d_view_of3_d }
    PhysicalDeviceImageSlicedViewOf3DFeaturesEXT { image_sliced_view_of3_d }
    PhysicalDeviceMutableDescriptorTypeFeaturesEXT { mutable_descriptor_type }
    PhysicalDeviceDepthClipControlFeaturesEXT { depth_clip_control }
    PhysicalDeviceVertexInputDynamicStateFeaturesEXT { vertex_input_dynamic_state }
    PhysicalDeviceExternalMemoryRDMAFeaturesNV { external_memory_rdma }
    PhysicalDeviceColorWriteEnableFeaturesEXT { color_write_enable }
    PhysicalDeviceSynchronization2Features { synchronization2 }
    PhysicalDeviceHostImageCopyFeaturesEXT { host_image_copy }
    PhysicalDevicePrimitivesGeneratedQueryFeaturesEXT {
        primitives_generated_query primitives_generated_query_with_rasterizer_discard
        primitives_generated_query_with_non_zero_streams
    }
    PhysicalDeviceLegacyDitheringFeaturesEXT { legacy_dithering }
    PhysicalDevicePipelineProtectedAccessFeaturesEXT { pipeline_protected_access }
    PhysicalDeviceVideoMaintenance1FeaturesKHR { video_maintenance1 }
    PhysicalDeviceInheritedViewportScissorFeaturesNV { inherited_viewport_scissor2_d }
    PhysicalDeviceYcbcr2Plane444FormatsFeaturesEXT { ycbcr2plane444_formats }
    PhysicalDeviceProvokingVertexFeaturesEXT {
        provoking_vertex_last transform_feedback_preserves_provoking_vertex
    }
    PhysicalDeviceDescriptorBufferFeaturesEXT {
        descriptor_buffer descriptor_buffer_capture_replay descriptor_buffer_image_layout_ignored
        descriptor_buffer_push_descriptors
    }
    PhysicalDeviceShaderIntegerDotProductFeatures { shader_integer_dot_product }
    PhysicalDeviceFragmentShaderBarycentricFeaturesKHR { fragment_shader_barycentric }
    PhysicalDeviceRayTracingMotionBlurFeaturesNV {
        ray_tracing_motion_blur ray_tracing_motion_blur_pipeline_trace_rays_indirect
    }
    PhysicalDeviceRayTracingValidationFeaturesNV { ray_tracing_validation }
    PhysicalDeviceRGBA10X6FormatsFeaturesEXT { format_rgba10x6_without_y_cb_cr_sampler }
    PhysicalDeviceDynamicRenderingFeatures { dynamic_rendering }
    PhysicalDeviceImageViewMinLodFeaturesEXT { min_lod }
    PhysicalDeviceLinearColorAttachmentFeaturesNV { linear_color_attachment }
    PhysicalDeviceGraphicsPipelineLibraryFeaturesEXT { graphics_pipeline_library }
    PhysicalDeviceDescriptorSetHostMappingFeaturesVALVE { descriptor_set_host_mapping }
    PhysicalDeviceNestedCommandBufferFeaturesEXT {
        nested_command_buffer nested_command_buffer_rendering nested_command_buffer_simultaneous_use
    }
    PhysicalDeviceShaderModuleIdentifierFeaturesEXT { shader_module_identifier }
    PhysicalDeviceImageCompressionControlFeaturesEXT { image_compression_control }
    PhysicalDeviceSubpassMergeFeedbackFeaturesEXT { subpass_merge_feedback }
    PhysicalDeviceOpacityMicromapFeaturesEXT { micromap micromap_capture_replay micromap_host_commands }
    PhysicalDeviceDisplacementMicromapFeaturesNV { displacement_micromap }
    PhysicalDevicePipelinePropertiesFeaturesEXT { pipeline_properties_identifier }
    PhysicalDeviceNonSeamlessCubeMapFeaturesEXT { non_seamless_cube_map }
    PhysicalDevicePipelineRobustnessFeaturesEXT { pipeline_robustness }
    PhysicalDeviceImageProcessingFeaturesQCOM { texture_sample_weighted texture_box_filter texture_block_match }
    PhysicalDeviceTilePropertiesFeaturesQCOM { tile_properties }
    PhysicalDeviceAmigoProfilingFeaturesSEC { amigo_profiling }
    PhysicalDeviceAttachmentFeedbackLoopLayoutFeaturesEXT { attachment_feedback_loop_layout }
    PhysicalDeviceDepthClampZeroOneFeaturesEXT { depth_clamp_zero_one }
    PhysicalDeviceAddressBindingReportFeaturesEXT { report_address_binding }
    PhysicalDeviceOpticalFlowFeaturesNV { optical_flow }
    PhysicalDeviceFaultFeaturesEXT { device_fault device_fault_vendor_binary }
    PhysicalDeviceFaultFeaturesKHR {
        device_fault device_fault_vendor_binary device_fault_report_masked device_fault_device_lost_on_masked
    }
    PhysicalDevicePipelineLibraryGroupHandlesFeaturesEXT { pipeline_library_group_handles }
    PhysicalDeviceShaderCoreBuiltinsFeaturesARM { shader_core_builtins }
    PhysicalDeviceFrameBoundaryFeaturesEXT { frame_boundary }
    PhysicalDeviceSwapchainMaintenance1FeaturesEXT { swapchain_maintenance1 }
    PhysicalDeviceDepthBiasControlFeaturesEXT {
        depth_bias_control least_representable_value_force_unorm_representation float_representation
        depth_bias_exact
    }
    PhysicalDeviceRayTracingInvocationReorderFeaturesNV { ray_tracing_invocation_reorder }
    PhysicalDeviceExtendedSparseAddressSpaceFeaturesNV { extended_sparse_address_space }
    PhysicalDeviceMultiviewPerViewViewportsFeaturesQCOM { multiview_per_view_viewports }
    PhysicalDeviceRayTracingPositionFetchFeaturesKHR { ray_tracing_position_fetch }
    PhysicalDeviceMultiviewPerViewRenderAreasFeaturesQCOM { multiview_per_view_render_areas }
    PhysicalDeviceShaderObjectFeaturesEXT { shader_object }
    PhysicalDeviceShaderTileImageFeaturesEXT {
        shader_tile_image_color_read_access shader_tile_image_depth_read_access
        shader_tile_image_stencil_read_access
    }
    PhysicalDeviceExternalMemoryScreenBufferFeaturesQNX { screen_buffer_import }
    PhysicalDeviceCooperativeMatrixFeaturesKHR { cooperative_matrix cooperative_matrix_robust_buffer_access }
    PhysicalDeviceShaderEnqueueFeaturesAMDX { shader_enqueue }
    PhysicalDeviceCubicClampFeaturesQCOM { cubic_range_clamp }
    PhysicalDeviceYcbcrDegammaFeaturesQCOM { ycbcr_degamma }
    PhysicalDeviceCubicWeightsFeaturesQCOM { selectable_cubic_weights }
    PhysicalDeviceImageProcessing2FeaturesQCOM { texture_block_match2 }
    PhysicalDeviceDescriptorPoolOverallocationFeaturesNV { descriptor_pool_overallocation }
    PhysicalDevicePerStageDescriptorSetFeaturesNV { per_stage_descriptor_set dynamic_pipeline_layout }
    PhysicalDeviceExternalFormatResolveFeaturesANDROID { external_format_resolve }
    PhysicalDeviceCudaKernelLaunchFeaturesNV { cuda_kernel_launch_features }
    PhysicalDeviceSchedulingControlsFeaturesARM { scheduling_controls }
    PhysicalDeviceRelaxedLineRasterizationFeaturesIMG { relaxed_line_rasterization }
    PhysicalDeviceRenderPassStripedFeaturesARM { render_pass_striped }
    PhysicalDeviceShaderMaximalReconvergenceFeaturesKHR { shader_maximal_reconvergence }
    PhysicalDeviceShaderSubgroupRotateFeaturesKHR { shader_subgroup_rotate shader_subgroup_rotate_clustered }
    PhysicalDeviceShaderExpectAssumeFeaturesKHR { shader_expect_assume }
    PhysicalDeviceShaderFloatControls2FeaturesKHR { shader_float_controls2 }
    PhysicalDeviceDynamicRenderingLocalReadFeaturesKHR { dynamic_rendering_local_read }
    PhysicalDeviceShaderQuadControlFeaturesKHR { shader_quad_control }
    PhysicalDeviceShaderAtomicFloat16VectorFeaturesNV { shader_float16_vector_atomics }
    PhysicalDeviceMapMemoryPlacedFeaturesEXT { memory_map_placed memory_map_range_placed memory_unmap_reserve }
    PhysicalDeviceRawAccessChainsFeaturesNV { shader_raw_access_chains }
}
