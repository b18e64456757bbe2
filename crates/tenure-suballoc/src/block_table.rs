//! The table of blocks, with their usage and the age of empty ones.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::error::ensure;
use crate::{BlockError, BlockId, Inconsistency};

/// The default number of frames for which a block stays empty before it is removed.
pub const DEFAULT_IDLE_FRAMES: u32 = 16;

/// The [`idle_place`](Block::idle_place) of a block in use, which is not in the list of empty blocks.
const BUSY: u32 = u32::MAX;

/// The state shared by all sets of blocks.
///
/// Empty blocks are in a separate list, and each stores its index there, so that entering and leaving it is O(1) and ageing costs
/// nothing for the blocks in use.
#[derive(Debug, Default)]
pub(crate) struct BlockTable {
    blocks: Vec<Option<Block>>,
    /// Numbers of removed blocks, to be used again from the lowest.
    vacant: BinaryHeap<Reverse<u32>>,
    /// Empty blocks; the last one entered last.
    idle: Vec<u32>,
    /// The earliest frame since when any block can have been empty.
    idle_since: u64,
    /// The frame in which a block was removed before its idle frames were over.
    made_way: Option<u64>,
    capacity: u64,
    used: u64,
    /// Frames ended so far.
    frame: u64,
}

#[derive(Debug)]
struct Block {
    capacity: u64,
    used: u64,
    /// The last use.
    last_use: Option<Use>,
    /// The age and last use before the current one.
    before: (u64, Option<Use>),
    /// The frame in which it became empty.
    idle_since: u64,
    /// The place in the list of empty blocks, or [`BUSY`].
    idle_place: u32,
}

/// A period of use: from the first range in the block to the free of the last one.
#[derive(Clone, Copy, Debug)]
struct Use {
    /// The frame in which it began.
    since: u64,
    /// The frames for which the block was empty before. For a new block, those since the early removal of another one; `None` if
    /// there was none.
    after: Option<u64>,
}

impl BlockTable {
    /// The number that [`add`](Self::add) will give to the next block.
    pub(crate) fn next_id(&self) -> Result<u32, BlockError> {
        let fresh = || u32::try_from(self.blocks.len()).ok().filter(|&id| id != BUSY);
        let lowest = self.vacant.peek().map(|&Reverse(id)| id);
        lowest.or_else(fresh).ok_or(BlockError::TooManyBlocks)
    }

    /// Adds an empty block. The sum of all capacities must stay below 2⁶⁴.
    pub(crate) fn add(&mut self, capacity: u64) -> Result<u32, BlockError> {
        let id = self.next_id()?;
        let max = u64::MAX - self.capacity;
        if capacity > max {
            return Err(BlockError::TooLarge { capacity, max });
        }
        self.capacity += capacity;
        let block = Some(Block {
            capacity,
            used: 0,
            last_use: None,
            before: (0, None),
            idle_since: 0,
            idle_place: BUSY,
        });
        if self.vacant.pop().is_some() {
            self.blocks[id as usize] = block;
        } else {
            self.blocks.push(block);
        }
        self.enter_idle(id);
        Ok(id)
    }

    /// Removes a block that is empty.
    pub(crate) fn remove(&mut self, id: BlockId) -> Result<(), BlockError> {
        let block = self.get(id).ok_or(BlockError::Unknown { block: id })?;
        if block.used > 0 {
            let used = block.used;
            return Err(BlockError::InUse { block: id, used });
        }
        self.capacity -= block.capacity;
        self.leave_idle(id.0);
        self.blocks[id.index()] = None;
        self.vacant.push(Reverse(id.0));
        Ok(())
    }

    fn get(&self, id: BlockId) -> Option<&Block> {
        self.blocks.get(id.index())?.as_ref()
    }

    /// Counts `bytes` of a block as used.
    #[inline]
    pub(crate) fn charge(&mut self, id: u32, bytes: u64) {
        self.used += bytes;
        if let Some(block) = &mut self.blocks[id as usize] {
            let was_empty = block.used == 0;
            block.used += bytes;
            if was_empty {
                self.leave_idle(id);
            }
        }
    }

    /// Frees `bytes` of a block; returns whether it is empty now.
    #[inline]
    pub(crate) fn refund(&mut self, id: u32, bytes: u64) -> bool {
        self.used -= bytes;
        let Some(block) = &mut self.blocks[id as usize] else {
            return false;
        };
        block.used -= bytes;
        let is_empty = block.used == 0;
        if is_empty {
            self.enter_idle(id);
        }
        is_empty
    }

    /// Counts all bytes of all blocks as free.
    pub(crate) fn clear(&mut self) {
        for id in 0..self.blocks.len() as u32 {
            let used = self.block_used(BlockId(id)).unwrap_or(0);
            if used > 0 {
                self.refund(id, used);
            }
        }
    }

    fn enter_idle(&mut self, id: u32) {
        let place = self.idle.len() as u32;
        if let Some(block) = &mut self.blocks[id as usize] {
            block.idle_place = place;
            block.idle_since = self.frame;
            if self.idle.is_empty() {
                self.idle_since = self.frame;
            }
            self.idle.push(id);
        }
    }

    fn leave_idle(&mut self, id: u32) {
        let Some(block) = &mut self.blocks[id as usize] else {
            return;
        };
        block.before = (block.idle_since, block.last_use);
        let after = match block.last_use {
            Some(_) => Some(self.frame - block.idle_since),
            None => self.made_way.map(|at| self.frame - at),
        };
        block.last_use = Some(Use { since: self.frame, after });
        let place = core::mem::replace(&mut block.idle_place, BUSY) as usize;
        self.idle.swap_remove(place);
        if let Some(&moved) = self.idle.get(place)
            && let Some(block) = &mut self.blocks[moved as usize]
        {
            block.idle_place = place as u32;
        }
    }

    /// An empty block: the one that was added or ran empty last, unless others were removed since.
    #[inline]
    pub(crate) fn last_idle(&self) -> Option<u32> {
        self.idle.last().copied()
    }

    /// Ends a frame and removes the blocks that have been empty for `idle_frames`. O(1) if none can have been.
    #[inline]
    pub(crate) fn end_frame(&mut self, idle_frames: u32, retired: &mut Vec<BlockId>) {
        if self.frame - self.idle_since >= u64::from(idle_frames) && !self.idle.is_empty() {
            self.remove_old(idle_frames, retired);
        }
        self.frame += 1;
    }

    #[cold]
    fn remove_old(&mut self, idle_frames: u32, retired: &mut Vec<BlockId>) {
        self.remove_where(retired, |_, age| age >= u64::from(idle_frames));
        let oldest = self.idle.iter().map(|&id| self.idle_age(BlockId(id))).max();
        self.idle_since = self.frame - oldest.unwrap_or(0);
    }

    /// Removes blocks that have been empty for `idle_frames`, or are not in alternating use with periods below `turn_frames`, until
    /// they have `bytes` or more; returns their capacity. The longest empty blocks come first; on a tie the smallest, so that few
    /// excess bytes are removed.
    pub(crate) fn trim_oldest(
        &mut self,
        idle_frames: u32,
        turn_frames: u32,
        bytes: u64,
        retired: &mut Vec<BlockId>,
    ) -> u64 {
        let before = retired.len();
        let is_old = |id: &BlockId| self.idle_age(*id) >= u64::from(idle_frames);
        let old = |id: &BlockId| is_old(id) || !self.is_in_turns(*id, turn_frames);
        retired.extend(self.idle.iter().map(|&id| BlockId(id)).filter(old));
        let order = |id: &BlockId| (Reverse(self.idle_age(*id)), self.block_capacity(*id));
        retired[before..].sort_unstable_by_key(order);
        let (mut removed, mut gone) = (0_u64, before);
        while removed < bytes
            && let Some(&id) = retired.get(gone)
        {
            removed = removed.saturating_add(self.block_capacity(id).unwrap_or(0));
            if self.idle_age(id) < u64::from(idle_frames) {
                self.made_way = Some(self.frame);
            }
            // Idle blocks are empty.
            let _removed = self.remove(id);
            gone += 1;
        }
        retired.truncate(gone);
        removed
    }

    /// Whether an empty block is new, or in alternating use: both its last use and the pause before it were shorter than `frames`.
    /// `u32::MAX`: always.
    fn is_in_turns(&self, id: BlockId, frames: u32) -> bool {
        let is_short = |time: u64| time < u64::from(frames);
        let block = self.get(id);
        frames == u32::MAX
            || block.and_then(|block| Some((block, block.last_use?))).is_none_or(|(block, last)| {
                is_short(block.idle_since - last.since) && last.after.is_some_and(is_short)
            })
    }

    /// Forgets the last use of a block that is empty again: its previous age is restored.
    pub(crate) fn undo_use(&mut self, id: BlockId) {
        if let Some(Some(block)) = self.blocks.get_mut(id.index()) {
            (block.idle_since, block.last_use) = block.before;
            self.idle_since = self.idle_since.min(block.idle_since);
        }
    }

    /// Removes all empty blocks except, if there are no others, the youngest within the idle frames.
    pub(crate) fn trim(&mut self, retired: &mut Vec<BlockId>) {
        let keep = self.last_within_idle_frames();
        self.remove_where(retired, |id, _| Some(id) != keep);
    }

    fn last_within_idle_frames(&self) -> Option<BlockId> {
        if self.used > 0 {
            return None;
        }
        let ages = self.idle.iter().map(|&id| (self.idle_age(BlockId(id)), BlockId(id)));
        let (age, youngest) = ages.min()?;
        // The frame in which it became empty does not count.
        (age <= u64::from(DEFAULT_IDLE_FRAMES)).then_some(youngest)
    }

    fn idle_age(&self, id: BlockId) -> u64 {
        self.get(id).map_or(0, |block| self.frame - block.idle_since)
    }

    /// Removes the empty blocks for which `goes` returns true, by their number and the frames they were empty.
    fn remove_where(&mut self, retired: &mut Vec<BlockId>, goes: impl Fn(BlockId, u64) -> bool) {
        let mut place = 0;
        while let Some(&id) = self.idle.get(place) {
            let id = BlockId(id);
            // Removing one moves the last into its place, which is then visited next.
            if goes(id, self.idle_age(id)) && self.remove(id).is_ok() {
                retired.push(id);
            } else {
                place += 1;
            }
        }
    }

    pub(crate) fn block_capacity(&self, id: BlockId) -> Option<u64> {
        self.get(id).map(|block| block.capacity)
    }

    pub(crate) fn block_used(&self, id: BlockId) -> Option<u64> {
        self.get(id).map(|block| block.used)
    }

    pub(crate) fn ids(&self) -> BlockIds<'_> {
        BlockIds { blocks: self.blocks.iter().enumerate() }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    pub(crate) fn free_bytes(&self) -> u64 {
        self.capacity - self.used
    }

    pub(crate) fn validate(&self) -> Result<(), Inconsistency> {
        let (mut capacity, mut used, mut idle) = (0, 0, 0);
        for (id, block) in self.blocks.iter().enumerate() {
            let Some(block) = block else { continue };
            capacity += block.capacity;
            used += block.used;
            ensure!(block.used <= block.capacity, "block {id} is overfull");
            let place = self.idle.get(block.idle_place as usize);
            let listed = place.is_some_and(|&listed| listed as usize == id);
            ensure!(listed == (block.used == 0), "block {id} is empty or listed, not both");
            ensure!(
                !listed || block.idle_since >= self.idle_since,
                "block {id} is empty for longer than any"
            );
            idle += usize::from(listed);
        }
        ensure!(capacity == self.capacity, "capacity {} is {capacity}", self.capacity);
        ensure!(used == self.used, "used {} is {used}", self.used);
        ensure!(idle == self.idle.len(), "{} idle, not {idle}", self.idle.len());
        let exist = self.blocks.iter().flatten().count();
        let vacant = self.blocks.len() - exist;
        ensure!(vacant == self.vacant.len(), "{} vacant, not {vacant}", self.vacant.len());
        Ok(())
    }
}

/// The blocks of a set, in order of their numbers.
#[derive(Clone, Debug)]
pub struct BlockIds<'a> {
    blocks: core::iter::Enumerate<core::slice::Iter<'a, Option<Block>>>,
}

impl Iterator for BlockIds<'_> {
    type Item = BlockId;

    fn next(&mut self) -> Option<BlockId> {
        let (id, _) = self.blocks.find(|(_, block)| block.is_some())?;
        Some(BlockId(id as u32))
    }
}
