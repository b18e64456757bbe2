//! Taking times.

use std::time::{Duration, Instant};

/// How long a piece of work takes.
pub(crate) fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Nanoseconds for each of `count` things, the median of the rounds.
pub(crate) fn median_ns(mut times: Vec<Duration>, count: usize) -> f64 {
    times.sort();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    median.as_secs_f64() * 1e9 / count as f64
}
