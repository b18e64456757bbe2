//! Reading a recording, event by event.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, Read};
use std::iter::FusedIterator;
use std::path::Path;

use crate::encoding::Decoder;
use crate::line::{self, Version};
use crate::{
    COLUMNS, Details, Encoding, Event, FIRST_LINE, HEADER, Header, MAX_LINE_BYTES, Reason, Summary,
    TraceError, Validator,
};

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads a recording from any source, checks every line and yields its events.
///
/// The encoding (plain text, gzip or zstd) is detected from the first bytes. The iterator ends after the first error.
/// Live allocations at the end of the file are not an error; see [`summary`](Self::summary).
///
/// Events are yielded before the rest of the file is checked. To check all of it first, use
/// [`read_all`](crate::read_all) or, in two passes, [`check`](crate::check).
///
/// Memory: fixed-size buffers and the [`Validator`]. The reader buffers the source.
///
/// ```
/// use tenure_trace::{Event, TraceReader};
///
/// let csv = "op,id,size,align,kind,frame\n\
///            alloc,1,4096,256,gpu_only+optimal,0\n\
///            free,9,4096,,gpu_only+optimal,0\n";
/// let mut reader = TraceReader::new(csv.as_bytes(), "game.csv")?;
/// assert!(matches!(reader.next(), Some(Ok(Event::Alloc { id: 1, size: 4096, .. }))));
///
/// let error = reader.next().unwrap().unwrap_err();
/// assert_eq!(error.to_string(), "game.csv:3: free of id 9, which was never allocated");
/// assert!(reader.next().is_none());
/// # Ok::<(), tenure_trace::TraceError>(())
/// ```
pub struct TraceReader<R: Read> {
    text: Decoder<R>,
    name: String,
    version: Version,
    header: Header,
    /// The details of the last event.
    details: Details,
    /// The number of the last line.
    line: u64,
    bytes: Vec<u8>,
    validator: Validator,
    ended: bool,
}

impl TraceReader<File> {
    /// Opens a file and reads its header. The path is the name in errors.
    ///
    /// # Errors
    ///
    /// [`TraceError::Open`], and those of [`new`](Self::new).
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TraceError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::new(file, name),
            Err(error) => Err(TraceError::Open { name, error }),
        }
    }
}

impl<R: Read> TraceReader<R> {
    /// Detects the encoding and reads the header. `name` is the name of the source in errors.
    ///
    /// # Errors
    ///
    /// [`TraceError::Read`] if the source or the decoder fails, [`TraceError::Line`] for a missing or bad header, or
    /// one of a later version.
    pub fn new(source: R, name: impl Into<String>) -> Result<Self, TraceError> {
        let name = name.into();
        let text = match Decoder::new(source) {
            Ok(text) => text,
            Err(error) => {
                return Err(TraceError::Read { name, line: 1, encoding: Encoding::Plain, error });
            }
        };
        let mut reader = Self {
            text,
            name,
            version: Version::Two,
            header: Header::default(),
            details: Details::default(),
            line: 0,
            bytes: Vec::with_capacity(MAX_LINE_BYTES + 2),
            validator: Validator::new(),
            ended: false,
        };
        reader.read_header()?;
        Ok(reader)
    }

    /// The encoding of the source.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.text.encoding()
    }

    /// The header: empty in recordings of version 1.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The details of the last event; none before the first one.
    #[must_use]
    pub const fn details(&self) -> &Details {
        &self.details
    }

    /// The line of the last event; the header begins at line 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The summary of the events read so far; `live_at_end` are the currently live allocations.
    ///
    /// O(n log n) in the number of live allocations.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.validator.summary()
    }

    /// Reads and checks the rest, and returns the summary of the whole recording.
    ///
    /// # Errors
    ///
    /// The first error in the rest. An error that the iterator has already yielded is not repeated.
    pub fn finish(mut self) -> Result<Summary, TraceError> {
        for event in self.by_ref() {
            event?;
        }
        Ok(self.summary())
    }

    fn read_header(&mut self) -> Result<(), TraceError> {
        self.read_line()?;
        // The missing header of an empty source is reported at line 1.
        self.line = 1;
        // Some editors put a byte order mark before the text.
        if self.bytes.starts_with(BYTE_ORDER_MARK) {
            self.bytes.drain(..BYTE_ORDER_MARK.len());
        }
        if self.bytes == HEADER.as_bytes() {
            self.version = Version::One;
            return Ok(());
        }
        if self.bytes != FIRST_LINE.as_bytes() {
            let found = String::from_utf8_lossy(&self.bytes).into_owned();
            return Err(self.damaged(Reason::BadHeader { found }));
        }
        loop {
            if !self.read_line()? {
                self.line += 1;
            }
            if self.bytes == COLUMNS.as_bytes() {
                return Ok(());
            }
            let read = match self.bytes.strip_prefix(b"#") {
                Some(line) => self.header.read(line),
                None => Err(Reason::BadColumns { found: String::from_utf8_lossy(&self.bytes).into_owned() }),
            };
            read.map_err(|reason| self.damaged(reason))?;
        }
    }

    fn read_event(&mut self) -> Result<Option<Event>, TraceError> {
        if !self.read_line()? {
            return Ok(None);
        }
        let checked = line::parse(&self.bytes, self.version).and_then(|line| {
            self.validator.check_line(&line.event, &line.details, line.repeated)?;
            self.details = line.details;
            Ok(line.event)
        });
        checked.map(Some).map_err(|reason| self.damaged(reason))
    }

    /// Reads the next line into `bytes`, without its line end. False at the end of the text.
    fn read_line(&mut self) -> Result<bool, TraceError> {
        self.bytes.clear();
        let limit = MAX_LINE_BYTES as u64 + 2;
        let read = self.text.by_ref().take(limit).read_until(b'\n', &mut self.bytes);
        let read = read.map_err(|error| TraceError::Read {
            name: self.name.clone(),
            line: self.line + 1,
            encoding: self.encoding(),
            error,
        })?;
        if read == 0 {
            return Ok(false);
        }
        self.line += 1;
        if self.bytes.pop_if(|byte| *byte == b'\n').is_some() {
            self.bytes.pop_if(|byte| *byte == b'\r');
        }
        if self.bytes.len() > MAX_LINE_BYTES {
            return Err(self.damaged(Reason::LineTooLong));
        }
        Ok(true)
    }

    pub(crate) fn damaged(&self, reason: Reason) -> TraceError {
        TraceError::Line { name: self.name.clone(), line: self.line, reason }
    }
}

impl<R: Read> Iterator for TraceReader<R> {
    type Item = Result<Event, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let event = self.read_event().transpose();
        self.ended = !matches!(event, Some(Ok(_)));
        event
    }
}

impl<R: Read> FusedIterator for TraceReader<R> {}

impl<R: Read> fmt::Debug for TraceReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceReader")
            .field("name", &self.name)
            .field("encoding", &self.encoding())
            .field("line", &self.line)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}
