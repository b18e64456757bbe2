//! Random items.

use tenure_plan::Item;

use crate::suballoc::rng::Rng;

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

impl Lifetimes {
    pub(super) const ALL: [Self; 3] = [Self::Short, Self::Uniform, Self::Mixed];

    pub(super) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
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
