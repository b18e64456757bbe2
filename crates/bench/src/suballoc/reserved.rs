//! How much memory blocks take.

use super::peers::Peer;
use super::replay::{begin, end, perform};
use super::trace::Trace;

/// Bytes of memory that a peer had while it replayed a trace.
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    /// At most.
    pub peak: u64,
    /// On average over the operations.
    pub mean: f64,
}

/// Replays a trace and looks at what is reserved after each operation.
pub(super) fn measure<P: Peer>(trace: &Trace) -> Reserved {
    let (mut peer, mut handles) = begin::<P>(trace, trace.ample_bytes);
    let (mut peak, mut sum) = (0, 0.0);
    for op in &trace.ops {
        perform(&mut peer, op, &mut handles);
        let bytes = peer.reserved();
        peak = peak.max(bytes);
        sum += bytes as f64;
    }
    end(&mut peer, &mut handles);
    Reserved { peak, mean: sum / trace.ops.len() as f64 }
}
