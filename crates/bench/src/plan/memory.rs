//! How much memory planning takes at its peak, beyond the items themselves.

use std::hint::black_box;

use tenure_plan::{Options, plan};

use super::measure::table;
use super::random::{Lifetimes, random};
use crate::counting::Count;
use crate::table::row;

pub(super) fn report() -> String {
    let rows = Lifetimes::ALL
        .into_iter()
        .flat_map(|lifetimes| [2_000, 10_000, 100_000, 1_000_000].map(|count| of(lifetimes, count)));
    let header = ["lifetimes", "items", "one pass, MiB", "bytes an item", "by default, MiB", "bytes an item"];
    format!("Memory at its peak, beyond the items themselves.\n\n{}\n", table(&header, rows))
}

fn of(lifetimes: Lifetimes, count: u64) -> Vec<String> {
    let items = random(lifetimes, count, 0);
    let cells = [Options::new().nodes(0), Options::new()].map(|options| {
        let counted = Count::start();
        assert!(black_box(plan(&items, &options)).is_ok(), "the items can be planned");
        let bytes = counted.peak() as f64;
        row![format!("{:.2}", bytes / f64::from(1 << 20)), format!("{:.0}", bytes / count as f64)]
    });
    [row![lifetimes.name(), count], cells.concat()].concat()
}
