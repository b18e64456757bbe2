//! The arguments of `tenure compare`.

use std::path::PathBuf;

use tenure::{Config, sim};

use super::{StrategyName, frames, profile};
use crate::replay::Settings;

#[derive(Debug, clap::Args)]
pub(crate) struct CompareArgs {
    /// A recording, or output of `tenure replay --json` (plain, gzip or zstd); - for standard input
    pub(crate) a: PathBuf,
    /// The other recording or output
    pub(crate) b: PathBuf,
    /// The strategy of compared runs, and of replays of recordings [default: all common ones; pooled]
    #[arg(long, value_enum)]
    pub(crate) strategy: Option<StrategyName>,
    /// The hardware profile for replays of recordings [default: the recording's, or d3d12-tier2]
    #[arg(long, value_name = "NAME", value_parser = profile)]
    pub(crate) profile: Option<sim::Profile>,
    /// The maximum number of frames in flight, for replays of recordings; 0 as for `replay`
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub(crate) frames_in_flight: u32,
    /// The seed of all randomness, for replays of recordings
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Print a JSON object for each strategy, one per line, instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

impl CompareArgs {
    pub(crate) fn settings(&self) -> Settings {
        let config = Config::from(frames(self.frames_in_flight));
        Settings { config, seed: self.seed, movable: false, final_frees: self.frames_in_flight == 0 }
    }
}
