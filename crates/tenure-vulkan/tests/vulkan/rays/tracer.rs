//! A pipeline that traces rays, and where their hits are written to.

use tenure_core::{
    AccelerationStructure, BindingKind, Buffer, BufferDesc, BufferViewDesc, DescriptorSetDesc, Gpu,
    SetBinding, SetDescriptor, SetLayout, SetLayoutDesc, State, Subresource, Usage, View,
};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{Device, RawHandle as _};

use super::LONG;
use super::scene::record;
use super::shader::{self, Rays};

/// Binding of the hits.
pub(super) const HITS: u32 = 0;
/// Binding of the structure.
pub(super) const WORLD: u32 = 1;

/// Each word of a ray that hits nothing.
pub(super) const MISS: u32 = u32::MAX;

/// The hit of one ray: the custom index of the instance, its number, the triangle, the bits of the distance.
pub(super) type Hit = [u32; 4];

fn size_of([columns, rows]: [u32; 2]) -> u64 {
    u64::from(columns * rows) * std::mem::size_of::<Hit>() as u64
}

pub(super) struct Tracer {
    gpu: Gpu<Device>,
    layout: SetLayout<Device>,
    hits: Buffer<Device>,
    view: View<Device>,
    grid: [u32; 2],
    module: vk::ShaderModule,
    pipeline_layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
}

impl Tracer {
    pub(super) fn new(gpu: &Gpu<Device>, rays: &Rays) -> Self {
        let bindings = [
            SetBinding::new(HITS, BindingKind::Buffer),
            SetBinding::new(WORLD, BindingKind::AccelerationStructure),
        ];
        let layout = gpu.create_set_layout(&SetLayoutDesc::new(&bindings).name("rays")).unwrap();
        let usage = Usage::UNORDERED_ACCESS | Usage::COPY_SRC;
        let hits = gpu.create_buffer(&BufferDesc::new(size_of(rays.grid), usage).name("hits")).unwrap();
        let view = gpu.create_buffer_view(&hits, &BufferViewDesc::structured_writable(16)).unwrap();
        let words = shader::compile(rays);
        let raw = gpu.device().raw();
        let layouts = [layout.raw().raw()];
        // SAFETY: all is made here, of live objects of the device.
        let (module, pipeline_layout, pipeline) = unsafe {
            let info = vk::ShaderModuleCreateInfo::default().code(&words);
            let module = raw.create_shader_module(&info, None).unwrap();
            let info = vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts);
            let pipeline_layout = raw.create_pipeline_layout(&info, None).unwrap();
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let info = vk::ComputePipelineCreateInfo::default().layout(pipeline_layout).stage(stage);
            let made = raw.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            (module, pipeline_layout, made.unwrap()[0])
        };
        Self { gpu: gpu.clone(), layout, hits, view, grid: rays.grid, module, pipeline_layout, pipeline }
    }

    /// Traces all rays through a top-level structure, and returns the hits, row by row.
    pub(super) fn trace(
        &self,
        world: &AccelerationStructure<Device>,
        bottoms: &[AccelerationStructure<Device>],
    ) -> Vec<Hit> {
        let binds = [SetDescriptor::new(HITS, &self.view), SetDescriptor::new(WORLD, world)];
        let set = self.gpu.create_descriptor_set(&DescriptorSetDesc::new(&self.layout, &binds)).unwrap();
        let mut recording = record(&self.gpu, "trace");
        recording.use_structures(bottoms.iter().chain([world])).unwrap();
        recording.use_resource(&self.hits, Subresource::All, State::UNORDERED_ACCESS).unwrap();
        let list = recording.raw().command_buffer();
        let raw = self.gpu.device().raw();
        let point = vk::PipelineBindPoint::COMPUTE;
        // SAFETY: the recording is open, and all that is bound lives until the readback is there.
        unsafe {
            raw.cmd_bind_pipeline(list, point, self.pipeline);
            raw.cmd_bind_descriptor_sets(list, point, self.pipeline_layout, 0, &[set.raw()], &[]);
            raw.cmd_dispatch(list, self.grid[0], self.grid[1], 1);
        }
        let hits = recording.read_back(&self.hits, 0, size_of(self.grid)).unwrap();
        recording.submit().unwrap();
        let bytes = hits.wait(LONG).unwrap();
        let words: Vec<_> =
            bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        words.chunks_exact(4).map(|hit| hit.try_into().unwrap()).collect()
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let raw = self.gpu.device().raw();
        // SAFETY: the readback of each trace was waited for.
        unsafe {
            raw.destroy_pipeline(self.pipeline, None);
            raw.destroy_pipeline_layout(self.pipeline_layout, None);
            raw.destroy_shader_module(self.module, None);
        }
    }
}
