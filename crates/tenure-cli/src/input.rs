//! Reading recordings and lists of resources: from files and standard input, plain, gzip or zstd.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use tenure_plan::csv::{self, CsvError, CsvReason, Table};
use tenure_trace::{Decoder, Encoding, Trace, TraceError, read_all};

use crate::error::{CliError, PlanFileError};

/// An input, and its name in errors.
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
        let trace = read_all(self.source, &self.name)?;
        Ok((self.name, trace))
    }

    /// Reads a list of resources. Where it cannot be read, the error is that of a recording.
    pub(crate) fn table(self) -> Result<(String, Table), CliError> {
        let Self { name, source } = self;
        let failed =
            |name, line, encoding, error| CliError::from(TraceError::Read { name, line, encoding, error });
        let mut text = match Decoder::new(source) {
            Ok(text) => text,
            Err(error) => return Err(failed(name, 1, Encoding::Plain, error)),
        };
        match csv::read(&mut text) {
            Ok(table) => Ok((name, table)),
            Err(CsvError { line, reason: CsvReason::Io(error), .. }) => {
                Err(failed(name, line, text.encoding(), error))
            }
            Err(error) => Err(PlanFileError::Line { name, error }.into()),
        }
    }
}
