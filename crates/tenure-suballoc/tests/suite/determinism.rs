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

    #[test]
    fn a_cleared_range_is_like_a_new_one(rules in rules(), before in many(op()), after in many(op())) {
        let is_old = |op: &&Op| !matches!(op, Op::FreeAgain { .. });
        let after: Vec<Op> = after.iter().filter(is_old).copied().collect();
        let both = [&before[..], &[Op::Clear], &after].concat();
        let results = play(&rules, &both);
        let fresh = play(&rules, &after);
        prop_assert_eq!(&results[results.len() - fresh.len()..], &fresh);
    }
}
