//! What is planned.

use tenure_plan::Item;

use crate::suballoc::rng::Rng;

/// The frames, with their names; sizes in units of 64 KiB.
pub(super) fn frames() -> Vec<(String, Vec<Item>)> {
    include_str!("../../../tenure-plan/tests/frames.txt").lines().filter_map(frame).collect()
}

/// `name: first-lastxsize …`
fn frame(line: &str) -> Option<(String, Vec<Item>)> {
    let (name, items) = line.split_once(": ")?;
    let item = |text: &str| {
        let (lifetime, size) = text.split_once('x')?;
        let (first, last) = lifetime.split_once('-')?;
        Some(Item::new(first.parse().ok()?..last.parse().ok()?, size.parse().ok()?))
    };
    Some((name.to_owned(), items.split(' ').map(item).collect::<Option<_>>()?))
}

/// Time runs backwards.
pub(super) fn mirrored(items: &[Item]) -> Vec<Item> {
    let end = items.iter().map(|item| item.last).max().unwrap_or(0);
    items.iter().map(|item| Item { first: end - item.last, last: end - item.first, ..*item }).collect()
}

pub(super) fn shuffled(items: &[Item], seed: u64) -> Vec<Item> {
    let mut rng = Rng::new(seed);
    let mut items = items.to_vec();
    for at in (1..items.len()).rev() {
        items.swap(at, rng.index(at + 1));
    }
    items
}

pub(super) fn scaled(items: &[Item], time: u64, size: u64) -> Vec<Item> {
    let scale = |item: &Item| Item {
        first: item.first * time,
        last: item.last * time,
        size: item.size * size,
        ..*item
    };
    items.iter().map(scale).collect()
}

/// Without 3 to 10 % of the items.
pub(super) fn thinned(items: &[Item], seed: u64) -> Vec<Item> {
    let mut rng = Rng::new(seed);
    let share = 0.03 + 0.07 * rng.unit();
    items.iter().copied().filter(|_| rng.unit() > share).collect()
}

/// Which lifetimes random items have.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lifetimes {
    /// At most 50 of as many times as there are items.
    Short,
    /// From anywhere to anywhere.
    Uniform,
    /// One in ten uniform, the others short.
    Mixed,
}

/// Items of log-uniform sizes up to a million.
pub(super) fn random(lifetimes: Lifetimes, count: u64, seed: u64) -> Vec<Item> {
    let mut rng = Rng::new(seed);
    let item = |_| {
        let is_short = match lifetimes {
            Lifetimes::Short => true,
            Lifetimes::Uniform => false,
            Lifetimes::Mixed => !rng.percent(10),
        };
        let lifetime = if is_short {
            let first = rng.below(count);
            first..first + 1 + rng.below(50)
        } else {
            let (a, b) = (rng.below(count), rng.below(count));
            a.min(b)..a.max(b) + 1
        };
        Item::new(lifetime, 1e6f64.powf(rng.unit()) as u64)
    };
    (0..count).map(item).collect()
}
