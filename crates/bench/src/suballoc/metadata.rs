//! How many bytes of its own memory an allocator needs.

use super::peers::{Peer, Placed};
use super::replay::{begin, end};
use super::trace::{Kind, Trace};
use crate::counting::Count;

/// Bytes of an allocator's own memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metadata {
    /// Before the first call.
    pub new: usize,
    /// At most.
    pub peak: usize,
    /// When the most allocations were live, for each of them and each hole between them.
    pub per_node: f64,
    /// When half of what was live then has been freed, every second of it, over what it was before.
    pub after_half: f64,
    /// When all has been freed, and it was asked to give back what it can.
    pub empty: usize,
}

/// Replays a trace up to where the most is live, then frees half of it, then the rest.
pub(super) fn measure<P: Peer>(trace: &Trace, capacity: u64) -> Metadata {
    let mut taken = vec![None; trace.slots];
    let room = begin::<P>(trace, capacity).1;
    let count = Count::start();
    let (mut peer, mut handles) = (P::new(trace, capacity), room);
    let mut metadata = Metadata { new: count.live(), ..Metadata::default() };
    let mut live = 0;
    for op in &trace.ops {
        match op.kind {
            Kind::Allocate => {
                let Some(placed) = peer.allocate(u64::from(op.size), op.align()) else { continue };
                let Placed { handle, block, taken: range, .. } = placed;
                handles[op.slot as usize] = Some(handle);
                taken[op.slot as usize] = Some((block, range.start, range.end));
                live += 1;
            }
            Kind::Free => {
                if let Some(handle) = handles[op.slot as usize].take() {
                    peer.free(handle);
                    taken[op.slot as usize] = None;
                    live -= 1;
                }
            }
            Kind::EndFrame => peer.end_frame(),
        }
        if live == trace.peak_live {
            break;
        }
    }
    let full = count.live();
    metadata.peak = count.peak();
    metadata.per_node = full as f64 / nodes(&mut taken) as f64;
    for handle in handles.iter_mut().filter(|handle| handle.is_some()).step_by(2) {
        if let Some(handle) = handle.take() {
            peer.free(handle);
        }
    }
    metadata.after_half = count.live() as f64 / full as f64;
    end(&mut peer, &mut handles);
    peer.trim();
    metadata.empty = count.live();
    metadata
}

/// Live allocations, and gaps before, between and after them.
fn nodes(taken: &mut [Option<(u64, u64, u64)>]) -> usize {
    taken.sort_unstable();
    let mut count = 0;
    let mut before = (u64::MAX, 0);
    for &(block, start, end) in taken.iter().flatten() {
        let gap = if before.0 == block { start > before.1 } else { start > 0 };
        // What is left at the end of a block is a hole too.
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
        let mut taken = [Some((0, 0, 4)), Some((0, 6, 8))];
        assert_eq!(nodes(&mut taken), 2 + 1 + 1);
        assert_eq!(nodes(&mut []), 1);
    }
}
