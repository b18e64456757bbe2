//! The shader's inputs besides vertices: the constants, the texture and its sampler.

use tenure::vulkan::ash::vk;
use tenure::vulkan::{Device, Owned};
use tenure::{Buffer, Texture};
use voxel_world::{CONSTANTS_SIZE, LOD_BIAS, Result};

use crate::target::view;

const CONSTANTS: u32 = 0;
const TILES: u32 = 1;
const SAMPLER: u32 = 2;

/// A descriptor set for each frame in flight, and their objects.
pub(crate) struct Bindings {
    sets: Vec<vk::DescriptorSet>,
    _pool: Owned<vk::DescriptorPool>,
    pub(crate) layout: Owned<vk::DescriptorSetLayout>,
    _tiles: Owned<vk::ImageView>,
    _sampler: Owned<vk::Sampler>,
    device: Device,
}

impl Bindings {
    pub(crate) fn new(device: &Device, tiles: &Texture<Device>, frames_in_flight: u32) -> Result<Self> {
        let sampler = sampler(device)?;
        let layout = layout(device, *sampler)?;
        let pool = pool(device, frames_in_flight)?;
        let layouts = vec![*layout; frames_in_flight as usize];
        let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(*pool).set_layouts(&layouts);
        // SAFETY: the pool and the layout are alive, and the pool has room for just these sets.
        let sets = unsafe { device.raw().allocate_descriptor_sets(&info) }?;
        let tiles = view(device, tiles, vk::ImageViewType::TYPE_2D_ARRAY, vk::ImageAspectFlags::COLOR)?;
        let image = [vk::DescriptorImageInfo::default()
            .image_view(*tiles)
            .image_layout(vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL)];
        for set in &sets {
            let write = vk::WriteDescriptorSet::default()
                .dst_set(*set)
                .dst_binding(TILES)
                .descriptor_type(vk::DescriptorType::SAMPLED_IMAGE)
                .image_info(&image);
            // SAFETY: the set is new, and the view lives as long as the set.
            unsafe { device.raw().update_descriptor_sets(&[write], &[]) };
        }
        let device = device.clone();
        Ok(Self { sets, _pool: pool, layout, _tiles: tiles, _sampler: sampler, device })
    }

    /// The set of a frame, with the constants of that frame.
    pub(crate) fn set(&self, slot: usize, constants: &Buffer<Device>) -> Result<vk::DescriptorSet> {
        let set = *self.sets.get(slot).ok_or("there is a set for each frame in flight")?;
        let buffer = [vk::DescriptorBufferInfo {
            buffer: constants.raw().buffer().ok_or("constants are in a buffer")?,
            offset: constants.offset(),
            range: CONSTANTS_SIZE,
        }];
        let write = vk::WriteDescriptorSet::default()
            .dst_set(set)
            .dst_binding(CONSTANTS)
            .descriptor_type(vk::DescriptorType::UNIFORM_BUFFER)
            .buffer_info(&buffer);
        // SAFETY: the frame that used the set before is complete, or this one had not begun; the buffer
        // is alive, and stays so until this frame is complete because it is used in it.
        unsafe { self.device.raw().update_descriptor_sets(&[write], &[]) };
        Ok(set)
    }
}

fn sampler(device: &Device) -> Result<Owned<vk::Sampler>> {
    let info = vk::SamplerCreateInfo::default()
        .mag_filter(vk::Filter::LINEAR)
        .min_filter(vk::Filter::LINEAR)
        .mipmap_mode(vk::SamplerMipmapMode::LINEAR)
        .address_mode_u(vk::SamplerAddressMode::REPEAT)
        .address_mode_v(vk::SamplerAddressMode::REPEAT)
        .address_mode_w(vk::SamplerAddressMode::REPEAT)
        .mip_lod_bias(LOD_BIAS)
        .max_lod(vk::LOD_CLAMP_NONE);
    // SAFETY: Vulkan promises biases up to 2, and the rest needs no feature.
    unsafe {
        let sampler = device.raw().create_sampler(&info, None);
        Ok(device.own(sampler?))
    }
}

fn layout(device: &Device, sampler: vk::Sampler) -> Result<Owned<vk::DescriptorSetLayout>> {
    let samplers = [sampler];
    let binding = |binding, kind, stages| {
        vk::DescriptorSetLayoutBinding::default()
            .binding(binding)
            .descriptor_type(kind)
            .descriptor_count(1)
            .stage_flags(stages)
    };
    let both = vk::ShaderStageFlags::VERTEX | vk::ShaderStageFlags::FRAGMENT;
    let bindings = [
        binding(CONSTANTS, vk::DescriptorType::UNIFORM_BUFFER, both),
        binding(TILES, vk::DescriptorType::SAMPLED_IMAGE, vk::ShaderStageFlags::FRAGMENT),
        binding(SAMPLER, vk::DescriptorType::SAMPLER, vk::ShaderStageFlags::FRAGMENT)
            .immutable_samplers(&samplers),
    ];
    let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
    // SAFETY: the sampler is alive, and outlives the layout.
    unsafe {
        let layout = device.raw().create_descriptor_set_layout(&info, None);
        Ok(device.own(layout?))
    }
}

fn pool(device: &Device, sets: u32) -> Result<Owned<vk::DescriptorPool>> {
    let size = |ty| vk::DescriptorPoolSize { ty, descriptor_count: sets };
    let sizes = [
        size(vk::DescriptorType::UNIFORM_BUFFER),
        size(vk::DescriptorType::SAMPLED_IMAGE),
        size(vk::DescriptorType::SAMPLER),
    ];
    let info = vk::DescriptorPoolCreateInfo::default().max_sets(sets).pool_sizes(&sizes);
    // SAFETY: refers to locals that outlive the call.
    unsafe {
        let pool = device.raw().create_descriptor_pool(&info, None);
        Ok(device.own(pool?))
    }
}
