//! Items for tests, and what every plan is held to.

#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

pub(crate) mod brute;

use tenure_plan::{Item, Options, Plan, check, plan};
pub(crate) use test_random::Rng;

/// Plans, and checks whatever holds for every plan.
pub(crate) fn planned(items: &[Item], options: &Options) -> Plan {
    let plan = plan(items, options).unwrap();
    assert_eq!(check(items, &plan.offsets), Ok(plan.peak));
    assert!(plan.lower_bound <= plan.peak, "{} > {}", plan.lower_bound, plan.peak);
    assert_eq!(plan.proven, plan.lower_bound == plan.peak);
    assert_eq!(plan.classes.iter().map(|class| class.peak).sum::<u64>(), plan.peak);
    assert_eq!(plan.classes.iter().map(|class| class.lower_bound).sum::<u64>(), plan.lower_bound);
    plan
}

/// A log-uniform number in `[1, most]`.
pub(crate) fn log_uniform(rng: &mut Rng, most: f64) -> u64 {
    most.powf(rng.unit()) as u64
}

/// The frames, with their names.
pub(crate) fn frames() -> Vec<(String, Vec<Item>)> {
    include_str!("../frames.txt").lines().map(frame).collect()
}

fn frame(line: &str) -> (String, Vec<Item>) {
    let (name, items) = line.split_once(": ").unwrap();
    let item = |text: &str| {
        let (lifetime, size) = text.split_once('x').unwrap();
        let (first, last) = lifetime.split_once('-').unwrap();
        Item::new(first.parse().unwrap()..last.parse().unwrap(), size.parse().unwrap())
    };
    (name.to_owned(), items.split(' ').map(item).collect())
}

/// Time runs backwards.
pub(crate) fn mirrored(items: &[Item]) -> Vec<Item> {
    let end = items.iter().map(|item| item.last).max().unwrap_or(0);
    items.iter().map(|item| Item { first: end - item.last, last: end - item.first, ..*item }).collect()
}

pub(crate) fn shuffled(items: &[Item], seed: u64) -> Vec<Item> {
    let mut items = items.to_vec();
    Rng::new(seed).shuffle(&mut items);
    items
}

pub(crate) fn scaled(items: &[Item], time: u64, size: u64) -> Vec<Item> {
    let scale = |item: &Item| Item {
        first: item.first * time + 3,
        last: item.last * time + 3,
        size: item.size * size,
        ..*item
    };
    items.iter().map(scale).collect()
}

/// Without 3 to 10 % of the items.
pub(crate) fn thinned(items: &[Item], seed: u64) -> Vec<Item> {
    let mut rng = Rng::new(seed);
    let share = 0.03 + 0.07 * rng.unit();
    items.iter().copied().filter(|_| rng.unit() > share).collect()
}
