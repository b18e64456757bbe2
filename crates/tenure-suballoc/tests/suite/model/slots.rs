//! Operations of `Slots`, and the check of their contract.

use tenure_suballoc::{AllocError, FreeError, Handle, SlotRange, Slots};

use super::ranges::{Live, Ranges};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Allocate { count: u32 },
    AllocateLargest { more: i8 },
    Free { nth: u32 },
    FreeAgain { nth: u32 },
    Clear,
}

/// Plays the operations, checks each, and compares the whole state after every `every` operations.
pub(crate) fn play(capacity: u32, ops: &[Op], every: usize) {
    let mut player = Player {
        slots: Slots::new(capacity).unwrap(),
        live: Ranges::new(u64::from(capacity)),
        freed: Vec::new(),
    };
    for (step, op) in ops.iter().enumerate() {
        player.step(*op);
        if step.is_multiple_of(every) {
            player.check();
        }
    }
    player.slots.validate().unwrap();
    while player.live.len() > 0 {
        player.free(player.live.len() / 2);
    }
    player.check();
}

fn live(range: SlotRange) -> Live {
    Live { offset: u64::from(range.first), size: u64::from(range.count), handle: range.handle }
}

struct Player {
    slots: Slots,
    live: Ranges,
    freed: Vec<Handle>,
}

impl Player {
    fn step(&mut self, op: Op) {
        match op {
            Op::Allocate { count } => self.allocate(count),
            Op::AllocateLargest { more } => {
                let largest = self.slots.largest_free();
                self.allocate(largest.saturating_add_signed(i32::from(more)));
            }
            Op::Free { nth } if self.live.len() > 0 => self.free(nth as usize % self.live.len()),
            Op::FreeAgain { nth } if !self.freed.is_empty() => {
                let handle = self.freed[nth as usize % self.freed.len()];
                assert_eq!(self.slots.free(handle), Err(FreeError::DoubleFree));
                assert_eq!(self.slots.get(handle), None);
            }
            Op::Clear => {
                self.slots.clear();
                self.freed.extend(self.live.clear().map(|live| live.handle));
                for &handle in &self.freed {
                    assert_eq!(self.slots.free(handle), Err(FreeError::DoubleFree));
                }
            }
            Op::Free { .. } | Op::FreeAgain { .. } => {}
        }
    }

    fn allocate(&mut self, count: u32) {
        match self.slots.allocate(count) {
            Ok(range) => {
                assert_eq!(range.count, count);
                assert_eq!(self.slots.get(range.handle), Some(range));
                self.live.insert(live(range));
            }
            Err(AllocError::ZeroSize) => assert_eq!(count, 0),
            Err(AllocError::TooLarge { .. }) => assert!(count > self.slots.capacity()),
            Err(error) => {
                assert!(matches!(error, AllocError::Full { .. }), "{error:?}");
                let need = if count < 256 { count } else { count + count / 128 };
                assert!(self.live.largest_hole() < u64::from(need), "refused {count}");
            }
        }
    }

    fn free(&mut self, index: usize) {
        let gone = self.live.remove(index);
        let freed = self.slots.free(gone.handle).unwrap();
        assert_eq!((u64::from(freed.0), u64::from(freed.1)), (gone.offset, gone.size));
        self.freed.push(gone.handle);
    }

    fn check(&self) {
        let free = self.live.capacity() - self.live.used();
        assert_eq!(u64::from(self.slots.free_count()), free);
        assert_eq!(u64::from(self.slots.largest_free()), self.live.largest_hole());
        assert_eq!(self.slots.is_empty(), self.live.len() == 0);
        let holes = self.slots.holes().map(|hole| u64::from(hole.start)..u64::from(hole.end));
        self.live.check_walks(self.slots.allocations().map(live), holes, true);
    }
}
