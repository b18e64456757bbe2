//! Combined samplers: of tenure's layouts, and of a program's own with a sampler in it.

use std::time::Duration;

use conformance::Harness as _;
use tenure_core::device::{DescriptorSource, SetWrite, prelude::*};
use tenure_core::{
    BindingKind, Config, DescriptorSetDesc, Filter, Format, Gpu, Plane, Queue, SamplerDesc, SamplerInfo,
    SetBinding, SetDescriptor, SetLayoutDesc, State, Subresource, TexelData, TextureDesc, TextureRegion,
    TextureViewDesc, Usage,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, Ownership, RawHandle as _, RawView as _, SetLayout};

use super::easel::{Easel, SIDE, attachment};
use super::shader::Paint;
use crate::harness::{PERMIT, Vulkan, validated};

/// Two columns of one colour and two of another: in the middle a linear filter finds the mean.
const LEFT: [u8; 4] = [0, 100, 200, 255];
const RIGHT: [u8; 4] = [100, 0, 40, 255];
const MEAN: [u8; 4] = [50, 50, 120, 255];

const BINDING: SetBinding = SetBinding::new(4, BindingKind::CombinedSampler);

fn filtered(filter: Filter) -> SamplerDesc {
    SamplerDesc::new(SamplerInfo::default().mag(filter).min(filter))
}

/// Draws with each set of one layout, and gives the colour that each drew.
fn draw(gpu: &Gpu<Device>, layout: vk::DescriptorSetLayout, sets: &[vk::DescriptorSet]) -> Vec<[u8; 4]> {
    let usage = Usage::RENDER_TARGET | Usage::COPY_SRC;
    let target = gpu.create_texture(&TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage)).unwrap();
    let view = gpu.create_texture_view(&target, &TextureViewDesc::render_target()).unwrap();
    let mut easel = Easel::new(gpu);
    let written = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
    let reference = [vk::AttachmentReference { attachment: 0, layout: written }];
    let subpass = vk::SubpassDescription::default().color_attachments(&reference);
    let pass = easel.pass(&[attachment(vk::AttachmentLoadOp::CLEAR, written)], &[subpass], &[]);
    let framebuffer = easel.framebuffer(pass, &[view.image_view()]);
    let pipeline = easel.pipeline((pass, 0), Some(layout), Paint::Combined { binding: BINDING.binding });
    let mut colours = Vec::new();
    for set in sets {
        let mut recording = gpu.record(Queue::Graphics, "draw").unwrap();
        recording.use_resource(&target, Subresource::All, State::RENDER_TARGET).unwrap();
        let buffer = recording.raw().command_buffer();
        easel.begin(buffer, pass, framebuffer);
        easel.draw(buffer, pipeline, Some(*set), SIDE);
        easel.end(buffer);
        let (origin, extent) = ([0; 3], [SIDE, SIDE, 1]);
        let region = TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin, extent };
        let pixels = recording.read_back_texture(&target, region).unwrap();
        recording.submit().unwrap();
        let pixels = pixels.wait(Duration::from_secs(10)).unwrap();
        let first: [u8; 4] = pixels[..4].try_into().unwrap();
        assert_eq!(pixels, [first; 64].concat(), "one colour everywhere");
        colours.push(first);
    }
    colours
}

#[test]
fn draws_sample_through_combined_samplers() {
    let vulkan = Vulkan::new(validated());
    let gpu: Gpu<Device> = Gpu::new(vulkan.device(), Config::default()).unwrap();
    let row = [LEFT, LEFT, RIGHT, RIGHT].concat();
    let desc = TextureDesc::d2(4, 4, Format::Rgba8Unorm, Usage::SHADER_READ);
    let picture = gpu.create_texture_with(&desc, &[TexelData::new(&row.repeat(4))]).unwrap();
    let view = gpu.create_texture_view(&picture, &TextureViewDesc::sampled()).unwrap();
    let smooth = gpu.create_sampler(&filtered(Filter::Linear)).unwrap();
    let sharp = gpu.create_sampler(&filtered(Filter::Nearest)).unwrap();
    let mut recording = gpu.record(Queue::Graphics, "to be sampled").unwrap();
    recording.use_resource(&picture, Subresource::All, State::PIXEL_SHADER).unwrap();
    recording.submit().unwrap();
    let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[BINDING])).unwrap();
    let sets = [&smooth, &sharp].map(|sampler| {
        let binds = [SetDescriptor::new(BINDING.binding, (&view, sampler))];
        gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap()
    });
    let raw = [sets[0].raw(), sets[1].raw()];
    assert_eq!(draw(&gpu, layout.raw().raw(), &raw), [MEAN, RIGHT]);

    // A layout with the nearest texel's sampler in it, which is always used.
    let device = gpu.device();
    let immutable = [sharp.raw()];
    let binding = vk::DescriptorSetLayoutBinding::default()
        .binding(BINDING.binding)
        .descriptor_type(vk::DescriptorType::COMBINED_IMAGE_SAMPLER)
        .descriptor_count(1)
        .stage_flags(vk::ShaderStageFlags::FRAGMENT)
        .immutable_samplers(&immutable);
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(std::slice::from_ref(&binding));
    // SAFETY: the description is valid, and the layout is tenure's from here on; it has just this binding.
    let own = unsafe {
        let own = device.raw().create_descriptor_set_layout(&info, None).unwrap();
        SetLayout::from_raw(device, own, &[BINDING], Ownership::Tenure).unwrap()
    };
    let block = device.create_set_pool(PERMIT, &own, 1).unwrap();
    let source = DescriptorSource::Combined {
        views: view.heap(),
        view: view.index(),
        samplers: smooth.heap(),
        sampler: smooth.index(),
    };
    let write = SetWrite { binding: BINDING.binding, element: 0, source };
    device.write_set(PERMIT, &block, 0, &[write]).unwrap();
    assert_eq!(draw(&gpu, own.raw(), &[block.set(0).unwrap()]), [RIGHT]);
    device.destroy_set_pool(PERMIT, block);
    device.destroy_set_layout(PERMIT, own);
    drop((sets, layout, smooth, sharp, view, picture));
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}
