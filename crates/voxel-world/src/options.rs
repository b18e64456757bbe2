//! The command line of the examples.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use tenure::{Config, FrameConfig};

/// Renders the voxel world off-screen and prints how much memory it takes.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// The file of the picture [default: target/NAME.png]
    pub picture: Option<PathBuf>,
    /// Fail if more than 0.5 % of the pixels differ from this PNG
    #[arg(long, value_name = "PNG")]
    pub compare: Option<PathBuf>,
    /// Draw only the meshes that the camera may see
    #[arg(long)]
    pub cull: bool,
}

impl Options {
    /// Reads the command line. Ends the program if it is invalid or requests help.
    #[must_use]
    pub fn from_command_line() -> Self {
        Self::parse()
    }

    /// The manager's configuration: the defaults with longer timeouts, because a software device takes
    /// seconds for a frame.
    #[must_use]
    pub fn config(&self) -> Config {
        let timeout = Duration::from_secs(120);
        Config::from(FrameConfig { timeout, shutdown_timeout: timeout, ..FrameConfig::default() })
    }

    /// The path of the picture of the example `name`.
    #[must_use]
    pub fn picture_of(&self, name: &str) -> PathBuf {
        self.picture.clone().unwrap_or_else(|| PathBuf::from(format!("target/{name}.png")))
    }
}
