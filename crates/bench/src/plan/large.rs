//! Many items at random.

use tenure_plan::Options;

use super::ROUNDS;
use super::measure::{mean, table, tenure};
use super::random::{Lifetimes, random};
use crate::table::row;

const SEEDS: u64 = 5;

pub(super) fn report() -> String {
    let mut rows = Vec::new();
    for (count, seeds, nodes) in
        [(10_000, SEEDS, &[0, 30_000][..]), (100_000, SEEDS, &[0]), (1_000_000, 2, &[0])]
    {
        for lifetimes in Lifetimes::ALL {
            rows.extend(nodes.iter().map(|nodes| row(lifetimes, count, *nodes, seeds)));
        }
    }
    let header = ["planner", "items", "lifetimes", "peak / bound, mean", "max", "ms, mean", "ms, max"];
    format!("Random items, log-uniform sizes.\n\n{}\n", table(&header, rows))
}

fn row(lifetimes: Lifetimes, count: u64, nodes: u64, seeds: u64) -> Vec<String> {
    let name = match nodes {
        0 => "tenure, one pass".to_owned(),
        nodes => format!("tenure, {nodes} placements more"),
    };
    let rounds = if count > 10_000 { 1 } else { ROUNDS };
    let (ratios, times): (Vec<_>, Vec<_>) = (0..seeds)
        .map(|seed| {
            let items = random(lifetimes, count, seed);
            let (micros, plan) = tenure(&items, &Options::new().nodes(nodes), rounds);
            (plan.peak as f64 / plan.lower_bound as f64, micros / 1e3)
        })
        .unzip();
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    row![
        name,
        count,
        lifetimes.name(),
        format!("{:.4}", mean(&ratios)),
        format!("{:.4}", most(&ratios)),
        format!("{:.1}", mean(&times)),
        format!("{:.1}", most(&times)),
    ]
}
