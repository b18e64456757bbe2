//! Random numbers that are the same on every platform: xoshiro256** seeded by splitmix64, and the
//! lognormal distribution.
//!
//! Both generators are by David Blackman and Sebastiano Vigna (<https://prng.di.unimi.it>), who placed them in
//! the public domain. They are implemented here so that a seed gives the same recording with every
//! version of every dependency.

use std::f64::consts::{LN_2, LOG2_E};

#[derive(Clone, Debug)]
pub(super) struct Rng {
    state: [u64; 4],
}

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        let mut counter = seed;
        Self { state: std::array::from_fn(|_| splitmix64(&mut counter)) }
    }

    /// Any `u64`, all equally likely.
    pub(super) fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `bound`, 0 if that is 0. The bias, below `bound` / 2^64, does not matter here.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.next()) * u128::from(bound);
        (product >> 64) as u64
    }

    /// A number from `first` to `last`, which must be at least `first`.
    pub(super) fn within(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last - first + 1)
    }

    /// True with a probability of `percent` in a hundred.
    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A multiple of 2^-53, at least 0 and less than 1.
    pub(super) fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next() >> 11) as f64 * STEP
    }
}

fn splitmix64(counter: &mut u64) -> u64 {
    *counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *counter;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number whose logarithm is normal, with the given median and standard deviation `sigma` (at
/// most 3).
///
/// The library functions `exp`, `ln` and `cos` differ in the last bit between platforms. This uses only additions,
/// multiplications and divisions, which IEEE 754 defines exactly.
pub(super) fn lognormal(rng: &mut Rng, median: f64, sigma: f64) -> f64 {
    median * exp(sigma * normal(rng))
}

/// A nearly normal number by the Irwin–Hall method: the sum of twelve uniform numbers, minus 6, has
/// mean 0 and variance 1, and lies within ±6.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// e to the power of `x`, which must be within ±700: 2^k times the Taylor series of a remainder within
/// ±ln 2 / 2, for which 14 terms are exact to the last bits.
fn exp(x: f64) -> f64 {
    let k = (x * LOG2_E).round();
    let remainder = x - k * LN_2;
    let series = (1..=14).rev().fold(1.0, |sum, n| 1.0 + remainder * sum / f64::from(n));
    let exponent_bits = (1023 + k as i64) as u64;
    series * f64::from_bits(exponent_bits << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_numbers() {
        let mut counter = 1_234_567;
        let numbers: [u64; 3] = std::array::from_fn(|_| splitmix64(&mut counter));
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn xoshiro256_gives_the_numbers_of_the_reference() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let numbers: [u64; 5] = std::array::from_fn(|_| rng.next());
        assert_eq!(numbers, [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240, 1_216_172_134_540_287_360]);
    }

    #[test]
    fn bounds_are_kept_and_reached() {
        let mut rng = Rng::new(0);
        let mut seen = [0_u32; 6];
        for _ in 0..6000 {
            seen[rng.within(0, 5) as usize] += 1;
            assert!((0.0..1.0).contains(&rng.unit()));
            assert!(!rng.chance(0) && rng.chance(100));
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn exp_agrees_with_the_standard_library() {
        for step in -1800..=1800 {
            let x = f64::from(step) / 100.0;
            let error = (exp(x) / x.exp() - 1.0).abs();
            assert!(error < 1e-14, "exp({x}) is off by {error}");
        }
    }

    #[test]
    fn lognormal_numbers_have_the_requested_median_and_spread() {
        let mut rng = Rng::new(3);
        let mut numbers: Vec<_> = (0..100_000).map(|_| lognormal(&mut rng, 2500.0, 1.0)).collect();
        numbers.sort_by(f64::total_cmp);
        let near = |quantile: f64, expected: f64| {
            let found = numbers[(quantile * 100_000.0) as usize];
            assert!((found / expected - 1.0).abs() < 0.03, "{quantile}: {found}, not {expected}");
        };
        near(0.5, 2500.0);
        // One standard deviation to either side.
        near(0.158_655, 2500.0 / std::f64::consts::E);
        near(0.841_345, 2500.0 * std::f64::consts::E);
    }
}
