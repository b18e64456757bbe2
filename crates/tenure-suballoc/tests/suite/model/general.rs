//! The contract of the general allocator.

use tenure_suballoc::General;

use super::one_range::Rules;
use super::ranges::Ranges;

#[derive(Clone, Copy, Debug)]
pub(crate) struct GeneralRules {
    pub(crate) capacity: u64,
    pub(crate) granule: u64,
}

impl GeneralRules {
    /// The rounding of a number of granules by size classes.
    fn class_width(units: u64) -> u64 {
        if units < 256 { 0 } else { units / 128 }
    }
}

impl Rules for GeneralRules {
    type Allocator = General;

    fn make(&self) -> General {
        General::new(self.capacity, self.granule).unwrap()
    }

    fn capacity(&self) -> u64 {
        self.capacity / self.granule * self.granule
    }

    fn reserved(&self, size: u64, _align: u64) -> (u64, u64) {
        let least = size.next_multiple_of(self.granule);
        (least, least + 2 * (least / 32))
    }

    fn must_serve(&self, live: &Ranges, size: u64, align: u64) -> bool {
        if live.len() == 0 {
            return true;
        }
        let units = size.div_ceil(self.granule);
        let padding = (align / self.granule).max(1) - 1;
        let need = units.saturating_add(padding);
        live.largest_hole() / self.granule >= need.saturating_add(Self::class_width(need))
    }

    fn never_serves(&self, size: u64, _align: u64) -> bool {
        size > self.capacity()
    }

    fn floor_slack(&self, largest_free: u64) -> u64 {
        Self::class_width(largest_free / self.granule) * self.granule
    }
}
