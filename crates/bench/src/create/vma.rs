//! The crate `vk-mem`, used as its manual says: it creates the resource, finds memory and binds it.

use ash::vk;
use vk_mem::{Alloc as _, Allocation, AllocationCreateInfo, Allocator, AllocatorCreateInfo, MemoryUsage};

use super::raw::{Handle, buffer_info, image_info};
use super::{Subject, Way};

pub(super) struct Vma {
    allocator: Allocator,
    subject: Subject,
}

impl Vma {
    pub(super) fn new(device: &tenure_vulkan::Device, subject: Subject) -> Result<Self, String> {
        let mut info = AllocatorCreateInfo::new(device.instance(), device.raw(), device.physical_device());
        info.vulkan_api_version = vk::API_VERSION_1_1;
        // SAFETY: the caller keeps the device for longer, which has at least this version.
        let allocator = unsafe { Allocator::new(info) }.map_err(|error| error.to_string())?;
        Ok(Self { allocator, subject })
    }
}

impl Way for Vma {
    type Made = (Handle, Allocation);

    fn create(&mut self, _: u32) -> Result<Self::Made, String> {
        let info = AllocationCreateInfo { usage: MemoryUsage::Auto, ..AllocationCreateInfo::default() };
        // SAFETY: the device is alive, and the descriptions are valid.
        let made = unsafe {
            match self.subject {
                Subject::Buffer(size) => self
                    .allocator
                    .create_buffer(&buffer_info(size), &info)
                    .map(|(buffer, allocation)| (Handle::Buffer(buffer), allocation)),
                Subject::Texture(side) => self
                    .allocator
                    .create_image(&image_info(side), &info)
                    .map(|(image, allocation)| (Handle::Image(image), allocation)),
            }
        };
        made.map_err(|error| error.to_string())
    }

    fn drop_all(&mut self, made: &mut Vec<Self::Made>) -> Result<(), String> {
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
