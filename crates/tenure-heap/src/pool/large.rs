//! Empty large blocks kept for large ranges.

use tenure_suballoc::{BlockAllocation, BlockId, BlockSuballocator};

/// Minimum size of a large block in bytes. Smaller blocks serve any range.
const LARGE: u64 = 4 << 20;
/// The number of frames after which the turnover is halved.
const HALVED_IN: u64 = 64;
/// The turnover, in multiples of the pool's peak capacity, at which ranges may share blocks.
const TOO_MUCH: u64 = 2;
/// Divisor of the peak capacity for the maximum waste by sharing.
const WASTE_PART: u64 = 5;
/// The factor for [`TOO_MUCH`] after each time that sharing wasted more.
const MORE_AFTER_WASTE: u64 = 8;
/// The number of frames for which ranges then share blocks.
const SHARED_FOR: u64 = 1024;

/// The blocks that were each created for one large range, because the pool's next block would have been smaller.
///
/// If a much smaller range came first in such an empty block, it would prevent the block's removal, and the next
/// large range would need another block. Therefore that range gets a new block, if that is smaller. In a program that
/// alternates between many sizes, this would make the driver create and destroy blocks constantly. A pool detects
/// this by its turnover: it then lets all ranges share the blocks for a while, and removes empty ones only as far as
/// a new one would exceed its peak. A new peak ends the sharing.
#[derive(Debug, Default)]
pub(super) struct LargeBlocks {
    /// The blocks with their sizes in bytes. There are only few.
    blocks: Vec<(BlockId, u64)>,
    /// The size in bytes below which a range is too small for the largest empty block.
    small: u64,
    frame: u64,
    /// Bytes removed in favour of new blocks, and not recreated so far.
    removed: u64,
    /// Bytes removed in favour of new blocks and then recreated, halved every [`HALVED_IN`] frames.
    turnover: u64,
    /// The frame of the last halving of `removed` and `turnover`.
    halved_at: u64,
    /// The number of times that a pool with shared blocks wasted too much at a new peak.
    wasted: u32,
    /// The frame until which ranges share the blocks.
    shared_until: u64,
}

/// Minimum bytes of the first range in an empty block.
const fn most_of(capacity: u64) -> u64 {
    capacity - capacity / 4
}

impl LargeBlocks {
    /// Notes a block created for a range of `size` bytes.
    pub(super) fn note_new(&mut self, id: BlockId, capacity: u64, size: u64) {
        if capacity >= LARGE && size >= most_of(capacity) {
            self.blocks.push((id, capacity));
        }
        let halvings = (self.frame - self.halved_at) / HALVED_IN;
        self.halved_at += halvings * HALVED_IN;
        let halvings = u32::try_from(halvings).unwrap_or(u32::MAX);
        let halved = |bytes: u64| bytes.checked_shr(halvings).unwrap_or(0);
        let again = halved(self.removed).min(capacity);
        self.removed = halved(self.removed) - again;
        self.turnover = halved(self.turnover).saturating_add(again);
    }

    /// Notes the bytes of empty blocks that were removed in favour of a new block.
    pub(super) const fn note_removed(&mut self, bytes: u64) {
        self.removed = self.removed.saturating_add(bytes);
    }

    /// Starts sharing if the turnover is too large for a pool with this peak capacity.
    pub(super) const fn share_after_turnover(&mut self, peak: u64) {
        let times = TOO_MUCH.saturating_mul(MORE_AFTER_WASTE.saturating_pow(self.wasted));
        if self.turnover >= peak.saturating_mul(times) {
            self.turnover = 0;
            self.shared_until = self.frame + SHARED_FOR;
        }
    }

    /// Ends the sharing of blocks at a new peak capacity of the pool, with this peak of its live bytes.
    pub(super) const fn end_sharing(&mut self, capacity: u64, used: u64) {
        if self.are_shared() && capacity - capacity / WASTE_PART > used {
            self.wasted = self.wasted.saturating_add(1);
        }
        self.shared_until = 0;
    }

    /// Notes the end of a frame.
    pub(super) const fn end_frame(&mut self) {
        self.frame += 1;
    }

    /// Whether a range of `size` bytes may be too small to be the first in one of the blocks:
    /// [`begun_by`](Self::begun_by) decides.
    #[inline(always)]
    pub(super) const fn is_small(&self, size: u64) -> bool {
        size < self.small
    }

    /// Notes that a block has become empty.
    #[cold]
    pub(super) fn note_empty(&mut self, id: BlockId) {
        if let Some((_, capacity)) = self.blocks.iter().find(|(large, _)| *large == id) {
            self.small = self.small.max(most_of(*capacity));
        }
    }

    /// The capacity of the range's block, if it is one of these and the range is its first and too small for it.
    pub(super) fn begun_by(&self, found: &BlockAllocation, ranges: &impl BlockSuballocator) -> Option<u64> {
        let is_first = ranges.block_used(found.block) == Some(found.size + found.padding);
        let (_, capacity) = self.blocks.iter().find(|(id, _)| is_first && *id == found.block)?;
        (found.size < most_of(*capacity)).then_some(*capacity)
    }

    /// Whether small ranges may currently be the first in a block.
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
