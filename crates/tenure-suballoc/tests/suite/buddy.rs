//! The buddy suballocator.

use proptest::prelude::*;
use tenure_suballoc::{BlockError, Buddy, Suballocator};

use crate::model::one_range::{Op, Rules, play};
use crate::model::ranges::Ranges;
use crate::strategy::{config, many, op};

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

fn rules() -> impl Strategy<Value = BuddyRules> {
    let capacity = prop_oneof![
        2 => (10..21u32).prop_map(|log2| 1 << log2),
        5 => 1_024..1_000_000u64,
    ];
    let min_block = prop_oneof![3 => Just(16u64), 1 => Just(1u64), 1 => Just(256u64)];
    (capacity, min_block).prop_map(|(capacity, min_block)| BuddyRules { capacity, min_block })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn keeps_its_promises(rules in rules(), ops in many(op())) {
        play(&rules, &ops);
    }
}

#[test]
fn refuses_ranges_that_it_cannot_number() {
    let error = |capacity, min_block| Buddy::with_min_block(capacity, min_block).unwrap_err();
    assert_eq!(error(255, 256), BlockError::TooSmall { capacity: 255, min: 256 });
    assert_eq!(error(1024, 0), BlockError::BadGranule { granule: 0 });
    assert_eq!(error(1024, 48), BlockError::BadGranule { granule: 48 });
    let max = 256 << 26;
    assert_eq!(error(u64::MAX, 256), BlockError::TooLarge { capacity: u64::MAX, max });
}

#[test]
fn serves_the_largest_min_block() {
    let rules = BuddyRules { capacity: u64::MAX, min_block: 1 << 63 };
    let whole = Op::Allocate { size: 1, align: 1 };
    assert_eq!(play(&rules, &[whole, whole]), [Some((0, 1 << 63)), None]);
}

#[test]
fn reports_what_rounding_wastes() {
    let mut buddy = Buddy::new(1 << 20).unwrap();
    let small = buddy.allocate(1, 1).unwrap();
    let large = buddy.allocate(70_000, 256).unwrap();
    assert_eq!(buddy.requested_bytes(), 70_001);
    assert_eq!(buddy.internal_waste(), 255 + (131_072 - 70_000));
    buddy.free(small.handle).unwrap();
    assert_eq!(buddy.internal_waste(), 131_072 - 70_000);
    buddy.free(large.handle).unwrap();
    assert_eq!((buddy.requested_bytes(), buddy.internal_waste()), (0, 0));
}
