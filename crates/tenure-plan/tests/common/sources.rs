//! Frames, and variants of items; also for the benchmarks.

#![allow(clippy::unwrap_used, reason = "a file of the repository that cannot be read fails the test")]

use tenure_plan::Item;
use test_random::Rng;

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

/// The items with reversed time.
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

/// The items without a random 3 to 10 %.
pub(crate) fn thinned(items: &[Item], seed: u64) -> Vec<Item> {
    let mut rng = Rng::new(seed);
    let share = 0.03 + 0.07 * rng.unit();
    items.iter().copied().filter(|_| rng.unit() > share).collect()
}
