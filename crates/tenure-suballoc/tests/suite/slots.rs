//! The indexed slots.

use proptest::prelude::*;
use tenure_suballoc::Slots;

use crate::model::slots::{Op, play};
use crate::strategy::{config, many};

fn op() -> impl Strategy<Value = Op> {
    let count = prop_oneof![
        60 => Just(1u32),
        60 => 1..=16u32,
        20 => 1..=2_000u32,
        1 => prop_oneof![Just(0), Just(u32::MAX)],
    ];
    prop_oneof![
        1000 => count.prop_map(|count| Op::Allocate { count }),
        20 => any::<i8>().prop_map(|more| Op::AllocateLargest { more }),
        850 => any::<u32>().prop_map(|nth| Op::Free { nth }),
        40 => any::<u32>().prop_map(|nth| Op::FreeAgain { nth }),
        1 => Just(Op::Clear),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn keep_their_promises(capacity in 1..100_000u32, ops in many(op())) {
        play(capacity, &ops, 1);
    }
}

#[test]
fn refuse_capacities_that_they_cannot_number() {
    assert!(Slots::new(0).is_err());
    assert!(Slots::new(u32::MAX).is_err());
    assert_eq!(Slots::new(1 << 31).unwrap().allocate(1 << 31).unwrap().first, 0);
}
