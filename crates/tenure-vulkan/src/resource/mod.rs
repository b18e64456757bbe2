//! Buffers and textures: made by tenure, and by others.

mod adopt;
mod external;
mod handle;
mod host_copy;
mod image;
mod make;
mod object;

pub use adopt::{Ownership, RawBuffer, RawImage, RawMemory};
pub(crate) use external::{HandleTypes, Handles};
pub use handle::Resource;
pub(crate) use handle::{Backing, VkUsage};
pub(crate) use host_copy::host_copy_states;
pub(crate) use image::{ImagePlan, ImageSupport, KnownImage, SPARSE_IMAGE};
pub(crate) use object::{Object, Plan, SPARSE_BUFFER};
