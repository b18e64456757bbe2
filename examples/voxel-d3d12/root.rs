//! The root signature: the shader's inputs besides vertices.

use tenure::d3d12::Device;
use voxel_world::{LOD_BIAS, Result};
use windows::Win32::Graphics::Direct3D12::{
    D3D_ROOT_SIGNATURE_VERSION_1_0, D3D12_COMPARISON_FUNC_NEVER, D3D12_DESCRIPTOR_RANGE,
    D3D12_DESCRIPTOR_RANGE_TYPE_SRV, D3D12_FILTER_MIN_MAG_MIP_LINEAR, D3D12_FLOAT32_MAX,
    D3D12_ROOT_DESCRIPTOR, D3D12_ROOT_DESCRIPTOR_TABLE, D3D12_ROOT_PARAMETER, D3D12_ROOT_PARAMETER_0,
    D3D12_ROOT_PARAMETER_TYPE_CBV, D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE, D3D12_ROOT_SIGNATURE_DESC,
    D3D12_ROOT_SIGNATURE_FLAG_ALLOW_INPUT_ASSEMBLER_INPUT_LAYOUT, D3D12_SHADER_VISIBILITY_ALL,
    D3D12_SHADER_VISIBILITY_PIXEL, D3D12_STATIC_SAMPLER_DESC, D3D12_TEXTURE_ADDRESS_MODE_WRAP,
    D3D12SerializeRootSignature, ID3D12RootSignature,
};

use crate::bytecode::bytes;

/// The parameter of the constants (b0): an address.
pub(crate) const CONSTANTS: u32 = 0;
/// The parameter of the texture (t1): a table. Its sampler (s2) never changes.
pub(crate) const TILES: u32 = 1;

pub(crate) fn signature(device: &Device) -> Result<ID3D12RootSignature> {
    let range = D3D12_DESCRIPTOR_RANGE {
        RangeType: D3D12_DESCRIPTOR_RANGE_TYPE_SRV,
        NumDescriptors: 1,
        BaseShaderRegister: 1,
        ..Default::default()
    };
    let table = D3D12_ROOT_DESCRIPTOR_TABLE { NumDescriptorRanges: 1, pDescriptorRanges: &raw const range };
    let parameters = [
        D3D12_ROOT_PARAMETER {
            ParameterType: D3D12_ROOT_PARAMETER_TYPE_CBV,
            Anonymous: D3D12_ROOT_PARAMETER_0 { Descriptor: D3D12_ROOT_DESCRIPTOR::default() },
            ShaderVisibility: D3D12_SHADER_VISIBILITY_ALL,
        },
        D3D12_ROOT_PARAMETER {
            ParameterType: D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE,
            Anonymous: D3D12_ROOT_PARAMETER_0 { DescriptorTable: table },
            ShaderVisibility: D3D12_SHADER_VISIBILITY_PIXEL,
        },
    ];
    let sampler = D3D12_STATIC_SAMPLER_DESC {
        Filter: D3D12_FILTER_MIN_MAG_MIP_LINEAR,
        AddressU: D3D12_TEXTURE_ADDRESS_MODE_WRAP,
        AddressV: D3D12_TEXTURE_ADDRESS_MODE_WRAP,
        AddressW: D3D12_TEXTURE_ADDRESS_MODE_WRAP,
        MipLODBias: LOD_BIAS,
        ComparisonFunc: D3D12_COMPARISON_FUNC_NEVER,
        MaxLOD: D3D12_FLOAT32_MAX,
        ShaderRegister: 2,
        ShaderVisibility: D3D12_SHADER_VISIBILITY_PIXEL,
        ..Default::default()
    };
    let desc = D3D12_ROOT_SIGNATURE_DESC {
        NumParameters: parameters.len() as u32,
        pParameters: parameters.as_ptr(),
        NumStaticSamplers: 1,
        pStaticSamplers: &raw const sampler,
        Flags: D3D12_ROOT_SIGNATURE_FLAG_ALLOW_INPUT_ASSEMBLER_INPUT_LAYOUT,
    };
    let mut blob = None;
    // SAFETY: all pointers, those inside the description too, are to locals that outlive the call.
    unsafe {
        D3D12SerializeRootSignature(&raw const desc, D3D_ROOT_SIGNATURE_VERSION_1_0, &raw mut blob, None)
    }?;
    let blob = blob.ok_or("a serialised root signature has bytes")?;
    // SAFETY: the bytes are those of a root signature, just serialised.
    Ok(unsafe { device.raw().CreateRootSignature(0, bytes(&blob)) }?)
}
