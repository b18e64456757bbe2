//! The crate `gpu-allocator`, used as its manual says: an API resource each, placed by it.

use ash::vk;
use original::MemoryLocation;
use original::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc};

use super::raw::{Handle, buffer_info, image_info};
use super::{Round, Subject, Way, fill};
use crate::timing::time;

pub(super) struct Peer<'a> {
    /// `None` once it is being dropped.
    allocator: Option<Allocator>,
    device: &'a ash::Device,
    subject: Subject,
    /// Keeps the blocks of the allocator alive during the measurement.
    kept: Vec<(Handle, Allocation)>,
    /// Empty between rounds; the vector is kept so that its allocation is not measured.
    made: Vec<(Handle, Allocation)>,
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
        Ok(Self {
            allocator: Some(allocator),
            device: device.raw(),
            subject,
            kept: Vec::new(),
            made: Vec::new(),
        })
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

    fn create(&mut self) -> Result<(Handle, Allocation), String> {
        let (handle, requirements) = self.handle().map_err(|error| error.to_string())?;
        let allocator = self.allocator.as_mut().ok_or("the allocator is gone")?;
        let desc = AllocationCreateDesc {
            name: "thing",
            requirements,
            location: MemoryLocation::GpuOnly,
            linear: matches!(handle, Handle::Buffer(_)),
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        };
        let allocation = allocator.allocate(&desc).map_err(|error| error.to_string())?;
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

    fn destroy(&mut self, (handle, allocation): (Handle, Allocation)) -> Result<(), String> {
        // SAFETY: nothing was ever submitted that uses it.
        unsafe {
            match handle {
                Handle::Buffer(buffer) => self.device.destroy_buffer(buffer, None),
                Handle::Image(image) => self.device.destroy_image(image, None),
            }
        }
        let allocator = self.allocator.as_mut().ok_or("the allocator is gone")?;
        allocator.free(allocation).map_err(|error| error.to_string())
    }
}

impl Way for Peer<'_> {
    fn round(&mut self, count: u32) -> Result<Round, String> {
        if self.kept.is_empty() {
            let mut kept = Vec::new();
            fill(&mut kept, count, |_| self.create())?;
            self.kept = kept;
        }
        let mut made = std::mem::take(&mut self.made);
        let create = fill(&mut made, count, |_| self.create())?;
        let mut destroyed = Ok(());
        let drop = time(|| destroyed = made.drain(..).try_for_each(|one| self.destroy(one)));
        destroyed?;
        self.made = made;
        Ok(Round { create, drop, ..Round::default() })
    }
}

impl Drop for Peer<'_> {
    fn drop(&mut self) {
        for one in std::mem::take(&mut self.kept) {
            if let Err(error) = self.destroy(one) {
                eprintln!("gpu-allocator refused a free: {error}");
            }
        }
    }
}
