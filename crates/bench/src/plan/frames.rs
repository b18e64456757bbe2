//! Frames of a renderer.

use std::time::Duration;

use tenure_plan::{Item, PlanConfig};

use super::measure::{tallies, tenure, timed};
use super::{ROUNDS, peers, sources};

/// Prints the peaks on frames, on variants of them, and on frames with several alignments.
pub(super) fn print() {
    let frames: Vec<Vec<Item>> = sources::frames().into_iter().map(|(_, items)| items).collect();
    let count = frames.iter().map(Vec::len).sum::<usize>() as f64 / frames.len().max(1) as f64;
    let within = |micros| PlanConfig::new().time(Duration::from_micros(micros));
    let efforts = [
        ("tenure, one pass", PlanConfig::new().nodes(0)),
        ("tenure, within 100 µs", within(100)),
        ("tenure, within 500 µs", within(500)),
        ("tenure, by default", PlanConfig::new()),
    ];
    let ours = |frames: &[Vec<Item>], rounds| {
        efforts.map(|(name, options)| (name.to_owned(), planned(frames, &options, rounds)))
    };
    let theirs = peers::ALL.map(|peer| {
        let cases = frames.iter().map(|items| {
            let bound = tenure(items, &PlanConfig::new().nodes(0), 1).1.lower_bound;
            let (micros, peak) = timed(3, || (peer.peak)(items));
            (peak, bound, micros)
        });
        (peer.name.to_owned(), cases.collect())
    });
    println!(
        "Frames: {} with {count:.0} resources on average. Peak over lower bound, and time for a plan.\n\n{}\n",
        frames.len(),
        tallies(theirs.into_iter().chain(ours(&frames, 20 * ROUNDS)))
    );
    let variants = (0..).zip(&frames).flat_map(|(seed, items)| {
        let thinned = [seed, seed + 1000].map(|seed| sources::thinned(items, seed));
        [sources::mirrored(items), sources::shuffled(items, seed)].into_iter().chain(thinned)
    });
    let variants: Vec<_> = variants.collect();
    println!(
        "The same frames mirrored in time, shuffled, and twice without 3 to 10 % of the resources.\n\n{}\n\n",
        tallies(ours(&variants, 4 * ROUNDS))
    );
}

/// Prints the peaks on frames with several alignments.
pub(super) fn print_aligned() {
    let frames: Vec<_> = sources::frames().iter().map(|(_, items)| aligned(items)).collect();
    let rows = [("one pass", 0), ("20,000 placements", 20_000)].map(|(effort, nodes)| {
        let cases = planned(&frames, &PlanConfig::new().nodes(nodes), ROUNDS);
        (format!("4 KiB, 64 KiB and 4 MiB, {effort}"), cases)
    });
    println!(
        "Frames with several alignments. Peak over lower bound, which may be less than a plan can have.\n\n{}\n",
        tallies(rows)
    );
}

fn planned(frames: &[Vec<Item>], options: &PlanConfig, rounds: usize) -> Vec<(u64, u64, f64)> {
    let case = |items: &Vec<Item>| {
        let (micros, plan) = tenure(items, options, rounds);
        (plan.peak, plan.lower_bound, micros)
    };
    frames.iter().map(case).collect()
}

/// Sizes that are no multiples of the coarsest alignment.
fn aligned(items: &[Item]) -> Vec<Item> {
    const KIB: u64 = 1024;
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
