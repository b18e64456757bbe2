//! Timing, and figures over many cases.

use std::hint::black_box;
use std::time::Instant;

use comfy_table::{CellAlignment, Table};
use tenure_plan::{Item, Options, Plan, check, plan};

use crate::table::row;
use crate::timing::median;

/// The median of some rounds, in microseconds, and what the last one returned.
pub(super) fn timed<T>(rounds: usize, mut run: impl FnMut() -> T) -> (f64, T) {
    let mut times = Vec::new();
    let mut time = || {
        let begin = Instant::now();
        let outcome = black_box(run());
        times.push(begin.elapsed().as_secs_f64() * 1e6);
        outcome
    };
    let mut outcome = time();
    for _ in 1..rounds {
        outcome = time();
    }
    (median(times).unwrap_or_default(), outcome)
}

/// A plan of tenure, checked, and its time in microseconds.
pub(super) fn tenure(items: &[Item], options: &Options, rounds: usize) -> (f64, Plan) {
    let (micros, plan) = timed(rounds, || plan(items, options).expect("the items can be planned"));
    assert_eq!(check(items, &plan.offsets), Ok(plan.peak), "the plan is not valid");
    (micros, plan)
}

/// Peaks over lower bounds, and times.
#[derive(Default)]
pub(super) struct Tally {
    ratios: Vec<f64>,
    micros: Vec<f64>,
}

impl Tally {
    pub(super) fn add(&mut self, peak: u64, lower_bound: u64, micros: f64) {
        self.ratios.push(peak as f64 / lower_bound.max(1) as f64);
        self.micros.push(micros);
    }

    /// Mean, 90th percentile and maximum of the ratio, the share at the bound, mean and maximum time.
    pub(super) fn row(&self, name: &str) -> Vec<String> {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let at_bound = sorted.iter().filter(|ratio| **ratio <= 1.0).count();
        row![
            name,
            format!("{:.4}", mean(&sorted)),
            format!("{:.3}", sorted[(sorted.len() * 9 / 10).min(sorted.len() - 1)]),
            format!("{:.3}", sorted[sorted.len() - 1]),
            format!("{:.1} %", 100.0 * at_bound as f64 / sorted.len() as f64),
            format!("{:.1}", mean(&self.micros)),
            format!("{:.1}", self.micros.iter().copied().fold(0.0, f64::max)),
        ]
    }
}

pub(super) const TALLY_HEADER: [&str; 7] =
    ["planner", "mean", "p90", "max", "at the bound", "µs, mean", "µs, max"];

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// A table with all columns but the first aligned to the right.
pub(super) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = crate::table::table(header, rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
