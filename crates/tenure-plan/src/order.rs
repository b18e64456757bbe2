//! The orders in which one pass of the skyline heuristic tries items.

use crate::numbers::RangeMax;
use crate::numbers::{log2, mix};
use crate::problem::Problem;

/// A key that an order sorts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// The greatest load during the item's lifetime.
    Load,
    /// The length of its lifetime.
    Width,
    /// The number of covered sections.
    Sections,
    /// Its bytes.
    Size,
    /// Width times size.
    Area,
    /// The number of sections from its first one to the end.
    Early,
    /// Its alignment: heights that are multiples of a coarse one are rare.
    Align,
}

/// The orders that are best most often for such items, best first.
///
/// For many items the last two suit a few large and long-lived items outside the greatest load, such as gradients:
/// other orders place these after short-lived items of a greater load, and so on top of them.
pub(crate) fn orders(problem: &Problem) -> &'static [[Key; 3]] {
    use Key::{Align, Area, Early, Load, Sections, Size, Width};
    const AREA: [Key; 3] = [Area, Load, Width];
    const SIZE: [Key; 3] = [Size, Early, Width];
    if !problem.align.is_empty() {
        &[[Load, Align, Width], [Align, Load, Width], [Load, Width, Area]]
    } else if problem.len() <= FEW {
        &[[Load, Width, Area], [Load, Sections, Area], [Load, Area, Width]]
    } else if is_long_lived(problem) {
        &[[Load, Sections, Area], [Load, Width, Area], [Load, Area, Width], AREA, SIZE]
    } else {
        &[[Load, Area, Width], [Load, Width, Area], [Load, Sections, Area], AREA, SIZE]
    }
}

/// Average lifetimes are considered only with more items than this.
const FEW: usize = 1024;

/// Whether the average lifetime is at least an eighth of all time.
fn is_long_lived(problem: &Problem) -> bool {
    let lives = problem.start.iter().zip(&problem.end).map(|(start, end)| u64::from(end - start));
    lives.sum::<u64>() / problem.len().max(1) as u64 >= problem.sections() as u64 / 8
}

/// The items, greatest keys first; of equal items the earliest.
pub(crate) fn order(problem: &Problem, keys: [Key; 3]) -> Vec<u32> {
    let loads = RangeMax::new(&problem.load);
    let value = |item: usize, key| match key {
        Key::Load => loads.of(problem.start[item], problem.end[item]),
        Key::Width => problem.width[item],
        Key::Sections => u64::from(problem.end[item] - problem.start[item]),
        Key::Size => problem.size[item],
        Key::Early => problem.sections() as u64 - u64::from(problem.start[item]),
        Key::Area => problem.width[item].saturating_mul(problem.size[item]),
        Key::Align => problem.align(item),
    };
    // 32 bits of each key are precise enough, and can be sorted as one number.
    let shifts = keys.map(|key| {
        let most = match key {
            Key::Load => problem.load.iter().copied().max(),
            Key::Width => problem.width.iter().copied().max(),
            Key::Size => problem.size.iter().copied().max(),
            Key::Sections | Key::Early => None,
            Key::Align => problem.align.iter().copied().max(),
            Key::Area => (0..problem.len()).map(|item| value(item, key)).max(),
        };
        32u32.saturating_sub(most.unwrap_or(0).leading_zeros())
    });
    let mut ranked: Vec<u128> = (0..problem.len())
        .map(|item| {
            let mut packed = 0;
            for (key, shift) in keys.into_iter().zip(shifts) {
                packed = packed << 32 | u128::from(!((value(item, key) >> shift) as u32));
            }
            packed << 32 | item as u128
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|packed| packed as u32).collect()
}

/// The weight of each property in a weighted order, in units of 1/1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Weights {
    /// Weights of log2 of the size, log2 of the width, the greatest load (relative to the greatest of all, in units
    /// of 1/1024), and random noise.
    pub(crate) size: i64,
    pub(crate) width: i64,
    pub(crate) load: i64,
    pub(crate) noise: i64,
}

impl Weights {
    /// A tenth of the greatest load counts as much as the longest lifetime; the size counts little.
    pub(crate) const BLENDED: Self = Self { size: 256, width: 1024, load: 16_384, noise: 0 };

    /// Random weights, mostly dominated by the load.
    pub(crate) fn anywhere(random_bits: u64) -> Self {
        let random = |which, below| between(random_bits, which, below);
        Self {
            size: random(1, 1025),
            width: random(2, 1025),
            load: if random(5, 4) > 0 { 100_000 } else { random(3, 4096) },
            noise: random(4, 257),
        }
    }

    pub(crate) fn near(&self, random_bits: u64) -> Self {
        let random = |which, below| between(random_bits, which, below);
        Self {
            size: self.size + random(1, 257) - 128,
            width: self.width + random(2, 257) - 128,
            load: (self.load + random(3, 257) - 128).max(0),
            noise: (self.noise + random(4, 129) - 64).max(0),
        }
    }
}

/// A random number less than `below`.
fn between(random_bits: u64, which: u64, below: i64) -> i64 {
    ((i128::from(mix(random_bits ^ which)) * i128::from(below)) >> 64) as i64
}

/// The items by the sum of their weighted properties, greatest first.
pub(crate) fn weighted(problem: &Problem, weights: &Weights, seed: u64) -> Vec<u32> {
    let loads = RangeMax::new(&problem.load);
    let most = u128::from(problem.load.iter().copied().max().unwrap_or(0).max(1));
    let mut ranked: Vec<(i64, u32)> = (0..problem.len())
        .map(|item| {
            let load = u128::from(loads.of(problem.start[item], problem.end[item])) * 8192 / most;
            let random_bits = mix(seed ^ (item as u64).rotate_right(16)) >> 50;
            let score = weights.size * log2(problem.size[item]) as i64
                + weights.width * log2(problem.width[item]) as i64
                + weights.load * load as i64
                + weights.noise * random_bits as i64;
            (-score, item as u32)
        })
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, item)| item).collect()
}
