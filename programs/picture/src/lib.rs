//! The options of all programs, and their pictures.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Any error.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The command line of every program: `PROGRAM SCENE FRAMES PICTURE.png`.
pub struct Arguments {
    /// The picture to draw.
    pub scene: String,
    /// How many frames.
    pub frames: u32,
    /// Where the last one goes.
    pub file: PathBuf,
}

impl Arguments {
    fn of(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut next = || words.next().ok_or("usage: PROGRAM SCENE FRAMES PICTURE.png");
        Ok(Self { scene: next()?, frames: next()?.parse()?, file: next()?.into() })
    }
}

/// The last frame: rows from the top, RGBA, 8 bits each.
pub struct Picture {
    /// In pixels.
    pub width: u32,
    /// `width` times height times 4 bytes.
    pub bytes: Vec<u8>,
}

impl Picture {
    /// True when all pixels are the same.
    fn is_empty(&self) -> bool {
        let mut pixels = self.bytes.chunks_exact(4);
        let first = pixels.next();
        pixels.all(|pixel| Some(pixel) == first)
    }

    fn write(&self, file: &Path) -> Result<()> {
        if self.is_empty() {
            return Err("nothing was drawn".into());
        }
        let height = u32::try_from(self.bytes.len() / 4)? / self.width;
        let mut encoder = png::Encoder::new(BufWriter::new(File::create(file)?), self.width, height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.write_header()?.write_image_data(&self.bytes)?;
        Ok(())
    }
}

/// Draws the picture that the command line selects.
pub fn main(draw: impl FnOnce(&Arguments) -> Result<Picture>) -> ExitCode {
    let draw = || {
        let arguments = Arguments::of(std::env::args().skip(1))?;
        draw(&arguments)?.write(&arguments.file)
    };
    match draw() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
