//! The same calls give the same offsets, and refused calls leave no trace.

use proptest::prelude::*;

use crate::general::rules;
use crate::model::one_range::{Op, play};
use crate::strategy::{config, many, op};

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..config() })]

    #[test]
    fn a_run_repeats_and_refusals_do_not_matter(rules in rules(), ops in many(op())) {
        let first = play(&rules, &ops);
        prop_assert_eq!(&play(&rules, &ops), &first);
        let mut results = first.iter();
        let is_allocation = |op: &Op| {
            matches!(op, Op::Allocate { .. } | Op::AllocateLargest { .. })
        };
        let mut served = ops.clone();
        served.retain(|op| match op {
            Op::FreeAgain { .. } | Op::FreeForeign => false,
            op if is_allocation(op) => results.next().is_some_and(Option::is_some),
            _ => true,
        });
        let first: Vec<_> = first.into_iter().filter(Option::is_some).collect();
        prop_assert_eq!(play(&rules, &served), first);
    }
}
