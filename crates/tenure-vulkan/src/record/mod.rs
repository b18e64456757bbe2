//! Recording: lists, barriers, copies.

mod aliasing;
mod barrier;
mod copies;
mod list;
mod stages;
mod transition;

pub(crate) use copies::{check_usage, image_copy};
pub use list::List;
pub(crate) use stages::{PRESENT_STAGES, QueueStages, ShaderStages, image_layout};
pub use stages::{StateUse, vk_stage_access_layout};
