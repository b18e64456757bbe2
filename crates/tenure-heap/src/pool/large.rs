//! Large blocks that ran empty, and are kept for large ranges.

use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator};

/// Bytes: smaller blocks serve any range.
const LARGE: u64 = 4 << 20;
/// The number of frames within which a renewed need means that a block was removed too early.
const SOON: u64 = 16;
/// The weight of such a need; each frame without one subtracts 1.
const COUNT: u64 = 8;
/// The count at which sizes are let share blocks: needs of eight frames in a row, more or less.
const TOO_OFTEN: u64 = 64;
/// The number of frames for which ranges that are too small may then be the first.
const SHARED_FOR: u64 = 1024;

/// The blocks that were made for one large range each, because the pool's own next block would have been smaller.
///
/// A range that does not need most of such a block would, as its first range, keep all of it from being removed,
/// and the next large range would need another block. So after the block has run empty, that range gets a new
/// block, if that is smaller, in place of the empty one. A program that uses large ranges of several sizes in
/// turn would then have the driver create and destroy a block for each: a pool that detects this lets them share
/// for a while.
#[derive(Debug, Default)]
pub(super) struct LargeBlocks {
    /// The blocks with their sizes in bytes; few.
    blocks: Vec<(BlockId, u64)>,
    /// The size in bytes below which a range does not need most of the largest empty block.
    small: u64,
    frame: u64,
    /// The bytes and the frame of the last removed block, if it had not been empty for long.
    removed: Option<(u64, u64)>,
    /// The weighted number of blocks needed again soon, see [`COUNT`].
    count: u64,
    /// Until this frame, a smaller range may be the first in a large block.
    shared_until: u64,
}

/// The bytes that a range must have to be the first in an empty block.
const fn most_of(capacity: u64) -> u64 {
    capacity - capacity / 4
}

impl LargeBlocks {
    /// Notes a block that was made for a range of `size` bytes.
    pub(super) fn note_new(&mut self, id: BlockId, capacity: u64, size: u64) {
        if capacity >= LARGE && size >= most_of(capacity) {
            self.blocks.push((id, capacity));
            self.note_need(capacity);
        }
    }

    /// Counts a block that would not have been needed without the last removal.
    fn note_need(&mut self, capacity: u64) {
        let is_early = |(bytes, frame): &mut (u64, u64)| capacity <= *bytes && self.frame - *frame <= SOON;
        if self.removed.take_if(is_early).is_none() {
            return;
        }
        self.count += COUNT;
        if self.count >= TOO_OFTEN {
            self.count = 0;
            self.shared_until = self.frame + SHARED_FOR;
        }
    }

    /// Notes bytes that were removed because a range needed a new block.
    pub(super) const fn note_removed(&mut self, bytes: u64) {
        if bytes >= LARGE {
            self.removed = Some((bytes, self.frame));
        }
    }

    /// Notes the end of a frame.
    pub(super) const fn end_frame(&mut self) {
        self.frame += 1;
        self.count = self.count.saturating_sub(1);
    }

    /// Whether a range of `size` bytes may be too small to be the first in one of the blocks:
    /// [`begun_by`](Self::begun_by) decides.
    #[inline(always)]
    pub(super) const fn is_small(&self, size: u64) -> bool {
        size < self.small
    }

    /// Notes that a block has run empty.
    #[cold]
    pub(super) fn note_empty(&mut self, id: BlockId) {
        if let Some((_, capacity)) = self.blocks.iter().find(|(large, _)| *large == id) {
            self.small = self.small.max(most_of(*capacity));
        }
    }

    /// The capacity of the block if it is one of these, and the range is the first in it and too small for it.
    pub(super) fn begun_by(&self, found: &BlockAllocation, ranges: &impl BlockSuballocator) -> Option<u64> {
        let is_first = ranges.block_used(found.block) == Some(found.size + found.padding);
        let (_, capacity) = self.blocks.iter().find(|(id, _)| is_first && *id == found.block)?;
        (found.size < most_of(*capacity)).then_some(*capacity)
    }

    /// Whether ranges that are too small may be the first in this frame.
    pub(super) const fn are_shared(&self) -> bool {
        self.frame < self.shared_until
    }

    /// Notes that blocks serve any range from now on, or were removed.
    pub(super) fn forget(&mut self, gone: &[BlockId], ranges: &impl BlockSuballocator) {
        if self.blocks.is_empty() || gone.is_empty() {
            return;
        }
        self.blocks.retain(|(id, _)| !gone.contains(id));
        let empty = self.blocks.iter().filter(|(id, _)| ranges.block_used(*id) == Some(0));
        self.small = empty.map(|(_, capacity)| most_of(*capacity)).max().unwrap_or(0);
    }
}
