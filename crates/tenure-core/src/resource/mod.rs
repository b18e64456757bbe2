//! Handles: buffers, textures, acceleration structures, and deferred objects of the program.

mod adopt;
mod buffer;
mod buffer_desc;
mod buffer_place;
mod constant;
mod deferred;
mod handle;
mod read_only;
mod structure;
mod subresources;
mod texture;
mod tracked;
mod view_guard;

pub use adopt::Rejected;
pub use buffer::Buffer;
pub use buffer_desc::BufferDesc;
pub(crate) use buffer_place::{buffer_alignment, place_page, placed_needs};
pub use constant::{BufferSlice, Constant};
pub use deferred::{Deferred, NotReleased};
pub(crate) use handle::{HandleInner, Labels, PlaceRef};
pub(crate) use read_only::refuse_read_only;
pub use structure::{AccelerationStructure, AccelerationStructureDesc};
pub use subresources::Subresources;
pub(crate) use subresources::indices;
pub use texture::{ReadbackTexture, SubresourceLayout, Texture, TextureDesc};
pub(crate) use tracked::Tracked;
pub use tracked::Used;
pub(crate) use view_guard::ViewGuard;
