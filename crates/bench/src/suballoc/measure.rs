//! How time and packing are measured.

use std::time::{Duration, Instant};

use super::peers::{Contender, Peer};
use super::trace::{Kind, Trace};

/// Replays a trace; `None` when the peer ran out of memory.
#[inline]
fn replay<P: Peer>(peer: &mut P, trace: &Trace, handles: &mut [Option<P::Handle>]) -> Option<()> {
    for op in &trace.ops {
        match op.kind {
            Kind::Allocate => {
                let handle = peer.allocate(u64::from(op.size), op.align())?;
                handles[op.slot as usize] = Some(handle);
            }
            Kind::Free => {
                if let Some(handle) = handles[op.slot as usize] {
                    peer.free(handle);
                }
            }
            Kind::EndFrame => peer.end_frame(),
        }
    }
    Some(())
}

/// Replays a trace in a new peer, and says how long that took; making the peer does not count.
pub fn time<P: Peer>(trace: &Trace, capacity: u64) -> Option<Duration> {
    let mut peer = P::new(trace, capacity);
    let mut handles = vec![None; trace.slots];
    let start = Instant::now();
    replay(&mut peer, trace, &mut handles)?;
    Some(start.elapsed())
}

/// Replays a trace in a new peer, and says how many bytes it took in the end.
pub fn reserved<P: Peer>(trace: &Trace, capacity: u64) -> Option<u64> {
    let mut peer = P::new(trace, capacity);
    let mut handles = vec![None; trace.slots];
    replay(&mut peer, trace, &mut handles)?;
    Some(peer.reserved())
}

/// The median nanoseconds per call of each peer, which take turns so that whatever else the machine
/// does hits all of them. `None` where a peer cannot replay the trace.
#[must_use]
pub fn median_times(peers: &[Contender], trace: &Trace, rounds: u32) -> Vec<Option<f64>> {
    let mut times: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    for _ in 0..rounds {
        for (peer, times) in peers.iter().zip(&mut times) {
            if (peer.can_replay)(trace)
                && let Some(time) = (peer.time)(trace, trace.ample_bytes)
            {
                times.push(time.as_secs_f64() * 1e9 / trace.calls as f64);
            }
        }
    }
    times.into_iter().map(median).collect()
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Steps of a range's size in the search for the smallest: this part of the peak.
const RESOLUTION: u64 = 2_000;

/// The smallest range that serves a trace, over the peak of live bytes, found by bisection; for
/// blocks, all that were added. `None` where a peer cannot replay the trace.
#[must_use]
pub fn packing(peer: &Contender, trace: &Trace) -> Option<f64> {
    use super::peers::Range;
    if !(peer.can_replay)(trace) {
        return None;
    }
    let bytes = match peer.range {
        Range::None => return None,
        Range::Blocks => (peer.reserved)(trace, 0)?,
        Range::One => smallest_range(peer, trace)?,
    };
    Some(bytes as f64 / trace.peak_bytes as f64)
}

fn smallest_range(peer: &Contender, trace: &Trace) -> Option<u64> {
    let step = (trace.peak_bytes / RESOLUTION).next_multiple_of(trace.granule);
    let serves = |steps: u64| (peer.reserved)(trace, steps * step).is_some();
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
