//! The buddy suballocator: ranges of powers of two.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use crate::bit_tree::BitTree;
use crate::error::ensure;
use crate::handle::Owner;
use crate::suballocator::check_request;
use crate::{
    AllocError, Allocation, BlockError, FilledPiece, FreeError, Freed, Handle, Inconsistency, Suballocator,
};

/// Maximum number of smallest blocks in a range. Their numbers must fit a handle, and each has metadata.
const MAX_UNITS: u64 = 1 << 26;

/// Number of bits of a state with the order of a block in use, plus one; the others count its uses.
const ORDER_BITS: u32 = 5;
const ORDER_MASK: u32 = (1 << ORDER_BITS) - 1;

/// Divides one range into blocks whose sizes are powers of two.
///
/// Every block is aligned to its own size for free, and blocks split and merge predictably: suitable for sizes
/// that are powers of two. Its downside is the rounding, which wastes a quarter of the memory on average for
/// other sizes; [`internal_waste`](Self::internal_waste) returns the waste.
///
/// # Algorithm
/// The blocks of an order (a power of two times the smallest block) are at multiples of their size, and each but
/// the largest has a buddy, with which it forms a block of the next order. An allocation takes the lowest free
/// block of the lowest sufficient order, and halves it until it fits. A freed block merges with its buddy while
/// that is free, too. The free blocks of an order are a tree of bitmaps, not a list: taking the lowest keeps the
/// high addresses free, and the buddy's state is one bit.
///
/// A capacity that is not a power of two is a row of blocks of decreasing sizes (its binary digits), the largest
/// at 0; a remainder of less than a smallest block is not managed. The first block is the largest possible
/// allocation.
///
/// # Efficiency
/// Allocating and freeing are O(orders that are split or merged), each step touching one to four words (log₆₄
/// of the blocks). `largest_free` is O(1). 12 bytes for each smallest block, zeroed and untouched until
/// used, and a few bits.
///
/// # Origin
/// Knowlton, *A Fast Storage Allocator*, 1965; Knuth, *The Art of Computer Programming* 1, 2.5.
///
/// ```
/// use tenure_suballoc::{Buddy, Suballocator};
///
/// let mut heap = Buddy::new(4 << 20)?;
/// let constants = heap.allocate(1000, 256)?;
/// assert_eq!(constants.size, 1024);
/// assert_eq!(heap.internal_waste(), 24);
/// heap.free(constants.handle)?;
/// assert_eq!(heap.largest_free(), 4 << 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Buddy {
    /// log₂ of the smallest block.
    min_log2: u32,
    /// Smallest blocks in the range.
    units: u32,
    /// The free blocks of each order, by their index within the order.
    free: Vec<BitTree>,
    /// The orders with a free block, one bit each.
    free_orders: u32,
    /// For the first smallest block of each block in use: the number of its uses, and the order plus one. The
    /// order bits are 0 everywhere else.
    states: Vec<u32>,
    /// The requested bytes of each block in use, by the number of its first smallest block.
    requested: Vec<u64>,
    free_units: u32,
    requested_bytes: u64,
    owner: Owner,
}

/// The state of a block once it is no longer in use.
#[inline]
const fn freed(state: u32) -> u32 {
    (state & !ORDER_MASK).wrapping_add(1 << ORDER_BITS)
}

/// A block in use or free, by its first unit.
struct Block {
    unit: u32,
    order: u32,
    in_use: bool,
}

impl Buddy {
    /// The default size of the smallest block, in bytes.
    pub const DEFAULT_MIN_BLOCK: u64 = 256;

    /// Manages `0..capacity`, rounded down to the smallest block,
    /// [`DEFAULT_MIN_BLOCK`](Self::DEFAULT_MIN_BLOCK).
    ///
    /// # Errors
    /// [`BlockError`] when the capacity is less than one smallest block or more than 2²⁶.
    pub fn new(capacity: u64) -> Result<Self, BlockError> {
        Self::with_min_block(capacity, Self::DEFAULT_MIN_BLOCK)
    }

    /// Manages `0..capacity`, rounded down to the smallest block, `min_block` bytes.
    ///
    /// # Errors
    /// [`BlockError`] as for [`new`](Self::new), or if `min_block` is not a power of two.
    pub fn with_min_block(capacity: u64, min_block: u64) -> Result<Self, BlockError> {
        if !min_block.is_power_of_two() {
            return Err(BlockError::BadGranule { granule: min_block });
        }
        if capacity < min_block {
            return Err(BlockError::TooSmall { capacity, min: min_block });
        }
        let min_log2 = min_block.trailing_zeros();
        let units = capacity >> min_log2;
        if units > MAX_UNITS {
            return Err(BlockError::TooLarge { capacity, max: MAX_UNITS.saturating_mul(min_block) });
        }
        Ok(Self::with_units(units as u32, min_log2))
    }

    fn with_units(units: u32, min_log2: u32) -> Self {
        let top_order = units.ilog2();
        let mut buddy = Self {
            min_log2,
            units,
            free: (0..=top_order).map(|order| BitTree::new(units >> order)).collect(),
            free_orders: 0,
            states: vec![0; units as usize],
            requested: vec![0; units as usize],
            free_units: units,
            requested_bytes: 0,
            owner: Owner::next(),
        };
        let mut unit = 0;
        for order in (0..=top_order).rev().filter(|order| units >> order & 1 != 0) {
            buddy.insert_free(order, unit >> order);
            unit += 1 << order;
        }
        buddy
    }

    /// The handle of a live allocation, as [`General::live_handle`](crate::General::live_handle). O(1).
    ///
    /// # Errors
    /// [`FreeError`] for values that do not identify a live allocation of this allocator.
    #[inline]
    pub fn live_handle(&self, raw: [u64; 2]) -> Result<Handle, FreeError> {
        let handle = Handle::from_raw(raw, self.owner).ok_or(FreeError::Foreign)?;
        self.get(handle).map(|range| range.handle).ok_or(FreeError::DoubleFree)
    }

    /// The smallest block, in bytes.
    #[must_use]
    pub fn min_block(&self) -> u64 {
        1 << self.min_log2
    }

    /// The largest block that an empty range has, in bytes: less than the capacity unless that is a
    /// power of two.
    #[must_use]
    pub fn max_block(&self) -> u64 {
        self.order_bytes(self.top_order())
    }

    /// Requested bytes of all allocations, before rounding. O(1).
    #[must_use]
    pub fn requested_bytes(&self) -> u64 {
        self.requested_bytes
    }

    /// Bytes allocated beyond those requested, because sizes are rounded up. O(1).
    #[must_use]
    pub fn internal_waste(&self) -> u64 {
        self.capacity() - self.free_bytes() - self.requested_bytes
    }

    fn top_order(&self) -> u32 {
        self.units.ilog2()
    }

    #[inline]
    fn order_bytes(&self, order: u32) -> u64 {
        1 << (self.min_log2 + order)
    }

    /// The lowest order whose blocks have `bytes` and are aligned to it.
    #[inline]
    fn order_for(&self, bytes: u64) -> u32 {
        let log2 = u64::BITS - (bytes - 1).leading_zeros();
        log2.saturating_sub(self.min_log2)
    }

    #[inline]
    fn insert_free(&mut self, order: u32, index: u32) {
        self.free[order as usize].insert(index);
        self.free_orders |= 1 << order;
    }

    #[inline]
    fn remove_free(&mut self, order: u32, index: u32) {
        let set = &mut self.free[order as usize];
        set.remove(index);
        if set.is_empty() {
            self.free_orders &= !(1 << order);
        }
    }

    /// Takes the lowest free block of the lowest order from `order` on, and halves it down to `order`. Returns
    /// its first unit.
    #[inline]
    fn take(&mut self, order: u32) -> Option<u32> {
        let large_enough = self.free_orders & (u32::MAX << order);
        if large_enough == 0 {
            return None;
        }
        let found = large_enough.trailing_zeros();
        let index = self.free[found as usize].first()?;
        self.remove_free(found, index);
        let unit = index << found;
        for half in order..found {
            self.insert_free(half, (unit >> half) + 1);
        }
        Some(unit)
    }

    /// Frees the block at `unit`, and merges it upwards.
    #[inline]
    fn free_and_merge(&mut self, unit: u32, order: u32) {
        let mut order = order;
        let mut index = unit >> order;
        while self.buddy_is_free(order, index) {
            self.remove_free(order, index ^ 1);
            index >>= 1;
            order += 1;
        }
        self.insert_free(order, index);
    }

    /// Whether the buddy of a block is free. The last block of an order may have no complete buddy before the end
    /// of the range; then the bit of the buddy's index exists, but is never set.
    #[inline]
    fn buddy_is_free(&self, order: u32, index: u32) -> bool {
        self.free[order as usize].contains(index ^ 1)
    }

    /// The order of the block in use that begins at `unit`, if there is one.
    #[inline]
    fn order_in_use(&self, unit: u32) -> Option<u32> {
        (self.states[unit as usize] & ORDER_MASK).checked_sub(1)
    }

    /// The order of the free block that contains `unit`, if there is one.
    fn order_of_hole(&self, unit: u32) -> Option<u32> {
        let is_free = |order: &u32| {
            // The set does not include the units behind the last whole block of an order.
            let index = unit >> order;
            index < self.units >> order && self.free[*order as usize].contains(index)
        };
        (0..=self.top_order()).find(is_free)
    }

    /// The blocks, in use or free, from the first on.
    fn blocks(&self) -> impl Iterator<Item = Block> {
        let mut unit = 0;
        core::iter::from_fn(move || {
            let block = self.block_at(unit)?;
            unit += 1 << block.order;
            Some(block)
        })
    }

    /// The block, in use or free, that begins at a unit; `None` behind the last.
    fn block_at(&self, unit: u32) -> Option<Block> {
        if unit >= self.units {
            return None;
        }
        let in_use = self.order_in_use(unit);
        let order = in_use.or_else(|| self.order_of_hole(unit))?;
        Some(Block { unit, order, in_use: in_use.is_some() })
    }

    #[inline(always)]
    fn allocation(&self, unit: u32, order: u32, tag: u32) -> Allocation {
        Allocation {
            offset: u64::from(unit) << self.min_log2,
            size: self.order_bytes(order),
            padding: 0,
            handle: Handle::new(self.owner, 0, unit, tag),
        }
    }

    /// Marks a block as in use that is in no set of free ones.
    #[inline(always)]
    fn occupy(&mut self, unit: u32, order: u32, size: u64) -> Allocation {
        let tag = self.states[unit as usize] | (order + 1);
        self.states[unit as usize] = tag;
        self.requested[unit as usize] = size;
        self.requested_bytes += size;
        self.free_units -= 1 << order;
        self.allocation(unit, order, tag)
    }

    /// Frees the block at `unit`, whose state is already that of a freed block.
    #[inline(always)]
    fn release(&mut self, unit: u32, order: u32) {
        self.requested_bytes -= self.requested[unit as usize];
        self.free_units += 1 << order;
        self.free_and_merge(unit, order);
    }

    #[cold]
    fn full(&self, size: u64, align: u64) -> AllocError {
        AllocError::Full { size, align, free_bytes: self.free_bytes(), largest_free: self.largest_free() }
    }
}

impl Suballocator for Buddy {
    /// Allocates the larger of `size` and `align`, rounded up to a power of two.
    ///
    /// # Errors
    /// [`AllocError`]; it is `TooLarge` when size or alignment is above
    /// [`max_block`](Buddy::max_block).
    #[inline]
    fn allocate(&mut self, size: u64, align: u64) -> Result<Allocation, AllocError> {
        check_request(size, align)?;
        let need = size.max(align);
        let order = self.order_for(need);
        if order > self.top_order() {
            return Err(AllocError::TooLarge { size: need, capacity: self.max_block() });
        }
        let Some(unit) = self.take(order) else {
            return Err(self.full(size, align));
        };
        Ok(self.occupy(unit, order, size))
    }

    #[inline]
    fn free(&mut self, handle: Handle) -> Result<Freed, FreeError> {
        if !handle.is_of(self.owner) {
            return Err(FreeError::Foreign);
        }
        let unit = handle.slot();
        match self.states.get_mut(unit as usize) {
            Some(state) if *state == handle.tag() => *state = freed(*state),
            _ => return Err(FreeError::DoubleFree),
        }
        let order = (handle.tag() & ORDER_MASK) - 1;
        self.release(unit, order);
        Ok(Freed { offset: u64::from(unit) << self.min_log2, size: self.order_bytes(order), padding: 0 })
    }

    fn fill(
        &mut self,
        after: Option<Handle>,
        most: usize,
        pieces: &mut Vec<FilledPiece<Allocation>>,
    ) -> bool {
        let after = after.and_then(|handle| self.get(handle));
        let mut unit = after.map_or(0, |range| ((range.offset + range.size) >> self.min_log2) as u32);
        for _ in 0..most {
            let Some(Block { order, in_use, .. }) = self.block_at(unit) else { break };
            let range = if in_use {
                self.allocation(unit, order, self.states[unit as usize])
            } else {
                self.remove_free(order, unit >> order);
                self.occupy(unit, order, self.order_bytes(order))
            };
            pieces.push(FilledPiece { range, was_free: !in_use });
            unit += 1 << order;
        }
        unit >= self.units
    }

    /// Frees one block after the other. O(blocks in use and free · orders).
    fn clear(&mut self) {
        let mut unit = 0;
        while unit < self.units {
            // The block freed last may have merged with a free block that begins here.
            unit = if let Some(order) = self.order_in_use(unit) {
                let state = &mut self.states[unit as usize];
                *state = freed(*state);
                self.release(unit, order);
                unit + (1 << order)
            } else {
                let order = self.order_of_hole(unit).unwrap_or(0);
                ((unit >> order) + 1) << order
            };
        }
    }

    #[inline]
    fn get(&self, handle: Handle) -> Option<Allocation> {
        let (unit, tag) = (handle.slot(), handle.tag());
        if !handle.is_of(self.owner) || self.states.get(unit as usize) != Some(&tag) {
            return None;
        }
        Some(self.allocation(unit, self.order_in_use(unit)?, tag))
    }

    /// O(orders) for each visited free block, otherwise O(1).
    fn allocations(&self) -> impl Iterator<Item = Allocation> {
        let in_use = self.blocks().filter(|block| block.in_use);
        in_use.map(|Block { unit, order, .. }| self.allocation(unit, order, self.states[unit as usize]))
    }

    /// The free blocks; adjacent ones that are not buddies are listed separately. O(orders) each.
    fn holes(&self) -> impl Iterator<Item = Range<u64>> {
        let bytes = |unit: u32| u64::from(unit) << self.min_log2;
        let holes = self.blocks().filter(|block| !block.in_use);
        holes.map(move |Block { unit, order, .. }| bytes(unit)..bytes(unit + (1 << order)))
    }

    fn capacity(&self) -> u64 {
        u64::from(self.units) << self.min_log2
    }

    fn free_bytes(&self) -> u64 {
        u64::from(self.free_units) << self.min_log2
    }

    /// The largest free block. O(1). Two adjacent free blocks that are not buddies count as two.
    fn largest_free(&self) -> u64 {
        match self.free_orders {
            0 => 0,
            orders => self.order_bytes(orders.ilog2()),
        }
    }

    fn sure_fit(&self, size: u64, align: u64) -> u64 {
        if check_request(size, align).is_err() {
            return u64::MAX;
        }
        let need = size.max(align).max(self.min_block());
        need.checked_next_power_of_two().unwrap_or(u64::MAX)
    }

    fn validate(&self) -> Result<(), Inconsistency> {
        let mut covered = vec![0u8; self.units as usize];
        let mut claim = |unit: u32, order: u32| {
            let range = unit as usize..(unit as usize + (1 << order));
            let Some(range) = covered.get_mut(range) else {
                return false;
            };
            range.iter_mut().all(|unit| core::mem::replace(unit, 1) == 0)
        };
        let mut free = 0;
        for (order, set) in (0..).zip(&self.free) {
            let marked = self.free_orders >> order & 1 != 0;
            ensure!(marked != set.is_empty(), "order {order}: the mark and the set differ");
            for index in set.iter() {
                ensure!(claim(index << order, order), "order {order}: {index} overlaps");
                ensure!(!self.buddy_is_free(order, index), "order {order}: {index} unmerged");
                free += 1 << order;
            }
        }
        ensure!(free == self.free_units, "{free} units are free, not {}", self.free_units);
        let mut requested = 0;
        for (unit, &state) in (0..).zip(&self.states) {
            if let Some(order) = (state & ORDER_MASK).checked_sub(1) {
                ensure!(claim(unit, order), "the block at {unit} overlaps");
                ensure!(unit.trailing_zeros() >= order, "the block at {unit} is misplaced");
                requested += self.requested[unit as usize];
            }
        }
        ensure!(covered.iter().all(|&unit| unit == 1), "some units are neither in use nor free");
        ensure!(
            requested == self.requested_bytes,
            "{requested} bytes were requested, not {}",
            self.requested_bytes
        );
        Ok(())
    }
}
