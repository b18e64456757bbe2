//! Tensors of language models in training: peaks over the lower bound.

#[path = "../../../tenure-plan/tests/common/models.rs"]
mod generator;

use std::time::Duration;

use tenure_plan::PlanConfig;

use super::measure::{most, tenure};
use crate::table::table;
use crate::timing::mean;

/// The number of schedules of each model.
const SEEDS: u64 = 8;

/// Prints the peaks and times.
pub(super) fn print() {
    let rows = generator::MODELS.iter().flat_map(|model| {
        let schedules: Vec<_> = (0..SEEDS).map(|seed| model.tensors(seed)).collect();
        let count = schedules[0].len();
        [0, 100, 300, 1000].map(|limit| {
            let options = PlanConfig::new().time(Duration::from_millis(limit));
            let planned = schedules.iter().map(|items| {
                let (micros, plan) = tenure(items, &options, 1);
                (plan.peak as f64 / plan.lower_bound as f64, micros / 1e3)
            });
            let (ratios, times): (Vec<_>, Vec<_>) = planned.unzip();
            let proven = ratios.iter().filter(|ratio| **ratio <= 1.0).count();
            let (ratio, highest, time) = (mean(&ratios), most(&ratios), mean(&times));
            let name = model.name;
            format!(
                "{name} | {count} | {limit} | {ratio:.4} | {highest:.4} | {proven} of {SEEDS} | {time:.1}"
            )
        })
    });
    let header = "weights | tensors | limit, ms | peak / bound, mean | max | at the bound | ms, mean";
    println!("Language models in training, {SEEDS} schedules each.\n\n{}\n", table(header, rows));
}
