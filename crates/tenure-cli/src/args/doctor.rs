//! The arguments of `tenure doctor` and `tenure profile`.

use std::path::PathBuf;

use tenure::sim;

use super::{DeviceKind, Pick, profile};

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// The kind of device [default: vulkan]
    #[arg(long, value_enum)]
    pub(crate) device: Option<DeviceKind>,
    /// The hardware profile of the simulated device [default: d3d12-tier2]
    #[arg(long, value_name = "NAME", value_parser = profile)]
    pub(crate) profile: Option<sim::Profile>,
    /// The device of a real API: its number in `tenure devices`, or a part of its name [default: the first]
    #[arg(long, value_name = "N|NAME")]
    pub(crate) adapter: Option<Pick>,
    /// The file to write, in JSON [default: none]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// The maximum fraction of each heap's free memory to allocate, from 0 to 1
    #[arg(long, value_name = "PART", default_value_t = 0.25, value_parser = share, allow_negative_numbers = true)]
    pub(crate) share: f64,
    /// The time limit in seconds
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| "a number from 0 to 1".to_owned())
}

#[derive(Debug, clap::Args)]
pub(crate) struct ProfileArgs {
    /// A file that `tenure doctor --out` has written
    pub(crate) file: PathBuf,
}
