//! The errors of recordings.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::{Encoding, Kind, MAX_ALIGN, MAX_LINE_BYTES, MAX_SIZE};

/// A recording could not be read or written.
///
/// An error that concerns a line is formatted like those of compilers, so that editors and terminals can
/// jump to it: `FILE:LINE: reason`.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The file could not be opened or created.
    #[error("{name}: cannot open: {error}")]
    Open {
        /// The file's name.
        name: String,
        /// The operating system's error.
        #[source]
        error: io::Error,
    },
    /// The source failed, or its data is not valid gzip or zstd.
    ///
    /// Compressed data that ends too early has the kind [`io::ErrorKind::UnexpectedEof`].
    #[error("{name}:{line}: cannot read ({encoding}): {error}")]
    Read {
        /// The name given to the reader.
        name: String,
        /// The line that was about to be read; the header is line 1.
        line: u64,
        /// The encoding of the source.
        encoding: Encoding,
        /// The error of the source or the decoder.
        #[source]
        error: io::Error,
    },
    /// A line is damaged.
    #[error("{name}:{line}: {reason}")]
    Line {
        /// The name given to the reader.
        name: String,
        /// The line; the header is line 1.
        line: u64,
        /// The error in the line.
        reason: Reason,
    },
    /// An event is inconsistent with the events before it, and was not written.
    #[error("the event for line {line} is refused: {reason}")]
    Refused {
        /// The line that the event would have been written to; the header is line 1.
        line: u64,
        /// The error in the event.
        reason: Reason,
    },
    /// The sink failed.
    #[error("cannot write the recording: {error}")]
    Write {
        /// The error of the sink or the encoder.
        #[source]
        error: io::Error,
    },
}

impl TraceError {
    /// The name of the file or source, where the error concerns one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Open { name, .. } | Self::Read { name, .. } | Self::Line { name, .. } => Some(name),
            Self::Refused { .. } | Self::Write { .. } => None,
        }
    }

    /// The line (the header is line 1), where the error concerns one.
    #[must_use]
    pub fn line(&self) -> Option<u64> {
        match *self {
            Self::Read { line, .. } | Self::Line { line, .. } | Self::Refused { line, .. } => Some(line),
            Self::Open { .. } | Self::Write { .. } => None,
        }
    }

    /// The reason, if the error concerns a line or an event.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Line { reason, .. } | Self::Refused { reason, .. } => Some(reason),
            Self::Open { .. } | Self::Read { .. } | Self::Write { .. } => None,
        }
    }
}

/// An error in a line of a recording or in an event.
///
/// Text taken from the file is quoted and escaped when shown, and never longer than a line may be
/// ([`MAX_LINE_BYTES`]).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// The first line is not [`HEADER`](crate::HEADER).
    #[error("the header must be {:?}, not {found:?}", crate::HEADER)]
    BadHeader {
        /// The first line, empty if the file is.
        found: String,
    },
    /// The line has more than [`MAX_LINE_BYTES`] bytes.
    #[error("the line is longer than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
    /// The line is not text.
    #[error("invalid UTF-8 after {valid_bytes} bytes")]
    InvalidUtf8 {
        /// The number of valid bytes at the begin of the line.
        valid_bytes: usize,
    },
    /// The line does not have six columns.
    #[error("{found} columns where 6 are expected")]
    WrongColumns {
        /// The number of columns.
        found: usize,
    },
    /// The operation is none of `alloc`, `free` and `frame`.
    #[error("unknown operation {found:?}")]
    UnknownOperation {
        /// The first column.
        found: String,
    },
    /// A column that must be a number is not one, or it is 2^64 or more.
    #[error("{column} {found:?} is not a number of decimal digits below 2^64")]
    BadNumber {
        /// The column.
        column: Column,
        /// The text of the column.
        found: String,
    },
    /// A column that must be empty for this operation is not.
    #[error("{column} must be empty here, not {found:?}")]
    NotEmpty {
        /// The column.
        column: Column,
        /// The text of the column.
        found: String,
    },
    /// The kind is none of the six.
    #[error("unknown kind {found:?}")]
    UnknownKind {
        /// The text of the column.
        found: String,
    },
    /// The size is 0 or larger than the memory of any device.
    #[error("size {size} is not between 1 and {MAX_SIZE} bytes")]
    BadSize {
        /// The size, bytes.
        size: u64,
    },
    /// The alignment is 0, not a power of two, or larger than any device requires.
    #[error("align {align} is not a power of two between 1 and {MAX_ALIGN} bytes")]
    BadAlign {
        /// The alignment, bytes.
        align: u64,
    },
    /// The id was allocated before; ids are never used again.
    #[error("id {id} is allocated a second time")]
    ReusedId {
        /// The id.
        id: u64,
    },
    /// A free of an id that was never allocated.
    #[error("free of id {id}, which was never allocated")]
    UnknownId {
        /// The id.
        id: u64,
    },
    /// A free of an id that is already free.
    #[error("double free of id {id}")]
    DoubleFree {
        /// The id.
        id: u64,
    },
    /// A free has another size than the allocation.
    #[error("free of id {id} with size {freed}, but it was allocated with size {allocated}")]
    SizeMismatch {
        /// The id.
        id: u64,
        /// The size in the free, bytes.
        freed: u64,
        /// The size in the allocation, bytes.
        allocated: u64,
    },
    /// A free has another alignment than the allocation.
    #[error("free of id {id} with align {freed}, but it was allocated with align {allocated}")]
    AlignMismatch {
        /// The id.
        id: u64,
        /// The alignment in the free, bytes.
        freed: u64,
        /// The alignment in the allocation, bytes.
        allocated: u64,
    },
    /// A free has another kind than the allocation.
    #[error("free of id {id} with kind {freed}, but it was allocated with kind {allocated}")]
    KindMismatch {
        /// The id.
        id: u64,
        /// The kind in the free.
        freed: Kind,
        /// The kind in the allocation.
        allocated: Kind,
    },
    /// The frame column is smaller than on a line before.
    #[error("frame {frame} after frame {previous}: frames never go backwards")]
    FrameBackwards {
        /// The line's frame.
        frame: u64,
        /// The largest frame so far.
        previous: u64,
    },
    /// A frame is marked a second time.
    #[error("frame {number} is marked a second time")]
    FrameRepeated {
        /// The frame.
        number: u64,
    },
    /// There are too many events for a recording in memory: [`MAX_EVENTS`](crate::MAX_EVENTS), or fewer where
    /// memory is short. [`TraceReader`](crate::TraceReader) reads any number.
    #[error("more than {kept} events, the most that are kept in memory")]
    TooManyEvents {
        /// The number of events before.
        kept: usize,
    },
    /// The live allocations add up to 2^64 bytes or more.
    #[error("{live_bytes} live bytes and {size} more are not below 2^64")]
    TooMuchLive {
        /// The live bytes before.
        live_bytes: u64,
        /// The size of the new allocation, bytes.
        size: u64,
    },
}

/// A column of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Column {
    /// `id`
    Id,
    /// `size`
    Size,
    /// `align`
    Align,
    /// `kind`
    Kind,
    /// `frame`
    Frame,
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Id => "id",
            Self::Size => "size",
            Self::Align => "align",
            Self::Kind => "kind",
            Self::Frame => "frame",
        })
    }
}
