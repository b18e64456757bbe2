//! The crates `gpu-allocator` and `vk-mem`, used as documented: one API resource for each request, placed by
//! the allocator.

use ash::vk;
use original::MemoryLocation;
use original::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc};
#[cfg(not(windows))]
use vk_mem::Alloc as _;

use super::{BYTES, SIDE, Subject, Way};
use crate::Result;

/// An API resource.
#[derive(Clone, Copy)]
pub(super) enum Handle {
    Buffer(vk::Buffer),
    Image(vk::Image),
}

fn buffer_info() -> vk::BufferCreateInfo<'static> {
    let usage = vk::BufferUsageFlags::VERTEX_BUFFER
        | vk::BufferUsageFlags::INDEX_BUFFER
        | vk::BufferUsageFlags::TRANSFER_DST;
    vk::BufferCreateInfo::default().size(BYTES).usage(usage)
}

fn image_info() -> vk::ImageCreateInfo<'static> {
    vk::ImageCreateInfo::default()
        .image_type(vk::ImageType::TYPE_2D)
        .format(vk::Format::R8G8B8A8_UNORM)
        .extent(vk::Extent3D { width: SIDE, height: SIDE, depth: 1 })
        .mip_levels(1)
        .array_layers(1)
        .samples(vk::SampleCountFlags::TYPE_1)
        .usage(vk::ImageUsageFlags::SAMPLED | vk::ImageUsageFlags::TRANSFER_DST)
}

pub(super) struct GpuAllocator<'a> {
    allocator: Allocator,
    device: &'a ash::Device,
    subject: Subject,
}

impl<'a> GpuAllocator<'a> {
    pub(super) fn new(device: &'a tenure_vulkan::Device, subject: Subject) -> Result<Self> {
        let desc = AllocatorCreateDesc {
            instance: device.instance().clone(),
            device: device.raw().clone(),
            physical_device: device.physical_device(),
            debug_settings: original::AllocatorDebugSettings::default(),
            buffer_device_address: false,
            allocation_sizes: original::AllocationSizes::default(),
        };
        Ok(Self { allocator: Allocator::new(&desc)?, device: device.raw(), subject })
    }
}

impl Way for GpuAllocator<'_> {
    type Made = (Handle, Allocation);

    fn create(&mut self, _: u32) -> Result<Self::Made> {
        // SAFETY: the device is alive, and the descriptions are valid.
        let (handle, requirements) = unsafe {
            match self.subject {
                Subject::Buffer => {
                    let buffer = self.device.create_buffer(&buffer_info(), None)?;
                    (Handle::Buffer(buffer), self.device.get_buffer_memory_requirements(buffer))
                }
                Subject::Texture => {
                    let image = self.device.create_image(&image_info(), None)?;
                    (Handle::Image(image), self.device.get_image_memory_requirements(image))
                }
            }
        };
        let found = self.allocator.allocate(&AllocationCreateDesc {
            name: "thing",
            requirements,
            location: MemoryLocation::GpuOnly,
            linear: matches!(handle, Handle::Buffer(_)),
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        })?;
        // SAFETY: the memory was chosen by the resource's requirements, and is bound once.
        unsafe {
            match handle {
                Handle::Buffer(it) => self.device.bind_buffer_memory(it, found.memory(), found.offset()),
                Handle::Image(it) => self.device.bind_image_memory(it, found.memory(), found.offset()),
            }
        }?;
        Ok((handle, found))
    }

    fn drop_all(&mut self, made: &mut Vec<Self::Made>) -> Result {
        made.drain(..).try_for_each(|(handle, allocation)| {
            // SAFETY: nothing was ever submitted that uses it.
            unsafe {
                match handle {
                    Handle::Buffer(buffer) => self.device.destroy_buffer(buffer, None),
                    Handle::Image(image) => self.device.destroy_image(image, None),
                }
            }
            Ok(self.allocator.free(allocation)?)
        })
    }
}

#[cfg(not(windows))]
pub(super) struct Vma {
    allocator: vk_mem::Allocator,
    subject: Subject,
}

#[cfg(not(windows))]
impl Vma {
    pub(super) fn new(device: &tenure_vulkan::Device, subject: Subject) -> Result<Self> {
        let (instance, physical) = (device.instance(), device.physical_device());
        let mut info = vk_mem::AllocatorCreateInfo::new(instance, device.raw(), physical);
        info.vulkan_api_version = vk::API_VERSION_1_1;
        // SAFETY: the caller keeps the device for longer, which has at least this version.
        Ok(Self { allocator: unsafe { vk_mem::Allocator::new(info) }?, subject })
    }
}

#[cfg(not(windows))]
impl Way for Vma {
    type Made = (Handle, vk_mem::Allocation);

    fn create(&mut self, _: u32) -> Result<Self::Made> {
        let usage = vk_mem::MemoryUsage::Auto;
        let info = vk_mem::AllocationCreateInfo { usage, ..Default::default() };
        // SAFETY: the device is alive, and the descriptions are valid.
        Ok(unsafe {
            match self.subject {
                Subject::Buffer => {
                    let (buffer, allocation) = self.allocator.create_buffer(&buffer_info(), &info)?;
                    (Handle::Buffer(buffer), allocation)
                }
                Subject::Texture => {
                    let (image, allocation) = self.allocator.create_image(&image_info(), &info)?;
                    (Handle::Image(image), allocation)
                }
            }
        })
    }

    fn drop_all(&mut self, made: &mut Vec<Self::Made>) -> Result {
        for (handle, mut allocation) in made.drain(..) {
            // SAFETY: nothing was ever submitted that uses it, and it is destroyed once, because it is moved.
            unsafe {
                match handle {
                    Handle::Buffer(buffer) => self.allocator.destroy_buffer(buffer, &mut allocation),
                    Handle::Image(image) => self.allocator.destroy_image(image, &mut allocation),
                }
            }
        }
        Ok(())
    }
}
