//! Vulkan 1.3: pipelines, descriptor sets and draw calls, with the validation layers if installed.

use std::sync::Arc;

use tenure::descriptor::BorderColor;
use tenure::prelude::*;
use tenure::vulkan::ash::vk::{self, ImageLayout};
use tenure::vulkan::{
    CreateError, Device, DeviceConfig, Owned, RawHandle as _, RawView as _, Severity, Swapchain, Validation,
    to_vk_format,
};
use voxel_world::{Messages, Result, Shaders};
use winit::window::Window;

use crate::Arguments;
use crate::renderer::{Backend, PIPELINES, Pass, PipelineDesc, SKY, STRIDE, Shader};

/// In the order of [`Shader`].
type Pipelines = (Owned<vk::PipelineLayout>, [Owned<vk::Pipeline>; 3]);

pub(crate) struct Vulkan {
    /// tenure destroys them when the GPU is done with them.
    pipelines: Deferred<Device, Pipelines>,
    /// The sets of a pass, of a material, and of a draw: groups 0 to 2 in the shaders.
    layouts: [SetLayout<Device>; 3],
    comparison: Sampler<Device>,
    smooth: Sampler<Device>,
    gpu: Gpu<Device>,
}

impl Backend for Vulkan {
    type Device = Device;
    type Swapchain = Swapchain;
    type Material = DescriptorSet<Device>;

    fn new(gpu: &Gpu<Device>) -> Result<Self> {
        let set =
            |name, bindings: &[SetBinding]| gpu.create_set_layout(&SetLayoutDesc::new(bindings).name(name));
        let (texture, sampler) = (BindingKind::Texture, BindingKind::Sampler);
        let constants = SetBinding::new(0, BindingKind::Constants);
        let layouts = [
            set("pass", &[constants, SetBinding::new(1, texture), SetBinding::new(2, sampler)])?,
            set("material", &[SetBinding::new(3, texture), SetBinding::new(4, sampler)])?,
            // The constants of each draw are at another offset, which is given when the set is bound.
            set("draw", &[SetBinding::new(5, BindingKind::DynamicConstants)])?,
        ];
        // Outside of the shadow map there is light.
        let (compare, address) = (Some(Compare::LessOrEqual), [AddressMode::Border; 3]);
        let border = BorderColor::OpaqueWhite;
        let comparison = SamplerInfo::default().compare(compare).address(address).border(border);
        let comparison = gpu.create_sampler(&SamplerDesc::new(comparison).name("comparison"))?;
        let smooth = gpu.create_sampler(&SamplerDesc::default().name("smooth"))?;
        let pipelines = gpu.defer("pipelines", pipelines(gpu.device(), &layouts)?);
        Ok(Self { pipelines, layouts, comparison, smooth, gpu: gpu.clone() })
    }

    fn open(gpu: &Gpu<Device>, window: &Arc<Window>, desc: &SwapchainDesc) -> Result<Swapchain> {
        Ok(Swapchain::for_window(gpu, window.clone(), desc)?)
    }

    fn create_material(&self, texture: &View<Device>) -> Result<DescriptorSet<Device>> {
        let binds = [SetDescriptor::new(3, texture), SetDescriptor::new(4, &self.smooth)];
        Ok(self
            .gpu
            .create_descriptor_set(&DescriptorSetDesc::new(&self.layouts[1], &binds).name("material"))?)
    }

    fn draw(&self, list: &mut Recording<Device>, pass: &Pass<'_, Self>) -> Result<()> {
        let (commands, scratch) = list.split();
        if pass.shader == Shader::Scene {
            // One barrier after the upload of a texture, and later none.
            let mut materials = pass.draws.iter().map(|(_, _, material)| material);
            materials.try_for_each(|material| commands.use_set(material, ShaderStages::Pixel))?;
        }
        // A set of this recording. The shaders of a pass without a texture read none.
        let mut binds = vec![SetDescriptor::new(0, scratch.constants(pass.constants)?)];
        binds.push(SetDescriptor::new(2, &self.comparison));
        binds.extend(pass.read.map(|view| SetDescriptor::new(1, view)));
        let set = scratch.set(&self.layouts[0], &binds)?;
        // This records the barriers, so it comes before the render pass.
        let commands = commands.raw().command_buffer();
        self.begin(commands, pass);
        let (vk, graphics, layout) =
            (self.gpu.device().raw(), vk::PipelineBindPoint::GRAPHICS, *self.pipelines.0);
        // SAFETY: the command buffer is in a render pass, and the set lives until the GPU is done.
        unsafe { vk.cmd_bind_descriptor_sets(commands, graphics, layout, 0, &[set.raw()], &[]) };
        for (geometry, object, material) in pass.draws {
            // One set serves all constants in the same page.
            let model = scratch.dynamic_constants(&self.layouts[2], &object.model.to_cols_array())?;
            let (sets, offsets) = ([material.raw(), model.set().raw()], [model.dynamic_offset()]);
            // The buffer may be a range of a larger one of Vulkan.
            let (vertices, indices) =
                (geometry.offset() + object.vertices.0, geometry.offset() + object.indices.0);
            let geometry = geometry.raw().buffer().unwrap_or_default();
            // SAFETY: as above; indices and vertices are where the file has them.
            unsafe {
                vk.cmd_bind_descriptor_sets(commands, graphics, layout, 1, &sets, &offsets);
                vk.cmd_bind_vertex_buffers(commands, 0, &[geometry], &[vertices]);
                vk.cmd_bind_index_buffer(commands, geometry, indices, vk::IndexType::UINT16);
                vk.cmd_draw_indexed(commands, object.indices.1, 1, 0, 0, 0);
            }
        }
        // SAFETY: as above.
        unsafe {
            if pass.shader == Shader::Tone {
                vk.cmd_draw(commands, 3, 1, 0, 0);
            }
            vk.cmd_end_rendering(commands);
        }
        Ok(())
    }

    fn resolve(&self, list: &mut Recording<Device>, [from, to]: [&Texture<Device>; 2]) {
        let (source, target) = (ImageLayout::TRANSFER_SRC_OPTIMAL, ImageLayout::TRANSFER_DST_OPTIMAL);
        let (width, height) = (to.info().width, to.info().height);
        let all =
            vk::ImageSubresourceLayers::default().aspect_mask(vk::ImageAspectFlags::COLOR).layer_count(1);
        let region = vk::ImageResolve::default().src_subresource(all).dst_subresource(all);
        let region = region.extent(vk::Extent3D { width, height, depth: 1 });
        let [from, to] = [from, to].map(|texture| texture.raw().image().unwrap_or_default());
        let commands = list.raw().command_buffer();
        // SAFETY: the command buffer is outside of render passes, and the images are in these layouts.
        unsafe { self.gpu.device().raw().cmd_resolve_image(commands, from, source, to, target, &[region]) };
    }
}

impl Vulkan {
    /// Begins a render pass with its pipeline.
    fn begin(&self, commands: vk::CommandBuffer, pass: &Pass<'_, Self>) {
        let attachment = vk::RenderingAttachmentInfo::default().load_op(vk::AttachmentLoadOp::CLEAR);
        let clear = vk::ClearValue { color: vk::ClearColorValue { float32: SKY } };
        let color = attachment.image_layout(ImageLayout::COLOR_ATTACHMENT_OPTIMAL).clear_value(clear);
        let color = pass.color.map(|view| color.image_view(view.image_view()));
        let clear = vk::ClearValue { depth_stencil: vk::ClearDepthStencilValue { depth: 1.0, stencil: 0 } };
        let depth = attachment.image_layout(ImageLayout::DEPTH_STENCIL_ATTACHMENT_OPTIMAL).clear_value(clear);
        let depth = pass.depth.map(|view| match pass.shader {
            Shader::Shadow => depth.image_view(view.image_view()),
            // Nothing reads it after the pass.
            _ => depth.image_view(view.image_view()).store_op(vk::AttachmentStoreOp::DONT_CARE),
        });
        let [width, height] = pass.size;
        let area = vk::Rect2D::default().extent(vk::Extent2D { width, height });
        let rendering = vk::RenderingInfo::default().render_area(area).layer_count(1);
        let mut rendering = rendering.color_attachments(color.as_slice());
        if let Some(depth) = &depth {
            rendering = rendering.depth_attachment(depth);
        }
        let viewport = vk::Viewport::default().width(width as f32).height(height as f32).max_depth(1.0);
        let (vk, pipeline) = (self.gpu.device().raw(), *self.pipelines.1[pass.shader as usize]);
        // SAFETY: the command buffer is open, and the targets are in these layouts. All lives until the GPU is done.
        unsafe {
            vk.cmd_begin_rendering(commands, &rendering);
            vk.cmd_set_viewport(commands, 0, &[viewport]);
            vk.cmd_set_scissor(commands, 0, &[area]);
            vk.cmd_bind_pipeline(commands, vk::PipelineBindPoint::GRAPHICS, pipeline);
        }
    }
}

fn pipelines(device: &Device, layouts: &[SetLayout<Device>; 3]) -> Result<Pipelines> {
    let sets = layouts.each_ref().map(|layout| layout.raw().raw());
    let layout = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
    // SAFETY: the set layouts are alive, and nothing else destroys the new layout.
    let layout = unsafe { device.own(device.raw().create_pipeline_layout(&layout, None)?) };
    let [shadow, scene, tone] = PIPELINES.each_ref().map(|desc| pipeline(device, *layout, desc));
    Ok((layout, [shadow?, scene?, tone?]))
}

fn pipeline(device: &Device, layout: vk::PipelineLayout, desc: &PipelineDesc) -> Result<Owned<vk::Pipeline>> {
    use tenure::vulkan::ash::vk::*;
    let code = Shaders::parse(desc.source.0, desc.source.1)?.spirv()?;
    let module = ShaderModuleCreateInfo::default().code(&code);
    // SAFETY: naga has checked the code, and nothing else destroys the module.
    let module = unsafe { device.own(device.raw().create_shader_module(&module, None)?) };
    let stage = PipelineShaderStageCreateInfo::default().module(*module);
    let mut stages = vec![stage.stage(ShaderStageFlags::VERTEX).name(desc.vertex)];
    stages.extend(desc.fragment.map(|name| stage.stage(ShaderStageFlags::FRAGMENT).name(name)));
    let binding = [VertexInputBindingDescription::default().stride(STRIDE)];
    let inputs = [(Format::R32G32B32_SFLOAT, 0), (Format::R32G32B32_SFLOAT, 12), (Format::R32G32_SFLOAT, 24)];
    let attribute = |(location, (format, offset))| {
        VertexInputAttributeDescription::default().location(location).format(format).offset(offset)
    };
    let attributes: Vec<_> = (0..).zip(inputs).take(desc.inputs).map(attribute).collect();
    let input = PipelineVertexInputStateCreateInfo::default().vertex_attribute_descriptions(&attributes);
    let input = input.vertex_binding_descriptions(&binding[..desc.inputs.min(1)]);
    let assembly = PipelineInputAssemblyStateCreateInfo::default().topology(PrimitiveTopology::TRIANGLE_LIST);
    let viewport = PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
    let raster = PipelineRasterizationStateCreateInfo::default().line_width(1.0);
    let sample = SampleCountFlags::from_raw(desc.samples);
    let sample = PipelineMultisampleStateCreateInfo::default().rasterization_samples(sample);
    let test = PipelineDepthStencilStateCreateInfo::default().depth_test_enable(desc.depth.is_some());
    let test = test.depth_write_enable(desc.depth.is_some()).depth_compare_op(CompareOp::LESS);
    let mask = PipelineColorBlendAttachmentState::default().color_write_mask(ColorComponentFlags::RGBA);
    let mask = desc.color.map(|_| mask);
    let blend = PipelineColorBlendStateCreateInfo::default().attachments(mask.as_slice());
    let dynamic = [DynamicState::VIEWPORT, DynamicState::SCISSOR];
    let dynamic = PipelineDynamicStateCreateInfo::default().dynamic_states(&dynamic);
    let color = desc.color.map(to_vk_format);
    let formats = PipelineRenderingCreateInfo::default().color_attachment_formats(color.as_slice());
    let mut formats = formats.depth_attachment_format(desc.depth.map(to_vk_format).unwrap_or_default());
    let info = GraphicsPipelineCreateInfo::default().stages(&stages).vertex_input_state(&input);
    let info = info.input_assembly_state(&assembly).viewport_state(&viewport).rasterization_state(&raster);
    let info = info.multisample_state(&sample).depth_stencil_state(&test).color_blend_state(&blend);
    let info = info.dynamic_state(&dynamic).layout(layout).push_next(&mut formats);
    // SAFETY: all that is named is alive, and the shaders agree with the layout, the inputs and the formats.
    let made = unsafe { device.raw().create_graphics_pipelines(PipelineCache::null(), &[info], None) };
    // SAFETY: nothing else destroys it.
    Ok(unsafe { device.own(made.map_err(|(_, error)| error)?[0]) })
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let messages = Messages::default();
    let heard = messages.clone();
    let options = DeviceConfig::default().presentation(!arguments.headless).on_message(move |message| {
        if message.severity >= Severity::Warning {
            heard.push(message.to_string());
        }
    });
    let create = |options: &DeviceConfig| {
        let mut rendering = vk::PhysicalDeviceDynamicRenderingFeatures::default().dynamic_rendering(true);
        let features = vk::PhysicalDeviceFeatures2::default().push_next(&mut rendering);
        // SAFETY: the structure is of Vulkan 1.3, and tenure enables nothing in it.
        unsafe { Device::create_with(options, features) }
    };
    let device = match create(&options.clone().validation(Validation::SYNCHRONIZATION)) {
        Err(CreateError::NoLayer { .. }) => create(&options)?,
        created => created?,
    };
    crate::view::<Vulkan>(arguments, device).and(messages.check())
}
