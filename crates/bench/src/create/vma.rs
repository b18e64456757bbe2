//! The crate `vk-mem`, used as its manual says: it creates the resource, finds memory and binds it.

use ash::vk;
use vk_mem::{Alloc as _, Allocation, AllocationCreateInfo, Allocator, AllocatorCreateInfo, MemoryUsage};

use super::raw::{Handle, buffer_info, image_info};
use super::{Round, Subject, Way, fill};
use crate::timing::time;

pub(super) struct Vma {
    allocator: Allocator,
    subject: Subject,
    /// Keeps the blocks of the allocator alive during the measurement.
    kept: Vec<(Handle, Allocation)>,
    /// Empty between rounds; the vector is kept so that its allocation is not measured.
    made: Vec<(Handle, Allocation)>,
}

impl Vma {
    pub(super) fn new(device: &tenure_vulkan::Device, subject: Subject) -> Result<Self, String> {
        let mut info = AllocatorCreateInfo::new(device.instance(), device.raw(), device.physical_device());
        info.vulkan_api_version = vk::API_VERSION_1_1;
        // SAFETY: the caller keeps the device for longer, which has at least this version.
        let allocator = unsafe { Allocator::new(info) }.map_err(|error| error.to_string())?;
        Ok(Self { allocator, subject, kept: Vec::new(), made: Vec::new() })
    }

    fn create(&self) -> Result<(Handle, Allocation), vk::Result> {
        let info = AllocationCreateInfo { usage: MemoryUsage::Auto, ..AllocationCreateInfo::default() };
        // SAFETY: the device is alive, and the descriptions are valid.
        unsafe {
            match self.subject {
                Subject::Buffer(size) => {
                    let (buffer, allocation) = self.allocator.create_buffer(&buffer_info(size), &info)?;
                    Ok((Handle::Buffer(buffer), allocation))
                }
                Subject::Texture(side) => {
                    let (image, allocation) = self.allocator.create_image(&image_info(side), &info)?;
                    Ok((Handle::Image(image), allocation))
                }
            }
        }
    }

    fn destroy(&self, (handle, mut allocation): (Handle, Allocation)) {
        // SAFETY: nothing was ever submitted that uses it, and it is destroyed once, because it is moved.
        unsafe {
            match handle {
                Handle::Buffer(buffer) => self.allocator.destroy_buffer(buffer, &mut allocation),
                Handle::Image(image) => self.allocator.destroy_image(image, &mut allocation),
            }
        }
    }
}

impl Way for Vma {
    fn round(&mut self, count: u32) -> Result<Round, String> {
        if self.kept.is_empty() {
            let mut kept = Vec::new();
            fill(&mut kept, count, |_| self.create()).map_err(|error| error.to_string())?;
            self.kept = kept;
        }
        let mut made = std::mem::take(&mut self.made);
        let create = fill(&mut made, count, |_| self.create());
        let create = create.map_err(|error| error.to_string())?;
        let drop = time(|| made.drain(..).for_each(|one| self.destroy(one)));
        self.made = made;
        Ok(Round { create, drop, ..Round::default() })
    }
}

impl Drop for Vma {
    fn drop(&mut self) {
        std::mem::take(&mut self.kept).into_iter().for_each(|one| self.destroy(one));
    }
}
