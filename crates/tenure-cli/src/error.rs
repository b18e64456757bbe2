//! The errors of the program.

use std::io;
use std::path::PathBuf;

use tenure_plan::PlanError;
use tenure_plan::csv::{CsvError, Table};
use tenure_trace::TraceError;

use crate::replay::{NoDevice, ReplayError};

/// The exit status when something failed, leaked or was hazardous.
pub(crate) const FAULTY: u8 = 1;
/// The exit status for bad usage or input, or for a missing device.
const BAD_INPUT: u8 = 2;

/// An error that ends the program. The text begins with `FILE:LINE:` where the error concerns a line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// A recording cannot be read or written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A list of resources cannot be planned, or the plan cannot be written.
    #[error(transparent)]
    Plan(#[from] PlanFileError),
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// Two arguments contradict each other.
    #[error("{0}")]
    Usage(String),
    /// There is no such device.
    #[error(transparent)]
    NoDevice(#[from] NoDevice),
    /// A replay was aborted.
    #[error("replay of {trace} ({strategy}): {source}{}", in_lines(hazards))]
    Broken {
        /// The recording's name.
        trace: String,
        /// The placement strategy.
        strategy: &'static str,
        /// The manager's error.
        source: Box<tenure::Error>,
        /// The hazards found until then.
        hazards: Vec<String>,
    },
}

fn in_lines(hazards: &[String]) -> String {
    hazards.iter().map(|hazard| format!("\nhazard: {hazard}")).collect()
}

impl CliError {
    pub(crate) const fn status(&self) -> u8 {
        match self {
            Self::Trace(_) | Self::Plan(_) | Self::Output(_) | Self::Usage(_) | Self::NoDevice(_) => {
                BAD_INPUT
            }
            Self::Broken { .. } => FAULTY,
        }
    }

    /// The replay of `trace` by `strategy` has no outcome.
    pub(crate) fn of_replay(trace: &str, strategy: &'static str, error: ReplayError) -> Self {
        match error {
            ReplayError::NoDevice(missing) => Self::NoDevice(missing),
            ReplayError::Broken { source, hazards } => {
                Self::Broken { trace: trace.to_owned(), strategy, source, hazards }
            }
        }
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        match self {
            Self::Output(error) | Self::Trace(TraceError::Write { error }) => {
                error.kind() == io::ErrorKind::BrokenPipe
            }
            Self::Trace(_) | Self::Plan(_) | Self::Usage(_) | Self::NoDevice(_) | Self::Broken { .. } => {
                false
            }
        }
    }
}

/// The resources of a file cannot be planned, or the plan cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanFileError {
    /// The plan cannot be written.
    #[error("{}: {error}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A line of the file is wrong.
    #[error("{name}:{}: {}", error.line, error.reason)]
    Line {
        /// The file.
        name: String,
        /// The line number and the error in it.
        error: CsvError,
    },
    /// The resources cannot be planned.
    #[error("{name}: {error}{}", ids(error, table))]
    Items {
        /// The file.
        name: String,
        /// The cause.
        error: PlanError,
        /// The resources.
        table: Box<Table>,
    },
}

/// The ids of the resources that an error concerns.
fn ids(error: &PlanError, table: &Table) -> String {
    let (item, other) = match *error {
        PlanError::PinnedConflict { item, other } => (item, Some(other)),
        PlanError::PinnedUnaligned { item, .. } | PlanError::TooLarge { item } => (item, None),
        _ => return String::new(),
    };
    let id = |at: usize| table.ids.get(at).map_or("", String::as_str);
    match other {
        Some(other) => format!(" (ids {:?} and {:?})", id(item), id(other)),
        None => format!(" (id {:?})", id(item)),
    }
}
