//! How much memory planning takes at its peak, beyond the items themselves.

use std::hint::black_box;

use tenure_plan::{Options, plan};

use super::measure::table;
use super::random::{Lifetimes, random};
use crate::counting::Count;

/// The most bytes that `run` had allocated at once, and what it returned. One at a time.
fn peak_of<T>(run: impl FnOnce() -> T) -> (usize, T) {
    let count = Count::start();
    let outcome = black_box(run());
    (count.peak(), outcome)
}

pub(super) fn report(with_million: bool) -> String {
    let mut counts = vec![2_000, 10_000, 100_000];
    if with_million {
        counts.push(1_000_000);
    }
    let mut rows = Vec::new();
    for lifetimes in [Lifetimes::Short, Lifetimes::Uniform, Lifetimes::Mixed] {
        for &count in &counts {
            rows.push(of(lifetimes, count));
        }
    }
    let header = ["lifetimes", "items", "one pass, MiB", "bytes an item", "by default, MiB", "bytes an item"];
    format!("Memory at its peak, beyond the items themselves.\n\n{}\n", table(&header, rows))
}

fn of(lifetimes: Lifetimes, count: u64) -> Vec<String> {
    let items = random(lifetimes, count, 0);
    let cells = [Options::new().nodes(0), Options::new()].map(|options| {
        let (bytes, plan) = peak_of(|| plan(&items, &options));
        assert!(plan.is_ok(), "the items can be planned");
        [format!("{:.2}", bytes as f64 / f64::from(1 << 20)), format!("{:.0}", bytes as f64 / count as f64)]
    });
    let name = format!("{lifetimes:?}").to_lowercase();
    [name, count.to_string()].into_iter().chain(cells.into_iter().flatten()).collect()
}
