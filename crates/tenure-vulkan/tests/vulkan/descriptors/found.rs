//! Shaders read through descriptors.

use crate::harness::PERMIT;
use conformance::{Look, Through};
use tenure_core::device::{Descriptor, DescriptorSource, SetWrite, prelude::*};
use tenure_core::{BindingKind, DescriptorKind, Format, SetBinding, State, TextureAccess, Usage};
use tenure_vulkan::{ApiVersion, DeviceConfig, OptionalFeatures};

use super::room::{Room, TEXEL, image, nearest, visible, whole, words};
use crate::basics::texture;
use crate::harness::{Vulkan, in_buffers, validated};

const KINDS: [BindingKind; 7] = [
    BindingKind::Constants,
    BindingKind::Buffer,
    BindingKind::Buffer,
    BindingKind::TypedBuffer,
    BindingKind::TypedStorageBuffer,
    BindingKind::Texture,
    BindingKind::StorageTexture,
];
const COLOUR: [u32; 4] = [10, 20, 30, 40];

/// In heaps as large as they get, at the first, the last and some index.
fn heaps_show_everything(vulkan: Vulkan) {
    let room = Room::new(vulkan);
    if !room.has_heaps() {
        return room.end();
    }
    let looks = room.furnish();
    let limits = room.device.properties().descriptors;
    let count = limits.visible_resources;
    let heap = visible(&room.device, DescriptorKind::Resource, count).unwrap();
    let samplers = visible(&room.device, DescriptorKind::Sampler, limits.visible_samplers).unwrap();
    assert_eq!(heap.constants(), count, "as many as of all else");
    for first in [0, 1000, count - 8] {
        let sources: Vec<_> = (0..8).map(|index| room.source(index)).collect();
        room.device.fill_descriptors(PERMIT, &heap, first, &sources).unwrap();
        let last = limits.visible_samplers - 1;
        let sampler = DescriptorSource::Copy { heap: &room.samplers, index: 0 };
        room.device.fill_descriptors(PERMIT, &samplers, last, &[sampler]).unwrap();
        for (index, look) in (0..).zip(&looks) {
            let seen = room.look(copy(look), Through::Heap { heap: &heap, index: first + index });
            assert_eq!(seen, Room::expected(index), "{index} at {first}");
        }
        let texture = Through::Heap { heap: &heap, index: first + 7 };
        let seen = room.look(Look::Sampler { texture }, Through::Heap { heap: &samplers, index: last });
        assert_eq!(seen, COLOUR);
        room.device.fill_descriptors(PERMIT, &heap, first + 3, &[room.constants(6)]).unwrap();
        let seen = room.look(Look::Constants, Through::Heap { heap: &heap, index: first + 3 });
        assert_eq!(seen, words(6), "constants without a view");
    }
    room.device.destroy_descriptor_heap(PERMIT, heap);
    room.device.destroy_descriptor_heap(PERMIT, samplers);
    room.end();
}

fn copy<D: tenure_core::device::Device>(look: &Look<'static, D>) -> Look<'static, D> {
    match look {
        Look::Constants => Look::Constants,
        Look::Buffer => Look::Buffer,
        Look::StorageBuffer => Look::StorageBuffer,
        Look::TypedBuffer => Look::TypedBuffer,
        Look::TypedStorageBuffer => Look::TypedStorageBuffer,
        Look::Texture => Look::Texture,
        Look::StorageTexture => Look::StorageTexture,
        Look::DynamicConstants { .. } | Look::Sampler { .. } | Look::CombinedSampler => {
            unreachable!("not of these")
        }
    }
}

#[test]
fn heaps_show_everything_by_vulkan_1_3() {
    heaps_show_everything(Vulkan::new(validated()));
}

/// Each kind in an array of its own.
#[test]
fn heaps_show_everything_without_mutable_descriptors() {
    heaps_show_everything(Vulkan::new(validated().without(OptionalFeatures::MUTABLE_DESCRIPTORS)));
}

#[test]
fn heaps_in_buffers_show_everything() {
    heaps_show_everything(Vulkan::new(in_buffers()));
    heaps_show_everything(Vulkan::new(in_buffers().without(OptionalFeatures::MUTABLE_DESCRIPTORS)));
    heaps_show_everything(Vulkan::new(in_buffers().api_version(ApiVersion::V1_1)));
}

/// By the extension, before it was part of the version.
#[test]
fn heaps_show_everything_by_vulkan_1_1() {
    heaps_show_everything(Vulkan::new(validated().api_version(ApiVersion::V1_1)));
}

/// On a wrapped device with a list of enabled features.
#[test]
fn heaps_show_everything_on_a_wrapped_device() {
    heaps_show_everything(Vulkan::wrapping(&DeviceConfig::default()));
}

/// One set with everything, and arrays of it.
fn sets_show_everything(vulkan: Vulkan) {
    let room = Room::new(vulkan);
    let looks = room.furnish();
    let of = |binding, kind, count| SetBinding { binding, kind, count };
    let mut bindings: Vec<_> = (0..).zip(KINDS).map(|(index, kind)| of(10 - index, kind, 3)).collect();
    bindings.extend([of(20, BindingKind::Sampler, 1), of(21, BindingKind::Texture, 1)]);
    let layout = room.layout(&bindings);
    let block = room.device.create_set_pool(PERMIT, &layout, 4).unwrap();
    let sampler = DescriptorSource::Copy { heap: &room.samplers, index: 0 };
    let mut writes = vec![
        SetWrite { binding: 20, element: 0, source: sampler },
        SetWrite { binding: 21, element: 0, source: room.source(7) },
    ];
    for (index, binding) in (0..7).zip((0..=10).rev()) {
        let elements = (0..3).map(|element| SetWrite { binding, element, source: room.source(index) });
        writes.extend(elements);
    }
    for set in [0, 3] {
        room.device.write_set(PERMIT, &block, set, &writes).unwrap();
        let through =
            |binding, element| Through::Set { layout: &layout, block: &block, set, binding, element };
        for (index, look) in (0..).zip(&looks) {
            for element in 0..3 {
                let seen = room.look(copy(look), through(10 - index, element));
                assert_eq!(seen, Room::expected(index), "{index} of set {set}");
            }
        }
        let texture = through(21, 0);
        assert_eq!(room.look(Look::Sampler { texture }, through(20, 0)), COLOUR);
    }
    room.device.destroy_set_pool(PERMIT, block);
    room.device.destroy_set_layout(PERMIT, layout);
    room.end();
}

#[test]
fn sets_show_everything_by_vulkan_1_3() {
    sets_show_everything(Vulkan::new(validated()));
}

#[test]
fn sets_show_everything_without_anything_optional() {
    sets_show_everything(Vulkan::new(validated().without(OptionalFeatures::all())));
}

/// One set serves all constants of a buffer.
#[test]
fn dynamic_constants_begin_where_they_are_bound() {
    let room = Room::new(Vulkan::new(validated()));
    let kind = BindingKind::DynamicConstants;
    let of = |binding, count| SetBinding { binding, kind, count };
    let layout = room.layout(&[of(4, 1), of(1, 2)]);
    let block = room.device.create_set_pool(PERMIT, &layout, 1).unwrap();
    let write = |binding, element| SetWrite { binding, element, source: room.constants(0) };
    room.device.write_set(PERMIT, &block, 0, &[write(1, 0), write(1, 1), write(4, 0)]).unwrap();
    for (binding, element) in [(1, 0), (1, 1), (4, 0)] {
        for part in [0, 3, 7] {
            let look = Look::DynamicConstants { offset: part * 256 };
            let through = Through::Set { layout: &layout, block: &block, set: 0, binding, element };
            assert_eq!(room.look(look, through), words(part), "{binding}, {element}");
        }
    }
    room.device.destroy_set_pool(PERMIT, block);
    room.device.destroy_set_layout(PERMIT, layout);
    room.end();
}

/// Some of an array is enough where there is descriptor indexing.
#[test]
fn arrays_are_filled_in_part() {
    let room = Room::new(Vulkan::new(validated()));
    if !room.has_heaps() {
        return room.end();
    }
    room.furnish();
    let layout = room.layout(&[SetBinding::new(0, BindingKind::Buffer).count(100)]);
    let block = room.device.create_set_pool(PERMIT, &layout, 1).unwrap();
    room.device
        .write_set(PERMIT, &block, 0, &[SetWrite { binding: 0, element: 77, source: room.source(1) }])
        .unwrap();
    let through = Through::Set { layout: &layout, block: &block, set: 0, binding: 0, element: 77 };
    assert_eq!(room.look(Look::Buffer, through), words(1));
    room.device.destroy_set_pool(PERMIT, block);
    room.device.destroy_set_layout(PERMIT, layout);
    room.end();
}

/// Depth that was drawn, or might be at the same time, is in the layout that its descriptor names.
#[test]
fn depth_is_read_in_the_layout_of_its_descriptor() {
    let room = Room::new(Vulkan::new(validated()));
    room.furnish();
    let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ | Usage::COPY_DST;
    let depth = image(&room.device, texture(8, Format::D32Float, usage));
    let of = |binding, kind| SetBinding { binding, kind, count: 1 };
    let layout = room.layout(&[of(0, BindingKind::Sampler), of(1, BindingKind::Texture)]);
    let block = room.device.create_set_pool(PERMIT, &layout, 1).unwrap();
    let states = [State::NON_PIXEL_SHADER, State::NON_PIXEL_SHADER | State::DEPTH_READ];
    for (index, state) in (8..).zip(states) {
        room.paint(&depth, 0.2_f32.to_bits(), state);
        let view = whole(TextureAccess::Sampled, Format::D32Float);
        room.write(index, &Descriptor::Texture { resource: &depth, view }).unwrap();
        let sampler = DescriptorSource::Copy { heap: &room.samplers, index: 0 };
        let write = |binding, source| SetWrite { binding, element: 0, source };
        room.device.write_set(PERMIT, &block, 0, &[write(0, sampler), write(1, room.source(index))]).unwrap();
        let through = |binding| Through::Set { layout: &layout, block: &block, set: 0, binding, element: 0 };
        let seen = room.look(Look::Sampler { texture: through(1) }, through(0));
        assert_eq!(seen[0], 51, "a fifth of 255, in {state:?}");
    }
    room.device.destroy_set_pool(PERMIT, block);
    room.device.destroy_set_layout(PERMIT, layout);
    room.device.clear_descriptors(PERMIT, &room.views, 0, 32, None);
    room.device.destroy_resource(PERMIT, depth);
    room.end();
}

/// Each thread fills a part of a heap, all at once, while shaders look at others.
#[test]
fn threads_fill_one_heap() {
    let room = Room::new(Vulkan::new(validated()));
    if !room.has_heaps() {
        return room.end();
    }
    room.furnish();
    let heap = visible(&room.device, DescriptorKind::Resource, 4096).unwrap();
    room.device.fill_descriptors(PERMIT, &heap, 0, &[room.source(1)]).unwrap();
    std::thread::scope(|scope| {
        for thread in 1..4_u32 {
            let (device, views, heap) = (&room.device, &room.views, &heap);
            scope.spawn(move || {
                let source = |index| DescriptorSource::Copy { heap: views, index };
                let sources: Vec<_> = (0..40).map(|index| source(index % 7)).collect();
                for chunk in 0..25 {
                    device.fill_descriptors(PERMIT, heap, thread * 1000 + chunk * 40, &sources).unwrap();
                }
            });
        }
    });
    for thread in 1..4_u32 {
        for chunk in [0, 11, 24] {
            let first = thread * 1000 + chunk * 40;
            let at = |index| Through::Heap { heap: &heap, index: first + index };
            assert_eq!(room.look(Look::Constants, at(0)), words(0));
            assert_eq!(room.look(Look::Texture, at(33)), [TEXEL; 4], "texture 5, after four times seven");
        }
    }
    assert_eq!(room.look(Look::Buffer, Through::Heap { heap: &heap, index: 0 }), words(1));
    room.device.destroy_descriptor_heap(PERMIT, heap);
    room.end();
}

/// The same sampler in heap and set, of the API's handles.
#[test]
fn handles_of_the_api_are_returned() {
    let room = Room::new(Vulkan::new(validated()));
    room.furnish();
    let views = &room.views;
    assert!(views.buffer(0).is_some_and(|info| Some(info.buffer) == room.buffer.buffer()));
    assert!(views.buffer_view(3).is_some() && views.buffer_view(0).is_none());
    assert!(views.image_view(5).is_some() && views.image_view(4).is_none());
    assert!(views.sampler(5).is_none() && room.samplers.sampler(0).is_some());
    assert!(views.image_view(8).is_none() && views.image_view(99).is_none());
    assert!(views.set().is_none() && views.layout().is_none() && views.constants() == 0);
    assert!(room.write(1, &Descriptor::Sampler(nearest())).is_ok());
    assert_ne!(room.samplers.sampler(0), room.samplers.sampler(1), "sharing is not the device's");
    if room.has_heaps() {
        let heap = visible(&room.device, DescriptorKind::Sampler, 2).unwrap();
        assert!(heap.set().is_some() && heap.layout().is_some() && heap.sampler(0).is_none());
        assert_eq!((heap.kind(), heap.count(), heap.constants()), (DescriptorKind::Sampler, 2, 0));
        room.device.destroy_descriptor_heap(PERMIT, heap);
    }
    room.end();
}
