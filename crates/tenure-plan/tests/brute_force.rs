//! Comparison of plans of a few items with all possible plans: bounds and proofs are correct.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use common::brute::lowest_peak;
use common::{Rng, planned};
use tenure_plan::{Item, PlanConfig};

const MOST: u64 = 40;

/// Counts of plans compared with the optimum.
#[derive(Debug, Default)]
struct Tally {
    cases: u32,
    above_load: u32,
    proven: u32,
    best: u32,
}

/// Plans `cases` lists of items, with several budgets.
fn compare(seed: u64, cases: u32, draw: impl Fn(&mut Rng) -> Vec<Item>) -> Tally {
    let mut rng = Rng::new(seed);
    let mut tally = Tally::default();
    while tally.cases < cases {
        let items = draw(&mut rng);
        let Some(lowest) = lowest_peak(&items, MOST) else { continue };
        tally.cases += 1;
        let quick = planned(&items, &PlanConfig::new().nodes(0));
        assert!(quick.lower_bound <= lowest && lowest <= quick.peak, "{lowest} {quick:?} of {items:?}");
        let plan = planned(&items, &PlanConfig::new().nodes(20_000).seed(rng.next()));
        assert!(plan.lower_bound <= lowest && lowest <= plan.peak, "{lowest} {plan:?} of {items:?}");
        assert!(plan.peak <= quick.peak && plan.lower_bound >= quick.lower_bound);
        let within = planned(&items, &PlanConfig::new().nodes(20_000).capacity(lowest));
        assert!(within.lower_bound <= lowest && lowest <= within.peak, "{lowest} {within:?} of {items:?}");
        let below = planned(&items, &PlanConfig::new().nodes(20_000).capacity(lowest.saturating_sub(1)));
        assert!(below.lower_bound <= lowest && lowest <= below.peak, "{lowest} {below:?} of {items:?}");
        tally.above_load += u32::from(quick.lower_bound < lowest);
        tally.proven += u32::from(plan.proven);
        tally.best += u32::from(plan.peak == lowest && within.peak == lowest);
    }
    tally
}

fn lifetime(rng: &mut Rng, times: u64) -> std::ops::Range<u64> {
    let first = rng.scaled(times);
    first..first + 1 + rng.scaled(times - first)
}

fn plain(rng: &mut Rng) -> Vec<Item> {
    let (count, most, times) = (7 + rng.scaled(5), 1 + rng.scaled(4), 2 + rng.scaled(8));
    (0..count).map(|_| Item::new(lifetime(rng, times), 1 + rng.scaled(most))).collect()
}

fn aligned(rng: &mut Rng) -> Vec<Item> {
    let (count, most, times) = (3 + rng.scaled(7), 1 + rng.scaled(7), 2 + rng.scaled(8));
    let item = |_| {
        let item = Item::new(lifetime(rng, times), 1 + rng.scaled(most)).aligned(1 << rng.scaled(3));
        let is_padded = rng.scaled(2) == 0;
        Item { size: if is_padded { item.size.next_multiple_of(item.alignment) } else { item.size }, ..item }
    };
    (0..count).map(item).collect()
}

fn pinned(rng: &mut Rng) -> Vec<Item> {
    let mut items = aligned(rng);
    for at in 0..items.len() {
        let offset = rng.scaled(6) * items[at].alignment;
        let (item, top) = (items[at], offset + items[at].size);
        let collides = |other: &Item| {
            other.overlaps_in_time(&item)
                && other.pinned.is_some_and(|at| at < top && offset < at + other.size)
        };
        if rng.scaled(4) == 0 && !items.iter().any(collides) {
            items[at].pinned = Some(offset);
        }
    }
    items
}

/// Items that fill a rectangle completely or nearly, so that few plans reach the load.
fn stacked(rng: &mut Rng) -> Vec<Item> {
    let (capacity, steps) = (4 + rng.scaled(6), 3 + rng.scaled(6));
    let (mut items, mut alive): (Vec<Item>, Vec<(u64, u64)>) = (Vec::new(), Vec::new());
    for time in 0..steps {
        alive.retain(|&(first, size)| {
            let goes = rng.scaled(2) == 0 && first < time;
            if goes {
                items.push(Item::new(first..time, size));
            }
            !goes
        });
        let mut free = capacity - alive.iter().map(|alive| alive.1).sum::<u64>();
        free -= u64::from(rng.scaled(4) == 0 && free > 0);
        while free > 0 {
            let size = 1 + rng.scaled(free.min(4));
            alive.push((time, size));
            free -= size;
        }
    }
    items.extend(alive.into_iter().map(|(first, size)| Item::new(first..steps, size)));
    items.truncate(20);
    items
}

/// The search is exhaustive: with so few items every plan is optimal and proven.
fn assert_all_best(tally: &Tally, above_load: u32) {
    assert_eq!((tally.best, tally.proven), (tally.cases, tally.cases), "{tally:?}");
    assert!(tally.above_load >= above_load, "some must be harder than their bound: {tally:?}");
}

#[test]
fn plain_items() {
    assert_all_best(&compare(1, 10_000, plain), 0);
}

#[test]
fn items_that_fill_a_rectangle() {
    assert_all_best(&compare(2, 10_000, stacked), 1);
}

#[test]
fn aligned_items() {
    assert_all_best(&compare(3, 10_000, aligned), 500);
}

#[test]
fn pinned_items() {
    assert_all_best(&compare(4, 10_000, pinned), 1000);
}
