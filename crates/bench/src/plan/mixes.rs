//! Frames with several alignments.

use tenure_plan::{Item, Options};

use super::measure::{TALLY_HEADER, Tally, table, tenure};
use super::{ROUNDS, sources};

const KIB: u64 = 1024;

pub(super) fn report() -> String {
    let frames: Vec<_> = sources::frames().iter().map(|(_, items)| aligned(items)).collect();
    let rows = [("one pass", 0), ("20,000 placements", 20_000)].map(|(effort, nodes)| {
        let mut tally = Tally::default();
        for items in &frames {
            let (micros, plan) = tenure(items, &Options::new().nodes(nodes), ROUNDS);
            tally.add(plan.peak, plan.lower_bound, micros);
        }
        tally.row(&format!("4 KiB, 64 KiB and 4 MiB, {effort}"))
    });
    format!(
        "Frames with several alignments. Peak over lower bound, which may be less than a plan can have.\n\n{}\n",
        table(&TALLY_HEADER, rows)
    )
}

/// Sizes that are no multiples of the coarsest alignment.
fn aligned(items: &[Item]) -> Vec<Item> {
    let aligned = |(at, item): (usize, &Item)| {
        let (unit, alignment) = match at % 7 {
            0 => (4 * KIB, 4 * KIB),
            1 => (64 * KIB, 4096 * KIB),
            _ => (64 * KIB, 64 * KIB),
        };
        Item { size: item.size * unit, alignment, ..*item }
    };
    items.iter().enumerate().map(aligned).collect()
}
