//! What is to be replayed, and how.

use tenure::{Config, Strategy};
use tenure_trace::Summary;

use super::Program;

/// The choices of a replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The manager's choices, but for the strategy. Its frames in flight are also the most by
    /// which a simulated GPU is late.
    pub config: Config,
    /// Where all chance comes from.
    pub seed: u64,
}

/// One replay.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The recording's name.
    pub name: &'a str,
    /// What the recording holds.
    pub summary: &'a Summary,
    /// The recording, made ready by the same [`Target`](super::Target).
    pub program: &'a Program,
    /// Where resources go.
    pub strategy: Strategy,
    /// The choices.
    pub settings: &'a Settings,
    /// Is told now and then how many of the program's steps are done.
    pub progress: &'a dyn Fn(u64),
}

impl Job<'_> {
    pub(super) fn config(&self) -> Config {
        Config { strategy: self.strategy, ..self.settings.config.clone() }
    }
}
