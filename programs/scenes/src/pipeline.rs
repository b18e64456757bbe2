//! Pipelines and bindings in few words.

use wgpu::util::{BufferInitDescriptor, DeviceExt};

/// The common part of the render pipelines.
pub(crate) struct Drawing<'a> {
    pub(crate) shader: &'a wgpu::ShaderModule,
    pub(crate) vertex: &'a str,
    /// With the format that it draws to; without, only depth is drawn.
    pub(crate) fragment: Option<(&'a str, wgpu::TextureFormat)>,
    pub(crate) buffers: &'a [Option<wgpu::VertexBufferLayout<'a>>],
    pub(crate) depth: bool,
    pub(crate) samples: u32,
    pub(crate) blend: Option<wgpu::BlendState>,
}

/// The format of all depth textures here.
pub(crate) const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;

impl Drawing<'_> {
    pub(crate) fn pipeline(&self, device: &wgpu::Device) -> wgpu::RenderPipeline {
        let targets = self.fragment.map(|(_, format)| {
            [Some(wgpu::ColorTargetState { format, blend: self.blend, write_mask: wgpu::ColorWrites::ALL })]
        });
        device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(self.vertex),
            layout: None,
            vertex: wgpu::VertexState {
                module: self.shader,
                entry_point: Some(self.vertex),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: self.buffers,
            },
            fragment: self.fragment.zip(targets.as_ref()).map(|((entry, _), targets)| wgpu::FragmentState {
                module: self.shader,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                targets,
            }),
            primitive: wgpu::PrimitiveState::default(),
            depth_stencil: self.depth.then(|| wgpu::DepthStencilState {
                format: DEPTH,
                depth_write_enabled: Some(true),
                depth_compare: Some(wgpu::CompareFunction::LessEqual),
                stencil: wgpu::StencilState::default(),
                bias: wgpu::DepthBiasState { constant: 2, slope_scale: 2.0, clamp: 0.0 },
            }),
            multisample: wgpu::MultisampleState { count: self.samples, ..Default::default() },
            multiview_mask: None,
            cache: None,
        })
    }
}

/// The resources of a group, from binding 0 on.
pub(crate) fn bind(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    resources: Vec<wgpu::BindingResource<'_>>,
) -> wgpu::BindGroup {
    let entries: Vec<_> =
        (0..).zip(resources).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
}

/// A buffer with something in it.
pub(crate) fn filled<T: bytemuck::NoUninit>(
    device: &wgpu::Device,
    label: &str,
    contents: &[T],
    usage: wgpu::BufferUsages,
) -> wgpu::Buffer {
    let contents = bytemuck::cast_slice(contents);
    device.create_buffer_init(&BufferInitDescriptor { label: Some(label), contents, usage })
}

/// A texture of one layer, as most are.
pub(crate) fn texture(
    device: &wgpu::Device,
    [width, height]: [u32; 2],
    [mip_level_count, sample_count]: [u32; 2],
    format: wgpu::TextureFormat,
    usage: wgpu::TextureUsages,
) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: None,
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count,
        sample_count,
        dimension: wgpu::TextureDimension::D2,
        format,
        usage,
        view_formats: &[],
    })
}

/// A colour attachment that is cleared.
pub(crate) fn cleared<'a>(
    view: &'a wgpu::TextureView,
    resolve_target: Option<&'a wgpu::TextureView>,
) -> Option<wgpu::RenderPassColorAttachment<'a>> {
    let load = wgpu::LoadOp::Clear(wgpu::Color { r: 0.05, g: 0.06, b: 0.1, a: 1.0 });
    let ops = wgpu::Operations { load, store: wgpu::StoreOp::Store };
    Some(wgpu::RenderPassColorAttachment { view, depth_slice: None, resolve_target, ops })
}

/// A depth attachment that is cleared.
pub(crate) fn far(view: &wgpu::TextureView) -> wgpu::RenderPassDepthStencilAttachment<'_> {
    let depth = wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Store };
    wgpu::RenderPassDepthStencilAttachment { view, depth_ops: Some(depth), stencil_ops: None }
}
