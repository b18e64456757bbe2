//! The program.

use ash::vk;

use crate::chain::name;

/// The program, as it introduces itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    pub(crate) application: String,
    pub(crate) engine: String,
    /// The version of the API that it asks for; 0 for the first.
    pub(crate) version: u32,
}

impl Program {
    /// # Safety
    ///
    /// As in the API.
    pub(crate) unsafe fn of(info: &vk::InstanceCreateInfo<'_>) -> Self {
        // SAFETY: null, or a structure whose strings are null or strings.
        unsafe {
            info.p_application_info.as_ref().map_or_else(Self::default, |it| Self {
                application: name(it.p_application_name),
                engine: name(it.p_engine_name),
                version: it.api_version,
            })
        }
    }
}
