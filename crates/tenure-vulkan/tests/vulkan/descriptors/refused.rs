//! Calls that the API does not allow are refused before they reach it.

use crate::harness::PERMIT;
use conformance::{Look, Through};
use tenure_core::device::{
    Allowed, BufferView, Descriptor, DescriptorHeapDesc, DescriptorSource, SetWrite, TextureView, prelude::*,
};
use tenure_core::{
    BindingKind, BufferAccess, DescriptorKind, DeviceError, Dimension, Elements, Format, Plane, SetBinding,
    TextureAccess, Usage, ViewShape,
};
use tenure_vulkan::ash::vk;

use super::room::{PART, Room, TYPED, image, nearest, part, visible, whole, words};
use crate::basics::texture;
use crate::harness::{Vulkan, validated};

use TextureAccess::{DepthStencil, RenderTarget, Sampled, Storage};

#[test]
fn bad_buffer_views_are_refused() {
    let room = Room::new(Vulkan::new(validated()));
    let limits = room.device.properties().descriptors;
    let of = |offset, size, access| BufferView { offset, size, access };
    let raw = BufferAccess::Read(Elements::Raw);
    let constants = BufferAccess::Constants;
    let typed = BufferAccess::Read(TYPED);
    let total = 8 * PART;
    for view in [
        of(0, 0, raw),
        of(0, total + 4, raw),
        of(total, 4, raw),
        of(u64::MAX - 3, 16, raw),
        of(0, u64::MAX, constants),
        of(4, 64, constants),
        of(4, 64, raw),
        of(4, 64, typed),
        of(0, 63, raw),
        of(0, 63, typed),
        of(0, 24, BufferAccess::Read(Elements::Structured(16))),
        of(0, 64, BufferAccess::Read(Elements::Structured(0))),
        of(0, 64, BufferAccess::ReadWrite(Elements::Structured(6))),
        of(0, 64, BufferAccess::Read(Elements::Typed(Format::D16Unorm))),
        of(0, 64, BufferAccess::Read(Elements::Typed(Format::Bc1Unorm))),
        of(0, 64, BufferAccess::ReadWrite(Elements::Typed(Format::Rgba8Srgb))),
    ] {
        let refused = room.view_buffer(0, view).unwrap_err();
        let is_clear = matches!(
            refused,
            DeviceError::InvalidCall { .. }
                | DeviceError::InvalidDesc { .. }
                | DeviceError::UnsupportedFormat { .. }
        );
        assert!(is_clear, "{view:?}: {refused:?}");
    }
    // Larger than the device takes at once.
    let large = crate::basics::buffer(limits.constant_size + PART, Usage::CONSTANT);
    let large = room.device.create_committed(&large, tenure_core::device::MemoryTypeId(0)).unwrap();
    let write = |view| room.write(0, &Descriptor::Buffer { resource: &large, view });
    assert!(write(of(0, limits.constant_size + 16, constants)).is_err());
    assert!(write(of(0, 64, raw)).is_err(), "another usage");
    assert!(write(of(0, limits.constant_size, constants)).is_ok());
    // A texture is no buffer.
    let view = part(0, raw);
    assert!(room.write(1, &Descriptor::Buffer { resource: &room.texture, view }).is_err());
    room.device.clear_descriptors(PERMIT, &room.views, 0, 1, None);
    room.device.destroy_resource(PERMIT, large);
    room.end();
}

/// Views of a texture of six square layers and two mips.
fn wrong_of_layers() -> Vec<TextureView> {
    let whole = whole(Sampled, Format::Rgba8Unorm);
    vec![
        TextureView { mips: 0, ..whole },
        TextureView { layers: 0, ..whole },
        TextureView { mips: 3, ..whole },
        TextureView { first_mip: 2, ..whole },
        TextureView { first_mip: u32::MAX, mips: u32::MAX, ..whole },
        TextureView { first_layer: 6, ..whole },
        TextureView { shape: ViewShape::D2Array, first_layer: 1, layers: 6, ..whole },
        TextureView { layers: 2, ..whole },
        TextureView { shape: ViewShape::Cube, layers: 5, ..whole },
        TextureView { shape: ViewShape::CubeArray, layers: 4, ..whole },
        TextureView { shape: ViewShape::D3, ..whole },
        TextureView { format: Format::R32Uint, ..whole },
        TextureView { format: Format::Rgba8Srgb, ..whole },
        TextureView { plane: Plane::Stencil, ..whole },
        TextureView { access: RenderTarget, mips: 2, ..whole },
        TextureView { access: RenderTarget, shape: ViewShape::Cube, layers: 6, ..whole },
        TextureView { access: Storage, ..whole },
        TextureView { access: DepthStencil { read_only: true }, ..whole },
    ]
}

#[test]
fn bad_texture_views_are_refused() {
    let room = Room::new(Vulkan::new(validated()));
    let usage = Usage::SHADER_READ | Usage::RENDER_TARGET;
    let flat = texture(16, Format::Rgba8Unorm, usage);
    let layers = flat.clone().depth_or_layers(6).mips(2);
    let oblong = flat.clone().height(8).depth_or_layers(6);
    let volume = flat.dimension(Dimension::D3).depth_or_layers(6);
    let depth = texture(16, Format::D32Float, Usage::SHADER_READ | Usage::DEPTH_STENCIL);
    let whole = whole(Sampled, Format::Rgba8Unorm);
    let deep = TextureView { format: Format::D32Float, ..whole };
    let table = [
        (layers, wrong_of_layers()),
        (oblong, vec![TextureView { shape: ViewShape::Cube, layers: 6, ..whole }]),
        (
            volume,
            vec![
                whole,
                TextureView { shape: ViewShape::D2Array, layers: 6, ..whole },
                TextureView { shape: ViewShape::D3, layers: 6, ..whole },
                TextureView { shape: ViewShape::D3, first_layer: 1, ..whole },
            ],
        ),
        (
            depth,
            vec![
                TextureView { plane: Plane::Stencil, ..deep },
                TextureView { access: Storage, ..deep },
                TextureView { access: RenderTarget, ..deep },
                TextureView { format: Format::R32Float, ..deep },
            ],
        ),
    ];
    for (info, views) in table {
        let resource = image(&room.device, info.clone());
        for view in views {
            let heap = DescriptorHeapDesc { kind: view.access.kind(), count: 1, shader_visible: false };
            let heap = room.device.create_descriptor_heap(&heap).unwrap();
            let descriptor = Descriptor::Texture { resource: &resource, view };
            let refused = room.device.write_descriptor(PERMIT, &heap, 0, &descriptor).unwrap_err();
            let is_clear = !refused.is_shortage() && !matches!(refused, DeviceError::Lost { .. });
            assert!(is_clear && heap.image_view(0).is_none(), "{view:?} of {info:?}: {refused:?}");
            room.device.destroy_descriptor_heap(PERMIT, heap);
        }
        room.device.destroy_resource(PERMIT, resource);
    }
    room.end();
}

/// Features that were not enabled are not used.
#[test]
fn disabled_features_are_unsupported() {
    let features = vk::PhysicalDeviceFeatures::default();
    let room = Room::new(Vulkan::new(validated().features(features)));
    assert_eq!(room.device.properties().descriptors.anisotropy, 1);
    let sampler = nearest().anisotropy(2);
    let refused = room.write(0, &Descriptor::Sampler(sampler)).unwrap_err();
    assert_eq!(refused, DeviceError::invalid_desc("anisotropy", 2_u32, Allowed::AtMost(1)));
    let info = texture(16, Format::Rgba8Unorm, Usage::SHADER_READ).depth_or_layers(12);
    let cubes = image(&room.device, info);
    let view = TextureView { shape: ViewShape::CubeArray, layers: 12, ..whole(Sampled, Format::Rgba8Unorm) };
    let refused = room.write(0, &Descriptor::Texture { resource: &cubes, view }).unwrap_err();
    assert!(matches!(refused, DeviceError::Unsupported { .. }), "{refused:?}");
    room.device.destroy_resource(PERMIT, cubes);
    room.end();
}

#[test]
fn bad_samplers_are_refused() {
    let room = Room::new(Vulkan::new(validated()));
    for sampler in [
        nearest().mip_bias(16.0),
        nearest().mip_bias(f32::NAN),
        nearest().anisotropy(0),
        nearest().anisotropy(17),
        nearest().min_lod(-1.0),
        nearest().max_lod(f32::INFINITY),
        nearest().min_lod(3.0).max_lod(2.0),
    ] {
        let refused = room.write(0, &Descriptor::Sampler(sampler)).unwrap_err();
        assert!(matches!(refused, DeviceError::InvalidDesc { .. }), "{sampler:?}: {refused:?}");
    }
    room.end();
}

fn is_call(found: Result<(), DeviceError>) {
    assert!(matches!(found, Err(DeviceError::InvalidCall { .. })), "{found:?}");
}

/// Indices, kinds and heaps that do not fit.
#[test]
fn descriptors_that_do_not_fit_a_heap_are_refused() {
    let room = Room::new(Vulkan::new(validated()));
    if !room.has_heaps() {
        return room.end();
    }
    room.furnish();
    let heap = visible(&room.device, DescriptorKind::Resource, 4).unwrap();
    let samplers = visible(&room.device, DescriptorKind::Sampler, 4).unwrap();
    let fill = |heap, first, sources: &[_]| room.device.fill_descriptors(PERMIT, heap, first, sources);
    let sampler = DescriptorSource::Copy { heap: &room.samplers, index: 0 };
    is_call(room.view_buffer(32, part(0, BufferAccess::Constants)));
    is_call(room.view_buffer(0, part(0, BufferAccess::Constants)));
    let descriptor = Descriptor::Buffer { resource: &room.buffer, view: part(0, BufferAccess::Constants) };
    is_call(room.device.write_descriptor(PERMIT, &heap, 0, &descriptor));
    is_call(room.device.write_descriptor(PERMIT, &room.samplers, 1, &descriptor));
    is_call(fill(&heap, 4, &[room.source(0)]));
    is_call(fill(&heap, u32::MAX, &[room.source(0)]));
    is_call(fill(&room.views, 9, &[room.source(0)]));
    is_call(fill(&heap, 0, &[room.source(0), room.source(20)]));
    is_call(fill(&heap, 0, &[room.source(0), sampler]));
    is_call(fill(&samplers, 0, &[sampler, room.source(0)]));
    is_call(fill(&heap, 0, &[DescriptorSource::Copy { heap: &heap, index: 0 }]));
    is_call(fill(&heap, 0, &[DescriptorSource::Copy { heap: &room.views, index: 99 }]));
    let constants = |offset, size| DescriptorSource::Constants { resource: &room.buffer, offset, size };
    is_call(fill(&heap, 0, &[constants(4, 16)]));
    let empty = DeviceError::invalid_desc("size", 0_u64, Allowed::AtLeast(1));
    assert_eq!(fill(&heap, 0, &[constants(0, 0)]), Err(empty));
    is_call(fill(&heap, 0, &[constants(0, 9 * PART)]));
    assert_eq!(fill(&heap, 0, &[]), Ok(()));
    room.device.destroy_descriptor_heap(PERMIT, heap);
    room.device.destroy_descriptor_heap(PERMIT, samplers);
    room.end();
}

#[test]
fn descriptors_that_do_not_fit_a_set_are_refused() {
    let room = Room::new(Vulkan::new(validated()));
    room.furnish();
    let of = |binding, kind, count| SetBinding { binding, kind, count };
    let layout = room.layout(&[of(1, BindingKind::Buffer, 2), of(5, BindingKind::DynamicConstants, 1)]);
    let block = room.device.create_set_pool(PERMIT, &layout, 2).unwrap();
    let of = |binding, element, index| SetWrite { binding, element, source: room.source(index) };
    let write = |set, writes: &[_]| room.device.write_set(PERMIT, &block, set, writes);
    is_call(write(2, &[of(1, 0, 1)]));
    is_call(write(0, &[of(0, 0, 1)]));
    is_call(write(0, &[of(1, 0, 1), of(1, 2, 1)]));
    is_call(write(0, &[of(1, 0, 0)]));
    is_call(write(0, &[of(1, 0, 30)]));
    is_call(write(0, &[of(5, 0, 1)]));
    assert_eq!(write(0, &[of(1, 0, 1), of(5, 0, 0)]), Ok(()));
    room.device.destroy_set_pool(PERMIT, block);
    room.device.destroy_set_layout(PERMIT, layout);
    room.end();
}

/// A copy with an invalid part is refused as a whole, whatever its size.
#[test]
fn a_refused_call_changes_nothing() {
    let room = Room::new(Vulkan::new(validated()));
    if !room.has_heaps() {
        return room.end();
    }
    room.furnish();
    let heap = visible(&room.device, DescriptorKind::Resource, 40).unwrap();
    let layout = room.layout(&[SetBinding::new(0, BindingKind::Buffer).count(40)]);
    let block = room.device.create_set_pool(PERMIT, &layout, 1).unwrap();
    let write = |element, index| SetWrite { binding: 0, element, source: room.source(index) };
    room.device.fill_descriptors(PERMIT, &heap, 0, &[room.source(1)]).unwrap();
    room.device.write_set(PERMIT, &block, 0, &[write(0, 1)]).unwrap();
    for count in [2, 16, 17, 40] {
        let mut sources = vec![room.source(2); count];
        sources[count - 1] = room.source(20);
        is_call(room.device.fill_descriptors(PERMIT, &heap, 0, &sources));
        let mut writes: Vec<_> = (0..count).map(|element| write(element as u32, 2)).collect();
        writes[count - 1].source = room.source(0);
        is_call(room.device.write_set(PERMIT, &block, 0, &writes));
        let seen = room.look(Look::Buffer, Through::Heap { heap: &heap, index: 0 });
        assert_eq!(seen, words(1), "{count}");
        let through = Through::Set { layout: &layout, block: &block, set: 0, binding: 0, element: 0 };
        assert_eq!(room.look(Look::Buffer, through), words(1), "{count}");
    }
    let writes: Vec<_> = (0..40).map(|element| write(element, 2)).collect();
    room.device.write_set(PERMIT, &block, 0, &writes).unwrap();
    room.device.fill_descriptors(PERMIT, &heap, 0, &vec![room.source(2); 40]).unwrap();
    for index in [0, 15, 16, 17, 31, 32, 39] {
        let seen = room.look(Look::Buffer, Through::Heap { heap: &heap, index });
        assert_eq!(seen, words(2), "{index}");
        let through = Through::Set { layout: &layout, block: &block, set: 0, binding: 0, element: index };
        assert_eq!(room.look(Look::Buffer, through), words(2), "{index}");
    }
    room.device.destroy_descriptor_heap(PERMIT, heap);
    room.device.destroy_set_pool(PERMIT, block);
    room.device.destroy_set_layout(PERMIT, layout);
    room.end();
}
