//! A recording as a list of calls.

use std::collections::HashMap;
use std::path::Path;

use crate::Result;
use tenure_trace::{Event, Kind, TraceReader};

/// A request of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Bytes.
    pub(crate) size: u64,
    /// Bytes.
    pub(crate) align: u64,
    pub(crate) kind: Kind,
}

/// One call. A slot identifies a live allocation; slots are reused.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Allocate { slot: usize, request: Request },
    Free { slot: usize },
    EndFrame,
}

/// Memory from the driver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reserved {
    /// The most bytes at once.
    pub(crate) peak: u64,
    /// Memory allocations of the driver.
    pub(crate) driver_allocations: u64,
}

/// The calls of a recording.
pub(crate) struct Script {
    pub(crate) name: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) slots: usize,
    /// The peak of requested live bytes.
    pub(crate) peak_bytes: u64,
    /// The memory that the program itself took from the driver, if it was recorded.
    pub(crate) own: Option<Reserved>,
}

/// Reads a recording. Allocations that are live at the end are not freed. Memory of others, which the program imported, is
/// left out.
///
/// # Errors
/// The file cannot be read, is not a valid recording, or has no allocation.
pub(crate) fn read(path: &Path) -> Result<Script> {
    let mut reader = TraceReader::open(path)?;
    let events = std::iter::from_fn(|| Some(reader.next()?.map(|event| (event, reader.details().is_import))));
    let events = events.filter(|event| !event.as_ref().is_ok_and(|(_, is_import)| *is_import));
    let events = events.map(|event| Ok(event?.0));
    let file = path.file_name().map_or_else(|| path.display().to_string(), |name| name.display().to_string());
    let script = Script::new(file.split('.').next().unwrap_or(&file), events)?;
    let summary = reader.summary();
    let own = Reserved { peak: summary.peak_block_bytes, driver_allocations: summary.blocks };
    Ok(Script { own: (summary.blocks > 0).then_some(own), ..script })
}

impl Script {
    /// The calls of these events.
    ///
    /// # Errors
    /// That of an event, or there is no allocation.
    pub(crate) fn new(name: &str, events: impl IntoIterator<Item = Result<Event>>) -> Result<Self> {
        let (mut calls, mut taken, mut vacant) = (Vec::new(), HashMap::new(), Vec::new());
        let (mut slots, mut live, mut peak_bytes) = (0, 0, 0);
        for event in events {
            match event? {
                Event::Alloc { id, size, align, kind, .. } => {
                    let slot = vacant.pop().unwrap_or_else(|| {
                        slots += 1;
                        slots - 1
                    });
                    taken.insert(id, (slot, size));
                    live += size;
                    peak_bytes = live.max(peak_bytes);
                    calls.push(Call::Allocate { slot, request: Request { size, align, kind } });
                }
                Event::Free { id, .. } => {
                    if let Some((slot, size)) = taken.remove(&id) {
                        live -= size;
                        vacant.push(slot);
                        calls.push(Call::Free { slot });
                    }
                }
                Event::Frame { .. } => calls.push(Call::EndFrame),
                _ => {}
            }
        }
        if slots == 0 {
            return Err(format!("{name}: there is no allocation in it").into());
        }
        Ok(Self { name: name.to_owned(), calls, slots, peak_bytes, own: None })
    }
}
