//! W6: what fragments most.

use super::Scale;
use crate::suballoc::rng::Rng;
use crate::suballoc::trace::{Recorder, Trace};

const MI: u64 = 1 << 20;

/// Fills 128 Mi with sizes of one power of two (of that and up to twice as much), frees every second
/// of all that is live, doubles the size: from 256 to 1 Mi. After Robson, *Bounds for Some Functions Concerning Dynamic Storage Allocation*, 1974.
pub(super) fn trace(mut rng: Rng, scale: Scale) -> Trace {
    let bytes = scale.calls(128) as u64 * MI;
    let mut recorder = Recorder::default();
    let mut live: Vec<u32> = Vec::new();
    for size_log2 in 8..=20 {
        loop {
            let size = rng.between(1 << size_log2, (2 << size_log2) - 1);
            if recorder.live_bytes() + size > bytes {
                break;
            }
            live.push(recorder.allocate(size, 256));
        }
        let odd = rng.index(2);
        let mut count = 0;
        live.retain(|&slot| {
            count += 1;
            let goes = count % 2 == odd;
            if goes {
                recorder.free(slot);
            }
            !goes
        });
    }
    let trace = recorder.finish("W6", "adversary 256..1 Mi", 256);
    Trace { ample_bytes: trace.peak_bytes * 12, ..trace }
}
