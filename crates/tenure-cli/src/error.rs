//! The errors of the program.

use std::io;
use std::path::PathBuf;

use tenure_plan::PlanError;
use tenure_plan::csv::{CsvError, Table};
#[cfg(feature = "report")]
use tenure_report::SnapshotError;
use tenure_trace::TraceError;

use crate::examined::InvalidExamination;
use crate::feature::Feature;
use crate::replay::{NoDevice, ReplayError};

/// The exit status when something failed, leaked or was hazardous.
pub(crate) const FAULTY: u8 = 1;
/// The exit status for bad usage or input, or for a missing device.
const BAD_INPUT: u8 = 2;

/// An error that ends the program. The text begins with `FILE:LINE:` if it concerns a line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// A recording cannot be read or written.
    #[error(transparent)]
    Trace(TraceError),
    /// A list of resources cannot be planned, or the plan cannot be written.
    #[error(transparent)]
    Plan(#[from] PlanFileError),
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// A file cannot be written or read.
    #[error("{}: {error}", file.display())]
    File { file: PathBuf, error: io::Error },
    /// A line is not a result of a replay.
    #[error("{name}:{line}: not a result of `tenure replay --json`: {error}")]
    Result { name: String, line: u64, error: serde_json::Error },
    /// A file is not a result of `tenure doctor`.
    #[error("{}: {error}", file.display())]
    Examination { file: PathBuf, error: InvalidExamination },
    /// Snapshots cannot be read.
    #[cfg(feature = "report")]
    #[error("{name}: {error}")]
    Snapshots { name: String, error: SnapshotError },
    /// A program cannot be recorded.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// Two arguments contradict each other.
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    NoDevice(#[from] NoDevice),
    /// The program was built without a required part.
    #[error(transparent)]
    NotBuilt(#[from] Feature),
    /// A replay was aborted.
    #[error("replay of {trace} ({strategy}): {source}{}", in_lines(hazards))]
    Broken {
        trace: String,
        strategy: &'static str,
        source: Box<tenure::Error>,
        /// The hazards found before.
        hazards: Vec<String>,
    },
}

fn in_lines(hazards: &[String]) -> String {
    hazards.iter().map(|hazard| format!("\nhazard: {hazard}")).collect()
}

impl From<TraceError> for CliError {
    fn from(mut error: TraceError) -> Self {
        if let TraceError::Read { encoding, error, .. } = &mut error
            && !encoding.is_supported()
        {
            *error = Feature::Zstd.into();
        }
        Self::Trace(error)
    }
}

impl CliError {
    pub(crate) const fn status(&self) -> u8 {
        match self {
            Self::Trace(_)
            | Self::Plan(_)
            | Self::Output(_)
            | Self::File { .. }
            | Self::Result { .. }
            | Self::Examination { .. }
            | Self::Capture(_)
            | Self::Usage(_)
            | Self::NoDevice(_)
            | Self::NotBuilt(_) => BAD_INPUT,
            #[cfg(feature = "report")]
            Self::Snapshots { .. } => BAD_INPUT,
            Self::Broken { .. } => FAULTY,
        }
    }

    /// The error of an aborted replay of `trace` by `strategy`.
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
            Self::Trace(_)
            | Self::Plan(_)
            | Self::File { .. }
            | Self::Result { .. }
            | Self::Examination { .. }
            | Self::Capture(_)
            | Self::Usage(_)
            | Self::NoDevice(_)
            | Self::NotBuilt(_)
            | Self::Broken { .. } => false,
            #[cfg(feature = "report")]
            Self::Snapshots { .. } => false,
        }
    }
}

/// A program cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    /// The library of the layer is missing.
    #[error(
        "there is no {}: build the layer by `cargo build --release --package tenure-capture` in a checkout of tenure, and \
         name it: --layer target/release/{library}",
        listed(looked)
    )]
    NoLayer {
        /// The searched paths.
        looked: Vec<PathBuf>,
        library: String,
    },
    /// The program cannot be started.
    #[error("cannot start {program}: {error}")]
    NotStarted { program: String, error: io::Error },
    /// The program ended, and the layer saw no device.
    #[error(
        "{program} used no Vulkan device that the layer saw. Possible reasons: it uses another API; it is set-user-ID, or its \
         sandbox hides files and the environment; its Vulkan loader is older than 1.3.207"
    )]
    NoDevice { program: String },
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" or ")
}

/// The resources of a file cannot be planned, or the plan cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlanFileError {
    /// The plan cannot be written.
    #[error("{}: {error}", file.display())]
    Io { file: PathBuf, error: io::Error },
    /// A line of the file is wrong.
    #[error("{name}:{}: {}", error.line, error.reason)]
    Line {
        name: String,
        /// The line number and the error in it.
        error: CsvError,
    },
    /// The resources cannot be planned.
    #[error("{name}: {error}{}", ids(error, table))]
    Items { name: String, error: PlanError, table: Box<Table> },
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a step that fails is a test that fails")]

    use std::io;

    use tenure_plan::PlanError;
    use tenure_plan::csv::read;

    use super::{CaptureError, CliError, PlanFileError};
    use crate::examined::InvalidExamination;
    use crate::feature::Feature;
    use crate::replay::NoDevice;

    /// Does not compile if an error lacks a row in the table below.
    const fn is_in_table(error: &CliError) -> bool {
        match error {
            CliError::Trace(_)
            | CliError::Plan(
                PlanFileError::Io { .. } | PlanFileError::Line { .. } | PlanFileError::Items { .. },
            )
            | CliError::Output(_)
            | CliError::File { .. }
            | CliError::Result { .. }
            | CliError::Examination { .. }
            | CliError::Capture(_)
            | CliError::Usage(_)
            | CliError::NoDevice(_)
            | CliError::NotBuilt(_)
            | CliError::Broken { .. } => true,
            #[cfg(feature = "report")]
            CliError::Snapshots { .. } => true,
        }
    }

    fn plan_errors() -> [(CliError, &'static str); 3] {
        let items = |error| {
            let table = Box::new(read("id,lower,upper,size\nbloom,0,1,16\n".as_bytes()).unwrap());
            CliError::Plan(PlanFileError::Items { name: "frame.csv".to_owned(), error, table })
        };
        let error = || read("id,lower\n".as_bytes()).unwrap_err();
        [
            (
                CliError::Plan(PlanFileError::Io { file: "frame.svg".into(), error: full() }),
                "frame.svg: the disk is full",
            ),
            (
                CliError::Plan(PlanFileError::Line { name: "frame.csv".to_owned(), error: error() }),
                "frame.csv:1: the header has no column upper",
            ),
            (
                items(PlanError::TooLarge { item: 0 }),
                "frame.csv: the items up to item 0 take more than 1152921504606846976 bytes together (id \"bloom\")",
            ),
        ]
    }

    fn full() -> io::Error {
        io::Error::other("the disk is full")
    }

    #[test]
    fn every_error_has_its_exact_text() {
        let missing = NoDevice {
            api: "vulkan",
            reason: "no Vulkan loader".to_owned(),
            remedy: "install the package libvulkan1",
        };
        let others = [
            (
                CliError::Trace(tenure_trace::TraceError::Open { name: "a.csv".to_owned(), error: full() }),
                "a.csv: cannot open: the disk is full",
            ),
            (CliError::Output(full()), "cannot write the output: the disk is full"),
            (CliError::File { file: "page.html".into(), error: full() }, "page.html: the disk is full"),
            (
                CliError::Result {
                    name: "before.json".to_owned(),
                    line: 2,
                    error: serde_json::from_str::<u32>("{").unwrap_err(),
                },
                "before.json:2: not a result of `tenure replay --json`: invalid type: map, expected u32 at line 1 column 0",
            ),
            (
                CliError::Examination {
                    file: "card.json".into(),
                    error: InvalidExamination::Version { found: 7 },
                },
                "card.json: version 7 of the format; this program reads version 1",
            ),
            #[cfg(feature = "report")]
            (
                CliError::Snapshots {
                    name: "run.jsonl".to_owned(),
                    error: tenure_report::read_snapshots("{}".as_bytes(), "run").unwrap_err(),
                },
                "run.jsonl: line 1: missing field `stats` at line 1 column 2",
            ),
            (
                CliError::Capture(CaptureError::NotStarted { program: "game".to_owned(), error: full() }),
                "cannot start game: the disk is full",
            ),
            (CliError::Usage("--json needs one recording".to_owned()), "--json needs one recording"),
            (CliError::NoDevice(missing), "vulkan: no Vulkan loader; install the package libvulkan1"),
            (
                CliError::NotBuilt(Feature::Report),
                "this program was built without `tenure report`: install the whole program with `cargo install \
                 tenure-cli --features full`, or in a checkout use `cargo run --release --features report --`",
            ),
            (
                CliError::Broken {
                    trace: "a.csv".to_owned(),
                    strategy: "pooled",
                    source: Box::new(tenure::Error::ShutDown),
                    hazards: vec!["missing barrier".to_owned()],
                },
                "replay of a.csv (pooled): the Gpu was shut down: it no longer creates, records or uploads\n\
                 hazard: missing barrier",
            ),
        ];
        for (error, text) in plan_errors().into_iter().chain(others) {
            assert!(is_in_table(&error));
            assert_eq!(error.to_string(), text);
        }
    }
}
