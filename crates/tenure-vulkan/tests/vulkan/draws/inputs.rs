//! Input attachments: read in a later subpass of the pass that wrote them, and in a pass of their own.

use std::time::Duration;

use conformance::Harness as _;
use tenure_core::{
    BindingKind, Config, DescriptorSet, DescriptorSetDesc, Format, Gpu, Plane, Queue, Recording, SetBinding,
    SetDescriptor, SetLayout, SetLayoutDesc, State, Subresource, Texture, TextureDesc, TextureRegion,
    TextureViewDesc, Usage, View,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, RawHandle as _, RawView as _};

use super::easel::{Easel, SIDE, attachment};
use super::shader::Paint;
use crate::harness::{Vulkan, validated};

const RED: [f32; 4] = [1.0, 0.0, 0.2, 1.0];
/// Red and blue swapped.
const SEEN: [u8; 4] = [51, 0, 255, 255];
const TARGET: vk::ImageLayout = vk::ImageLayout::COLOR_ATTACHMENT_OPTIMAL;
const READ: vk::ImageLayout = vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL;
const CLEAR: vk::AttachmentLoadOp = vk::AttachmentLoadOp::CLEAR;

const fn of(attachment: u32, layout: vk::ImageLayout) -> [vk::AttachmentReference; 1] {
    [vk::AttachmentReference { attachment, layout }]
}

/// The scene of both tests: an albedo, and the image computed from it.
struct Scene {
    gpu: Gpu<Device>,
    albedo: Texture<Device>,
    albedo_target: View<Device>,
    lit: Texture<Device>,
    lit_target: View<Device>,
    layout: SetLayout<Device>,
    set: DescriptorSet<Device>,
    easel: Easel,
}

impl Scene {
    fn new(vulkan: &Vulkan, albedo: Usage) -> Self {
        let gpu: Gpu<Device> = Gpu::new(vulkan.device(), Config::default()).unwrap();
        let texture =
            |usage| gpu.create_texture(&TextureDesc::d2(SIDE, SIDE, Format::Rgba8Unorm, usage)).unwrap();
        let albedo = texture(albedo | Usage::RENDER_TARGET | Usage::INPUT_ATTACHMENT);
        let lit = texture(Usage::RENDER_TARGET | Usage::COPY_SRC);
        let view = |texture, desc| gpu.create_texture_view(texture, &desc).unwrap();
        let albedo_target = view(&albedo, TextureViewDesc::render_target());
        let lit_target = view(&lit, TextureViewDesc::render_target());
        let input = view(&albedo, TextureViewDesc::input_attachment());
        let binding = SetBinding::new(2, BindingKind::InputAttachment);
        let layout = gpu.create_set_layout(&SetLayoutDesc::new(&[binding])).unwrap();
        let binds = [SetDescriptor::new(2, &input)];
        let set = gpu.create_descriptor_set(&DescriptorSetDesc::new(&layout, &binds)).unwrap();
        let easel = Easel::new(&gpu);
        Self { gpu, albedo, albedo_target, lit, lit_target, layout, set, easel }
    }

    /// Draws, and reads all pixels back.
    fn paint(&self, draw: impl FnOnce(&mut Recording<Device>)) -> Vec<u8> {
        let mut recording = self.gpu.record(Queue::Graphics, "draw").unwrap();
        draw(&mut recording);
        let region =
            TextureRegion { mip: 0, layer: 0, plane: Plane::First, origin: [0; 3], extent: [SIDE, SIDE, 1] };
        let pixels = recording.read_back_texture(&self.lit, region).unwrap();
        recording.submit().unwrap();
        pixels.wait(Duration::from_secs(10)).unwrap()
    }

    fn end(self, vulkan: Vulkan) {
        let Self { gpu, albedo, albedo_target, lit, lit_target, layout, set, easel } = self;
        drop((albedo, albedo_target, lit, lit_target, layout, set, easel));
        assert!(gpu.shutdown().is_clean());
        drop(gpu);
        vulkan.end();
    }
}

/// Half of the albedo is red, and half was cleared.
fn check(pixels: &[u8]) {
    let row = [SEEN.repeat(4), [0; 4].repeat(4)].concat();
    assert_eq!(pixels, row.repeat(8));
}

/// The albedo is written in the first subpass, and read in the second, after a layout transition by the render
/// pass.
fn subpasses_read_drawn_attachments(albedo: Usage) {
    let vulkan = Vulkan::new(validated());
    let mut scene = Scene::new(&vulkan, albedo);
    let (written, read, lit) = (of(0, TARGET), of(0, READ), of(1, TARGET));
    let subpasses = [
        vk::SubpassDescription::default().color_attachments(&written),
        vk::SubpassDescription::default().color_attachments(&lit).input_attachments(&read),
    ];
    let dependency = vk::SubpassDependency {
        src_subpass: 0,
        dst_subpass: 1,
        src_stage_mask: vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT,
        // The attachment is stored at the end of the pass.
        dst_stage_mask: vk::PipelineStageFlags::FRAGMENT_SHADER
            | vk::PipelineStageFlags::COLOR_ATTACHMENT_OUTPUT,
        src_access_mask: vk::AccessFlags::COLOR_ATTACHMENT_WRITE,
        dst_access_mask: vk::AccessFlags::INPUT_ATTACHMENT_READ | vk::AccessFlags::COLOR_ATTACHMENT_WRITE,
        dependency_flags: vk::DependencyFlags::BY_REGION,
    };
    let easel = &mut scene.easel;
    let pass = easel.pass(&[attachment(CLEAR, TARGET), attachment(CLEAR, TARGET)], &subpasses, &[dependency]);
    let views = [scene.albedo_target.image_view(), scene.lit_target.image_view()];
    let framebuffer = easel.framebuffer(pass, &views);
    let red = easel.pipeline((pass, 0), None, Paint::Colour(RED));
    let layout = scene.layout.raw().raw();
    let light = easel.pipeline((pass, 1), Some(layout), Paint::Input { binding: 2, index: 0 });
    let set = scene.set.raw();
    for _ in 0..2 {
        let pixels = scene.paint(|recording| {
            recording.use_resource(&scene.albedo, Subresource::All, State::RENDER_TARGET).unwrap();
            recording.use_resource(&scene.lit, Subresource::All, State::RENDER_TARGET).unwrap();
            let buffer = recording.raw().command_buffer();
            scene.easel.begin(buffer, pass, framebuffer);
            scene.easel.draw(buffer, red, None, SIDE / 2);
            scene.easel.next_subpass(buffer);
            scene.easel.draw(buffer, light, Some(set), SIDE);
            scene.easel.end(buffer);
        });
        check(&pixels);
    }
    scene.end(vulkan);
}

#[test]
fn subpasses_read_input_attachments() {
    subpasses_read_drawn_attachments(Usage::COPY_SRC);
}

/// The content of the texture never leaves the render pass, so that its memory may be allocated lazily.
#[test]
fn subpasses_read_input_attachments_that_are_transient() {
    subpasses_read_drawn_attachments(Usage::TRANSIENT_ATTACHMENT);
}

/// The albedo is written in one pass and read in another, after a layout transition by tenure.
#[test]
fn passes_read_input_attachments_of_others() {
    let vulkan = Vulkan::new(validated());
    let mut scene = Scene::new(&vulkan, Usage::SHADER_READ);
    let (first, read, lit) = (of(0, TARGET), of(0, READ), of(1, TARGET));
    let easel = &mut scene.easel;
    let subpass = vk::SubpassDescription::default().color_attachments(&first);
    let drawn = easel.pass(&[attachment(CLEAR, TARGET)], &[subpass], &[]);
    let subpass = vk::SubpassDescription::default().color_attachments(&lit).input_attachments(&read);
    let kept = attachment(vk::AttachmentLoadOp::LOAD, READ);
    let seen = easel.pass(&[kept, attachment(CLEAR, TARGET)], &[subpass], &[]);
    let views = [scene.albedo_target.image_view(), scene.lit_target.image_view()];
    let framebuffers = [easel.framebuffer(drawn, &views[..1]), easel.framebuffer(seen, &views)];
    let red = easel.pipeline((drawn, 0), None, Paint::Colour(RED));
    let layout = scene.layout.raw().raw();
    let light = easel.pipeline((seen, 0), Some(layout), Paint::Input { binding: 2, index: 0 });
    let set = scene.set.raw();
    for _ in 0..2 {
        let pixels = scene.paint(|recording| {
            recording.use_resource(&scene.albedo, Subresource::All, State::RENDER_TARGET).unwrap();
            let buffer = recording.raw().command_buffer();
            scene.easel.begin(buffer, drawn, framebuffers[0]);
            scene.easel.draw(buffer, red, None, SIDE / 2);
            scene.easel.end(buffer);
            recording.use_resource(&scene.albedo, Subresource::All, State::PIXEL_SHADER).unwrap();
            recording.use_resource(&scene.lit, Subresource::All, State::RENDER_TARGET).unwrap();
            let buffer = recording.raw().command_buffer();
            scene.easel.begin(buffer, seen, framebuffers[1]);
            scene.easel.draw(buffer, light, Some(set), SIDE);
            scene.easel.end(buffer);
        });
        check(&pixels);
    }
    scene.end(vulkan);
}
