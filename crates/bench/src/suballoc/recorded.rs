//! Recordings of real programs as workloads.

use std::path::Path;

use super::trace::{Recorder, Trace};
use crate::script::{self, Call};

/// Reads a recording. All its memory kinds go to one allocator.
///
/// # Errors
/// The file cannot be read, is not a valid recording, has an allocation of 4 GiB or more, or has none.
pub(super) fn read(path: &Path) -> Result<Trace, String> {
    let script = script::read(path)?;
    let mut recorder = Recorder::default();
    let mut slots = vec![0; script.slots];
    let (mut granule, mut largest) = (u64::MAX, 0);
    for call in &script.calls {
        match *call {
            Call::Allocate { slot, request } => {
                if request.size > u64::from(u32::MAX) {
                    let (path, size) = (path.display(), request.size);
                    return Err(format!(
                        "{path}: an allocation has {size} bytes; 4 GiB or more are not replayed"
                    ));
                }
                granule = granule.min(request.align);
                largest = largest.max(request.size + request.align);
                slots[slot] = recorder.allocate(request.size, request.align);
            }
            Call::Free { slot } => recorder.free(slots[slot]),
            Call::EndFrame => recorder.end_frame(),
        }
    }
    let trace = recorder.finish(&script.name, "recorded", granule);
    let largest = u64::next_power_of_two(largest);
    let ample_bytes = trace.ample_bytes.max(4 * largest);
    // Peers that count in 32 bits must be able to number the range.
    let granule = granule.max((ample_bytes >> 30).next_power_of_two());
    Ok(Trace { granule, ample_bytes, block_bytes: trace.block_bytes.max(largest), ..trace })
}
