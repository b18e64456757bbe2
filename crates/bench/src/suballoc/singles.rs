//! The time of each single allocation.

use std::time::Instant;

use super::peers::Peer;
use super::replay::{begin, end, perform};
use super::trace::{Kind, Trace};
use crate::timing::median;

/// Rounds that the single calls are timed in, at most.
pub(super) const MAX_ROUNDS: u32 = 3;

/// The nanoseconds of each allocation of a trace, in some rounds.
#[derive(Default)]
pub struct Singles {
    allocations: Vec<Vec<u32>>,
    /// What the clock takes itself.
    clock: u32,
}

/// What the single allocations took, in nanoseconds.
#[derive(Debug)]
pub(super) struct Spread {
    /// One call in ten thousand takes longer.
    pub(super) tail: f64,
    pub(super) max: f64,
}

impl Singles {
    /// Ready to record, with what the clock itself takes.
    pub(super) fn new() -> Self {
        Self { clock: clock(), ..Self::default() }
    }

    pub(super) fn spread(&self) -> Option<Spread> {
        spread(&self.allocations)
    }
}

/// Replays a trace in a new peer and takes the time of each allocation, less what the clock takes.
pub(super) fn record<P: Peer>(trace: &Trace, capacity: u64, singles: &mut Singles) {
    let (mut peer, mut handles) = begin::<P>(trace, capacity);
    let mut allocations = Vec::with_capacity(trace.calls);
    for op in &trace.ops {
        let start = Instant::now();
        perform(&mut peer, op, &mut handles);
        let time = nanoseconds(start).saturating_sub(singles.clock);
        if op.kind == Kind::Allocate {
            allocations.push(time);
        }
    }
    end(&mut peer, &mut handles);
    singles.allocations.push(allocations);
}

pub(crate) fn nanoseconds(since: Instant) -> u32 {
    u32::try_from(since.elapsed().as_nanos()).unwrap_or(u32::MAX)
}

/// The median of what the clock says about nothing.
pub(crate) fn clock() -> u32 {
    median((0..10_001).map(|_| nanoseconds(Instant::now())).collect()).unwrap_or(0)
}

/// Every round makes the same calls, so each call has a median over the rounds: a slow median is caused by
/// the allocator, not by an interruption of one round.
pub(crate) fn medians(rounds: &[Vec<u32>]) -> Vec<u32> {
    let calls = rounds.first().map_or(0, Vec::len);
    (0..calls).filter_map(|call| median(rounds.iter().map(|round| round[call]).collect())).collect()
}

fn spread(rounds: &[Vec<u32>]) -> Option<Spread> {
    let mut medians = medians(rounds);
    medians.sort_unstable();
    let calls = medians.len();
    let max = *medians.last()?;
    let tail = medians[(calls - 1) - (calls - 1) / 10_000];
    Some(Spread { tail: f64::from(tail), max: f64::from(max) })
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn a_single_slow_round_is_not_the_allocators_doing() {
        let rounds = [vec![10, 10, 900], vec![10, 900, 20], vec![11, 10, 20]];
        assert_eq!(spread(&rounds).map(|spread| spread.max), Some(20.0));
    }

    #[test]
    fn the_tail_is_what_one_call_in_ten_thousand_exceeds() {
        let rounds = [(1..=20_001).collect()];
        assert_eq!(spread(&rounds).map(|spread| spread.tail), Some(19_999.0));
    }
}
