//! Parsing and formatting a single line, independent of the lines before it.

use std::io::{self, Write};
use std::str::FromStr;

use crate::{Column, Event, Kind, Layout, MemoryKind, Reason};

/// The content of a line.
pub(crate) struct Line {
    pub(crate) event: Event,
    pub(crate) repeated: Repeated,
}

/// The properties of the allocation that a free repeats, except the size.
///
/// They are only compared with those of the allocation, so the event does not hold them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Repeated {
    pub(crate) align: Option<u64>,
    pub(crate) kind: Option<Kind>,
}

/// Reads a line, without its line end.
pub(crate) fn parse(line: &[u8]) -> Result<Line, Reason> {
    let text = std::str::from_utf8(line)
        .map_err(|error| Reason::InvalidUtf8 { valid_bytes: error.valid_up_to() })?;
    let [op, id, size, align, kind, frame] = columns(text)?;
    let mut repeated = Repeated::default();
    let event = match op {
        "alloc" => Event::Alloc {
            id: number(Column::Id, id)?,
            size: number(Column::Size, size)?,
            align: number(Column::Align, align)?,
            kind: kind.parse()?,
            frame: number(Column::Frame, frame)?,
        },
        "free" => {
            repeated.align = unless_empty(align, |align| number(Column::Align, align))?;
            repeated.kind = unless_empty(kind, str::parse)?;
            Event::Free {
                id: number(Column::Id, id)?,
                size: number(Column::Size, size)?,
                frame: number(Column::Frame, frame)?,
            }
        }
        "frame" => {
            empty(Column::Id, id)?;
            empty(Column::Size, size)?;
            empty(Column::Align, align)?;
            empty(Column::Kind, kind)?;
            Event::Frame { number: number(Column::Frame, frame)? }
        }
        _ => return Err(Reason::UnknownOperation { found: op.into() }),
    };
    Ok(Line { event, repeated })
}

/// Writes the line of an event, with its line end. `kind` is that of the allocation a free ends.
pub(crate) fn write(out: &mut impl Write, event: &Event, kind: Option<Kind>) -> io::Result<()> {
    match (*event, kind) {
        (Event::Alloc { id, size, align, kind, frame }, _) => {
            writeln!(out, "alloc,{id},{size},{align},{kind},{frame}")
        }
        (Event::Free { id, size, frame }, Some(kind)) => {
            writeln!(out, "free,{id},{size},,{kind},{frame}")
        }
        (Event::Free { id, size, frame }, None) => writeln!(out, "free,{id},{size},,,{frame}"),
        (Event::Frame { number }, _) => writeln!(out, "frame,,,,,{number}"),
    }
}

fn columns(text: &str) -> Result<[&str; 6], Reason> {
    let mut columns = [""; 6];
    let mut found = 0;
    for column in text.split(',') {
        if let Some(place) = columns.get_mut(found) {
            *place = column;
        }
        found += 1;
    }
    if found == columns.len() { Ok(columns) } else { Err(Reason::WrongColumns { found }) }
}

fn number(column: Column, text: &str) -> Result<u64, Reason> {
    // The standard parser alone would accept a leading plus.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if digits => Ok(number),
        _ => Err(Reason::BadNumber { column, found: text.into() }),
    }
}

fn unless_empty<T>(text: &str, parse: impl FnOnce(&str) -> Result<T, Reason>) -> Result<Option<T>, Reason> {
    if text.is_empty() { Ok(None) } else { parse(text).map(Some) }
}

fn empty(column: Column, text: &str) -> Result<(), Reason> {
    if text.is_empty() { Ok(()) } else { Err(Reason::NotEmpty { column, found: text.into() }) }
}

impl FromStr for Kind {
    type Err = Reason;

    /// # Errors
    ///
    /// [`Reason::UnknownKind`] for anything but one of the six kinds, exactly as written.
    fn from_str(text: &str) -> Result<Self, Reason> {
        let unknown = || Reason::UnknownKind { found: text.into() };
        let (memory, layout) = text.split_once('+').ok_or_else(unknown)?;
        let memory = MemoryKind::ALL.into_iter().find(|m| m.name() == memory);
        let layout = Layout::ALL.into_iter().find(|l| l.name() == layout);
        match (memory, layout) {
            (Some(memory), Some(layout)) => Ok(Self { memory, layout }),
            _ => Err(unknown()),
        }
    }
}
