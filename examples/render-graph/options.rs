//! The options of the example.

use std::path::PathBuf;
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

/// Runs a deferred renderer's frame as a render graph and prints its memory and execution time.
#[derive(Clone, Debug, clap::Parser)]
pub(crate) struct Options {
    /// The device.
    #[arg(long, value_enum, default_value = "sim")]
    pub(crate) device: DeviceKind,
    /// Frames that are timed.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) frames: u64,
    /// The size of the frame: 1080p, 4k or WIDTHxHEIGHT; may be given more than once [default: 1080p and 4k]
    #[arg(long = "resolution", value_name = "SIZE", value_parser = size)]
    resolutions: Vec<[u32; 2]>,
    /// Draw the plan of the first size to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Run under the API's validation or debug layers, which takes far longer.
    #[arg(long)]
    pub(crate) validate: bool,
}

const FULL_HD: [u32; 2] = [1920, 1080];
const ULTRA_HD: [u32; 2] = [3840, 2160];

fn size(text: &str) -> Result<[u32; 2], String> {
    match text {
        "1080p" => return Ok(FULL_HD),
        "4k" | "4K" => return Ok(ULTRA_HD),
        _ => {}
    }
    let side = |text: &str| text.parse().ok().filter(|side| (1..=16384).contains(side));
    let sides = text.split_once('x').and_then(|(width, height)| Some([side(width)?, side(height)?]));
    sides.ok_or_else(|| "1080p, 4k or WIDTHxHEIGHT, up to 16384x16384".to_owned())
}

impl Options {
    /// The sizes of the frame.
    pub(crate) fn sizes(&self) -> Vec<[u32; 2]> {
        if self.resolutions.is_empty() { vec![FULL_HD, ULTRA_HD] } else { self.resolutions.clone() }
    }

    /// The manager's configuration: the defaults with long timeouts, for software devices.
    pub(crate) fn config() -> Config {
        let timeout = Duration::from_secs(120);
        Config::from(FrameConfig::default().timeout(timeout).shutdown_timeout(timeout))
    }
}
