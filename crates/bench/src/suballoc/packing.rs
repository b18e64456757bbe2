//! The smallest range that serves a trace.

use super::peers::{Contender, Space};
use super::trace::Trace;

/// Steps of a range's size in the search for the smallest: this part of the peak.
const RESOLUTION: u64 = 2_000;

/// The smallest range that serves a trace, over the peak of live bytes, found by bisection. `None`
/// where a peer has no range, or cannot replay the trace.
#[must_use]
pub fn packing(peer: &Contender, trace: &Trace) -> Option<f64> {
    if peer.space != Space::One || !(peer.can_replay)(trace) {
        return None;
    }
    Some(smallest_range(peer, trace)? as f64 / trace.peak_bytes as f64)
}

fn smallest_range(peer: &Contender, trace: &Trace) -> Option<u64> {
    let step = (trace.peak_bytes / RESOLUTION).max(1).next_multiple_of(trace.granule);
    let serves = |steps: u64| (peer.serves)(trace, steps * step);
    let mut fails = trace.peak_bytes.div_ceil(step) - 1;
    let mut works = fails + RESOLUTION / 50;
    while !serves(works) {
        if works > 20 * RESOLUTION {
            return None;
        }
        fails = works;
        works += works / 4;
    }
    while works - fails > 1 {
        let middle = fails.midpoint(works);
        if serves(middle) {
            works = middle;
        } else {
            fails = middle;
        }
    }
    Some(works * step)
}
