//! Taking times.

use std::time::{Duration, Instant};

/// The duration of a piece of work.
pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// The duration of a piece of work, or its error.
pub(crate) fn try_time<E>(work: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
    let start = Instant::now();
    let done = work();
    let taken = start.elapsed();
    done.map(|()| taken)
}

/// Nanoseconds for each of `count` things, the median of the rounds.
pub(crate) fn median_ns(times: Vec<Duration>, count: usize) -> f64 {
    median(times).unwrap_or_default().as_secs_f64() * 1e9 / count as f64
}

/// The median, the upper one of two.
pub(crate) fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len() / 2).copied()
}

/// The arithmetic mean.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The nanoseconds since an instant.
pub(crate) fn nanoseconds(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_nanos()).unwrap_or(u32::MAX)
}

/// The median time of an empty measurement.
pub(crate) fn clock() -> u32 {
    median((0..10_001).map(|_| nanoseconds(Instant::now())).collect()).unwrap_or(0)
}

/// Every round makes the same calls, so each call has a median over the rounds: a slow median is caused by
/// the allocator, not by an interruption of one round.
pub(crate) fn medians(rounds: &[Vec<u32>]) -> Vec<u32> {
    let calls = rounds.first().map_or(0, Vec::len);
    let of_call = |call: usize| median(rounds.iter().filter_map(|round| round.get(call).copied()).collect());
    (0..calls).filter_map(of_call).collect()
}

/// Percentiles of the durations of calls, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Percentiles {
    pub(crate) p50: u32,
    pub(crate) p99: u32,
    pub(crate) p9999: u32,
    pub(crate) max: u32,
}

impl Percentiles {
    pub(crate) fn of(mut times: Vec<u32>) -> Self {
        times.sort_unstable();
        // Nearest rank; `part` counts in ten-thousandths.
        let at = |part: usize| {
            let rank = (times.len() * part).div_ceil(10_000);
            times.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        Self { p50: at(5_000), p99: at(9_900), p9999: at(9_999), max: at(10_000) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Percentiles, medians};

    #[test]
    fn percentiles_are_measured_calls() {
        let found = Percentiles::of((1..=100).rev().collect());
        assert_eq!(found, Percentiles { p50: 50, p99: 99, p9999: 100, max: 100 });
        assert_eq!(Percentiles::of(vec![7]), Percentiles { p50: 7, p99: 7, p9999: 7, max: 7 });
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
        assert_eq!(Percentiles::of((1..=20_000).collect()).p9999, 19_998);
    }

    #[test]
    fn each_call_has_the_median_of_its_rounds() {
        assert_eq!(medians(&[vec![10, 900], vec![20, 30], vec![15, 20]]), [15, 30]);
    }
}
