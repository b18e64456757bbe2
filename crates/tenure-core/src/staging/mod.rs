//! What a frame sends to the GPU and what comes back: constants, rings, readbacks, and the pages of
//! mapped memory behind them.

mod build_scratch;
mod descriptors;
mod page;
mod page_pool;
mod places;
mod readback;
mod ring;
mod ring_frames;
mod scratch;
mod shared_pages;
mod slice;
mod texel_data;
mod texel_pieces;

use std::sync::Arc;

use crate::context::Context;
use crate::descriptor::DescriptorService;
use crate::device::Device;

pub use build_scratch::BuildScratch;
pub(crate) use build_scratch::{BuildPages, BuildScratchPool};
pub(crate) use page::{Page, Pages, Uses};
pub(crate) use page_pool::PagePool;
pub use readback::Readback;
pub(crate) use readback::{Readbacks, Rows};
pub(crate) use ring::Rings;
pub use ring::{UploadRing, UploadRingDesc, WhenTooLarge};
pub use ring_frames::RingStats;
pub use scratch::Scratch;
pub(crate) use shared_pages::{FIRST_PAGE, Part, Purpose, SharedPages};
pub use slice::{RingSlice, UntypedConstant};
pub(crate) use texel_data::Footprint;
pub use texel_data::TexelData;
pub(crate) use texel_pieces::{TexelPiece, TexelPieces};

/// The staging memory of a manager: pages of constants between recordings, upload rings, and readbacks.
pub(crate) struct StagingStore<D: Device> {
    pub(crate) constants: PagePool<D>,
    pub(crate) builds: BuildScratchPool<D>,
    pub(crate) rings: Rings,
    pub(crate) readbacks: Readbacks<D>,
}

impl<D: Device> StagingStore<D> {
    pub(crate) fn new() -> Self {
        Self {
            constants: PagePool::default(),
            builds: BuildScratchPool::default(),
            rings: Rings::default(),
            readbacks: Readbacks::new(),
        }
    }
}

impl<D: Device> Drop for StagingService<D> {
    /// Gives all pages back: no recording and no readback is left.
    fn drop(&mut self) {
        let Self { store, context, .. } = self;
        store.constants.release_all(context);
        store.builds.release_all(context);
        store.readbacks.release(context);
    }
}

/// The staging memory with its context, for readbacks and the scratch memory of recordings.
pub(crate) struct StagingService<D: Device> {
    pub(crate) store: Arc<StagingStore<D>>,
    /// For the descriptors of recordings.
    pub(crate) descriptors: Arc<DescriptorService<D>>,
    /// Declared last, as in every handle.
    pub(crate) context: Arc<Context<D>>,
}
