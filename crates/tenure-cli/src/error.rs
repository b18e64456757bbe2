//! Why the program stops.

use std::io;

use tenure_trace::TraceError;

use crate::{BAD_INPUT, FAULTY};

/// Why the program stops. The text begins with `FILE:LINE:` where there is such.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// A recording cannot be read or written.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Standard output cannot be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
    /// A replay broke down.
    #[error("replay of {trace}: {source}")]
    Replay {
        /// The recording's name.
        trace: String,
        /// What the manager said.
        source: tenure::Error,
    },
}

impl CliError {
    pub(crate) const fn status(&self) -> u8 {
        match self {
            Self::Trace(_) | Self::Output(_) => BAD_INPUT,
            Self::Replay { .. } => FAULTY,
        }
    }

    pub(crate) fn is_broken_pipe(&self) -> bool {
        match self {
            Self::Output(error) | Self::Trace(TraceError::Write { error }) => {
                error.kind() == io::ErrorKind::BrokenPipe
            }
            Self::Trace(_) | Self::Replay { .. } => false,
        }
    }
}
