//! The figures of one peer on one trace.

use super::metadata::Metadata;
use super::peers::{Contender, Space};
use super::trace::Trace;
use crate::timing::{Percentiles, clock, median, medians};

/// Rounds that the single calls are timed in, at most.
const ROUNDS_OF_SINGLES: u32 = 3;

/// The measured values; `None` where a value is not applicable or could not be measured.
pub(super) struct Figures {
    /// Nanoseconds.
    pub(super) call: Option<f64>,
    pub(super) allocations: Option<Percentiles>,
    /// Allocations that failed, in a range that is ample.
    pub(super) failures: Option<f64>,
    /// Bytes of blocks over the peak of live bytes.
    pub(super) reserved_peak: Option<f64>,
    pub(super) reserved_mean: Option<f64>,
    /// Blocks at most.
    pub(super) blocks: Option<f64>,
    /// Bytes of the allocator's own.
    pub(super) metadata: Option<Metadata>,
}

/// The figures of each peer. Peers alternate, so that other load on the machine affects all of them alike.
pub(super) fn measure(peers: &[Contender], trace: &Trace, rounds: u32) -> Vec<Figures> {
    let clock = clock();
    let mut times: Vec<_> = peers.iter().map(|_| (Vec::new(), Vec::new(), Some(0))).collect();
    for round in 0..rounds {
        for (peer, (calls, singles, failures)) in peers.iter().zip(&mut times) {
            if failures.is_none() || !(peer.can_replay)(trace) {
                continue;
            }
            let timed = (peer.time)(trace, trace.ample_bytes);
            calls.push(timed.time.as_secs_f64() * 1e9 / trace.calls as f64);
            *failures = timed.is_done.then_some(timed.failures);
            if round < ROUNDS_OF_SINGLES && *failures == Some(0) {
                singles.push((peer.singles)(trace, trace.ample_bytes, clock));
            }
        }
    }
    let each = peers.iter().zip(times);
    each.map(|(peer, (calls, singles, failures))| of(peer, trace, median(calls), &singles, failures))
        .collect()
}

fn of(
    peer: &Contender,
    trace: &Trace,
    call: Option<f64>,
    singles: &[Vec<u32>],
    failures: Option<usize>,
) -> Figures {
    let is_served = call.is_some() && failures == Some(0);
    let reserved = (is_served && peer.space == Space::Blocks).then(|| (peer.reserved)(trace));
    let has_metadata = is_served && peer.is_counted && peer.space != Space::None;
    Figures {
        call: call.filter(|_| is_served),
        allocations: (!singles.is_empty()).then(|| Percentiles::of(medians(singles))),
        failures: call.and(failures).map(|failures| failures as f64),
        reserved_peak: reserved.map(|(peak, _)| peak as f64 / trace.peak_bytes as f64),
        reserved_mean: reserved.map(|(_, mean)| mean / trace.peak_bytes as f64),
        blocks: reserved.map(|(peak, _)| (peak / trace.block_bytes) as f64),
        metadata: has_metadata.then(|| (peer.metadata)(trace, trace.ample_bytes)),
    }
}
