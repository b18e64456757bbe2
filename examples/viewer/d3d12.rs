//! Direct3D 12: pipelines, descriptor tables and draw calls, with the debug layer if installed.

use std::ffi::CStr;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

use tenure::d3d12::{
    Device, DeviceConfig, LiveObjects, Message, RawHandle as _, Severity, Swapchain, to_dxgi_format,
};
use tenure::prelude::*;
use voxel_world::{Messages, Result, Shaders};
use windows::Win32::Foundation::{HWND, RECT};
use windows::Win32::Graphics::Direct3D::D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST;
use windows::Win32::Graphics::Direct3D12::*;
use windows::Win32::Graphics::Dxgi::Common::*;
use windows::core::s;
use winit::raw_window_handle::{HasWindowHandle as _, RawWindowHandle};
use winit::window::Window;

use crate::Arguments;
use crate::bytecode::{Bytecode, bytes};
use crate::renderer::{Backend, LIGHT, PIPELINES, Pass, PipelineDesc, SKY, STRIDE, Shader};

/// In the order of [`Shader`].
type Pipelines = (ID3D12RootSignature, [ID3D12PipelineState; 3]);

pub(crate) struct Direct3d {
    /// tenure releases them when the GPU is done with them.
    pipelines: Deferred<Device, Pipelines>,
    gpu: Gpu<Device>,
}

impl Backend for Direct3d {
    type Device = Device;
    type Swapchain = Swapchain;
    type Material = DescriptorTable<Device>;

    fn new(gpu: &Gpu<Device>) -> Result<Self> {
        let pipelines = gpu.defer("pipelines", pipelines(gpu.device())?);
        Ok(Self { pipelines, gpu: gpu.clone() })
    }

    fn open(gpu: &Gpu<Device>, window: &Arc<Window>, desc: &SwapchainDesc) -> Result<Swapchain> {
        let RawWindowHandle::Win32(handle) = window.window_handle()?.as_raw() else {
            return Err("a window of another system".into());
        };
        Ok(Swapchain::new(gpu, HWND(handle.hwnd.get() as *mut _), desc)?)
    }

    fn create_material(&self, texture: &View<Device>) -> Result<DescriptorTable<Device>> {
        Ok(self.gpu.create_descriptor_table(&DescriptorTableDesc::new(&[texture.into()]).name("material"))?)
    }

    fn draw(&self, list: &mut Recording<Device>, pass: &Pass<'_, Self>) -> Result<()> {
        let (commands, scratch) = list.split();
        if pass.shader == Shader::Scene {
            // One barrier after the upload of a texture, and later none.
            let mut materials = pass.draws.iter().map(|(_, _, material)| material);
            materials.try_for_each(|material| commands.use_table(material, ShaderStages::Pixel))?;
        }
        let constants = scratch.constants(pass.constants)?.gpu_address().unwrap_or_default();
        // A table of this recording.
        let read = pass.read.map(|view| scratch.descriptors(&[view.into()])).transpose()?;
        commands.set_descriptor_heaps()?;
        let list = commands.raw().raw();
        self.begin(list, pass);
        // SAFETY: the list is open. All that is set is tenure's, and lives until the GPU is done.
        unsafe {
            list.SetGraphicsRootConstantBufferView(0, constants);
            if let Some(read) = read {
                list.SetGraphicsRootDescriptorTable(1, read.raw());
            }
        }
        for (geometry, object, material) in pass.draws {
            let model = scratch.constants(&object.model.to_cols_array())?.gpu_address().unwrap_or_default();
            let geometry = geometry.gpu_address().unwrap_or_default();
            let (vertices, indices) = (object.vertices, object.indices);
            let vertices = D3D12_VERTEX_BUFFER_VIEW {
                BufferLocation: geometry + vertices.0,
                SizeInBytes: vertices.1 * STRIDE,
                StrideInBytes: STRIDE,
            };
            let indices = D3D12_INDEX_BUFFER_VIEW {
                BufferLocation: geometry + indices.0,
                SizeInBytes: indices.1 * 2,
                Format: DXGI_FORMAT_R16_UINT,
            };
            // SAFETY: as above; indices and vertices are where the file has them.
            unsafe {
                list.SetGraphicsRootConstantBufferView(2, model);
                list.SetGraphicsRootDescriptorTable(3, material.raw());
                list.IASetVertexBuffers(0, Some(&[vertices]));
                list.IASetIndexBuffer(Some(&raw const indices));
                list.DrawIndexedInstanced(object.indices.1, 1, 0, 0, 0);
            }
        }
        if pass.shader == Shader::Tone {
            // SAFETY: as above.
            unsafe { list.DrawInstanced(3, 1, 0, 0) };
        }
        Ok(())
    }

    fn resolve(&self, list: &mut Recording<Device>, [from, to]: [&Texture<Device>; 2]) {
        let (from, to, format) = (from.raw().raw(), to.raw().raw(), to_dxgi_format(LIGHT));
        // SAFETY: the list is open, and the textures are in the states for this.
        unsafe { list.raw().raw().ResolveSubresource(to, 0, from, 0, format) };
    }
}

impl Direct3d {
    /// Sets and clears the targets, and sets the pipeline.
    fn begin(&self, list: &ID3D12GraphicsCommandList, pass: &Pass<'_, Self>) {
        let (root, pipelines) = &*self.pipelines;
        let [width, height] = pass.size.map(|side| side as f32);
        let viewport = D3D12_VIEWPORT { Width: width, Height: height, MaxDepth: 1.0, ..Default::default() };
        let area = RECT { right: width as i32, bottom: height as i32, ..Default::default() };
        let (color, depth) = (pass.color.map(|view| view.raw()), pass.depth.map(|view| view.raw()));
        let (color_at, depth_at) = (color.as_ref().map(ptr::from_ref), depth.as_ref().map(ptr::from_ref));
        // SAFETY: the list is open, and the targets are in their states. All lives until the GPU is done.
        unsafe {
            list.OMSetRenderTargets(color.iter().len() as u32, color_at, false, depth_at);
            if let Some(color) = color.filter(|_| pass.shader == Shader::Scene) {
                list.ClearRenderTargetView(color, &SKY, None);
            }
            if let Some(depth) = depth {
                list.ClearDepthStencilView(depth, D3D12_CLEAR_FLAG_DEPTH, 1.0, 0, None);
            }
            list.RSSetViewports(&[viewport]);
            list.RSSetScissorRects(&[area]);
            list.SetGraphicsRootSignature(root);
            list.SetPipelineState(&pipelines[pass.shader as usize]);
            list.IASetPrimitiveTopology(D3D_PRIMITIVE_TOPOLOGY_TRIANGLELIST);
        }
    }
}

/// The parameters: constants of a pass (b0), its texture (t1), constants of a draw (b5), texture of a material (t3). The
/// samplers (s2, s4) never change.
fn root_signature(device: &Device) -> Result<ID3D12RootSignature> {
    let constants = |register| D3D12_ROOT_PARAMETER {
        ParameterType: D3D12_ROOT_PARAMETER_TYPE_CBV,
        Anonymous: D3D12_ROOT_PARAMETER_0 {
            Descriptor: D3D12_ROOT_DESCRIPTOR { ShaderRegister: register, RegisterSpace: 0 },
        },
        ..Default::default()
    };
    let ranges = [1, 3].map(|register| D3D12_DESCRIPTOR_RANGE {
        RangeType: D3D12_DESCRIPTOR_RANGE_TYPE_SRV,
        NumDescriptors: 1,
        BaseShaderRegister: register,
        ..Default::default()
    });
    let table = |range: &D3D12_DESCRIPTOR_RANGE| D3D12_ROOT_PARAMETER {
        ParameterType: D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE,
        Anonymous: D3D12_ROOT_PARAMETER_0 {
            DescriptorTable: D3D12_ROOT_DESCRIPTOR_TABLE { NumDescriptorRanges: 1, pDescriptorRanges: range },
        },
        ShaderVisibility: D3D12_SHADER_VISIBILITY_PIXEL,
    };
    let parameters = [constants(0), table(&ranges[0]), constants(5), table(&ranges[1])];
    let sampler = |filter, compare, address, register| D3D12_STATIC_SAMPLER_DESC {
        Filter: filter,
        AddressU: address,
        AddressV: address,
        AddressW: address,
        ComparisonFunc: compare,
        BorderColor: D3D12_STATIC_BORDER_COLOR_OPAQUE_WHITE,
        MaxLOD: D3D12_FLOAT32_MAX,
        ShaderRegister: register,
        ShaderVisibility: D3D12_SHADER_VISIBILITY_PIXEL,
        ..Default::default()
    };
    let (comparison, smooth) = (D3D12_FILTER_COMPARISON_MIN_MAG_MIP_LINEAR, D3D12_FILTER_MIN_MAG_MIP_LINEAR);
    let (less, never) = (D3D12_COMPARISON_FUNC_LESS_EQUAL, D3D12_COMPARISON_FUNC_NEVER);
    let samplers = [
        // Outside of the shadow map there is light.
        sampler(comparison, less, D3D12_TEXTURE_ADDRESS_MODE_BORDER, 2),
        sampler(smooth, never, D3D12_TEXTURE_ADDRESS_MODE_WRAP, 4),
    ];
    let desc = D3D12_ROOT_SIGNATURE_DESC {
        NumParameters: parameters.len() as u32,
        pParameters: parameters.as_ptr(),
        NumStaticSamplers: samplers.len() as u32,
        pStaticSamplers: samplers.as_ptr(),
        Flags: D3D12_ROOT_SIGNATURE_FLAG_ALLOW_INPUT_ASSEMBLER_INPUT_LAYOUT,
    };
    let (mut blob, version) = (None, D3D_ROOT_SIGNATURE_VERSION_1_0);
    // SAFETY: all pointers, those inside the description too, are to locals that outlive the call.
    unsafe { D3D12SerializeRootSignature(&raw const desc, version, &raw mut blob, None) }?;
    let blob = blob.ok_or("a root signature has bytes")?;
    // SAFETY: the bytes are those of a root signature.
    Ok(unsafe { device.raw().CreateRootSignature(0, bytes(&blob)) }?)
}

fn pipelines(device: &Device) -> Result<Pipelines> {
    let root = root_signature(device)?;
    let [shadow, scene, tone] = PIPELINES.each_ref().map(|desc| pipeline(device, &root, desc));
    Ok((root, [shadow?, scene?, tone?]))
}

fn pipeline(device: &Device, root: &ID3D12RootSignature, desc: &PipelineDesc) -> Result<ID3D12PipelineState> {
    let source = Shaders::parse(desc.source.0, desc.source.1)?.hlsl()?;
    let compile = |entry: &CStr, target| Bytecode::compile(&source, entry.to_str()?, target);
    let vertex = compile(desc.vertex, "vs_5_0")?;
    let pixel = desc.fragment.map(|entry| compile(entry, "ps_5_0")).transpose()?;
    let formats = [DXGI_FORMAT_R32G32B32_FLOAT, DXGI_FORMAT_R32G32B32_FLOAT, DXGI_FORMAT_R32G32_FLOAT];
    let input = |(index, format)| D3D12_INPUT_ELEMENT_DESC {
        SemanticName: s!("LOC"),
        SemanticIndex: index,
        Format: format,
        AlignedByteOffset: D3D12_APPEND_ALIGNED_ELEMENT,
        ..Default::default()
    };
    let inputs: Vec<_> = (0..).zip(formats).take(desc.inputs).map(input).collect();
    let mut state = D3D12_GRAPHICS_PIPELINE_STATE_DESC {
        // Released below.
        pRootSignature: ManuallyDrop::new(Some(root.clone())),
        VS: vertex.as_desc(),
        PS: pixel.as_ref().map(Bytecode::as_desc).unwrap_or_default(),
        SampleMask: u32::MAX,
        InputLayout: D3D12_INPUT_LAYOUT_DESC {
            pInputElementDescs: inputs.as_ptr(),
            NumElements: inputs.len() as u32,
        },
        PrimitiveTopologyType: D3D12_PRIMITIVE_TOPOLOGY_TYPE_TRIANGLE,
        NumRenderTargets: u32::from(desc.color.is_some()),
        DSVFormat: desc.depth.map(to_dxgi_format).unwrap_or_default(),
        SampleDesc: DXGI_SAMPLE_DESC { Count: desc.samples, Quality: 0 },
        ..Default::default()
    };
    state.BlendState.RenderTarget[0].RenderTargetWriteMask = D3D12_COLOR_WRITE_ENABLE_ALL.0 as u8;
    state.RasterizerState.FillMode = D3D12_FILL_MODE_SOLID;
    state.RasterizerState.CullMode = D3D12_CULL_MODE_NONE;
    state.RasterizerState.DepthClipEnable = true.into();
    state.RasterizerState.MultisampleEnable = (desc.samples > 1).into();
    state.DepthStencilState.DepthEnable = desc.depth.is_some().into();
    state.DepthStencilState.DepthWriteMask = D3D12_DEPTH_WRITE_MASK_ALL;
    state.DepthStencilState.DepthFunc = D3D12_COMPARISON_FUNC_LESS;
    state.RTVFormats[0] = desc.color.map(to_dxgi_format).unwrap_or_default();
    // SAFETY: all pointers inside the description are to objects that outlive the call.
    let pipeline = unsafe { device.raw().CreateGraphicsPipelineState(&raw const state) };
    drop(ManuallyDrop::into_inner(state.pRootSignature));
    Ok(pipeline?)
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let messages = Messages::default();
    let heard = messages.clone();
    let sink = move |message: &Message| {
        if message.severity >= Severity::Warning {
            heard.push(message.to_string());
        }
    };
    let options = DeviceConfig::default().validation(true).on_message(sink);
    let device = Device::create(&options)?;
    let viewed = crate::view::<Direct3d>(arguments, device.clone());
    device.deliver_messages();
    viewed.and(messages.check())?;
    let live = device.live_objects();
    if live == LiveObjects::default() { Ok(()) } else { Err(format!("not released: {live:?}").into()) }
}
