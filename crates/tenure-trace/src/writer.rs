//! Writes a recording of version 2.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::encoding::Encoder;
use crate::line;
use crate::{
    COLUMNS, Details, Encoding, Event, FIRST_LINE, Header, MAX_LINE_BYTES, Reason, Summary, TraceError,
    Validator,
};

/// Lines are handed to the encoder in chunks of at least this many bytes.
const CHUNK: usize = 32 * 1024;

/// Writes a recording to any sink.
///
/// Each event is checked before it is written, so that the recording can always be read back. The writer buffers
/// lines. The file is complete only after [`finish`](Self::finish): a writer that is dropped instead loses the
/// buffered lines.
///
/// The writer is `Send` if its sink is. It takes `&mut self`: recorders that are called from several threads put it
/// behind a lock, which also determines the order of the events.
///
/// ```
/// use tenure_trace::{Details, Encoding, Event, Header, Kind, Layout, MemoryKind, TraceWriter};
///
/// let kind = Kind::new(MemoryKind::CpuToGpu, Layout::Linear);
/// let mut header = Header::default();
/// header.set("api", "vulkan");
/// let mut writer = TraceWriter::new(Vec::new(), Encoding::Plain)?;
/// writer.set_header(header)?;
/// writer.event(&Event::Alloc { id: 1, size: 2304, align: 64, kind, frame: 0 })?;
/// writer.event(&Event::Frame { number: 1 })?;
/// let details = Details { is_final: true, ..Details::default() };
/// writer.event_with(&Event::Free { id: 1, size: 2304, frame: 1 }, &details)?;
/// assert_eq!(
///     String::from_utf8(writer.finish()?)?,
///     "#tenure-recording=2\n\
///      #api=vulkan\n\
///      op,id,size,align,kind,frame,more\n\
///      alloc,1,2304,64,cpu_to_gpu+linear,0,\n\
///      frame,,,,,1,\n\
///      free,1,2304,,cpu_to_gpu+linear,1,final\n",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a recording is complete only after `finish`"]
pub struct TraceWriter<W: Write> {
    sink: Encoder<W>,
    buffer: Vec<u8>,
    validator: Validator,
    header: Header,
    /// Whether the header can no longer be changed.
    has_begun: bool,
    /// Lines written, including the header.
    lines: u64,
    /// The error of a failed sink.
    failed: Option<io::ErrorKind>,
}

impl TraceWriter<File> {
    /// Creates a file, or empties one that exists, and begins a recording in it.
    ///
    /// # Errors
    ///
    /// [`TraceError::Open`], and those of [`new`](Self::new).
    pub fn create(path: impl AsRef<Path>, encoding: Encoding) -> Result<Self, TraceError> {
        if !encoding.is_supported() {
            // Fails for an unsupported encoding, before an existing file is emptied.
            TraceWriter::new(io::sink(), encoding).map(drop)?;
        }
        let path = path.as_ref();
        match File::create(path) {
            Ok(file) => Self::new(file, encoding),
            Err(error) => Err(TraceError::Open { name: path.display().to_string(), error }),
        }
    }
}

impl<W: Write> TraceWriter<W> {
    /// Begins a recording. No bytes are written to the sink yet.
    ///
    /// # Errors
    ///
    /// [`TraceError::Write`] if the encoder cannot be set up, or the encoding is not
    /// [supported](Encoding::is_supported).
    pub fn new(sink: W, encoding: Encoding) -> Result<Self, TraceError> {
        let sink = Encoder::new(sink, encoding).map_err(|error| TraceError::Write { error })?;
        let buffer = Vec::with_capacity(CHUNK + MAX_LINE_BYTES);
        let (validator, header) = (Validator::new(), Header::default());
        let mut writer = Self { sink, buffer, validator, header, has_begun: false, lines: 0, failed: None };
        writer.set_header(Header::default())?;
        Ok(writer)
    }

    /// Replaces the header, which is initially empty.
    ///
    /// # Errors
    ///
    /// [`TraceError::Refused`] if a key or a value cannot be written ([`Reason::BadHeaderLine`]), there are too many
    /// lines, or an event was already written or [flushed](Self::flush). The header is then unchanged.
    pub fn set_header(&mut self, header: Header) -> Result<(), TraceError> {
        let mut text = Vec::new();
        let written = if self.has_begun { Err(Reason::LateHeader) } else { header.write(&mut text) };
        written.map_err(|reason| TraceError::Refused { line: self.lines, reason })?;
        self.buffer.clear();
        for part in [FIRST_LINE.as_bytes(), b"\n", &text, COLUMNS.as_bytes(), b"\n"] {
            self.buffer.extend_from_slice(part);
        }
        self.lines = 2 + header.len() as u64;
        self.header = header;
        Ok(())
    }

    /// The header.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Writes the next event.
    ///
    /// # Errors
    ///
    /// [`TraceError::Refused`] if the event contradicts earlier events: it is left out, and more events can be
    /// written. [`TraceError::Write`] if the sink fails: the recording is then incomplete, and every later call fails
    /// as well.
    pub fn event(&mut self, event: &Event) -> Result<(), TraceError> {
        self.event_with(event, &Details::default())
    }

    /// Writes the next event, with its details.
    ///
    /// # Errors
    ///
    /// As [`event`](Self::event).
    pub fn event_with(&mut self, event: &Event, details: &Details) -> Result<(), TraceError> {
        self.check_sound()?;
        let kind = match *event {
            Event::Free { id, .. } => self.validator.kind_of(id),
            _ => None,
        };
        let line = self.lines + 1;
        let checked = self.validator.check_with(event, details);
        checked.map_err(|reason| TraceError::Refused { line, reason })?;
        self.lines = line;
        self.has_begun = true;
        let written = line::write(&mut self.buffer, event, details, kind);
        self.note(written)?;
        if self.buffer.len() >= CHUNK {
            self.hand_on()?;
        }
        Ok(())
    }

    /// Writes all buffered lines to the sink and flushes it.
    ///
    /// Call it every few frames if the file must survive a crash of the program. It reduces the compression ratio.
    ///
    /// # Errors
    ///
    /// [`TraceError::Write`] if the sink fails or has failed before.
    pub fn flush(&mut self) -> Result<(), TraceError> {
        self.check_sound()?;
        self.hand_on()?;
        let flushed = self.sink.flush();
        self.note(flushed)
    }

    /// Completes the recording, flushes the sink and returns it.
    ///
    /// # Errors
    ///
    /// [`TraceError::Write`] if the sink fails or has failed before.
    pub fn finish(mut self) -> Result<W, TraceError> {
        self.check_sound()?;
        self.hand_on()?;
        self.sink.finish().map_err(|error| TraceError::Write { error })
    }

    /// The summary of the events written so far.
    ///
    /// O(n log n) in the number of live allocations.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.validator.summary()
    }

    fn hand_on(&mut self) -> Result<(), TraceError> {
        self.has_begun = true;
        let written = self.sink.write_all(&self.buffer);
        self.buffer.clear();
        self.note(written)
    }

    fn note(&mut self, result: io::Result<()>) -> Result<(), TraceError> {
        result.map_err(|error| {
            self.failed = Some(error.kind());
            TraceError::Write { error }
        })
    }

    fn check_sound(&self) -> Result<(), TraceError> {
        match self.failed {
            None => Ok(()),
            Some(kind) => Err(TraceError::Write { error: io::Error::new(kind, "an earlier write failed") }),
        }
    }
}

impl<W: Write> fmt::Debug for TraceWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceWriter")
            .field("lines", &self.lines)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}
