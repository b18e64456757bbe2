//! Names reach the API, and leaks are seen.

use crate::harness::PERMIT;
use conformance::Harness as _;
use tenure_core::device::{DescriptorHeapDesc, MemoryTypeId, ObjectRef, ResourceDesc, prelude::*};
use tenure_core::{BufferDesc, Config, DescriptorKind, Format, Gpu, InPlaceConfig, Usage};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Message, OptionalFeatures, Severity};

use crate::basics::{COPIES, GRAPHICS, buffer, heap, texture};
use crate::harness::{Vulkan, validated};

fn errors(messages: &[Message]) -> Vec<&Message> {
    messages.iter().filter(|message| message.severity == Severity::Error).collect()
}

fn is_named(messages: &[Message], name: &str) -> bool {
    let names_it = |message: &&Message| {
        message.objects.iter().any(|object| object == name) || message.text.contains(name)
    };
    errors(messages).iter().any(names_it)
}

/// An object that is never destroyed is reported when its device is, by name.
#[test]
fn leaked_objects_are_reported_by_name() {
    let vulkan = Vulkan::new(validated());
    let device = vulkan.device();
    let desc = buffer(256, COPIES);
    let leaked_heap = heap(&device, &desc, 64 << 10);
    device.set_name(PERMIT, ObjectRef::Heap(&leaked_heap), "a leaked heap");
    let placed = device.create_placed(PERMIT, &desc, &leaked_heap, 0).unwrap();
    device.set_name(PERMIT, ObjectRef::Resource(&placed), "a leaked\0 buffer");
    let image = ResourceDesc::Texture(texture(8, Format::R8Unorm, Usage::SHADER_READ));
    let image = device.create_committed(&image, MemoryTypeId(0)).unwrap();
    device.set_name(PERMIT, ObjectRef::Resource(&image), "a leaked texture");
    let list = device.create_list(PERMIT, GRAPHICS).unwrap();
    device.set_name(PERMIT, ObjectRef::List(&list), "a leaked list");
    let visible = DescriptorHeapDesc { kind: DescriptorKind::Resource, count: 8, shader_visible: true };
    let has_heaps = device.properties().descriptors.visible_resources > 0;
    let descriptors = has_heaps.then(|| device.create_descriptor_heap(&visible).unwrap());
    if let Some(descriptors) = &descriptors {
        device.set_name(PERMIT, ObjectRef::DescriptorHeap(descriptors), "a leaked table");
    }
    let layout = device.create_set_layout(&[]).unwrap();
    let sets = device.create_set_pool(PERMIT, &layout, 2).unwrap();
    device.set_name(PERMIT, ObjectRef::SetPool(&sets), "leaked sets");
    device.destroy_set_layout(PERMIT, layout);
    drop((leaked_heap, placed, image, list, descriptors, sets, device));
    vulkan.close();
    assert!(vulkan.log().is_closed(), "leaks do not keep the device");
    let messages = vulkan.log().take();
    let objects = ["a leaked heap", "a leaked buffer", "a leaked texture", "a leaked list"];
    for name in objects.into_iter().chain(["leaked sets"]).chain(has_heaps.then_some("a leaked table")) {
        assert!(is_named(&messages, name), "{name}: {messages:?}");
    }
}

/// Without names there are none.
#[test]
fn names_can_be_switched_off() {
    let vulkan = Vulkan::new(validated().without(OptionalFeatures::DEBUG_NAMES));
    let device = vulkan.device();
    let leaked = device.create_committed(&buffer(256, COPIES), MemoryTypeId(0)).unwrap();
    device.set_name(PERMIT, ObjectRef::Resource(&leaked), "nameless");
    drop((leaked, device));
    vulkan.close();
    let messages = vulkan.log().take();
    assert!(!errors(&messages).is_empty() && !is_named(&messages, "nameless"), "{messages:?}");
}

/// The manager's names do, too, and the memory of a committed resource has its name.
#[test]
fn a_message_about_a_managed_object_names_it() {
    let vulkan = Vulkan::new(validated());
    let staged = InPlaceConfig::default().initial_data(false).uploads(false);
    let gpu = Gpu::new(vulkan.device(), Config::from(staged)).unwrap();
    let desc = BufferDesc::new(64 << 20, Usage::VERTEX).name("mountain");
    let mountain = gpu.create_buffer(&desc).unwrap();
    let (memory, _) = mountain.raw().memory().unwrap();
    let range = vk::MappedMemoryRange::default().memory(memory).size(vk::WHOLE_SIZE);
    // SAFETY: the range is of memory that is not mapped, which the layer reports, and which the
    // driver does nothing about.
    let _refused = unsafe { gpu.device().raw().flush_mapped_memory_ranges(&[range]) };
    let messages = vulkan.log().take();
    assert!(is_named(&messages, "mountain"), "{messages:?}");
    drop(mountain);
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}
