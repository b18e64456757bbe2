//! The parameters of a replay, and the devices that run it.

use tenure::{Config, config::Strategy};
use tenure_trace::{Summary, Trace};

use super::{Outcome, Program};

/// The settings of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The manager's configuration, except for [`Job::strategy`]. Its number of frames in flight is also the
    /// maximum latency of a simulated GPU.
    pub config: Config,
    /// The seed of all random choices.
    pub seed: u64,
    /// Create GPU-only buffers and textures as [movable](tenure::BufferDesc::movable). On real devices resources
    /// do not move, because the checks pin those that they read.
    pub movable: bool,
    /// Treat every free as [final](tenure_trace::Details::is_final), not only marked ones.
    pub final_frees: bool,
}

/// One replay.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The recording's name.
    pub name: &'a str,
    /// The summary of the recording.
    pub summary: &'a Summary,
    /// The recording, prepared by the same [`Target`].
    pub program: &'a Program,
    /// The placement strategy.
    pub strategy: Strategy,
    /// The settings.
    pub settings: &'a Settings,
    /// Called regularly with the number of completed steps of the program.
    pub progress: &'a dyn Fn(u64),
}

impl Job<'_> {
    pub(super) fn config(&self) -> Config {
        self.settings.config.clone().pools(self.settings.config.clone().pools.strategy(self.strategy))
    }
}

/// A kind of device; each replay creates a new device of this kind.
pub trait Target {
    /// Prepares a recording for such a device.
    ///
    /// # Errors
    /// [`NoDevice`]
    fn prepare(&self, trace: &Trace) -> Result<Program, NoDevice>;

    /// Replays a [prepared](Self::prepare) recording. Failed creations are counted.
    ///
    /// # Errors
    /// [`ReplayError::NoDevice`]; [`ReplayError::Broken`] for any failure other than a creation: a setting out of
    /// range, a lost device, a submission that the driver refuses.
    fn replay(&self, job: &Job<'_>) -> Result<Outcome, ReplayError>;
}

/// The reason why a replay has no outcome.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no such device.
    #[error(transparent)]
    NoDevice(#[from] NoDevice),
    /// The replay was aborted.
    #[error("{source}")]
    Broken {
        /// The manager's error.
        source: Box<tenure::Error>,
        /// The hazards found before.
        hazards: Vec<String>,
    },
}

impl ReplayError {
    pub(super) fn broken(source: tenure::Error, hazards: Vec<String>) -> Self {
        Self::Broken { source: Box::new(source), hazards }
    }
}

/// The reason why a device is not available, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{api}: {reason}{}{remedy}", if remedy.is_empty() { "" } else { "; " })]
pub struct NoDevice {
    /// The API, as in arguments of the command line.
    pub api: &'static str,
    /// The reason.
    pub reason: String,
    /// The remedy; empty if none is known.
    pub remedy: &'static str,
}
