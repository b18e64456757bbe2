//! Writing a recording.

use std::io::Write;
use std::path::Path;

use tenure_trace::{Encoding, TraceError, TraceWriter};

use super::convert::Recording;

pub(super) fn to_file(
    recording: &Recording,
    program: &str,
    file: &Path,
    encoding: Encoding,
) -> Result<(), TraceError> {
    write(recording, program, TraceWriter::create(file, encoding)?).map(drop)
}

pub(super) fn to_bytes(recording: &Recording, program: &str) -> Result<Vec<u8>, TraceError> {
    write(recording, program, TraceWriter::new(Vec::new(), Encoding::Plain)?)
}

fn write<W: Write>(
    recording: &Recording,
    program: &str,
    mut writer: TraceWriter<W>,
) -> Result<W, TraceError> {
    writer.set_header(recording.header(program))?;
    for (event, details) in &recording.events {
        match writer.event_with(event, details) {
            // More memory than any device has, or an invalid alignment: the log is damaged.
            Err(TraceError::Refused { .. }) => {}
            written => written?,
        }
    }
    writer.finish()
}
