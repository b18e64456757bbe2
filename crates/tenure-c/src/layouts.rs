//! Sizes and offsets of the structures in Rust: a C program prints its own, and `cargo xtask test c` compares them.

use std::fmt::Write as _;
use std::mem::offset_of;

use crate::adopt_vulkan::tn_VkAdoption;
use crate::compaction::tn_CompactionReport;
use crate::cost::{tn_Cost, tn_SubresourceLayout};
use crate::descriptor_types::*;
use crate::descriptor_vulkan::tn_VkTable;
use crate::graph::{tn_GraphPlan, tn_Pass, tn_PassDesc, tn_PassUse};
use crate::heap_pools::*;
use crate::library::tn_OutOfMemory;
use crate::plan::*;
use crate::present::{
    tn_HdrMetadata, tn_SurfaceFormat, tn_SwapchainDesc, tn_SwapchainOffers, tn_SwapchainProperties,
};
use crate::query_types::{tn_GpuTime, tn_OpenQuery, tn_QueryResult};
use crate::release_queue::tn_ReleaseTotals;
use crate::reserved::*;
use crate::structure::tn_AccelerationStructureDesc;
use crate::suballocator::*;
use crate::swapchain::tn_SwapchainImage;
use crate::types::*;
use crate::upload_ring::{tn_RingSlice, tn_UploadRingDesc, tn_UploadRingTotals};
use crate::vulkan::{tn_VkDeviceDesc, tn_VkPoint, tn_VkQueue};

macro_rules! layouts {
    ($($Structure:ident { $($field:ident),* })*) => {{
        let mut text = String::new();
        $(
            let name = stringify!($Structure);
            let _ = writeln!(text, "{name} {}", size_of::<$Structure>());
            $(
                let field = stringify!($field).trim_start_matches("r#");
                let _ = writeln!(text, "{name}.{field} {}", offset_of!($Structure, $field));
            )*
        )*
        text
    }};
}

#[test]
fn structures_have_the_layout_that_c_has() {
    let found = layouts! {
        tn_Str { data, size }
        tn_Chain { r#type, struct_size, next }
        tn_SyncPoint { serials, clock, reserved }
        tn_SimDesc { struct_size, flags, next, profile, seed, lag, reserved }
        tn_DeviceProperties {
            struct_size, flags, next, name, backend, is_unified, queues, memory_heaps, memory_types, has_sets,
            constant_alignment, row_alignment, copy_alignment, visible_resources, visible_samplers, samplers,
            anisotropy, constant_size
        }
        tn_Setting { name, value }
        tn_GpuDesc { struct_size, flags, next, settings, setting_count }
        tn_ShutdownReport { struct_size, flags, next, leaks, open_recordings, timed_out, is_lost, waited_ns }
        tn_HeapMemory {
            struct_size, flags, next, size, budget, usage, cap, allocated, used, evicted, is_device_local, pressure
        }
        tn_PressureChange { heap, is_device_local, before, now, budget, usage }
        tn_BufferDesc {
            struct_size, flags, next, size, usage, memory, alignment, stride, allocation, priority, read_only,
            name, tag, data, data_size
        }
        tn_ClearValue { kind, stencil, color, depth, reserved }
        tn_Texels { data, size, row_pitch, rows, reserved }
        tn_TextureDesc {
            struct_size, flags, next, dimension, format, width, height, depth_or_layers, mips, samples, usage,
            allocation, priority, clear, view_formats, view_format_count, name, tag, data, data_count, read_only,
            reserved
        }
        tn_TextureRegion { mip, layer, plane, origin, extent, reserved }
        tn_Place { object, offset, size, gpu_address, mapped }
        tn_BufferViewDesc { struct_size, flags, next, access, stride, format, reserved, offset, size, name }
        tn_TextureViewDesc {
            struct_size, flags, next, access, shape, format, plane, first_mip, mips, first_layer, layers, name
        }
        tn_Use { resource, state, subresource }
        tn_Copy { src, dst, src_offset, dst_offset, size, row_pitch, rows, subresource, region }
        tn_Part { resource, offset, size, region }
        tn_SamplerDesc {
            struct_size, flags, next, mag, min, mip, address, mip_bias, anisotropy, compare, min_lod, max_lod,
            border, name
        }
        tn_SetBinding { binding, kind, count }
        tn_SetLayoutDesc { struct_size, flags, next, bindings, binding_count, name }
        tn_Bind { binding, element, view, sampler, data, data_size, structure }
        tn_DescriptorTableDesc { struct_size, flags, next, binds, bind_count, name }
        tn_DescriptorSetDesc { struct_size, flags, next, layout, binds, bind_count, name }
        tn_OutOfMemory {
            struct_size, flags, next, size, alignment, largest_free, budget, usage, pending_bytes, memory_type,
            open_recordings
        }
        tn_Cost {
            struct_size, flags, next, size, alignment, new_bytes, location, memory_type, heap, is_within_budget
        }
        tn_SubresourceLayout { offset, row_pitch, rows, depth }
        tn_OpenQuery { numbers, kind, reserved }
        tn_QueryResult {
            struct_size, flags, next, value, vertices, primitives, vertex_invocations, geometry_invocations,
            geometry_primitives, clipping_invocations, clipping_primitives, pixel_invocations, hull_invocations,
            domain_invocations, compute_invocations
        }
        tn_GpuTime { name, frame, nanoseconds, queue, depth }
        tn_UploadRingDesc { struct_size, flags, next, size, usage, memory, timeout_ns, name }
        tn_RingSlice { ring, place, numbers }
        tn_UploadRingTotals {
            struct_size, flags, next, capacity, used, peak_used, allocations, bytes, waits, waited_ns, dedicated
        }
        tn_AccelerationStructureDesc { struct_size, flags, next, size, kind, reserved, name, tag }
        tn_TileRegion { subresource, origin, extent, reserved }
        tn_TileUpdate { struct_size, flags, next, action, queue, region, source, source_region, after }
        tn_TileLayout {
            struct_size, flags, next, tile_size, tile_extent, tiles, first_packed_mip, packed_tiles, mapped_tiles
        }
        tn_PagesDesc { struct_size, flags, next, page_size, name }
        tn_PageTotals { struct_size, flags, next, pages, page_bytes, used, live }
        tn_PassUse { resource, state }
        tn_PassDesc {
            struct_size, flags, next, queue, reserved, uses, use_count, after, after_count, name
        }
        tn_Pass { number, resource_count, recording, resources }
        tn_GraphPlan { struct_size, flags, next, peak, lower_bound, bytes_apart, heaps, recordings }
        tn_SurfaceFormat { format, color_space }
        tn_SwapchainDesc {
            struct_size, flags, next, width, height, formats, format_count, modes, mode_count, format, images,
            usage, frame_latency, reserved, name
        }
        tn_SwapchainProperties {
            struct_size, flags, next, width, height, format, color_space, mode, images, is_outdated,
            is_occluded, queues, reserved
        }
        tn_SwapchainOffers { struct_size, flags, next, formats, format_count, modes, mode_count }
        tn_HdrMetadata {
            primaries, white_point, min_luminance, max_luminance, max_content_light, max_frame_average_light
        }
        tn_SwapchainImage { texture, view, index, reserved }
        tn_PlanItem { first, end, size, alignment, previous, pinned, memory_class, has }
        tn_PlanDesc { struct_size, flags, next, capacity, nodes, time_ns, seed, threads, stability }
        tn_PlanResult { struct_size, flags, next, peak, lower_bound, moved, nodes, is_proven, reserved }
        tn_SuballocatorDesc { struct_size, flags, next, capacity, granule, kind, reserved }
        tn_Range { offset, size, padding, handle }
        tn_SuballocatorTotals { struct_size, flags, next, capacity, free, largest_free }
        tn_ReleaseTotals { struct_size, flags, next, pending, pending_bytes, incomplete, open_recordings }
        tn_MemoryType { flags, heap }
        tn_MemoryHeap { size, is_device_local, reserved }
        tn_HeapDesc { size, alignment, resource, memory_type, category }
        tn_HeapPoolsDesc {
            struct_size, flags, next, create_heap, destroy_heap, budget, user, memory_types, memory_type_count,
            memory_heaps, memory_heap_count, heap_alignment, msaa_heap_alignment, non_coherent_atom, max_heaps,
            max_heap_size, device_block_min, device_block_max, host_block_min, host_block_max, granule,
            growth_divisor, empty_blocks, reserved
        }
        tn_MemoryRequest {
            struct_size, flags, next, size, alignment, memory_types, memory_type_count, resource, category, spill,
            name
        }
        tn_MemoryRange { heap, offset, size, id, memory_type, is_dedicated }
        tn_MemoryTotals {
            struct_size, flags, next, reserved_bytes, peak_reserved, requested, allocations, heaps, heaps_created, spilled
        }
        tn_CompactionBudget { bytes, moves, pieces }
        tn_MemoryMove { from, to }
        tn_CompactionReport { struct_size, flags, next, bytes, moves, waiting, refused, is_done, reserved }
        tn_VkQueue { queue, family, kind }
        tn_VkDeviceDesc {
            struct_size, flags, next, get_instance_proc_addr, instance, physical_device, device, create_info,
            queues, queue_count, other_families, other_family_count, api_version, reserved
        }
        tn_VkPoint { semaphore, value, stages, is_binary, reserved }
        tn_VkTable { struct_size, flags, next, layout, bindings, constants, reserved }
        tn_VkAdoption {
            struct_size, flags, next, object, vk_usage, vk_flags, vk_format, state, memory, memory_size, memory_offset,
            mapped, memory_type, reserved, destroy, destroy_user, destroy_object
        }
    };
    let expected = include_str!("../tests/layouts.txt");
    assert_eq!(found.lines().zip(expected.lines()).find(|(found, expected)| found != expected), None);
    assert_eq!(found.lines().count(), expected.lines().count());
}
