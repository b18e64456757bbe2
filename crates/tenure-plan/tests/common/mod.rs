//! Items for tests, and what every plan is held to.

#![allow(dead_code, reason = "no test uses all of it")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail the test")]

pub(crate) mod brute;

use tenure_plan::{Item, Options, Plan, check, plan};

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

/// SplitMix64.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ x >> 31
    }

    /// Less than `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Log-uniform in `[1, most]`.
    pub(crate) fn log_uniform(&mut self, most: f64) -> u64 {
        most.powf(self.unit()) as u64
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
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
    Rng(seed).shuffle(&mut items);
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
    let mut rng = Rng(seed);
    let share = 0.03 + 0.07 * rng.unit();
    items.iter().copied().filter(|_| rng.unit() > share).collect()
}
