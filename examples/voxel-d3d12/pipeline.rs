//! The pipeline of every mesh.

use std::mem::ManuallyDrop;

use tenure::d3d12::{Device, to_dxgi_format};
use voxel_world::{Result, SAMPLES, Shaders, Targets};
use windows::Win32::Graphics::Direct3D12::{
    D3D12_BLEND_DESC, D3D12_COLOR_WRITE_ENABLE_ALL, D3D12_COMPARISON_FUNC_GREATER, D3D12_CULL_MODE_BACK,
    D3D12_DEPTH_STENCIL_DESC, D3D12_DEPTH_WRITE_MASK_ALL, D3D12_FILL_MODE_SOLID,
    D3D12_GRAPHICS_PIPELINE_STATE_DESC, D3D12_INPUT_CLASSIFICATION_PER_VERTEX_DATA, D3D12_INPUT_ELEMENT_DESC,
    D3D12_INPUT_LAYOUT_DESC, D3D12_PRIMITIVE_TOPOLOGY_TYPE_TRIANGLE, D3D12_RASTERIZER_DESC,
    D3D12_RENDER_TARGET_BLEND_DESC, ID3D12PipelineState, ID3D12RootSignature,
};
use windows::Win32::Graphics::Dxgi::Common::{
    DXGI_FORMAT_R8G8B8A8_SNORM, DXGI_FORMAT_R8G8B8A8_UNORM, DXGI_FORMAT_R16G16_UINT,
    DXGI_FORMAT_R16G16B16A16_SINT, DXGI_SAMPLE_DESC,
};
use windows::core::s;

use crate::bytecode::Bytecode;

/// The attributes of [`voxel_world::Vertex`], in the order of the shader's inputs.
fn inputs() -> [D3D12_INPUT_ELEMENT_DESC; 4] {
    let formats = [
        (DXGI_FORMAT_R16G16B16A16_SINT, 0),
        (DXGI_FORMAT_R8G8B8A8_SNORM, 8),
        (DXGI_FORMAT_R16G16_UINT, 12),
        (DXGI_FORMAT_R8G8B8A8_UNORM, 16),
    ];
    let mut index = 0..;
    formats.map(|(format, offset)| D3D12_INPUT_ELEMENT_DESC {
        SemanticName: s!("LOC"),
        SemanticIndex: index.next().unwrap_or_default(),
        Format: format,
        InputSlot: 0,
        AlignedByteOffset: offset,
        InputSlotClass: D3D12_INPUT_CLASSIFICATION_PER_VERTEX_DATA,
        InstanceDataStepRate: 0,
    })
}

pub(crate) fn pipeline(
    device: &Device,
    root: &ID3D12RootSignature,
    targets: &Targets<Device>,
) -> Result<ID3D12PipelineState> {
    let source = Shaders::new()?.hlsl()?;
    let vertex = Bytecode::compile(&source, Shaders::VERTEX, "vs_5_0")?;
    let pixel = Bytecode::compile(&source, Shaders::FRAGMENT, "ps_5_0")?;
    let inputs = inputs();
    let mut blend = D3D12_BLEND_DESC::default();
    blend.RenderTarget[0] = D3D12_RENDER_TARGET_BLEND_DESC {
        RenderTargetWriteMask: D3D12_COLOR_WRITE_ENABLE_ALL.0 as u8,
        ..Default::default()
    };
    let mut desc = D3D12_GRAPHICS_PIPELINE_STATE_DESC {
        // Released below.
        pRootSignature: ManuallyDrop::new(Some(root.clone())),
        VS: vertex.as_desc(),
        PS: pixel.as_desc(),
        BlendState: blend,
        SampleMask: u32::MAX,
        RasterizerState: D3D12_RASTERIZER_DESC {
            FillMode: D3D12_FILL_MODE_SOLID,
            // Front faces are clockwise.
            CullMode: D3D12_CULL_MODE_BACK,
            DepthClipEnable: true.into(),
            MultisampleEnable: true.into(),
            ..Default::default()
        },
        DepthStencilState: D3D12_DEPTH_STENCIL_DESC {
            DepthEnable: true.into(),
            DepthWriteMask: D3D12_DEPTH_WRITE_MASK_ALL,
            DepthFunc: D3D12_COMPARISON_FUNC_GREATER,
            ..Default::default()
        },
        InputLayout: D3D12_INPUT_LAYOUT_DESC {
            pInputElementDescs: inputs.as_ptr(),
            NumElements: inputs.len() as u32,
        },
        PrimitiveTopologyType: D3D12_PRIMITIVE_TOPOLOGY_TYPE_TRIANGLE,
        NumRenderTargets: 1,
        DSVFormat: to_dxgi_format(targets.depth.info().format),
        SampleDesc: DXGI_SAMPLE_DESC { Count: SAMPLES, Quality: 0 },
        ..Default::default()
    };
    desc.RTVFormats[0] = to_dxgi_format(targets.colour.info().format);
    // SAFETY: all pointers inside the description are to objects that outlive the call.
    let pipeline = unsafe { device.raw().CreateGraphicsPipelineState(&raw const desc) };
    drop(ManuallyDrop::into_inner(desc.pRootSignature));
    Ok(pipeline?)
}
