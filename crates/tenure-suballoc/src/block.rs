//! The contract of an allocator over many blocks.

use alloc::vec::Vec;
use core::ops::Range;

use crate::block_table::BlockIds;
use crate::{AllocError, BlockError, BlockId, FilledPiece, FreeError, Handle, Inconsistency};

/// An allocated range of one of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockAllocation {
    /// The block that contains it.
    pub block: BlockId,
    /// The offset, in bytes from the start of the block; a multiple of the alignment.
    pub offset: u64,
    /// The usable bytes from `offset` on: at least the requested size.
    pub size: u64,
    /// Padding bytes before `offset`, too few to be worth keeping as a hole. `free_bytes` decreases by exactly `size + padding`.
    pub padding: u64,
    /// The handle for freeing it.
    pub handle: Handle,
}

/// A freed range, with the fields of its [`BlockAllocation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockFreed {
    /// The block that contained it.
    pub block: BlockId,
    /// The offset, in bytes from the start of the block.
    pub offset: u64,
    /// The usable bytes.
    pub size: u64,
    /// The padding bytes before `offset`.
    pub padding: u64,
    /// Whether the block has no other allocations.
    pub block_is_empty: bool,
}

/// Divides a changing set of blocks into allocations.
///
/// The set never adds a block by itself: when [`allocate`](Self::allocate) returns [`Full`](AllocError::Full), the caller creates a
/// block from its own memory, and adds it with [`add_block`](Self::add_block).
/// [`end_frame`](Self::end_frame) and [`trim`](Self::trim) return blocks that have stayed empty, and the caller
/// destroys their memory.
///
/// Fuller and lower blocks are preferred, so that the others run empty. No call scans all blocks,
/// except the iterator and `validate`. Deterministic: the same calls give the same blocks and
/// offsets.
pub trait BlockSuballocator {
    /// Adds an empty block of `capacity` bytes. Amortised O(1); for a [`Growing`](crate::Growing) the cost of
    /// making the block's allocator.
    ///
    /// Right after it, `allocate` succeeds for any size and alignment that an empty range of this
    /// capacity serves.
    ///
    /// # Errors
    /// [`BlockError`] if such a range cannot be managed; nothing is added then.
    fn add_block(&mut self, capacity: u64) -> Result<BlockId, BlockError>;

    /// Removes an empty block. O(log removed).
    ///
    /// # Errors
    /// [`BlockError::Unknown`], or [`BlockError::InUse`] while the block holds allocations.
    fn remove_block(&mut self, block: BlockId) -> Result<(), BlockError>;

    /// Allocates `size` bytes at a multiple of `align` in one of the blocks.
    ///
    /// # Errors
    /// [`AllocError`]; the state is unchanged then.
    fn allocate(&mut self, size: u64, align: u64) -> Result<BlockAllocation, AllocError>;

    /// Allocates `size` bytes at a multiple of `align` in one block, to place objects together. Uses the first hole that is large
    /// enough. O(pieces of the block).
    ///
    /// ```
    /// use tenure_suballoc::{BlockSuballocator, GeneralBlocks};
    ///
    /// let mut pool = GeneralBlocks::new(256)?;
    /// let (first, second) = (pool.add_block(1024)?, pool.add_block(1024)?);
    /// let mesh = pool.allocate_in(second, 512, 256)?;
    /// assert_eq!((mesh.block, mesh.offset), (second, 0));
    /// assert!(pool.allocate_in(second, 1024, 256).is_err(), "though there is room in the first");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`AllocError`], with the free bytes of the block, which are 0 if there is no such block; the state is then
    /// unchanged.
    fn allocate_in(&mut self, block: BlockId, size: u64, align: u64) -> Result<BlockAllocation, AllocError>;

    /// Frees an allocation.
    ///
    /// # Errors
    /// [`FreeError`] when it was freed before or comes from elsewhere; the state is then unchanged.
    fn free(&mut self, handle: Handle) -> Result<BlockFreed, FreeError>;

    /// Frees the newest allocation, which was not used. A block that was empty before it keeps its previous age.
    ///
    /// # Errors
    /// As [`free`](Self::free).
    fn take_back(&mut self, handle: Handle) -> Result<BlockFreed, FreeError>;

    /// Allocates all free bytes of a block, each free range as one allocation: nothing is placed in the block
    /// until these are freed, while other allocations can still be freed. For emptying a block on purpose,
    /// without a check in `allocate`. Bytes freed after this call can be allocated again, and another call fills
    /// them, too.
    ///
    /// Visits `most` pieces, in use or free, in order of their offsets, and appends them to `pieces`. The first
    /// is the one behind the allocation `after`, or behind the beginning of the block if that is `None`, or not
    /// allocated in this block. True if no piece is left behind the last, or there is no such block. O(1) a
    /// piece.
    ///
    /// ```
    /// use tenure_suballoc::{BlockSuballocator, GeneralBlocks};
    ///
    /// let mut pool = GeneralBlocks::new(256)?;
    /// (pool.add_block(1024)?, pool.add_block(1024)?);
    /// let mesh = pool.allocate(512, 256)?;
    /// let mut pieces = Vec::new();
    /// assert!(!pool.fill_block(mesh.block, None, 1, &mut pieces));
    /// assert!(pool.fill_block(mesh.block, Some(mesh.handle), 1, &mut pieces));
    /// assert_eq!((pieces[0].range, pieces[0].was_free, pieces[1].was_free), (mesh, false, true));
    /// assert_ne!(pool.allocate(512, 256)?.block, mesh.block, "where the mesh can move to");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn fill_block(
        &mut self,
        block: BlockId,
        after: Option<Handle>,
        most: usize,
        pieces: &mut Vec<FilledPiece<BlockAllocation>>,
    ) -> bool;

    /// Frees all allocations. The blocks are kept, and are empty afterwards. All earlier handles become invalid; the metadata keeps
    /// its memory. O(blocks + the peak number of pieces).
    fn clear(&mut self);

    /// The allocation of a handle, as [`allocate`](Self::allocate) returned it; `None` if it was freed, or comes
    /// from elsewhere. O(1).
    fn get(&self, handle: Handle) -> Option<BlockAllocation>;

    /// The allocations of a block, in order of their offsets; none if there is no such block. O(1) a
    /// piece, in use or free.
    fn allocations_in(&self, block: BlockId) -> impl Iterator<Item = BlockAllocation>
    where
        Self: Sized;

    /// The free ranges of a block, in order of their offsets; none if there is no such block. Together with the
    /// allocations and their padding they cover the whole block. O(1) a piece, in use or free.
    fn holes_in(&self, block: BlockId) -> impl Iterator<Item = Range<u64>>
    where
        Self: Sized;

    /// The allocations of all blocks, in order of the blocks' numbers, then of their offsets.
    ///
    /// ```
    /// use tenure_suballoc::{BlockSuballocator, GeneralBlocks};
    ///
    /// let mut pool = GeneralBlocks::new(256)?;
    /// let heap = pool.add_block(1024)?;
    /// let mesh = pool.allocate(512, 256)?;
    /// assert!(pool.allocations().eq([mesh]));
    /// assert!(pool.holes().eq([(heap, 512..1024)]));
    /// pool.clear();
    /// assert_eq!(pool.get(mesh.handle), None);
    /// assert_eq!(pool.holes().next(), Some((heap, 0..1024)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn allocations(&self) -> impl Iterator<Item = BlockAllocation>
    where
        Self: Sized,
    {
        self.blocks().flat_map(|block| self.allocations_in(block))
    }

    /// The free ranges of all blocks, in order of the blocks' numbers, then of their offsets.
    fn holes(&self) -> impl Iterator<Item = (BlockId, Range<u64>)>
    where
        Self: Sized,
    {
        self.blocks().flat_map(|block| self.holes_in(block).map(move |hole| (block, hole)))
    }

    /// Managed bytes of a block, if it exists. O(1).
    fn block_capacity(&self, block: BlockId) -> Option<u64>;

    /// Allocated bytes of a block, if it exists. O(1).
    fn block_used(&self, block: BlockId) -> Option<u64>;

    /// The blocks, in order of their numbers.
    fn blocks(&self) -> BlockIds<'_>;

    /// Managed bytes of all blocks. O(1).
    fn capacity(&self) -> u64;

    /// Free bytes of all blocks. O(1).
    fn free_bytes(&self) -> u64;

    /// Exact size of the largest free range in bytes. See the implementation for its cost.
    fn largest_free(&self) -> u64;

    /// Whether there are no allocations. O(1).
    fn is_empty(&self) -> bool {
        self.free_bytes() == self.capacity()
    }

    /// Ends a frame: removes the blocks that have been empty for `idle_frames` whole frames (such
    /// as [`DEFAULT_IDLE_FRAMES`](crate::DEFAULT_IDLE_FRAMES)) and appends them to `retired`. The frame in which a block ran
    /// empty, or was added, does not count. O(empty blocks).
    fn end_frame(&mut self, idle_frames: u32, retired: &mut Vec<BlockId>);

    /// As [`end_frame`](Self::end_frame), but in the middle of a frame, which continues, and only until the removed blocks have a
    /// capacity of at least `bytes`. Removes the blocks that were empty for longest first; on a tie the smallest. Returns their
    /// capacity. O(n log n) in the empty blocks.
    ///
    /// `idle_frames` protects new blocks, and blocks in alternating use: filled and emptied repeatedly, in use and empty for fewer
    /// than `turn_frames` each time. Other empty blocks are removed at any age. Once that happens, a new block continues the
    /// alternation of the removed one. With `u32::MAX` all blocks are protected.
    fn trim_oldest(
        &mut self,
        idle_frames: u32,
        turn_frames: u32,
        bytes: u64,
        retired: &mut Vec<BlockId>,
    ) -> u64;

    /// Removes all empty blocks immediately and appends them to `retired`. If that would remove the last block, the one that became
    /// empty last is kept, until it has been empty for [`DEFAULT_IDLE_FRAMES`](crate::DEFAULT_IDLE_FRAMES) whole frames. O(empty
    /// blocks).
    fn trim(&mut self, retired: &mut Vec<BlockId>);

    /// Checks all invariants, by visiting everything. For tests.
    ///
    /// # Errors
    /// [`Inconsistency`] with the violated invariant; that is a bug in this crate.
    fn validate(&self) -> Result<(), Inconsistency>;
}

/// The error of a full block.
#[cold]
pub(crate) fn full_block(
    blocks: &impl BlockSuballocator,
    block: BlockId,
    size: u64,
    align: u64,
) -> AllocError {
    let free_bytes = blocks.block_capacity(block).zip(blocks.block_used(block));
    let free_bytes = free_bytes.map_or(0, |(capacity, used)| capacity.saturating_sub(used));
    let largest_free = blocks.holes_in(block).map(|hole| hole.end - hole.start).max().unwrap_or(0);
    AllocError::Full { size, align, free_bytes, largest_free }
}
