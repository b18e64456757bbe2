//! What the calls of a script took.

use crate::suballoc::singles::medians;

/// Nanoseconds of each call, round by round.
#[derive(Default)]
pub(super) struct Times {
    allocations: Vec<Vec<u32>>,
    frees: Vec<Vec<u32>>,
    pub(super) peak_reserved: u64,
}

impl Times {
    pub(super) fn add(&mut self, allocations: Vec<u32>, frees: Vec<u32>, peak_reserved: u64) {
        self.allocations.push(allocations);
        self.frees.push(frees);
        self.peak_reserved = self.peak_reserved.max(peak_reserved);
    }

    /// Of each allocation its median.
    pub(super) fn allocations(&self) -> Vec<u32> {
        medians(&self.allocations)
    }

    /// Of each free its median.
    pub(super) fn frees(&self) -> Vec<u32> {
        medians(&self.frees)
    }
}

/// How calls are spread, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Percentiles {
    pub(super) p50: u32,
    pub(super) p99: u32,
    pub(super) p9999: u32,
}

impl Percentiles {
    pub(super) fn of(mut times: Vec<u32>) -> Self {
        times.sort_unstable();
        // The call that so many of ten thousand do not exceed.
        let at = |part: usize| {
            let rank = (times.len() * part).div_ceil(10_000);
            times.get(rank.saturating_sub(1)).copied().unwrap_or(0)
        };
        Self { p50: at(5_000), p99: at(9_900), p9999: at(9_999) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Percentiles, Times};

    #[test]
    fn a_percentile_is_the_call_that_so_many_do_not_exceed() {
        let found = Percentiles::of((1..=100).rev().collect());
        assert_eq!(found, Percentiles { p50: 50, p99: 99, p9999: 100 });
        assert_eq!(Percentiles::of(vec![7]), Percentiles { p50: 7, p99: 7, p9999: 7 });
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
        assert_eq!(Percentiles::of((1..=20_000).collect()).p9999, 19_998);
    }

    #[test]
    fn each_call_has_the_median_of_its_rounds() {
        let mut times = Times::default();
        for round in [vec![10, 900], vec![20, 30], vec![15, 20]] {
            times.add(round.clone(), round, 5);
        }
        assert_eq!((times.allocations(), times.frees()), (vec![15, 30], vec![15, 30]));
    }
}
