//! Items as text: a header, and one line per item.
//!
//! The columns `id`, `lower`, `upper` and `size` are required, in any order, as in MiniMalloc's files; `alignment`,
//! `class`, `previous`, `pinned` and `kind` are optional, and empty for items without a value. Other columns are
//! ignored. Fields are separated by commas and never quoted. [`read_passes`] reads the names and queues of passes,
//! for [pictures](crate::svg).
//!
//! ```
//! use tenure_plan::{PlanConfig, csv, plan};
//!
//! let text = "id,lower,upper,size\nshadow,0,3,16\ngbuffer,1,5,32\nbloom,3,6,16\n";
//! let table = csv::read(text.as_bytes())?;
//! let plan = plan(&table.items, &PlanConfig::new())?;
//! let mut placed = Vec::new();
//! csv::write(&mut placed, &table, &plan.offsets)?;
//! assert!(String::from_utf8(placed)?.starts_with("id,lower,upper,size,offset\nshadow,0,3,16,"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod passes;

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, Read, Write};

pub use passes::{PassRow, read_passes};

use crate::Item;

/// The longest line in bytes, without its end. Most of it is the id and ignored columns; the limit bounds the memory
/// for a file without line ends.
pub const MAX_LINE_BYTES: usize = 1 << 16;

/// The maximum number of items: 2^24, about 4 GB with short ids.
pub const MAX_READ: usize = 1 << 24;

/// Items and their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Table {
    /// The items.
    pub items: Vec<Item>,
    /// The name of each item.
    pub ids: Vec<String>,
    /// The kind of each item, if the list has kinds; empty for an item without a kind.
    pub kinds: Vec<String>,
}

/// An error in a list of items, with its line.
#[derive(Debug)]
#[non_exhaustive]
pub struct CsvError {
    /// The line; the header is line 1.
    pub line: u64,
    /// The error.
    pub reason: CsvReason,
}

/// An error in a line.
#[derive(Debug)]
#[non_exhaustive]
pub enum CsvReason {
    /// The line cannot be read.
    Io(io::Error),
    /// The line has more than [`MAX_LINE_BYTES`] bytes.
    LineTooLong,
    /// The line is not UTF-8.
    InvalidUtf8 {
        /// The number of valid bytes at the beginning of the line.
        valid_bytes: usize,
    },
    /// More than [`MAX_READ`] items, or more than fit into memory.
    TooManyItems {
        /// The number of items read.
        read: usize,
    },
    /// The header lacks a column.
    MissingColumn(&'static str),
    /// The header has a column twice.
    DuplicateColumn(&'static str),
    /// The line has no field for a column.
    MissingField(&'static str),
    /// The field is not a number.
    NotANumber {
        /// Its column.
        column: &'static str,
        /// The field's text.
        field: String,
    },
    /// The number is less than 0.
    Negative {
        /// Its column.
        column: &'static str,
        /// The field's text.
        field: String,
    },
    /// The number is too large for the column.
    TooLarge {
        /// Its column.
        column: &'static str,
        /// The field's text.
        field: String,
    },
    /// The lifetime of the item is empty.
    EmptyLifetime {
        /// Its first use.
        lower: u64,
        /// The end of its use.
        upper: u64,
    },
    /// The alignment is zero or not a power of two.
    BadAlignment(u64),
    /// Another item has the same id.
    DuplicateId {
        /// The id.
        id: String,
        /// The line of the other item.
        first: u64,
    },
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl fmt::Display for CsvReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot be read: {error}"),
            Self::LineTooLong => write!(f, "the line is longer than {MAX_LINE_BYTES} bytes"),
            Self::InvalidUtf8 { valid_bytes } => write!(f, "invalid UTF-8 after {valid_bytes} bytes"),
            Self::TooManyItems { read } => write!(f, "more than {read} items, the most that are kept"),
            Self::MissingColumn(column) => write!(f, "the header has no column {column}"),
            Self::DuplicateColumn(column) => write!(f, "the header has the column {column} twice"),
            Self::MissingField(column) => write!(f, "there is no {column}"),
            Self::NotANumber { column, field } => write!(f, "{column} is {field:?}, which is not a number"),
            Self::Negative { column, field } => write!(f, "{column} is {field}, which is less than 0"),
            Self::TooLarge { column, field } => write!(f, "{column} is {field}, which is too large"),
            Self::EmptyLifetime { lower, upper } => {
                write!(f, "lower ({lower}) is not less than upper ({upper})")
            }
            Self::BadAlignment(alignment) => {
                write!(f, "alignment is {alignment}, which is not a power of two")
            }
            Self::DuplicateId { id, first } => write!(f, "the id {id:?} was used in line {first}"),
        }
    }
}

impl std::error::Error for CsvError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            CsvReason::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// Reads items. Empty lines are skipped, and so is a byte order mark at the beginning.
///
/// Memory: the items and their ids. Lines longer than [`MAX_LINE_BYTES`] are not kept.
///
/// # Errors
/// [`CsvError`] for the first wrong line.
pub fn read(mut source: impl BufRead) -> Result<Table, CsvError> {
    let mut table = Table::default();
    let mut lines_of_ids = HashMap::new();
    let mut columns = None;
    let mut bytes = Vec::new();
    for line in 1.. {
        let at = |reason| CsvError { line, reason };
        let is_over = !read_line(&mut source, &mut bytes).map_err(at)?;
        if is_over && columns.is_some() {
            break;
        }
        let text = core::str::from_utf8(&bytes)
            .map_err(|error| at(CsvReason::InvalidUtf8 { valid_bytes: error.valid_up_to() }))?;
        let Some(columns) = &columns else {
            let header = text.strip_prefix('\u{feff}').unwrap_or(text);
            columns = Some(Columns::of(header.trim()).map_err(at)?);
            continue;
        };
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        let (id, item) = columns.item(&fields).map_err(at)?;
        let kind = columns.kind.and_then(|at| fields.get(at)).copied().unwrap_or_default();
        let read = table.items.len();
        let has_room = read < MAX_READ
            && table.items.try_reserve(1).is_ok()
            && table.ids.try_reserve(1).is_ok()
            && table.kinds.try_reserve(1).is_ok()
            && lines_of_ids.try_reserve(1).is_ok();
        if !has_room {
            return Err(at(CsvReason::TooManyItems { read }));
        }
        if let Some(first) = lines_of_ids.insert(id.clone(), line) {
            return Err(at(CsvReason::DuplicateId { id, first }));
        }
        table.ids.push(id);
        table.kinds.push(kind.to_owned());
        table.items.push(item);
    }
    Ok(table)
}

/// Reads the next line, including its end. False at the end of the text.
fn read_line(source: &mut impl BufRead, bytes: &mut Vec<u8>) -> Result<bool, CsvReason> {
    bytes.clear();
    let read = source.take(MAX_LINE_BYTES as u64 + 2).read_until(b'\n', bytes).map_err(CsvReason::Io)?;
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if text.len() > MAX_LINE_BYTES { Err(CsvReason::LineTooLong) } else { Ok(read > 0) }
}

/// The position of each column in a line.
struct Columns {
    id: usize,
    lower: usize,
    upper: usize,
    size: usize,
    alignment: Option<usize>,
    class: Option<usize>,
    previous: Option<usize>,
    pinned: Option<usize>,
    kind: Option<usize>,
}

impl Columns {
    fn of(header: &str) -> Result<Self, CsvReason> {
        let names: Vec<&str> = header.split(',').map(str::trim).collect();
        let find = |column: &'static str| find(&names, column);
        let need = |column| find(column)?.ok_or(CsvReason::MissingColumn(column));
        Ok(Self {
            id: need("id")?,
            lower: need("lower")?,
            upper: need("upper")?,
            size: need("size")?,
            alignment: find("alignment")?,
            class: find("class")?,
            previous: find("previous")?,
            pinned: find("pinned")?,
            kind: find("kind")?,
        })
    }

    fn item(&self, fields: &[&str]) -> Result<(String, Item), CsvReason> {
        let field = |column, at: usize| {
            let field = fields.get(at).copied().unwrap_or_default();
            if field.is_empty() { Err(CsvReason::MissingField(column)) } else { Ok(field) }
        };
        let needed = |column, at| number(column, field(column, at)?);
        let optional = |column, at: Option<usize>| {
            let field = at.and_then(|at| fields.get(at)).copied().unwrap_or_default();
            if field.is_empty() { Ok(None) } else { number(column, field).map(Some) }
        };
        let id = field("id", self.id)?.to_owned();
        let (lower, upper) = (needed("lower", self.lower)?, needed("upper", self.upper)?);
        if lower >= upper {
            return Err(CsvReason::EmptyLifetime { lower, upper });
        }
        let mut item = Item::new(lower..upper, needed("size", self.size)?);
        item.alignment = optional("alignment", self.alignment)?.unwrap_or(1);
        if !item.alignment.is_power_of_two() {
            return Err(CsvReason::BadAlignment(item.alignment));
        }
        let class = optional("class", self.class)?.unwrap_or(0);
        item.class = u32::try_from(class)
            .map_err(|_| CsvReason::TooLarge { column: "class", field: class.to_string() })?;
        item.previous = optional("previous", self.previous)?;
        item.pinned = optional("pinned", self.pinned)?;
        Ok((id, item))
    }
}

/// The position of a column.
fn find(names: &[&str], column: &'static str) -> Result<Option<usize>, CsvReason> {
    let mut places = (0..names.len()).filter(|&at| names[at] == column);
    match (places.next(), places.next()) {
        (_, Some(_)) => Err(CsvReason::DuplicateColumn(column)),
        (place, None) => Ok(place),
    }
}

fn number(column: &'static str, field: &str) -> Result<u64, CsvReason> {
    use std::num::IntErrorKind::PosOverflow;

    let owned = || field.to_owned();
    field.parse().map_err(|error: std::num::ParseIntError| {
        let digits = field.strip_prefix('-').unwrap_or_default();
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            CsvReason::Negative { column, field: owned() }
        } else if *error.kind() == PosOverflow {
            CsvReason::TooLarge { column, field: owned() }
        } else {
            CsvReason::NotANumber { column, field: owned() }
        }
    })
}

/// Writes the items with their offsets, as `id,lower,upper,size,offset`.
///
/// # Errors
/// The sink's errors.
pub fn write(mut sink: impl Write, table: &Table, offsets: &[u64]) -> io::Result<()> {
    writeln!(sink, "id,lower,upper,size,offset")?;
    for ((item, id), offset) in table.items.iter().zip(&table.ids).zip(offsets) {
        writeln!(sink, "{id},{},{},{},{offset}", item.first, item.last, item.size)?;
    }
    Ok(())
}
