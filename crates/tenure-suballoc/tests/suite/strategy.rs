//! Strategies of the property tests.

use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::model::one_range::Op;

/// The maximum number of operations of a case; the average is half of it.
const OPS: usize = 8_000;
/// Cases of a test: a million operations.
const CASES: u32 = 260;

/// A million operations, and enough steps to shrink a long failure to a short one.
pub(crate) fn config() -> Config {
    Config { cases: CASES, max_shrink_iters: 20_000, failure_persistence: None, ..Config::default() }
}

pub(crate) fn many<T: std::fmt::Debug>(op: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(op, 0..OPS)
}

pub(crate) fn size() -> impl Strategy<Value = u64> {
    prop_oneof![
        80 => 1..=300u64,
        40 => 1..=5_000u64,
        10 => 1..=100_000u64,
        1 => Just(0),
        1 => (0..=300u64).prop_map(|less| u64::MAX - less),
        1 => (0..64u32).prop_map(|log2| 1 << log2),
    ]
}

pub(crate) fn align() -> impl Strategy<Value = u64> {
    prop_oneof![
        40 => Just(1u64),
        40 => (0..9u32).prop_map(|log2| 1 << log2),
        4 => (0..64u32).prop_map(|log2| 1 << log2),
        1 => prop_oneof![Just(0), Just(3), Just(u64::MAX)],
    ]
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        1000 => (size(), align()).prop_map(|(size, align)| Op::Allocate { size, align }),
        20 => (any::<i8>(), align()).prop_map(|(more, align)| Op::AllocateLargest { more, align }),
        850 => any::<u32>().prop_map(|nth| Op::Free { nth }),
        40 => any::<u32>().prop_map(|nth| Op::FreeAgain { nth }),
        10 => Just(Op::FreeForeign),
        1 => Just(Op::Fill),
        1 => Just(Op::Clear),
    ]
}
