//! The buddy suballocator.

use proptest::prelude::*;
use tenure_suballoc::{BlockError, Buddy, Suballocator};

use crate::model::buddy::BuddyRules;
use crate::model::one_range::{Op, play};
use crate::strategy::{config, many, op};

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
fn reports_internal_waste() {
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
