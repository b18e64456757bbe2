//! Recordings of a program's allocations, for `tenure replay`.
//!
//! If the environment variable `TENURE_TRACE` names a file, each allocator records its requests there, in the format
//! of tenure's traces. A further allocator of the process, as in a program with two devices, adds a number before the
//! extension: `run.csv`, `run.2.csv`. Recordings have no frames, because allocators do not see presentation.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::MemoryLocation;

const VARIABLE: &str = "TENURE_TRACE";
/// Lines between two flushes, and so the maximum number of lines lost in a crash.
const LINES_A_FLUSH: u32 = 1024;

/// The recorded data of an allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    /// Bytes.
    pub(crate) size: u64,
    /// Bytes.
    pub(crate) alignment: u64,
    pub(crate) location: MemoryLocation,
    /// Whether it is for a buffer or a linear image.
    pub(crate) is_linear: bool,
}

/// A file that is written until the first error.
pub(crate) struct Recording {
    sink: BufWriter<File>,
    live: BTreeMap<NonZeroU64, Told>,
    unflushed: u32,
}

impl Recording {
    /// A recording, if the environment requests one. Failures to create the file are logged.
    pub(crate) fn begin() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = PathBuf::from(std::env::var_os(VARIABLE).filter(|name| !name.is_empty())?);
        let path = numbered(&path, COUNT.fetch_add(1, Ordering::Relaxed).saturating_add(1));
        match Self::create(&path) {
            Ok(recording) => Some(recording),
            Err(error) => {
                log::error!("{VARIABLE}: {}: {error}", path.display());
                None
            }
        }
    }

    fn create(path: &Path) -> io::Result<Self> {
        let mut sink = BufWriter::new(File::create(path)?);
        writeln!(sink, "op,id,size,align,kind,frame")?;
        Ok(Self { sink, live: BTreeMap::new(), unflushed: 0 })
    }

    /// # Errors
    /// Errors of the file; the recording ends then.
    pub(crate) fn allocated(&mut self, id: NonZeroU64, told: Told) -> io::Result<()> {
        writeln!(self.sink, "alloc,{id},{},{},{},0", told.size, told.alignment, kind(&told))?;
        self.live.insert(id, told);
        self.count()
    }

    /// # Errors
    /// Errors of the file; the recording ends then.
    pub(crate) fn freed(&mut self, id: NonZeroU64) -> io::Result<()> {
        let Some(told) = self.live.remove(&id) else { return Ok(()) };
        writeln!(self.sink, "free,{id},{},,{},0", told.size, kind(&told))?;
        self.count()
    }

    fn count(&mut self) -> io::Result<()> {
        self.unflushed += 1;
        if self.unflushed < LINES_A_FLUSH {
            return Ok(());
        }
        self.unflushed = 0;
        self.sink.flush()
    }
}

/// The path of the process's recording with this number.
fn numbered(path: &Path, number: u32) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_extension(if extension.is_empty() {
        number.to_string()
    } else {
        format!("{number}.{extension}")
    })
}

const fn kind(told: &Told) -> &'static str {
    match (told.location, told.is_linear) {
        (MemoryLocation::GpuOnly | MemoryLocation::Unknown, true) => "gpu_only+linear",
        (MemoryLocation::GpuOnly | MemoryLocation::Unknown, false) => "gpu_only+optimal",
        (MemoryLocation::CpuToGpu, true) => "cpu_to_gpu+linear",
        (MemoryLocation::CpuToGpu, false) => "cpu_to_gpu+optimal",
        (MemoryLocation::GpuToCpu, true) => "gpu_to_cpu+linear",
        (MemoryLocation::GpuToCpu, false) => "gpu_to_cpu+optimal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_allocator_has_its_own_file() {
        assert_eq!(numbered(Path::new("a/run.csv"), 1), Path::new("a/run.csv"));
        assert_eq!(numbered(Path::new("a/run.csv"), 2), Path::new("a/run.2.csv"));
        assert_eq!(numbered(Path::new("run"), 3), Path::new("run.3"));
    }

    #[test]
    fn recordings_are_traces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.csv");
        let mut recording = Recording::create(&path).unwrap();
        let locations = [
            MemoryLocation::Unknown,
            MemoryLocation::GpuOnly,
            MemoryLocation::CpuToGpu,
            MemoryLocation::GpuToCpu,
        ];
        let mut id = NonZeroU64::MIN;
        for location in locations {
            for is_linear in [true, false] {
                recording.allocated(id, Told { size: 1000, alignment: 256, location, is_linear }).unwrap();
                if is_linear {
                    recording.freed(id).unwrap();
                }
                id = id.saturating_add(1);
            }
        }
        drop(recording);
        let trace = tenure_trace::read_all(File::open(&path).unwrap(), "run.csv").unwrap();
        assert_eq!((trace.summary.allocs, trace.summary.frees), (8, 4));
        assert_eq!(trace.summary.peak_live_bytes, 4000);
    }
}
