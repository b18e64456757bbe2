//! The pool of a class, sharded among contending threads, and the sizes of pieces lent by the first shard.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tenure_heap::MemoryLimits;

use super::PoolKind;
use super::api_objects::{MemorySize, PartMemory};
use super::shard::{PoolShard, ShardTotals};
use crate::config::MAX_POOL_SHARDS;
use crate::device::Device;

/// The number of thread slots: thread numbers are taken modulo this.
const THREAD_SLOTS: usize = 64;

/// The contention score within one window at which a thread gets another shard.
const MAX_SCORE: u32 = 32;

/// Requests above this size always use the first shard: they are few, and a shard would keep much unused memory
/// for them.
const LARGEST: u64 = 64 << 10;

/// Alignment in bytes of the pieces lent by the first shard. Requests with a larger alignment use the first
/// shard.
pub(super) const PIECE_ALIGNMENT: u64 = 4 << 10;

/// The shards of a pool: the first, and further ones for threads that keep contending for it.
///
/// A thread begins with the first shard, and stays there while contention is rare. One thread, or several that
/// take turns, therefore always get the same placement: only contention creates shards.
///
/// Blocks belong to the first shard, which grows for all. It lends pieces to the others. Empty pieces are
/// returned after some frames, as blocks are freed, or immediately before the first shard grows.
pub struct Shards<D: Device> {
    first: PoolShard<D>,
    /// The driver memory of the class. Blocks count from creation to destruction, including the time before they
    /// enter a pool and after they left it.
    pub(super) memory: PartMemory,
    others: Box<[OnceLock<Box<PoolShard<D>>>]>,
    /// The shard and the contention score of each thread.
    thread_slots: Box<[ThreadSlot]>,
    /// The number of times that a thread got another shard.
    moves: AtomicU32,
    /// Frames ended. When a thread moves, a whole window is added, so that the scores of the threads that
    /// contended with it restart.
    frames: AtomicU32,
}

/// The frames of a window.
const WINDOW: u32 = 16;

/// The shard of a thread, the window of its last contention (8 bits of the window's number), and its score in
/// that window.
#[derive(Default)]
struct ThreadSlot(AtomicU32);

impl ThreadSlot {
    /// Assigns a shard to the thread, with a score of 0.
    fn assign(&self, shard: usize) {
        self.0.store((shard as u32) << 16, Ordering::Relaxed);
    }

    #[inline]
    fn shard(&self) -> usize {
        (self.0.load(Ordering::Relaxed) >> 16) as usize
    }

    /// Notes that the thread found its shard locked, with this weight; returns its score in this window. Threads
    /// that share a slot may lose counts.
    fn note_contention(&self, window: u32, weight: u32) -> u32 {
        let before = self.0.load(Ordering::Relaxed);
        let is_same_window = (before >> 8) & 0xff == window & 0xff;
        let sum = if is_same_window { (before & 0xff) + weight } else { weight };
        self.0.store((before >> 16) << 16 | (window & 0xff) << 8 | sum.min(0xff), Ordering::Relaxed);
        sum
    }
}

/// The weight of contention for `size` bytes: 1, plus 1 for each 4 KiB, because threads that share a pool also
/// write to neighbouring memory, and contend for its cache lines.
fn weight(size: u64) -> u32 {
    1 + (size.min(LARGEST) >> 12) as u32
}

impl<D: Device> Shards<D> {
    /// A pool of at most `most` shards. With 1, all threads share one.
    pub fn new(first: PoolShard<D>, most: u32) -> Self {
        let others = (most as usize).clamp(1, MAX_POOL_SHARDS) - 1;
        let thread_slots = if others == 0 { 0 } else { THREAD_SLOTS };
        Self {
            first,
            memory: PartMemory::default(),
            others: (0..others).map(|_| OnceLock::new()).collect(),
            thread_slots: (0..thread_slots).map(|_| ThreadSlot::default()).collect(),
            moves: AtomicU32::new(0),
            frames: AtomicU32::new(0),
        }
    }

    /// A size in the memory type of its blocks.
    pub(super) const fn own(&self, size: u64) -> MemorySize {
        MemorySize { memory: self.first.class.memory, size }
    }

    /// The shard that all threads begin with, and that serves all large requests.
    pub const fn first(&self) -> &PoolShard<D> {
        &self.first
    }

    /// Ends a frame.
    pub fn end_frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }

    /// An existing shard.
    #[inline]
    pub fn get(&self, shard: usize) -> Option<&PoolShard<D>> {
        match shard.checked_sub(1) {
            None => Some(&self.first),
            Some(other) => self.others.get(other)?.get().map(|pool| &**pool),
        }
    }

    /// The existing shards.
    pub fn each(&self) -> impl Iterator<Item = &PoolShard<D>> {
        // The others are created for threads that move to them.
        let others = if self.moves.load(Ordering::Relaxed) == 0 { &[][..] } else { &self.others };
        std::iter::once(&self.first).chain(others.iter().filter_map(|pool| pool.get().map(|pool| &**pool)))
    }

    /// The number of existing shards.
    pub fn made(&self) -> u32 {
        self.each().count() as u32
    }

    /// The sizes of a new block for a range, in the order of attempts. A sharded pool grows in smaller steps, to
    /// compensate for memory kept by shards.
    pub(super) fn block_sizes(
        &self,
        limits: &MemoryLimits,
        size: u64,
        align: u64,
    ) -> impl Iterator<Item = u64> + Clone + use<D> {
        let PoolShard { growth, class, .. } = self.first;
        // Slots lie in heaps of another pool.
        let growth = if class.kind == PoolKind::SmallBuffers { growth } else { limits.scale(growth) };
        let steps = if self.made() > 1 { 4 } else { 1 };
        growth.sizes(size, align, self.first.lock().pool.taken() / steps)
    }

    /// The sums over all shards, and the largest free range of all.
    pub fn totals(&self) -> ShardTotals {
        let mut totals = self.each().map(PoolShard::totals).fold(ShardTotals::default(), ShardTotals::with);
        // The peaks of the shards occurred at different times.
        totals.pool.peak_used = totals.pool.peak_used.min(totals.pool.peak_capacity);
        totals
    }

    /// Bytes taken from the driver, and their peak.
    pub fn reserved(&self) -> (u64, u64) {
        (self.memory.all().now(), self.memory.all().peak())
    }

    #[inline]
    fn thread_slot(&self) -> Option<&ThreadSlot> {
        self.thread_slots.get(crate::thread_slot::current() % THREAD_SLOTS)
    }

    /// The shard from which the current thread takes a range, and whether another thread contends for it.
    #[inline]
    pub fn of_thread(&self, size: u64, align: u64) -> (&PoolShard<D>, bool) {
        let thread = crate::thread_slot::current();
        match self.thread_slots.get(thread % THREAD_SLOTS) {
            Some(slot) if Self::divides(size, align) => {
                // A slot refers to an existing shard.
                let pool = self.get(slot.shard()).unwrap_or(&self.first);
                (pool, pool.meets(thread))
            }
            _ => (&self.first, false),
        }
    }

    /// Whether requests of this size and alignment are sharded.
    #[inline]
    pub const fn divides(size: u64, align: u64) -> bool {
        size <= LARGEST && align <= PIECE_ALIGNMENT
    }

    /// Whether only the current thread is expected to use a shard.
    #[inline]
    pub fn is_of_thread(&self, shard: usize) -> bool {
        self.thread_slot().is_none_or(|slot| slot.shard() == shard)
    }

    /// Notes that the thread found its shard locked when it requested `size` bytes; after frequent contention it
    /// gets another shard. `make` creates the shard with a given number.
    #[cold]
    pub fn note_contention(&self, size: u64, make: impl FnOnce(usize) -> Option<PoolShard<D>>) {
        let Some(slot) = self.thread_slot() else { return };
        if slot.note_contention(self.frames.load(Ordering::Relaxed) / WINDOW, weight(size)) < MAX_SCORE {
            return;
        }
        self.frames.fetch_add(WINDOW, Ordering::Relaxed);
        let next = self.moves.fetch_add(1, Ordering::Relaxed) as usize % self.others.len();
        let is_made = self.others[next].get().is_some();
        if !is_made && let Some(pool) = make(next + 1) {
            // Another thread may have been faster, with an equal shard.
            let _was_empty = self.others[next].set(Box::new(pool));
        }
        let shard = if self.others[next].get().is_some() { next + 1 } else { slot.shard() };
        slot.assign(shard);
    }
}

/// Divisor of the borrower's memory for the size of a piece. Its unused remainder is not lost: other threads
/// fill its holes before memory is requested from the driver. Many small pieces are worse, because no range
/// crosses their ends.
const PIECE_PART: u64 = 16;

/// Minimum size of a first piece, in bytes, and the maximum size.
const MIN_PIECE: u64 = 64 << 10;
const MAX_PIECE: u64 = 8 << 20;

/// Minimum number of requests of the same size served by a piece, if blocks are large enough.
const PIECE_REQUESTS: u64 = 4;

/// The sizes of pieces to try for a request of `size` bytes, in bytes, best first: powers of two, down to sizes
/// that are hardly worth lending. `taken`: bytes used by the borrower; `block`: size of the largest block.
pub(super) fn pieces(taken: u64, size: u64, block: u64) -> impl Iterator<Item = u64> {
    let most = MAX_PIECE.min(block).max(1);
    let least =
        size.saturating_mul(PIECE_REQUESTS).clamp(MIN_PIECE / 4, MAX_PIECE).next_power_of_two().min(most);
    let wanted = (taken / PIECE_PART).clamp(MIN_PIECE, MAX_PIECE).next_power_of_two().min(most).max(least);
    std::iter::successors(Some(wanted), |piece| Some(piece / 2)).take_while(move |piece| *piece >= least)
}

#[cfg(test)]
mod tests {
    use super::pieces;

    fn all(taken: u64, size: u64) -> Vec<u64> {
        pieces(taken, size, 32 << 20).collect()
    }

    #[test]
    fn pieces_follow_the_size_of_the_borrower() {
        assert_eq!(all(0, 100), [64 << 10, 32 << 10, 16 << 10]);
        assert_eq!(all(2 << 20, 20_000), [128 << 10]);
        assert_eq!(all(4 << 20, 20_000), [256 << 10, 128 << 10]);
        assert_eq!(all(u64::MAX, 1 << 20)[0], 8 << 20, "but they stay pieces");
    }

    #[test]
    fn a_piece_serves_several_requests() {
        for size in [1, 4095, 4096, 20_000, 65_535] {
            for taken in [0, 1 << 20, 1 << 40] {
                let sizes = all(taken, size);
                assert!(!sizes.is_empty());
                for piece in sizes {
                    assert!(piece >= 4 * size && piece.is_power_of_two(), "{piece} for {size}");
                }
            }
        }
    }

    #[test]
    fn a_small_block_is_lent_whole() {
        assert_eq!(pieces(0, 40_000, 64 << 10).collect::<Vec<_>>(), [64 << 10]);
        assert_eq!(pieces(1 << 30, 100, 64 << 10).collect::<Vec<_>>(), [64 << 10, 32 << 10, 16 << 10]);
    }
}
