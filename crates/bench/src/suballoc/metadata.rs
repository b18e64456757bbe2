//! How many bytes of its own memory an allocator needs.

use super::peers::{Peer, Placed};
use super::replay::{Handles, begin, end};
use super::trace::{Kind, Trace};
use crate::counting::Count;

/// Bytes of an allocator's own memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Metadata {
    /// When the most allocations were live, for each of them and each hole between them.
    pub per_node: f64,
    /// When half of what was live then has been freed, every second of it, over what it was before.
    pub after_half: f64,
    /// When the younger half of it has been freed, and it was asked to give back what it can.
    pub after_younger_half: f64,
    /// When all has been freed, and it was asked to give back what it can.
    pub empty: usize,
}

/// Replays a trace up to where the most is live, then frees half of it, then the rest.
pub(super) fn measure<P: Peer>(trace: &Trace, capacity: u64) -> Metadata {
    let mut full = Full::<P>::new(trace, capacity);
    let before = full.count.live();
    let mut metadata =
        Metadata { per_node: before as f64 / nodes(&mut full.taken) as f64, ..Metadata::default() };
    for handle in full.handles.iter_mut().filter(|handle| handle.is_some()).step_by(2) {
        if let Some(handle) = handle.take() {
            full.peer.free(handle);
        }
    }
    metadata.after_half = full.count.live() as f64 / before as f64;
    end(&mut full.peer, &mut full.handles);
    full.peer.trim();
    metadata.empty = full.count.live();
    drop(full);
    metadata.after_younger_half = after_younger_half::<P>(trace, capacity);
    metadata
}

fn after_younger_half<P: Peer>(trace: &Trace, capacity: u64) -> f64 {
    let mut full = Full::<P>::new(trace, capacity);
    let before = full.count.live();
    let live = full.handles.iter().flatten().count();
    // A slot's last entry is that of what lives in it.
    let youngest = full.order.iter().rev().filter_map(|&slot| full.handles[slot as usize].take());
    youngest.take(live / 2).for_each(|handle| full.peer.free(handle));
    full.peer.trim();
    let after = full.count.live() as f64 / before as f64;
    end(&mut full.peer, &mut full.handles);
    after
}

/// A peer with the most that a trace has live at once.
struct Full<P: Peer> {
    /// Of what the peer takes from the heap.
    count: Count,
    peer: P,
    handles: Handles<P>,
    /// Block, begin and end of what is in each slot.
    taken: Vec<Option<(u64, u64, u64)>>,
    /// Slots in the order in which something was put there.
    order: Vec<u32>,
}

impl<P: Peer> Full<P> {
    fn new(trace: &Trace, capacity: u64) -> Self {
        let (mut taken, mut order) = (vec![None; trace.slots], Vec::with_capacity(trace.ops.len()));
        let mut handles = begin::<P>(trace, capacity).1;
        let count = Count::start();
        let mut peer = P::new(trace, capacity);
        let mut live = 0;
        for op in &trace.ops {
            match op.kind {
                Kind::Allocate => {
                    let Some(placed) = peer.allocate(u64::from(op.size), op.align()) else { continue };
                    let Placed { handle, block, taken: range, .. } = placed;
                    handles[op.slot as usize] = Some(handle);
                    taken[op.slot as usize] = Some((block, range.start, range.end));
                    order.push(op.slot);
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
        Self { count, peer, handles, taken, order }
    }
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
