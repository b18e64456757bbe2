//! Render passes and pipelines for squares of [`SIDE`] pixels.

use tenure_core::Gpu;
use tenure_vulkan::Device;
use tenure_vulkan::ash::vk;

use super::shader::{Paint, fragment, vertex};

pub(super) const SIDE: u32 = 8;
pub(super) const FORMAT: vk::Format = vk::Format::R8G8B8A8_UNORM;
const EXTENT: vk::Extent2D = vk::Extent2D { width: SIDE, height: SIDE };

/// An attachment, in one layout before and after the pass.
pub(super) const fn attachment(
    load: vk::AttachmentLoadOp,
    layout: vk::ImageLayout,
) -> vk::AttachmentDescription {
    vk::AttachmentDescription {
        flags: vk::AttachmentDescriptionFlags::empty(),
        format: FORMAT,
        samples: vk::SampleCountFlags::TYPE_1,
        load_op: load,
        store_op: vk::AttachmentStoreOp::STORE,
        stencil_load_op: vk::AttachmentLoadOp::DONT_CARE,
        stencil_store_op: vk::AttachmentStoreOp::DONT_CARE,
        initial_layout: layout,
        final_layout: layout,
    }
}

/// Makes objects of the API, and destroys them when it is dropped. The device is done with them by then.
pub(super) struct Easel {
    device: Device,
    passes: Vec<vk::RenderPass>,
    framebuffers: Vec<vk::Framebuffer>,
    layouts: Vec<vk::PipelineLayout>,
    pipelines: Vec<vk::Pipeline>,
}

impl Easel {
    pub(super) fn new(gpu: &Gpu<Device>) -> Self {
        let device = gpu.device().clone();
        Self { device, passes: vec![], framebuffers: vec![], layouts: vec![], pipelines: vec![] }
    }

    pub(super) fn pass(
        &mut self,
        attachments: &[vk::AttachmentDescription],
        subpasses: &[vk::SubpassDescription<'_>],
        dependencies: &[vk::SubpassDependency],
    ) -> vk::RenderPass {
        let info = vk::RenderPassCreateInfo::default()
            .attachments(attachments)
            .subpasses(subpasses)
            .dependencies(dependencies);
        // SAFETY: the description is a local; the validation layers look at it.
        let pass = unsafe { self.device.raw().create_render_pass(&info, None) }.unwrap();
        self.passes.push(pass);
        pass
    }

    pub(super) fn framebuffer(&mut self, pass: vk::RenderPass, views: &[vk::ImageView]) -> vk::Framebuffer {
        let info = vk::FramebufferCreateInfo::default()
            .render_pass(pass)
            .attachments(views)
            .width(SIDE)
            .height(SIDE)
            .layers(1);
        // SAFETY: as above; the views live as long as their handles.
        let made = unsafe { self.device.raw().create_framebuffer(&info, None) }.unwrap();
        self.framebuffers.push(made);
        made
    }

    /// A pipeline that fills all pixels inside its scissor, which is given when it is used, and its layout.
    pub(super) fn pipeline(
        &mut self,
        (pass, subpass): (vk::RenderPass, u32),
        set: Option<vk::DescriptorSetLayout>,
        paint: Paint,
    ) -> (vk::Pipeline, vk::PipelineLayout) {
        let raw = self.device.raw();
        let (vertex, fragment) = (vertex(), fragment(paint));
        let sets: Vec<_> = set.into_iter().collect();
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        // SAFETY: the layout of the sets is alive; the code is assembled here.
        let (layout, modules) = unsafe {
            let module = |words: &[u32]| {
                raw.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(words), None).unwrap()
            };
            (raw.create_pipeline_layout(&info, None).unwrap(), [module(&vertex), module(&fragment)])
        };
        let stage = |stage, module| {
            vk::PipelineShaderStageCreateInfo::default().stage(stage).module(module).name(c"main")
        };
        let stages = [
            stage(vk::ShaderStageFlags::VERTEX, modules[0]),
            stage(vk::ShaderStageFlags::FRAGMENT, modules[1]),
        ];
        let vertices = vk::PipelineVertexInputStateCreateInfo::default();
        let assembly = vk::PipelineInputAssemblyStateCreateInfo::default()
            .topology(vk::PrimitiveTopology::TRIANGLE_LIST);
        let side = SIDE as f32;
        let viewports = [vk::Viewport { width: side, height: side, max_depth: 1.0, ..Default::default() }];
        let viewport = vk::PipelineViewportStateCreateInfo::default().viewports(&viewports).scissor_count(1);
        let raster = vk::PipelineRasterizationStateCreateInfo::default().line_width(1.0);
        let samples = vk::PipelineMultisampleStateCreateInfo::default()
            .rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let targets =
            [vk::PipelineColorBlendAttachmentState::default()
                .color_write_mask(vk::ColorComponentFlags::RGBA)];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&targets);
        let scissor = [vk::DynamicState::SCISSOR];
        let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&scissor);
        let info = vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&vertices)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&raster)
            .multisample_state(&samples)
            .color_blend_state(&blend)
            .dynamic_state(&dynamic)
            .layout(layout)
            .render_pass(pass)
            .subpass(subpass);
        // SAFETY: all that it refers to is alive, and the modules are used by nothing else.
        let pipeline = unsafe {
            let made = raw.create_graphics_pipelines(vk::PipelineCache::null(), &[info], None).unwrap()[0];
            modules.into_iter().for_each(|module| raw.destroy_shader_module(module, None));
            made
        };
        self.layouts.push(layout);
        self.pipelines.push(pipeline);
        (pipeline, layout)
    }

    /// Begins a pass whose first attachment is cleared to black, if it is cleared.
    pub(super) fn begin(
        &self,
        buffer: vk::CommandBuffer,
        pass: vk::RenderPass,
        framebuffer: vk::Framebuffer,
    ) {
        let clears = [vk::ClearValue::default(); 4];
        let info = vk::RenderPassBeginInfo::default()
            .render_pass(pass)
            .framebuffer(framebuffer)
            .render_area(EXTENT.into())
            .clear_values(&clears);
        // SAFETY: the list is open, and all lives until it was executed.
        unsafe { self.device.raw().cmd_begin_render_pass(buffer, &info, vk::SubpassContents::INLINE) };
    }

    /// Draws over the first `columns` of pixels.
    pub(super) fn draw(
        &self,
        buffer: vk::CommandBuffer,
        (pipeline, layout): (vk::Pipeline, vk::PipelineLayout),
        set: Option<vk::DescriptorSet>,
        columns: u32,
    ) {
        let raw = self.device.raw();
        let point = vk::PipelineBindPoint::GRAPHICS;
        let extent = vk::Extent2D { width: columns, ..EXTENT };
        // SAFETY: the list is open and in a pass of the pipeline's, and all lives until it was executed.
        unsafe {
            raw.cmd_bind_pipeline(buffer, point, pipeline);
            raw.cmd_set_scissor(buffer, 0, &[extent.into()]);
            if let Some(set) = set {
                raw.cmd_bind_descriptor_sets(buffer, point, layout, 0, &[set], &[]);
            }
            raw.cmd_draw(buffer, 3, 1, 0, 0);
        }
    }

    pub(super) fn next_subpass(&self, buffer: vk::CommandBuffer) {
        // SAFETY: the list is open, in a pass with one more.
        unsafe { self.device.raw().cmd_next_subpass(buffer, vk::SubpassContents::INLINE) };
    }

    pub(super) fn end(&self, buffer: vk::CommandBuffer) {
        // SAFETY: the list is open, in the last subpass.
        unsafe { self.device.raw().cmd_end_render_pass(buffer) };
    }
}

impl Drop for Easel {
    fn drop(&mut self) {
        let raw = self.device.raw();
        // SAFETY: each is destroyed once; the test waited for the device.
        unsafe {
            self.pipelines.drain(..).for_each(|made| raw.destroy_pipeline(made, None));
            self.layouts.drain(..).for_each(|made| raw.destroy_pipeline_layout(made, None));
            self.framebuffers.drain(..).for_each(|made| raw.destroy_framebuffer(made, None));
            self.passes.drain(..).for_each(|made| raw.destroy_render_pass(made, None));
        }
    }
}
