//! Direct3D's part of a frame: dispatches.

use std::mem::ManuallyDrop;

use tenure::d3d12::{Device, DeviceConfig, List, RawHandle as _, Severity};
use tenure::{Bind, BufferViewDesc, Commands, Deferred, Error, Format, Gpu, Scratch, View};
use voxel_world::{Messages, Result};
use windows::Win32::Graphics::Direct3D12::{
    D3D_ROOT_SIGNATURE_VERSION_1_0, D3D12_COMPUTE_PIPELINE_STATE_DESC, D3D12_DESCRIPTOR_RANGE,
    D3D12_DESCRIPTOR_RANGE_TYPE_SRV, D3D12_ROOT_DESCRIPTOR, D3D12_ROOT_DESCRIPTOR_TABLE,
    D3D12_ROOT_PARAMETER, D3D12_ROOT_PARAMETER_0, D3D12_ROOT_PARAMETER_TYPE, D3D12_ROOT_PARAMETER_TYPE_CBV,
    D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE, D3D12_ROOT_PARAMETER_TYPE_UAV, D3D12_ROOT_SIGNATURE_DESC,
    D3D12SerializeRootSignature, ID3D12PipelineState, ID3D12RootSignature,
};

use crate::bytecode::{Bytecode, bytes};
use crate::load;
use crate::options::Options;
use crate::painter::{Constants, DRAWS_A_TABLE, Painter, Prepared, Table};
use crate::scene::Scene;

/// The parameter of the constants: an address.
const CONSTANTS: u32 = 0;
/// The parameter of the meshes: a table.
const TABLE: u32 = 1;
/// The parameter of the output: an address.
const OUTPUT: u32 = 2;

struct Objects {
    root: ID3D12RootSignature,
    pipeline: ID3D12PipelineState,
}

/// Dispatches with Direct3D 12.
struct Direct3dPainter(Deferred<Device, Objects>);

fn address(kind: D3D12_ROOT_PARAMETER_TYPE) -> D3D12_ROOT_PARAMETER {
    let descriptor = D3D12_ROOT_PARAMETER_0 { Descriptor: D3D12_ROOT_DESCRIPTOR::default() };
    D3D12_ROOT_PARAMETER { ParameterType: kind, Anonymous: descriptor, ..Default::default() }
}

fn root_signature(device: &Device) -> Result<ID3D12RootSignature> {
    let range = D3D12_DESCRIPTOR_RANGE {
        RangeType: D3D12_DESCRIPTOR_RANGE_TYPE_SRV,
        NumDescriptors: 4,
        ..Default::default()
    };
    let table = D3D12_ROOT_DESCRIPTOR_TABLE { NumDescriptorRanges: 1, pDescriptorRanges: &raw const range };
    let table = D3D12_ROOT_PARAMETER {
        ParameterType: D3D12_ROOT_PARAMETER_TYPE_DESCRIPTOR_TABLE,
        Anonymous: D3D12_ROOT_PARAMETER_0 { DescriptorTable: table },
        ..Default::default()
    };
    let parameters = [address(D3D12_ROOT_PARAMETER_TYPE_CBV), table, address(D3D12_ROOT_PARAMETER_TYPE_UAV)];
    let desc = D3D12_ROOT_SIGNATURE_DESC {
        NumParameters: parameters.len() as u32,
        pParameters: parameters.as_ptr(),
        ..Default::default()
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

impl Painter for Direct3dPainter {
    type Device = Device;

    fn mesh_view() -> BufferViewDesc {
        BufferViewDesc::typed(Format::R32Uint)
    }

    fn new(scene: &Scene<Device>) -> Result<Self> {
        let device = scene.gpu.device();
        let root = root_signature(device)?;
        let code = Bytecode::compile(include_str!("draw.hlsl"), "main", "cs_5_0")?;
        let desc = D3D12_COMPUTE_PIPELINE_STATE_DESC {
            // Released below.
            pRootSignature: ManuallyDrop::new(Some(root.clone())),
            CS: code.as_desc(),
            ..Default::default()
        };
        // SAFETY: the code and the root signature are alive and belong together.
        let pipeline = unsafe { device.raw().CreateComputePipelineState(&raw const desc) };
        drop(ManuallyDrop::into_inner(desc.pRootSignature));
        let pipeline = pipeline?;
        Ok(Self(scene.gpu.defer("pipeline", Objects { root, pipeline })))
    }

    fn begin(
        &self,
        scene: &Scene<Device>,
        commands: &mut Commands<Device>,
    ) -> std::result::Result<(), Error> {
        commands.set_descriptor_heaps()?;
        let list = commands.raw().raw();
        let output = scene.output.gpu_address().unwrap_or_default();
        // SAFETY: the list is being recorded, and the objects live until the GPU is done with it.
        unsafe {
            list.SetComputeRootSignature(&self.0.root);
            list.SetPipelineState(&self.0.pipeline);
            list.SetComputeRootUnorderedAccessView(OUTPUT, output);
        }
        Ok(())
    }

    fn prepare<'r>(
        &self,
        scratch: Scratch<'r, Device>,
        views: [&View<Device>; 4],
        constants: &[Constants; DRAWS_A_TABLE],
    ) -> std::result::Result<Prepared<'r, Device>, Error> {
        let table = Table::Range(scratch.descriptors(&views.map(Bind::from))?);
        Ok(Prepared { table, constants: Prepared::push(scratch, constants)?, bound: [None; DRAWS_A_TABLE] })
    }

    fn draw(&self, _: &Scene<Device>, list: &List, _: usize, prepared: &Prepared<'_, Device>) {
        let Table::Range(table) = prepared.table else { return };
        let list = list.raw();
        // SAFETY: the list is being recorded; the table and the constants live as long as it does.
        unsafe { list.SetComputeRootDescriptorTable(TABLE, table.raw()) };
        for constants in &prepared.constants {
            let address = constants.gpu_address().unwrap_or_default();
            // SAFETY: as above; the shader's inputs are in the states that it needs.
            unsafe {
                list.SetComputeRootConstantBufferView(CONSTANTS, address);
                list.Dispatch(1, 1, 1);
            }
        }
    }
}

/// Creates a device, with the debug layer on request.
fn create_device(options: &Options, messages: &Messages) -> Result<Device> {
    let messages = messages.clone();
    let sink = move |message: &tenure::d3d12::Message| {
        if message.severity >= Severity::Warning {
            messages.push(message.to_string());
        }
    };
    let validation = options.validate;
    let options = DeviceConfig::default().validation(validation).on_message(sink);
    Ok(Device::create(&options)?)
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let messages = Messages::default();
    let device = create_device(options, &messages)?;
    let ran = load::run::<Direct3dPainter>(options, Gpu::new(device.clone(), Options::config())?);
    device.deliver_messages();
    ran.and(messages.check())
}
