//! The command line of the examples.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, value_parser};
use tenure::{Config, config::FrameConfig};

/// Renders the voxel world and prints how much memory it takes.
#[derive(Clone, Debug, Parser)]
pub struct Options {
    /// Show it in a window: W A S D or the arrows move the camera, dragging turns it, Esc ends
    #[arg(long)]
    pub window: bool,
    /// Number of frames in the window
    #[arg(long, requires = "window", value_parser = value_parser!(u64).range(1..))]
    pub frames: Option<u64>,
    /// Resize, minimise and restore the window before the last frame, and fail if it does not follow: a test
    #[arg(long, requires = "frames")]
    pub unrest: bool,
    /// Width and height of the picture or the window
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "1280x720", value_parser = size)]
    pub size: [u32; 2],
    /// Write the last frame to a PNG file [default: target/NAME.png; with a window none]
    #[arg(long, value_name = "PNG")]
    pub picture: Option<PathBuf>,
    /// Fail if more than 0.5 % of the pixels differ from this PNG
    #[arg(long, value_name = "PNG")]
    pub compare: Option<PathBuf>,
    /// Draw only the meshes that the camera may see, as a window always does
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
        Config::from(FrameConfig::default().timeout(timeout).shutdown_timeout(timeout))
    }

    /// The path of the picture of the example `name`.
    #[must_use]
    pub fn picture_of(&self, name: &str) -> PathBuf {
        self.picture.clone().unwrap_or_else(|| PathBuf::from(format!("target/{name}.png")))
    }
}

/// A size such as `1280x720`.
fn size(text: &str) -> Result<[u32; 2], String> {
    const LARGEST: u32 = 16_384;
    let (width, height) = text.split_once('x').ok_or("not WIDTHxHEIGHT, such as 1280x720")?;
    let side = |text: &str| text.parse::<u32>().ok().filter(|side| (1..=LARGEST).contains(side));
    let sides = side(width).zip(side(height));
    sides.map(Into::into).ok_or_else(|| format!("a width and a height are from 1 to {LARGEST}"))
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn a_size_is_two_numbers_above_0() {
        assert_eq!(size("480x270"), Ok([480, 270]));
        for wrong in ["480", "480x", "0x270", "480x-1", "99999999999x1", "20000x1"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
