//! Many items: plans close to the load, in time that grows little faster than the number of items.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use common::models::MODELS;
use common::{Rng, log_uniform, planned};
use tenure_plan::{Item, PlanConfig};

/// Sizes are log-uniform. `uniform` in 10 lifetimes have uniform ends, the others are short.
fn draw(count: u64, uniform: u64, seed: u64) -> Vec<Item> {
    let mut rng = Rng::new(seed);
    let item = |_| {
        let lifetime = if rng.scaled(10) < uniform {
            let (a, b) = (rng.scaled(count), rng.scaled(count));
            a.min(b)..a.max(b) + 1
        } else {
            let first = rng.scaled(count);
            first..first + 1 + rng.scaled(50)
        };
        Item::new(lifetime, log_uniform(&mut rng, 1e6))
    };
    (0..count).map(item).collect()
}

fn worst(count: u64, uniform: u64, nodes: u64) -> f64 {
    let ratio = |seed| {
        let plan = planned(&draw(count, uniform, seed), &PlanConfig::new().nodes(nodes));
        plan.peak as f64 / plan.lower_bound as f64
    };
    (0..3).map(ratio).fold(1.0, f64::max)
}

#[test]
fn ten_thousand() {
    let (short, uniform, mixed) =
        (worst(10_000, 0, 20_000), worst(10_000, 10, 20_000), worst(10_000, 1, 100_000));
    assert!(short <= 1.005 && uniform <= 1.01 && mixed <= 1.05, "{short} {uniform} {mixed}");
}

#[test]
fn a_hundred_thousand() {
    let (short, uniform, mixed) =
        (worst(100_000, 0, 200_000), worst(100_000, 10, 200_000), worst(100_000, 1, 200_000));
    assert!(short <= 1.005 && uniform <= 1.005 && mixed <= 1.05, "{short} {uniform} {mixed}");
}

#[test]
fn a_million() {
    let plan = planned(&draw(1_000_000, 1, 1), &PlanConfig::new().nodes(0));
    assert!(plan.peak * 10 <= plan.lower_bound * 11, "{} {}", plan.peak, plan.lower_bound);
}

/// In one of four seeds a single pass places a few large gradients on top of short-lived tensors.
#[test]
fn tensors_of_language_models() {
    let mut has_hard = false;
    for model in &MODELS {
        for seed in 0..4 {
            let items = model.tensors(seed);
            let over = |nodes| {
                let plan = planned(&items, &PlanConfig::new().nodes(nodes));
                plan.peak as f64 / plan.lower_bound as f64
            };
            has_hard |= over(0) > 1.1;
            let over = over(10 * items.len() as u64);
            assert!(over <= 1.01, "{}, seed {seed}: {over}", model.name);
        }
    }
    assert!(has_hard, "one pass is enough for all of them");
}

#[test]
fn alignments_and_pins_among_many() {
    let mut rng = Rng::new(5);
    let mut items = draw(20_000, 1, 9);
    for item in &mut items {
        item.alignment = [1, 256, 65_536][rng.scaled(3) as usize];
        item.class = u32::from(rng.scaled(4) == 0);
    }
    let free = planned(&items, &PlanConfig::new().nodes(0));
    for (item, offset) in items.iter_mut().zip(&free.offsets).filter(|_| rng.scaled(50) == 0) {
        item.pinned = Some(*offset);
    }
    let pinned = planned(&items, &PlanConfig::new().nodes(0));
    assert!(pinned.peak * 100 <= free.peak * 115, "{} {}", pinned.peak, free.peak);
}

#[test]
fn large_plans_of_several_threads_are_deterministic() {
    let items = draw(10_000, 1, 3);
    let options = PlanConfig::new().nodes(60_000).threads(3);
    assert_eq!(planned(&items, &options), planned(&items, &options));
}
