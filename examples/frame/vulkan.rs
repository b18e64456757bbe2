//! Vulkan's part of a frame: dispatches.

use naga::back::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use tenure::vulkan::ash::vk;
use tenure::vulkan::{CreateError, Device, DeviceConfig, List, Owned, RawHandle as _, Severity, Validation};
use tenure::{
    BufferViewDesc, Commands, Deferred, DescriptorSet, DescriptorSetDesc, Error, Gpu, Scratch, SetDescriptor,
    SetLayout, SetLayoutDesc, View,
    descriptor::{BindingKind, Set, SetBinding},
};
use voxel_world::{Messages, Result};

use crate::load;
use crate::options::Options;
use crate::painter::{Constants, DRAWS_A_TABLE, Painter, Prepared, Table};
use crate::scene::Scene;

struct Objects {
    pipeline: Owned<vk::Pipeline>,
    layout: Owned<vk::PipelineLayout>,
}

/// Dispatches with Vulkan.
struct VulkanPainter {
    objects: Deferred<Device, Objects>,
    constants: SetLayout<Device>,
    meshes: SetLayout<Device>,
    output: DescriptorSet<Device>,
}

fn spirv() -> Result<Vec<u32>> {
    let source = include_str!("draw.wgsl");
    let module = naga::front::wgsl::parse_str(source).map_err(|error| error.emit_to_string(source))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module)?;
    Ok(spv::write_vec(&module, &info, &spv::Options::default(), None)?)
}

fn pipeline(device: &Device, layouts: [&SetLayout<Device>; 3]) -> Result<Objects> {
    let set_layouts = layouts.map(|layout| layout.raw().raw());
    let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
    // SAFETY: the layouts of the sets are alive and of this device.
    let layout = unsafe {
        let layout = device.raw().create_pipeline_layout(&info, None);
        device.own(layout?)
    };
    let code = spirv()?;
    let info = vk::ShaderModuleCreateInfo::default().code(&code);
    // SAFETY: the code was checked and made by naga.
    let module = unsafe {
        let module = device.raw().create_shader_module(&info, None);
        device.own(module?)
    };
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(*module)
        .name(c"main");
    let info = vk::ComputePipelineCreateInfo::default().stage(stage).layout(*layout);
    // SAFETY: module and layout are alive, of this device, and agree.
    let pipeline = unsafe {
        let created = device.raw().create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
        let pipeline = created.map_err(|(_, error)| error).map(|pipelines| pipelines[0]);
        device.own(pipeline?)
    };
    Ok(Objects { pipeline, layout })
}

impl VulkanPainter {
    fn bind(&self, list: &List, first: u32, set: vk::DescriptorSet, offsets: &[u32], device: &Device) {
        let layout = *self.objects.layout;
        // SAFETY: the list is being recorded; the set and the layout agree and live until the GPU is
        // done with the list.
        unsafe {
            device.raw().cmd_bind_descriptor_sets(
                list.command_buffer(),
                vk::PipelineBindPoint::COMPUTE,
                layout,
                first,
                &[set],
                offsets,
            );
        }
    }
}

impl Painter for VulkanPainter {
    type Device = Device;

    fn mesh_view() -> BufferViewDesc {
        BufferViewDesc::raw()
    }

    fn new(scene: &Scene<Device>) -> Result<Self> {
        let gpu = &scene.gpu;
        let binding = |binding, kind| SetBinding { binding, kind, count: 1 };
        let constants = gpu.create_set_layout(
            &SetLayoutDesc::new(&[binding(0, BindingKind::DynamicConstants)]).name("constants"),
        )?;
        let buffers = [0, 1, 2, 3].map(|number| binding(number, BindingKind::Buffer));
        let meshes = gpu.create_set_layout(&SetLayoutDesc::new(&buffers).name("meshes"))?;
        let output =
            gpu.create_set_layout(&SetLayoutDesc::new(&[binding(0, BindingKind::Buffer)]).name("output"))?;
        let objects = pipeline(gpu.device(), [&constants, &meshes, &output])?;
        let objects = gpu.defer("pipeline", objects);
        let output = gpu.create_descriptor_set(
            &DescriptorSetDesc::new(&output, &[SetDescriptor::new(0, &scene.output_view)]).name("output"),
        )?;
        Ok(Self { objects, constants, meshes, output })
    }

    fn begin(
        &self,
        scene: &Scene<Device>,
        commands: &mut Commands<Device>,
    ) -> std::result::Result<(), Error> {
        let device = scene.gpu.device();
        let list = commands.raw();
        // SAFETY: the list is being recorded, and the pipeline lives until the GPU is done with it.
        unsafe {
            let pipeline = *self.objects.pipeline;
            device.raw().cmd_bind_pipeline(list.command_buffer(), vk::PipelineBindPoint::COMPUTE, pipeline);
        }
        self.bind(list, 2, self.output.raw(), &[], device);
        Ok(())
    }

    fn prepare<'r>(
        &self,
        scratch: Scratch<'r, Device>,
        views: [&View<Device>; 4],
        constants: &[Constants; DRAWS_A_TABLE],
    ) -> std::result::Result<Prepared<'r, Device>, Error> {
        let [a, b, c, d] = views;
        let at = |binding, view| SetDescriptor::new(binding, view);
        let table = scratch.set(&self.meshes, &[at(0, a), at(1, b), at(2, c), at(3, d)])?;
        let constants = Prepared::push(scratch, constants)?;
        let mut bound: [Option<Set<'r, Device>>; DRAWS_A_TABLE] = [None; DRAWS_A_TABLE];
        for draw in 0..DRAWS_A_TABLE {
            // One set serves all constants of a page.
            let is_same = draw > 0 && std::ptr::eq(constants[draw].raw(), constants[draw - 1].raw());
            bound[draw] = match bound[draw.saturating_sub(1)].filter(|_| is_same) {
                Some(set) => Some(set),
                None => Some(scratch.set(&self.constants, &[SetDescriptor::new(0, constants[draw])])?),
            };
        }
        Ok(Prepared { table: Table::Set(table), constants, bound })
    }

    fn draw(&self, scene: &Scene<Device>, list: &List, _: usize, prepared: &Prepared<'_, Device>) {
        let Table::Set(table) = prepared.table else { return };
        let device = scene.gpu.device();
        self.bind(list, 1, table.raw(), &[], device);
        for (constants, bound) in prepared.constants.iter().zip(&prepared.bound) {
            let set = bound.map(|set| set.raw());
            if let (Some(set), Ok(offset)) = (set, u32::try_from(constants.offset())) {
                self.bind(list, 0, set, &[offset], device);
                // SAFETY: the list is being recorded, everything is bound and in the states that the
                // shader needs.
                unsafe { device.raw().cmd_dispatch(list.command_buffer(), 1, 1, 1) };
            }
        }
    }
}

/// Creates a device, with the validation layers on request.
fn create_device(options: &Options, messages: &Messages) -> std::result::Result<Device, CreateError> {
    let heard = messages.clone();
    let device = DeviceConfig::default().on_message(move |message| {
        if message.severity >= Severity::Warning {
            heard.push(message.to_string());
        }
    });
    let validation = if options.validate { Validation::SYNCHRONIZATION } else { Validation::default() };
    Device::create(&device.validation(validation))
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let messages = Messages::default();
    let device = create_device(options, &messages)?;
    let ran = load::run::<VulkanPainter>(options, Gpu::new(device, Options::config())?);
    ran.and(messages.check())
}
