//! The errors of recordings.

use std::fmt;
use std::io;

use thiserror::Error;

use crate::{
    COLUMNS, Encoding, FIRST_LINE, HEADER, Kind, MAX_ALIGN, MAX_HEADER_LINES, MAX_LINE_BYTES, MAX_NAME_BYTES,
    MAX_SIZE,
};

/// A recording could not be read or written.
///
/// An error that concerns a line begins with `FILE:LINE:`, so that editors and terminals can jump to it.
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
    /// An event contradicts earlier events, and was not written.
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
    /// The name of the file or source, if the error concerns one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Open { name, .. } | Self::Read { name, .. } | Self::Line { name, .. } => Some(name),
            Self::Refused { .. } | Self::Write { .. } => None,
        }
    }

    /// The line, if the error concerns one. The header is line 1.
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
    /// The first line is neither [`FIRST_LINE`] nor [`HEADER`].
    #[error("the header must begin with {FIRST_LINE:?} or be {HEADER:?}, not {found:?}")]
    BadHeader {
        /// The first line, empty if the file is.
        found: String,
    },
    /// A line of the header is not `#key=value`: the key has 1 to 64 characters of `a-z`, `A-Z`, `0-9` and `-_.`,
    /// the value at most 512 bytes, percent-encoded.
    #[error("a line of the header must be \"#key=value\", not {found:?}")]
    BadHeaderLine {
        /// The line, without its `#`.
        found: String,
    },
    /// A key of the header is set a second time.
    #[error("the header has the key {key:?} twice")]
    RepeatedKey {
        /// The key.
        key: String,
    },
    /// The header has more than [`MAX_HEADER_LINES`] lines with keys.
    #[error("the header has more than {MAX_HEADER_LINES} lines")]
    TooManyHeaderLines,
    /// The header was set after the first event.
    #[error("the header was set after the first event")]
    LateHeader,
    /// The lines with keys are not followed by [`COLUMNS`].
    #[error("the header must end with {COLUMNS:?}, not {found:?}")]
    BadColumns {
        /// The line, empty if the file ends here.
        found: String,
    },
    /// The line has more than [`MAX_LINE_BYTES`] bytes.
    #[error("the line is longer than {MAX_LINE_BYTES} bytes")]
    LineTooLong,
    /// The line is not text.
    #[error("invalid UTF-8 after {valid_bytes} bytes")]
    InvalidUtf8 {
        /// The number of valid bytes at the beginning of the line.
        valid_bytes: usize,
    },
    /// The number of columns does not match the version of the recording.
    #[error("{found} columns where {expected} are expected")]
    WrongColumns {
        /// The number of columns.
        found: usize,
        /// 6 in version 1, 7 in version 2.
        expected: usize,
    },
    /// This version has no such operation.
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
    /// The kind is not one of the six.
    #[error("unknown kind {found:?}")]
    UnknownKind {
        /// The text of the column.
        found: String,
    },
    /// A known word of the last column has an invalid value.
    #[error("the word {found:?} has an invalid value")]
    BadWord {
        /// The word.
        found: String,
    },
    /// A word that this operation needs is missing.
    #[error("the word \"{word}=\" is missing")]
    MissingWord {
        /// Its key.
        word: &'static str,
    },
    /// A name has more than [`MAX_NAME_BYTES`] bytes.
    #[error("a name of {bytes} bytes, more than {MAX_NAME_BYTES}")]
    NameTooLong {
        /// Its length, bytes.
        bytes: usize,
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
    /// The other resource of an alias was never created, or was freed.
    #[error("alias of id {id}, which is not live")]
    UnknownResource {
        /// The id of the other resource.
        id: u64,
    },
    /// An alias is not inside the other resource.
    #[error("an alias of {size} bytes at offset {offset} does not fit in id {id} of {resource_size} bytes")]
    OutsideResource {
        /// The id of the other resource.
        id: u64,
        /// The offset in the other resource.
        offset: u64,
        /// The size of the alias, bytes.
        size: u64,
        /// The size of the other resource, bytes.
        resource_size: u64,
    },
    /// The number of a block was used before.
    #[error("block {id} is allocated a second time")]
    ReusedBlock {
        /// The block.
        id: u64,
    },
    /// A block was never allocated, or was freed.
    #[error("block {id} is not allocated")]
    UnknownBlock {
        /// The block.
        id: u64,
    },
    /// A block is freed with another size.
    #[error("block {id} is freed with size {freed}, but it was allocated with size {allocated}")]
    BlockSizeMismatch {
        /// The block.
        id: u64,
        /// The size at its end, bytes.
        freed: u64,
        /// The size at its beginning, bytes.
        allocated: u64,
    },
    /// A resource is not inside its block.
    #[error("{size} bytes at offset {offset} do not fit in block {id} of {block_size} bytes")]
    OutsideBlock {
        /// The block.
        id: u64,
        /// The offset in the block.
        offset: u64,
        /// The size of the resource, bytes.
        size: u64,
        /// The size of the block, bytes.
        block_size: u64,
    },
    /// The number of a submission was used before.
    #[error("submission {number} is made a second time")]
    ReusedSubmission {
        /// The submission.
        number: u64,
    },
    /// The end of an unknown submission.
    #[error("submission {number} is done, but was never made")]
    UnknownSubmission {
        /// The submission.
        number: u64,
    },
    /// A second end of a submission.
    #[error("submission {number} is done a second time")]
    DoneTwice {
        /// The submission.
        number: u64,
    },
    /// Too many events for a recording in memory: [`MAX_EVENTS`](crate::MAX_EVENTS), or fewer if memory is short or
    /// their details are large. [`TraceReader`](crate::TraceReader) reads any number.
    #[error("more than {kept} events, the most that are kept in memory")]
    TooManyEvents {
        /// The number of kept events.
        kept: usize,
    },
    /// The live allocations, or the blocks, add up to 2^64 bytes or more.
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
