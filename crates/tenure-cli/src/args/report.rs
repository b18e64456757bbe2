//! The arguments of `tenure report`.

use std::path::PathBuf;

use tenure::{Config, sim};

use super::{StrategyName, frames, profile};
use crate::replay::Settings;

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").args(["html", "perfetto"]).required(true)))]
pub(crate) struct ReportArgs {
    /// The recording, or for --html snapshots: `Gpu::report()` in JSON, one report per line (plain, gzip or
    /// zstd); - for standard input
    pub(crate) file: PathBuf,
    /// Write a page that shows memory over time: one file that opens from disk in any browser
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// With --html: the resources of a frame, as id,lower,upper,size; the page also shows their plan
    #[arg(long, value_name = "FRAME.csv", requires = "html", conflicts_with = "perfetto")]
    pub(crate) plan: Option<PathBuf>,
    /// Write a timeline for https://ui.perfetto.dev: memory events, heaps, pools, frames, waits and moves
    #[arg(long, value_name = "TRACE")]
    pub(crate) perfetto: Option<PathBuf>,
    /// The hardware profile of the simulated device [default: the recording's, or d3d12-tier2]
    #[arg(long, value_name = "NAME", value_parser = profile)]
    pub(crate) profile: Option<sim::Profile>,
    /// The placement of resources
    #[arg(long, value_enum, default_value_t = StrategyName::Pooled)]
    pub(crate) strategy: StrategyName,
    /// The maximum number of frames in flight; 0: freed memory is reusable at once, as after a wait for the GPU
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub(crate) frames_in_flight: u32,
    /// The seed of all randomness
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// With --perfetto: make GPU-only resources movable, to show compaction
    #[arg(long, requires = "perfetto", conflicts_with = "html")]
    pub(crate) movable: bool,
}

impl ReportArgs {
    pub(crate) fn settings(&self) -> Settings {
        let config = Config::from(frames(self.frames_in_flight));
        let final_frees = self.frames_in_flight == 0;
        Settings { config, seed: self.seed, movable: self.movable, final_frees }
    }
}
