//! What resources need of memory.

use ash::vk;
use tenure_core::device::{Allowed, DeviceError, Requirements, ResourceDesc, Usage};

use super::Resources;
use super::object::{Object, Plan};
use crate::features::OptionalFeatures;

/// What the driver says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    pub(crate) memory: vk::MemoryRequirements,
    pub(crate) prefers_dedicated: bool,
    pub(crate) requires_dedicated: bool,
}

impl Needs {
    fn new(memory: vk::MemoryRequirements, dedicated: &vk::MemoryDedicatedRequirements<'_>) -> Self {
        let on = |flag: vk::Bool32| flag == vk::TRUE;
        Self {
            memory,
            prefers_dedicated: on(dedicated.prefers_dedicated_allocation),
            requires_dedicated: on(dedicated.requires_dedicated_allocation),
        }
    }
}

impl Resources {
    pub(crate) fn requirements(&self, desc: &ResourceDesc) -> Result<Requirements, DeviceError> {
        self.alive()?;
        let needs = match desc {
            ResourceDesc::Buffer(_) => self.needs_of_plan(&self.plan(desc)?)?,
            ResourceDesc::Texture(info) => self.known_image(info, |known| known.needs)?,
        };
        self.contract(desc, needs)
    }

    /// Asks without an object where the device can, else of one that is destroyed again.
    pub(crate) fn needs_of_plan(&self, plan: &Plan<'_>) -> Result<Needs, DeviceError> {
        let Some(calls) = self.api.requirements else {
            return Ok(self.needs_of(self.create(plan)?.object));
        };
        let device = self.api.handle();
        let mut dedicated = vk::MemoryDedicatedRequirements::default();
        let mut found = vk::MemoryRequirements2::default().push_next(&mut dedicated);
        match plan {
            Plan::Buffer { size, usage, flags, external } => {
                self.with_buffer_info(*size, *usage, *flags, *external, |info| {
                    let info = vk::DeviceBufferMemoryRequirements::default().create_info(info);
                    // SAFETY: `info` describes a buffer that could be created.
                    unsafe { (calls.buffer)(device, &raw const info, &raw mut found) };
                });
            }
            Plan::Image { info, plan } => self.with_image_info(info, plan, |info| {
                let info = vk::DeviceImageMemoryRequirements::default().create_info(info);
                // SAFETY: `info` describes an image that could be created.
                unsafe { (calls.image)(device, &raw const info, &raw mut found) };
            }),
        }
        let memory = found.memory_requirements;
        Ok(Needs::new(memory, &dedicated))
    }

    /// Asks an object.
    pub(crate) fn needs_of(&self, object: Object) -> Needs {
        let device = &self.api.device;
        let mut dedicated = vk::MemoryDedicatedRequirements::default();
        let mut found = vk::MemoryRequirements2::default().push_next(&mut dedicated);
        match object {
            Object::Buffer(buffer) => {
                let info = vk::BufferMemoryRequirementsInfo2::default().buffer(buffer);
                // SAFETY: the buffer is alive.
                unsafe { device.get_buffer_memory_requirements2(&info, &mut found) };
            }
            Object::Image(image) => {
                let info = vk::ImageMemoryRequirementsInfo2::default().image(image);
                // SAFETY: the image is alive.
                unsafe { device.get_image_memory_requirements2(&info, &mut found) };
            }
        }
        let memory = found.memory_requirements;
        Needs::new(memory, &dedicated)
    }

    /// What the driver says, in the contract's words: padded to `bufferImageGranularity` where
    /// heaps are for everything.
    pub(crate) fn contract(&self, desc: &ResourceDesc, needs: Needs) -> Result<Requirements, DeviceError> {
        let Needs { memory, prefers_dedicated, requires_dedicated } = needs;
        let alignment = memory.alignment.max(self.tables.padding).max(1);
        // The largest alignments are no granularity.
        let rounded = memory.size.checked_next_multiple_of(alignment.min(64 << 10));
        let uses = self.api.uses(OptionalFeatures::DEDICATED_ALLOCATION);
        // What others see of it is all of an allocation.
        let requires_dedicated = requires_dedicated || desc.usage().contains(Usage::SHARED);
        Ok(Requirements {
            size: rounded.ok_or_else(|| {
                DeviceError::invalid_desc("size", memory.size, Allowed::Rule("less than 2^64 when aligned"))
            })?,
            alignment,
            memory_types: memory.memory_type_bits & self.tables.general_types,
            category: self.memory.category(desc),
            prefers_dedicated: requires_dedicated || (uses && prefers_dedicated),
            requires_dedicated,
        })
    }
}
