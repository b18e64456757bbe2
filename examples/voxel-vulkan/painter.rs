//! Vulkan's part of a frame: the draw calls.

use tenure::vulkan::ash::vk;
use tenure::vulkan::{Device, List};
use tenure::{Deferred, Gpu, Texture};
use voxel_world::{Painter, Pass, Result, Show, Targets};

use crate::bindings::Bindings;
use crate::pipeline::Pipeline;
use crate::target::Target;

/// Everything that drawing needs besides tenure's resources and the render targets.
struct Objects {
    bindings: Bindings,
    pipeline: Pipeline,
}

/// Draws with Vulkan.
pub(crate) struct VulkanPainter {
    /// tenure destroys them when the GPU is done with them.
    objects: Deferred<Device, Objects>,
    target: Deferred<Device, Target>,
    device: Device,
}

impl VulkanPainter {
    pub(crate) fn new(show: &Show<Device>) -> Result<Self> {
        let device = show.gpu.device();
        let target = Target::new(device, &show.targets)?;
        let bindings = Bindings::new(device, &show.tiles, show.gpu.config().frames.in_flight)?;
        let pipeline = Pipeline::new(device, *bindings.layout, *target.render_pass)?;
        let objects = show.gpu.defer("pipeline and bindings", Objects { bindings, pipeline });
        let target = show.gpu.defer("framebuffer", target);
        Ok(Self { objects, target, device: device.clone() })
    }

    fn begin(&self, commands: vk::CommandBuffer, set: vk::DescriptorSet, [width, height]: [u32; 2]) {
        let (target, pipeline) = (&*self.target, &self.objects.pipeline);
        let area = vk::Rect2D::default().extent(vk::Extent2D { width, height });
        let viewport = vk::Viewport::default().width(width as f32).height(height as f32).max_depth(1.0);
        let nothing = vk::ClearValue { color: vk::ClearColorValue { float32: [0.0; 4] } };
        let farthest =
            vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 0.0, stencil: 0 } };
        let clear = [nothing, farthest];
        let info = vk::RenderPassBeginInfo::default()
            .render_pass(*target.render_pass)
            .framebuffer(*target.framebuffer)
            .render_area(area)
            .clear_values(&clear);
        let device = self.device.raw();
        let graphics = vk::PipelineBindPoint::GRAPHICS;
        // SAFETY: the command buffer is being recorded, and everything bound is alive until the GPU is
        // done with it: it is in tenure's hands.
        unsafe {
            device.cmd_begin_render_pass(commands, &info, vk::SubpassContents::INLINE);
            device.cmd_set_viewport(commands, 0, &[viewport]);
            device.cmd_set_scissor(commands, 0, &[area]);
            device.cmd_bind_pipeline(commands, graphics, *pipeline.pipeline);
            device.cmd_bind_descriptor_sets(commands, graphics, *pipeline.layout, 0, &[set], &[]);
        }
    }

    /// Binds a buffer as vertices and as indices.
    fn bind(&self, commands: vk::CommandBuffer, buffer: vk::Buffer) {
        let device = self.device.raw();
        // SAFETY: the command buffer is being recorded, and the buffer is alive until the GPU is done
        // with it.
        unsafe {
            device.cmd_bind_vertex_buffers(commands, 0, &[buffer], &[0]);
            device.cmd_bind_index_buffer(commands, buffer, 0, vk::IndexType::UINT16);
        }
    }
}

impl Painter<Device> for VulkanPainter {
    fn draw(&mut self, list: &List, pass: &Pass<'_, Device>) -> Result<()> {
        let commands = list.command_buffer();
        let set = self.objects.bindings.set(pass.slot, pass.constants)?;
        self.begin(commands, set, pass.targets.size);
        let mut bound = None;
        for draw in pass.draws {
            let buffer = draw.buffer.buffer();
            if bound != buffer {
                // Many meshes share a buffer: 20,000 draws need few binds.
                self.bind(commands, buffer.ok_or("meshes are in buffers")?);
                bound = buffer;
            }
            // SAFETY: the command buffer is in a render pass with all bound that the pipeline reads; the
            // mesh's indices, vertices and its draw call come from one place.
            unsafe {
                let (count, first, base) = (draw.index_count, draw.first_index, draw.base_vertex);
                self.device.raw().cmd_draw_indexed(commands, count, 1, first, base, 0);
            }
        }
        // SAFETY: the command buffer is in the render pass begun above.
        unsafe { self.device.raw().cmd_end_render_pass(commands) };
        Ok(())
    }

    fn resolve(&mut self, list: &List, samples: &Texture<Device>, pixels: &Texture<Device>) -> Result<()> {
        let (from, to) = (image(samples)?, image(pixels)?);
        let region = vk::ImageResolve::default()
            .src_subresource(LAYERS)
            .dst_subresource(LAYERS)
            .extent(extent(pixels));
        let (source, target) = (vk::ImageLayout::TRANSFER_SRC_OPTIMAL, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
        let commands = list.command_buffer();
        // SAFETY: the command buffer is being recorded, outside of a render pass; tenure brought the
        // images, which are of one size and format, into these layouts.
        unsafe { self.device.raw().cmd_resolve_image(commands, from, source, to, target, &[region]) };
        Ok(())
    }

    fn copy(&mut self, list: &List, pixels: &Texture<Device>, shown: &Texture<Device>) -> Result<()> {
        let (from, to) = (image(pixels)?, image(shown)?);
        let region =
            vk::ImageCopy::default().src_subresource(LAYERS).dst_subresource(LAYERS).extent(extent(pixels));
        let (source, target) = (vk::ImageLayout::TRANSFER_SRC_OPTIMAL, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
        let commands = list.command_buffer();
        // SAFETY: as above.
        unsafe { self.device.raw().cmd_copy_image(commands, from, source, to, target, &[region]) };
        Ok(())
    }

    fn resize(&mut self, gpu: &Gpu<Device>, targets: &Targets<Device>) -> Result<()> {
        // The pipeline stays valid: the new render pass is compatible with the first one.
        self.target = gpu.defer("framebuffer", Target::new(&self.device, targets)?);
        Ok(())
    }
}

/// All of a picture.
const LAYERS: vk::ImageSubresourceLayers = vk::ImageSubresourceLayers {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    mip_level: 0,
    base_array_layer: 0,
    layer_count: 1,
};

fn image(texture: &Texture<Device>) -> Result<vk::Image> {
    Ok(texture.raw().image().ok_or("textures are images")?)
}

fn extent(texture: &Texture<Device>) -> vk::Extent3D {
    let (width, height) = (texture.info().width, texture.info().height);
    vk::Extent3D { width, height, depth: 1 }
}
