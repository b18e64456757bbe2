//! Replaying a trace, and the time that takes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::peers::{Peer, Placed};
use super::trace::{Kind, Op, Trace};

/// The handles of a trace's slots.
pub(super) type Handles<P> = Vec<Option<<P as Peer>::Handle>>;

/// A peer, and room for the handles of a trace.
pub(crate) fn begin<P: Peer>(trace: &Trace, capacity: u64) -> (P, Handles<P>) {
    let handles = (0..trace.slots).map(|_| None).collect();
    (P::new(trace, capacity), handles)
}

/// Frees the allocations that a trace leaves live: some peers require to be empty when dropped.
pub(crate) fn end<P: Peer>(peer: &mut P, handles: &mut Handles<P>) {
    for handle in handles.iter_mut().filter_map(Option::take) {
        peer.free(handle);
    }
}

/// Executes an operation; returns false if it is an allocation that failed.
#[inline]
pub(crate) fn perform<P: Peer>(peer: &mut P, op: &Op, handles: &mut Handles<P>) -> bool {
    match op.kind {
        Kind::Allocate => {
            let Some(Placed { handle, offset, .. }) = peer.allocate(u64::from(op.size), op.align()) else {
                return false;
            };
            // Keeps the compiler from removing the computation of the offset.
            black_box(offset);
            handles[op.slot as usize] = Some(handle);
        }
        Kind::Free => {
            if let Some(handle) = handles[op.slot as usize].take() {
                peer.free(handle);
            }
        }
        Kind::EndFrame => peer.end_frame(),
    }
    true
}

/// The result of a replay.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    /// The time from the first operation to the last.
    pub time: Duration,
    /// Allocations that failed.
    pub failures: usize,
    /// Whether it reached the end before the time limit.
    pub is_done: bool,
}

/// The time limit of a replay.
const TIMEOUT: Duration = Duration::from_secs(4);
/// Operations between two checks of the time limit.
const STRETCH: usize = 4096;

/// Replays a trace in a new peer; making the peer does not count.
pub(super) fn time<P: Peer>(trace: &Trace, capacity: u64) -> Timed {
    let (mut peer, mut handles) = begin::<P>(trace, capacity);
    let mut failures = 0;
    let start = Instant::now();
    let mut is_done = true;
    for ops in trace.ops.chunks(STRETCH) {
        for op in ops {
            failures += usize::from(!perform(&mut peer, op, &mut handles));
        }
        is_done = start.elapsed() < TIMEOUT;
        if !is_done {
            break;
        }
    }
    let time = start.elapsed();
    end(&mut peer, &mut handles);
    Timed { time, failures, is_done }
}
