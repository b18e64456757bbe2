//! The render target: a render pass and its framebuffer with tenure's textures.

use tenure::vulkan::ash::vk;
use tenure::vulkan::{Device, Owned, to_vk_format, vk_stage_access_layout};
use tenure::{State, Texture};
use voxel_world::{Result, SAMPLES, Targets};

/// A render pass that clears colour and depth, and the textures that it draws to.
pub(crate) struct Target {
    pub(crate) framebuffer: Owned<vk::Framebuffer>,
    pub(crate) render_pass: Owned<vk::RenderPass>,
    _views: [Owned<vk::ImageView>; 2],
}

impl Target {
    pub(crate) fn new(device: &Device, targets: &Targets<Device>) -> Result<Self> {
        let render_pass = render_pass(device, targets)?;
        let colour = view(device, &targets.colour, vk::ImageViewType::TYPE_2D, vk::ImageAspectFlags::COLOR)?;
        let depth = view(device, &targets.depth, vk::ImageViewType::TYPE_2D, vk::ImageAspectFlags::DEPTH)?;
        let [width, height] = targets.size;
        let attachments = [*colour, *depth];
        let info = vk::FramebufferCreateInfo::default()
            .render_pass(*render_pass)
            .attachments(&attachments)
            .width(width)
            .height(height)
            .layers(1);
        // SAFETY: the pass and the views are alive and of this device; their formats and sample counts
        // are those of the pass.
        let framebuffer = unsafe {
            let framebuffer = device.raw().create_framebuffer(&info, None);
            device.own(framebuffer?)
        };
        Ok(Self { framebuffer, render_pass, _views: [colour, depth] })
    }
}

/// Clears both, draws, stores colour. tenure brings the textures into the right layouts: the pass changes none.
fn render_pass(device: &Device, targets: &Targets<Device>) -> Result<Owned<vk::RenderPass>> {
    let attachment = |texture: &Texture<Device>, state, store| {
        let layout = vk_stage_access_layout(state).layout;
        let description = vk::AttachmentDescription::default()
            .format(to_vk_format(texture.info().format))
            .samples(vk::SampleCountFlags::from_raw(SAMPLES))
            .load_op(vk::AttachmentLoadOp::CLEAR)
            .store_op(store)
            .initial_layout(layout)
            .final_layout(layout);
        (description, layout)
    };
    let (colour, colour_layout) =
        attachment(&targets.colour, State::RENDER_TARGET, vk::AttachmentStoreOp::STORE);
    let (depth, depth_layout) =
        attachment(&targets.depth, State::DEPTH_WRITE, vk::AttachmentStoreOp::DONT_CARE);
    let attachments = [colour, depth];
    let colour = [vk::AttachmentReference { attachment: 0, layout: colour_layout }];
    let depth = vk::AttachmentReference { attachment: 1, layout: depth_layout };
    let subpasses = [vk::SubpassDescription::default()
        .pipeline_bind_point(vk::PipelineBindPoint::GRAPHICS)
        .color_attachments(&colour)
        .depth_stencil_attachment(&depth)];
    let info = vk::RenderPassCreateInfo::default().attachments(&attachments).subpasses(&subpasses);
    // SAFETY: the description refers to its own two attachments, and to locals that outlive the call.
    unsafe {
        let render_pass = device.raw().create_render_pass(&info, None);
        Ok(device.own(render_pass?))
    }
}

/// A view of all of a texture, in its own format.
pub(crate) fn view(
    device: &Device,
    texture: &Texture<Device>,
    kind: vk::ImageViewType,
    aspect: vk::ImageAspectFlags,
) -> Result<Owned<vk::ImageView>> {
    let info = vk::ImageViewCreateInfo::default()
        .image(texture.raw().image().ok_or("a texture is an image")?)
        .view_type(kind)
        .format(to_vk_format(texture.info().format))
        .subresource_range(vk::ImageSubresourceRange {
            aspect_mask: aspect,
            base_mip_level: 0,
            level_count: texture.info().mips,
            base_array_layer: 0,
            layer_count: texture.info().layers(),
        });
    // SAFETY: the image is alive and of this device, and has that format, those mips and layers.
    unsafe {
        let view = device.raw().create_image_view(&info, None);
        Ok(device.own(view?))
    }
}
