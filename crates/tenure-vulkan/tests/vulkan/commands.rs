//! Commands: their refusals, and their effects.

use crate::harness::PERMIT;
use ash::vk;
use conformance::Harness as _;
use tenure_core::device::{Barrier, MemoryTypeId, ResourceDesc, prelude::*};
use tenure_core::{
    BufferLayout, DeviceError, Format, Plane, QueueId, State, Subresource, TextureInfo, TextureRegion, Usage,
};
use tenure_vulkan::{Device, DeviceConfig, List, Resource};

use crate::basics::{COPIES, GRAPHICS, LONG, at, buffer, heap, is_invalid, mapped, run, texture};
use crate::disguise::Costume;
use crate::harness::{Vulkan, validated};

#[test]
fn wrong_commands_come_out_of_close() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let size = 64 << 10;
    let (one, two) = (mapped(&device, size), mapped(&device, size));
    let source = device.create_committed(&buffer(64, Usage::COPY_SRC), MemoryTypeId(0)).unwrap();
    let info = texture(64, Format::Rgba8Unorm, COPIES);
    let image = device.create_committed(&ResourceDesc::Texture(info), MemoryTypeId(0)).unwrap();
    let depth = texture(64, Format::D32FloatS8Uint, COPIES | Usage::DEPTH_STENCIL);
    let depth = device.create_committed(&ResourceDesc::Texture(depth), MemoryTypeId(0)).unwrap();
    let mut list = device.create_list(PERMIT, GRAPHICS).unwrap();
    is_invalid(list.close(), "begun before");
    let wrong = |rule: &str, record: &dyn Fn(&mut List)| {
        let mut list = device.create_list(PERMIT, GRAPHICS).unwrap();
        list.begin().unwrap();
        record(&mut list);
        match list.close() {
            Err(DeviceError::InvalidCall { rule: broken, .. }) => {
                assert!(broken.text().contains(rule), "{broken}")
            }
            Err(error @ (DeviceError::Unsupported { .. } | DeviceError::MissingUsage { .. })) => {
                assert!(error.to_string().contains(rule), "{error}");
            }
            Err(DeviceError::InvalidState { rule: broken, .. }) => {
                assert!(broken.text().contains(rule), "{broken}")
            }
            other => panic!("{rule}: {other:?}"),
        }
        is_invalid(device.submit(PERMIT, GRAPHICS, &[&list], &[], 1), "closed");
        is_invalid(list.begin(), "not begun again");
        device.destroy_list(PERMIT, list);
    };
    let whole = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [64, 64, 1] };
    let layout = BufferLayout { offset: 0, row_pitch: 512, rows: 64 };
    wrong("inside the resource", &|list| list.copy_buffer(&one, 1, &two, 0, size));
    wrong("inside the resource", &|list| list.copy_buffer(&one, u64::MAX, &two, 0, 2));
    wrong("overlap", &|list| list.copy_buffer(&one, 0, &one, 10, 11));
    wrong("needs the usage COPY_DST", &|list| list.copy_buffer(&one, 0, &source, 0, 4));
    wrong("is a buffer", &|list| list.copy_buffer(&one, 0, &image, 0, 4));
    wrong("is a texture", &|list| list.copy_buffer_to_texture(&one, layout, &two, whole));
    wrong("is a texture", &|list| list.copy_texture(&image, &one, Subresource::All));
    wrong("to another texture", &|list| list.copy_texture(&image, &image, Subresource::All));
    wrong("same format", &|list| list.copy_texture(&image, &depth, Subresource::One(0)));
    let misaligned = BufferLayout { offset: 2, ..layout };
    let stencil = TextureRegion { plane: Plane::Stencil, ..whole };
    wrong("aligned", &|list| list.copy_buffer_to_texture(&one, misaligned, &depth, stencil));
    wrong("has the plane", &|list| list.copy_buffer_to_texture(&one, layout, &image, stencil));
    let bad = |layout: BufferLayout, region: TextureRegion| (layout, region);
    for (rule, (layout, region)) in [
        ("aligned", bad(BufferLayout { offset: 2, ..layout }, whole)),
        ("aligned", bad(BufferLayout { row_pitch: 513, ..layout }, whole)),
        ("holds a row", bad(BufferLayout { row_pitch: 128, ..layout }, whole)),
        ("inside the resource", bad(BufferLayout { offset: size / 2 + 512, ..layout }, whole)),
        ("too large", bad(BufferLayout { row_pitch: 1 << 40, ..layout }, whole)),
        ("mip", bad(layout, TextureRegion { mip: 1, ..whole })),
        ("layer", bad(layout, TextureRegion { layer: 1, ..whole })),
        ("within the mip", bad(layout, TextureRegion { origin: [1, 0, 0], ..whole })),
        ("within the mip", bad(layout, TextureRegion { extent: [0, 64, 1], ..whole })),
    ] {
        wrong(rule, &|list| list.copy_buffer_to_texture(&one, layout, &image, region));
    }
    let to = |after| Barrier::Transition {
        resource: &image,
        subresource: Subresource::One(0),
        before: State::COMMON,
        after,
        transfer: None,
    };
    wrong("COMMON", &|list| list.barriers(&[to(State::COMMON)]));
    wrong("stands alone", &|list| list.barriers(&[to(State::COPY_DST | State::COPY_SRC)]));
    wrong("subresource exists", &|list| {
        let Barrier::Transition { resource, before, transfer, .. } = to(State::COPY_DST) else { return };
        let subresource = Subresource::One(1);
        let after = State::COPY_DST;
        list.barriers(&[Barrier::Transition { resource, subresource, before, after, transfer }]);
    });
    list.begin().unwrap();
    is_invalid(list.begin(), "closed before");
    is_invalid(device.submit(PERMIT, GRAPHICS, &[&list], &[], 1), "closed");
    list.close().unwrap();
    is_invalid(list.close(), "begun before");
    list.copy_buffer(&one, 0, &two, 0, 1);
    device.submit(PERMIT, GRAPHICS, &[&list], &[], 1).unwrap();
    assert!(device.wait(at(1), LONG).unwrap());
    device.destroy_list(PERMIT, list);
    [one, two, source, image, depth]
        .into_iter()
        .for_each(|resource| device.destroy_resource(PERMIT, resource));
    drop(device);
    vulkan.end();
}

/// A copy queue needs multiples of 16 texels, and supports neither depth nor shaders.
#[test]
fn copy_queues_of_a_discrete_card_are_limited() {
    let vulkan = Vulkan::disguised(Costume::discrete(), &DeviceConfig::default());
    let device = vulkan.device();
    let copies = QueueId(1);
    let staging = mapped(&device, 64 << 10);
    let image = ResourceDesc::Texture(texture(64, Format::Rgba8Unorm, COPIES | Usage::SHADER_READ));
    let image = device.create_committed(&image, MemoryTypeId(0)).unwrap();
    let depth = ResourceDesc::Texture(texture(64, Format::D32Float, COPIES | Usage::DEPTH_STENCIL));
    let depth = device.create_committed(&depth, MemoryTypeId(0)).unwrap();
    let layout = BufferLayout { offset: 0, row_pitch: 256, rows: 64 };
    let region = |origin, extent| TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin, extent };
    let refused = |rule: &str, record: &dyn Fn(&mut List)| {
        let mut list = device.create_list(PERMIT, copies).unwrap();
        list.begin().unwrap();
        record(&mut list);
        let error = list.close().unwrap_err().to_string();
        assert!(error.contains(rule), "{error}");
        device.destroy_list(PERMIT, list);
    };
    refused("copy granularity", &|list| {
        list.copy_buffer_to_texture(&staging, layout, &image, region([0; 3], [8, 16, 1]));
    });
    refused("copy granularity", &|list| {
        list.copy_buffer_to_texture(&staging, layout, &image, region([8, 0, 0], [16, 16, 1]));
    });
    refused("depth on queues without graphics", &|list| {
        list.copy_buffer_to_texture(&staging, layout, &depth, region([0; 3], [64, 64, 1]));
    });
    let twin = ResourceDesc::Texture(texture(64, Format::D32Float, COPIES | Usage::DEPTH_STENCIL));
    let twin = device.create_committed(&twin, MemoryTypeId(0)).unwrap();
    refused("on a graphics queue", &|list| list.copy_texture(&depth, &twin, Subresource::All));
    device.destroy_resource(PERMIT, twin);
    let transition = |resource, after| Barrier::Transition {
        resource,
        subresource: Subresource::All,
        before: State::COMMON,
        after,
        transfer: None,
    };
    refused("the queue knows the state", &|list| list.barriers(&[transition(&image, State::PIXEL_SHADER)]));
    refused("the queue knows the state", &|list| list.barriers(&[Barrier::Unordered { resource: &staging }]));
    let list = device.create_list(PERMIT, copies).unwrap();
    is_invalid(device.submit(PERMIT, GRAPHICS, &[&list], &[], 1), "queue it was made for");
    device.destroy_list(PERMIT, list);
    [staging, image, depth].into_iter().for_each(|resource| device.destroy_resource(PERMIT, resource));
    drop(device);
    vulkan.end();
}

/// Memory is transferred between two textures by one API barrier: the layers know that they share it.
#[test]
fn memory_changes_hands() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let device = vulkan.device();
    let desc = ResourceDesc::Texture(texture(64, Format::Rgba8Unorm, COPIES | Usage::SHADER_READ));
    let heap = heap(&device, &desc, device.requirements(&desc).unwrap().size);
    let images = [(), ()].map(|()| device.create_placed(PERMIT, &desc, &heap, 0).unwrap());
    let (staging, readback) = (mapped(&device, 64 * 512), mapped(&device, 64 * 512));
    crate::basics::write(&device, &staging, &crate::basics::bytes(64 * 512, 3));
    let layout = BufferLayout { offset: 0, row_pitch: 512, rows: 64 };
    let region = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [64, 64, 1] };
    let step = |resource, before, after| Barrier::Transition {
        resource,
        subresource: Subresource::All,
        before,
        after,
        transfer: None,
    };
    run(&device, 1, |list| {
        list.barriers(&[step(&images[0], State::COMMON, State::COPY_DST)]);
        list.copy_buffer_to_texture(&staging, layout, &images[0], region);
        let before = vulkan.disguise().calls("vkCmdPipelineBarrier2");
        list.barriers(&[
            Barrier::Aliasing {
                before: Some(&images[0]),
                after: &images[1],
                from: State::COPY_DST,
                to: State::COPY_DST,
            },
            step(&images[1], State::COMMON, State::COPY_DST),
        ]);
        assert_eq!(vulkan.disguise().calls("vkCmdPipelineBarrier2") - before, 1);
        list.copy_buffer_to_texture(&staging, layout, &images[1], region);
        list.barriers(&[step(&images[1], State::COPY_DST, State::COPY_SRC)]);
        list.copy_texture_to_buffer(&images[1], region, &readback, layout);
    });
    let found = crate::basics::read(&device, &readback, 64 * 512);
    for (row, expected) in found.chunks(512).zip(crate::basics::bytes(64 * 512, 3).chunks(512)) {
        assert_eq!(row[..256], expected[..256]);
    }
    images
        .into_iter()
        .chain([staging, readback])
        .for_each(|resource| device.destroy_resource(PERMIT, resource));
    device.destroy_heap(PERMIT, heap);
    drop(device);
    vulkan.end();
}

/// All samples are copied: the resolved copy has the clear colour of the source.
#[test]
fn samples_are_copied() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let flat = texture(16, Format::Rgba8Unorm, COPIES);
    let smooth = flat.clone().samples(4).usage(COPIES | Usage::RENDER_TARGET);
    let make = |info: &TextureInfo| {
        device.create_committed(&ResourceDesc::Texture(info.clone()), MemoryTypeId(0)).unwrap()
    };
    let [source, copy, resolved] = [&smooth, &smooth, &flat].map(make);
    let readback = mapped(&device, 8192);
    let layout = BufferLayout { offset: 0, row_pitch: 512, rows: 16 };
    run(&device, 1, |list| {
        list.barriers(&[&source, &copy].map(|image| step(image, State::COMMON, State::COPY_DST)));
        clear(&device, list, &source);
        list.barriers(&[step(&source, State::COPY_DST, State::COPY_SRC)]);
        list.copy_texture(&source, &copy, Subresource::One(0));
        list.barriers(&[
            step(&copy, State::COPY_DST, State::RESOLVE_SRC),
            step(&resolved, State::COMMON, State::RESOLVE_DST),
        ]);
        resolve(&device, list, &copy, &resolved);
        list.barriers(&[step(&resolved, State::RESOLVE_DST, State::COPY_SRC)]);
        list.copy_texture_to_buffer(&resolved, flat.region(0, 0), &readback, layout);
    });
    for row in crate::basics::read(&device, &readback, 8192).chunks(512) {
        assert_eq!(row[..64], [51, 102, 153, 255].repeat(16));
    }
    [source, copy, resolved, readback]
        .into_iter()
        .for_each(|resource| device.destroy_resource(PERMIT, resource));
    drop(device);
    vulkan.end();
}

fn step(resource: &Resource, before: State, after: State) -> Barrier<'_, Device> {
    Barrier::Transition { resource, subresource: Subresource::All, before, after, transfer: None }
}

/// Clears an image, which is in `COPY_DST`.
fn clear(device: &Device, list: &List, image: &Resource) {
    let colour = vk::ClearColorValue { float32: [0.2, 0.4, 0.6, 1.0] };
    let range = vk::ImageSubresourceRange::default()
        .aspect_mask(vk::ImageAspectFlags::COLOR)
        .level_count(1)
        .layer_count(1);
    let (buffer, image) = (list.command_buffer(), image.image().unwrap());
    let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
    // SAFETY: the list is open, and the image is alive and in this layout.
    unsafe { device.raw().cmd_clear_color_image(buffer, image, layout, &colour, &[range]) };
}

/// Resolves an image in `RESOLVE_SRC` to another in `RESOLVE_DST`.
fn resolve(device: &Device, list: &List, from: &Resource, to: &Resource) {
    let layers =
        vk::ImageSubresourceLayers::default().aspect_mask(vk::ImageAspectFlags::COLOR).layer_count(1);
    let region = vk::ImageResolve::default()
        .src_subresource(layers)
        .dst_subresource(layers)
        .extent(vk::Extent3D { width: 16, height: 16, depth: 1 });
    let (from, to) = (from.image().unwrap(), to.image().unwrap());
    let (read, written) = (vk::ImageLayout::TRANSFER_SRC_OPTIMAL, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
    // SAFETY: the list is open, and the images are alive and in these layouts.
    unsafe { device.raw().cmd_resolve_image(list.command_buffer(), from, read, to, written, &[region]) };
}
