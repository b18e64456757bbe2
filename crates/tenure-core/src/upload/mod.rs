//! What a frame sends to the GPU and what comes back: constants, rings, readbacks, and the pages of
//! mapped memory behind them (spec U2, U3, U5).

mod constant;
mod page;
mod page_pool;
mod pages;
mod readback;
mod readbacks;
mod ring;
mod ring_frames;
mod scratch;
mod shared_pages;
mod shelf;
mod slice;
mod texel_data;
mod ticket;

pub use constant::{Constant, UntypedConstant};
pub(crate) use page::Page;
pub(crate) use page_pool::PagePool;
pub(crate) use pages::Pages;
pub use readback::Readback;
pub(crate) use readback::Rows;
pub(crate) use readbacks::Readbacks;
pub(crate) use ring::Rings;
pub use ring::{UploadRing, UploadRingDesc, WhenTooLarge};
pub use ring_frames::RingStats;
pub use scratch::Scratch;
pub(crate) use shared_pages::{Part, Purpose, SharedPages};
pub use slice::RingSlice;
pub(crate) use texel_data::Footprint;
pub use texel_data::TexelData;
pub(crate) use ticket::{Progress, Ticket};
