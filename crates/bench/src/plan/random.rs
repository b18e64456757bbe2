//! Many items at random: peaks and times, and the memory that planning takes at its peak, beyond the items themselves.

use std::hint::black_box;

use tenure_plan::{Item, PlanConfig, plan};

use super::ROUNDS;
use super::measure::{most, tenure};
use crate::counting::Count;
use crate::suballoc::rng::Rng;
use crate::table::table;
use crate::timing::mean;

/// The lifetimes of random items: at most 50 of as many times as there are items; from anywhere to anywhere; one in ten
/// uniform, the others short.
const LIFETIMES: [(&str, u64); 3] = [("short", 0), ("uniform", 100), ("mixed", 10)];

/// Items of log-uniform sizes up to a million; `uniform` percent of them have uniform lifetimes.
fn random(uniform: u64, count: u64, seed: u64) -> Vec<Item> {
    let mut rng = Rng::new(seed);
    let item = |_| {
        let is_uniform = match uniform {
            0 => false,
            100 => true,
            part => rng.percent(part),
        };
        let lifetime = if is_uniform {
            let (a, b) = (rng.below(count), rng.below(count));
            a.min(b)..a.max(b) + 1
        } else {
            let first = rng.below(count);
            first..first + 1 + rng.below(50)
        };
        Item::new(lifetime, 1e6f64.powf(rng.unit()) as u64)
    };
    (0..count).map(item).collect()
}

/// Prints the peaks and times.
pub(super) fn print() {
    let mut rows = Vec::new();
    for (count, seeds, efforts) in [(10_000, 5, &[0, 30_000][..]), (100_000, 5, &[0]), (1_000_000, 2, &[0])] {
        for (name, uniform) in LIFETIMES {
            for nodes in efforts {
                let planner = match nodes {
                    0 => "tenure, one pass".to_owned(),
                    nodes => format!("tenure, {nodes} placements more"),
                };
                let rounds = if count > 10_000 { 1 } else { ROUNDS };
                let planned = (0..seeds).map(|seed| {
                    let (micros, plan) =
                        tenure(&random(uniform, count, seed), &PlanConfig::new().nodes(*nodes), rounds);
                    (plan.peak as f64 / plan.lower_bound as f64, micros / 1e3)
                });
                let (ratios, times): (Vec<_>, Vec<_>) = planned.unzip();
                let (ratio, highest) = (mean(&ratios), most(&ratios));
                let (time, slowest) = (mean(&times), most(&times));
                rows.push(format!(
                    "{planner} | {count} | {name} | {ratio:.4} | {highest:.4} | {time:.1} | {slowest:.1}"
                ));
            }
        }
    }
    let header = "planner | items | lifetimes | peak / bound, mean | max | ms, mean | ms, max";
    println!("Random items, log-uniform sizes.\n\n{}\n", table(header, rows));
}

/// Prints the memory of planning.
pub(super) fn print_memory() {
    let counts = [2_000, 10_000, 100_000, 1_000_000];
    let rows = LIFETIMES.into_iter().flat_map(|(name, uniform)| {
        counts.map(|count| {
            let items = random(uniform, count, 0);
            let [once, default] = [PlanConfig::new().nodes(0), PlanConfig::new()].map(|options| {
                let counted = Count::start();
                assert!(black_box(plan(&items, &options)).is_ok(), "the items can be planned");
                let bytes = counted.peak() as f64;
                format!("{:.2} | {:.0}", bytes / f64::from(1 << 20), bytes / count as f64)
            });
            format!("{name} | {count} | {once} | {default}")
        })
    });
    let header = "lifetimes | items | one pass, MiB | bytes an item | by default, MiB | bytes an item";
    println!("Memory at its peak, beyond the items themselves.\n\n{}\n", table(header, rows));
}
