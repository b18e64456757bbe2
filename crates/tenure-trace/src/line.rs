//! Parsing and formatting of a single line, independent of earlier lines.

use std::io::{self, Write};
use std::str::FromStr;

use crate::details::{self, Details};
use crate::{Column, Event, Kind, Layout, MemoryKind, Reason};

/// The version of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    /// Six columns, and three operations.
    One,
    /// A seventh column, and all operations.
    Two,
}

/// The content of a line.
pub(crate) struct Line {
    pub(crate) event: Event,
    pub(crate) details: Details,
    pub(crate) repeated: Repeated,
}

/// The properties of the allocation that a free repeats, except the size. They are only compared with the
/// allocation's, so the event does not contain them.
#[derive(Clone, Copy, Default)]
pub(crate) struct Repeated {
    pub(crate) align: Option<u64>,
    pub(crate) kind: Option<Kind>,
}

/// Reads a line, without its line end.
pub(crate) fn parse(line: &[u8], version: Version) -> Result<Line, Reason> {
    let text = std::str::from_utf8(line)
        .map_err(|error| Reason::InvalidUtf8 { valid_bytes: error.valid_up_to() })?;
    let ([op, id, size, align, kind, frame], more) = columns(text, version)?;
    let mut repeated = Repeated::default();
    let event = match (op, version) {
        ("alloc", _) => Event::Alloc {
            id: number(Column::Id, id)?,
            size: number(Column::Size, size)?,
            align: number(Column::Align, align)?,
            kind: kind.parse()?,
            frame: number(Column::Frame, frame)?,
        },
        ("free", _) => {
            repeated.align = unless_empty(align, |align| number(Column::Align, align))?;
            repeated.kind = unless_empty(kind, str::parse)?;
            Event::Free {
                id: number(Column::Id, id)?,
                size: number(Column::Size, size)?,
                frame: number(Column::Frame, frame)?,
            }
        }
        ("frame", _) => {
            empty([(Column::Id, id), (Column::Size, size), (Column::Align, align), (Column::Kind, kind)])?;
            Event::Frame { number: number(Column::Frame, frame)? }
        }
        ("alias", Version::Two) => Event::Alias {
            id: number(Column::Id, id)?,
            size: number(Column::Size, size)?,
            align: number(Column::Align, align)?,
            kind: kind.parse()?,
            frame: number(Column::Frame, frame)?,
        },
        ("submit" | "done", Version::Two) => {
            empty([(Column::Size, size), (Column::Align, align), (Column::Kind, kind)])?;
            let (number, frame) = (number(Column::Id, id)?, number(Column::Frame, frame)?);
            if op == "done" { Event::Done { number, frame } } else { Event::Submit { number, frame } }
        }
        ("block" | "unblock", Version::Two) => {
            empty([(Column::Align, align), (Column::Kind, kind)])?;
            let (id, size) = (number(Column::Id, id)?, number(Column::Size, size)?);
            let frame = number(Column::Frame, frame)?;
            if op == "block" { Event::Block { id, size, frame } } else { Event::Unblock { id, size, frame } }
        }
        ("map" | "unmap", Version::Two) => {
            empty([(Column::Size, size), (Column::Align, align), (Column::Kind, kind)])?;
            let (id, frame) = (number(Column::Id, id)?, number(Column::Frame, frame)?);
            if op == "map" { Event::Map { id, frame } } else { Event::Unmap { id, frame } }
        }
        _ => return Err(Reason::UnknownOperation { found: op.into() }),
    };
    Ok(Line { event, details: Details::parse(more)?, repeated })
}

/// Writes the line of an event in version 2, with its line end. `kind` is the kind of a freed resource.
pub(crate) fn write(
    out: &mut Vec<u8>,
    event: &Event,
    details: &Details,
    kind: Option<Kind>,
) -> io::Result<()> {
    match (*event, kind) {
        (Event::Alloc { id, size, align, kind, frame }, _) => {
            write!(out, "alloc,{id},{size},{align},{kind},{frame},")
        }
        (Event::Alias { id, size, align, kind, frame }, _) => {
            write!(out, "alias,{id},{size},{align},{kind},{frame},")
        }
        (Event::Free { id, size, frame }, Some(kind)) => write!(out, "free,{id},{size},,{kind},{frame},"),
        (Event::Free { id, size, frame }, None) => write!(out, "free,{id},{size},,,{frame},"),
        (Event::Frame { number }, _) => write!(out, "frame,,,,,{number},"),
        (Event::Submit { number, frame }, _) => write!(out, "submit,{number},,,,{frame},"),
        (Event::Done { number, frame }, _) => write!(out, "done,{number},,,,{frame},"),
        (Event::Block { id, size, frame }, _) => write!(out, "block,{id},{size},,,{frame},"),
        (Event::Unblock { id, size, frame }, _) => write!(out, "unblock,{id},{size},,,{frame},"),
        (Event::Map { id, frame }, _) => write!(out, "map,{id},,,,{frame},"),
        (Event::Unmap { id, frame }, _) => write!(out, "unmap,{id},,,,{frame},"),
    }?;
    details.write(out)?;
    out.push(b'\n');
    Ok(())
}

/// The first six columns, and the seventh, which is empty in version 1.
fn columns(text: &str, version: Version) -> Result<([&str; 6], &str), Reason> {
    let mut columns = [""; 7];
    let mut found = 0;
    for column in text.split(',') {
        if let Some(place) = columns.get_mut(found) {
            *place = column;
        }
        found += 1;
    }
    let expected = match version {
        Version::One => 6,
        Version::Two => 7,
    };
    let [op, id, size, align, kind, frame, more] = columns;
    if found == expected {
        Ok(([op, id, size, align, kind, frame], more))
    } else {
        Err(Reason::WrongColumns { found, expected })
    }
}

fn number(column: Column, text: &str) -> Result<u64, Reason> {
    details::number(text).ok_or_else(|| Reason::BadNumber { column, found: text.into() })
}

fn unless_empty<T>(text: &str, parse: impl FnOnce(&str) -> Result<T, Reason>) -> Result<Option<T>, Reason> {
    if text.is_empty() { Ok(None) } else { parse(text).map(Some) }
}

fn empty<const N: usize>(columns: [(Column, &str); N]) -> Result<(), Reason> {
    match columns.into_iter().find(|(_, text)| !text.is_empty()) {
        Some((column, text)) => Err(Reason::NotEmpty { column, found: text.into() }),
        None => Ok(()),
    }
}

impl FromStr for Kind {
    type Err = Reason;

    /// # Errors
    /// [`Reason::UnknownKind`] unless the text is exactly one of the six kinds.
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
