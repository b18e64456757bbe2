//! Mapped memory for transfers in both directions: pages, frames of upload rings, and the layout of texels in staging memory.

mod build_pages;
mod page;
mod page_pool;
mod ring_frames;
mod shared_pages;
mod texel_data;
mod texel_pieces;

pub use build_pages::BuildScratch;
pub(crate) use build_pages::{BuildPages, BuildScratchPool};
pub(crate) use page::{Page, Pages, Uses};
pub(crate) use page_pool::PagePool;
pub use ring_frames::RingStats;
pub(crate) use ring_frames::{Oldest, RingFrames, Rings};
pub(crate) use shared_pages::{FIRST_PAGE, Part, Purpose, SharedPages};
pub(crate) use texel_data::Footprint;
pub use texel_data::TexelData;
pub(crate) use texel_pieces::{TexelPiece, TexelPieces};
