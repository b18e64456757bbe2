//! What the example can be asked for.

use std::time::Duration;

use tenure::{Config, FrameConfig};

/// The device to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum DeviceKind {
    /// The simulated one, which checks everything.
    Sim,
    /// Vulkan.
    Vulkan,
}

/// Streams a world of 10 GiB through 512 MiB, checks what is loaded, and prints what that took.
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
    /// The manager's configuration: the defaults, but patient with devices in software.
    pub(crate) fn config() -> Config {
        let timeout = Duration::from_secs(120);
        Config::from(FrameConfig { timeout, shutdown_timeout: timeout, ..FrameConfig::default() })
    }
}
