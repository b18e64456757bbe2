//! Views, tables and sets that are not allowed are errors that say why.

use tenure_core::{
    BindingKind, BufferDesc, BufferViewDesc, DescriptorKind, DescriptorSetDesc, DescriptorTableDesc,
    DeviceError, Error, Format, Queue, SamplerDesc, SamplerInfo, SetBinding, SetDescriptor, SetLayoutDesc,
    TextureDesc, TextureViewDesc, Usage, ViewShape,
};

use crate::Harness;
use crate::bench::Bench;

/// Checks that a call was refused: as an invalid description, an invalid call or a missing usage.
#[track_caller]
fn assert_refused<T>(result: Result<T, Error>, what: &str) {
    use DeviceError::{InvalidCall, InvalidDesc, MissingUsage};
    match result {
        Err(Error::Device {
            source: InvalidDesc { .. } | InvalidCall { .. } | MissingUsage { .. }, ..
        }) => {}
        Err(other) => panic!("{what}: {other}"),
        Ok(_) => panic!("{what}: not refused"),
    }
}

/// Views of buffers that are too long, misaligned or empty, or that need a usage that the buffer lacks.
pub fn bad_views_of_buffers_change_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let usage = Usage::CONSTANT | Usage::UNORDERED_ACCESS;
    let mesh = bench.gpu.create_buffer(&BufferDesc::new(4096, usage).alignment(256).name("mesh")).unwrap();
    let view = |desc: BufferViewDesc| bench.gpu.create_buffer_view(&mesh, &desc);
    for (offset, size) in [(0, 4352), (4096, 256), (8192, 256), (256, u64::MAX - 255), (u64::MAX - 255, 256)]
    {
        for desc in [BufferViewDesc::constants(), BufferViewDesc::raw_writable()] {
            let result = view(desc.range(offset, size)).map(drop);
            let Err(Error::OutOfRange { name, offset: at, capacity: 4096, .. }) = result else {
                panic!("{offset}, {size}: {result:?}")
            };
            assert_eq!((name.as_str(), at), ("mesh", offset));
        }
    }
    assert_refused(view(BufferViewDesc::raw()), "a read of a buffer without SHADER_READ");
    assert_refused(view(BufferViewDesc::raw_writable().range(0, 0)), "an empty range");
    assert_refused(view(BufferViewDesc::raw_writable().range(0, 6)), "a size that is no multiple of 4");
    assert_refused(view(BufferViewDesc::raw_writable().range(2, 4)), "an offset that is no multiple of 4");
    assert_refused(view(BufferViewDesc::constants().range(4, 256)), "constants at a misaligned offset");
    assert_refused(view(BufferViewDesc::structured_writable(0)), "a stride of 0");
    assert_refused(view(BufferViewDesc::structured_writable(6)), "a stride that is no multiple of 4");
    assert_refused(
        view(BufferViewDesc::structured_writable(48).range(0, 64)),
        "a size that is no multiple of the stride",
    );
    assert_refused(view(BufferViewDesc::typed_writable(Format::Bc1Unorm)), "a compressed format in a buffer");
    assert_refused(view(BufferViewDesc::typed_writable(Format::D32Float)), "a depth format in a buffer");
    assert_eq!(bench.gpu.stats().descriptors.views, 0);
    // The buffer can still have valid views.
    let all = view(BufferViewDesc::structured_writable(48)).unwrap();
    assert_eq!(all.kind(), DescriptorKind::Resource);
    assert_eq!(bench.gpu.stats().descriptors.views, 1);
    drop((mesh, all));
    bench.end();
}

/// Views of mips and layers that a texture does not have, and of shapes and formats that it does not allow.
pub fn bad_views_of_textures_change_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let usage = Usage::SHADER_READ | Usage::RENDER_TARGET;
    let desc = TextureDesc::d2(32, 32, Format::Rgba8Unorm, usage).mips(4).layers(8);
    let grass = bench.gpu.create_texture(&desc.view_formats([Format::Rgba8Srgb]).name("grass")).unwrap();
    let view = |desc: TextureViewDesc| bench.gpu.create_texture_view(&grass, &desc);
    let (sampled, target) = (TextureViewDesc::sampled, TextureViewDesc::render_target);
    for (desc, what) in [
        (sampled().mips(4, 1), "a mip that does not exist"),
        (sampled().mips(1, 4), "one mip too many"),
        (sampled().mips(u32::MAX, 2), "a mip range that overflows"),
        (sampled().mips(0, 0), "no mips"),
        (sampled().layers(8, 1), "a layer that does not exist"),
        (sampled().layers(7, 2), "one layer too many"),
        (sampled().layers(0, 0), "no layers"),
        (sampled().shape(ViewShape::D2), "eight layers as a 2D view"),
        (sampled().shape(ViewShape::Cube), "eight faces"),
        (sampled().layers(0, 7).shape(ViewShape::CubeArray), "seven layers as cubes"),
        (sampled().shape(ViewShape::D3), "layers as a 3D view"),
        (sampled().format(Format::R32Uint), "a format that is not among the view formats"),
        (sampled().stencil(), "the stencil of a colour format"),
        (target().mips(0, 2), "two mips as a render target"),
        (TextureViewDesc::storage(), "a storage view without UNORDERED_ACCESS"),
        (TextureViewDesc::depth_stencil(), "a depth view of a colour format"),
    ] {
        assert_refused(view(desc), what);
    }
    assert_eq!(bench.gpu.stats().descriptors.views, 0);
    let views = [
        sampled(),
        sampled().layers(2, 6).shape(ViewShape::Cube),
        sampled().format(Format::Rgba8Srgb).mips(3, 1),
        sampled().layers(7, 1),
        target().mips(2, 1).layers(3, 2),
    ]
    .map(|desc| view(desc).unwrap());
    assert_eq!(views[4].kind(), DescriptorKind::RenderTarget);
    let depth = TextureDesc::d2(32, 32, Format::D32Float, Usage::DEPTH_STENCIL | Usage::SHADER_READ);
    let depth = bench.gpu.create_texture(&depth).unwrap();
    let depths = [sampled(), TextureViewDesc::depth_stencil(), TextureViewDesc::depth_read_only()]
        .map(|desc| bench.gpu.create_texture_view(&depth, &desc).unwrap());
    assert_eq!(depths[1].kind(), DescriptorKind::DepthStencil);
    drop((grass, views, depth, depths));
    bench.end();
}

/// Samplers with values out of range.
pub fn bad_samplers_change_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let plain = SamplerInfo::default();
    let most = bench.properties().descriptors.anisotropy;
    for (desc, what) in [
        (plain.anisotropy(0), "no anisotropy"),
        (plain.anisotropy(most + 1), "too much anisotropy"),
        (plain.mip_bias(f32::NAN), "a mip bias that is NaN"),
        (plain.mip_bias(16.0), "too much bias"),
        (plain.min_lod(-1.0), "a negative least level"),
        (plain.min_lod(2.0).max_lod(1.0), "a greatest level below the least"),
    ] {
        assert_refused(bench.gpu.create_sampler(&SamplerDesc::new(desc).name("sampler")), what);
    }
    assert_eq!(bench.gpu.stats().descriptors.samplers, 0);
    bench.end();
}

/// Tables and sets with entries of the wrong kind, and sets with bindings that their layout does not have.
pub fn bad_tables_and_sets_change_nothing<H: Harness>(harness: &H) {
    let bench = Bench::new(harness);
    let gpu = &bench.gpu;
    let usage = Usage::SHADER_READ | Usage::RENDER_TARGET;
    let grass = gpu.create_texture(&TextureDesc::d2(8, 8, Format::Rgba8Unorm, usage)).unwrap();
    let seen = gpu.create_texture_view(&grass, &TextureViewDesc::sampled()).unwrap();
    let target = gpu.create_texture_view(&grass, &TextureViewDesc::render_target()).unwrap();
    let sampler = gpu.create_sampler(&SamplerDesc::default().name("sampler")).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "bad").unwrap();
    let (_, scratch) = recording.split();
    let constant = scratch.constant_bytes(&[1; 16]).unwrap();
    for (binds, what) in [
        (vec![], "an empty table"),
        (vec![(&target).into()], "a render target view"),
        (vec![(&seen).into(), (&sampler).into()], "a view and a sampler in one table"),
    ] {
        assert_refused(gpu.create_descriptor_table(&DescriptorTableDesc::new(&binds).name("table")), what);
        assert_refused(scratch.descriptors(&binds), what);
    }
    assert_refused(
        gpu.create_descriptor_table(&DescriptorTableDesc::new(&[constant.into()]).name("table")),
        "constants of a recording in a persistent table",
    );
    if bench.has_sets() {
        let binding = |binding, kind, count| SetBinding { binding, kind, count };
        for (bindings, what) in [
            (vec![], "no bindings"),
            (vec![binding(0, BindingKind::Texture, 0)], "a binding of 0 textures"),
            (
                vec![binding(1, BindingKind::Texture, 1), binding(1, BindingKind::Sampler, 1)],
                "two bindings with one number",
            ),
        ] {
            assert_refused(gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("set")), what);
        }
        let bindings = [binding(1, BindingKind::Texture, 2), binding(3, BindingKind::Sampler, 1)];
        let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("set")).unwrap();
        for (binds, what) in [
            (vec![SetDescriptor::new(0, &seen)], "a binding that does not exist"),
            (vec![SetDescriptor::new(1, &seen).element(2)], "an element that does not exist"),
            (vec![SetDescriptor::new(1, &sampler)], "a sampler in a texture binding"),
            (vec![SetDescriptor::new(3, &seen)], "a texture in a sampler binding"),
            (vec![SetDescriptor::new(1, &target)], "a render target view in a texture binding"),
            (
                vec![SetDescriptor::new(1, &seen).element(1), SetDescriptor::new(1, &seen).element(1)],
                "one element twice",
            ),
        ] {
            assert_refused(
                gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds).name("set")),
                what,
            );
            assert_refused(scratch.set(&layout, &binds), what);
        }
        drop(
            gpu.create_descriptor_set(
                &DescriptorSetDesc::new(&layout, &[SetDescriptor::new(1, &seen).element(1)]).name("set"),
            )
            .unwrap(),
        );
        scratch.set(&layout, &[SetDescriptor::new(3, &sampler)]).unwrap();
    }
    recording.submit().unwrap();
    drop((grass, seen, target, sampler));
    bench.end();
}
