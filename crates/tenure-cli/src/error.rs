//! Why the program stops.

use std::io;

use tenure_trace::TraceError;

use crate::plan::PlanFileError;
use crate::replay::{NoDevice, ReplayError};
use crate::{BAD_INPUT, FAULTY};

/// Why the program stops. The text begins with `FILE:LINE:` where there is such.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// A recording cannot be read or written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A list of resources cannot be planned, or its plan not be written.
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
    /// A replay broke down.
    #[error("replay of {trace} ({strategy}): {source}{}", in_lines(hazards))]
    Broken {
        /// The recording's name.
        trace: String,
        /// Where resources went.
        strategy: &'static str,
        /// What the manager said.
        source: Box<tenure::Error>,
        /// What had been found wrong until then.
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
