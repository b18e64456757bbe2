//! Wrong calls that some runtime accepts are refused, in release builds, too.

use crate::harness::PERMIT;
use tenure_core::device::{HeapCategory, HeapDesc, MemoryTypeId, ResourceDesc, prelude::*};
use tenure_core::{DeviceError, Dimension, Format, TextureDesc, TextureInfo, Usage};
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D12_FEATURE_D3D12_OPTIONS8, D3D12_FEATURE_DATA_D3D12_OPTIONS8,
};
use tenure_d3d12::{Device, DeviceConfig};

use crate::bench::{
    GPU_ONLY, KIB, MIB, READBACK, UPLOAD, buffer, create, device, heap_desc, info, refused, texture,
};

fn tier1() -> Device {
    create(DeviceConfig::default().heap_tier_2(false))
}

#[test]
fn heaps_hold_their_own_category_only() {
    let device = device();
    let vertices = buffer(64, Usage::VERTEX);
    let sampled = texture(64, Format::Rgba8Unorm, Usage::SHADER_READ);
    let target = texture(64, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    for (category, fits) in [
        (HeapCategory::Buffers, [true, false, false]),
        (HeapCategory::Textures, [false, true, false]),
        (HeapCategory::Targets, [false, false, true]),
    ] {
        let heap = device.create_heap(&heap_desc(MIB, GPU_ONLY, category)).unwrap();
        for (desc, fits) in [&vertices, &sampled, &target].into_iter().zip(fits) {
            let placed = device.create_placed(PERMIT, desc, &heap, 0);
            if fits {
                placed.unwrap();
            } else {
                refused(placed, "the heap is of the resource's category");
            }
        }
    }
}

#[test]
fn tier_1_keeps_categories_apart() {
    let device = tier1();
    let refusal = device.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Any));
    refused(refusal, "the device allows heaps for everything");
    let category = |desc: &ResourceDesc| device.requirements(desc).unwrap().category;
    assert_eq!(category(&buffer(64, Usage::VERTEX)), HeapCategory::Buffers);
    assert_eq!(category(&texture(64, Format::R32Float, Usage::SHADER_READ)), HeapCategory::Textures);
    assert_eq!(category(&texture(64, Format::R32Float, Usage::RENDER_TARGET)), HeapCategory::Targets);
    assert_eq!(category(&texture(64, Format::D32Float, Usage::DEPTH_STENCIL)), HeapCategory::Targets);
}

#[test]
fn offsets_are_aligned_and_in_range() {
    // With it, smaller offsets are aligned too.
    let device = create(DeviceConfig::default().tight_alignment(false));
    let heap = device.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Any)).unwrap();
    let desc = buffer(64 * KIB + 1, Usage::VERTEX);
    for offset in [1, 256, 4 * KIB, 64 * KIB - 1] {
        let (value, limit) =
            refused(device.create_placed(PERMIT, &desc, &heap, offset), "the offset is aligned");
        assert_eq!((value, limit), (offset, 64 * KIB));
    }
    // The last offset that fits, and the first that does not.
    device.create_placed(PERMIT, &desc, &heap, MIB - 128 * KIB).unwrap();
    let inside = "the resource is inside the heap";
    assert_eq!(
        refused(device.create_placed(PERMIT, &desc, &heap, MIB - 64 * KIB), inside),
        (MIB + 64 * KIB, MIB)
    );
    refused(device.create_placed(PERMIT, &desc, &heap, 0_u64.wrapping_sub(64 * KIB)), inside);
    let small = texture(16, Format::Rgba8Unorm, Usage::SHADER_READ);
    device.create_placed(PERMIT, &small, &heap, 4 * KIB).unwrap();
    refused(device.create_placed(PERMIT, &small, &heap, 2 * KIB), "the offset is aligned");
}

#[test]
fn multisampled_textures_need_heaps_aligned_for_them() {
    let device = device();
    let target = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(4);
    let desc = ResourceDesc::Texture(target.info);
    let narrow = device.create_heap(&heap_desc(4 * MIB, GPU_ONLY, HeapCategory::Any)).unwrap();
    let placed = device.create_placed(PERMIT, &desc, &narrow, 0);
    assert_eq!(refused(placed, "the heap is aligned as the resource needs it"), (4 * MIB, 64 * KIB));
    let wide = HeapDesc { alignment: 4 * MIB, ..heap_desc(4 * MIB, GPU_ONLY, HeapCategory::Any) };
    let heap = device.create_heap(&wide).unwrap();
    device.create_placed(PERMIT, &desc, &heap, 0).unwrap();
}

#[test]
fn heaps_have_sizes_and_alignments_that_there_are() {
    let device = device();
    let desc = heap_desc(MIB, GPU_ONLY, HeapCategory::Any);
    let create = |desc: HeapDesc| device.create_heap(&desc);
    let aligned = "the device has heaps of this alignment";
    for alignment in [0, 1, 4 * KIB, 128 * KIB, MIB, 8 * MIB, u64::MAX] {
        refused(create(HeapDesc { alignment, ..desc.clone() }), aligned);
    }
    let whole = "the heap's size is a multiple of its alignment, and not 0";
    for size in [0, 1, MIB + 1, 64 * KIB - 1] {
        refused(create(HeapDesc { size, ..desc.clone() }), whole);
    }
    let largest = device.properties().max_heap_size;
    let size = (largest + 1).next_multiple_of(64 * KIB);
    let found = refused(create(HeapDesc { size, ..desc.clone() }), "the heap is not too large");
    assert_eq!(found, (size, largest));
    let unknown = HeapDesc { memory: MemoryTypeId(31), ..desc };
    refused(create(unknown), "the memory type exists");
}

#[test]
fn resources_larger_than_the_memory_are_a_shortage() {
    let device = device();
    let largest = device.properties().memory_heaps.iter().map(|heap| heap.size).max().unwrap();
    let size = (largest + 1).next_multiple_of(64 * KIB);
    assert!(size <= device.properties().max_buffer_size, "for this the test needs address space");
    let refusal = device.create_committed(&buffer(size, Usage::VERTEX), GPU_ONLY).unwrap_err();
    assert_eq!(refusal, DeviceError::OutOfMemory { requested: size, memory: GPU_ONLY });
}

#[test]
fn heap_types_hold_resources_that_their_state_allows() {
    let device = device();
    let upload = device.create_heap(&heap_desc(MIB, UPLOAD, HeapCategory::Any)).unwrap();
    let readback = device.create_heap(&heap_desc(MIB, READBACK, HeapCategory::Any)).unwrap();
    let rule = "the resource can live in this memory type";
    for desc in [
        texture(64, Format::Rgba8Unorm, Usage::SHADER_READ),
        texture(64, Format::Rgba8Unorm, Usage::RENDER_TARGET),
        texture(64, Format::D32Float, Usage::DEPTH_STENCIL),
        buffer(64, Usage::UNORDERED_ACCESS),
    ] {
        assert_eq!(device.requirements(&desc).unwrap().memory_types & 0b110, 0, "{desc:?}");
        for (memory, heap) in [(UPLOAD, &upload), (READBACK, &readback)] {
            refused(device.create_committed(&desc, memory), rule);
            refused(device.create_placed(PERMIT, &desc, heap, 0), rule);
        }
    }
    for (memory, heap) in [(UPLOAD, &upload), (READBACK, &readback)] {
        device.create_committed(&buffer(64, Usage::COPY_SRC), memory).unwrap();
        device.create_placed(PERMIT, &buffer(64, Usage::COPY_SRC), heap, 0).unwrap();
    }
    refused(device.create_committed(&buffer(64, Usage::VERTEX), MemoryTypeId(9)), "the memory type exists");
}

#[test]
fn descriptions_beyond_the_device_are_refused() {
    let device = device();
    let bad = |info: TextureInfo, field: &str| {
        let answer = device.requirements(&ResourceDesc::Texture(info));
        assert!(
            matches!(&answer, Err(DeviceError::InvalidDesc { field: found, .. }) if *found == field),
            "{field}: {answer:?}"
        );
    };
    let good = info(64, Format::Rgba8Unorm, Usage::SHADER_READ);
    bad(good.clone().width(16_385), "width");
    bad(good.clone().height(16_385), "height");
    bad(good.clone().depth_or_layers(2049), "depth_or_layers");
    bad(good.clone().width(2049).dimension(Dimension::D3), "width");
    bad(good.clone().mips(8), "mips");
    // Mips times layers of two planes are more than any device has.
    let planes = TextureDesc::d2(16_384, 16_384, Format::D24UnormS8Uint, Usage::DEPTH_STENCIL);
    bad(planes.mips(15).layers(2048).info, "mips");
    let unsupported = |info: TextureInfo| {
        let answer = device.create_committed(&ResourceDesc::Texture(info), GPU_ONLY);
        let is_refused =
            matches!(&answer, Err(DeviceError::Unsupported { .. } | DeviceError::UnsupportedFormat { .. }));
        assert!(is_refused, "{answer:?}");
    };
    unsupported(info(64, Format::Rgba8Srgb, Usage::UNORDERED_ACCESS));
    bad(info(64, Format::Bc1Unorm, Usage::RENDER_TARGET), "usage");
    unsupported(good.samples(4));
}

/// Block-compressed textures end with a whole block, unless the device allows others.
#[test]
fn blocks_are_whole_where_they_must_be() {
    let device = device();
    let mut blocks = D3D12_FEATURE_DATA_D3D12_OPTIONS8::default();
    let size = size_of_val(&blocks) as u32;
    // SAFETY: the structure is that of the feature and outlives the call. It fails where the runtime
    // does not know the feature.
    let _known = unsafe {
        device.raw().CheckFeatureSupport(D3D12_FEATURE_D3D12_OPTIONS8, (&raw mut blocks).cast(), size)
    };
    let made = device.create_committed(&texture(62, Format::Bc7Unorm, Usage::SHADER_READ), GPU_ONLY);
    match made {
        Ok(_) => assert!(blocks.UnalignedBlockTexturesSupported.as_bool()),
        Err(error) => {
            assert!(matches!(error, DeviceError::Unsupported { .. }), "{error}");
            assert!(!blocks.UnalignedBlockTexturesSupported.as_bool());
        }
    }
    device.create_committed(&texture(64, Format::Bc7Unorm, Usage::SHADER_READ), GPU_ONLY).unwrap();
}

#[test]
fn sample_counts_are_asked_for() {
    let device = device();
    let target = info(64, Format::Rgba8Unorm, Usage::RENDER_TARGET);
    let with = |samples| ResourceDesc::Texture(target.clone().samples(samples));
    device.create_committed(&with(4), GPU_ONLY).unwrap();
    for samples in [2, 8, 16] {
        match device.requirements(&with(samples)) {
            Ok(_) => drop(device.create_committed(&with(samples), GPU_ONLY).unwrap()),
            Err(error) => {
                let is_refused = matches!(&error, DeviceError::InvalidDesc { field: "samples", value, .. } if *value == samples.into());
                assert!(is_refused, "the device does not have them: {error}");
            }
        }
    }
}

#[test]
fn acceleration_structures_are_refused_by_name() {
    let device = device();
    let desc = buffer(64 * KIB, Usage::ACCELERATION_STRUCTURE);
    let offered =
        device.properties().features.contains(tenure_core::device::Features::ACCELERATION_STRUCTURES);
    match device.create_committed(&desc, GPU_ONLY) {
        Ok(_) => assert!(offered),
        Err(error) => {
            assert_eq!(
                error,
                DeviceError::Unsupported { feature: "acceleration structures (ray tracing tier 1.0)" }
            );
            assert!(!offered);
        }
    }
}

#[test]
fn objects_of_another_device_are_refused() {
    let (one, other) = (device(), device());
    let heap = other.create_heap(&heap_desc(MIB, GPU_ONLY, HeapCategory::Any)).unwrap();
    refused(
        one.create_placed(PERMIT, &buffer(64, Usage::VERTEX), &heap, 0),
        "an object is used with the device that made it",
    );
    let mapped = other.create_committed(&buffer(64, Usage::COPY_SRC), UPLOAD).unwrap();
    refused(one.map(&mapped), "an object is used with the device that made it");
}

#[test]
fn only_buffers_that_the_cpu_reaches_are_mapped() {
    let device = device();
    let far = device.create_committed(&buffer(64, Usage::VERTEX), GPU_ONLY).unwrap();
    refused(device.map(&far), "mapped memory is host-visible");
    let image = device.create_committed(&texture(4, Format::R8Unorm, Usage::SHADER_READ), GPU_ONLY).unwrap();
    refused(device.map(&image), "the resource is a buffer");
}
