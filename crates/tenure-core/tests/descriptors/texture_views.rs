//! Views of textures: all invalid descriptions.

use tenure_core::device::FieldValue;
use tenure_core::{
    Config, DescriptorKind, DeviceError, Error, Format, Gpu, Texture, TextureDesc, TextureViewDesc, Usage,
    ViewShape,
};
use tenure_sim::{Device, Lag, Profile};

use crate::{BOTH, HEAPS, device, end, gpu};

const SAMPLED: Usage = Usage::SHADER_READ;

fn texture(gpu: &Gpu<Device>, desc: TextureDesc) -> Texture<Device> {
    gpu.create_texture(&desc.name("grass")).unwrap()
}

fn d2(usage: Usage) -> TextureDesc {
    TextureDesc::d2(64, 64, Format::Rgba8Unorm, usage)
}

#[track_caller]
fn refusal(gpu: &Gpu<Device>, texture: TextureDesc, desc: TextureViewDesc) -> DeviceError {
    let texture = gpu.create_texture(&texture.name("grass")).unwrap();
    match gpu.create_texture_view(&texture, &desc).err() {
        Some(Error::Device { name, source }) => {
            assert_eq!(name.as_str(), "grass");
            source
        }
        other => panic!("{desc:?}: {other:?}"),
    }
}

#[track_caller]
fn rule(gpu: &Gpu<Device>, texture: TextureDesc, desc: TextureViewDesc) -> (&'static str, u64, u64) {
    match refusal(gpu, texture, desc) {
        DeviceError::InvalidCall { rule, value, limit } => {
            let number = |value: Option<FieldValue>| value.and_then(FieldValue::number).unwrap_or(0);
            (rule.text(), number(value), number(limit))
        }
        other => panic!("{other}"),
    }
}

#[track_caller]
fn field(gpu: &Gpu<Device>, texture: TextureDesc, desc: TextureViewDesc) -> (&'static str, u64) {
    match refusal(gpu, texture, desc) {
        DeviceError::InvalidDesc { field, value: FieldValue::Number(value), .. } => (field, value),
        other => panic!("{other}"),
    }
}

#[test]
fn mips_and_layers_must_exist() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let all = || d2(SAMPLED).mips(4).layers(3);
    let sampled = TextureViewDesc::sampled;
    assert_eq!(field(&gpu, all(), sampled().mips(4, 1)), ("first_mip", 4));
    assert_eq!(field(&gpu, all(), sampled().mips(u32::MAX, u32::MAX)), ("first_mip", u32::MAX.into()));
    assert_eq!(field(&gpu, all(), sampled().mips(1, 0)), ("mips", 0));
    assert_eq!(rule(&gpu, all(), sampled().mips(2, 3)), ("the mips in view must exist", 5, 4));
    let many = rule(&gpu, all(), sampled().mips(3, u32::MAX));
    assert_eq!(many, ("the mips in view must exist", u64::from(u32::MAX) + 3, 4));
    assert_eq!(field(&gpu, all(), sampled().layers(3, 1)), ("first_layer", 3));
    assert_eq!(field(&gpu, all(), sampled().layers(0, 0)), ("layers", 0));
    assert_eq!(rule(&gpu, all(), sampled().layers(2, 2)), ("the layers in view must exist", 4, 3));
    let volume = || TextureDesc::d3(16, 16, 16, Format::Rgba8Unorm, SAMPLED);
    assert_eq!(rule(&gpu, volume(), sampled().layers(0, 16)), ("the layers in view must exist", 16, 1));
    end(gpu, &device);
}

#[test]
fn written_views_have_one_mip() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let usage = SAMPLED | Usage::UNORDERED_ACCESS | Usage::RENDER_TARGET;
    for desc in [TextureViewDesc::storage(), TextureViewDesc::render_target()] {
        let grass = texture(&gpu, d2(usage).mips(3));
        assert!(gpu.create_texture_view(&grass, &desc).is_ok(), "one by default");
        assert!(gpu.create_texture_view(&grass, &desc.clone().mips(2, 1)).is_ok());
        assert_eq!(
            rule(&gpu, d2(usage).mips(3), desc.mips(0, 2)),
            ("a view that is written, or of an input attachment, has one mip", 2, 1)
        );
    }
    end(gpu, &device);
}

#[test]
fn the_usage_must_be_that_of_the_access() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let depth = || TextureDesc::d2(64, 64, Format::D32Float, Usage::DEPTH_STENCIL);
    let cases = [
        (d2(Usage::RENDER_TARGET), TextureViewDesc::sampled()),
        (d2(SAMPLED), TextureViewDesc::storage()),
        (d2(SAMPLED), TextureViewDesc::render_target()),
        (d2(SAMPLED), TextureViewDesc::depth_stencil()),
        (depth(), TextureViewDesc::sampled()),
    ];
    for (texture, desc) in cases {
        let missing = DeviceError::MissingUsage { needs: desc.access.usage(), has: texture.info.usage };
        assert_eq!(refusal(&gpu, texture, desc), missing);
    }
    end(gpu, &device);
}

#[test]
fn shapes_are_those_that_the_texture_can_have() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let sampled = |shape| TextureViewDesc::sampled().shape(shape);
    let volume = || TextureDesc::d3(16, 16, 16, Format::Rgba8Unorm, SAMPLED);
    let wrong = "a volume has volume views, and only a volume has them";
    assert_eq!(rule(&gpu, d2(SAMPLED), sampled(ViewShape::D3)).0, wrong);
    assert_eq!(rule(&gpu, volume(), sampled(ViewShape::D2)).0, wrong);
    assert_eq!(rule(&gpu, volume(), sampled(ViewShape::Cube)).0, wrong);
    let two = rule(&gpu, d2(SAMPLED).layers(2), sampled(ViewShape::D2));
    assert_eq!(two, ("a view without an array shape has one layer", 2, 1));
    let six = "a cube has six layers";
    assert_eq!(rule(&gpu, d2(SAMPLED).layers(5), sampled(ViewShape::Cube)), (six, 5, 6));
    assert_eq!(rule(&gpu, d2(SAMPLED).layers(12), sampled(ViewShape::Cube)), (six, 12, 6));
    assert_eq!(rule(&gpu, d2(SAMPLED).layers(13), sampled(ViewShape::CubeArray)), (six, 13, 6));
    let long = TextureDesc::d2(64, 32, Format::Rgba8Unorm, SAMPLED).layers(6);
    assert_eq!(rule(&gpu, long, sampled(ViewShape::Cube)), ("the sides of a cube are square", 64, 32));
    let target = d2(SAMPLED | Usage::RENDER_TARGET).layers(6);
    let cube = TextureViewDesc::render_target().shape(ViewShape::Cube);
    assert_eq!(rule(&gpu, target, cube).0, "cubes are sampled, and written as layers");
    end(gpu, &device);
}

#[test]
fn formats_are_those_that_were_named() {
    let device = device(HEAPS, Lag::None);
    let gpu = gpu(&device, Config::default());
    let other = "a view's format is the texture's or one of its view_formats";
    let srgb = TextureViewDesc::sampled().format(Format::Rgba8Srgb);
    assert_eq!(rule(&gpu, d2(SAMPLED), srgb.clone()).0, other);
    let grass = texture(&gpu, d2(SAMPLED).view_formats([Format::Rgba8Srgb]));
    assert!(gpu.create_texture_view(&grass, &srgb).is_ok());
    let stencil = "stencil is read from a format that has it";
    assert_eq!(rule(&gpu, d2(SAMPLED), TextureViewDesc::sampled().stencil()).0, stencil);
    let usage = SAMPLED | Usage::DEPTH_STENCIL;
    let depth = || TextureDesc::d2(64, 64, Format::D24UnormS8Uint, usage);
    let shadows = texture(&gpu, depth());
    assert!(gpu.create_texture_view(&shadows, &TextureViewDesc::sampled().stencil()).is_ok());
    assert_eq!(rule(&gpu, depth(), TextureViewDesc::depth_stencil().stencil()).0, stencil);
    let plain = TextureDesc::d2(64, 64, Format::D32Float, usage);
    assert_eq!(rule(&gpu, plain, TextureViewDesc::sampled().stencil()).0, stencil);
    drop((grass, shadows));
    end(gpu, &device);
}

#[test]
fn every_access_and_shape_is_served_by_every_profile() {
    for profile in Profile::ALL {
        let device = device(*profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let usage = SAMPLED | Usage::UNORDERED_ACCESS | Usage::RENDER_TARGET;
        let flat = texture(&gpu, d2(usage).mips(3));
        let sky = texture(&gpu, d2(SAMPLED).layers(12));
        let fog =
            texture(&gpu, TextureDesc::d3(16, 16, 16, Format::Rgba8Unorm, SAMPLED | Usage::UNORDERED_ACCESS));
        let depth = Usage::DEPTH_STENCIL | SAMPLED;
        let depth = texture(&gpu, TextureDesc::d2(64, 64, Format::D32Float, depth).layers(2));
        let sampled = TextureViewDesc::sampled;
        let cases = [
            (&flat, sampled(), DescriptorKind::Resource),
            (&flat, sampled().mips(1, 2), DescriptorKind::Resource),
            (&flat, TextureViewDesc::storage().mips(2, 1), DescriptorKind::Resource),
            (&flat, TextureViewDesc::render_target(), DescriptorKind::RenderTarget),
            (&sky, sampled(), DescriptorKind::Resource),
            (&sky, sampled().layers(3, 1), DescriptorKind::Resource),
            (&sky, sampled().layers(3, 1).shape(ViewShape::D2Array), DescriptorKind::Resource),
            (&sky, sampled().layers(6, 6).shape(ViewShape::Cube), DescriptorKind::Resource),
            (&sky, sampled().shape(ViewShape::CubeArray), DescriptorKind::Resource),
            (&fog, sampled(), DescriptorKind::Resource),
            (&fog, TextureViewDesc::storage(), DescriptorKind::Resource),
            (&depth, sampled(), DescriptorKind::Resource),
            (&depth, TextureViewDesc::depth_stencil(), DescriptorKind::DepthStencil),
            (&depth, TextureViewDesc::depth_read_only().layers(1, 1), DescriptorKind::DepthStencil),
        ];
        for (texture, desc, kind) in cases {
            let view = gpu.create_texture_view(texture, &desc);
            let view = view.unwrap_or_else(|error| panic!("{}: {desc:?}: {error}", profile.name()));
            assert_eq!(view.kind(), kind);
        }
        drop((flat, sky, fog, depth));
        end(gpu, &device);
    }
}

#[test]
fn a_texture_of_another_manager_is_refused() {
    let (one, other) = (device(BOTH, Lag::None), device(BOTH, Lag::None));
    let (here, there) = (gpu(&one, Config::default()), gpu(&other, Config::default()));
    let grass = texture(&there, d2(SAMPLED));
    let refusal = here.create_texture_view(&grass, &TextureViewDesc::sampled()).err();
    assert_eq!(refusal, Some(Error::Foreign { name: "grass".into() }));
    drop(grass);
    end(here, &one);
    end(there, &other);
}
