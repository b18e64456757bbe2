//! The lognormal distribution, with the same result on every platform.

use std::f64::consts::{LN_2, LOG2_E};

use super::rng::Rng;

/// A number whose logarithm is normal, with the given median and standard deviation `sigma` (at
/// most 3).
///
/// The library functions `exp`, `ln` and `cos` differ in the last bit from platform to platform.
/// This uses additions, multiplications and divisions alone, which IEEE 754 fixes to the last bit.
pub(super) fn lognormal(rng: &mut Rng, median: f64, sigma: f64) -> f64 {
    median * exp(sigma * normal(rng))
}

/// A nearly normal number by the Irwin–Hall method: the sum of twelve uniform numbers, minus 6, has
/// mean 0 and variance 1, and lies within ±6.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// e to the power of `x`, which must be within ±700: 2^k times the Taylor series of a rest within
/// ±ln 2 / 2, for which 14 terms are exact to the last bits.
fn exp(x: f64) -> f64 {
    let k = (x * LOG2_E).round();
    let rest = x - k * LN_2;
    let series = (1..=14).rev().fold(1.0, |sum, n| 1.0 + rest * sum / f64::from(n));
    let exponent_bits = (1023 + k as i64) as u64;
    series * f64::from_bits(exponent_bits << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_exp() {
        for step in -1800..=1800 {
            let x = f64::from(step) / 100.0;
            let error = (exp(x) / x.exp() - 1.0).abs();
            assert!(error < 1e-14, "exp({x}) is off by {error}");
        }
    }

    #[test]
    fn median_and_spread_are_as_asked() {
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
