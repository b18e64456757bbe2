//! Pictures: writing and reading PNG files, and comparing two pictures.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

/// A defect of a picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// The share of the sky is not from 5 % to 50 %.
    #[error("{percent:.1} % of the picture are sky")]
    Sky {
        /// Percent of the pixels.
        percent: f64,
    },
    /// The brightness of the ground hardly varies.
    #[error("the ground has a contrast of only {contrast:.1}")]
    Flat {
        /// The standard deviation of the ground's brightness, of 255.
        contrast: f64,
    },
    /// The picture differs from the one that it was compared with.
    #[error("{percent:.3} % of the pixels differ from {}", other.display())]
    Differs {
        /// The file of the other picture.
        other: PathBuf,
        /// Percent of the pixels.
        percent: f64,
    },
    /// The pictures are not of one size.
    #[error("a picture of {one:?} pixels and one of {other:?}")]
    Size {
        /// Width and height.
        one: [u32; 2],
        /// Width and height of the other.
        other: [u32; 2],
    },
    /// A file is not an RGB picture of 8 bits for each channel.
    #[error("{} is not an RGB picture of 8 bits", path.display())]
    Format {
        /// The file.
        path: PathBuf,
    },
}

/// A picture: RGBA, 8 bits, sRGB. Alpha is 255 on the ground and 0 in the sky.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    size: [u32; 2],
    pixels: Vec<[u8; 4]>,
}

impl Picture {
    /// A picture from rows of pixels: `row` gets the number of a row and fills its bytes.
    ///
    /// # Errors
    /// The errors of `row`.
    pub fn from_rows<E>(
        [width, height]: [u32; 2],
        mut row: impl FnMut(u32, &mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut pixels = vec![[0; 4]; width as usize * height as usize];
        for (y, pixels) in (0..).zip(pixels.chunks_mut(width as usize)) {
            row(y, bytemuck::cast_slice_mut(pixels))?;
        }
        Ok(Self { size: [width, height], pixels })
    }

    /// A picture from the texels of an image of a swap chain: BGRA, 8 bits, sRGB.
    #[must_use]
    pub fn from_bgra(size: [u32; 2], texels: &[u8]) -> Self {
        let rgba = |[blue, green, red, alpha]: &[u8; 4]| [*red, *green, *blue, *alpha];
        Self { size, pixels: texels.as_chunks().0.iter().map(rgba).collect() }
    }

    /// Writes the picture as a PNG file without the alpha channel.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn write(&self, path: &Path) -> crate::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut encoder = png::Encoder::new(BufWriter::new(File::create(path)?), self.size[0], self.size[1]);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        let rgb: Vec<u8> =
            self.pixels.iter().flat_map(|[red, green, blue, _]| [*red, *green, *blue]).collect();
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&rgb)?;
        Ok(writer.finish()?)
    }

    /// Reads a PNG file that [`write`](Self::write) wrote. Alpha is 255 everywhere.
    ///
    /// # Errors
    /// The errors of the file system; [`PictureError::Format`].
    pub fn read(path: &Path) -> crate::Result<Self> {
        let mut reader = png::Decoder::new(BufReader::new(File::open(path)?)).read_info()?;
        let wrong = || PictureError::Format { path: path.to_owned() };
        let mut bytes = vec![0; reader.output_buffer_size().ok_or_else(wrong)?];
        let info = reader.next_frame(&mut bytes)?;
        if (info.color_type, info.bit_depth) != (png::ColorType::Rgb, png::BitDepth::Eight) {
            return Err(wrong().into());
        }
        let pixels = bytes.as_chunks::<3>().0.iter().map(|[red, green, blue]| [*red, *green, *blue, 255]);
        Ok(Self { size: [info.width, info.height], pixels: pixels.collect() })
    }

    /// Percent of the pixels that show the sky.
    #[must_use]
    pub fn sky_percent(&self) -> f64 {
        let sky = self.pixels.iter().filter(|[.., alpha]| *alpha < 128).count();
        100.0 * sky as f64 / self.pixels.len().max(1) as f64
    }

    /// The standard deviation of the ground's brightness, of 255.
    #[must_use]
    pub fn contrast(&self) -> f64 {
        let ground = self.pixels.iter().filter(|[.., alpha]| *alpha >= 128);
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for [red, green, blue, _] in ground {
            let brightness = (f64::from(*red) + f64::from(*green) + f64::from(*blue)) / 3.0;
            count += 1.0;
            sum += brightness;
            squares += brightness * brightness;
        }
        let count = f64::max(count, 1.0);
        (squares / count - (sum / count) * (sum / count)).max(0.0).sqrt()
    }

    /// Checks that the picture shows a landscape under a sky.
    ///
    /// # Errors
    /// [`PictureError::Sky`], [`PictureError::Flat`].
    pub fn check(&self) -> Result<(), PictureError> {
        let (percent, contrast) = (self.sky_percent(), self.contrast());
        if !(5.0..50.0).contains(&percent) {
            return Err(PictureError::Sky { percent });
        }
        if contrast < 20.0 { Err(PictureError::Flat { contrast }) } else { Ok(()) }
    }

    /// Percent of the pixels that differ by more than 8 of 255 in a colour channel.
    ///
    /// # Errors
    /// [`PictureError::Size`].
    pub fn difference(&self, other: &Self) -> Result<f64, PictureError> {
        if self.size != other.size {
            return Err(PictureError::Size { one: self.size, other: other.size });
        }
        let differs = |(one, other): &(&[u8; 4], &[u8; 4])| {
            (0..3).any(|colour| one[colour].abs_diff(other[colour]) > 8)
        };
        let count = self.pixels.iter().zip(&other.pixels).filter(differs).count();
        Ok(100.0 * count as f64 / self.pixels.len().max(1) as f64)
    }

    /// Compares with the picture in a file, and returns the percentage of pixels that differ.
    ///
    /// # Errors
    /// [`PictureError::Differs`] above half a percent, [`PictureError::Size`], and as
    /// [`read`](Self::read).
    pub fn compare(&self, path: &Path) -> crate::Result<f64> {
        let percent = self.difference(&Self::read(path)?)?;
        if percent > 0.5 {
            return Err(PictureError::Differs { other: path.to_owned(), percent }.into());
        }
        Ok(percent)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn picture(pixel: impl Fn(u32, u32) -> [u8; 4]) -> Picture {
        Picture::from_rows([64, 32], |y, row| {
            for (x, bytes) in (0..).zip(row.as_chunks_mut::<4>().0) {
                *bytes = pixel(x, y);
            }
            Ok::<(), PictureError>(())
        })
        .unwrap()
    }

    fn landscape(x: u32, y: u32) -> [u8; 4] {
        if y < 8 { [90, 120, 200, 0] } else { [(x * 4) as u8, 90, (y * 8) as u8, 255] }
    }

    #[test]
    fn pictures_without_sky_ground_or_contrast_are_refused() {
        assert!(picture(landscape).check().is_ok());
        assert!(matches!(picture(|_, _| [0; 4]).check(), Err(PictureError::Sky { .. })));
        assert!(matches!(picture(|_, _| [9, 9, 9, 255]).check(), Err(PictureError::Sky { .. })));
        let flat = picture(|_, y| [70, 70, 70, if y < 8 { 0 } else { 255 }]);
        assert!(matches!(flat.check(), Err(PictureError::Flat { .. })));
    }

    #[test]
    fn files_are_read_back_and_compared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new").join("one.png");
        let one = picture(landscape);
        one.write(&path).unwrap();
        assert!(one.compare(&path).unwrap() < f64::EPSILON);
        let darker = picture(|x, y| landscape(x, y).map(|side| side.saturating_sub(8)));
        assert!(darker.compare(&path).unwrap() < f64::EPSILON, "8 of 255 is within the tolerance");
        let other = picture(|x, y| if x < 2 { [255; 4] } else { landscape(x, y) });
        assert!((other.difference(&one).unwrap() - 3.125).abs() < 0.001);
        assert!(other.compare(&path).is_err());
    }
}
