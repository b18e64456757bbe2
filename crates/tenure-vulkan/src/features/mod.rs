//! Versions of Vulkan, and what a device may have or lack.

mod optional;
mod portability;
mod version;

pub use optional::OptionalFeatures;
pub(crate) use portability::Portability;
pub use version::ApiVersion;
