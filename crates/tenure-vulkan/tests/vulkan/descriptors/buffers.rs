//! Heaps of descriptors in buffers.

use conformance::{Harness as _, Look, Through};
use tenure_core::device::{
    BufferInfo, Descriptor, DescriptorHeapDesc, DescriptorSource, QueueId, ResourceDesc, prelude::*,
};
use tenure_core::{BindingKind, BufferAccess, DescriptorKind, DeviceError, Format, SetBinding, Usage};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{DeviceConfig, OptionalFeatures, Ownership, RawBuffer, Resource, SetLayout};

use super::room::{PART, Room, part, visible, words};
use crate::basics::texture;
use crate::disguise::Costume;
use crate::harness::{PERMIT, Vulkan, in_buffers, validated};

const BUFFERS: OptionalFeatures = OptionalFeatures::DESCRIPTOR_BUFFERS;

/// They exist only on request, and then there are no sets.
#[test]
fn requested_descriptor_buffers_replace_sets() {
    let vulkan = Vulkan::new(validated());
    assert!(!vulkan.device().optional_features().contains(BUFFERS));
    assert!(vulkan.device().descriptor_buffers().is_none());
    vulkan.end();
    let needed = [
        BUFFERS,
        OptionalFeatures::BUFFER_DEVICE_ADDRESS,
        OptionalFeatures::DESCRIPTOR_INDEXING,
        OptionalFeatures::SYNCHRONIZATION2,
    ];
    for feature in needed {
        let vulkan = Vulkan::new(in_buffers().without(feature));
        assert!(!vulkan.device().optional_features().contains(BUFFERS), "without {feature:?}");
        assert!(vulkan.device().properties().descriptors.sets);
        vulkan.end();
    }
    let room = Room::new(Vulkan::new(in_buffers()));
    if room.device.optional_features().contains(BUFFERS) {
        let no_sets = DeviceError::Unsupported { feature: "descriptor sets" };
        let properties = room.device.properties();
        assert!(!properties.descriptors.sets && properties.sets_descriptor_heaps());
        let bindings = [SetBinding::new(0, BindingKind::Buffer)];
        assert_eq!(room.device.create_set_layout(&bindings).map(drop), Err(no_sets.clone()));
        let raw = vk::DescriptorSetLayout::null();
        // SAFETY: it is refused, and not looked at.
        let adopted = unsafe { SetLayout::from_raw(&room.device, raw, &bindings, Ownership::Caller) };
        assert_eq!(adopted.map(drop), Err(no_sets));
        let inputs = texture(8, Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::INPUT_ATTACHMENT);
        let refused = room.device.requirements(&ResourceDesc::Texture(inputs)).map(drop);
        assert_eq!(refused, Err(DeviceError::Unsupported { feature: "input attachments" }));
    }
    room.end();
}

#[test]
fn heaps_are_buffers_as_large_as_their_layouts() {
    let room = Room::new(Vulkan::new(in_buffers()));
    if !room.has_heaps() {
        return room.end();
    }
    for (kind, count) in [(DescriptorKind::Resource, 32_768), (DescriptorKind::Sampler, 100)] {
        let heap = visible(&room.device, kind, count).unwrap();
        let Some(functions) = room.device.descriptor_buffers() else {
            room.device.destroy_descriptor_heap(PERMIT, heap);
            continue;
        };
        // SAFETY: the layout is the heap's, which is alive.
        let size = unsafe { functions.get_descriptor_set_layout_size(heap.layout().unwrap()) };
        println!("{count} of {kind:?}: {} descriptors in {size} B", heap.api_descriptors());
        assert_eq!(heap.buffer_size(), Some(size));
        assert!(heap.set().is_none() && heap.raw_buffer().is_some());
        assert!(heap.buffer_binding().unwrap().address != 0);
        room.device.destroy_descriptor_heap(PERMIT, heap);
    }
    assert!(room.views.raw_buffer().is_none() && room.views.buffer_binding().is_none());
    room.end();
}

/// All families index them.
#[test]
fn heaps_of_a_discrete_card_are_shared_by_its_families() {
    let options = DeviceConfig::default().descriptor_buffers(true);
    let vulkan = Vulkan::disguised(Costume::discrete(), &options);
    let device = vulkan.device();
    if device.optional_features().contains(BUFFERS) {
        let heap = visible(&device, DescriptorKind::Resource, 100).unwrap();
        assert!(heap.raw_buffer().is_some());
        device.destroy_descriptor_heap(PERMIT, heap);
    }
    drop(device);
    vulkan.end();
}

/// All heaps share the device's address space, and freed space is reused.
#[test]
fn heaps_share_an_address_space() {
    let vulkan = Vulkan::new(in_buffers());
    let device = vulkan.device();
    if device.optional_features().contains(BUFFERS) {
        let mut limits = vk::PhysicalDeviceDescriptorBufferPropertiesEXT::default();
        let mut properties = vk::PhysicalDeviceProperties2::default().push_next(&mut limits);
        // SAFETY: the device is alive, and has the extension of the structure in the chain.
        unsafe {
            device.instance().get_physical_device_properties2(device.physical_device(), &mut properties);
        }
        let space = limits.descriptor_buffer_address_space_size;
        let space = space.min(limits.resource_descriptor_buffer_address_space_size);
        let largest = device.properties().descriptors.visible_resources.min(1 << 18);
        let create = || visible(&device, DescriptorKind::Resource, largest);
        let first = create().unwrap();
        let size = first.buffer_size().unwrap();
        println!("{} of {size} B in {space} B", space / size);
        device.destroy_descriptor_heap(PERMIT, first);
        // More than there is room for at once.
        for _ in 0..(space / size + 2).min(1000) {
            device.destroy_descriptor_heap(PERMIT, create().unwrap());
        }
        let heaps: Vec<_> = (0..=(space / size).min(20)).map_while(|_| create().ok()).collect();
        let fits = space / size;
        assert!(fits >= 20 || heaps.len() as u64 == fits, "{} of {fits}", heaps.len());
        heaps.into_iter().for_each(|heap| device.destroy_descriptor_heap(PERMIT, heap));
    }
    drop(device);
    vulkan.end();
}

/// A heap that is not shader-visible, or of another kind or device, is an error of the list.
#[test]
fn wrong_heaps_are_refused_when_they_are_bound() {
    let room = Room::new(Vulkan::new(in_buffers()));
    if room.device.descriptor_buffers().is_none() {
        return room.end();
    }
    let heap = visible(&room.device, DescriptorKind::Resource, 8).unwrap();
    let rows = [
        (Some(&heap), None, true),
        (None, None, true),
        (Some(&room.views), None, false),
        (None, Some(&heap), false),
    ];
    for (resources, samplers, is_right) in rows {
        let mut list = room.device.create_list(PERMIT, QueueId(0)).unwrap();
        list.begin().unwrap();
        list.set_descriptor_heaps(resources, samplers);
        assert_eq!(list.close().is_ok(), is_right, "{resources:?}, {samplers:?}");
        room.device.destroy_list(PERMIT, list);
    }
    room.device.destroy_descriptor_heap(PERMIT, heap);
    room.end();
}

/// Whichever call fails, the error is a shortage, nothing is left, and the next attempt succeeds.
#[test]
fn a_failed_creation_leaves_nothing() {
    let vulkan = Vulkan::wearing(Costume::plain(), in_buffers(), |_| ());
    let device = vulkan.device();
    if device.optional_features().contains(BUFFERS) {
        let desc = DescriptorHeapDesc { kind: DescriptorKind::Resource, count: 10, shader_visible: true };
        let calls = [
            "vkCreateDescriptorSetLayout",
            "vkCreateBuffer",
            "vkAllocateMemory",
            "vkMapMemory",
            "vkBindBufferMemory",
        ];
        for call in calls {
            vulkan.disguise().fail(call, vk::Result::ERROR_OUT_OF_HOST_MEMORY);
            let refused = device.create_descriptor_heap(&desc).unwrap_err();
            assert!(refused.is_shortage(), "{call}: {refused}");
            let heap = device.create_descriptor_heap(&desc).unwrap();
            device.destroy_descriptor_heap(PERMIT, heap);
        }
    }
    drop(device);
    vulkan.end();
}

/// On a wrapped device with a list of enabled features: without the option there are sets.
#[test]
fn wrapped_devices_have_buffers_if_enabled_and_supported() {
    for (asks, expected) in [(true, true), (false, false)] {
        let options = DeviceConfig::default().descriptor_buffers(asks);
        let vulkan = Vulkan::wearing(Costume::plain(), in_buffers(), |_| ());
        let host = vulkan.host().optional_features().contains(BUFFERS);
        let device = vulkan.disguise().wrap_again(&vulkan.host(), &options).unwrap();
        assert_eq!(device.optional_features().contains(BUFFERS), expected && host);
        assert_eq!(device.properties().descriptors.sets, !(expected && host));
        drop(device);
        vulkan.end();
    }
}

/// A refused write writes no part.
#[test]
fn a_refused_fill_changes_nothing() {
    let room = Room::new(Vulkan::new(in_buffers()));
    if !room.has_heaps() {
        return room.end();
    }
    room.furnish();
    let heap = visible(&room.device, DescriptorKind::Resource, 4).unwrap();
    room.device.fill_descriptors(PERMIT, &heap, 0, &[room.source(1), room.source(1)]).unwrap();
    // There is nothing at 31.
    let refused = room.device.fill_descriptors(PERMIT, &heap, 0, &[room.source(2), room.source(31)]);
    assert!(refused.is_err());
    let sampler = DescriptorSource::Copy { heap: &room.samplers, index: 0 };
    assert!(room.device.fill_descriptors(PERMIT, &heap, 0, &[room.source(2), sampler]).is_err());
    assert!(room.device.fill_descriptors(PERMIT, &heap, 3, &[room.source(2), room.source(2)]).is_err());
    if room.device.descriptor_buffers().is_some() {
        assert_eq!(room.look(Look::Buffer, Through::Heap { heap: &heap, index: 0 }), words(1));
    }
    room.device.destroy_descriptor_heap(PERMIT, heap);
    room.end();
}

/// A descriptor of a buffer is an address, which a program's own buffer may not have.
#[test]
fn a_buffer_without_an_address_is_not_described() {
    let room = Room::new(Vulkan::new(in_buffers()));
    let info = vk::BufferCreateInfo::default().size(PART).usage(vk::BufferUsageFlags::UNIFORM_BUFFER);
    // SAFETY: the device is alive.
    let buffer = unsafe { room.device.raw().create_buffer(&info, None) }.unwrap();
    let described = BufferInfo::new(PART, Usage::CONSTANT);
    let usage = vk::BufferUsageFlags::UNIFORM_BUFFER;
    let raw = RawBuffer::new(buffer, described, usage, Ownership::Caller);
    // SAFETY: its contents are never read, and it is destroyed after the resource.
    let resource = unsafe { Resource::from_raw_buffer(&room.device, raw) }.unwrap();
    if room.device.descriptor_buffers().is_some() {
        let view = part(0, BufferAccess::Constants);
        let refused = room.write(0, &Descriptor::Buffer { resource: &resource, view });
        assert!(matches!(refused, Err(DeviceError::Unsupported { .. })), "{refused:?}");
    }
    room.device.destroy_resource(PERMIT, resource);
    // SAFETY: nobody else has it.
    unsafe { room.device.raw().destroy_buffer(buffer, None) };
    room.end();
}
