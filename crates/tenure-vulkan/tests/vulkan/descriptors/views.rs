//! Views and samplers of every kind are created without messages of the layers.

use crate::harness::PERMIT;
use tenure_core::device::{Descriptor, DescriptorHeapDesc, TextureView, prelude::*};
use tenure_core::{
    AddressMode, BorderColor, Compare, DescriptorKind, Dimension, Filter, Format, Plane, SamplerInfo,
    TextureAccess, TextureInfo, Usage, ViewShape,
};
use tenure_vulkan::{DescriptorHeap, Device};

use super::room::{Room, image, nearest, whole};
use crate::basics::texture;
use crate::harness::{Vulkan, validated};

use TextureAccess::{DepthStencil, RenderTarget, Sampled, Storage};

/// A heap for a view, and room to make it in.
fn make(device: &Device, info: &TextureInfo, views: &[TextureView]) {
    let resource = image(device, info.clone());
    for view in views {
        let kind = view.access.kind();
        let heap = heap(device, kind);
        let made = device.write_descriptor(
            PERMIT,
            &heap,
            1,
            &Descriptor::Texture { resource: &resource, view: *view },
        );
        assert_eq!(made, Ok(()), "{view:?} of {info:?}");
        assert!(heap.image_view(1).is_some());
        device.destroy_descriptor_heap(PERMIT, heap);
    }
    device.destroy_resource(PERMIT, resource);
}

fn heap(device: &Device, kind: DescriptorKind) -> DescriptorHeap {
    device.create_descriptor_heap(&DescriptorHeapDesc { kind, count: 2, shader_visible: false }).unwrap()
}

const fn of(access: TextureAccess, shape: ViewShape, mips: [u32; 2], layers: [u32; 2]) -> TextureView {
    TextureView {
        access,
        shape,
        format: Format::Rgba8Unorm,
        plane: Plane::First,
        first_mip: mips[0],
        mips: mips[1],
        first_layer: layers[0],
        layers: layers[1],
    }
}

#[test]
fn every_shape_has_views() {
    let room = Room::new(Vulkan::new(validated()));
    let device = &room.device;
    let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS | Usage::RENDER_TARGET;
    let flat = texture(16, Format::Rgba8Unorm, usage);
    let array = flat.clone().depth_or_layers(13).mips(4);
    make(
        device,
        &array,
        &[
            of(Sampled, ViewShape::D2, [0, 4], [12, 1]),
            of(Sampled, ViewShape::D2Array, [1, 2], [0, 13]),
            of(Sampled, ViewShape::Cube, [3, 1], [7, 6]),
            of(Sampled, ViewShape::CubeArray, [0, 4], [1, 12]),
            of(Storage, ViewShape::D2, [2, 1], [3, 1]),
            of(Storage, ViewShape::D2Array, [0, 1], [3, 10]),
            of(RenderTarget, ViewShape::D2, [3, 1], [5, 1]),
            of(RenderTarget, ViewShape::D2Array, [1, 1], [0, 13]),
        ],
    );
    let volume = flat.clone().dimension(Dimension::D3).depth_or_layers(8).mips(3);
    make(
        device,
        &volume,
        &[
            of(Sampled, ViewShape::D3, [0, 3], [0, 1]),
            of(Storage, ViewShape::D3, [1, 1], [0, 1]),
            of(RenderTarget, ViewShape::D3, [1, 1], [0, 1]),
        ],
    );
    let samples = flat.samples(4).usage(Usage::SHADER_READ | Usage::RENDER_TARGET);
    let views = [Sampled, RenderTarget].map(|access| of(access, ViewShape::D2, [0, 1], [0, 1]));
    make(device, &samples, &views);
    room.end();
}

#[test]
fn depth_and_stencil_have_views() {
    let room = Room::new(Vulkan::new(validated()));
    let usage = Usage::SHADER_READ | Usage::DEPTH_STENCIL;
    for format in [Format::D16Unorm, Format::D32Float, Format::D32FloatS8Uint] {
        let info = texture(16, format, usage).depth_or_layers(6);
        let view = |access, shape, layers| TextureView { format, ..of(access, shape, [0, 1], [0, layers]) };
        let mut views = vec![
            view(Sampled, ViewShape::D2, 1),
            view(Sampled, ViewShape::Cube, 6),
            view(DepthStencil { read_only: false }, ViewShape::D2Array, 6),
            view(DepthStencil { read_only: true }, ViewShape::D2, 1),
        ];
        if format.has_stencil() {
            views.push(TextureView { plane: Plane::Stencil, ..view(Sampled, ViewShape::D2, 1) });
        }
        make(&room.device, &info, &views);
    }
    room.end();
}

/// Also where only the view's format allows a use.
#[test]
fn formats_are_cast() {
    let room = Room::new(Vulkan::new(validated()));
    let usage = Usage::SHADER_READ | Usage::UNORDERED_ACCESS | Usage::RENDER_TARGET;
    let view_formats = vec![Format::Rgba8Unorm, Format::R32Uint];
    let info = texture(16, Format::Rgba8Srgb, usage).view_formats(view_formats);
    let cast = |access, format| whole(access, format);
    make(
        &room.device,
        &info,
        &[
            cast(Sampled, Format::Rgba8Srgb),
            cast(RenderTarget, Format::Rgba8Srgb),
            cast(Sampled, Format::Rgba8Unorm),
            cast(Storage, Format::Rgba8Unorm),
            cast(Storage, Format::R32Uint),
        ],
    );
    room.end();
}

#[test]
fn samplers_of_every_kind_are_made() {
    let room = Room::new(Vulkan::new(validated()));
    let heap = |count| {
        let desc = DescriptorHeapDesc { kind: DescriptorKind::Sampler, count, shader_visible: false };
        room.device.create_descriptor_heap(&desc).unwrap()
    };
    let mut samplers = vec![SamplerInfo::default(), nearest()];
    let modes = [AddressMode::Repeat, AddressMode::Mirror, AddressMode::Clamp, AddressMode::Border];
    samplers.extend(modes.map(|mode| SamplerInfo::default().address([mode; 3])));
    let borders = [BorderColor::TransparentBlack, BorderColor::OpaqueBlack, BorderColor::OpaqueWhite];
    samplers.extend(borders.map(|border| nearest().border(border).address([modes[3]; 3])));
    let compares = [
        Compare::Never,
        Compare::Less,
        Compare::Equal,
        Compare::LessOrEqual,
        Compare::Greater,
        Compare::NotEqual,
        Compare::GreaterOrEqual,
        Compare::Always,
    ];
    samplers.extend(compares.map(|compare| nearest().compare(Some(compare))));
    let most = room.device.properties().descriptors.anisotropy;
    let filters = [Filter::Nearest, Filter::Linear];
    samplers.extend(filters.map(|mip| nearest().mip(mip).anisotropy(most).mip_bias(-2.0)));
    samplers.push(SamplerInfo::default().min_lod(2.5).max_lod(2.5));
    let heap = heap(u32::try_from(samplers.len()).unwrap());
    for (index, sampler) in (0..).zip(&samplers) {
        let made = room.device.write_descriptor(PERMIT, &heap, index, &Descriptor::Sampler(*sampler));
        assert_eq!(made, Ok(()), "{sampler:?}");
        assert!(heap.sampler(index).is_some());
    }
    room.device.destroy_descriptor_heap(PERMIT, heap);
    room.end();
}
