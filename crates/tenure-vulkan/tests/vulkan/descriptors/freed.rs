//! Freed descriptors, and descriptors written again.

use crate::harness::PERMIT;
use conformance::{Look, Through};
use tenure_core::device::{DescriptorSource, SetWrite, prelude::*};
use tenure_core::{BindingKind, BufferAccess, DescriptorKind, Elements, SetBinding};
use tenure_vulkan::OptionalFeatures;

use super::room::{Room, TEXEL, part, visible, words};
use crate::harness::{Vulkan, in_buffers, validated};

#[test]
fn freed_descriptors_of_a_heap_show_nothing() {
    freed_descriptors_show_nothing(Vulkan::new(validated()));
}

#[test]
fn freed_descriptors_of_a_heap_with_six_arrays_show_nothing() {
    let options = validated().without(OptionalFeatures::MUTABLE_DESCRIPTORS);
    freed_descriptors_show_nothing(Vulkan::new(options));
}

#[test]
fn freed_descriptors_in_buffers_show_nothing() {
    freed_descriptors_show_nothing(Vulkan::new(in_buffers()));
    let options = in_buffers().without(OptionalFeatures::MUTABLE_DESCRIPTORS);
    freed_descriptors_show_nothing(Vulkan::new(options));
}

/// Null descriptors read as zeros, without messages of the layers, and others are unchanged.
fn freed_descriptors_show_nothing(vulkan: Vulkan) {
    let room = Room::new(vulkan);
    if !room.has_heaps() {
        return room.end();
    }
    assert!(room.device.properties().descriptors.null);
    let looks = room.furnish();
    let heap = visible(&room.device, DescriptorKind::Resource, 200).unwrap();
    let sources: Vec<_> = (0..8).map(|index| room.source(index)).collect();
    room.device.fill_descriptors(PERMIT, &heap, 100, &sources).unwrap();
    room.device.fill_descriptors(PERMIT, &heap, 192, &sources).unwrap();
    room.device.clear_descriptors(PERMIT, &heap, 0, 192, Some("a table"));
    for (index, look) in (0..).zip(looks) {
        let seen = room.look(look, Through::Heap { heap: &heap, index: 100 + index });
        // Texels without a channel have an alpha, but that is not looked at.
        assert_eq!(seen, [0; 4], "{index}");
    }
    // Freed again as something else.
    room.device.fill_descriptors(PERMIT, &heap, 100, &[room.source(5), room.source(0)]).unwrap();
    assert_eq!(room.look(Look::Texture, Through::Heap { heap: &heap, index: 100 }), [TEXEL; 4]);
    room.device.clear_descriptors(PERMIT, &heap, 100, 2, Some("another table"));
    assert_eq!(room.look(Look::Texture, Through::Heap { heap: &heap, index: 100 }), [0; 4]);
    assert_eq!(room.look(Look::Constants, Through::Heap { heap: &heap, index: 101 }), [0; 4]);
    let seen = room.look(Look::Buffer, Through::Heap { heap: &heap, index: 193 });
    assert_eq!(seen, words(1), "of another table");
    // Beyond the end there is nothing to free.
    room.device.clear_descriptors(PERMIT, &heap, 190, u32::MAX, Some("a table"));
    let samplers = visible(&room.device, DescriptorKind::Sampler, 8).unwrap();
    room.device.clear_descriptors(PERMIT, &samplers, 0, 8, Some("samplers, which cannot be null"));
    room.device.destroy_descriptor_heap(PERMIT, heap);
    room.device.destroy_descriptor_heap(PERMIT, samplers);
    room.end();
}

fn buffers(count: u32) -> [SetBinding; 2] {
    let of = |binding, kind| SetBinding { binding, kind, count };
    [of(0, BindingKind::Buffer), of(1, BindingKind::Sampler)]
}

#[test]
fn freed_sets_show_nothing() {
    let room = Room::new(Vulkan::new(validated()));
    room.furnish();
    let layout = room.layout(&buffers(2));
    let block = room.device.create_set_pool(PERMIT, &layout, 2).unwrap();
    let write = |binding, element, source| SetWrite { binding, element, source };
    let sampler = DescriptorSource::Copy { heap: &room.samplers, index: 0 };
    let [first, second] = [0, 1].map(|element| write(0, element, room.source(1)));
    let samplers = [0, 1].map(|element| write(1, element, sampler));
    for set in [0, 1] {
        room.device.write_set(PERMIT, &block, set, &[first, second, samplers[0], samplers[1]]).unwrap();
    }
    room.device.clear_set(PERMIT, &block, 0, Some("a material"));
    room.device.clear_set(PERMIT, &block, 1, None);
    room.device.clear_set(PERMIT, &block, 2, Some("beyond the last"));
    for (set, expected) in [(0, [0; 4]), (1, words(1))] {
        let through = Through::Set { layout: &layout, block: &block, set, binding: 0, element: 1 };
        assert_eq!(room.look(Look::Buffer, through), expected);
    }
    room.device.destroy_set_pool(PERMIT, block);
    room.device.destroy_set_layout(PERMIT, layout);
    room.end();
}

/// Without null descriptors, freed descriptors are left alone.
#[test]
fn without_null_descriptors_nothing_is_written() {
    let room = Room::new(Vulkan::new(validated().without(OptionalFeatures::NULL_DESCRIPTORS)));
    assert!(!room.device.properties().descriptors.null);
    room.furnish();
    if room.has_heaps() {
        let heap = visible(&room.device, DescriptorKind::Resource, 4).unwrap();
        room.device.fill_descriptors(PERMIT, &heap, 0, &[room.source(1)]).unwrap();
        room.device.clear_descriptors(PERMIT, &heap, 0, 4, Some("a table"));
        assert_eq!(room.look(Look::Buffer, Through::Heap { heap: &heap, index: 0 }), words(1));
        room.device.destroy_descriptor_heap(PERMIT, heap);
    }
    let layout = room.layout(&buffers(1));
    let block = room.device.create_set_pool(PERMIT, &layout, 1).unwrap();
    let write = |binding, source| SetWrite { binding, element: 0, source };
    let sampler = DescriptorSource::Copy { heap: &room.samplers, index: 0 };
    room.device.write_set(PERMIT, &block, 0, &[write(0, room.source(1)), write(1, sampler)]).unwrap();
    room.device.clear_set(PERMIT, &block, 0, Some("a material"));
    let through = Through::Set { layout: &layout, block: &block, set: 0, binding: 0, element: 0 };
    assert_eq!(room.look(Look::Buffer, through), words(1));
    room.device.destroy_set_pool(PERMIT, block);
    room.device.destroy_set_layout(PERMIT, layout);
    room.end();
}

/// A set is written repeatedly, with views that replace each other at one index.
#[test]
fn sets_and_indices_are_used_again() {
    let room = Room::new(Vulkan::new(validated()));
    let binding = SetBinding::new(0, BindingKind::TypedBuffer);
    let layout = room.layout(&[binding]);
    let block = room.device.create_set_pool(PERMIT, &layout, 1).unwrap();
    let heap = room.has_heaps().then(|| visible(&room.device, DescriptorKind::Resource, 1).unwrap());
    for turn in 0..8 {
        let access = BufferAccess::Read(super::room::TYPED);
        room.view_buffer(0, part(u64::from(turn), access)).unwrap();
        let write = SetWrite { binding: 0, element: 0, source: room.source(0) };
        room.device.write_set(PERMIT, &block, 0, &[write]).unwrap();
        let through = Through::Set { layout: &layout, block: &block, set: 0, binding: 0, element: 0 };
        assert_eq!(room.look(Look::TypedBuffer, through), [words(turn)[0]; 4]);
        if let Some(heap) = &heap {
            room.device.fill_descriptors(PERMIT, heap, 0, &[room.source(0)]).unwrap();
            let through = Through::Heap { heap, index: 0 };
            assert_eq!(room.look(Look::TypedBuffer, through), [words(turn)[0]; 4]);
        }
        room.device.clear_descriptors(PERMIT, &room.views, 0, 1, None);
    }
    // Another kind at the same index.
    room.view_buffer(0, part(5, BufferAccess::Read(Elements::Raw))).unwrap();
    if let Some(heap) = heap {
        room.device.fill_descriptors(PERMIT, &heap, 0, &[room.source(0)]).unwrap();
        assert_eq!(room.look(Look::Buffer, Through::Heap { heap: &heap, index: 0 }), words(5));
        room.device.destroy_descriptor_heap(PERMIT, heap);
    }
    room.device.destroy_set_pool(PERMIT, block);
    room.device.destroy_set_layout(PERMIT, layout);
    room.end();
}
