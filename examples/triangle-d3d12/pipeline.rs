//! The pipeline of the triangles: Direct3D's own, because tenure does not manage pipelines.

use std::mem::ManuallyDrop;

use tenure::d3d12::{Device, to_dxgi_format};
use windows::Win32::Graphics::Direct3D::Fxc::D3DCompile;
use windows::Win32::Graphics::Direct3D::ID3DBlob;
use windows::Win32::Graphics::Direct3D12::*;
use windows::Win32::Graphics::Dxgi::Common::*;
use windows::core::{PCSTR, s};

use crate::triangles::{COLOR, DEPTH, Result};

pub(crate) type Pipeline = (ID3D12RootSignature, ID3D12PipelineState);

fn bytes(blob: &ID3DBlob) -> &[u8] {
    // SAFETY: the blob owns that many bytes there, and does not change while it lives.
    unsafe { std::slice::from_raw_parts(blob.GetBufferPointer().cast(), blob.GetBufferSize()) }
}

fn compile(entry: PCSTR, target: PCSTR) -> Result<ID3DBlob> {
    let (source, mut code) = (include_str!("../triangle.hlsl"), None);
    let (text, size) = (source.as_ptr().cast(), source.len());
    // SAFETY: the pointers are to locals that outlive the call.
    unsafe {
        D3DCompile(text, size, s!("triangle.hlsl"), None, None, entry, target, 0, 0, &raw mut code, None)
    }?;
    Ok(code.ok_or("a compiled shader has code")?)
}

pub(crate) fn pipeline(device: &Device) -> Result<Pipeline> {
    let kind = D3D12_DESCRIPTOR_RANGE_TYPE_SRV;
    let range = D3D12_DESCRIPTOR_RANGE { RangeType: kind, NumDescriptors: 1, ..Default::default() };
    let table = D3D12_ROOT_DESCRIPTOR_TABLE { NumDescriptorRanges: 1, pDescriptorRanges: &raw const range };
    let constants =
        D3D12_ROOT_PARAMETER { ParameterType: D3D12_ROOT_PARAMETER_TYPE_CBV, ..Default::default() };
    let table = D3D12_ROOT_PARAMETER {
        ParameterType: D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE,
        Anonymous: D3D12_ROOT_PARAMETER_0 { DescriptorTable: table },
        ..Default::default()
    };
    let sampler = D3D12_STATIC_SAMPLER_DESC {
        Filter: D3D12_FILTER_MIN_MAG_MIP_LINEAR,
        AddressU: D3D12_TEXTURE_ADDRESS_MODE_WRAP,
        AddressV: D3D12_TEXTURE_ADDRESS_MODE_WRAP,
        AddressW: D3D12_TEXTURE_ADDRESS_MODE_WRAP,
        ComparisonFunc: D3D12_COMPARISON_FUNC_NEVER,
        MaxLOD: D3D12_FLOAT32_MAX,
        ..Default::default()
    };
    let parameters = [constants, table];
    let desc = D3D12_ROOT_SIGNATURE_DESC {
        NumParameters: 2,
        pParameters: parameters.as_ptr(),
        NumStaticSamplers: 1,
        pStaticSamplers: &raw const sampler,
        Flags: D3D12_ROOT_SIGNATURE_FLAG_ALLOW_INPUT_ASSEMBLER_INPUT_LAYOUT,
    };
    let (mut blob, version) = (None, D3D_ROOT_SIGNATURE_VERSION_1_0);
    // SAFETY: all pointers, those inside the description too, are to locals that outlive the call.
    unsafe { D3D12SerializeRootSignature(&raw const desc, version, &raw mut blob, None) }?;
    let blob = blob.ok_or("a root signature has bytes")?;
    // SAFETY: the bytes are those of a root signature.
    let root: ID3D12RootSignature = unsafe { device.raw().CreateRootSignature(0, bytes(&blob)) }?;
    let (vertex, fragment) = (compile(s!("vertex"), s!("vs_5_0"))?, compile(s!("fragment"), s!("ps_5_0"))?);
    let code = |blob| D3D12_SHADER_BYTECODE {
        pShaderBytecode: bytes(blob).as_ptr().cast(),
        BytecodeLength: bytes(blob).len(),
    };
    let input = |name, format, offset| D3D12_INPUT_ELEMENT_DESC {
        SemanticName: name,
        Format: format,
        AlignedByteOffset: offset,
        ..Default::default()
    };
    let position = input(s!("POSITION"), DXGI_FORMAT_R32G32B32_FLOAT, 0);
    let inputs = [position, input(s!("UV"), DXGI_FORMAT_R32G32_FLOAT, 12)];
    let mut desc = D3D12_GRAPHICS_PIPELINE_STATE_DESC {
        // Released below.
        pRootSignature: ManuallyDrop::new(Some(root.clone())),
        VS: code(&vertex),
        PS: code(&fragment),
        SampleMask: u32::MAX,
        InputLayout: D3D12_INPUT_LAYOUT_DESC { pInputElementDescs: inputs.as_ptr(), NumElements: 2 },
        PrimitiveTopologyType: D3D12_PRIMITIVE_TOPOLOGY_TYPE_TRIANGLE,
        NumRenderTargets: 1,
        DSVFormat: to_dxgi_format(DEPTH),
        SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
        ..Default::default()
    };
    desc.BlendState.RenderTarget[0].RenderTargetWriteMask = D3D12_COLOR_WRITE_ENABLE_ALL.0 as u8;
    desc.RasterizerState.FillMode = D3D12_FILL_MODE_SOLID;
    desc.RasterizerState.CullMode = D3D12_CULL_MODE_NONE;
    desc.DepthStencilState.DepthEnable = true.into();
    desc.DepthStencilState.DepthWriteMask = D3D12_DEPTH_WRITE_MASK_ALL;
    desc.DepthStencilState.DepthFunc = D3D12_COMPARISON_FUNC_LESS;
    desc.RTVFormats[0] = to_dxgi_format(COLOR);
    // SAFETY: all pointers inside the description are to objects that outlive the call.
    let pipeline = unsafe { device.raw().CreateGraphicsPipelineState(&raw const desc) };
    drop(ManuallyDrop::into_inner(desc.pRootSignature));
    Ok((root, pipeline?))
}
