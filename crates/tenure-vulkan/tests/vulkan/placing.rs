//! Placement rules, queried from the device itself.

use crate::harness::PERMIT;
use conformance::Harness as _;
use tenure_core::device::{
    HeapCategory, HeapDesc, MemoryFlags, MemoryTypeId, Priority, ResourceDesc, prelude::*,
};
use tenure_core::{DeviceError, Format, TextureInfo, Usage};
use tenure_vulkan::DeviceConfig;

use crate::basics::{
    COPIES, GRAPHICS, buffer, heap, heap_of, heap_of_type, is_invalid, memory_type, texture,
};
use crate::disguise::Costume;
use crate::harness::{Vulkan, validated};

#[test]
fn misplaced_resources_are_refused() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let desc = buffer(5000, COPIES);
    let needs = device.requirements(&desc).unwrap();
    let heap = heap(&device, &desc, 64 << 10);
    assert!(needs.alignment > 1);
    is_invalid(device.create_placed(PERMIT, &desc, &heap, 1), "aligned");
    is_invalid(device.create_placed(PERMIT, &desc, &heap, heap.size()), "inside the heap");
    is_invalid(device.create_placed(PERMIT, &desc, &heap, u64::MAX - needs.alignment + 1), "inside the heap");
    is_invalid(device.create_committed(&desc, MemoryTypeId(31)), "memory type exists");
    let last = (heap.size() - needs.size) / needs.alignment * needs.alignment;
    let placed = device.create_placed(PERMIT, &desc, &heap, last).unwrap();
    assert_eq!(placed.memory(), Some((heap.memory(), last)));
    device.destroy_resource(PERMIT, placed);
    device.destroy_heap(PERMIT, heap);
    drop(device);
    vulkan.end();
}

/// With a coarse `bufferImageGranularity`, buffers and textures are kept apart.
#[test]
fn heaps_of_another_category_are_refused_by_a_discrete_card() {
    let vulkan = Vulkan::disguised(Costume::discrete(), &DeviceConfig::default());
    let device = vulkan.device();
    let image = ResourceDesc::Texture(texture(64, Format::Rgba8Unorm, Usage::SHADER_READ));
    let bytes = buffer(64, COPIES);
    assert_eq!(device.requirements(&image).unwrap().category, HeapCategory::Textures);
    assert_eq!(device.requirements(&bytes).unwrap().category, HeapCategory::Buffers);
    for (category, desc) in [
        (HeapCategory::Any, &image),
        (HeapCategory::Any, &bytes),
        (HeapCategory::Buffers, &image),
        (HeapCategory::Textures, &bytes),
        (HeapCategory::Targets, &image),
    ] {
        let heap = heap_of(&device, category, 1 << 20);
        assert!(device.create_placed(PERMIT, desc, &heap, 0).is_err(), "{category:?}");
        device.destroy_heap(PERMIT, heap);
    }
    // Type 3 is protected memory, type 1 is not for images.
    is_invalid(device.create_committed(&bytes, MemoryTypeId(3)), "memory type");
    is_invalid(device.create_committed(&image, MemoryTypeId(1)), "memory type");
    drop(device);
    vulkan.end();
}

#[test]
fn bad_heaps_are_refused() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let properties = device.properties();
    let alignment = properties.heap_alignment;
    let good = HeapDesc {
        size: 1 << 20,
        alignment,
        memory: MemoryTypeId(0),
        category: HeapCategory::Any,
        priority: Priority::High,
    };
    let too_large = properties.max_heap_size.saturating_add(1).next_multiple_of(alignment);
    for (rule, desc) in [
        ("memory type", HeapDesc { memory: MemoryTypeId(200), ..good.clone() }),
        ("alignment", HeapDesc { alignment: 3, ..good.clone() }),
        ("alignment", HeapDesc { alignment: alignment / 2, ..good.clone() }),
        ("multiple", HeapDesc { size: 0, ..good.clone() }),
        ("multiple", HeapDesc { size: alignment + 1, ..good.clone() }),
        ("too large", HeapDesc { size: too_large, ..good.clone() }),
    ] {
        is_invalid(device.create_heap(&desc), rule);
    }
    let heap = device.create_heap(&good).unwrap();
    device.destroy_heap(PERMIT, heap);
    drop(device);
    vulkan.end();
}

/// Limits of a format, and formats without the usage.
#[test]
fn textures_that_the_device_cannot_make_are_refused() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let refused = |info: TextureInfo, wanted: &str| match device.requirements(&ResourceDesc::Texture(info)) {
        Err(DeviceError::InvalidDesc { field, .. }) => assert_eq!(field, wanted),
        Err(DeviceError::UnsupportedFormat { format, .. }) => assert_eq!(format!("{format:?}"), wanted),
        other => panic!("{wanted}: {other:?}"),
    };
    let good = texture(64, Format::Rgba8Unorm, Usage::SHADER_READ);
    refused(good.clone().usage(Usage::empty()), "usage");
    refused(texture(64, Format::Bc7Unorm, Usage::RENDER_TARGET), "usage");
    refused(texture(64, Format::Bc1Unorm, Usage::UNORDERED_ACCESS), "Bc1Unorm");
    refused(texture(64, Format::Rgba8Unorm, Usage::RENDER_TARGET).samples(16), "samples");
    drop(device);
    vulkan.end();
}

/// Unordered access to sRGB is possible through a view in another format.
#[test]
fn views_in_other_formats_extend_the_usages_of_a_texture() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
    let alone = texture(64, Format::Rgba8Srgb, usage);
    let castable = alone.clone().view_formats(vec![Format::Rgba8Unorm, Format::R32Uint]);
    let kind = MemoryTypeId(0);
    let refused = device.create_committed(&ResourceDesc::Texture(alone), kind);
    assert!(
        matches!(refused, Err(DeviceError::UnsupportedFormat { format: Format::Rgba8Srgb, .. })),
        "{refused:?}"
    );
    let image = device.create_committed(&ResourceDesc::Texture(castable), kind).unwrap();
    device.destroy_resource(PERMIT, image);
    drop(device);
    vulkan.end();
}

/// Six square layers make a cube.
#[test]
fn square_arrays_may_be_viewed_as_cubes() {
    use tenure_vulkan::ash::vk;
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let info = texture(16, Format::Rgba8Unorm, Usage::SHADER_READ).depth_or_layers(6);
    let image = device.create_committed(&ResourceDesc::Texture(info), MemoryTypeId(0)).unwrap();
    let range = vk::ImageSubresourceRange::default()
        .aspect_mask(vk::ImageAspectFlags::COLOR)
        .level_count(1)
        .layer_count(6);
    let view = vk::ImageViewCreateInfo::default()
        .image(image.image().unwrap())
        .format(image.format().unwrap())
        .view_type(vk::ImageViewType::CUBE)
        .subresource_range(range);
    // SAFETY: the image is alive; the view is destroyed before it.
    unsafe {
        let view = device.raw().create_image_view(&view, None).unwrap();
        device.raw().destroy_image_view(view, None);
    }
    device.destroy_resource(PERMIT, image);
    drop(device);
    vulkan.end();
}

/// A mapping outlives its resource and its heap rather than dangle.
#[test]
fn a_mapping_keeps_its_memory() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let desc = buffer(256, COPIES);
    let kind = memory_type(&device, &desc, MemoryFlags::HOST_VISIBLE);
    let committed = device.create_committed(&desc, kind).unwrap();
    let heap = heap_of_type(&device, &desc, 64 << 10, kind);
    let placed = device.create_placed(PERMIT, &desc, &heap, 0).unwrap();
    let mappings = [device.map(&committed).unwrap(), device.map(&placed).unwrap()];
    device.destroy_heap(PERMIT, heap);
    device.destroy_resource(PERMIT, committed);
    device.destroy_resource(PERMIT, placed);
    for mapping in &mappings {
        mapping.write(0, &[7; 256]).unwrap();
        let mut found = [0; 256];
        mapping.read(0, &mut found).unwrap();
        assert_eq!(found, [7; 256]);
        is_invalid(mapping.write(1, &[0; 256]), "inside the mapping");
        is_invalid(mapping.read(u64::MAX, &mut [0; 2]), "inside the mapping");
        assert!(mapping.as_ptr().is_some());
    }
    drop(mappings);
    drop(device);
    vulkan.end();
}

/// A device refuses objects of another.
#[test]
fn objects_of_another_device_are_refused() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let raw = crate::wrapped::raw_of(&device);
    // SAFETY: the device outlives it, and nothing is submitted to it.
    let other = unsafe { tenure_vulkan::Device::from_raw(raw, &DeviceConfig::default()) }.unwrap();
    let desc = buffer(256, COPIES);
    let heap = heap(&device, &desc, 64 << 10);
    let mut list = device.create_list(PERMIT, GRAPHICS).unwrap();
    list.begin().unwrap();
    list.close().unwrap();
    is_invalid(other.create_placed(PERMIT, &desc, &heap, 0), "device that made it");
    is_invalid(other.submit(PERMIT, GRAPHICS, &[&list], &[], 1), "device that made it");
    let foreign = [(), ()].map(|()| other.create_committed(&desc, MemoryTypeId(0)).unwrap());
    list.begin().unwrap();
    list.copy_buffer(&foreign[0], 0, &foreign[1], 0, 256);
    is_invalid(list.close(), "device that made it");
    foreign.into_iter().for_each(|resource| other.destroy_resource(PERMIT, resource));
    device.destroy_list(PERMIT, list);
    device.destroy_heap(PERMIT, heap);
    drop((device, other));
    vulkan.end();
}

/// Without the feature there are no multisampled storage textures, whatever the format's properties.
#[test]
fn multisampled_storage_textures_need_their_feature() {
    let vulkan = Vulkan::new(DeviceConfig::default());
    let device = vulkan.device();
    let stored = texture(64, Format::Rgba8Unorm, Usage::UNORDERED_ACCESS).samples(4);
    let answer = device.requirements(&ResourceDesc::Texture(stored));
    if device.enabled_features().shader_storage_image_multisample == 0 {
        assert!(matches!(answer, Err(DeviceError::Unsupported { .. })), "{answer:?}");
    }
    drop(device);
    vulkan.end();
}
