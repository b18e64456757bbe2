//! Finding a resource in a tracker without hashing.
//!
//! Every live [`Tracker`](super::Tracker) holds one of a few slots, and every cell has a number
//! for each slot: where the tracker in that slot keeps the resource. The number may be left over
//! from an earlier recording, so it is believed only when the resource is really found there
//! (Briggs and Torczon's sparse set). Nobody else writes a slot's numbers while its tracker
//! lives, so what is not found there is not in the tracker. Trackers beyond the slots use a map.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// How many trackers can be live at once before one needs a map.
const SLOTS: usize = 8;

/// Bit *i* is set while slot *i* is held.
static HELD: AtomicU8 = AtomicU8::new(0);

/// A slot, given back when dropped.
#[derive(Debug)]
pub(super) struct Slot(usize);

impl Slot {
    /// The lowest free slot, if any.
    pub(super) fn acquire() -> Option<Self> {
        let taken = HELD.fetch_update(Ordering::Acquire, Ordering::Relaxed, |held| {
            (held != u8::MAX).then(|| held | (held + 1))
        });
        taken.ok().map(|held| Self(held.trailing_ones() as usize))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        HELD.fetch_and(!(1 << self.0), Ordering::Release);
    }
}

/// The numbers of one cell.
#[derive(Debug, Default)]
pub(super) struct Hints([AtomicU32; SLOTS]);

impl Hints {
    /// Where the slot's tracker last put the resource.
    pub(super) fn get(&self, slot: &Slot) -> usize {
        self.0[slot.0].load(Ordering::Relaxed) as usize
    }

    /// Says where the slot's tracker keeps the resource.
    pub(super) fn set(&self, slot: &Slot, index: usize) {
        // An index beyond 32 bits needs 2^32 live resources; its hint is simply never believed.
        self.0[slot.0].store(u32::try_from(index).unwrap_or(u32::MAX), Ordering::Relaxed);
    }
}
