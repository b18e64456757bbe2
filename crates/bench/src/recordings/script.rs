//! A recording as a list of calls.

use std::collections::HashMap;
use std::path::Path;

use tenure_trace::{Event, Kind, TraceReader};

/// A request of a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// Bytes.
    pub(super) size: u64,
    /// Bytes.
    pub(super) align: u64,
    pub(super) kind: Kind,
}

/// One call. A slot identifies a live allocation; slots are reused.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Allocate { slot: usize, request: Request },
    Free { slot: usize },
}

/// The calls of a recording.
pub(super) struct Script {
    pub(super) name: String,
    pub(super) calls: Vec<Call>,
    pub(super) slots: usize,
    /// The most bytes that live at once, as they were asked for.
    pub(super) peak_bytes: u64,
}

/// Reads a recording. Allocations that are live at the end are not freed.
///
/// # Errors
/// The file cannot be read, is not a valid recording, or has no allocation.
pub(super) fn read(path: &Path) -> Result<Script, String> {
    let mut reader = TraceReader::open(path).map_err(|error| error.to_string())?;
    let (mut calls, mut taken, mut vacant) = (Vec::new(), HashMap::new(), Vec::new());
    let mut slots = 0;
    for event in reader.by_ref() {
        match event.map_err(|error| error.to_string())? {
            Event::Alloc { id, size, align, kind, .. } => {
                let slot = vacant.pop().unwrap_or_else(|| {
                    slots += 1;
                    slots - 1
                });
                taken.insert(id, slot);
                calls.push(Call::Allocate { slot, request: Request { size, align, kind } });
            }
            Event::Free { id, .. } => {
                if let Some(slot) = taken.remove(&id) {
                    vacant.push(slot);
                    calls.push(Call::Free { slot });
                }
            }
            Event::Frame { .. } => {}
        }
    }
    if calls.is_empty() {
        return Err(format!("{}: there is no allocation in it", path.display()));
    }
    let file = path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string());
    let name = file.split('.').next().unwrap_or(&file).to_owned();
    Ok(Script { name, calls, slots, peak_bytes: reader.summary().peak_live_bytes })
}
