//! Taking times.

use std::time::{Duration, Instant};

/// How long a piece of work takes.
pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// How long a piece of work takes that succeeds.
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
