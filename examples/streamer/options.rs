//! The options of the example.

use std::time::Duration;

use tenure::{Config, config::FrameConfig};

/// The device to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DeviceKind {
    /// The simulated device, which checks everything.
    Sim,
    /// Vulkan.
    Vulkan,
}

/// Streams a world of 10 GiB through 512 MiB, checks loaded bytes, and prints statistics.
#[derive(Clone, Debug, clap::Parser)]
pub(crate) struct Options {
    /// The device.
    #[arg(long, value_enum, default_value = "sim")]
    pub(crate) device: DeviceKind,
    /// Frames.
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) frames: u64,
    /// Run under the API's validation layers, which takes far longer.
    #[arg(long)]
    pub(crate) validate: bool,
}

impl Options {
    /// The manager's configuration: the defaults with long timeouts, for software devices.
    pub(crate) fn config() -> Config {
        let timeout = Duration::from_secs(120);
        Config::from(FrameConfig::default().timeout(timeout).shutdown_timeout(timeout))
    }
}
