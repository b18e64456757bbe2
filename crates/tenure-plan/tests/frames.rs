//! Frames of a renderer: the peak equals the load within a few hundred placements.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod common;

use common::planned;
use common::sources::{frames, mirrored, scaled, shuffled, thinned};
use tenure_plan::{Item, PlanConfig};

fn ratio(items: &[Item], options: &PlanConfig) -> f64 {
    let plan = planned(items, options);
    plan.peak as f64 / plan.lower_bound as f64
}

#[test]
fn one_pass_is_close_to_the_load() {
    let ratios: Vec<f64> =
        frames().iter().map(|(_, items)| ratio(items, &PlanConfig::new().nodes(0))).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!(mean <= 1.004, "{mean}");
}

fn variants(items: &[Item]) -> [(&'static str, Vec<Item>); 6] {
    [
        ("as it is", items.to_vec()),
        ("mirrored", mirrored(items)),
        ("shuffled", shuffled(items, 7)),
        ("scaled", scaled(items, 5, 65_536)),
        ("thinned", thinned(items, 3)),
        ("thinned again", thinned(items, 4)),
    ]
}

#[test]
fn every_frame_is_planned_at_its_lower_bound() {
    let options = PlanConfig::new().nodes(20_000);
    for (name, items) in frames() {
        for (variant, items) in variants(&items) {
            let plan = planned(&items, &options);
            assert!(plan.proven, "{name} {variant}: {} > {}", plan.peak, plan.lower_bound);
        }
    }
}

/// Eight passes take less than 100 µs.
#[test]
fn some_passes_are_enough_for_nearly_all() {
    let (mut proven, mut count) = (0, 0);
    for (_, items) in frames() {
        for (_, items) in variants(&items) {
            count += 1;
            proven += u32::from(planned(&items, &PlanConfig::new().nodes(8 * items.len() as u64)).proven);
        }
    }
    assert!(proven * 100 >= count * 99, "{proven} of {count}");
}

/// Buffers, textures, and multisampled textures, whose sizes are multiples of `grain` bytes.
fn aligned(items: &[Item], grain: u64) -> Vec<Item> {
    const KIB: u64 = 1024;
    let align = |(at, item): (usize, &Item)| {
        let (size, alignment) = match at % 7 {
            0 => (item.size * 4 * KIB, 4 * KIB),
            1 => ((item.size * 64 * KIB).next_multiple_of(grain), 4096 * KIB),
            _ => (item.size * 64 * KIB, 64 * KIB),
        };
        Item { size, alignment, ..*item }
    };
    items.iter().enumerate().map(align).collect()
}

#[test]
fn alignments_of_three_sizes_cost_little() {
    for grain in [1, 4 << 20] {
        let mean = |nodes| {
            let ratios = frames().into_iter().map(|(_, items)| {
                let ratio = ratio(&aligned(&items, grain), &PlanConfig::new().nodes(nodes));
                assert!(ratio <= 1.06, "{ratio}");
                ratio
            });
            ratios.sum::<f64>() / frames().len() as f64
        };
        let (first, more) = (mean(0), mean(20_000));
        assert!(first <= 1.004 && more <= 1.001, "{first} {more}");
    }
}

#[test]
fn classes_are_planned_separately() {
    for (name, items) in frames() {
        let classed: Vec<Item> =
            items.iter().enumerate().map(|(at, item)| item.in_class(at as u32 % 3 * 10)).collect();
        let plan = planned(&classed, &PlanConfig::new());
        assert_eq!(plan.classes.iter().map(|class| class.class).collect::<Vec<_>>(), [0, 10, 20]);
        assert!(plan.proven, "{name}");
        for class in &plan.classes {
            let alone: Vec<Item> = classed.iter().copied().filter(|item| item.class == class.class).collect();
            assert_eq!(planned(&alone, &PlanConfig::new()).peak, class.peak, "{name}");
        }
    }
}

#[test]
fn items_pinned_by_a_plan_can_be_planned_again() {
    for (name, items) in frames() {
        let plan = planned(&items, &PlanConfig::new());
        let pin = |(at, (item, offset)): (usize, (&Item, &u64))| match at % 3 {
            0 => item.pinned_at(*offset),
            _ => *item,
        };
        let pinned: Vec<Item> = items.iter().zip(&plan.offsets).enumerate().map(pin).collect();
        let again = planned(&pinned, &PlanConfig::new().nodes(100_000));
        assert_eq!(again.peak, plan.peak, "{name}");
    }
}
