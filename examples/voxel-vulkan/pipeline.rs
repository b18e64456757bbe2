//! The pipeline of every mesh.

use std::ffi::CString;

use tenure::vulkan::ash::vk;
use tenure::vulkan::{Device, Owned};
use voxel_world::{Result, SAMPLES, Shaders, VERTEX_STRIDE};

/// A pipeline and its layout.
pub(crate) struct Pipeline {
    pub(crate) pipeline: Owned<vk::Pipeline>,
    pub(crate) layout: Owned<vk::PipelineLayout>,
}

impl Pipeline {
    pub(crate) fn new(
        device: &Device,
        set_layout: vk::DescriptorSetLayout,
        render_pass: vk::RenderPass,
    ) -> Result<Self> {
        let set_layouts = [set_layout];
        let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
        // SAFETY: the layout of the sets is alive and of this device.
        let layout = unsafe {
            let layout = device.raw().create_pipeline_layout(&info, None);
            device.own(layout?)
        };
        let pipeline = create(device, *layout, render_pass)?;
        Ok(Self { pipeline, layout })
    }
}

/// The attributes of [`voxel_world::Vertex`], in the order of the shader's inputs.
fn attributes() -> [vk::VertexInputAttributeDescription; 4] {
    let formats = [
        (vk::Format::R16G16B16A16_SINT, 0),
        (vk::Format::R8G8B8A8_SNORM, 8),
        (vk::Format::R16G16_UINT, 12),
        (vk::Format::R8G8B8A8_UNORM, 16),
    ];
    let mut location = 0..;
    formats.map(|(format, offset)| vk::VertexInputAttributeDescription {
        location: location.next().unwrap_or_default(),
        binding: 0,
        format,
        offset,
    })
}

fn create(
    device: &Device,
    layout: vk::PipelineLayout,
    render_pass: vk::RenderPass,
) -> Result<Owned<vk::Pipeline>> {
    let code = Shaders::new()?.spirv()?;
    let info = vk::ShaderModuleCreateInfo::default().code(&code);
    // SAFETY: the code was checked and made by naga.
    let module = unsafe {
        let module = device.raw().create_shader_module(&info, None);
        device.own(module?)
    };
    let (vertex, fragment) = (CString::new(Shaders::VERTEX)?, CString::new(Shaders::FRAGMENT)?);
    let stage =
        |stage, name| vk::PipelineShaderStageCreateInfo::default().stage(stage).module(*module).name(name);
    let stages =
        [stage(vk::ShaderStageFlags::VERTEX, &*vertex), stage(vk::ShaderStageFlags::FRAGMENT, &*fragment)];
    let bindings = [vk::VertexInputBindingDescription {
        binding: 0,
        stride: VERTEX_STRIDE,
        input_rate: vk::VertexInputRate::VERTEX,
    }];
    let attributes = attributes();
    let vertices = vk::PipelineVertexInputStateCreateInfo::default()
        .vertex_binding_descriptions(&bindings)
        .vertex_attribute_descriptions(&attributes);
    let assembly =
        vk::PipelineInputAssemblyStateCreateInfo::default().topology(vk::PrimitiveTopology::TRIANGLE_LIST);
    let viewport = vk::PipelineViewportStateCreateInfo::default().viewport_count(1).scissor_count(1);
    // The size of a window may change without a new pipeline.
    let dynamic = [vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR];
    let dynamic = vk::PipelineDynamicStateCreateInfo::default().dynamic_states(&dynamic);
    let raster = vk::PipelineRasterizationStateCreateInfo::default()
        .polygon_mode(vk::PolygonMode::FILL)
        .cull_mode(vk::CullModeFlags::BACK)
        .front_face(vk::FrontFace::CLOCKWISE)
        .line_width(1.0);
    let samples = vk::PipelineMultisampleStateCreateInfo::default()
        .rasterization_samples(vk::SampleCountFlags::from_raw(SAMPLES));
    let depth = vk::PipelineDepthStencilStateCreateInfo::default()
        .depth_test_enable(true)
        .depth_write_enable(true)
        .depth_compare_op(vk::CompareOp::GREATER);
    let targets =
        [vk::PipelineColorBlendAttachmentState::default().color_write_mask(vk::ColorComponentFlags::RGBA)];
    let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&targets);
    let info = vk::GraphicsPipelineCreateInfo::default()
        .stages(&stages)
        .vertex_input_state(&vertices)
        .input_assembly_state(&assembly)
        .viewport_state(&viewport)
        .rasterization_state(&raster)
        .multisample_state(&samples)
        .depth_stencil_state(&depth)
        .color_blend_state(&blend)
        .dynamic_state(&dynamic)
        .layout(layout)
        .render_pass(render_pass);
    // SAFETY: all that the description refers to is alive and of this device, and the shader's
    // interface is that of the layout, the attributes and the pass.
    unsafe {
        let created = device.raw().create_graphics_pipelines(vk::PipelineCache::null(), &[info], None);
        let pipeline = created.map_err(|(_, error)| error).map(|pipelines| pipelines[0]);
        Ok(device.own(pipeline?))
    }
}
