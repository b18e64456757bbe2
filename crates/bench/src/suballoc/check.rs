//! Checks that allocations do not overlap and are aligned.

use std::collections::BTreeMap;

use super::peers::{Peer, Placed};
use super::replay::{begin, end};
use super::trace::{Kind, Trace};

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Allocations, none of which overlapped with another or was not aligned.
    pub allocations: usize,
    /// Allocations that failed.
    pub failures: usize,
}

/// The live ranges: by block and first byte, the byte after the last.
#[derive(Default)]
pub(crate) struct Live(BTreeMap<(u64, u64), u64>);

impl Live {
    /// Adds a range, unless it overlaps with one that is there.
    pub(crate) fn add(&mut self, block: u64, start: u64, end: u64) -> Result<(), String> {
        let before = self.0.range(..(block, end)).next_back();
        match before {
            Some((&(other, from), &to)) if other == block && to > start => {
                Err(format!("block {block}: {start}..{end} overlaps with {from}..{to}, which is live"))
            }
            _ => {
                self.0.insert((block, start), end);
                Ok(())
            }
        }
    }

    pub(crate) fn remove(&mut self, block: u64, start: u64) {
        self.0.remove(&(block, start));
    }
}

/// Replays a trace in a new peer, and checks every allocation.
pub(super) fn check<P: Peer>(trace: &Trace, capacity: u64) -> Result<Checked, String> {
    let (mut peer, mut handles) = begin::<P>(trace, capacity);
    let result = replay(&mut peer, trace, &mut handles);
    end(&mut peer, &mut handles);
    result
}

fn replay<P: Peer>(
    peer: &mut P,
    trace: &Trace,
    handles: &mut [Option<P::Handle>],
) -> Result<Checked, String> {
    let mut checked = Checked { allocations: 0, failures: 0 };
    let mut live = Live::default();
    let mut places = vec![(0, 0); trace.slots];
    for (line, op) in trace.ops.iter().enumerate() {
        let slot = op.slot as usize;
        match op.kind {
            Kind::Allocate => {
                let (size, align) = (u64::from(op.size), op.align());
                let Some(Placed { handle, block, offset, taken }) = peer.allocate(size, align) else {
                    checked.failures += 1;
                    continue;
                };
                handles[slot] = Some(handle);
                places[slot] = (block, taken.start);
                let is_inside = taken.start <= offset && offset + size <= taken.end;
                let fault = if offset % align != 0 {
                    Err(format!("{offset} is no multiple of {align}"))
                } else if !is_inside {
                    Err(format!("{size} bytes at {offset} are not inside {taken:?}"))
                } else {
                    live.add(block, taken.start, taken.end)
                };
                fault.map_err(|fault| format!("operation {line}: {fault}"))?;
                checked.allocations += 1;
            }
            Kind::Free => {
                if let Some(handle) = handles[slot].take() {
                    live.remove(places[slot].0, places[slot].1);
                    peer.free(handle);
                }
            }
            Kind::EndFrame => peer.end_frame(),
        }
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::Live;

    #[test]
    fn overlaps_are_seen_from_either_side_and_only_within_a_block() {
        let mut live = Live::default();
        assert!(live.add(0, 10, 20).is_ok());
        assert!(live.add(0, 20, 30).is_ok());
        assert!(live.add(1, 10, 20).is_ok());
        for (start, end) in [(10, 20), (0, 11), (19, 20), (29, 40), (0, 100), (12, 14)] {
            assert!(live.add(0, start, end).is_err(), "{start}..{end}");
        }
        live.remove(0, 10);
        assert!(live.add(0, 0, 20).is_ok());
    }
}
