//! The linear suballocator.

use proptest::prelude::*;
use tenure_suballoc::Linear;

use crate::model::linear::{Op, play};
use crate::strategy::{align, config, many, size};

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        100 => (size(), align()).prop_map(|(size, align)| Op::Allocate { size, align }),
        2 => (any::<i8>(), align()).prop_map(|(more, align)| Op::AllocateRest { more, align }),
        1 => Just(Op::Reset),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn counts_like_unbounded_numbers(
        start in prop_oneof![Just(0), 0..1_000_000u64, (0..1_000_000u64).prop_map(|x| u64::MAX - x)],
        capacity in prop_oneof![0..100u64, 0..10_000_000u64, Just(u64::MAX)],
        ops in many(op()),
    ) {
        play(start, capacity, &ops);
    }
}

#[test]
fn offsets_begin_at_the_start() {
    let mut linear = Linear::with_start(100, 1_000);
    assert_eq!(linear.start(), 100);
    assert_eq!(linear.allocate(10, 1), Some(100));
    assert_eq!(linear.allocate(10, 256), Some(256));
    assert_eq!(linear.allocate(835, 1), None);
    assert_eq!(linear.allocate(834, 1), Some(266));
}
