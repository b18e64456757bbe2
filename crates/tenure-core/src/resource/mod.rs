//! Handles: buffers, textures, reserved resources, and whatever else must outlive the GPU's use.

mod adopt;
mod buffer;
mod deferred;
mod held;
mod keeper;
pub(crate) mod native;
mod pages;
mod reserved;
mod texture;
mod tile_map;
mod tracked;

pub use adopt::Rejected;
pub use buffer::{Buffer, BufferDesc};
pub use deferred::Deferred;
pub(crate) use held::Held;
pub(crate) use keeper::Keeper;
pub use pages::{PageAllocator, PageStats};
pub use reserved::{Reserved, ReservedDesc, TileQueue};
pub use texture::{ReadbackTexture, SubresourceLayout, Texture, TextureDesc};
pub(crate) use tracked::Tracked;
pub use tracked::Used;
