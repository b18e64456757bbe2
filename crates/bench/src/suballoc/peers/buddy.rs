//! tenure's buddy allocator, over one range and over blocks.

use tenure_suballoc::{BlockError, Buddy, Growing};

use super::general::Make;
use crate::suballoc::trace::Trace;

/// The minimum of the smallest block: with a granule of a few bytes, the metadata of the buddy allocator
/// would be larger than the memory that it manages.
const LEAST_BLOCK: u64 = 64;

/// The smallest block for a trace.
pub(super) fn min_block(trace: &Trace) -> u64 {
    trace.granule.max(LEAST_BLOCK)
}

/// Over one range.
pub(super) struct OneBuddy;
/// Over blocks.
pub(super) struct InBlocks;

impl Make for OneBuddy {
    type Made = Buddy;

    fn make(trace: &Trace, capacity: u64) -> Result<Buddy, BlockError> {
        Buddy::with_min_block(capacity, min_block(trace))
    }
}

impl Make for InBlocks {
    type Made = Growing<Buddy>;

    fn make(trace: &Trace, _: u64) -> Result<Growing<Buddy>, BlockError> {
        let min_block = min_block(trace);
        Ok(Growing::new(move |capacity| Buddy::with_min_block(capacity, min_block)))
    }
}
