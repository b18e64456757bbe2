//! Views that break a rule are refused before the driver sees them, and leave nothing behind.

use crate::harness::PERMIT;
use tenure_core::device::{
    BufferView, Descriptor, DescriptorSource, MemoryTypeId, ResourceDesc, TextureView, prelude::*,
};
use tenure_core::{
    BufferAccess, BufferInfo, DescriptorKind, DeviceError, Elements, Format, Plane, SamplerInfo,
    TextureAccess, TextureDesc, Usage, ViewShape,
};
use tenure_d3d12::{DescriptorHeap, Device, Resource};

use crate::bench::{GPU_ONLY, READBACK, bad, buffer, device, missing_usage, refused};
use crate::viewer::{COUNT, heap_of, whole};

struct Refusals {
    device: Device,
    hidden: [DescriptorHeap; 4],
    visible: [DescriptorHeap; 2],
}

impl Refusals {
    fn new() -> Self {
        let device = device();
        Self {
            hidden: DescriptorKind::ALL.map(|kind| heap_of(&device, kind, false)),
            visible: [DescriptorKind::Resource, DescriptorKind::Sampler]
                .map(|kind| heap_of(&device, kind, true)),
            device,
        }
    }

    /// Makes a descriptor over another; a refused one leaves nothing.
    fn write(&self, descriptor: &Descriptor<'_, Device>) -> Result<(), DeviceError> {
        let kind = descriptor.kind() as usize;
        let heap = &self.hidden[kind];
        let answer = self.device.write_descriptor(PERMIT, heap, 0, descriptor);
        if let Some(visible) = self.visible.get(kind) {
            let copy = [DescriptorSource::Copy { heap, index: 0 }];
            let copied = self.device.fill_descriptors(PERMIT, visible, 0, &copy);
            assert_eq!(copied.is_ok(), answer.is_ok(), "{answer:?}");
        }
        answer
    }

    fn buffer(&self, size: u64, usage: Usage, memory: MemoryTypeId) -> Resource {
        self.device.create_committed(&buffer(size, usage), memory).unwrap()
    }

    fn texture(&self, desc: &TextureDesc) -> Resource {
        self.device.create_committed(&ResourceDesc::Texture(desc.info.clone()), GPU_ONLY).unwrap()
    }

    fn view(&self, resource: &Resource, view: TextureView) -> Result<(), DeviceError> {
        self.write(&Descriptor::Texture { resource, view })
    }
}

#[test]
fn buffers_are_viewed_within_their_rules() {
    let scene = Refusals::new();
    let all = Usage::CONSTANT | Usage::SHADER_READ | Usage::UNORDERED_ACCESS;
    let buffer = scene.buffer(100_000, all, GPU_ONLY);
    let view = |offset, size, access| {
        scene.write(&Descriptor::Buffer { resource: &buffer, view: BufferView { offset, size, access } })
    };
    let (constants, raw) = (BufferAccess::Constants, Elements::Raw);
    for access in [BufferAccess::Read, BufferAccess::ReadWrite] {
        view(16, 99_984, access(raw)).unwrap();
        assert_eq!(refused(view(4, 16, access(raw)), "the offset of a view of a buffer is aligned"), (4, 16));
        assert_eq!(refused(view(0, 6, access(raw)), "a view of a buffer has whole elements"), (6, 4));
        bad(view(0, 0, access(raw)), "size");
        let inside = "a view of a buffer is inside it";
        assert_eq!(refused(view(0, 100_004, access(raw)), inside), (100_004, 100_000));
        refused(view(u64::MAX - 15, 16, access(raw)), inside);
        refused(view(16, u64::MAX, access(raw)), inside);
        let structured = |stride| access(Elements::Structured(stride));
        view(24, 48, structured(12)).unwrap();
        refused(view(16, 48, structured(12)), "the offset of a view of a buffer is aligned");
        refused(view(24, 50, structured(12)), "a view of a buffer has whole elements");
        for stride in [0, 6, 2052, u32::MAX] {
            assert_eq!(bad(view(0, 48, structured(stride)), "stride"), stride.into());
        }
        let typed = |format| access(Elements::Typed(format));
        view(4, 96, typed(Format::R32Float)).unwrap();
        refused(view(2, 96, typed(Format::R32Float)), "the offset of a view of a buffer is aligned");
        refused(view(8, 16, typed(Format::Rgba32Float)), "the offset of a view of a buffer is aligned");
        refused(view(0, 24, typed(Format::Rgba32Float)), "a view of a buffer has whole elements");
        for format in [Format::D32Float, Format::Bc1Unorm, Format::D24UnormS8Uint] {
            assert_eq!(bad(view(0, 64, typed(format)), "format"), format.into());
        }
    }
    view(256, 65_536, constants).unwrap();
    assert_eq!(
        refused(view(128, 256, constants), "the offset and the size of constants are aligned"),
        (128, 256)
    );
    assert_eq!(
        refused(view(0, 64, constants), "the offset and the size of constants are aligned"),
        (64, 256)
    );
    refused(view(0, 65_792, constants), "a view of a buffer is not too large");
    refused(view(99_840, 256, constants), "a view of a buffer is inside it");
}

/// Such views of a real buffer would need two heaps of gigabytes, so the program claims a larger size.
#[test]
fn views_are_not_larger_than_the_api_allows() {
    let scene = Refusals::new();
    let limits = scene.device.properties().descriptors;
    let size = limits.storage_size + 4;
    let reserved = scene.device.properties().memory_heaps[0].size;
    assert!(size < reserved, "for this the test needs memory that is never touched");
    let buffer = scene.buffer(size, Usage::SHADER_READ, GPU_ONLY);
    let view = |size, elements| {
        let view = BufferView { offset: 0, size, access: BufferAccess::Read(elements) };
        scene.write(&Descriptor::Buffer { resource: &buffer, view })
    };
    let bytes = "a view of a buffer is not too large";
    assert_eq!(refused(view(size, Elements::Raw), bytes), (size, limits.storage_size));
    refused(view(size, Elements::Structured(4)), bytes);
    let most = u64::from(limits.typed_elements);
    let typed = Elements::Typed(Format::R8Unorm);
    assert_eq!(refused(view(most + 1, typed), "a view of a buffer is not too large"), (most + 1, most));
    view(most, typed).unwrap();
}

#[test]
fn usages_and_owners_are_kept() {
    let scene = Refusals::new();
    let raw = Elements::Raw;
    for (usage, access) in [
        (Usage::SHADER_READ, BufferAccess::Constants),
        (Usage::CONSTANT, BufferAccess::Read(raw)),
        (Usage::SHADER_READ, BufferAccess::ReadWrite(raw)),
    ] {
        let buffer = scene.buffer(1024, usage, GPU_ONLY);
        let view = BufferView { offset: 0, size: 256, access };
        let answer = scene.write(&Descriptor::Buffer { resource: &buffer, view });
        assert_eq!(missing_usage(answer), (access.usage(), usage));
    }
    let view = BufferView { offset: 0, size: 16, access: BufferAccess::Read(raw) };
    let readback = scene.buffer(1024, Usage::SHADER_READ | Usage::COPY_DST, READBACK);
    refused(scene.write(&Descriptor::Buffer { resource: &readback, view }), "shaders see no readback heap");
    let texture = TextureDesc::d2(8, 8, Format::Rgba8Unorm, Usage::SHADER_READ);
    let texture = (scene.texture(&texture), texture.info);
    refused(scene.write(&Descriptor::Buffer { resource: &texture.0, view }), "the resource is a buffer");
    let sampled = whole(&texture.1, ViewShape::D2);
    refused(scene.view(&readback, sampled), "the resource is a texture");
    for access in [TextureAccess::Storage, TextureAccess::RenderTarget] {
        let view = TextureView { access, ..sampled };
        assert_eq!(missing_usage(scene.view(&texture.0, view)), (access.usage(), texture.1.usage));
    }
    let other = Refusals::new();
    refused(other.view(&texture.0, sampled), "an object is used with the device that made it");
    let descriptor = Descriptor::Texture { resource: &texture.0, view: sampled };
    let write =
        |heap: &DescriptorHeap, index| scene.device.write_descriptor(PERMIT, heap, index, &descriptor);
    refused(write(&other.hidden[0], 0), "an object is used with the device that made it");
    refused(
        write(&scene.visible[0], 0),
        "descriptors are written and copied from in heaps that shaders do not see",
    );
    let inside = "the descriptors are inside their heap";
    assert_eq!(refused(write(&scene.hidden[0], COUNT), inside), (u64::from(COUNT), u64::from(COUNT)));
    for heap in &scene.hidden[1..] {
        refused(write(heap, 0), "a descriptor is of the kind that its heap holds");
    }
}

#[test]
fn textures_are_viewed_within_their_rules() {
    let scene = Refusals::new();
    let usage = Usage::SHADER_READ | Usage::RENDER_TARGET | Usage::UNORDERED_ACCESS;
    let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, usage).mips(3).layers(12);
    let texture = scene.texture(&desc);
    let all = whole(&desc.info, ViewShape::D2Array);
    let view = |view| scene.view(&texture, view);
    view(all).unwrap();
    bad(view(TextureView { mips: 0, ..all }), "mips");
    bad(view(TextureView { layers: 0, ..all }), "layers");
    let mips = "the mips of a view exist";
    assert_eq!(refused(view(TextureView { first_mip: 1, ..all }), mips), (4, 3));
    refused(view(TextureView { first_mip: u32::MAX, mips: u32::MAX, ..all }), mips);
    let layers = "the layers of a view exist";
    assert_eq!(refused(view(TextureView { first_layer: 7, layers: 6, ..all }), layers), (13, 12));
    refused(view(TextureView { first_layer: u32::MAX, layers: u32::MAX, ..all }), layers);
    refused(
        view(TextureView { shape: ViewShape::D2, layers: 2, ..all }),
        "a view without an array shape has one layer",
    );
    let cube = TextureView { shape: ViewShape::Cube, layers: 6, ..all };
    view(cube).unwrap();
    view(TextureView { shape: ViewShape::CubeArray, first_layer: 3, ..cube }).unwrap();
    for (shape, layers) in [(ViewShape::Cube, 5), (ViewShape::Cube, 12), (ViewShape::CubeArray, 7)] {
        let answer = view(TextureView { shape, layers, ..cube });
        assert_eq!(refused(answer, "a cube has six layers"), (u64::from(layers), 6));
    }
    bad(view(TextureView { shape: ViewShape::D3, layers: 1, ..all }), "shape");
    bad(view(TextureView { format: Format::Rgba8Srgb, ..all }), "format");
    bad(view(TextureView { plane: Plane::Stencil, ..all }), "plane");
    for access in [TextureAccess::Storage, TextureAccess::RenderTarget] {
        let one = TextureView { access, mips: 1, ..all };
        view(one).unwrap();
        assert_eq!(bad(view(TextureView { mips: 2, ..one }), "mips"), 2_u32.into());
        bad(view(TextureView { shape: ViewShape::Cube, layers: 6, ..one }), "shape");
    }
    let wide = TextureDesc::d2(32, 16, Format::Rgba8Unorm, Usage::SHADER_READ).layers(6);
    let cube = whole(&wide.info, ViewShape::Cube);
    assert_eq!(refused(scene.view(&scene.texture(&wide), cube), "a cube is as high as wide"), (16, 32));
    let volume = TextureDesc::d3(8, 8, 8, Format::Rgba8Unorm, usage);
    let (volume, shown) = (scene.texture(&volume), whole(&volume.info, ViewShape::D3));
    scene.view(&volume, shown).unwrap();
    bad(scene.view(&volume, TextureView { shape: ViewShape::D2, ..shown }), "shape");
    refused(scene.view(&volume, TextureView { first_layer: 1, ..shown }), layers);
}

#[test]
fn depth_and_samples_have_rules_of_their_own() {
    let scene = Refusals::new();
    let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
    let desc = TextureDesc::d2(32, 32, Format::D32Float, usage).layers(6);
    let depth = scene.texture(&desc);
    let cube = whole(&desc.info, ViewShape::Cube);
    scene.view(&depth, cube).unwrap();
    bad(scene.view(&depth, TextureView { plane: Plane::Stencil, ..cube }), "plane");
    bad(scene.view(&depth, TextureView { format: Format::R32Float, ..cube }), "format");
    let target = TextureView { access: TextureAccess::DepthStencil { read_only: false }, ..cube };
    bad(scene.view(&depth, target), "shape");
    let both = TextureDesc::d2(32, 32, Format::D24UnormS8Uint, usage);
    let (stencil, shown) = (scene.texture(&both), whole(&both.info, ViewShape::D2));
    let target = TextureView { access: TextureAccess::DepthStencil { read_only: true }, ..shown };
    scene.view(&stencil, target).unwrap();
    bad(scene.view(&stencil, TextureView { plane: Plane::Stencil, ..target }), "plane");
    let hidden = TextureDesc::d2(32, 32, Format::D32Float, Usage::DEPTH_STENCIL);
    let shown = whole(&hidden.info, ViewShape::D2);
    missing_usage(scene.view(&scene.texture(&hidden), shown));
    let many = TextureDesc::d2(32, 32, Format::Rgba8Unorm, Usage::RENDER_TARGET | Usage::SHADER_READ);
    let many = many.samples(4).layers(6);
    let (texture, shown) = (scene.texture(&many), whole(&many.info, ViewShape::D2Array));
    scene.view(&texture, shown).unwrap();
    bad(scene.view(&texture, TextureView { shape: ViewShape::Cube, ..shown }), "shape");
}

/// The creation of a texture is checked, not only its description.
#[test]
fn textures_of_the_program_are_looked_at() {
    let scene = Refusals::new();
    let own = TextureDesc::d2(32, 32, Format::D32Float, Usage::DEPTH_STENCIL);
    let raw = scene.texture(&own).raw().clone();
    let read = own.info.usage(Usage::DEPTH_STENCIL | Usage::SHADER_READ);
    let adopted = Resource::from_raw(&scene.device, raw, ResourceDesc::Texture(read.clone())).unwrap();
    let rule = "the texture was created in the format of its view, or a typeless one (DXGI_FORMAT)";
    refused(scene.view(&adopted, whole(&read, ViewShape::D2)), rule);
    let target = TextureAccess::DepthStencil { read_only: false };
    scene.view(&adopted, TextureView { access: target, ..whole(&read, ViewShape::D2) }).unwrap();

    let own = TextureDesc::d2(32, 32, Format::D32Float, Usage::DEPTH_STENCIL | Usage::SHADER_READ);
    let raw = scene.texture(&own).raw().clone();
    let adopted = Resource::from_raw(&scene.device, raw, ResourceDesc::Texture(own.info.clone())).unwrap();
    scene.view(&adopted, whole(&own.info, ViewShape::D2)).unwrap();

    let raw = scene.buffer(1024, Usage::SHADER_READ, GPU_ONLY).raw().clone();
    let part = ResourceDesc::Buffer(BufferInfo::new(512, Usage::SHADER_READ));
    let adopted = Resource::from_raw(&scene.device, raw, part).unwrap();
    let view = BufferView { offset: 512, size: 16, access: BufferAccess::Read(Elements::Raw) };
    let answer = scene.write(&Descriptor::Buffer { resource: &adopted, view });
    assert_eq!(refused(answer, "a view of a buffer is inside it"), (528, 512));
}

#[test]
fn samplers_stay_in_their_ranges() {
    let scene = Refusals::new();
    let sampler = SamplerInfo::default();
    scene.write(&Descriptor::Sampler(sampler.anisotropy(16))).unwrap();
    for (desc, field) in [
        (sampler.anisotropy(17), "anisotropy"),
        (sampler.anisotropy(0), "anisotropy"),
        (sampler.mip_bias(16.0), "mip_bias"),
        (sampler.mip_bias(f32::NAN), "mip_bias"),
        (sampler.min_lod(-1.0), "min_lod"),
        (sampler.min_lod(2.0).max_lod(1.0), "max_lod"),
        (sampler.max_lod(f32::INFINITY), "max_lod"),
    ] {
        bad(scene.write(&Descriptor::Sampler(desc)), field);
    }
}
