//! Timing, and figures over many cases.

use std::hint::black_box;
use std::time::Instant;

use comfy_table::Table;
use tenure_plan::{Item, Plan, PlanConfig, check, plan};

use crate::table::table;
use crate::timing::{mean, median};

/// The median of some rounds, in microseconds, and the result of the last one.
pub(super) fn timed<T>(rounds: usize, mut run: impl FnMut() -> T) -> (f64, T) {
    let mut times = Vec::new();
    loop {
        let begin = Instant::now();
        let outcome = black_box(run());
        times.push(begin.elapsed().as_secs_f64() * 1e6);
        if times.len() >= rounds {
            return (median(times).unwrap_or_default(), outcome);
        }
    }
}

/// A plan of tenure, checked, and its time in microseconds.
pub(super) fn tenure(items: &[Item], options: &PlanConfig, rounds: usize) -> (f64, Plan) {
    let (micros, plan) = timed(rounds, || plan(items, options).expect("the items can be planned"));
    assert_eq!(check(items, &plan.offsets), Ok(plan.peak), "the plan is not valid");
    (micros, plan)
}

/// A table of the quality of plans: of each, for each case, the peak, the lower bound, and the microseconds.
pub(super) fn tallies(planners: impl IntoIterator<Item = (String, Vec<(u64, u64, f64)>)>) -> Table {
    let rows = planners.into_iter().map(|(name, cases)| {
        let mut ratios: Vec<_> =
            cases.iter().map(|(peak, bound, _)| *peak as f64 / *bound.max(&1) as f64).collect();
        ratios.sort_by(f64::total_cmp);
        let micros: Vec<_> = cases.iter().map(|(.., micros)| *micros).collect();
        let at_bound =
            100.0 * ratios.iter().filter(|ratio| **ratio <= 1.0).count() as f64 / ratios.len() as f64;
        let p90 = ratios[(ratios.len() * 9 / 10).min(ratios.len() - 1)];
        let (ratio, highest) = (mean(&ratios), most(&ratios));
        let (micros, slowest) = (mean(&micros), most(&micros));
        format!(
            "{name} | {ratio:.4} | {p90:.3} | {highest:.3} | {at_bound:.1} % | {micros:.1} | {slowest:.1}"
        )
    });
    table("planner | mean | p90 | max | at the bound | µs, mean | µs, max", rows)
}

/// The largest value.
pub(super) fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}
