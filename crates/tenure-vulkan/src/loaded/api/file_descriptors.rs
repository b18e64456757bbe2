//! The functions of what is shared by file descriptors. Unix alone has them.

use ash::vk;

use super::Handles;
use crate::error::CreateError;
use crate::features::OptionalFeatures;

/// The functions of memory shared by file descriptors.
#[derive(Clone, Copy)]
pub(crate) struct MemoryFdCalls {
    pub(crate) get: vk::PFN_vkGetMemoryFdKHR,
    pub(crate) properties: vk::PFN_vkGetMemoryFdPropertiesKHR,
}

/// The functions of semaphores shared by file descriptors.
#[derive(Clone, Copy)]
pub(crate) struct SemaphoreFdCalls {
    pub(crate) get: vk::PFN_vkGetSemaphoreFdKHR,
    pub(crate) import: vk::PFN_vkImportSemaphoreFdKHR,
    pub(crate) signal: vk::PFN_vkSignalSemaphore,
}

/// The functions of what is enabled of sharing by file descriptors.
#[derive(Clone, Copy)]
pub(crate) struct FileDescriptorCalls {
    pub(crate) memory: Option<MemoryFdCalls>,
    pub(crate) semaphores: Option<SemaphoreFdCalls>,
}

impl FileDescriptorCalls {
    pub(super) fn find(handles: &Handles) -> Result<Self, CreateError> {
        let has = |feature| handles.enabled.contains(feature);
        let memory = has(OptionalFeatures::EXTERNAL_MEMORY_FD).then(|| memory_calls(handles));
        let semaphores = has(OptionalFeatures::EXTERNAL_SEMAPHORE_FD).then(|| semaphore_calls(handles));
        Ok(Self { memory: memory.transpose()?, semaphores: semaphores.transpose()? })
    }
}

fn memory_calls(handles: &Handles) -> Result<MemoryFdCalls, CreateError> {
    Ok(MemoryFdCalls {
        get: typed!(handles, vk::PFN_vkGetMemoryFdKHR, c"vkGetMemoryFdKHR", c"vkGetMemoryFdKHR"),
        properties: typed!(
            handles,
            vk::PFN_vkGetMemoryFdPropertiesKHR,
            c"vkGetMemoryFdPropertiesKHR",
            c"vkGetMemoryFdPropertiesKHR"
        ),
    })
}

fn semaphore_calls(handles: &Handles) -> Result<SemaphoreFdCalls, CreateError> {
    Ok(SemaphoreFdCalls {
        get: typed!(handles, vk::PFN_vkGetSemaphoreFdKHR, c"vkGetSemaphoreFdKHR", c"vkGetSemaphoreFdKHR"),
        import: typed!(
            handles,
            vk::PFN_vkImportSemaphoreFdKHR,
            c"vkImportSemaphoreFdKHR",
            c"vkImportSemaphoreFdKHR"
        ),
        signal: typed!(handles, vk::PFN_vkSignalSemaphore, c"vkSignalSemaphore", c"vkSignalSemaphoreKHR"),
    })
}
