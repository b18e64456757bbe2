//! The pool of a class, divided among threads that contend for it, and how much the first shard lends another.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tenure_heap::{MemoryCounter, PoolTotals};

use super::objects::MemorySize;
use super::pool::{PoolShard, ShardTotals};
use crate::device::Device;

/// Shards that a class can have.
pub(crate) const MAX_SHARDS: usize = crate::config::MAX_POOL_SHARDS;

/// Threads are told apart up to this number, modulo it.
const THREAD_SLOTS: usize = 64;

/// A thread whose contention score within one window reaches this gets another shard.
const MAX_SCORE: u32 = 32;

/// Requests above this size always go to the first shard: they are few, and what a shard keeps in hand
/// for them is much.
const LARGEST: u64 = 64 << 10;

/// Bytes; pieces that the first shard lends begin at a multiple of it. What asks for more goes there itself.
pub(super) const PIECE_ALIGNMENT: u64 = 4 << 10;

/// The shards of a pool: the first, and further ones for threads that keep contending for it.
///
/// A thread begins with the first pool, and stays there for as long as it mostly has it to itself. So one
/// thread, or several that take turns, always get the same places: shards are made by contention alone.
///
/// Blocks belong to the first shard, which grows for all. It lends the others
/// [pieces], which come back when they are empty: after some frames, as blocks do, or
/// at once before the first shard grows.
pub(crate) struct Shards<D: Device> {
    first: PoolShard<D>,
    /// What the class has from the driver. Blocks count from when they are made until they are destroyed, with
    /// those that are in no pool yet or any more.
    pub(super) memory: MemoryCounter,
    others: Box<[OnceLock<Box<PoolShard<D>>>]>,
    /// For each thread its shard, and its contention score.
    thread_slots: Box<[ThreadSlot]>,
    /// Threads that got another shard so far.
    moves: AtomicU32,
    /// Frames that have ended. When a thread moves, a whole window is added, so that the scores of the threads that
    /// it contended with begin anew.
    frames: AtomicU32,
}

/// The frames of a window.
const WINDOW: u32 = 16;

/// The shard of a thread, the window in which it contended for that last (8 bits of its number), and its score in
/// this window.
#[derive(Default)]
struct ThreadSlot(AtomicU32);

impl ThreadSlot {
    /// The thread gets a shard, for which it has not contended so far.
    fn assign(&self, shard: usize) {
        self.0.store((shard as u32) << 16, Ordering::Relaxed);
    }

    #[inline]
    fn shard(&self) -> usize {
        (self.0.load(Ordering::Relaxed) >> 16) as usize
    }

    /// The thread has found its shard locked, which counts so much; its score in this window.
    /// Threads that have a slot in common may lose count.
    fn note_contention(&self, window: u32, weight: u32) -> u32 {
        let before = self.0.load(Ordering::Relaxed);
        let is_same_window = (before >> 8) & 0xff == window & 0xff;
        let sum = if is_same_window { (before & 0xff) + weight } else { weight };
        self.0.store((before >> 16) << 16 | (window & 0xff) << 8 | sum.min(0xff), Ordering::Relaxed);
        sum
    }
}

/// What contention for so many bytes counts: 1, and 1 more for each 4 KiB, because threads that share a pool write
/// into neighbouring memory, too, and its cache lines go to and fro.
fn weight(size: u64) -> u32 {
    1 + (size.min(LARGEST) >> 12) as u32
}

impl<D: Device> Shards<D> {
    /// With so many shards at most; one pool that all share with 1.
    pub(crate) fn new(first: PoolShard<D>, most: u32) -> Self {
        let others = (most as usize).clamp(1, MAX_SHARDS) - 1;
        let thread_slots = if others == 0 { 0 } else { THREAD_SLOTS };
        Self {
            first,
            memory: MemoryCounter::default(),
            others: (0..others).map(|_| OnceLock::new()).collect(),
            thread_slots: (0..thread_slots).map(|_| ThreadSlot::default()).collect(),
            moves: AtomicU32::new(0),
            frames: AtomicU32::new(0),
        }
    }

    /// Bytes of the memory type that its blocks are in.
    pub(super) const fn own(&self, size: u64) -> MemorySize {
        MemorySize { memory: self.first.class.memory, size }
    }

    /// The pool that all threads begin with, and that all large requests go to.
    pub(crate) const fn first(&self) -> &PoolShard<D> {
        &self.first
    }

    /// Whether it is the one whose blocks all divide.
    pub(crate) fn is_first(&self, pool: &PoolShard<D>) -> bool {
        pool.id == self.first.id
    }

    /// A frame has ended.
    pub(crate) fn end_frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }

    /// A shard that was made.
    #[inline]
    pub(crate) fn get(&self, shard: usize) -> Option<&PoolShard<D>> {
        match shard.checked_sub(1) {
            None => Some(&self.first),
            Some(other) => self.others.get(other)?.get().map(|pool| &**pool),
        }
    }

    /// The shards that were made.
    pub(crate) fn each(&self) -> impl Iterator<Item = &PoolShard<D>> {
        std::iter::once(&self.first)
            .chain(self.others.iter().filter_map(|pool| pool.get().map(|pool| &**pool)))
    }

    /// How many there are.
    pub(crate) fn made(&self) -> u32 {
        self.each().count() as u32
    }

    /// The sums over all shards, and the largest of their largest free ranges.
    pub(crate) fn totals(&self) -> ShardTotals {
        let totals = self.each().map(PoolShard::totals).fold(ShardTotals::default(), ShardTotals::with);
        // The shards' peaks are of different times.
        let peak_used = totals.pool.peak_used.min(totals.pool.peak_capacity);
        ShardTotals { pool: PoolTotals { peak_used, ..totals.pool }, ..totals }
    }

    /// Bytes taken from the driver, now and at most.
    pub(crate) fn reserved(&self) -> (u64, u64) {
        (self.memory.now(), self.memory.peak())
    }

    #[inline]
    fn thread_slot(&self) -> Option<&ThreadSlot> {
        self.thread_slots.get(crate::thread_slot::current() % THREAD_SLOTS)
    }

    /// The shard that the current thread takes such a range from, and whether it contends with another thread there.
    #[inline]
    pub(crate) fn of_thread(&self, size: u64, align: u64) -> (&PoolShard<D>, bool) {
        let thread = crate::thread_slot::current();
        match self.thread_slots.get(thread % THREAD_SLOTS) {
            Some(slot) if Self::divides(size, align) => {
                // A slot names a shard that was made.
                let pool = self.get(slot.shard()).unwrap_or(&self.first);
                (pool, pool.meets(thread))
            }
            _ => (&self.first, false),
        }
    }

    /// Whether such requests are divided among shards.
    #[inline]
    pub(crate) const fn divides(size: u64, align: u64) -> bool {
        size <= LARGEST && align <= PIECE_ALIGNMENT
    }

    /// Whether the current thread alone is expected to work with a shard.
    #[inline]
    pub(crate) fn is_of_thread(&self, shard: usize) -> bool {
        self.thread_slot().is_none_or(|slot| slot.shard() == shard)
    }

    /// The thread has found its shard locked when it wanted so many bytes; when that was often, it gets
    /// another. `make` makes the one with this number.
    #[cold]
    pub(crate) fn note_contention(&self, size: u64, make: impl FnOnce(usize) -> Option<PoolShard<D>>) {
        let Some(slot) = self.thread_slot() else { return };
        if slot.note_contention(self.frames.load(Ordering::Relaxed) / WINDOW, weight(size)) < MAX_SCORE {
            return;
        }
        self.frames.fetch_add(WINDOW, Ordering::Relaxed);
        let next = self.moves.fetch_add(1, Ordering::Relaxed) as usize % self.others.len();
        let is_made = self.others[next].get().is_some();
        if !is_made && let Some(pool) = make(next + 1) {
            // Another thread may have been faster, with one just like it.
            let _was_empty = self.others[next].set(Box::new(pool));
        }
        let shard = if self.others[next].get().is_some() { next + 1 } else { slot.shard() };
        slot.assign(shard);
    }
}

/// A piece is about this part of what the borrower has. What is still empty of it is not lost: other threads fill
/// its holes before the driver is asked for memory. Many small pieces are worse, because none is packed across its ends.
const PIECE_PART: u64 = 16;

/// Bytes; the smallest piece to begin with, and the largest.
const MIN_PIECE: u64 = 64 << 10;
const MAX_PIECE: u64 = 8 << 20;

/// A piece serves at least so many requests like the one that it is taken for, where blocks are large enough.
const PIECE_REQUESTS: u64 = 4;

/// The sizes of pieces to try for a request of `size` bytes, in bytes, best first: powers of two, down to
/// what is hardly worth it. `taken` is what the borrower has in use, `block` how large blocks can be.
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
    fn pieces_follow_what_the_borrower_has() {
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
