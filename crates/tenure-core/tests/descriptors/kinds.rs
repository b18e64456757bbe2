//! Every kind of descriptor in every kind of binding.

use tenure_core::{
    AccelerationStructureDesc, Bind, BindingKind, BufferDesc, BufferViewDesc, Config, DescriptorSetDesc,
    Format, Gpu, Queue, SetDescriptor, SetLayoutDesc, TextureDesc, TextureViewDesc, Usage, View,
};
use tenure_sim::{Device, Lag, Profile};

use crate::{binding, device, end, gpu, sampler};

fn texture_view(gpu: &Gpu<Device>, format: Format, usage: Usage, desc: TextureViewDesc) -> View<Device> {
    let texture = gpu.create_texture(&TextureDesc::d2(8, 8, format, usage)).unwrap();
    gpu.create_texture_view(&texture, &desc).unwrap()
}

#[test]
fn bindings_take_their_kind_alone() {
    for profile in [Profile::VULKAN_NVIDIA, Profile::VULKAN_MOBILE] {
        let device = device(profile, Lag::None);
        let gpu = gpu(&device, Config::default());
        let words = |usage, desc: BufferViewDesc| {
            let buffer = gpu.create_buffer(&BufferDesc::new(256, usage)).unwrap();
            gpu.create_buffer_view(&buffer, &desc).unwrap()
        };
        let (read, write) = (Usage::SHADER_READ, Usage::UNORDERED_ACCESS);
        let color = Format::Rgba8Unorm;
        let depth = Format::D24UnormS8Uint;
        let has_depth = gpu.create_texture(&TextureDesc::d2(8, 8, depth, Usage::DEPTH_STENCIL)).is_ok();
        let depth = if has_depth { depth } else { Format::D32FloatS8Uint };
        let seen = Usage::DEPTH_STENCIL | read;
        let inputs = Usage::RENDER_TARGET | Usage::INPUT_ATTACHMENT;
        let deep = Usage::DEPTH_STENCIL | Usage::INPUT_ATTACHMENT;
        let views = [
            (Some(BindingKind::Constants), words(Usage::CONSTANT, BufferViewDesc::constants())),
            (Some(BindingKind::Buffer), words(read, BufferViewDesc::raw())),
            (Some(BindingKind::Buffer), words(write, BufferViewDesc::structured_writable(16))),
            (Some(BindingKind::TypedBuffer), words(read, BufferViewDesc::typed(Format::R32Uint))),
            (
                Some(BindingKind::TypedStorageBuffer),
                words(write, BufferViewDesc::typed_writable(Format::R32Uint)),
            ),
            (Some(BindingKind::Texture), texture_view(&gpu, color, read, TextureViewDesc::sampled())),
            (Some(BindingKind::Texture), texture_view(&gpu, depth, seen, TextureViewDesc::sampled())),
            (
                Some(BindingKind::Texture),
                texture_view(&gpu, depth, seen, TextureViewDesc::sampled().stencil()),
            ),
            (Some(BindingKind::StorageTexture), texture_view(&gpu, color, write, TextureViewDesc::storage())),
            (
                Some(BindingKind::InputAttachment),
                texture_view(&gpu, color, inputs, TextureViewDesc::input_attachment()),
            ),
            (
                Some(BindingKind::InputAttachment),
                texture_view(&gpu, depth, deep, TextureViewDesc::input_attachment()),
            ),
            (
                Some(BindingKind::InputAttachment),
                texture_view(&gpu, depth, deep, TextureViewDesc::input_attachment().stencil()),
            ),
            (None, texture_view(&gpu, color, Usage::RENDER_TARGET, TextureViewDesc::render_target())),
            (None, texture_view(&gpu, depth, Usage::DEPTH_STENCIL, TextureViewDesc::depth_read_only())),
        ];
        let smooth = gpu.create_sampler(&sampler(1)).unwrap();
        let structures = [AccelerationStructureDesc::top(1024), AccelerationStructureDesc::bottom(1024)]
            .map(|desc| gpu.create_acceleration_structure(&desc).ok());
        let mut binds: Vec<(Option<BindingKind>, Bind<'_, Device>)> = Vec::new();
        for (kind, view) in &views {
            binds.push((*kind, view.into()));
            let combined = (*kind == Some(BindingKind::Texture)).then_some(BindingKind::CombinedSampler);
            binds.push((combined, (view, &smooth).into()));
        }
        binds.push((Some(BindingKind::Sampler), (&smooth).into()));
        for (structure, kind) in structures.iter().zip([Some(BindingKind::AccelerationStructure), None]) {
            binds.extend(structure.iter().map(|structure| (kind, structure.into())));
        }
        for wanted in BindingKind::ALL {
            let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[binding(0, wanted, 3)]));
            let Ok(layout) = layout else {
                assert_eq!(wanted, BindingKind::AccelerationStructure, "{}", profile.name());
                continue;
            };
            for (given, bind) in &binds {
                for element in [0, 1, 2, 3, u32::MAX] {
                    let shown = [SetDescriptor::new(0, *bind).element(element)];
                    let made = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &shown));
                    let mut recording = gpu.record(Queue::Graphics, "set").unwrap();
                    let recorded = recording.split().1.set(&layout, &shown).map(drop);
                    let is_fit = element < 3 && given.is_some_and(|given| wanted.takes(given));
                    let told = made.map(drop);
                    assert_eq!(told.is_ok(), is_fit, "{given:?} in {wanted:?} at {element}: {told:?}");
                    assert_eq!(recorded.is_ok(), is_fit, "{given:?} in {wanted:?}: {recorded:?}");
                    recording.submit().unwrap();
                }
            }
        }
        drop(binds);
        drop((views, smooth, structures));
        end(gpu, &device);
    }
}
