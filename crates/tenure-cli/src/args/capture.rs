//! The arguments of `tenure capture`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueEnum;
use tenure::sim;

#[derive(Debug, clap::Args)]
pub(crate) struct CaptureArgs {
    /// The program, and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
    /// The recording to write, compressed if its name ends in .gz or .zst [default: none]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// The page about memory over time to write [default: none]
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// The card whose memory the program sees [default: the device's own]
    #[arg(long = "as", value_enum)]
    pub(crate) card: Option<Card>,
    /// Also record the names that the program gives to its resources
    #[arg(long)]
    pub(crate) names: bool,
    /// Print a JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// The library of the layer [default: beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) layer: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Card {
    /// A discrete NVIDIA card with 10 GiB
    Nvidia,
    /// A discrete AMD card with 256 MiB of CPU-visible memory
    Amd,
    /// An integrated Intel GPU
    Intel,
    /// The GPU of a phone
    Mobile,
}

impl Card {
    pub(crate) const fn profile(self) -> sim::Profile {
        match self {
            Self::Nvidia => sim::Profile::VULKAN_NVIDIA,
            Self::Amd => sim::Profile::VULKAN_AMD_SMALL_BAR,
            Self::Intel => sim::Profile::VULKAN_INTEL,
            Self::Mobile => sim::Profile::VULKAN_MOBILE,
        }
    }
}
