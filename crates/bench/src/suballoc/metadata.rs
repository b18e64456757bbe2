//! The bytes of its own memory that an allocator needs.

use super::peers::Peer;
use super::replay::{Done, end, no_handles, perform};
use super::trace::Trace;
use crate::counting::Count;

/// Bytes of an allocator's own memory.
#[derive(Clone, Copy, Debug)]
pub struct Metadata {
    /// Bytes per node (a live allocation or a hole) at the peak of live allocations.
    pub per_node: f64,
    /// Ratio of the bytes after the younger half of the allocations was freed and unused metadata trimmed to the peak.
    pub after_younger_half: f64,
    /// Bytes after everything was freed and trimmed.
    pub empty: usize,
}

/// Replays a trace up to where the most is live, then frees the younger half of it, then the rest.
pub(super) fn measure<P: Peer>(trace: &Trace, capacity: u64) -> Metadata {
    let mut handles = no_handles::<P>(trace);
    // Block, begin and end of the allocation in each slot, and the slots in the order of their allocations.
    let (mut taken, mut order) = (vec![None; trace.slots], Vec::with_capacity(trace.ops.len()));
    let count = Count::start();
    let mut peer = P::new(trace, capacity);
    let mut live = 0;
    for op in &trace.ops {
        match perform(&mut peer, op, &mut handles) {
            Done::Allocated(block, _, range) => {
                taken[op.slot as usize] = Some((block, range.start, range.end));
                order.push(op.slot);
                live += 1;
            }
            Done::Freed => live -= usize::from(taken[op.slot as usize].take().is_some()),
            Done::Refused | Done::FrameEnded => {}
        }
        if live == trace.peak_live {
            break;
        }
    }
    let before = count.live() as f64;
    let per_node = before / nodes(&mut taken) as f64;
    // A slot's last entry is that of the allocation that lives in it.
    let youngest = order.iter().rev().filter_map(|&slot| handles[slot as usize].take());
    youngest.take(live / 2).for_each(|handle| peer.free(handle));
    peer.trim();
    let after_younger_half = count.live() as f64 / before;
    end(&mut peer, &mut handles);
    peer.trim();
    Metadata { per_node, after_younger_half, empty: count.live() }
}

/// Live allocations, and gaps before, between and after them.
fn nodes(taken: &mut [Option<(u64, u64, u64)>]) -> usize {
    taken.sort_unstable();
    let mut count = 0;
    let mut before = (u64::MAX, 0);
    for &(block, start, end) in taken.iter().flatten() {
        let gap = if before.0 == block { start > before.1 } else { start > 0 };
        // The rest at the end of a block is a hole too.
        let tail = before.0 != block;
        count += 1 + usize::from(gap) + usize::from(tail);
        before = (block, end);
    }
    count.max(1)
}

#[cfg(test)]
mod tests {
    use super::nodes;

    #[test]
    fn nodes_are_allocations_and_the_gaps_around_them() {
        // Two in a row, one after a gap, and one in another block; each block ends with a hole.
        let mut taken = [Some((0, 8, 12)), None, Some((0, 0, 4)), Some((0, 4, 8)), Some((1, 4, 8))];
        assert_eq!(nodes(&mut taken), 4 + 1 + 2);
        assert_eq!(nodes(&mut [Some((0, 0, 4)), Some((0, 6, 8))]), 2 + 1 + 1);
        assert_eq!(nodes(&mut []), 1);
    }
}
