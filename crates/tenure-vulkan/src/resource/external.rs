//! By which handles the memory of a resource can be shared.

use ash::vk;
use tenure_core::device::{DeviceError, Usage};

use super::Resources;
use crate::error::unsupported;
use crate::features::OptionalFeatures;
use crate::memory::HandleTypes;

/// What is to be done with the memory of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handles {
    /// It is nobody else's.
    None,
    /// It is exported, by whatever handles that is possible.
    Exported,
    /// It is imported, by a handle of this type.
    Imported(HandleTypes),
}

impl Handles {
    pub(crate) const fn of(usage: Usage) -> Self {
        if usage.contains(Usage::SHARED) { Self::Exported } else { Self::None }
    }
}

impl Resources {
    /// Peers of other drivers take a resource from a queue family of their own.
    pub(crate) fn check_peers(&self, usage: Usage) -> Result<(), DeviceError> {
        let has_family = self.api.uses(OptionalFeatures::QUEUE_FAMILY_FOREIGN);
        match usage.contains(Usage::SHARED_ACROSS_DRIVERS) && !has_family {
            true => Err(unsupported("memory shared across drivers (VK_EXT_queue_family_foreign)")),
            false => Ok(()),
        }
    }

    /// The types of handles by which the memory of a buffer is shared.
    pub(super) fn handles_of_buffer(
        &self,
        handles: Handles,
        usage: vk::BufferUsageFlags,
        flags: vk::BufferCreateFlags,
    ) -> Result<HandleTypes, DeviceError> {
        self.handles(handles, |handle| {
            let info =
                vk::PhysicalDeviceExternalBufferInfo::default().usage(usage).flags(flags).handle_type(handle);
            let mut found = vk::ExternalBufferProperties::default();
            let (instance, physical) = (&self.api.instance, self.api.physical);
            // SAFETY: the physical device is one of the instance's, the version at least 1.1.
            unsafe { instance.get_physical_device_external_buffer_properties(physical, &info, &mut found) };
            Ok(found.external_memory_properties)
        })
    }

    /// The types of handles for a resource, by what the driver says of one type.
    pub(super) fn handles(
        &self,
        handles: Handles,
        ask: impl Fn(HandleTypes) -> Result<vk::ExternalMemoryProperties, DeviceError>,
    ) -> Result<HandleTypes, DeviceError> {
        use vk::ExternalMemoryFeatureFlags as Can;
        match handles {
            Handles::None => Ok(HandleTypes::empty()),
            Handles::Imported(handle) => {
                match ask(handle)?.external_memory_features.contains(Can::IMPORTABLE) {
                    true => Ok(handle),
                    false => {
                        Err(unsupported("importing the memory of such a resource by this kind of handle"))
                    }
                }
            }
            Handles::Exported => {
                if !self.api.uses(OptionalFeatures::EXTERNAL_MEMORY_FD) {
                    return Err(unsupported("shared memory (VK_KHR_external_memory_fd)"));
                }
                let mut types = HandleTypes::empty();
                for handle in self.exported_types() {
                    let found = ask(handle)?;
                    let is_exported = found.external_memory_features.contains(Can::EXPORTABLE);
                    if is_exported && found.compatible_handle_types.contains(types) {
                        types |= handle;
                    }
                }
                match types.is_empty() {
                    true => Err(unsupported("exporting the memory of such a resource")),
                    false => Ok(types),
                }
            }
        }
    }

    /// The types to try, the most useful first.
    fn exported_types(&self) -> impl Iterator<Item = HandleTypes> {
        let has_dma_buf = self.api.uses(OptionalFeatures::EXTERNAL_MEMORY_DMA_BUF);
        let dma_buf = has_dma_buf.then_some(HandleTypes::DMA_BUF_EXT);
        [HandleTypes::OPAQUE_FD].into_iter().chain(dma_buf)
    }
}
