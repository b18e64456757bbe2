//! Depth and stencil read as input attachments.

use std::time::Duration;

use conformance::Harness as _;
use tenure_core::{
    BindingKind, Config, DescriptorSetDesc, Format, Gpu, Plane, Queue, SetBinding, SetDescriptor,
    SetLayoutDesc, State, Subresource, TexelData, TextureDesc, TextureRegion, TextureViewDesc, Usage,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, RawHandle as _, RawView as _};

use super::easel::{Easel, SIDE, attachment};
use super::shader::Paint;
use crate::harness::{Vulkan, validated};

const TARGET: vk::ImageLayout = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
const READ: vk::ImageLayout = vk::ImageLayout::DEPTH_STENCIL_READ_ONLY_OPTIMAL;
const TEXELS: usize = (SIDE * SIDE) as usize;

/// The attachment that is read, as it was before the pass.
const fn read(format: vk::Format) -> vk::AttachmentDescription {
    let (load, store) = (vk::AttachmentLoadOp::LOAD, vk::AttachmentStoreOp::STORE);
    vk::AttachmentDescription {
        format,
        stencil_load_op: load,
        stencil_store_op: store,
        ..attachment(load, READ)
    }
}

/// Depth goes up from the CPU, a pass reads it as an input attachment, and the pixels show it in blue.
#[test]
fn passes_read_depth_as_an_input_attachment() {
    let vulkan = Vulkan::new(validated());
    let gpu: Gpu<Device> = Gpu::new(vulkan.device(), Config::default()).unwrap();
    for (format, raw) in [
        (Format::D32Float, vk::Format::D32_SFLOAT),
        (Format::D16Unorm, vk::Format::D16_UNORM),
        (Format::D32FloatS8Uint, vk::Format::D32_SFLOAT_S8_UINT),
    ] {
        let usage = Usage::DEPTH_STENCIL | Usage::INPUT_ATTACHMENT | Usage::SHADER_READ | Usage::COPY_DST;
        let depth = gpu.create_texture(&TextureDesc::d2(SIDE, SIDE, format, usage).name("depth")).unwrap();
        let lit = Usage::RENDER_TARGET | Usage::COPY_SRC;
        let lit = gpu.create_texture(&TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, lit)).unwrap();
        let target = gpu.create_texture_view(&lit, &TextureViewDesc::render_target()).unwrap();
        let shown = gpu.create_texture_view(&depth, &TextureViewDesc::depth_read_only()).unwrap();
        let input = gpu.create_texture_view(&depth, &TextureViewDesc::input_attachment()).unwrap();
        let bindings = [SetBinding::new(0, BindingKind::InputAttachment)];
        let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings)).unwrap();
        let binds = [SetDescriptor::new(0, &input)];
        let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap();

        let mut easel = Easel::new(&gpu);
        let inputs = [vk::AttachmentReference { attachment: 0, layout: READ }];
        let colours = [vk::AttachmentReference { attachment: 1, layout: TARGET }];
        let subpass =
            vk::SubpassDescription::default().input_attachments(&inputs).color_attachments(&colours);
        let kept = attachment(vk::AttachmentLoadOp::CLEAR, TARGET);
        let pass = easel.pass(&[read(raw), kept], &[subpass], &[]);
        let framebuffer = easel.framebuffer(pass, &[shown.image_view(), target.image_view()]);
        let paint = Paint::Input { binding: 0, index: 0 };
        let paint = easel.pipeline((pass, 0), Some(layout.raw().raw()), paint);

        // Each texel another depth, in steps that all formats have.
        let depths = (0..TEXELS).map(|texel| texel as f32 / 255.0);
        let texels: Vec<u8> = match format {
            Format::D16Unorm => depths.flat_map(|depth| ((depth * 65535.0) as u16).to_le_bytes()).collect(),
            _ => depths.flat_map(f32::to_le_bytes).collect(),
        };
        let region =
            TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [SIDE, SIDE, 1] };
        gpu.upload_texture(&depth, region, TexelData::new(&texels)).unwrap();

        let mut recording = gpu.record(Queue::Graphics, "lighting").unwrap();
        let reads = State::PIXEL_SHADER | State::DEPTH_READ;
        recording.use_resource(&depth, Subresource::All, reads).unwrap();
        recording.use_resource(&lit, Subresource::All, State::RENDER_TARGET).unwrap();
        let buffer = recording.raw().command_buffer();
        easel.begin(buffer, pass, framebuffer);
        easel.draw(buffer, paint, Some(set.raw()), SIDE);
        easel.end(buffer);
        let pixels = recording.read_back_texture(&lit, region).unwrap();
        recording.submit().unwrap();
        let pixels = pixels.wait(Duration::from_secs(10)).unwrap();
        for (texel, pixel) in (0_u8..).zip(pixels.as_chunks::<4>().0) {
            assert!(pixel[2].abs_diff(texel) <= 1, "{format:?}: texel {texel} is {pixel:?}");
        }
        drop((easel, set, layout, input, shown, target, lit, depth));
    }
    assert!(gpu.shutdown().is_clean());
    drop(gpu);
    vulkan.end();
}
