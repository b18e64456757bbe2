//! Replaying a trace: for its time, the time of each allocation, the memory it takes, and whether it is valid.

use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

use super::peers::{Peer, Placed};
use super::trace::{Kind, Op, Trace};
use crate::timing::nanoseconds;

/// The handles of a trace's slots.
pub(super) type Handles<P> = Vec<Option<<P as Peer>::Handle>>;

/// An empty table of handles, one place for each allocation.
pub(super) fn no_handles<P: Peer>(trace: &Trace) -> Handles<P> {
    (0..trace.slots).map(|_| None).collect()
}

/// Frees the allocations that a trace leaves live: some peers require to be empty when dropped.
pub(super) fn end<P: Peer>(peer: &mut P, handles: &mut Handles<P>) {
    handles.iter_mut().filter_map(Option::take).for_each(|handle| peer.free(handle));
}

/// Replays a trace in a new peer, and performs each operation with `step` until that returns false.
fn replay<P: Peer>(
    trace: &Trace,
    capacity: u64,
    mut step: impl FnMut(&mut P, &Op, &mut Handles<P>) -> bool,
) -> bool {
    let (mut peer, mut handles) = (P::new(trace, capacity), no_handles::<P>(trace));
    let is_done = trace.ops.iter().all(|op| step(&mut peer, op, &mut handles));
    end(&mut peer, &mut handles);
    is_done
}

/// The outcome of an operation.
pub(super) enum Done {
    /// The block, the offset in it, and the range that is occupied.
    Allocated(u64, u64, Range<u64>),
    Refused,
    Freed,
    FrameEnded,
}

/// Performs an operation.
#[inline(always)]
pub(super) fn perform<P: Peer>(peer: &mut P, op: &Op, handles: &mut Handles<P>) -> Done {
    match op.kind {
        Kind::Allocate => {
            let Some(placed) = peer.allocate(u64::from(op.size), op.align()) else { return Done::Refused };
            let Placed { handle, block, offset, taken } = placed;
            handles[op.slot as usize] = Some(handle);
            Done::Allocated(block, offset, taken)
        }
        Kind::Free => {
            if let Some(handle) = handles[op.slot as usize].take() {
                peer.free(handle);
            }
            Done::Freed
        }
        Kind::EndFrame => {
            peer.end_frame();
            Done::FrameEnded
        }
    }
}

/// Performs an operation; false if an allocation failed.
#[inline(always)]
fn succeeds<P: Peer>(peer: &mut P, op: &Op, handles: &mut Handles<P>) -> bool {
    match perform(peer, op, handles) {
        Done::Allocated(_, offset, _) => {
            // Keeps the compiler from removing the computation of the offset.
            black_box(offset);
            true
        }
        Done::Refused => false,
        Done::Freed | Done::FrameEnded => true,
    }
}

/// The result of a timed replay.
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

/// The time of a replay; making the peer does not count.
pub(super) fn time<P: Peer>(trace: &Trace, capacity: u64) -> Timed {
    let (mut peer, mut handles) = (P::new(trace, capacity), no_handles::<P>(trace));
    let (mut failures, mut is_done) = (0, true);
    let start = Instant::now();
    for ops in trace.ops.chunks(STRETCH) {
        for op in ops {
            failures += usize::from(!succeeds(&mut peer, op, &mut handles));
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

/// The time of each allocation, less that of the clock.
pub(super) fn singles<P: Peer>(trace: &Trace, capacity: u64, clock: u32) -> Vec<u32> {
    let mut allocations = Vec::with_capacity(trace.calls);
    replay::<P>(trace, capacity, |peer, op, handles| {
        let start = Instant::now();
        succeeds(peer, op, handles);
        let time = nanoseconds(start).saturating_sub(clock);
        if op.kind == Kind::Allocate {
            allocations.push(time);
        }
        true
    });
    allocations
}

/// Whether a range of this size is enough.
pub(super) fn serves<P: Peer>(trace: &Trace, capacity: u64) -> bool {
    replay::<P>(trace, capacity, succeeds)
}

/// Bytes of all blocks: at most, and on average over the operations.
pub(super) fn reserved<P: Peer>(trace: &Trace) -> (u64, f64) {
    let (mut peak, mut sum) = (0, 0.0);
    replay::<P>(trace, trace.ample_bytes, |peer, op, handles| {
        succeeds(peer, op, handles);
        peak = peer.reserved().max(peak);
        sum += peer.reserved() as f64;
        true
    });
    (peak, sum / trace.ops.len() as f64)
}

/// Part of the name of the function that allocates for callgrind.
pub(crate) const ALLOCATE: &str = "allocate_for_callgrind";
/// Part of the name of the function that frees for callgrind.
pub(crate) const FREE: &str = "free_for_callgrind";

#[inline(never)]
fn allocate_for_callgrind<P: Peer>(peer: &mut P, size: u64, align: u64) -> Option<(P::Handle, u64)> {
    let Placed { handle, offset, .. } = peer.allocate(size, align)?;
    Some((handle, offset))
}

#[inline(never)]
fn free_for_callgrind<P: Peer>(peer: &mut P, handle: P::Handle) {
    peer.free(handle);
}

/// Calls the peer from functions of their own, which callgrind finds by their names.
pub(super) fn counted<P: Peer>(trace: &Trace, capacity: u64) {
    replay::<P>(trace, capacity, |peer, op, handles| {
        match op.kind {
            Kind::Allocate => {
                let made = allocate_for_callgrind(peer, u64::from(op.size), op.align());
                handles[op.slot as usize] = black_box(made).map(|(handle, _)| handle);
            }
            Kind::Free => _ = handles[op.slot as usize].take().map(|it| free_for_callgrind(peer, it)),
            Kind::EndFrame => peer.end_frame(),
        }
        true
    });
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;
    use std::ops::Range;

    use super::{Done, Peer, Trace, perform, replay};

    /// The live ranges: by block and first byte, the byte after the last.
    #[derive(Default)]
    struct Live(BTreeMap<(u64, u64), u64>);

    impl Live {
        /// Adds a range, unless it overlaps with one that is there.
        fn add(&mut self, block: u64, range: &Range<u64>) -> Result<(), String> {
            match self.0.range(..(block, range.end)).next_back() {
                Some((&(other, from), &to)) if other == block && to > range.start => {
                    Err(format!("block {block}: {range:?} overlaps with {from}..{to}, which is live"))
                }
                _ => {
                    self.0.insert((block, range.start), range.end);
                    Ok(())
                }
            }
        }
    }

    /// Checks that every allocation is aligned, inside the range that it occupies, and apart from all that live. Returns
    /// their number.
    pub(in crate::suballoc) fn check<P: Peer>(trace: &Trace, capacity: u64) -> Result<usize, String> {
        let (mut allocations, mut fault, mut live) = (0, Ok(()), Live::default());
        let mut places = vec![None; trace.slots];
        replay::<P>(trace, capacity, |peer, op, handles| {
            let (place, size, align) = (&mut places[op.slot as usize], u64::from(op.size), op.align());
            match perform(peer, op, handles) {
                Done::Allocated(block, offset, taken) => {
                    allocations += 1;
                    *place = Some((block, taken.start));
                    fault = if offset % align != 0 {
                        Err(format!("{offset} is no multiple of {align}"))
                    } else if offset < taken.start || offset + size > taken.end {
                        Err(format!("{size} bytes at {offset} are not inside {taken:?}"))
                    } else {
                        live.add(block, &taken)
                    };
                }
                Done::Freed => _ = place.take().and_then(|place| live.0.remove(&place)),
                Done::Refused | Done::FrameEnded => {}
            }
            fault.is_ok()
        });
        fault.map(|()| allocations)
    }

    #[test]
    fn overlaps_are_seen_from_either_side_and_only_within_a_block() {
        let mut live = Live::default();
        for (block, range) in [(0, 10..20), (0, 20..30), (1, 10..20)] {
            assert!(live.add(block, &range).is_ok());
        }
        for range in [10..20, 0..11, 19..20, 29..40, 0..100, 12..14] {
            assert!(live.add(0, &range).is_err(), "{range:?}");
        }
    }
}
