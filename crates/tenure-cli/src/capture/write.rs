//! Writing a recording.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use tenure_trace::{Encoding, Event as TraceEvent, MAX_ALIGN, MAX_SIZE, TraceError, TraceWriter};

use super::convert::Recording;
use super::event::{Event, Resource};

pub(super) fn to_file(recording: &Recording, file: &Path, encoding: Encoding) -> Result<(), TraceError> {
    write(recording, TraceWriter::create(file, encoding)?).map(drop)
}

pub(super) fn to_bytes(recording: &Recording) -> Result<Vec<u8>, TraceError> {
    write(recording, TraceWriter::new(Vec::new(), Encoding::Plain)?)
}

/// A recording has no aliases and no memory of others.
fn is_written(resource: &Resource) -> bool {
    resource.alias.is_none()
        && !resource.memory.is_import
        && resource.size <= MAX_SIZE
        && resource.align <= MAX_ALIGN
        && resource.align.is_power_of_two()
}

fn write<W: Write>(recording: &Recording, mut writer: TraceWriter<W>) -> Result<W, TraceError> {
    let mut written = HashSet::new();
    for timed in &recording.events {
        let frame = timed.frame;
        match &timed.event {
            Event::Alloc(resource) if is_written(resource) => {
                let &Resource { id, size, align, kind, .. } = &**resource;
                written.insert(id);
                writer.event(&TraceEvent::Alloc { id, size, align, kind, frame })?;
            }
            &Event::Free { id, size } if written.remove(&id) => {
                writer.event(&TraceEvent::Free { id, size, frame })?;
            }
            Event::Frame => writer.event(&TraceEvent::Frame { number: frame })?,
            _ => {}
        }
    }
    writer.finish()
}
