//! Compute shaders that read through descriptors and write the results.

use std::collections::HashMap;
use std::mem::ManuallyDrop;
use std::sync::{LazyLock, Mutex};

use tenure_core::device::prelude::*;
use tenure_d3d12::windows::Win32::Graphics::Direct3D12::{
    D3D_ROOT_SIGNATURE_VERSION_1_0, D3D12_COMPUTE_PIPELINE_STATE_DESC, D3D12_DESCRIPTOR_RANGE,
    D3D12_DESCRIPTOR_RANGE_TYPE, D3D12_DESCRIPTOR_RANGE_TYPE_CBV, D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER,
    D3D12_DESCRIPTOR_RANGE_TYPE_SRV, D3D12_DESCRIPTOR_RANGE_TYPE_UAV, D3D12_ROOT_DESCRIPTOR,
    D3D12_ROOT_DESCRIPTOR_TABLE, D3D12_ROOT_PARAMETER, D3D12_ROOT_PARAMETER_0,
    D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE, D3D12_ROOT_PARAMETER_TYPE_UAV, D3D12_ROOT_SIGNATURE_DESC,
    D3D12_SHADER_BYTECODE, D3D12_SHADER_VISIBILITY_ALL, D3D12SerializeRootSignature, ID3D12PipelineState,
    ID3D12RootSignature,
};
use tenure_d3d12::windows::core::PCSTR;
use tenure_d3d12::{DescriptorHeap, Device, List, Resource};
use windows::Win32::Graphics::Direct3D::Fxc::{D3DCOMPILE_ENABLE_STRICTNESS, D3DCompile};
use windows::Win32::Graphics::Direct3D::ID3DBlob;

/// The register of a descriptor in a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Register {
    /// `b0`
    Constants,
    /// `t0`
    Read,
    /// `u1`; `u0` is where the shader writes.
    ReadWrite,
    /// `s0`
    Sampler,
}

impl Register {
    const fn range(self) -> (D3D12_DESCRIPTOR_RANGE_TYPE, u32) {
        match self {
            Self::Constants => (D3D12_DESCRIPTOR_RANGE_TYPE_CBV, 0),
            Self::Read => (D3D12_DESCRIPTOR_RANGE_TYPE_SRV, 0),
            Self::ReadWrite => (D3D12_DESCRIPTOR_RANGE_TYPE_UAV, 1),
            Self::Sampler => (D3D12_DESCRIPTOR_RANGE_TYPE_SAMPLER, 0),
        }
    }
}

/// The words that a shader reads, and the descriptors that it reads through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shader {
    /// Declarations of HLSL.
    pub(crate) declared: &'static str,
    /// An expression of type `uint4`.
    pub(crate) seen: &'static str,
    /// The registers of the declarations.
    pub(crate) registers: &'static [Register],
    /// Declarations and an expression that a runtime over Vulkan wants instead: it has all buffers
    /// typed, and views of one layer further on are arrays to it.
    pub(crate) otherwise: Option<(&'static str, &'static str)>,
}

struct Pipeline {
    root: ID3D12RootSignature,
    state: ID3D12PipelineState,
}

/// The shaders compiled so far.
pub(crate) struct Shaders {
    device: Device,
    pipelines: Mutex<HashMap<Shader, Pipeline>>,
}

impl Shaders {
    pub(crate) fn new(device: &Device) -> Self {
        Self { device: device.clone(), pipelines: Mutex::default() }
    }

    /// Records a dispatch whose registers are at indices of the set heaps, and which writes four words to
    /// `out`.
    pub(crate) fn record(
        &self,
        list: &List,
        shader: Shader,
        at: &[(&DescriptorHeap, u32)],
        (out, offset): (&Resource, u64),
    ) {
        let mut pipelines = self.pipelines.lock().unwrap();
        let pipeline = pipelines.entry(shader).or_insert_with(|| compile(&self.device, &shader));
        let (list, address) = (list.raw(), self.device.gpu_address(out).unwrap() + offset);
        // SAFETY: the list is open, and everything is of its device; `self` keeps the pipeline, and the
        // caller the rest, until the GPU is done.
        unsafe {
            list.SetComputeRootSignature(&pipeline.root);
            list.SetPipelineState(&pipeline.state);
            list.SetComputeRootUnorderedAccessView(0, address);
            for (parameter, (heap, index)) in (1..).zip(at) {
                list.SetComputeRootDescriptorTable(parameter, heap.gpu_handle(*index).unwrap());
            }
            list.Dispatch(1, 1, 1);
        }
    }
}

fn compile(device: &Device, shader: &Shader) -> Pipeline {
    let root = root(device, shader.registers);
    let (declared, seen) =
        shader.otherwise.filter(|_| is_over_vulkan()).unwrap_or((shader.declared, shader.seen));
    let code = bytecode(declared, seen).unwrap_or_else(|error| panic!("{declared} {seen}: {error}"));
    let desc = D3D12_COMPUTE_PIPELINE_STATE_DESC {
        // Released below.
        pRootSignature: ManuallyDrop::new(Some(root.clone())),
        CS: D3D12_SHADER_BYTECODE {
            pShaderBytecode: bytes(&code).as_ptr().cast(),
            BytecodeLength: bytes(&code).len(),
        },
        ..Default::default()
    };
    // SAFETY: all pointers inside the description are to objects that outlive the call.
    let state = unsafe { device.raw().CreateComputePipelineState(&raw const desc) };
    drop(ManuallyDrop::into_inner(desc.pRootSignature));
    Pipeline { root, state: state.unwrap_or_else(|error| panic!("{shader:?}: {error}")) }
}

/// True for vkd3d, whose compiler supports some writes without the matching reads.
fn is_over_vulkan() -> bool {
    static IS: LazyLock<bool> = LazyLock::new(|| bytecode("", "told.Load4(0)").is_err());
    *IS
}

/// The compiled shader, or its errors.
fn bytecode(declared: &str, seen: &str) -> Result<ID3DBlob, String> {
    let source = format!(
        "RWByteAddressBuffer told : register(u0);
        {declared}
        [numthreads(1, 1, 1)] void main() {{ told.Store4(0, {seen}); }}"
    );
    let (mut code, mut complaints) = (None, None);
    // SAFETY: the pointers are to locals that outlive the call; the names end with a NUL.
    let compiled = unsafe {
        D3DCompile(
            source.as_ptr().cast(),
            source.len(),
            PCSTR::null(),
            None,
            None,
            tenure_d3d12::windows::core::s!("main"),
            tenure_d3d12::windows::core::s!("cs_5_0"),
            D3DCOMPILE_ENABLE_STRICTNESS,
            0,
            &raw mut code,
            Some(&raw mut complaints),
        )
    };
    let complaints = complaints.as_ref().map(|blob| String::from_utf8_lossy(bytes(blob)).into_owned());
    compiled.map_err(|error| format!("{error}: {}", complaints.unwrap_or_default()))?;
    code.ok_or_else(|| "a compiled shader has code".to_owned())
}

/// The bytes of a blob.
fn bytes(blob: &ID3DBlob) -> &[u8] {
    // SAFETY: the blob owns that many bytes there, and does not change while it lives.
    unsafe { std::slice::from_raw_parts(blob.GetBufferPointer().cast(), blob.GetBufferSize()) }
}

/// Where the shader writes, as an address; then a table of one for each register.
fn root(device: &Device, registers: &[Register]) -> ID3D12RootSignature {
    let ranges: Vec<_> = registers
        .iter()
        .map(|register| {
            let (kind, number) = register.range();
            D3D12_DESCRIPTOR_RANGE {
                RangeType: kind,
                NumDescriptors: 1,
                BaseShaderRegister: number,
                ..Default::default()
            }
        })
        .collect();
    let out = D3D12_ROOT_PARAMETER {
        ParameterType: D3D12_ROOT_PARAMETER_TYPE_UAV,
        Anonymous: D3D12_ROOT_PARAMETER_0 { Descriptor: D3D12_ROOT_DESCRIPTOR::default() },
        ShaderVisibility: D3D12_SHADER_VISIBILITY_ALL,
    };
    let tables = ranges.iter().map(|range| D3D12_ROOT_PARAMETER {
        ParameterType: D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE,
        Anonymous: D3D12_ROOT_PARAMETER_0 {
            DescriptorTable: D3D12_ROOT_DESCRIPTOR_TABLE {
                NumDescriptorRanges: 1,
                pDescriptorRanges: std::ptr::from_ref(range),
            },
        },
        ShaderVisibility: D3D12_SHADER_VISIBILITY_ALL,
    });
    let parameters: Vec<_> = std::iter::once(out).chain(tables).collect();
    let desc = D3D12_ROOT_SIGNATURE_DESC {
        NumParameters: parameters.len() as u32,
        pParameters: parameters.as_ptr(),
        ..Default::default()
    };
    let mut blob = None;
    // SAFETY: all pointers, those inside the description too, are to locals that outlive the call.
    unsafe {
        D3D12SerializeRootSignature(&raw const desc, D3D_ROOT_SIGNATURE_VERSION_1_0, &raw mut blob, None)
    }
    .unwrap();
    // SAFETY: the bytes are those of a root signature, just serialised.
    unsafe { device.raw().CreateRootSignature(0, bytes(&blob.unwrap())) }.unwrap()
}
