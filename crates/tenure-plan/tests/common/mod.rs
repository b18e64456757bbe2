//! Items for tests, and the checks of every plan.

#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

pub(crate) mod brute;
pub(crate) mod models;
pub(crate) mod planted;
pub(crate) mod sources;

use tenure_plan::{Item, Plan, PlanConfig, check, plan};
pub(crate) use test_random::Rng;

/// Plans, and checks the properties of every plan.
pub(crate) fn planned(items: &[Item], options: &PlanConfig) -> Plan {
    let plan = plan(items, options).unwrap();
    assert_eq!(check(items, &plan.offsets), Ok(plan.peak));
    assert!(plan.lower_bound <= plan.peak, "{} > {}", plan.lower_bound, plan.peak);
    assert_eq!(plan.proven, plan.lower_bound == plan.peak);
    assert_eq!(plan.classes.iter().map(|class| class.peak).sum::<u64>(), plan.peak);
    assert_eq!(plan.classes.iter().map(|class| class.lower_bound).sum::<u64>(), plan.lower_bound);
    plan
}

/// A log-uniform number in `[1, most]`.
pub(crate) fn log_uniform(rng: &mut Rng, most: f64) -> u64 {
    most.powf(rng.unit()) as u64
}
