//! A driver that refuses.

use crate::harness::PERMIT;
use conformance::Harness as _;
use tenure_core::device::{Descriptor, prelude::*};
use tenure_core::{
    BindingKind, BufferAccess, BufferDesc, BufferViewDesc, Config, DescriptorKind, DescriptorTableDesc,
    DeviceError, Error, Format, Gpu, Queue, SetBinding, TextureAccess, Usage,
};
use tenure_vulkan::DeviceConfig;
use tenure_vulkan::ash::vk;

use super::room::{Room, TYPED, nearest, part, visible, whole};
use crate::disguise::Costume;
use crate::harness::Vulkan;

/// Whichever call fails, the error is a shortage, nothing is left, and the next attempt succeeds.
#[test]
fn a_failed_creation_leaves_nothing() {
    let room = Room::new(Vulkan::disguised(Costume::plain(), &DeviceConfig::default()));
    let fail = |call| room.disguise().fail(call, vk::Result::ERROR_OUT_OF_HOST_MEMORY);
    let pools = ["vkCreateDescriptorSetLayout", "vkCreateDescriptorPool", "vkAllocateDescriptorSets"];
    for call in pools.into_iter().filter(|_| room.has_heaps()) {
        fail(call);
        let refused = visible(&room.device, DescriptorKind::Resource, 10).unwrap_err();
        assert!(refused.is_shortage(), "{call}: {refused}");
    }
    let bindings = [SetBinding::new(0, BindingKind::Texture)];
    fail(pools[0]);
    assert!(room.device.create_set_layout(&bindings).unwrap_err().is_shortage());
    let layout = room.layout(&bindings);
    for call in &pools[1..] {
        fail(call);
        assert!(room.device.create_set_pool(PERMIT, &layout, 4).unwrap_err().is_shortage(), "{call}");
    }
    room.device.destroy_set_layout(PERMIT, layout);
    let typed = Descriptor::Buffer { resource: &room.buffer, view: part(0, BufferAccess::Read(TYPED)) };
    let view = whole(TextureAccess::Sampled, Format::R32Uint);
    let texture = Descriptor::Texture { resource: &room.texture, view };
    let sampler = Descriptor::Sampler(nearest());
    let calls = ["vkCreateBufferView", "vkCreateImageView", "vkCreateSampler"];
    for (index, (call, descriptor)) in (0..).zip(calls.into_iter().zip([typed, texture, sampler])) {
        fail(call);
        assert!(room.write(index, &descriptor).unwrap_err().is_shortage(), "{call}");
        room.write(index, &descriptor).unwrap();
    }
    room.end();
}

/// A manager creates the pool of a shader-visible heap with the first descriptor of its kind. A refusal names
/// the object, and the next table creates the pool.
#[test]
fn a_pool_comes_with_the_first_table() {
    let vulkan = Vulkan::disguised(Costume::plain(), &DeviceConfig::default());
    let pools = || vulkan.disguise().calls("vkCreateDescriptorPool");
    let gpu = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let buffer = gpu.create_buffer(&BufferDesc::new(256, Usage::SHADER_READ).name("buffer")).unwrap();
    let view = gpu.create_buffer_view(&buffer, &BufferViewDesc::raw()).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    recording.set_descriptor_heaps().unwrap();
    assert_eq!(pools(), 0);
    if vulkan.device().properties().descriptors.visible_resources > 0 {
        // A shortage is tried once more.
        for _ in 0..2 {
            vulkan.disguise().fail("vkCreateDescriptorPool", vk::Result::ERROR_OUT_OF_HOST_MEMORY);
        }
        let refused =
            gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("grass")).err();
        let is_named = matches!(&refused, Some(Error::Device { name, .. }) if name.as_str() == "grass");
        assert!(is_named, "{refused:?}");
        let asked = pools();
        let tables = [(); 2].map(|()| {
            gpu.create_descriptor_table(&DescriptorTableDesc::new(&[(&view).into()]).name("grass")).unwrap()
        });
        recording.split().1.descriptors(&[(&view).into()]).unwrap();
        assert_eq!(pools(), asked + 1, "of views, and none of samplers");
        drop(tables);
    }
    recording.submit().unwrap();
    drop((view, buffer));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}

/// After a device loss each call returns the error.
#[test]
fn a_lost_device_returns_errors() {
    let room = Room::new(Vulkan::disguised(Costume::plain(), &DeviceConfig::default()));
    let heap = room.has_heaps().then(|| visible(&room.device, DescriptorKind::Resource, 4).unwrap());
    room.disguise().fail("vkCreateSampler", vk::Result::ERROR_DEVICE_LOST);
    let is_lost = |found: Result<(), DeviceError>| assert!(matches!(found, Err(DeviceError::Lost { .. })));
    is_lost(room.write(0, &Descriptor::Sampler(nearest())));
    is_lost(room.view_buffer(0, part(0, BufferAccess::Constants)));
    if let Some(heap) = heap {
        is_lost(room.device.fill_descriptors(PERMIT, &heap, 0, &[room.constants(0)]));
        room.device.clear_descriptors(PERMIT, &heap, 0, 4, Some("lost"));
        room.device.destroy_descriptor_heap(PERMIT, heap);
    }
    is_lost(visible(&room.device, DescriptorKind::Resource, 4).map(drop));
    is_lost(room.device.create_set_layout(&[]).map(drop));
    room.end_lost();
}
