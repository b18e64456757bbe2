//! The general allocator over many blocks.

use alloc::vec::Vec;
use core::ops::Range;

use super::pieces::Placed;
use super::ranges::{ABSORB, MAX_UNITS, Ranges};
use super::units::Granule;
use crate::block::full_block;
use crate::block_table::{BlockIds, BlockTable};
use crate::error::ensure;
use crate::handle::Owner;
use crate::{
    AllocError, BlockAllocation, BlockError, BlockFreed, BlockId, BlockSuballocator, FilledPiece, FreeError,
    Handle, Inconsistency,
};

/// Divides any number of blocks into allocations of any sizes, as one [`General`](crate::General).
///
/// The default choice for pools of heaps. Its downside is that of `General`: 32 bytes of metadata per allocation
/// and per hole, and 13 KiB for the lists, once for any number of blocks.
///
/// # Algorithm
/// The algorithm of `General`, with one set of lists for the holes of all blocks; pieces of different blocks are
/// never neighbours, so they never merge. A block therefore costs no time when allocating: there is no search for
/// a block. Between two holes of about the same size that must be split anyway, the allocator takes the one in
/// the block with the lower number, so that the higher blocks become empty.
///
/// # Efficiency
/// `allocate`, `free`, `add_block`: O(1) (the last amortised). `largest_free`: as in `General`. Removing a block
/// is O(1) while anything is allocated; otherwise it frees the metadata beyond the [reserved](Self::reserve)
/// part, in O(peak number of pieces). `trim` does the same then; while anything is allocated, it frees the
/// metadata behind that of the last piece.
///
/// # Guarantees
/// As for `General`: a request fails only when no hole of any block has `size + align - granule`
/// bytes, rounded up to a size class. A block that was added or ran empty just before serves any
/// size up to its capacity at any alignment.
///
/// # Origin
/// As for `General`; `gpu-alloc`'s buddy allocator also has lists that span all blocks.
///
/// ```
/// use tenure_suballoc::{AllocError, BlockSuballocator, GeneralBlocks};
///
/// let mut pool = GeneralBlocks::new(256)?;
/// assert!(matches!(pool.allocate(4096, 256), Err(AllocError::Full { .. })));
///
/// let heap = pool.add_block(64 << 20)?; // the caller made 64 MiB of memory
/// let buffer = pool.allocate(4096, 256)?;
/// assert_eq!(buffer.block, heap);
/// assert!(pool.free(buffer.handle)?.block_is_empty);
///
/// let mut retired = Vec::new();
/// for _ in 0..17 {
///     pool.end_frame(16, &mut retired);
/// }
/// assert_eq!(retired, [heap]); // the caller destroys its memory
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GeneralBlocks {
    ranges: Ranges,
    granule: Granule,
    /// Maximum size of a block in bytes.
    limit: u64,
    table: BlockTable,
    /// The anchor of each block's range.
    anchors: Vec<u32>,
    /// The number of nodes whose memory is always kept.
    kept: usize,
    owner: Owner,
}

impl GeneralBlocks {
    /// A set without blocks, that counts in granules of `granule` bytes: sizes and alignments are
    /// rounded up to it, capacities down. A block holds up to 2³¹ granules.
    ///
    /// # Errors
    /// [`BlockError::BadGranule`] if it is not a power of two.
    pub fn new(granule: u64) -> Result<Self, BlockError> {
        let granule = Granule::new(granule)?;
        Ok(Self {
            ranges: Ranges::new(MAX_UNITS, ABSORB),
            granule,
            limit: granule.max_capacity(),
            table: BlockTable::default(),
            anchors: Vec::new(),
            kept: 0,
            owner: Owner::next(),
        })
    }

    /// Allocates the metadata of `allocations` more and touches its pages, so that later allocations need no
    /// memory, neither from the heap nor from the operating system. It is kept when the set becomes empty.
    pub fn reserve(&mut self, allocations: usize) {
        let pieces = allocations.saturating_mul(2);
        self.ranges.slab.reserve(pieces);
        self.kept = self.kept.max(pieces.saturating_add(self.ranges.slab.len() as usize));
    }

    /// Prefetches the metadata of allocations that are about to be freed.
    ///
    /// Does not change anything, for any handles. The cache misses of frees are sequential; here they overlap.
    /// Useful for some dozens of frees at a time, if there are many live allocations and the freed ones are
    /// scattered: it costs 2 ns each, and saves most of a cache miss. O(handles).
    ///
    /// ```
    /// use tenure_suballoc::{BlockSuballocator, GeneralBlocks};
    ///
    /// let mut blocks = GeneralBlocks::new(256)?;
    /// blocks.add_block(1 << 20)?;
    /// let handles = [blocks.allocate(4096, 256)?.handle, blocks.allocate(4096, 256)?.handle];
    /// blocks.expect_frees(handles);
    /// for handle in handles {
    ///     blocks.free(handle)?;
    /// }
    /// assert!(blocks.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn expect_frees(&self, handles: impl IntoIterator<Item = Handle>) {
        self.ranges.expect(handles.into_iter().map(Handle::slot));
    }

    /// Bytes in the unit of management.
    #[must_use]
    pub fn granule(&self) -> u64 {
        self.granule.size()
    }

    /// Allocates at the beginning of an empty block, if there is one: this satisfies any alignment.
    #[cold]
    fn allocate_in_empty_block(&mut self, units: u32) -> Option<Placed> {
        let id = self.table.last_idle()?;
        self.ranges.allocate_in(self.anchors[id as usize], units)
    }

    /// Drops the ranges of blocks that the table has removed and, if the other blocks are empty, too, frees
    /// metadata.
    fn forget(&mut self, removed: &[BlockId]) {
        for id in removed {
            self.ranges.remove_range(self.anchors[id.index()]);
        }
        if !removed.is_empty() {
            self.trim_metadata();
        }
    }

    /// Frees the memory of the pieces' metadata, if there are no allocations.
    fn trim_metadata(&mut self) {
        if self.free_bytes() < self.capacity() || !self.ranges.has_grown(self.blocks().count(), self.kept) {
            return;
        }
        self.ranges.clear(self.kept);
        self.add_ranges();
    }

    /// Adds the ranges of all blocks again, after they were cleared.
    fn add_ranges(&mut self) {
        for id in self.table.ids() {
            let bytes = self.table.block_capacity(id).unwrap_or(0);
            let units = (bytes / self.granule.size()) as u32;
            self.anchors[id.index()] = self.ranges.add_range(units, id.0);
        }
    }

    /// The anchor of a block, if it exists.
    fn anchor(&self, block: BlockId) -> Option<u32> {
        self.table.block_capacity(block)?;
        self.anchors.get(block.index()).copied()
    }

    #[inline(always)]
    fn allocation(&self, placed: Placed) -> BlockAllocation {
        allocation(self.granule, self.owner, placed)
    }

    #[cold]
    fn full(&self, size: u64, align: u64) -> AllocError {
        AllocError::Full {
            size,
            align,
            free_bytes: self.free_bytes(),
            largest_free: self.units_to_bytes(self.ranges.largest_free_floor()),
        }
    }

    fn units_to_bytes(&self, units: u32) -> u64 {
        self.granule.bytes(u64::from(units))
    }
}

/// The allocation of a piece, as returned to callers.
#[inline(always)]
fn allocation(granule: Granule, owner: Owner, Placed { slot, tag, extent }: Placed) -> BlockAllocation {
    BlockAllocation {
        block: BlockId(extent.block),
        offset: granule.bytes_in_range(extent.offset),
        size: granule.bytes_in_range(extent.size),
        padding: granule.bytes_in_range(extent.padding),
        handle: Handle::new(owner, extent.block, slot, tag),
    }
}

impl BlockSuballocator for GeneralBlocks {
    fn add_block(&mut self, capacity: u64) -> Result<BlockId, BlockError> {
        let units = self.granule.capacity(capacity)?;
        let id = self.table.add(self.units_to_bytes(units))?;
        let first = self.ranges.add_range(units, id);
        match self.anchors.get_mut(id as usize) {
            Some(place) => *place = first,
            None => self.anchors.push(first),
        }
        Ok(BlockId(id))
    }

    fn remove_block(&mut self, block: BlockId) -> Result<(), BlockError> {
        self.table.remove(block)?;
        self.forget(&[block]);
        Ok(())
    }

    #[inline(always)]
    fn allocate(&mut self, size: u64, align: u64) -> Result<BlockAllocation, AllocError> {
        let request = self.granule.request(size, align, self.limit)?;
        let placed = self.ranges.allocate::<true>(request.units, request.align_mask);
        let placed = placed.or_else(|| self.allocate_in_empty_block(request.units));
        let Some(placed) = placed else {
            return Err(self.full(size, align));
        };
        let allocation = self.allocation(placed);
        self.table.charge(allocation.block.0, allocation.size + allocation.padding);
        Ok(allocation)
    }

    fn allocate_in(&mut self, block: BlockId, size: u64, align: u64) -> Result<BlockAllocation, AllocError> {
        let request = self.granule.request(size, align, self.limit)?;
        let anchor = self.anchor(block);
        let placed = anchor.and_then(|it| self.ranges.allocate_within(it, request.units, request.align_mask));
        let Some(placed) = placed else { return Err(full_block(self, block, size, align)) };
        let allocation = self.allocation(placed);
        self.table.charge(block.0, allocation.size + allocation.padding);
        Ok(allocation)
    }

    #[inline]
    fn free(&mut self, handle: Handle) -> Result<BlockFreed, FreeError> {
        if !handle.is_of(self.owner) {
            return Err(FreeError::Foreign);
        }
        let extent = self.ranges.free(handle.slot(), handle.tag()).ok_or(FreeError::DoubleFree)?;
        let size = self.granule.bytes_in_range(extent.size);
        let padding = self.granule.bytes_in_range(extent.padding);
        Ok(BlockFreed {
            block: BlockId(extent.block),
            offset: self.granule.bytes_in_range(extent.offset),
            size,
            padding,
            block_is_empty: self.table.refund(extent.block, size + padding),
        })
    }

    fn take_back(&mut self, handle: Handle) -> Result<BlockFreed, FreeError> {
        let freed = self.free(handle)?;
        if freed.block_is_empty {
            self.table.undo_use(freed.block);
        }
        Ok(freed)
    }

    fn fill_block(
        &mut self,
        block: BlockId,
        after: Option<Handle>,
        most: usize,
        pieces: &mut Vec<FilledPiece<BlockAllocation>>,
    ) -> bool {
        let Some(anchor) = self.anchor(block) else { return true };
        let after = after.filter(|handle| self.get(*handle).is_some_and(|found| found.block == block));
        let (granule, owner, mut filled) = (self.granule, self.owner, 0);
        let is_end = self.ranges.fill(after.map_or(anchor, Handle::slot), most, |placed, was_free| {
            let range = allocation(granule, owner, placed);
            filled += if was_free { range.size } else { 0 };
            pieces.push(FilledPiece { range, was_free });
        });
        if filled > 0 {
            self.table.charge(block.0, filled);
        }
        is_end
    }

    fn clear(&mut self) {
        self.table.clear();
        self.ranges.vacate();
        self.add_ranges();
    }

    #[inline]
    fn get(&self, handle: Handle) -> Option<BlockAllocation> {
        if !handle.is_of(self.owner) {
            return None;
        }
        Some(self.allocation(self.ranges.get(handle.slot(), handle.tag())?))
    }

    fn allocations_in(&self, block: BlockId) -> impl Iterator<Item = BlockAllocation> {
        let anchor = self.anchor(block).into_iter();
        anchor.flat_map(|anchor| self.ranges.allocations_of(anchor)).map(|placed| self.allocation(placed))
    }

    fn holes_in(&self, block: BlockId) -> impl Iterator<Item = Range<u64>> {
        let anchor = self.anchor(block).into_iter();
        anchor.flat_map(|anchor| self.ranges.holes_of(anchor)).map(|hole| self.granule.bytes_of_hole(hole))
    }

    fn block_capacity(&self, block: BlockId) -> Option<u64> {
        self.table.block_capacity(block)
    }

    fn block_used(&self, block: BlockId) -> Option<u64> {
        self.table.block_used(block)
    }

    fn blocks(&self) -> BlockIds<'_> {
        self.table.ids()
    }

    fn capacity(&self) -> u64 {
        self.table.capacity()
    }

    fn free_bytes(&self) -> u64 {
        self.table.free_bytes()
    }

    /// O(1) when no hole has 256 granules, otherwise O(holes of the largest size class).
    fn largest_free(&self) -> u64 {
        self.units_to_bytes(self.ranges.largest_free())
    }

    fn end_frame(&mut self, idle_frames: u32, retired: &mut Vec<BlockId>) {
        let before = retired.len();
        self.table.end_frame(idle_frames, retired);
        self.forget(&retired[before..]);
    }

    fn trim_oldest(
        &mut self,
        idle_frames: u32,
        turn_frames: u32,
        bytes: u64,
        retired: &mut Vec<BlockId>,
    ) -> u64 {
        let before = retired.len();
        let removed = self.table.trim_oldest(idle_frames, turn_frames, bytes, retired);
        self.forget(&retired[before..]);
        removed
    }

    fn trim(&mut self, retired: &mut Vec<BlockId>) {
        let before = retired.len();
        self.table.trim(retired);
        self.forget(&retired[before..]);
        self.trim_metadata();
        self.ranges.trim(self.kept);
    }

    fn validate(&self) -> Result<(), Inconsistency> {
        self.table.validate()?;
        let ranges = self.blocks().map(|id| {
            let units = self.block_capacity(id).unwrap_or(0) / self.granule.size();
            (self.anchors[id.index()], id.0, units as u32)
        });
        self.ranges.validate(ranges)?;
        for id in self.blocks() {
            let free = self.ranges.free_units_from(self.anchors[id.index()]);
            let used = self.block_capacity(id).unwrap_or(0) - self.granule.bytes(free);
            ensure!(
                self.block_used(id) == Some(used),
                "block {} uses {used} bytes, not {:?}",
                id.index(),
                self.block_used(id)
            );
        }
        Ok(())
    }
}
