//! Recordings of real programs as workloads.

use std::collections::HashMap;
use std::path::Path;

use tenure_trace::{Event, TraceReader};

use super::trace::{Recorder, Trace};

/// Reads a recording. All its memory kinds go to one allocator.
///
/// # Errors
/// The file cannot be read, is not a valid recording, has an allocation of 4 GiB or more, or has none.
pub(super) fn read(path: &Path) -> Result<Trace, String> {
    let reader = TraceReader::open(path).map_err(|error| error.to_string())?;
    let mut recorder = Recorder::default();
    let mut slots = HashMap::new();
    let (mut granule, mut largest) = (u64::MAX, 0);
    for event in reader {
        match event.map_err(|error| error.to_string())? {
            Event::Alloc { id, size, align, .. } => {
                if size > u64::from(u32::MAX) {
                    let path = path.display();
                    return Err(format!("{path}: id {id} has {size} bytes; 4 GiB or more are not replayed"));
                }
                granule = granule.min(align);
                largest = largest.max(size + align);
                slots.insert(id, recorder.allocate(size, align));
            }
            Event::Free { id, .. } => {
                if let Some(slot) = slots.remove(&id) {
                    recorder.free(slot);
                }
            }
            Event::Frame { .. } => recorder.end_frame(),
        }
    }
    if recorder.calls() == 0 {
        return Err(format!("{}: there is no allocation in it", path.display()));
    }
    let file = path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string());
    let name = file.split('.').next().unwrap_or(&file);
    let trace = recorder.finish(name, "recorded", granule);
    let largest = largest.next_power_of_two();
    let ample_bytes = trace.ample_bytes.max(4 * largest);
    // Peers that count in 32 bits must be able to number the range.
    let granule = granule.max((ample_bytes >> 30).next_power_of_two());
    Ok(Trace { granule, ample_bytes, block_bytes: trace.block_bytes.max(largest), ..trace })
}
