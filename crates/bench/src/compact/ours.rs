//! tenure's pools of heaps.

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use tenure_core::memory::heap_pools::{CompactionBudget, HeapPoolsConfig};

use super::{Compactor, FRAME_BYTES, FRAME_MOVES, Frames};
use crate::recordings::play::Handles;
use crate::recordings::pools::Pools;
use crate::timing::nanoseconds;
use crate::{Result, null};

/// Pieces examined per frame, which bounds its time.
const FRAME_PIECES: usize = 250;
/// Limit on the number of frames.
const TOO_MANY: usize = 1_000_000;

pub(super) const COMPACTOR: Compactor<Pools> = Compactor {
    make: || Pools::with(HeapPoolsConfig::default().compacts(true)),
    reserved: |player| player.pools.totals().reserved,
    compact,
};

fn compact(player: &mut Pools, handles: &mut Handles<Pools>) -> Result<Frames> {
    let slots = handles.iter().enumerate();
    let mut slots: HashMap<_, _> =
        slots.filter_map(|(slot, range)| Some((range.as_ref()?.0.serial(), slot))).collect();
    let budget = CompactionBudget { bytes: FRAME_BYTES, moves: FRAME_MOVES as usize, pieces: FRAME_PIECES };
    let (mut frames, mut moves) = (Frames::default(), Vec::new());
    // The moved allocations, and the heap of each move.
    let (mut moved_before, mut left) = (HashSet::new(), Vec::new());
    while frames.times.len() < TOO_MANY {
        let start = Instant::now();
        let is_done = player.pools.compact(budget, |_| true, &mut moves);
        for moved in &moves {
            player.pools.free(&moved.from)?;
        }
        frames.times.push(nanoseconds(start));
        for moved in moves.drain(..) {
            frames.moves += 1;
            frames.bytes += moved.from.size();
            let slot = slots.remove(&moved.from.serial()).ok_or("something unknown has moved")?;
            slots.insert(moved.to.serial(), slot);
            frames.wasted = Some(frames.wasted.unwrap_or(0) + u64::from(!moved_before.insert(slot)));
            left.extend(handles[slot].as_ref().map(|(_, heap)| *heap));
            let heap = player.pools.heap(&moved.to).map_or(0, null::Heap::number);
            handles[slot] = Some((moved.to, heap));
        }
        if is_done {
            let kept: HashSet<u64> = handles.iter().flatten().map(|(_, heap)| *heap).collect();
            let in_vain = left.iter().filter(|heap| kept.contains(heap)).count() as u64;
            frames.wasted = Some(frames.wasted.unwrap_or(0) + in_vain);
            return Ok(frames);
        }
    }
    Err("compaction does not end".into())
}
