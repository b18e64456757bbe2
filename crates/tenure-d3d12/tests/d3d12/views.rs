//! Views show their described ranges, and nothing after they are freed.

use crate::harness::PERMIT;
use tenure_core::device::{BufferView, Descriptor, TextureView, prelude::*};
use tenure_core::{
    AddressMode, BorderColor, BufferAccess, ClearValue, DescriptorKind, Dimension, Elements, Filter, Format,
    Plane, SamplerInfo, State, Subresource, TextureAccess, TextureDesc, TextureInfo, Usage, ViewShape,
};
use tenure_d3d12::Resource;
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{D3D12_CLEAR_FLAG_DEPTH, D3D12_CLEAR_FLAG_STENCIL};
use tenure_d3d12::windows::core::{GUID, IUnknown, Interface as _};

use crate::bench::GRAPHICS;
use crate::probe::{
    BUFFER, CONSTANTS, SAMPLED, STORAGE_BUFFER, STORAGE_TEXTURE, TEXTURE, TYPED_BUFFER, TYPED_STORAGE_BUFFER,
};
use crate::shaders::{Register, Shader};
use crate::viewer::{Viewer, whole, word};

const READ: &[Register] = &[Register::Read];
const WRITTEN: &[Register] = &[Register::ReadWrite];
const BOTH: &[Register] = &[Register::Read, Register::Sampler];

const fn shader(declared: &'static str, seen: &'static str, registers: &'static [Register]) -> Shader {
    Shader { declared, seen, registers, otherwise: None }
}

// A view of one layer or cube other than the first is an array of one, which shaders can declare as an array on
// every runtime.

/// The first layer in view.
const FIRST: Shader =
    shader("Texture2DArray<uint> source : register(t0);", "source.Load(int4(0, 0, 0, 0)).xxxx", READ);
/// The second layer in view.
const ARRAY: Shader =
    shader("Texture2DArray<uint> source : register(t0);", "source.Load(int4(0, 0, 1, 0)).xxxx", READ);
const VOLUME: Shader =
    shader("Texture3D<uint> source : register(t0);", "source.Load(int4(0, 0, 1, 0)).xxxx", READ);
/// Downwards: the fourth face.
const CUBE: Shader = shader(
    "TextureCube<float4> source : register(t0); SamplerState s : register(s0);",
    "uint4(round(source.SampleLevel(s, float3(0, -1, 0), 0) * 255.0))",
    BOTH,
);
/// The same of the first of several cubes.
const FIRST_CUBE: Shader = shader(
    "TextureCubeArray<float4> source : register(t0); SamplerState s : register(s0);",
    "uint4(round(source.SampleLevel(s, float4(0, -1, 0, 0), 0) * 255.0))",
    BOTH,
);
/// The same of the second cube in view.
const CUBES: Shader = shader(
    "TextureCubeArray<float4> source : register(t0); SamplerState s : register(s0);",
    "uint4(round(source.SampleLevel(s, float4(0, -1, 0, 1), 0) * 255.0))",
    BOTH,
);
const SAMPLES: Shader = shader(
    "Texture2DMS<float4, 4> source : register(t0);",
    "uint4(round(source.Load(int2(0, 0), 3) * 255.0))",
    READ,
);
const SAMPLES_ARRAY: Shader = shader(
    "Texture2DMSArray<float4, 4> source : register(t0);",
    "uint4(round(source.Load(int3(0, 0, 0), 3) * 255.0))",
    READ,
);
const COLOURS: Shader = shader(
    "Texture2D<float4> source : register(t0);",
    "uint4(round(source.Load(int3(0, 0, 0)) * 255.0))",
    READ,
);
const COLOURS_ARRAY: Shader = shader(
    "Texture2DArray<float4> source : register(t0);",
    "uint4(round(source.Load(int4(0, 0, 0, 0)) * 255.0))",
    READ,
);
const DEPTH: Shader = shader(
    "Texture2DArray<float> source : register(t0);",
    "uint4(round(source.Load(int4(0, 0, 0, 0)).xxxx * 255.0))",
    READ,
);
const STENCIL: Shader =
    shader("Texture2DArray<uint4> source : register(t0);", "source.Load(int4(0, 0, 0, 0))", READ);
const STORAGE_FIRST: Shader =
    shader("RWTexture2DArray<uint> source : register(u1);", "source[uint3(0, 0, 0)].xxxx", WRITTEN);
const STORAGE_ARRAY: Shader =
    shader("RWTexture2DArray<uint> source : register(u1);", "source[uint3(0, 0, 1)].xxxx", WRITTEN);
const STORAGE_VOLUME: Shader =
    shader("RWTexture3D<uint> source : register(u1);", "source[uint3(0, 0, 1)].xxxx", WRITTEN);
/// From the fifth word of the view.
const BEYOND: Shader = shader("ByteAddressBuffer source : register(t0);", "source.Load4(16)", READ);
/// The second structure.
const STRUCTURES: Shader = Shader {
    declared: "struct Each { uint4 words; }; StructuredBuffer<Each> source : register(t0);",
    seen: "source[1].words",
    registers: READ,
    otherwise: Some((
        "Buffer<uint> source : register(t0);",
        "uint4(source[4], source[5], source[6], source[7])",
    )),
};

const TEXELS: Usage = Usage::SHADER_READ.union(Usage::COPY_DST);

fn bytes_of(word: u32) -> [u32; 4] {
    word.to_le_bytes().map(u32::from)
}

fn painted(viewer: &mut Viewer, desc: TextureDesc) -> (tenure_d3d12::Resource, TextureInfo) {
    let texture = viewer.texture(&desc.info);
    viewer.paint(&texture, &desc.info);
    (texture, desc.info)
}

fn freed(viewer: &Viewer, index: u32) {
    viewer.device().clear_descriptors(PERMIT, &viewer.views, index, 1, Some("somebody"));
}

#[test]
fn buffers_are_seen_from_their_offset() {
    let mut viewer = Viewer::new();
    let words: Vec<u32> = (1000..1256).collect();
    let resource = &viewer.words(&words);
    let stored =
        |offset, size, elements| BufferView { offset, size, access: BufferAccess::ReadWrite(elements) };
    let read = |offset, size, elements| BufferView { offset, size, access: BufferAccess::Read(elements) };
    let typed = Elements::Typed(Format::R32Uint);
    for (index, (view, shader, expected)) in [
        (
            BufferView { offset: 512, size: 256, access: BufferAccess::Constants },
            CONSTANTS,
            [1128, 1129, 1130, 1131],
        ),
        (read(16, 32, Elements::Raw), BUFFER, [1004, 1005, 1006, 1007]),
        (stored(1008, 16, Elements::Raw), STORAGE_BUFFER, [1252, 1253, 1254, 1255]),
        (read(48, 48, Elements::Structured(16)), STRUCTURES, [1016, 1017, 1018, 1019]),
        (read(4, 4, typed), TYPED_BUFFER, [1001; 4]),
        (stored(1020, 4, typed), TYPED_STORAGE_BUFFER, [1255; 4]),
    ]
    .into_iter()
    .enumerate()
    {
        let index = index as u32;
        viewer.show(index, &Descriptor::Buffer { resource, view });
        assert_eq!(viewer.see(shader, &[index]), expected, "{view:?}");
        freed(&viewer, index);
        assert_eq!(viewer.see(shader, &[index]), [0; 4], "{view:?}, freed");
    }
    // Nothing can be read beyond the view, although the buffer is longer.
    viewer.show(9, &Descriptor::Buffer { resource, view: read(16, 16, Elements::Raw) });
    assert_eq!(viewer.see(BEYOND, &[9]), [0; 4]);
    viewer.show(10, &Descriptor::Buffer { resource, view: read(16, 8, Elements::Raw) });
    let seen = viewer.see(BUFFER, &[10]);
    if is_vkd3d_proton(&viewer.device()) {
        // It rounds the end up to the alignment that the Vulkan driver asks of storage buffers, 16 at most,
        // and its shaders compare where a load begins with the exact end, not each word of the load.
        assert!(seen == [1004, 1005, 0, 0] || seen == [1004, 1005, 1006, 1007], "{seen:?}");
    } else {
        assert_eq!(seen, [1004, 1005, 0, 0]);
    }
}

/// True on vkd3d-proton, by the interface that it adds to devices (`ID3D12DeviceExt`).
fn is_vkd3d_proton(device: &tenure_d3d12::Device) -> bool {
    const DEVICE_EXT: GUID = GUID::from_u128(0x11ea7a1a_0f6a_49bf_b612_3e30f8e201dd);
    let mut found = std::ptr::null_mut();
    // SAFETY: the device is alive, and both pointers are to data that outlives the call.
    let answer = unsafe { device.raw().query(&DEVICE_EXT, &raw mut found) };
    if answer.is_err() || found.is_null() {
        return false;
    }
    // SAFETY: the query has added a reference, which this takes over and gives back.
    drop(unsafe { IUnknown::from_raw(found) });
    true
}

#[test]
fn textures_are_seen_in_every_shape() {
    let mut viewer = Viewer::new();
    let layered = TextureDesc::d2(8, 8, Format::R32Uint, TEXELS).mips(3).layers(4);
    let (array, info) = painted(&mut viewer, layered);
    let whole_array = whole(&info, ViewShape::D2Array);
    let one = TextureView { shape: ViewShape::D2, layers: 1, ..whole_array };
    for (view, shader, expected) in [
        (one, TEXTURE, word(0, 0)),
        (TextureView { first_mip: 2, mips: 1, ..one }, TEXTURE, word(2, 0)),
        (TextureView { first_layer: 3, ..one }, FIRST, word(0, 3)),
        (TextureView { first_layer: 2, first_mip: 1, mips: 2, ..one }, FIRST, word(1, 2)),
        (whole_array, ARRAY, word(0, 1)),
        (TextureView { first_layer: 2, layers: 2, first_mip: 1, mips: 1, ..whole_array }, ARRAY, word(1, 3)),
    ] {
        viewer.show_texture(0, &array, view);
        assert_eq!(viewer.see(shader, &[0]), [expected; 4], "{view:?}");
        freed(&viewer, 0);
        assert_eq!(viewer.see(shader, &[0]), [0; 4], "{view:?}, freed");
    }
    let volume = TextureDesc::d3(8, 8, 8, Format::R32Uint, TEXELS).mips(2);
    let (volume, info) = painted(&mut viewer, volume);
    viewer.show_texture(0, &volume, TextureView { first_mip: 1, mips: 1, ..whole(&info, ViewShape::D3) });
    assert_eq!(viewer.see(VOLUME, &[0]), [word(1, 0); 4]);
    freed(&viewer, 0);
    assert_eq!(viewer.see(VOLUME, &[0]), [0; 4]);
}

#[test]
fn cubes_have_six_faces() {
    let mut viewer = Viewer::new();
    viewer.show_sampler(0, SamplerInfo::default().mag(Filter::Nearest).min(Filter::Nearest));
    let (cubes, info) = painted(&mut viewer, TextureDesc::d2(4, 4, Format::Rgba8Unorm, TEXELS).layers(18));
    let all = whole(&info, ViewShape::CubeArray);
    let one = TextureView { shape: ViewShape::Cube, layers: 6, ..all };
    for (view, shader, layer) in [
        (one, CUBE, 3),
        (TextureView { first_layer: 6, ..one }, FIRST_CUBE, 9),
        (all, CUBES, 9),
        (TextureView { first_layer: 6, layers: 12, ..all }, CUBES, 15),
    ] {
        viewer.show_texture(0, &cubes, view);
        assert_eq!(viewer.see(shader, &[0, 0]), bytes_of(word(0, layer)), "{view:?}");
        freed(&viewer, 0);
        assert_eq!(viewer.see(shader, &[0, 0]), [0; 4], "{view:?}, freed");
    }
}

#[test]
fn storage_shows_one_mip() {
    let mut viewer = Viewer::new();
    let usage = TEXELS | Usage::UNORDERED_ACCESS;
    let layered = TextureDesc::d2(8, 8, Format::R32Uint, usage).mips(3).layers(4);
    let (array, info) = painted(&mut viewer, layered);
    viewer.change(&array, State::SHADER_READ, State::UNORDERED_ACCESS);
    let all = TextureView { access: TextureAccess::Storage, mips: 1, ..whole(&info, ViewShape::D2Array) };
    let one = TextureView { shape: ViewShape::D2, layers: 1, ..all };
    let (flat, _) = painted(&mut viewer, TextureDesc::d2(8, 8, Format::R32Uint, usage).mips(3));
    viewer.change(&flat, State::SHADER_READ, State::UNORDERED_ACCESS);
    let (volume, info) = painted(&mut viewer, TextureDesc::d3(8, 8, 8, Format::R32Uint, usage).mips(2));
    viewer.change(&volume, State::SHADER_READ, State::UNORDERED_ACCESS);
    let volumes =
        TextureView { access: TextureAccess::Storage, first_mip: 1, mips: 1, ..whole(&info, ViewShape::D3) };
    for (texture, view, shader, expected) in [
        (&flat, one, STORAGE_TEXTURE, word(0, 0)),
        (&flat, TextureView { first_mip: 1, ..one }, STORAGE_TEXTURE, word(1, 0)),
        (&array, TextureView { first_mip: 2, first_layer: 3, ..one }, STORAGE_FIRST, word(2, 3)),
        (&array, TextureView { first_mip: 1, first_layer: 1, layers: 2, ..all }, STORAGE_ARRAY, word(1, 2)),
        (&volume, volumes, STORAGE_VOLUME, word(1, 0)),
    ] {
        viewer.show_texture(0, texture, view);
        assert_eq!(viewer.see(shader, &[0]), [expected; 4], "{view:?}");
        freed(&viewer, 0);
        assert_eq!(viewer.see(shader, &[0]), [0; 4], "{view:?}, freed");
    }
}

/// Targets are cleared through their own views and read through others.
#[test]
fn render_target_views_have_their_own_range() {
    let mut viewer = Viewer::new();
    let usage = Usage::RENDER_TARGET | Usage::SHADER_READ;
    let flat = TextureDesc::d2(8, 8, Format::Rgba8Unorm, usage);
    for (desc, shape, first_mip, first_layer, look) in [
        (flat.clone(), ViewShape::D2, 0, 0, COLOURS),
        (flat.clone().mips(3).layers(4), ViewShape::D2, 2, 3, COLOURS_ARRAY),
        (flat.clone().layers(4), ViewShape::D2Array, 0, 1, COLOURS_ARRAY),
        (flat.clone().samples(4), ViewShape::D2, 0, 0, SAMPLES),
        (flat.samples(4).layers(2), ViewShape::D2, 0, 1, SAMPLES_ARRAY),
    ] {
        let texture = viewer.texture(&desc.info);
        let part = TextureView { first_mip, mips: 1, first_layer, layers: 1, ..whole(&desc.info, shape) };
        let target = TextureView { access: TextureAccess::RenderTarget, ..part };
        viewer.show_texture(7, &texture, target);
        viewer.show_texture(0, &texture, TextureView { shape: ViewShape::D2, ..part });
        viewer.change(&texture, State::COMMON, State::RENDER_TARGET);
        let handle = viewer.hidden(DescriptorKind::RenderTarget).cpu_handle(7).unwrap();
        viewer.bench.run(GRAPHICS, |list| {
            // SAFETY: the list is open, and the handle is of a view made above.
            unsafe { list.raw().ClearRenderTargetView(handle, &[0.2, 0.4, 0.6, 1.0], None) };
        });
        viewer.change(&texture, State::RENDER_TARGET, State::SHADER_READ);
        assert_eq!(viewer.see(look, &[0]), [51, 102, 153, 255], "{target:?}");
        freed(&viewer, 0);
        assert_eq!(viewer.see(look, &[0]), [0; 4], "{target:?}, freed");
    }
    // A volume's slices are one target.
    let info = TextureDesc::d3(8, 8, 8, Format::R32Float, usage).info.dimension(Dimension::D3);
    let volume = viewer.texture(&info);
    let view = TextureView { access: TextureAccess::RenderTarget, ..whole(&info, ViewShape::D3) };
    viewer.show_texture(8, &volume, view);
}

/// Shader reads of a copy, of all subresources and of one: samples, depth and stencil.
#[test]
fn copies_look_like_their_sources() {
    let mut viewer = Viewer::new();
    let copied = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    for which in [Subresource::All, Subresource::One(0)] {
        let target = Usage::RENDER_TARGET | copied;
        let smooth = TextureDesc::d2(8, 8, Format::Rgba8Unorm, target).samples(4);
        let source = viewer.texture(&smooth.info);
        clear_colour(&mut viewer, &source, &smooth.info);
        let copy = copy(&mut viewer, (&source, State::RENDER_TARGET), &smooth.info, which);
        viewer.show_texture(0, &copy, whole(&smooth.info, ViewShape::D2));
        assert_eq!(viewer.see(SAMPLES, &[0]), [51, 102, 153, 255], "{which:?}");
    }
    for format in [Format::D16Unorm, Format::D24UnormS8Uint, Format::D32Float, Format::D32FloatS8Uint] {
        for which in [Subresource::All, Subresource::One(1)] {
            let target = Usage::DEPTH_STENCIL | copied;
            let desc = TextureDesc::d2(8, 8, format, target).layers(2);
            let desc = desc.clear(ClearValue::DepthStencil(0.2, 77));
            let source = viewer.texture(&desc.info);
            let part = TextureView { first_layer: 1, layers: 1, ..whole(&desc.info, ViewShape::D2) };
            clear_depth(&mut viewer, &source, part);
            let copy = copy(&mut viewer, (&source, State::DEPTH_WRITE), &desc.info, which);
            viewer.show_texture(0, &copy, part);
            assert_eq!(viewer.see(DEPTH, &[0]), [51; 4], "{format:?}, {which:?}");
            if format.has_stencil() {
                viewer.show_texture(1, &copy, TextureView { plane: Plane::Stencil, ..part });
                assert_eq!(viewer.see(STENCIL, &[1])[..2], [77, 77], "{format:?}, {which:?}");
            }
        }
    }
}

/// A copy of subresources of a texture, which is in that state; it is in `State::SHADER_READ`.
fn copy(
    viewer: &mut Viewer,
    (source, state): (&Resource, State),
    info: &TextureInfo,
    which: Subresource,
) -> Resource {
    let copy = viewer.texture(info);
    viewer.change(source, state, State::COPY_SRC);
    viewer.change(&copy, State::COMMON, State::COPY_DST);
    viewer.bench.run(GRAPHICS, |list| list.copy_texture(source, &copy, which));
    viewer.change(&copy, State::COPY_DST, State::SHADER_READ);
    copy
}

/// Clears a target that was not used before.
fn clear_colour(viewer: &mut Viewer, texture: &Resource, info: &TextureInfo) {
    let view = TextureView { access: TextureAccess::RenderTarget, ..whole(info, ViewShape::D2) };
    viewer.show_texture(7, texture, view);
    viewer.change(texture, State::COMMON, State::RENDER_TARGET);
    let handle = viewer.hidden(DescriptorKind::RenderTarget).cpu_handle(7).unwrap();
    viewer.bench.run(GRAPHICS, |list| {
        // SAFETY: the list is open, and the handle is of a view made above.
        unsafe { list.raw().ClearRenderTargetView(handle, &[0.2, 0.4, 0.6, 1.0], None) };
    });
}

/// Clears a part of a target for depth and stencil that was not used before.
fn clear_depth(viewer: &mut Viewer, texture: &Resource, part: TextureView) {
    let view = TextureView { access: TextureAccess::DepthStencil { read_only: false }, ..part };
    viewer.show_texture(3, texture, view);
    viewer.change(texture, State::COMMON, State::DEPTH_WRITE);
    let handle = viewer.hidden(DescriptorKind::DepthStencil).cpu_handle(3).unwrap();
    let both = D3D12_CLEAR_FLAG_DEPTH | D3D12_CLEAR_FLAG_STENCIL;
    let flags = if part.format.has_stencil() { both } else { D3D12_CLEAR_FLAG_DEPTH };
    viewer.bench.run(GRAPHICS, |list| {
        // SAFETY: the list is open, and the handle is of a view made above.
        unsafe { list.raw().ClearDepthStencilView(handle, flags, 0.2, 77, None) };
    });
}

#[test]
fn depth_and_stencil_are_read_apart() {
    let mut viewer = Viewer::new();
    let usage = Usage::DEPTH_STENCIL | Usage::SHADER_READ;
    for format in [Format::D16Unorm, Format::D24UnormS8Uint, Format::D32Float, Format::D32FloatS8Uint] {
        let clear = ClearValue::DepthStencil(0.2, 77);
        let desc = TextureDesc::d2(8, 8, format, usage).layers(2).clear(clear);
        let texture = viewer.texture(&desc.info);
        let depth = TextureView { first_layer: 1, layers: 1, ..whole(&desc.info, ViewShape::D2) };
        let read_only = TextureAccess::DepthStencil { read_only: true };
        viewer.show_texture(4, &texture, TextureView { access: read_only, ..depth });
        viewer.show_texture(0, &texture, depth);
        clear_depth(&mut viewer, &texture, depth);
        viewer.change(&texture, State::DEPTH_WRITE, State::SHADER_READ);
        assert_eq!(viewer.see(DEPTH, &[0]), [51; 4], "{format:?}");
        if format.has_stencil() {
            viewer.show_texture(1, &texture, TextureView { plane: Plane::Stencil, ..depth });
            assert_eq!(viewer.see(STENCIL, &[1])[..2], [77, 77], "{format:?}");
        }
    }
}

#[test]
fn other_formats_are_seen_in_their_own_way() {
    let mut viewer = Viewer::new();
    let desc = TextureDesc::d2(4, 4, Format::R32Float, TEXELS).view_formats([Format::R32Uint]);
    let (texture, info) = painted(&mut viewer, desc);
    let view = TextureView { format: Format::R32Uint, ..whole(&info, ViewShape::D2) };
    viewer.show_texture(0, &texture, view);
    assert_eq!(viewer.see(TEXTURE, &[0]), [word(0, 0); 4]);
}

#[test]
fn samplers_follow_their_description() {
    let mut viewer = Viewer::new();
    let (texture, info) = painted(&mut viewer, TextureDesc::d2(4, 4, Format::Rgba8Unorm, TEXELS).mips(3));
    viewer.show_texture(0, &texture, whole(&info, ViewShape::D2));
    let outside =
        shader(SAMPLED.declared, "uint4(round(image.SampleLevel(source, float2(3, 0.5), 0) * 255.0))", BOTH);
    let border = SamplerInfo::default().address([AddressMode::Border; 3]);
    let opaque = border.border(BorderColor::OpaqueBlack);
    let white = border.border(BorderColor::OpaqueWhite);
    let second = SamplerInfo::default().min_lod(1.0);
    for (index, (desc, shader, expected)) in [
        (SamplerInfo::default(), SAMPLED, bytes_of(word(0, 0))),
        (second, SAMPLED, bytes_of(word(1, 0))),
        (SamplerInfo::default().mip_bias(2.0), SAMPLED, bytes_of(word(2, 0))),
        (SamplerInfo::default().anisotropy(16), SAMPLED, bytes_of(word(0, 0))),
        (border, SAMPLED, bytes_of(word(0, 0))),
        (border, outside, [0; 4]),
        (opaque, outside, [0, 0, 0, 255]),
        (white, outside, [255; 4]),
        (border.address([AddressMode::Clamp; 3]), outside, bytes_of(word(0, 0))),
    ]
    .into_iter()
    .enumerate()
    {
        let index = index as u32;
        viewer.show_sampler(index, desc);
        assert_eq!(viewer.see(shader, &[0, index]), expected, "{desc:?}");
    }
}
