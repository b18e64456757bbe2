//! The pool of a class, divided among threads that get into each other's way.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::objects::Taken;
use super::pool::{Pool, PoolTotals};
use crate::device::Device;

/// Shards that a class can have.
pub(crate) const MAX_SHARDS: usize = 16;

/// Threads are told apart up to this number, modulo it.
const SEATS: usize = 64;

/// A thread whose meetings in one era weigh so much looks for another shard.
const MEETINGS: u32 = 32;

/// Requests above this size always go to the first shard: they are few, and what a shard keeps in hand
/// for them is much.
const LARGEST: u64 = 64 << 10;

/// Bytes; pieces that the first shard lends begin at a multiple of it. What asks for more goes there itself.
pub(super) const PIECE_ALIGNMENT: u64 = 4 << 10;

/// A pool, and further ones that threads take over from it when they keep meeting there.
///
/// A thread begins with the first pool, and stays there for as long as it mostly has it to itself. So one
/// thread, or several that take turns, always get the same places: shards are made by contention alone.
///
/// Blocks belong to the first shard, which grows for all. It lends the others
/// [pieces](super::lending), which come back when they are empty: after some frames of grace, as blocks do, or
/// at once before the first shard grows.
pub(crate) struct Shards<D: Device> {
    first: Pool<D>,
    /// What the class has from the driver. Blocks count from when they are made until they are destroyed, with
    /// those that are in no pool yet or any more.
    pub(super) taken: Taken,
    others: Box<[OnceLock<Box<Pool<D>>>]>,
    /// For each thread the shard it goes to, and what it met there.
    seats: Box<[Seat]>,
    /// Seats changed so far.
    moves: AtomicU32,
    /// Frames that have ended. When a thread moves, a whole era is added: those that it met begin to count
    /// anew.
    frames: AtomicU32,
}

/// The frames of an era.
const ERA: u32 = 16;

/// The shard that a thread goes to, the era in which it found that taken last (8 bits of its number), and
/// what these meetings weigh.
#[derive(Default)]
struct Seat(AtomicU32);

impl Seat {
    /// A thread goes to a shard, which it has not found taken so far.
    fn assign(&self, shard: usize) {
        self.0.store((shard as u32) << 16, Ordering::Relaxed);
    }

    #[inline]
    fn shard(&self) -> usize {
        (self.0.load(Ordering::Relaxed) >> 16) as usize
    }

    /// The thread has found its shard taken, and that weighs so much; what all its meetings in this era do.
    /// Threads that have a seat in common may lose count.
    fn meet(&self, era: u32, weight: u32) -> u32 {
        let before = self.0.load(Ordering::Relaxed);
        let is_same_era = (before >> 8) & 0xff == era & 0xff;
        let sum = if is_same_era { (before & 0xff) + weight } else { weight };
        self.0.store((before >> 16) << 16 | (era & 0xff) << 8 | sum.min(0xff), Ordering::Relaxed);
        sum
    }
}

/// What a meeting over so many bytes weighs: threads that share a pool write into each other's memory, too,
/// and its cache lines go to and fro.
fn weight(size: u64) -> u32 {
    1 + (size.min(LARGEST) >> 12) as u32
}

impl<D: Device> Shards<D> {
    /// With so many shards at most; one pool that all share with 1.
    pub(crate) fn new(first: Pool<D>, most: u32) -> Self {
        let others = (most as usize).clamp(1, MAX_SHARDS) - 1;
        let seats = if others == 0 { 0 } else { SEATS };
        Self {
            first,
            taken: Taken::default(),
            others: (0..others).map(|_| OnceLock::new()).collect(),
            seats: (0..seats).map(|_| Seat::default()).collect(),
            moves: AtomicU32::new(0),
            frames: AtomicU32::new(0),
        }
    }

    /// The pool that all threads begin with, and that all large requests go to.
    pub(crate) const fn first(&self) -> &Pool<D> {
        &self.first
    }

    /// Whether it is the one whose blocks all divide.
    pub(crate) fn is_first(&self, pool: &Pool<D>) -> bool {
        pool.id == self.first.id
    }

    /// A frame has ended.
    pub(crate) fn end_frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }

    /// A shard that was made.
    #[inline]
    pub(crate) fn get(&self, shard: usize) -> Option<&Pool<D>> {
        match shard.checked_sub(1) {
            None => Some(&self.first),
            Some(other) => self.others.get(other)?.get().map(|pool| &**pool),
        }
    }

    /// The shards that were made.
    pub(crate) fn each(&self) -> impl Iterator<Item = &Pool<D>> {
        std::iter::once(&self.first)
            .chain(self.others.iter().filter_map(|pool| pool.get().map(|pool| &**pool)))
    }

    /// How many there are.
    pub(crate) fn made(&self) -> u32 {
        self.each().count() as u32
    }

    /// The sums over all shards, and the largest of their largest free ranges.
    pub(crate) fn totals(&self) -> PoolTotals {
        let totals = self.each().map(Pool::totals).fold(PoolTotals::default(), PoolTotals::with);
        // The shards' peaks are of different times.
        PoolTotals { peak_used: totals.peak_used.min(totals.peak_capacity), ..totals }
    }

    /// Bytes taken from the driver, now and at most.
    pub(crate) fn reserved(&self) -> (u64, u64) {
        (self.taken.now(), self.taken.peak())
    }

    #[inline]
    fn seat(&self) -> Option<&Seat> {
        self.seats.get(crate::thread_slot::current() % SEATS)
    }

    /// The shard that the current thread takes such a range from, and whether it meets another thread there.
    #[inline]
    pub(crate) fn of_thread(&self, size: u64, align: u64) -> (&Pool<D>, bool) {
        let thread = crate::thread_slot::current();
        match self.seats.get(thread % SEATS) {
            Some(seat) if Self::divides(size, align) => {
                // A seat is given with a shard that was made.
                let pool = self.get(seat.shard()).unwrap_or(&self.first);
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

    /// Whether nobody but the current thread is expected to work with a shard.
    #[inline]
    pub(crate) fn is_of_thread(&self, shard: usize) -> bool {
        self.seat().is_none_or(|seat| seat.shard() == shard)
    }

    /// The thread has found its shard taken when it wanted so many bytes; when that was often, it gets
    /// another. `make` makes the one with this number.
    #[cold]
    pub(crate) fn note_meeting(&self, size: u64, make: impl FnOnce(usize) -> Option<Pool<D>>) {
        let Some(seat) = self.seat() else { return };
        if seat.meet(self.frames.load(Ordering::Relaxed) / ERA, weight(size)) < MEETINGS {
            return;
        }
        self.frames.fetch_add(ERA, Ordering::Relaxed);
        let next = self.moves.fetch_add(1, Ordering::Relaxed) as usize % self.others.len();
        let is_made = self.others[next].get().is_some();
        if !is_made && let Some(pool) = make(next + 1) {
            // Another thread may have been faster, with one just like it.
            let _was_empty = self.others[next].set(Box::new(pool));
        }
        let shard = if self.others[next].get().is_some() { next + 1 } else { seat.shard() };
        seat.assign(shard);
    }
}
