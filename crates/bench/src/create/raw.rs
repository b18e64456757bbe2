//! The Vulkan descriptions of the created resources, for peers that call Vulkan directly.

use ash::vk;

/// An API resource.
#[derive(Clone, Copy)]
pub(super) enum Handle {
    Buffer(vk::Buffer),
    Image(vk::Image),
}

pub(super) fn buffer_info(size: u64) -> vk::BufferCreateInfo<'static> {
    let usage = vk::BufferUsageFlags::VERTEX_BUFFER
        | vk::BufferUsageFlags::INDEX_BUFFER
        | vk::BufferUsageFlags::TRANSFER_DST;
    vk::BufferCreateInfo::default().size(size).usage(usage)
}

pub(super) fn image_info(side: u32) -> vk::ImageCreateInfo<'static> {
    vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(vk::Format::R8G8B8A8_UNORM)
        .extent(vk::Extent3D { width: side, height: side, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST)
}
