//! The arguments of `tenure tune`.

use std::path::PathBuf;

use clap::ValueEnum;
use tenure::{Config, sim};

use super::{frames, profile};

#[derive(Debug, clap::Args)]
pub(crate) struct TuneArgs {
    /// The recording (plain, gzip or zstd); - for standard input
    pub(crate) file: PathBuf,
    /// The hardware profile of the simulated device [default: the recording's, or d3d12-tier2]
    #[arg(long, value_name = "NAME", value_parser = profile)]
    pub(crate) profile: Option<sim::Profile>,
    /// The quantity to minimise
    #[arg(long, value_enum, default_value_t = Goal::Balanced)]
    pub(crate) goal: Goal,
    /// A seed of the replays; can be repeated. The result is checked with one more seed
    #[arg(long = "seed", value_name = "S", default_values_t = [0, 1])]
    pub(crate) seeds: Vec<u64>,
    /// The maximum number of replays; the default is always replayed with each seed
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) runs: u64,
    /// Seconds after which the search stops; the result then depends on the machine [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<u64>,
    /// The maximum number of frames in flight; 0: freed memory is reusable at once, as after a wait for the GPU
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub(crate) frames_in_flight: u32,
    /// Print a JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

impl TuneArgs {
    /// The default configuration, where the search starts.
    pub(crate) fn base(&self) -> Config {
        Config::from(frames(self.frames_in_flight))
    }
}

/// Weights of the score. Each figure (peak and mean reserved memory, driver allocations, driver time) counts
/// relative to the default's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Goal {
    /// Memory counts double
    Balanced,
    /// Memory counts eight times as much as the others
    Memory,
    /// Driver time counts eight times as much as the others
    Time,
}

impl Goal {
    /// The weights of peak memory, mean memory, allocations and time.
    pub(crate) const fn weights(self) -> [f64; 4] {
        match self {
            Self::Balanced => [1.0, 1.0, 1.0, 1.0],
            Self::Memory => [4.0, 4.0, 1.0, 1.0],
            Self::Time => [0.5, 0.5, 1.0, 8.0],
        }
    }
}
