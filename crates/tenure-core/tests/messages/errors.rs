//! Texts of errors: names instead of numbers, the limit, and the remedy.

use tenure_core::device::prelude::*;
use tenure_core::{
    BufferDesc, BufferViewDesc, Config, Error, Format, Gpu, MemoryUse, Queue, SamplerDesc, SamplerInfo,
    State, Subresource, TextureDesc, TextureViewDesc, UploadRingDesc, Usage,
};
use tenure_sim::{Device, Profile};

/// The text of a refusal.
#[track_caller]
fn text<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => panic!("was accepted"),
        Err(error) => error.to_string(),
    }
}

fn texture(gpu: &Gpu<Device>, desc: TextureDesc) -> String {
    text(gpu.create_texture(&desc.name("sky")))
}

fn buffer(gpu: &Gpu<Device>, desc: BufferDesc) -> String {
    text(gpu.create_buffer(&desc.name("rock")))
}

#[test]
fn descriptions_are_refused_with_names_and_limits() {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    let most = gpu.device().properties().max_texture_2d;
    let d2 = |usage| TextureDesc::d2(64, 64, Format::Rgba8Unorm, usage);
    let read = Usage::SHADER_READ;
    let table = [
        (
            texture(&gpu, TextureDesc::d2(40_000, 64, Format::Rgba8Unorm, read)),
            format!("sky: invalid description: width = 40000: must be at most {most}"),
        ),
        (texture(&gpu, d2(read).mips(8)), "sky: invalid description: mips = 8: must be at most 7".to_owned()),
        (
            texture(&gpu, d2(Usage::VERTEX | read)),
            "sky: invalid description: usage = VERTEX | SHADER_READ | COPY_DST: must be of SHADER_READ | UNORDERED_ACCESS | \
             COPY_SRC | COPY_DST | RENDER_TARGET | DEPTH_STENCIL | INPUT_ATTACHMENT | \
             TRANSIENT_ATTACHMENT | SHARED | CPU_WRITE | SHARED_ACROSS_DRIVERS | ALL_QUEUES | EXCLUSIVE alone"
                .to_owned(),
        ),
        (
            texture(&gpu, d2(Usage::DEPTH_STENCIL)),
            "sky: invalid description: usage = DEPTH_STENCIL: must be without DEPTH_STENCIL, because the format is of colour"
                .to_owned(),
        ),
        (
            texture(&gpu, TextureDesc::d2(64, 64, Format::D32Float, Usage::RENDER_TARGET)),
            "sky: invalid description: usage = RENDER_TARGET: must be without RENDER_TARGET, because the format is of \
             depth or compressed"
                .to_owned(),
        ),
        (
            texture(&gpu, TextureDesc::d3(8, 8, 8, Format::D32Float, Usage::DEPTH_STENCIL)),
            "sky: invalid description: usage = DEPTH_STENCIL: must be without DEPTH_STENCIL, because the texture is \
             of three dimensions"
                .to_owned(),
        ),
        (
            texture(
                &gpu,
                TextureDesc::d2(64, 64, Format::D32Float, Usage::DEPTH_STENCIL | Usage::UNORDERED_ACCESS),
            ),
            "sky: invalid description: usage = UNORDERED_ACCESS | DEPTH_STENCIL: must be DEPTH_STENCIL or \
             UNORDERED_ACCESS, not both"
                .to_owned(),
        ),
        (
            texture(&gpu, d2(Usage::RENDER_TARGET | Usage::TRANSIENT_ATTACHMENT).movable()),
            "sky: invalid description: usage = RENDER_TARGET | TRANSIENT_ATTACHMENT: must be without \
             TRANSIENT_ATTACHMENT, because the texture is movable"
                .to_owned(),
        ),
        (
            texture(&gpu, d2(read).view_formats([Format::R8Unorm])),
            "sky: invalid description: view_formats = R8Unorm: must be colour formats whose texels are as large as \
             those of the texture's format, and of compressed ones its own kind"
                .to_owned(),
        ),
        (
            buffer(&gpu, BufferDesc::new(0, Usage::VERTEX)),
            "rock: invalid description: size = 0: must be at least 1".to_owned(),
        ),
        (
            buffer(&gpu, BufferDesc::new(64, Usage::VERTEX).alignment(48)),
            "rock: invalid description: alignment = 48: must be a power of two".to_owned(),
        ),
        (
            buffer(&gpu, BufferDesc::new(64, Usage::RENDER_TARGET)),
            "rock: invalid description: usage = COPY_DST | RENDER_TARGET: must be of VERTEX | INDEX | CONSTANT | \
             SHADER_READ | UNORDERED_ACCESS | INDIRECT | ACCELERATION_STRUCTURE | COPY_SRC | COPY_DST | \
             SHADER_BINDING_TABLE | SHARED | SHARED_ACROSS_DRIVERS | ALL_QUEUES | EXCLUSIVE alone"
                .to_owned(),
        ),
        (
            text(gpu.create_sampler(&SamplerDesc::new(SamplerInfo::default().anisotropy(32)).name("sampler"))),
            "sampler: invalid description: anisotropy = 32: must be at most 16".to_owned(),
        ),
        (
            text(gpu.create_sampler(&SamplerDesc::new(SamplerInfo::default().mip_bias(f32::NAN)).name("sampler"))),
            "sampler: invalid description: mip_bias = not a number: must be from -16 to less than 16".to_owned(),
        ),
        (
            text(gpu.create_sampler(&SamplerDesc::new(SamplerInfo::default().max_lod(f32::INFINITY)).name("sampler"))),
            "sampler: invalid description: max_lod = infinity: must be finite, and not below min_lod".to_owned(),
        ),
        (
            text(gpu.create_upload_ring(&UploadRingDesc::new(0).name("ring"))),
            "ring: invalid description: size = 0: must be at least 512".to_owned(),
        ),
    ];
    for (found, expected) in table {
        assert_eq!(found, expected);
    }
}

#[test]
fn uses_are_refused_with_the_missing_usage() {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    let rock = gpu.create_buffer(&BufferDesc::new(256, Usage::VERTEX).name("rock")).unwrap();
    let sky = TextureDesc::d2(64, 64, Format::Rgba8Unorm, Usage::RENDER_TARGET).name("sky");
    let sky = gpu.create_texture(&sky).unwrap();
    let dynamic = BufferDesc::new(256, Usage::VERTEX).memory(MemoryUse::Upload).name("wind");
    let dynamic = gpu.create_buffer(&dynamic).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
    let table = [
        (
            text(gpu.create_buffer_view(&rock, &BufferViewDesc::raw())),
            "rock: the resource needs the usage SHADER_READ, and was created with VERTEX | COPY_DST",
        ),
        (
            text(gpu.create_texture_view(&sky, &TextureViewDesc::storage())),
            "sky: the resource needs the usage UNORDERED_ACCESS, and was created with RENDER_TARGET",
        ),
        (
            text(recording.use_resource(&rock, Subresource::All, State::INDEX)),
            "rock: the usage of the resource allows the states VERTEX_OR_CONSTANT | COPY_DST | RESOLVE_DST, not INDEX",
        ),
        (
            text(recording.use_resource(&sky, Subresource::One(3), State::RENDER_TARGET)),
            "sky: subresource 3 does not exist: the resource has 1",
        ),
        (
            text(recording.use_resource(&dynamic, Subresource::All, State::COPY_DST)),
            "wind: a buffer in Upload memory cannot be in the state COPY_DST: the CPU fills it, with write()",
        ),
        (
            text(rock.write(0, &[1])),
            "rock: not mapped: the CPU writes buffers in Upload or GpuUpload memory, and reads those in Readback memory",
        ),
    ];
    for (found, expected) in table {
        assert_eq!(found, expected);
    }
    let ring = gpu.create_upload_ring(&UploadRingDesc::new(64 << 10).name("ring")).unwrap();
    let slice = ring.allocate(recording.split().1, 64, 4).unwrap();
    assert_eq!(text(slice.write(60, &[0; 8])), "a slice of ring: 8 B at 60 are outside its 64 B");
}

#[test]
fn copies_between_textures_are_refused_with_both_values() {
    let gpu = Gpu::new(Device::new(Profile::DISCRETE), Config::default()).unwrap();
    let usage = Usage::SHADER_READ | Usage::COPY_SRC | Usage::COPY_DST;
    let d2 = |name, format| TextureDesc::d2(64, 64, format, usage).name(name);
    let make = |desc: TextureDesc| gpu.create_texture(&desc).unwrap();
    let sky = make(d2("sky", Format::Rgba8Unorm));
    let table = [
        (d2("red", Format::R8Unorm), "one of the same format (R8Unorm, limit Rgba8Unorm)"),
        (d2("mips", Format::Rgba8Unorm).mips(2), "one with as many mips (2, limit 1)"),
        (
            d2("array", Format::Rgba8Unorm).layers(3),
            "one of the same width, height, and depth or layers (3, limit 1)",
        ),
        (
            TextureDesc::d2(64, 32, Format::Rgba8Unorm, usage).name("half"),
            "one of the same width, height, and depth or layers (32, limit 64)",
        ),
        (
            TextureDesc::d3(64, 64, 1, Format::Rgba8Unorm, usage).name("volume"),
            "one of the same dimension (D3, limit D2)",
        ),
        (
            TextureDesc::d2(64, 64, Format::Rgba8Unorm, usage | Usage::RENDER_TARGET)
                .samples(4)
                .name("smooth"),
            "one with as many samples (4, limit 1)",
        ),
    ];
    let mut recording = gpu.record(Queue::Graphics, "copy").unwrap();
    for (desc, expected) in table {
        let other = make(desc);
        let found = text(recording.copy_texture(&sky, &other, Subresource::All));
        assert_eq!(found, format!("{}: broken rule: a texture is copied to {expected}", other.name()));
    }
    let twin = make(d2("twin", Format::Rgba8Unorm));
    let itself = text(recording.copy_texture(&sky, &sky, Subresource::All));
    assert_eq!(itself, "sky: broken rule: a texture is copied to another texture");
    let missing = text(recording.copy_texture(&sky, &twin, Subresource::One(1)));
    assert_eq!(missing, "twin: broken rule: the subresource exists (1, limit 1)");

    let usage = Usage::COPY_SRC | Usage::COPY_DST;
    let depth = TextureDesc::d2(8, 8, Format::D32Float, usage | Usage::DEPTH_STENCIL);
    let smooth = TextureDesc::d2(8, 8, Format::Rgba8Unorm, usage | Usage::RENDER_TARGET).samples(4);
    let mut recording = gpu.record(Queue::Copy, "copy").unwrap();
    for (desc, expected) in [
        (depth, "depth and stencil are copied between textures on a graphics queue (D32Float)"),
        (smooth, "a multisampled texture is copied on a graphics queue (4, limit 1)"),
    ] {
        let [from, to] = ["from", "to"].map(|name| make(desc.clone().name(name)));
        let found = text(recording.copy_texture(&from, &to, Subresource::All));
        assert_eq!(found, format!("to: broken rule: {expected}"));
    }
}
