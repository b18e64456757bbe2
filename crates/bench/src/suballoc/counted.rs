//! A replay whose calls are made from functions of their own, which callgrind finds by their names.

use std::hint::black_box;

use super::peers::{Peer, Placed};
use super::replay::{begin, end};
use super::trace::{Kind, Trace};

/// Part of the name of the function that allocates.
pub(crate) const ALLOCATE: &str = "allocate_for_callgrind";
/// Part of the name of the function that frees.
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

/// Replays a trace in a new peer.
pub(super) fn replay<P: Peer>(trace: &Trace, capacity: u64) {
    let (mut peer, mut handles) = begin::<P>(trace, capacity);
    for op in &trace.ops {
        match op.kind {
            Kind::Allocate => {
                if let Some((handle, offset)) =
                    allocate_for_callgrind(&mut peer, u64::from(op.size), op.align())
                {
                    black_box(offset);
                    handles[op.slot as usize] = Some(handle);
                }
            }
            Kind::Free => {
                if let Some(handle) = handles[op.slot as usize].take() {
                    free_for_callgrind(&mut peer, handle);
                }
            }
            Kind::EndFrame => peer.end_frame(),
        }
    }
    end(&mut peer, &mut handles);
}
