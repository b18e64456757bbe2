//! The contract of the buddy suballocator.

use tenure_suballoc::Buddy;

use super::one_range::Rules;
use super::ranges::Ranges;

#[derive(Clone, Copy, Debug)]
pub(crate) struct BuddyRules {
    pub(crate) capacity: u64,
    pub(crate) min_block: u64,
}

impl BuddyRules {
    fn need(&self, size: u64, align: u64) -> Option<u64> {
        size.max(align).max(self.min_block).checked_next_power_of_two()
    }

    fn max_block(&self) -> u64 {
        1 << self.capacity().ilog2()
    }

    /// The largest power of two that fits into a hole at a multiple of itself.
    fn largest_block(&self, hole: (u64, u64)) -> u64 {
        let (start, size) = hole;
        let logs = (self.min_block.ilog2()..64).rev();
        let fits = |block: &u64| {
            let offset = start.checked_next_multiple_of(*block);
            offset.is_some_and(|offset| offset - start <= size && size - (offset - start) >= *block)
        };
        logs.map(|log2| 1 << log2).find(fits).unwrap_or(0)
    }
}

impl Rules for BuddyRules {
    type Allocator = Buddy;

    fn make(&self) -> Buddy {
        Buddy::with_min_block(self.capacity, self.min_block).unwrap()
    }

    fn capacity(&self) -> u64 {
        self.capacity / self.min_block * self.min_block
    }

    fn reserved(&self, size: u64, align: u64) -> (u64, u64) {
        let need = self.need(size, align).unwrap();
        (need, need)
    }

    fn must_serve(&self, live: &Ranges, size: u64, align: u64) -> bool {
        self.need(size, align).is_some_and(|need| need <= self.largest_free(live))
    }

    fn never_serves(&self, size: u64, align: u64) -> bool {
        self.need(size, align).is_none_or(|need| need > self.max_block())
    }

    fn largest_free(&self, live: &Ranges) -> u64 {
        live.holes().map(|hole| self.largest_block(hole)).max().unwrap_or(0)
    }

    fn merges(&self) -> bool {
        false
    }

    fn floor_slack(&self, _largest_free: u64) -> u64 {
        0
    }

    fn check(&self, buddy: &Buddy, live: &Ranges) {
        assert_eq!(buddy.requested_bytes() + buddy.internal_waste(), live.used());
    }
}
