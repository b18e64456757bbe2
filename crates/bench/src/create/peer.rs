//! The crate `gpu-allocator`, used as its manual says: an API resource each, placed by it.

use ash::vk;
use original::MemoryLocation;
use original::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc};

use super::raw::{Handle, buffer_info, image_info};
use super::{Subject, Way};

pub(super) struct Peer<'a> {
    allocator: Allocator,
    device: &'a ash::Device,
    subject: Subject,
}

impl<'a> Peer<'a> {
    pub(super) fn new(device: &'a tenure_vulkan::Device, subject: Subject) -> Result<Self, String> {
        let desc = AllocatorCreateDesc {
            instance: device.instance().clone(),
            device: device.raw().clone(),
            physical_device: device.physical_device(),
            debug_settings: original::AllocatorDebugSettings::default(),
            buffer_device_address: false,
            allocation_sizes: original::AllocationSizes::default(),
        };
        let allocator = Allocator::new(&desc).map_err(|error| error.to_string())?;
        Ok(Self { allocator, device: device.raw(), subject })
    }

    fn handle(&self) -> Result<(Handle, vk::MemoryRequirements), vk::Result> {
        match self.subject {
            Subject::Buffer(size) => {
                // SAFETY: the device is alive, and the description is valid.
                unsafe {
                    let buffer = self.device.create_buffer(&buffer_info(size), None)?;
                    Ok((Handle::Buffer(buffer), self.device.get_buffer_memory_requirements(buffer)))
                }
            }
            Subject::Texture(side) => {
                // SAFETY: as above.
                unsafe {
                    let image = self.device.create_image(&image_info(side), None)?;
                    Ok((Handle::Image(image), self.device.get_image_memory_requirements(image)))
                }
            }
        }
    }
}

impl Way for Peer<'_> {
    type Made = (Handle, Allocation);

    fn create(&mut self, _: u32) -> Result<Self::Made, String> {
        let (handle, requirements) = self.handle().map_err(|error| error.to_string())?;
        let desc = AllocationCreateDesc {
            name: "thing",
            requirements,
            location: MemoryLocation::GpuOnly,
            linear: matches!(handle, Handle::Buffer(_)),
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        };
        let allocation = self.allocator.allocate(&desc).map_err(|error| error.to_string())?;
        // SAFETY: the memory was found by what the resource requires, and is bound once.
        let bound = unsafe {
            match handle {
                Handle::Buffer(buffer) => {
                    self.device.bind_buffer_memory(buffer, allocation.memory(), allocation.offset())
                }
                Handle::Image(image) => {
                    self.device.bind_image_memory(image, allocation.memory(), allocation.offset())
                }
            }
        };
        bound.map_err(|error| error.to_string())?;
        Ok((handle, allocation))
    }

    fn drop_all(&mut self, made: &mut Vec<Self::Made>) -> Result<(), String> {
        made.drain(..).try_for_each(|(handle, allocation)| {
            // SAFETY: nothing was ever submitted that uses it.
            unsafe {
                match handle {
                    Handle::Buffer(buffer) => self.device.destroy_buffer(buffer, None),
                    Handle::Image(image) => self.device.destroy_image(image, None),
                }
            }
            self.allocator.free(allocation).map_err(|error| error.to_string())
        })
    }
}
