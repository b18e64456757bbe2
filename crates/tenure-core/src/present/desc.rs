//! Descriptions of swap chains, and the choice among the formats and modes of a window.

use crate::Name;
use crate::device::{Format, Usage};

/// Order and timing of presented images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PresentMode {
    /// First in, first out, at the screen's refresh rate: no tearing. Every device supports it.
    #[default]
    Fifo,
    /// As [`Fifo`](Self::Fifo), but a late image is shown immediately, with tearing.
    FifoRelaxed,
    /// The newest image at the screen's refresh rate; older images not yet shown are skipped.
    Mailbox,
    /// Immediately, with tearing.
    Immediate,
}

impl PresentMode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Fifo, Self::FifoRelaxed, Self::Mailbox, Self::Immediate];
}

/// The colour space of the images of a swap chain.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ColorSpace {
    /// sRGB, the standard dynamic range. Views of sRGB formats apply its curve to linear values; for other formats, the program
    /// must.
    #[default]
    Srgb,
    /// scRGB: the primaries of sRGB and linear values, in [`Format::Rgba16Float`]. 1 is the white of sRGB, 80 nits on Windows.
    /// Larger values are brighter, negative ones are colours outside sRGB.
    ExtendedSrgbLinear,
    /// HDR10: the primaries of BT.2020 and the curve of ST 2084 (PQ), which the program applies; 1 is 10,000 nits. Usually in
    /// [`Format::Rgb10A2Unorm`].
    Hdr10,
    /// The primaries of BT.2020 and the curve of hybrid log-gamma, which the program applies. Vulkan only.
    Hlg,
    /// Display P3: a wider gamut with the curve of sRGB. Vulkan only.
    DisplayP3,
}

impl ColorSpace {
    /// All colour spaces.
    pub const ALL: [Self; 5] =
        [Self::Srgb, Self::ExtendedSrgbLinear, Self::Hdr10, Self::Hlg, Self::DisplayP3];
}

/// The format of the images of a swap chain, with its colour space.
///
/// A [`Format`] alone is [`ColorSpace::Srgb`], except [`Format::Rgba16Float`], which is [`SC_RGB`](Self::SC_RGB).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SurfaceFormat {
    /// The format of the views of the images.
    pub format: Format,
    /// The colour space.
    pub color_space: ColorSpace,
}

impl SurfaceFormat {
    /// HDR10 in 10 bits for each colour.
    pub const HDR10: Self = Self::new(Format::Rgb10A2Unorm, ColorSpace::Hdr10);
    /// scRGB in half precision.
    pub const SC_RGB: Self = Self::new(Format::Rgba16Float, ColorSpace::ExtendedSrgbLinear);

    /// A format in a colour space.
    #[must_use]
    pub const fn new(format: Format, color_space: ColorSpace) -> Self {
        Self { format, color_space }
    }
}

impl From<Format> for SurfaceFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Rgba16Float => Self::SC_RGB,
            format => Self::new(format, ColorSpace::Srgb),
        }
    }
}

/// The formats of a swap chain without a requested one, in order of preference.
const PREFERRED: [Format; 4] = [Format::Bgra8Srgb, Format::Rgba8Srgb, Format::Bgra8Unorm, Format::Rgba8Unorm];

/// Description of a swap chain.
///
/// ```
/// use tenure::{Format, present::{PresentMode, SurfaceFormat, SwapchainDesc}};
///
/// let desc = SwapchainDesc::new([1280, 720]).format(Format::Bgra8Srgb).mode(PresentMode::Mailbox);
/// assert_eq!(desc.images, 3);
///
/// // HDR where the window has it, and otherwise 8-bit sRGB.
/// let desc = SwapchainDesc::new([1280, 720])
///     .formats(&[SurfaceFormat::HDR10, SurfaceFormat::SC_RGB])
///     .modes(&[PresentMode::Mailbox, PresentMode::FifoRelaxed]);
/// assert_eq!(desc.choose_format(|_| true), Some(SurfaceFormat::HDR10));
/// assert_eq!(desc.choose_mode(|_| false), PresentMode::Fifo);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SwapchainDesc {
    /// Width and height in pixels. If one is 0 (the window is minimised), the swap chain is empty until it is resized. Vulkan:
    /// used if the window does not determine the size.
    pub size: [u32; 2],
    /// The format of the images and of their views, if the window supports none of [`formats`](Self::formats). `None`: an 8-bit
    /// sRGB format that the window supports. Direct3D 12 creates the images in the linear equivalent.
    pub format: Option<SurfaceFormat>,
    /// Preferred formats, best first: the first one that the window supports is used. Default none.
    pub formats: Vec<SurfaceFormat>,
    /// Minimum number of images; the window may require more. Default 3.
    pub images: u32,
    /// Preferred presentation modes, best first. [`PresentMode::Fifo`] if the window supports none of them.
    pub modes: Vec<PresentMode>,
    /// Uses of the images besides rendering and presenting: [`Usage::COPY_SRC`] for a screenshot. Default none.
    pub usage: Usage,
    /// The name.
    pub name: Name,
}

impl SwapchainDesc {
    /// Three images of the window's own format, in [`PresentMode::Fifo`].
    #[must_use]
    pub fn new(size: [u32; 2]) -> Self {
        Self {
            size,
            format: None,
            formats: Vec::new(),
            images: 3,
            modes: Vec::new(),
            usage: Usage::empty(),
            name: Name::from("swap chain"),
        }
    }

    /// Sets the format. Creating a swap chain fails for a window that does not support it.
    #[must_use]
    pub fn format(mut self, format: impl Into<SurfaceFormat>) -> Self {
        self.format = Some(format.into());
        self
    }

    /// Sets the preferred formats.
    #[must_use]
    pub fn formats(mut self, formats: &[SurfaceFormat]) -> Self {
        self.formats = formats.to_vec();
        self
    }

    /// Sets the minimum number of images.
    #[must_use]
    pub const fn images(mut self, images: u32) -> Self {
        self.images = images;
        self
    }

    /// Sets the mode.
    #[must_use]
    pub fn mode(self, mode: PresentMode) -> Self {
        self.modes(&[mode])
    }

    /// Sets the preferred modes.
    #[must_use]
    pub fn modes(mut self, modes: &[PresentMode]) -> Self {
        self.modes = modes.to_vec();
        self
    }

    /// Adds uses of the images.
    #[must_use]
    pub const fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the name.
    #[must_use]
    pub fn name(mut self, name: impl Into<Name>) -> Self {
        self.name = name.into();
        self
    }

    /// True for an empty size: the window is minimised.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.size[0] == 0 || self.size[1] == 0
    }

    /// The format for a window with these formats: the first of [`formats`](Self::formats), else [`format`](Self::format), or
    /// without that an sRGB format, with 8 bits if possible. `None`: the window is [refused](crate::SwapchainRule::Format). For
    /// swap chains of backends.
    pub fn choose_format(&self, is_offered: impl Fn(SurfaceFormat) -> bool) -> Option<SurfaceFormat> {
        let srgb = |format| SurfaceFormat::new(format, ColorSpace::Srgb);
        let mut own = PREFERRED.iter().chain(Format::ALL).copied().map(srgb);
        let wished = self.formats.iter().copied().find(|wish| is_offered(*wish));
        wished.or_else(|| match self.format {
            Some(format) => Some(format).filter(|format| is_offered(*format)),
            None => own.find(|format| is_offered(*format)),
        })
    }

    /// The mode for a window with these modes: the first of [`modes`](Self::modes), else [`PresentMode::Fifo`]. For swap chains
    /// of backends.
    pub fn choose_mode(&self, is_offered: impl Fn(PresentMode) -> bool) -> PresentMode {
        self.modes.iter().copied().find(|wish| is_offered(*wish)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRGB: SurfaceFormat = SurfaceFormat::new(Format::Rgba8Srgb, ColorSpace::Srgb);
    const LINEAR: SurfaceFormat = SurfaceFormat::new(Format::Rgba8Unorm, ColorSpace::Srgb);
    const WIDE: SurfaceFormat = SurfaceFormat::new(Format::Rgb10A2Unorm, ColorSpace::Srgb);
    const P3: SurfaceFormat = SurfaceFormat::new(Format::Rgba8Srgb, ColorSpace::DisplayP3);
    const HDR10: SurfaceFormat = SurfaceFormat::HDR10;
    const SC_RGB: SurfaceFormat = SurfaceFormat::SC_RGB;

    #[test]
    fn the_first_offered_format_is_chosen() {
        let plain = SwapchainDesc::new([8, 8]);
        let hdr = plain.clone().formats(&[HDR10, SC_RGB]);
        let exact = plain.clone().format(Format::Rgba8Unorm);
        let table: [(&SwapchainDesc, &[SurfaceFormat], Option<SurfaceFormat>); 16] = [
            (&plain, &[LINEAR, SRGB, HDR10], Some(SRGB)),
            (&plain, &[HDR10, LINEAR], Some(LINEAR)),
            (&plain, &[HDR10, WIDE], Some(WIDE)),
            (&plain, &[HDR10, SC_RGB, P3], None),
            (&plain, &[], None),
            (&hdr, &[SRGB, SC_RGB, HDR10], Some(HDR10)),
            (&hdr, &[SRGB, SC_RGB], Some(SC_RGB)),
            (&hdr, &[SRGB, WIDE], Some(SRGB)),
            (&hdr, &[P3], None),
            (&exact, &[SRGB, LINEAR], Some(LINEAR)),
            (&exact, &[SRGB, HDR10], None),
            (&exact.clone().formats(&[P3, HDR10]), &[SRGB, LINEAR, HDR10], Some(HDR10)),
            (&exact.clone().formats(&[P3, HDR10]), &[SRGB, LINEAR], Some(LINEAR)),
            (&exact.clone().formats(&[P3, HDR10]), &[SRGB], None),
            (&plain.clone().formats(&[]), &[LINEAR, SRGB], Some(SRGB)),
            (&plain.clone().format(SurfaceFormat::HDR10), &[WIDE, SRGB], None),
        ];
        for (row, (desc, offered, chosen)) in table.into_iter().enumerate() {
            assert_eq!(desc.choose_format(|format| offered.contains(&format)), chosen, "row {row}");
        }
    }

    #[test]
    fn missing_modes_fall_back_to_fifo() {
        use PresentMode::{Fifo, FifoRelaxed, Immediate, Mailbox};
        let table: [(&[PresentMode], &[PresentMode], PresentMode); 7] = [
            (&[], &PresentMode::ALL, Fifo),
            (&[Mailbox], &[Fifo, Mailbox], Mailbox),
            (&[Immediate], &[Fifo, Mailbox], Fifo),
            (&[Immediate, Mailbox], &[Fifo, Mailbox], Mailbox),
            (&[Mailbox, Immediate], &PresentMode::ALL, Mailbox),
            (&[FifoRelaxed, Immediate], &[], Fifo),
            (&[Fifo, Mailbox], &PresentMode::ALL, Fifo),
        ];
        for (row, (wishes, offered, chosen)) in table.into_iter().enumerate() {
            let desc = SwapchainDesc::new([8, 8]).modes(wishes);
            assert_eq!(desc.choose_mode(|mode| offered.contains(&mode)), chosen, "row {row}");
        }
        assert_eq!(SwapchainDesc::new([8, 8]).mode(Immediate).modes, [Immediate]);
    }

    #[test]
    fn a_format_alone_has_its_usual_colour_space() {
        assert_eq!(SurfaceFormat::from(Format::Rgba16Float), SC_RGB);
        assert_eq!(SurfaceFormat::from(Format::Rgb10A2Unorm), WIDE);
    }
}
