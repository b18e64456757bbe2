//! The time of each single allocation.

use std::time::Instant;

use super::peers::Peer;
use super::replay::{begin, end, perform};
use super::trace::{Kind, Trace};
use crate::timing::{Percentiles, clock, medians, nanoseconds};

/// Rounds that the single calls are timed in, at most.
pub(super) const MAX_ROUNDS: u32 = 3;

/// The nanoseconds of each allocation of a trace, in some rounds.
#[derive(Default)]
pub struct Singles {
    allocations: Vec<Vec<u32>>,
    /// What the clock takes itself.
    clock: u32,
}

impl Singles {
    /// Ready to record, with what the clock itself takes.
    pub(super) fn new() -> Self {
        Self { clock: clock(), ..Self::default() }
    }

    pub(super) fn spread(&self) -> Option<Percentiles> {
        let medians = medians(&self.allocations);
        (!medians.is_empty()).then(|| Percentiles::of(medians))
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
