//! Reading recordings and lists of resources: from files and standard input, plain, gzip or zstd.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use tenure_plan::csv::{self, CsvError, CsvReason, PassRow, Table};
use tenure_trace::{Decoder, Encoding, Trace, TraceError, read_all};

use crate::error::{CliError, PlanFileError};
use crate::output;

/// Maximum size of read results of replays, in uncompressed bytes.
const MAX_RESULTS: u64 = 1 << 24;

pub(crate) enum Content {
    /// A recording.
    Recording(Trace),
    /// The output of `tenure replay --json`: text that begins with a brace.
    Results(String),
}

/// The source of a page: a recording with its name, or snapshots.
#[cfg(feature = "report")]
pub(crate) enum PageSource {
    Recording(String, Trace),
    Snapshots(String, Box<dyn Read>),
}

/// Bytes used to detect the format of an input: enough for a whole block of zstd and the bytes before it.
const HEAD: u64 = 256 << 10;

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

pub(crate) struct Input {
    pub(crate) name: String,
    source: Box<dyn Read>,
}

impl Input {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(file: &Path) -> Result<Self, CliError> {
        if file == Path::new("-") {
            return Ok(Self { name: "stdin".to_owned(), source: Box::new(io::stdin().lock()) });
        }
        let name = file.display().to_string();
        match File::open(file) {
            Ok(source) => Ok(Self { name, source: Box::new(source) }),
            Err(error) => Err(TraceError::Open { name, error }.into()),
        }
    }

    /// Reads a recording.
    pub(crate) fn trace(self) -> Result<(String, Trace), CliError> {
        let _reading = output::working("reading");
        let (Self { name, source }, is_json) = self.told_apart()?;
        if is_json {
            return Err(CliError::Usage(format!(
                "{name}: this is JSON, not a recording: see `tenure report --html` for snapshots, and `tenure compare` \
                 for results of replays"
            )));
        }
        let trace = read_all(source, &name)?;
        Ok((name, trace))
    }

    /// Reads a recording, or results of replays.
    pub(crate) fn recording_or_results(self) -> Result<(String, Content), CliError> {
        let _reading = output::working("reading");
        let (Self { name, source }, is_json) = self.told_apart()?;
        if !is_json {
            let trace = read_all(source, &name)?;
            return Ok((name, Content::Recording(trace)));
        }
        let failed = |encoding, error| {
            CliError::from(TraceError::Read { name: name.clone(), line: 1, encoding, error })
        };
        let mut text = Decoder::new(source).map_err(|error| failed(Encoding::Plain, error))?;
        let encoding = text.encoding();
        let mut results = String::new();
        text.by_ref()
            .take(MAX_RESULTS + 1)
            .read_to_string(&mut results)
            .map_err(|error| failed(encoding, error))?;
        if results.len() as u64 > MAX_RESULTS {
            return Err(CliError::Usage(format!(
                "{name}: results of more than {MAX_RESULTS} bytes are not read"
            )));
        }
        Ok((name, Content::Results(results)))
    }

    /// Reads a recording, or detects snapshots.
    #[cfg(feature = "report")]
    pub(crate) fn recording_or_snapshots(self) -> Result<PageSource, CliError> {
        let _reading = output::working("reading");
        let (Self { name, source }, is_json) = self.told_apart()?;
        if !is_json {
            let trace = read_all(source, &name)?;
            return Ok(PageSource::Recording(name, trace));
        }
        match Decoder::new(source) {
            Ok(text) => Ok(PageSource::Snapshots(name, Box::new(text))),
            Err(error) => Err(TraceError::Read { name, line: 1, encoding: Encoding::Plain, error }.into()),
        }
    }

    /// The same input from its beginning, and whether its text is JSON; no recording begins like JSON.
    fn told_apart(self) -> Result<(Self, bool), CliError> {
        let Self { name, mut source } = self;
        let mut head = Vec::new();
        if let Err(error) = source.by_ref().take(HEAD).read_to_end(&mut head) {
            return Err(TraceError::Read { name, line: 1, encoding: Encoding::Plain, error }.into());
        }
        if matches!(head[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            return Err(CliError::Usage(format!(
                "{name}: the text is UTF-16, as the > of Windows PowerShell writes it: write it as UTF-8, for example \
                 with `| Out-File -Encoding utf8 FILE`"
            )));
        }
        let is_json = is_json(&head);
        Ok((Self { name, source: Box::new(Cursor::new(head).chain(source)) }, is_json))
    }

    /// Reads a list of resources.
    pub(crate) fn table(self) -> Result<(String, Table), CliError> {
        self.csv(|text| csv::read(text))
    }

    /// Reads the names and queues of passes.
    pub(crate) fn passes(self) -> Result<Vec<PassRow>, CliError> {
        self.csv(|text| csv::read_passes(text)).map(|(_, passes)| passes)
    }

    /// Reads a table. Read errors have the same form as those of a recording.
    fn csv<T>(
        self,
        read: impl FnOnce(&mut Decoder<Box<dyn Read>>) -> Result<T, CsvError>,
    ) -> Result<(String, T), CliError> {
        let _reading = output::working("reading");
        let Self { name, source } = self;
        let failed =
            |name, line, encoding, error| CliError::from(TraceError::Read { name, line, encoding, error });
        let mut text = match Decoder::new(source) {
            Ok(text) => text,
            Err(error) => return Err(failed(name, 1, Encoding::Plain, error)),
        };
        match read(&mut text) {
            Ok(read) => Ok((name, read)),
            Err(CsvError { line, reason: CsvReason::Io(error), .. }) => {
                Err(failed(name, line, text.encoding(), error))
            }
            Err(error) => Err(PlanFileError::Line { name, error }.into()),
        }
    }
}

/// Whether text with this beginning, plain or compressed, is JSON: whether its first character is a brace. False
/// for unreadable text, so that the reader reports the error.
fn is_json(head: &[u8]) -> bool {
    let Ok(text) = Decoder::new(head) else { return false };
    let is_before = |byte: &u8| byte.is_ascii_whitespace() || BYTE_ORDER_MARK.contains(byte);
    text.take(HEAD).bytes().map_while(Result::ok).find(|byte| !is_before(byte)) == Some(b'{')
}
