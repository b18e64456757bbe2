//! Names and queues of passes.

use std::io::BufRead;

use super::{CsvError, CsvReason, MAX_READ, find, number, read_line};

/// A line about a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PassRow {
    /// Number of the pass: the time at which it uses its items.
    pub pass: u64,
    /// Its name.
    pub name: String,
    /// Its queue; empty if unknown.
    pub queue: String,
}

/// Reads passes. The columns `pass` and `name` are required, `queue` is optional, in any order. Other columns, empty
/// lines and a byte order mark are ignored.
///
/// Memory: the passes. Lines longer than [`MAX_LINE_BYTES`](super::MAX_LINE_BYTES) are not kept.
///
/// # Errors
/// [`CsvError`] for the first wrong line.
///
/// ```
/// use tenure_plan::csv;
///
/// let passes = csv::read_passes("pass,name,queue\n0,shadows,graphics\n1,lights,compute\n".as_bytes())?;
/// assert_eq!((passes[1].name.as_str(), passes[1].queue.as_str()), ("lights", "compute"));
/// # Ok::<(), csv::CsvError>(())
/// ```
pub fn read_passes(mut source: impl BufRead) -> Result<Vec<PassRow>, CsvError> {
    let mut passes: Vec<PassRow> = Vec::new();
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
        if text.trim().is_empty() {
            continue;
        }
        let pass = columns.pass(text).map_err(at)?;
        if passes.len() >= MAX_READ || passes.try_reserve(1).is_err() {
            return Err(at(CsvReason::TooManyItems { read: passes.len() }));
        }
        passes.push(pass);
    }
    Ok(passes)
}

/// The position of each column in a line.
struct Columns {
    pass: usize,
    name: usize,
    queue: Option<usize>,
}

impl Columns {
    fn of(header: &str) -> Result<Self, CsvReason> {
        let names: Vec<&str> = header.split(',').map(str::trim).collect();
        let need = |column| find(&names, column)?.ok_or(CsvReason::MissingColumn(column));
        Ok(Self { pass: need("pass")?, name: need("name")?, queue: find(&names, "queue")? })
    }

    fn pass(&self, line: &str) -> Result<PassRow, CsvReason> {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        if field(self.pass).is_empty() {
            return Err(CsvReason::MissingField("pass"));
        }
        Ok(PassRow {
            pass: number("pass", field(self.pass))?,
            name: field(self.name).to_owned(),
            queue: self.queue.map(field).unwrap_or_default().to_owned(),
        })
    }
}
