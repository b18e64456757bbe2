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
    /// Direct3D 12.
    D3d12,
}

/// Records a frame on four threads, frame after frame, and prints the cost.
#[derive(Clone, Debug, clap::Parser)]
pub(crate) struct Options {
    /// The device.
    #[arg(long, value_enum, default_value = "sim")]
    pub(crate) device: DeviceKind,
    /// Frames.
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(200..))]
    pub(crate) frames: u64,
    /// Run under the API's validation or debug layers, which takes far longer.
    #[arg(long)]
    pub(crate) validate: bool,
}

impl Options {
    /// The manager's configuration: patient with devices in software, and keeping memory that some
    /// frames do not need, because the GPU falls behind by three frames at one time and by none at
    /// another.
    pub(crate) fn config() -> Config {
        let timeout = Duration::from_secs(120);
        Config::from(FrameConfig { in_flight: 3, idle: 100_000, timeout, shutdown_timeout: timeout })
    }
}
