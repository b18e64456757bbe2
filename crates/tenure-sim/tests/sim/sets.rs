//! Descriptor sets.

use tenure_core::device::{Allowed, CommandList as _, Device as _, *};
use tenure_sim::{DescriptorAt, DescriptorHeap, Device, HazardKind, Profile, SetPool};

use crate::common::*;
use crate::views::*;

const READ: State = State::NON_PIXEL_SHADER;

fn binding(binding: u32, kind: BindingKind, count: u32) -> SetBinding {
    SetBinding { binding, kind, count }
}

fn copy(heap: &DescriptorHeap, (binding, element): (u32, u32), index: u32) -> SetWrite<'_, Device> {
    SetWrite { binding, element, source: DescriptorSource::Copy { heap, index } }
}

/// A block of three sets of a texture each (binding 4, element 1 of 2), named `sets`.
fn textures(device: &Device) -> (tenure_sim::SetLayout, SetPool) {
    let layout = device.create_set_layout(&[binding(4, BindingKind::Texture, 2)]).unwrap();
    let block = device.create_set_pool(Permit::checked(), &layout, 3).unwrap();
    device.set_name(Permit::checked(), ObjectRef::SetPool(&block), "sets");
    (layout, block)
}

fn at(block: &SetPool, set: u32) -> DescriptorAt<'_> {
    DescriptorAt::Set { block, set, binding: 4, element: 1 }
}

#[test]
fn sets_are_vulkans() {
    for profile in Profile::ALL {
        let device = Device::new(*profile);
        let vulkan = device.properties().api == Api::Vulkan;
        let limits = device.properties().descriptors;
        assert_eq!(limits.sets, vulkan, "{profile:?}");
        let layout = device.create_set_layout(&[]);
        if vulkan {
            device.destroy_set_layout(Permit::checked(), layout.unwrap());
        } else {
            let wanted = DeviceError::Unsupported { feature: "descriptor sets" };
            assert_eq!(layout.unwrap_err(), wanted, "{profile:?}");
            assert_eq!((limits.visible_resources, limits.visible_samplers), (1_000_000, 2_048));
        }
        let desc = DescriptorHeapDesc { kind: DescriptorKind::Resource, count: 1, shader_visible: true };
        let heap = device.create_descriptor_heap(&desc);
        if limits.visible_resources > 0 {
            device.destroy_descriptor_heap(Permit::checked(), heap.unwrap());
        } else {
            assert_eq!(heap.unwrap_err(), DeviceError::Unsupported { feature: "descriptor indexing" });
            assert_eq!(*profile, Profile::VULKAN_MOBILE);
        }
        device.check_clean().unwrap();
    }
}

#[test]
fn sets_show_written_descriptors() {
    let device = manual(Profile::VULKAN_MOBILE);
    let made = heap(&device, "made", DescriptorKind::Resource, false);
    let rock = painted(&device, 1, "rock", readable(4, 4));
    device.write_descriptor(Permit::checked(), &made, 0, &sampled(&rock)).unwrap();
    let (_layout, block) = textures(&device);
    device.write_set(Permit::checked(), &block, 1, &[copy(&made, (4, 1), 0)]).unwrap();
    let look = |serial, set| {
        submit(&device, GRAPHICS, serial, &[], |list| list.use_descriptor(at(&block, set), READ));
        hazards(&device)
    };
    assert_clean(&look(2, 1));
    let found = look(3, 0);
    assert_one(&found, HazardKind::DeadDescriptor, &["sets"]);
    assert!(found[0].detail.contains("element 1 of binding 4 of set 0 was never written"), "{}", found[0]);
    device.clear_set(Permit::checked(), &block, 1, Some("rock's set"));
    assert_one(&look(4, 1), HazardKind::DeadDescriptor, &["sets", "rock's set"]);
    device.write_set(Permit::checked(), &block, 1, &[copy(&made, (4, 1), 0)]).unwrap();
    assert_clean(&look(5, 1));
    device.destroy_resource(Permit::checked(), rock);
    assert_one(&look(6, 1), HazardKind::DeadDescriptor, &["sets", "rock"]);
}

#[test]
fn sets_in_flight_are_left_alone() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let made = heap(&device, "made", DescriptorKind::Resource, false);
    let rock = painted(&device, 1, "rock", readable(4, 4));
    device.write_descriptor(Permit::checked(), &made, 0, &sampled(&rock)).unwrap();
    let (_layout, block) = textures(&device);
    let write = |set, element| {
        device.write_set(Permit::checked(), &block, set, &[copy(&made, (4, element), 0)]).unwrap()
    };
    write(0, 1);
    submit(&device, GRAPHICS, 2, &[], |list| list.use_descriptor(at(&block, 0), READ));
    write(1, 1);
    device.clear_set(Permit::checked(), &block, 2, None);
    assert_clean(&device.take_hazards());
    // Without update after bind the whole set is in use.
    write(0, 0);
    assert_one(&device.take_hazards(), HazardKind::DescriptorInUse, &["sets"]);
    device.clear_set(Permit::checked(), &block, 0, None);
    assert_one(&device.take_hazards(), HazardKind::DescriptorInUse, &["sets"]);
    hazards(&device);
    write(0, 1);
    assert_clean(&device.take_hazards());
    submit(&device, GRAPHICS, 3, &[], |list| list.use_descriptor(at(&block, 0), READ));
    device.destroy_set_pool(Permit::checked(), block);
    assert_one(&device.take_hazards(), HazardKind::DestroyedInUse, &["sets"]);
    assert_one(&hazards(&device), HazardKind::ReadOfFreed, &["sets"]);
}

#[test]
fn lists_recorded_with_a_set_are_void_once_it_changes() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let made = heap(&device, "made", DescriptorKind::Resource, false);
    let rock = painted(&device, 1, "rock", readable(4, 4));
    device.write_descriptor(Permit::checked(), &made, 0, &sampled(&rock)).unwrap();
    let (_layout, block) = textures(&device);
    let write = |set| device.write_set(Permit::checked(), &block, set, &[copy(&made, (4, 1), 0)]).unwrap();
    write(0);
    let lists = [(); 2].map(|()| record(&device, GRAPHICS, |list| list.use_descriptor(at(&block, 0), READ)));
    write(1);
    device.submit(Permit::checked(), GRAPHICS, &[&lists[0]], &[], 2).unwrap();
    assert_clean(&hazards(&device));
    write(0);
    device.submit(Permit::checked(), GRAPHICS, &[&lists[1]], &[], 3).unwrap();
    assert_one(&hazards(&device), HazardKind::DescriptorInUse, &["sets"]);
}

#[test]
fn bindings_keep_their_form() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let made = heap(&device, "made", DescriptorKind::Resource, false);
    let rock = painted(&device, 1, "rock", readable(4, 4));
    device.write_descriptor(Permit::checked(), &made, 0, &sampled(&rock)).unwrap();
    let (_layout, block) = textures(&device);
    let constants = committed(&device, "constants", &buffer(1024, Usage::CONSTANT));
    let constants = |offset, size| DescriptorSource::Constants { resource: &constants, offset, size };
    let refused = |set, writes: &[SetWrite<'_, Device>]| {
        matches!(
            device.write_set(Permit::checked(), &block, set, writes),
            Err(DeviceError::InvalidCall { .. })
        )
    };
    assert!(refused(3, &[copy(&made, (4, 1), 0)]));
    assert!(refused(0, &[copy(&made, (3, 0), 0)]));
    assert!(refused(0, &[copy(&made, (4, 2), 0)]));
    assert!(refused(0, &[copy(&made, (4, 0), 1)]), "nothing is there");
    assert!(refused(0, &[SetWrite { binding: 4, element: 0, source: constants(0, 256) }]));
    // If one is wrong, none is written.
    assert!(refused(0, &[copy(&made, (4, 1), 0), copy(&made, (4, 2), 0)]));
    submit(&device, GRAPHICS, 2, &[], |list| list.use_descriptor(at(&block, 0), READ));
    assert_one(&hazards(&device), HazardKind::DeadDescriptor, &["sets"]);

    let every = BindingKind::ALL.iter().zip(0..).map(|(kind, number)| binding(number, *kind, 1));
    let layout = device.create_set_layout(&every.collect::<Vec<_>>()).unwrap();
    let block = device.create_set_pool(Permit::checked(), &layout, 1).unwrap();
    let fits = |number, offset, size| {
        let write = SetWrite { binding: number, element: 0, source: constants(offset, size) };
        device.write_set(Permit::checked(), &block, 0, &[write]).is_ok()
    };
    let taken: Vec<_> = (0..BindingKind::ALL.len() as u32).filter(|number| fits(*number, 0, 256)).collect();
    assert_eq!(taken, [0, 1], "constants, with and without an offset");
    // Vulkan restricts their offset, but not their size.
    assert!(fits(0, 64, 100) && !fits(0, 100, 64) && !fits(0, 1024, 64) && !fits(0, 0, 0));
}

#[test]
fn dynamic_constants_are_bound_with_an_offset() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let layout = device.create_set_layout(&[binding(0, BindingKind::DynamicConstants, 1)]).unwrap();
    let block = device.create_set_pool(Permit::checked(), &layout, 1).unwrap();
    device.set_name(Permit::checked(), ObjectRef::SetPool(&block), "sets");
    let page = committed(&device, "page", &buffer(1024, Usage::CONSTANT | Usage::COPY_DST));
    let source = DescriptorSource::Constants { resource: &page, offset: 0, size: 128 };
    device.write_set(Permit::checked(), &block, 0, &[SetWrite { binding: 0, element: 0, source }]).unwrap();
    let at = |offset| DescriptorAt::Dynamic { block: &block, set: 0, binding: 0, element: 0, offset };
    let look =
        |list: &mut tenure_sim::List, offset| list.use_descriptor(at(offset), State::VERTEX_OR_CONSTANT);
    submit(&device, GRAPHICS, 1, &[], |list| {
        list.fill_buffer(&page, 512, 128, 1);
        transition(list, &page, State::COPY_DST, State::VERTEX_OR_CONSTANT);
        look(list, 512);
    });
    assert_clean(&hazards(&device));
    submit(&device, GRAPHICS, 2, &[], |list| look(list, 576));
    assert_one(&hazards(&device), HazardKind::UninitializedRead, &["page"]);
    submit(&device, GRAPHICS, 3, &[], |list| look(list, 960));
    assert_one(&hazards(&device), HazardKind::DeadDescriptor, &["sets", "page"]);
    let plain = DescriptorAt::Set { block: &block, set: 0, binding: 0, element: 0 };
    for wrong in [at(100), plain] {
        let mut list = device.create_list(Permit::checked(), GRAPHICS).unwrap();
        list.begin().unwrap();
        list.use_descriptor(wrong, State::VERTEX_OR_CONSTANT);
        assert!(list.close().is_err(), "{wrong:?}");
    }
}

#[test]
fn layouts_are_checked() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let refused = |bindings: &[SetBinding]| device.create_set_layout(bindings).unwrap_err();
    let kind = BindingKind::Sampler;
    let twice = [binding(1, kind, 1), binding(2, kind, 1), binding(1, BindingKind::Buffer, 1)];
    assert_eq!(
        refused(&twice),
        DeviceError::invalid_desc(
            "binding",
            1_u32,
            Allowed::Rule("a number that no other binding of the set has")
        )
    );
    assert_eq!(
        refused(&[binding(0, kind, 0)]),
        DeviceError::invalid_desc("count", 0_u64, Allowed::AtLeast(1))
    );
    let many = [binding(0, kind, u32::MAX), binding(1, kind, 1)];
    assert_eq!(refused(&many), DeviceError::invalid_desc("count", 1_u32, Allowed::AtMost(0)));
    let large = device.create_set_layout(&many[..1]).unwrap();
    let short = DeviceError::OutOfHostMemory { what: "descriptors" };
    assert_eq!(device.create_set_pool(Permit::checked(), &large, 1).unwrap_err(), short);
    assert_eq!(
        device.create_set_pool(Permit::checked(), &large, 0).unwrap_err(),
        DeviceError::invalid_desc("sets", 0_u64, Allowed::AtLeast(1))
    );
    device.destroy_set_layout(Permit::checked(), large);
    device.check_clean().unwrap();
}

#[test]
fn layouts_outlive_their_blocks() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let (layout, block) = textures(&device);
    let calls = device.calls();
    assert_eq!((calls.live_set_layouts, calls.live_set_pools), (1, 1));
    let findings = device.check_clean().unwrap_err().to_string();
    assert!(findings.contains("set block 'sets'") && findings.contains("set layout #"), "{findings}");
    device.destroy_set_layout(Permit::checked(), layout);
    assert_one(&device.take_hazards(), HazardKind::LayoutDestroyedFirst, &["sets"]);
    device.destroy_set_pool(Permit::checked(), block);
    assert!(device.leaks().is_empty());

    let device = manual(Profile::VULKAN_NVIDIA);
    let (layout, block) = textures(&device);
    device.destroy_set_pool(Permit::checked(), block);
    device.destroy_set_layout(Permit::checked(), layout);
    device.check_clean().unwrap();
}
