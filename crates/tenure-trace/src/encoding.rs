//! Reading and writing plain text, gzip and zstd.

use std::fmt;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

#[cfg(not(feature = "zstd"))]
use crate::no_zstd as zstd;

/// The encoding of a recording's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// Uncompressed.
    #[default]
    Plain,
    /// gzip (RFC 1952): 5 to 15 % of the text.
    Gzip,
    /// Zstandard (RFC 8878): about as small, and several times faster to write. Written with a
    /// checksum. Needs the feature `zstd` of this crate: see [`is_supported`](Self::is_supported).
    Zstd,
}

impl Encoding {
    /// Every encoding.
    pub const ALL: [Self; 3] = [Self::Plain, Self::Gzip, Self::Zstd];

    /// The encoding for the extension of a file name: `.gz`, `.zst`, anything else is plain.
    ///
    /// Use it to choose the encoding of a new file; a reader detects the encoding from the bytes.
    ///
    /// ```
    /// use tenure_trace::Encoding;
    ///
    /// assert_eq!(Encoding::of_name("game.csv.zst"), Encoding::Zstd);
    /// assert_eq!(Encoding::of_name("game.csv"), Encoding::Plain);
    /// ```
    #[must_use]
    pub fn of_name(path: impl AsRef<Path>) -> Self {
        match path.as_ref().extension().and_then(|end| end.to_str()) {
            Some("gz") => Self::Gzip,
            Some("zst" | "zstd") => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// Whether this build reads and writes the encoding. Only [`Zstd`](Self::Zstd) needs a feature of this crate,
    /// `zstd`.
    ///
    /// Without the feature, reading and writing zstd fails with [`io::ErrorKind::Unsupported`].
    #[must_use]
    pub const fn is_supported(self) -> bool {
        !matches!(self, Self::Zstd) || cfg!(feature = "zstd")
    }

    /// The encoding of data that begins with `head`.
    fn of_bytes(head: &[u8]) -> Self {
        match head {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] => Self::Zstd,
            // A skippable frame, which some tools write before the data.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Self::Zstd,
            _ => Self::Plain,
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// The source, preceded by the bytes that were read to detect the encoding.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// Decodes the text of a source. The encoding is detected from the first bytes.
///
/// Several gzip members or zstd frames in a row are one text, as for the usual tools; any other data after the
/// compressed data is an error. [`TraceReader`](crate::TraceReader) and [`read_all`](crate::read_all) use a decoder;
/// it can also read other text files that may be compressed. It buffers the source.
///
/// ```
/// use std::io::BufRead;
///
/// use tenure_trace::{Decoder, Encoding};
///
/// let mut text = Decoder::new(&b"id,size\na,16\n"[..])?;
/// assert_eq!(text.encoding(), Encoding::Plain);
/// let mut line = String::new();
/// text.read_line(&mut line)?;
/// assert_eq!(line, "id,size\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Decoder<R: Read>(Text<R>);

enum Text<R: Read> {
    Plain(BufReader<Whole<R>>),
    Gzip(Box<BufReader<MultiGzDecoder<Whole<R>>>>),
    Zstd(Box<BufReader<zstd::Decoder<'static, BufReader<Whole<R>>>>>),
}

impl<R: Read> Decoder<R> {
    /// Detects the encoding.
    ///
    /// # Errors
    ///
    /// The errors of the source, and a failed allocation of the zstd decoder. An encoding that is not
    /// [supported](Encoding::is_supported) is an error of the first read.
    pub fn new(mut source: R) -> io::Result<Self> {
        let mut head = Vec::new();
        source.by_ref().take(4).read_to_end(&mut head)?;
        let encoding = Encoding::of_bytes(&head);
        let whole = Cursor::new(head).chain(source);
        Ok(Self(match encoding {
            Encoding::Plain => Text::Plain(BufReader::new(whole)),
            Encoding::Gzip => Text::Gzip(Box::new(BufReader::new(MultiGzDecoder::new(whole)))),
            Encoding::Zstd => Text::Zstd(Box::new(BufReader::new(zstd::Decoder::new(whole)?))),
        }))
    }

    /// The encoding of the source.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        match self.0 {
            Text::Plain(_) => Encoding::Plain,
            Text::Gzip(_) => Encoding::Gzip,
            Text::Zstd(_) => Encoding::Zstd,
        }
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Text::Plain(text) => text.read(bytes),
            Text::Gzip(text) => text.read(bytes),
            Text::Zstd(text) => text.read(bytes),
        }
    }
}

impl<R: Read> BufRead for Decoder<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.0 {
            Text::Plain(text) => text.fill_buf(),
            Text::Gzip(text) => text.fill_buf(),
            Text::Zstd(text) => text.fill_buf(),
        }
    }

    fn consume(&mut self, count: usize) {
        match &mut self.0 {
            Text::Plain(text) => text.consume(count),
            Text::Gzip(text) => text.consume(count),
            Text::Zstd(text) => text.consume(count),
        }
    }
}

impl<R: Read> fmt::Debug for Decoder<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").field("encoding", &self.encoding()).finish_non_exhaustive()
    }
}

/// Encodes text for a sink.
pub(crate) enum Encoder<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Encoder<W> {
    pub(crate) fn new(sink: W, encoding: Encoding) -> io::Result<Self> {
        Ok(match encoding {
            Encoding::Plain => Self::Plain(sink),
            Encoding::Gzip => Self::Gzip(GzEncoder::new(sink, Compression::default())),
            Encoding::Zstd => {
                let mut encoder = zstd::Encoder::new(sink, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Self::Zstd(encoder)
            }
        })
    }

    /// Ends the compressed data, flushes the sink and returns it.
    pub(crate) fn finish(self) -> io::Result<W> {
        let mut sink = match self {
            Self::Plain(sink) => sink,
            Self::Gzip(encoder) => encoder.finish()?,
            Self::Zstd(encoder) => encoder.finish()?,
        };
        sink.flush()?;
        Ok(sink)
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(sink) => sink.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            Self::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            Self::Zstd(encoder) => encoder.flush(),
        }
    }
}
