//! The recordings of the repository, with both allocators.

use std::collections::HashMap;
use std::path::Path;

use tenure_trace::{Event, Kind, Layout, MemoryKind, TraceReader};

use crate::fake::{Driver, with};
use crate::{MIB, ours, theirs};

/// Replays a recording with wgpu's default block sizes; returns the peak of the bytes taken from the driver.
macro_rules! peak {
    ($program:ident, $krate:ident, $path:expr) => {{
        let sizes = $krate::AllocationSizes::new(128 * MIB, 64 * MIB)
            .with_max_device_memblock_size(256 * MIB)
            .with_max_host_memblock_size(128 * MIB);
        let mut allocator = $program::allocator(Driver::discrete(64 << 30, 64 << 30), sizes);
        let mut live = HashMap::new();
        for event in TraceReader::open($path).unwrap() {
            match event.unwrap() {
                Event::Alloc { id, size, align, kind: Kind { memory, layout }, .. } => {
                    let location = match memory {
                        MemoryKind::GpuOnly => $krate::MemoryLocation::GpuOnly,
                        MemoryKind::CpuToGpu => $krate::MemoryLocation::CpuToGpu,
                        MemoryKind::GpuToCpu => $krate::MemoryLocation::GpuToCpu,
                    };
                    let desc = $program::desc(size, align, location, layout == Layout::Linear);
                    live.insert(id, allocator.allocate(&desc).unwrap());
                }
                Event::Free { id, .. } => allocator.free(live.remove(&id).unwrap()).unwrap(),
                _ => {}
            }
        }
        with(|driver| driver.peak)
    }};
}

/// No recorded program takes more memory with this crate than with the original.
#[test]
fn no_recording_peaks_above_the_original() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../traces");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "gz") {
            continue;
        }
        count += 1;
        let (theirs, ours) = (peak!(theirs, original, &path), peak!(ours, gpu_allocator, &path));
        let file = path.file_name().unwrap().display();
        assert!(ours <= theirs, "{file}: {} MiB, the original's {} MiB", ours / MIB, theirs / MIB);
    }
    assert!(count >= 9, "{count} recordings");
}
