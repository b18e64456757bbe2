//! Where recordings can be replayed.

use tenure_trace::Trace;

use super::{Job, Outcome, Program};

/// A kind of device, of which each replay gets a fresh one.
pub trait Target {
    /// Makes a recording ready for such a device.
    ///
    /// # Errors
    /// [`NoDevice`]
    fn prepare(&self, trace: &Trace) -> Result<Program, NoDevice>;

    /// Replays a recording that was [made ready](Self::prepare). A creation that fails is counted.
    ///
    /// # Errors
    /// [`ReplayError::NoDevice`]; [`ReplayError::Broken`] for anything but a failed creation: a
    /// setting out of range, a lost device, a submission that the driver refuses.
    fn replay(&self, job: &Job<'_>) -> Result<Outcome, ReplayError>;
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no such device.
    #[error(transparent)]
    NoDevice(#[from] NoDevice),
    /// It broke down.
    #[error("{source}")]
    Broken {
        /// What the manager said.
        source: Box<tenure::Error>,
        /// What had been found wrong until then.
        hazards: Vec<String>,
    },
}

impl ReplayError {
    pub(super) fn broken(source: tenure::Error, hazards: Vec<String>) -> Self {
        Self::Broken { source: Box::new(source), hazards }
    }
}

/// Why a device cannot be had, and what would help.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{api}: {reason}{}{remedy}", if remedy.is_empty() { "" } else { "; " })]
pub struct NoDevice {
    /// The API, as command lines write it.
    pub api: &'static str,
    /// The reason.
    pub reason: String,
    /// What to do; empty where that is not known.
    pub remedy: &'static str,
}
