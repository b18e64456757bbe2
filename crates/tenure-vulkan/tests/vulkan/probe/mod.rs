//! Dispatches that look through a descriptor.

mod shader;

use conformance::{Look, Probe, Through};
use tenure_core::device::prelude::*;
use tenure_core::{BindingKind, DescriptorKind, DeviceError};
use tenure_vulkan::ash::vk;
use tenure_vulkan::{DescriptorHeap, Device, List, SetLayout};

use shader::{Find, Index, Out};

/// Sets of the pipelines: the probed descriptors, the output buffer, the texture for a sampler.
const LOOK: u32 = 0;
pub(super) const OUT: u32 = 1;
const TEXTURE: u32 = 2;

/// The objects of one dispatch.
struct Made {
    module: vk::ShaderModule,
    out: vk::DescriptorSetLayout,
    pool: vk::DescriptorPool,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
}

/// Everything made for dispatches, until the device is done with them.
pub(crate) struct Probes {
    device: Device,
    made: Vec<Made>,
}

/// A set to bind, or the number of a descriptor buffer that is bound.
struct Bound {
    set: Result<vk::DescriptorSet, u32>,
    layout: vk::DescriptorSetLayout,
    /// The offsets that are given when it is bound.
    offsets: Vec<u32>,
}

/// The kind of descriptor.
fn kind_of(look: &Look<'_, Device>) -> BindingKind {
    match look {
        Look::Constants => BindingKind::Constants,
        Look::DynamicConstants { .. } => BindingKind::DynamicConstants,
        Look::Buffer | Look::StorageBuffer => BindingKind::Buffer,
        Look::TypedBuffer => BindingKind::TypedBuffer,
        Look::TypedStorageBuffer => BindingKind::TypedStorageBuffer,
        Look::Texture => BindingKind::Texture,
        Look::StorageTexture => BindingKind::StorageTexture,
        Look::Sampler { .. } => BindingKind::Sampler,
        Look::CombinedSampler => BindingKind::CombinedSampler,
    }
}

/// Where the shader finds it, the set to bind, and the index to push.
fn find(through: &Through<'_, Device>, (kind, offset): (BindingKind, u32), set: u32) -> (Find, Bound, u32) {
    match *through {
        Through::Heap { heap, index } => {
            let binding = heap.binding(kind).unwrap();
            // Its place among the pushed constants is that of its set.
            let member = u32::from(set == TEXTURE);
            let found = Find { set, kind, binding, index: Index::Pushed(member) };
            // The heap of views is bound before that of samplers.
            let set = heap.set().ok_or(u32::from(heap.kind() == DescriptorKind::Sampler));
            let layout = heap.layout().unwrap();
            (found, Bound { set, layout, offsets: Vec::new() }, index)
        }
        Through::Set { layout, block, set: number, binding, element } => {
            let found = Find { set, kind, binding, index: Index::Known(element) };
            let offsets = offsets(layout, (binding, element), offset);
            let (set, layout) = (Ok(block.set(number).unwrap()), layout.raw());
            (found, Bound { set, layout, offsets }, 0)
        }
    }
}

/// A shader with a binding of a heap with six arrays, after it was renumbered for this heap, and one that was
/// made for this heap.
pub(crate) fn renumbered(
    heap: &DescriptorHeap,
    (kind, binding): (BindingKind, u32),
) -> (Result<Vec<u32>, DeviceError>, Vec<u32>) {
    let shader = |binding| {
        let find = Find { set: LOOK, kind, binding, index: Index::Pushed(0) };
        let texture = Find { set: TEXTURE, kind: BindingKind::Texture, binding: 0, index: Index::Pushed(1) };
        shader::compile(&find, (kind == BindingKind::Sampler).then_some(&texture), Out::Set)
    };
    let mut words = shader(binding);
    let given = heap.renumber(&mut words, LOOK).map(|()| words);
    (given, shader(heap.binding(kind).unwrap()))
}

/// The offsets of all that is dynamic in a set, by binding and element: one, and zeros.
fn offsets(layout: &SetLayout, wanted: (u32, u32), offset: u32) -> Vec<u32> {
    let mut dynamic = layout.bindings().to_vec();
    dynamic.retain(|binding| binding.kind == BindingKind::DynamicConstants);
    dynamic.sort_by_key(|binding| binding.binding);
    let places = dynamic.iter().flat_map(|known| (0..known.count).map(|element| (known.binding, element)));
    places.map(|place| if place == wanted { offset } else { 0 }).collect()
}

impl Probes {
    pub(crate) fn new(device: &Device) -> Self {
        Self { device: device.clone(), made: Vec::new() }
    }

    /// Records a dispatch.
    pub(crate) fn record(&mut self, list: &List, probe: &Probe<'_, Device>) {
        let offset = if let Look::DynamicConstants { offset } = probe.look { offset } else { 0 };
        let (find_look, look, index) = find(&probe.through, (kind_of(&probe.look), offset), LOOK);
        let texture = match &probe.look {
            Look::Sampler { texture } => Some(find(texture, (BindingKind::Texture, 0), TEXTURE)),
            _ => None,
        };
        let in_buffers = look.set.is_err();
        let out = if in_buffers { Out::Address } else { Out::Set };
        let words = shader::compile(&find_look, texture.as_ref().map(|(find, ..)| find), out);
        let beside = texture.as_ref().map(|(_, bound, _)| bound.layout);
        let made = self.make(&words, look.layout, beside, in_buffers);
        let address = if in_buffers { self.device.gpu_address(probe.out).unwrap() + probe.offset } else { 0 };
        let index_of_texture = texture.as_ref().map_or(0, |(.., index)| *index);
        let pushed = [index, index_of_texture, address as u32, (address >> 32) as u32];
        let buffer = list.command_buffer();
        let raw = self.device.raw();
        let point = vk::PipelineBindPoint::COMPUTE;
        let bytes: Vec<u8> = pushed.iter().flat_map(|index| index.to_ne_bytes()).collect();
        // SAFETY: the list is open; everything lives until the device is done with it.
        unsafe {
            raw.cmd_bind_pipeline(buffer, point, made.pipeline);
            let bind = |number, bound: &Bound| match bound.set {
                Ok(set) => {
                    let offsets = &bound.offsets;
                    raw.cmd_bind_descriptor_sets(buffer, point, made.layout, number, &[set], offsets);
                }
                Err(index) => {
                    let functions = self.device.descriptor_buffers().unwrap();
                    let (layout, index) = (made.layout, [index]);
                    functions.cmd_set_descriptor_buffer_offsets(buffer, point, layout, number, &index, &[0]);
                }
            };
            bind(LOOK, &look);
            if !in_buffers {
                let (set, layout) = (Ok(self.out_set(&made, probe)), made.out);
                bind(OUT, &Bound { set, layout, offsets: Vec::new() });
            }
            if let Some((_, bound, _)) = &texture {
                bind(TEXTURE, bound);
            }
            raw.cmd_push_constants(buffer, made.layout, vk::ShaderStageFlags::COMPUTE, 0, &bytes);
            raw.cmd_dispatch(buffer, 1, 1, 1);
        }
        self.made.push(made);
    }

    fn make(
        &self,
        words: &[u32],
        look: vk::DescriptorSetLayout,
        beside: Option<vk::DescriptorSetLayout>,
        in_buffers: bool,
    ) -> Made {
        let raw = self.device.raw();
        let binding = vk::DescriptorSetLayoutBinding::default()
            .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
            .descriptor_count(1)
            .stage_flags(vk::ShaderStageFlags::COMPUTE);
        let bindings = [binding];
        let push = vk::PushConstantRange { stage_flags: vk::ShaderStageFlags::COMPUTE, offset: 0, size: 16 };
        let size = vk::DescriptorPoolSize { ty: vk::DescriptorType::STORAGE_BUFFER, descriptor_count: 1 };
        // SAFETY: all is made here, of live objects of the device.
        unsafe {
            let module = vk::ShaderModuleCreateInfo::default().code(words);
            let module = raw.create_shader_module(&module, None).unwrap();
            // With descriptor buffers it is written by address: the set is there for its number.
            let (of_out, of_layout, of_pipeline) = if in_buffers {
                let layout = vk::DescriptorSetLayoutCreateFlags::DESCRIPTOR_BUFFER_EXT;
                (&[][..], layout, vk::PipelineCreateFlags::DESCRIPTOR_BUFFER_EXT)
            } else {
                (&bindings[..], Default::default(), Default::default())
            };
            let info = vk::DescriptorSetLayoutCreateInfo::default().flags(of_layout).bindings(of_out);
            let out = raw.create_descriptor_set_layout(&info, None).unwrap();
            let info =
                vk::DescriptorPoolCreateInfo::default().max_sets(1).pool_sizes(core::slice::from_ref(&size));
            let pool = raw.create_descriptor_pool(&info, None).unwrap();
            let layouts: Vec<_> = [look, out].into_iter().chain(beside).collect();
            let info = vk::PipelineLayoutCreateInfo::default()
                .set_layouts(&layouts)
                .push_constant_ranges(core::slice::from_ref(&push));
            let layout = raw.create_pipeline_layout(&info, None).unwrap();
            let stage = vk::PipelineShaderStageCreateInfo::default()
                .stage(vk::ShaderStageFlags::COMPUTE)
                .module(module)
                .name(c"main");
            let info =
                vk::ComputePipelineCreateInfo::default().flags(of_pipeline).layout(layout).stage(stage);
            let made = raw.create_compute_pipelines(vk::PipelineCache::null(), &[info], None);
            Made { module, out, pool, layout, pipeline: made.unwrap()[0] }
        }
    }

    fn out_set(&self, made: &Made, probe: &Probe<'_, Device>) -> vk::DescriptorSet {
        let raw = self.device.raw();
        let layouts = [made.out];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(made.pool).set_layouts(&layouts);
        let buffer = probe.out.buffer().unwrap();
        let bytes = [vk::DescriptorBufferInfo { buffer, offset: probe.offset, range: 16 }];
        // SAFETY: the pool is new, and the buffer lives until the dispatch is done.
        unsafe {
            let set = raw.allocate_descriptor_sets(&info).unwrap()[0];
            let write = vk::WriteDescriptorSet::default()
                .dst_set(set)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .buffer_info(&bytes);
            raw.update_descriptor_sets(&[write], &[]);
            set
        }
    }
}

impl Drop for Probes {
    fn drop(&mut self) {
        let raw = self.device.raw();
        for Made { module, out, pool, layout, pipeline } in self.made.drain(..) {
            // SAFETY: the manager has ended, and waited for the device.
            unsafe {
                raw.destroy_pipeline(pipeline, None);
                raw.destroy_pipeline_layout(layout, None);
                raw.destroy_descriptor_pool(pool, None);
                raw.destroy_descriptor_set_layout(out, None);
                raw.destroy_shader_module(module, None);
            }
        }
    }
}
