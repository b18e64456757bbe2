//! Descriptors that only sets can hold: combined samplers and input attachments.

use tenure_core::device::{Device as _, *};
use tenure_sim::{DescriptorAt, DescriptorHeap, Device, HazardKind, Profile, SetPool};

use crate::common::*;
use crate::views::*;

const READ: State = State::PIXEL_SHADER;

/// A block with one set of one descriptor, named `sets`.
fn block(device: &Device, kind: BindingKind) -> SetPool {
    let layout = device.create_set_layout(&[SetBinding { binding: 0, kind, count: 1 }]).unwrap();
    let block = device.create_set_pool(Permit::checked(), &layout, 1).unwrap();
    device.set_name(Permit::checked(), ObjectRef::SetPool(&block), "sets");
    block
}

const fn at(block: &SetPool) -> DescriptorAt<'_> {
    DescriptorAt::Set { block, set: 0, binding: 0, element: 0 }
}

fn combined<'a>(views: &'a DescriptorHeap, samplers: &'a DescriptorHeap) -> DescriptorSource<'a, Device> {
    DescriptorSource::Combined { views, view: 0, samplers, sampler: 0 }
}

fn put(device: &Device, block: &SetPool, source: DescriptorSource<'_, Device>) -> Result<(), DeviceError> {
    device.write_set(Permit::checked(), block, 0, &[SetWrite { binding: 0, element: 0, source }])
}

/// A view of a painted texture, and a sampler.
fn pair(device: &Device) -> (tenure_sim::Resource, DescriptorHeap, DescriptorHeap) {
    let rock = painted(device, 1, "rock", readable(4, 4));
    let views = heap(device, "views", DescriptorKind::Resource, false);
    device.write_descriptor(Permit::checked(), &views, 0, &sampled(&rock)).unwrap();
    let samplers = heap(device, "samplers", DescriptorKind::Sampler, false);
    let sampler = Descriptor::Sampler(SamplerInfo::default());
    device.write_descriptor(Permit::checked(), &samplers, 0, &sampler).unwrap();
    (rock, views, samplers)
}

#[test]
fn combined_samplers_need_both_to_live() {
    // The destroyed object, and the name in the hazard.
    for (is_sampler, name) in [(false, "a view of a texture to read"), (true, "a sampler")] {
        let device = manual(Profile::VULKAN_NVIDIA);
        let (_rock, views, samplers) = pair(&device);
        let sets = block(&device, BindingKind::CombinedSampler);
        put(&device, &sets, combined(&views, &samplers)).unwrap();
        submit(&device, GRAPHICS, 2, &[], |list| list.use_descriptor(at(&sets), State::NON_PIXEL_SHADER));
        // Its view or sampler is destroyed while the GPU may use it.
        let gone = if is_sampler { &samplers } else { &views };
        device.clear_descriptors(Permit::checked(), gone, 0, 1, None);
        assert_one(&device.take_hazards(), HazardKind::DescriptorInUse, &[]);
        hazards(&device);
        submit(&device, GRAPHICS, 3, &[], |list| list.use_descriptor(at(&sets), State::NON_PIXEL_SHADER));
        let found = hazards(&device);
        assert_one(&found, HazardKind::DeadDescriptor, &["sets"]);
        assert!(found[0].detail.contains(&format!("is {name}, which was destroyed")), "{}", found[0]);
    }
}

#[test]
fn combined_samplers_are_of_a_texture_and_a_sampler() {
    let device = manual(Profile::VULKAN_NVIDIA);
    let (rock, views, samplers) = pair(&device);
    let sets = block(&device, BindingKind::CombinedSampler);
    let refused = |source| {
        let Err(DeviceError::InvalidCall { rule, .. }) = put(&device, &sets, source) else { return None };
        Some(rule)
    };
    assert_eq!(refused(combined(&samplers, &samplers)), Some(CallRule::BindingKind));
    assert_eq!(refused(combined(&views, &views)), Some(CallRule::BindingKind));
    assert_eq!(refused(DescriptorSource::Copy { heap: &views, index: 0 }), Some(CallRule::BindingKind));
    let nothing = DescriptorSource::Combined { views: &views, view: 1, samplers: &samplers, sampler: 0 };
    assert_eq!(refused(nothing), Some(CallRule::DescriptorWritten));
    // A heap indexed by shaders cannot hold combined samplers.
    let shown = heap(&device, "shown", DescriptorKind::Resource, true);
    let error = device.fill_descriptors(Permit::checked(), &shown, 0, &[combined(&views, &samplers)]);
    let Err(DeviceError::InvalidCall { rule, .. }) = error else { panic!("{error:?}") };
    assert_eq!(rule, CallRule::InSetsAlone);
    // The texture is destroyed before the descriptor is used.
    put(&device, &sets, combined(&views, &samplers)).unwrap();
    device.destroy_resource(Permit::checked(), rock);
    submit(&device, GRAPHICS, 2, &[], |list| list.use_descriptor(at(&sets), State::NON_PIXEL_SHADER));
    assert_one(&hazards(&device), HazardKind::DeadDescriptor, &["sets", "rock"]);
}

#[test]
fn input_attachments_are_read_by_pixel_shaders() {
    let device = manual(Profile::VULKAN_MOBILE);
    let usage = Usage::RENDER_TARGET | Usage::INPUT_ATTACHMENT | Usage::COPY_DST;
    let albedo = committed(&device, "albedo", &ResourceDesc::Texture(readable(4, 4).usage(usage)));
    let views = heap(&device, "views", DescriptorKind::Resource, false);
    let input = Descriptor::Texture { resource: &albedo, view: first(TextureAccess::InputAttachment) };
    device.write_descriptor(Permit::checked(), &views, 0, &input).unwrap();
    let sets = block(&device, BindingKind::InputAttachment);
    put(&device, &sets, DescriptorSource::Copy { heap: &views, index: 0 }).unwrap();
    let look = |list: &mut tenure_sim::List| list.use_descriptor(at(&sets), READ);
    submit(&device, GRAPHICS, 1, &[], |list| {
        transition(list, &albedo, State::COMMON, State::RENDER_TARGET);
        list.clear_texture(&albedo, Subresource::All, &[1]);
        transition(list, &albedo, State::RENDER_TARGET, READ);
        look(list);
        transition(list, &albedo, READ, State::RENDER_TARGET);
    });
    assert_clean(&hazards(&device));
    submit(&device, GRAPHICS, 2, &[], look);
    assert_one(&hazards(&device), HazardKind::WrongState, &["albedo"]);
    submit(&device, GRAPHICS, 3, &[], |list| {
        list.use_descriptor(at(&sets), State::NON_PIXEL_SHADER);
    });
    assert_one(&hazards(&device), HazardKind::WrongDescriptor, &["sets", "albedo"]);
    let sampled = device.write_descriptor(Permit::checked(), &views, 1, &sampled(&albedo));
    let needs = Usage::SHADER_READ;
    assert_eq!(sampled, Err(DeviceError::MissingUsage { needs, has: usage }));
    device.destroy_resource(Permit::checked(), albedo);
    submit(&device, GRAPHICS, 4, &[], look);
    assert_one(&hazards(&device), HazardKind::DeadDescriptor, &["sets", "albedo"]);
}

#[test]
fn input_attachments_are_vulkans() {
    let usage = Usage::RENDER_TARGET | Usage::INPUT_ATTACHMENT;
    for profile in Profile::ALL {
        let device = Device::new(*profile);
        let texture = |usage| ResourceDesc::Texture(readable(4, 4).usage(usage));
        let found = device.requirements(&texture(usage));
        if device.properties().api == Api::Vulkan {
            assert_eq!(found, device.requirements(&texture(Usage::RENDER_TARGET)), "{profile:?}");
        } else {
            let wanted = DeviceError::Unsupported { feature: "input attachments" };
            assert_eq!(found.unwrap_err(), wanted, "{profile:?}");
        }
    }
}
