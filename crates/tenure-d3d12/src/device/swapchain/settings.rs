//! The parameters of a swap chain in DXGI's terms.

use tenure_core::device::{Allowed, DeviceError, Format, Usage};
use tenure_core::present::{ColorSpace, HdrMetadata, PresentMode, SurfaceFormat, SwapchainDesc};
use tenure_core::{Error, SwapchainRule, TextureDesc};
use windows::Win32::Graphics::Direct3D12::D3D12_REQ_TEXTURE2D_U_OR_V_DIMENSION;
use windows::Win32::Graphics::Dxgi::Common::{
    DXGI_ALPHA_MODE_IGNORE, DXGI_COLOR_SPACE_CUSTOM, DXGI_COLOR_SPACE_RGB_FULL_G10_NONE_P709,
    DXGI_COLOR_SPACE_RGB_FULL_G22_NONE_P709, DXGI_COLOR_SPACE_RGB_FULL_G2084_NONE_P2020,
    DXGI_COLOR_SPACE_TYPE, DXGI_SAMPLE_DESC,
};
use windows::Win32::Graphics::Dxgi::{
    DXGI_HDR_METADATA_HDR10, DXGI_PRESENT, DXGI_PRESENT_ALLOW_TEARING, DXGI_SCALING_STRETCH,
    DXGI_SWAP_CHAIN_DESC1, DXGI_SWAP_CHAIN_FLAG, DXGI_SWAP_CHAIN_FLAG_ALLOW_TEARING,
    DXGI_SWAP_CHAIN_FLAG_FRAME_LATENCY_WAITABLE_OBJECT, DXGI_SWAP_EFFECT_FLIP_DISCARD, DXGI_USAGE,
    DXGI_USAGE_RENDER_TARGET_OUTPUT, DXGI_USAGE_SHADER_INPUT, DXGI_USAGE_UNORDERED_ACCESS,
};

use crate::device::format::to_dxgi_format;

/// Buffers that a flip-model chain can have.
const MIN_IMAGES: u32 = 2;
const MAX_IMAGES: u32 = 16;

/// The formats that flip-model chains can have, with their colour spaces.
pub(super) const FORMATS: [SurfaceFormat; 7] = [
    SurfaceFormat::new(Format::Bgra8Srgb, ColorSpace::Srgb),
    SurfaceFormat::new(Format::Rgba8Srgb, ColorSpace::Srgb),
    SurfaceFormat::new(Format::Bgra8Unorm, ColorSpace::Srgb),
    SurfaceFormat::new(Format::Rgba8Unorm, ColorSpace::Srgb),
    SurfaceFormat::new(Format::Rgb10A2Unorm, ColorSpace::Srgb),
    SurfaceFormat::HDR10,
    SurfaceFormat::SC_RGB,
];

/// The parameters of a swap chain, apart from its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The format of the views.
    pub(super) format: SurfaceFormat,
    /// The format of the buffers: flip-model chains have no sRGB ones.
    pub(super) linear: Format,
    pub(super) images: u32,
    pub(super) mode: PresentMode,
    pub(super) usage: Usage,
    /// The system can present without waiting for the screen.
    can_tear: bool,
}

impl Settings {
    /// Fills in defaults, and replaces parameters that the system does not support. Of the preferred formats, those
    /// in a colour space that the screen displays are considered.
    pub(super) fn of(
        desc: &SwapchainDesc,
        can_tear: bool,
        displays: impl Fn(ColorSpace) -> bool,
    ) -> Result<Self, Error> {
        let refuse = |rule| Err(Error::Swapchain { name: desc.name.clone(), rule });
        // DXGI converts colours for any screen: the program may insist on a format.
        let is_offered = |format: SurfaceFormat| {
            FORMATS.contains(&format)
                && (format.color_space == ColorSpace::Srgb
                    || desc.format == Some(format)
                    || displays(format.color_space))
        };
        let Some(format) = desc.choose_format(is_offered) else { return refuse(SwapchainRule::Format) };
        let Some(linear) = buffer_format(format.format) else { return refuse(SwapchainRule::Format) };
        if desc.images > MAX_IMAGES {
            let (images, min, max) = (desc.images, MIN_IMAGES, MAX_IMAGES);
            return refuse(SwapchainRule::Images { images, min, max });
        }
        Ok(Self {
            format,
            linear,
            images: desc.images.max(MIN_IMAGES),
            mode: desc.choose_mode(|mode| offers_mode(mode, can_tear)),
            usage: desc.usage | Usage::PRESENT | Usage::RENDER_TARGET,
            can_tear,
        })
    }

    /// Chooses the format again, for a screen.
    pub(super) fn chosen_again(
        &self,
        desc: &SwapchainDesc,
        displays: impl Fn(ColorSpace) -> bool,
    ) -> Result<Self, Error> {
        Self::of(desc, self.can_tear, displays)
    }

    /// Chooses the mode again.
    pub(super) fn choose_mode(&mut self, desc: &SwapchainDesc) {
        self.mode = desc.choose_mode(|mode| offers_mode(mode, self.can_tear));
    }

    pub(super) fn offered_modes(&self) -> Vec<PresentMode> {
        PresentMode::ALL.into_iter().filter(|mode| offers_mode(*mode, self.can_tear)).collect()
    }

    /// The flags that the chain is created and resized with. Tearing is allowed in each mode, because the mode can
    /// change later and this flag cannot.
    pub(super) fn flags(&self) -> DXGI_SWAP_CHAIN_FLAG {
        let tearing = if self.can_tear { DXGI_SWAP_CHAIN_FLAG_ALLOW_TEARING.0 } else { 0 };
        DXGI_SWAP_CHAIN_FLAG(DXGI_SWAP_CHAIN_FLAG_FRAME_LATENCY_WAITABLE_OBJECT.0 | tearing)
    }

    /// The interval and the flags of each `Present`.
    pub(super) const fn present(&self) -> (u32, DXGI_PRESENT) {
        match self.mode {
            PresentMode::Immediate => (0, DXGI_PRESENT_ALLOW_TEARING),
            // Without tearing, an image that a newer one overtakes is never shown.
            PresentMode::Mailbox => (0, DXGI_PRESENT(0)),
            _ => (1, DXGI_PRESENT(0)),
        }
    }

    /// The chain to create.
    pub(super) fn chain(&self, size: [u32; 2]) -> DXGI_SWAP_CHAIN_DESC1 {
        DXGI_SWAP_CHAIN_DESC1 {
            Width: size[0],
            Height: size[1],
            Format: to_dxgi_format(self.linear),
            SampleDesc: DXGI_SAMPLE_DESC { Count: 1, Quality: 0 },
            BufferUsage: buffer_usage(self.usage),
            BufferCount: self.images,
            Scaling: DXGI_SCALING_STRETCH,
            SwapEffect: DXGI_SWAP_EFFECT_FLIP_DISCARD,
            AlphaMode: DXGI_ALPHA_MODE_IGNORE,
            Flags: self.flags().0.cast_unsigned(),
            ..Default::default()
        }
    }

    /// The description with which each buffer is adopted.
    pub(super) fn texture(&self, size: [u32; 2]) -> TextureDesc {
        let mut desc = TextureDesc::d2(size[0], size[1], self.linear, self.usage);
        if self.format.format != self.linear {
            desc.info.view_formats.push(self.format.format);
        }
        desc
    }
}

/// The format of the buffers for views of a format; `None` if the flip model does not support it.
const fn buffer_format(view: Format) -> Option<Format> {
    match view {
        Format::Rgba8Unorm | Format::Rgba8Srgb => Some(Format::Rgba8Unorm),
        Format::Bgra8Unorm | Format::Bgra8Srgb => Some(Format::Bgra8Unorm),
        Format::Rgb10A2Unorm => Some(Format::Rgb10A2Unorm),
        Format::Rgba16Float => Some(Format::Rgba16Float),
        _ => None,
    }
}

const fn offers_mode(mode: PresentMode, can_tear: bool) -> bool {
    match mode {
        PresentMode::Fifo | PresentMode::Mailbox => true,
        PresentMode::Immediate => can_tear,
        PresentMode::FifoRelaxed => false,
    }
}

pub(super) const fn dxgi_space(space: ColorSpace) -> DXGI_COLOR_SPACE_TYPE {
    match space {
        ColorSpace::Srgb => DXGI_COLOR_SPACE_RGB_FULL_G22_NONE_P709,
        ColorSpace::ExtendedSrgbLinear => DXGI_COLOR_SPACE_RGB_FULL_G10_NONE_P709,
        ColorSpace::Hdr10 => DXGI_COLOR_SPACE_RGB_FULL_G2084_NONE_P2020,
        // No DXGI swap chain has one of the others.
        _ => DXGI_COLOR_SPACE_CUSTOM,
    }
}

/// Checked metadata in DXGI's units.
pub(super) fn dxgi_metadata(metadata: &HdrMetadata) -> DXGI_HDR_METADATA_HDR10 {
    let point = |point: [f32; 2]| point.map(|part| (part * 50_000.0).round() as u16);
    let [red, green, blue] = metadata.primaries.map(point);
    DXGI_HDR_METADATA_HDR10 {
        RedPrimary: red,
        GreenPrimary: green,
        BluePrimary: blue,
        WhitePoint: point(metadata.white_point),
        MaxMasteringLuminance: metadata.max_luminance.round() as u32,
        MinMasteringLuminance: (metadata.min_luminance * 10_000.0).round() as u32,
        MaxContentLightLevel: metadata.max_content_light.round() as u16,
        MaxFrameAverageLightLevel: metadata.max_frame_average_light.round() as u16,
    }
}

fn buffer_usage(usage: Usage) -> DXGI_USAGE {
    let mut flags = DXGI_USAGE_RENDER_TARGET_OUTPUT;
    if usage.contains(Usage::SHADER_READ) {
        flags |= DXGI_USAGE_SHADER_INPUT;
    }
    if usage.contains(Usage::UNORDERED_ACCESS) {
        flags |= DXGI_USAGE_UNORDERED_ACCESS;
    }
    flags
}

/// Checks the size, because DXGI does not report the reason of a refusal.
pub(super) fn check_size(desc: &SwapchainDesc, size: [u32; 2]) -> Result<(), Error> {
    let most = D3D12_REQ_TEXTURE2D_U_OR_V_DIMENSION;
    match size.into_iter().find(|side| *side > most) {
        None => Ok(()),
        Some(side) => {
            let source = DeviceError::invalid_desc("size", side, Allowed::AtMost(most.into()));
            Err(Error::Device { name: desc.name.clone(), source })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(desc: &SwapchainDesc) -> Settings {
        Settings::of(desc, true, |_| false).unwrap()
    }

    #[test]
    fn buffers_are_linear_and_views_are_not() {
        let desc = SwapchainDesc::new([8, 4]);
        let chosen = settings(&desc);
        assert_eq!((chosen.format, chosen.linear), (Format::Bgra8Srgb.into(), Format::Bgra8Unorm));
        let texture = chosen.texture([8, 4]).info;
        assert_eq!((texture.format, &texture.view_formats[..]), (chosen.linear, &[chosen.format.format][..]));
        assert_eq!(chosen.chain([8, 4]).Format, to_dxgi_format(Format::Bgra8Unorm));
        let linear = settings(&desc.clone().format(Format::Rgba16Float));
        assert_eq!((linear.format, linear.linear), (SurfaceFormat::SC_RGB, Format::Rgba16Float));
        assert!(linear.texture([8, 4]).info.view_formats.is_empty());
        for format in [Format::R8Unorm, Format::D32Float, Format::Bc7Unorm] {
            let refused = Settings::of(&desc.clone().format(format), true, |_| true).unwrap_err();
            assert!(matches!(refused, Error::Swapchain { rule: SwapchainRule::Format, .. }), "{refused}");
        }
    }

    #[test]
    fn modes_that_the_system_lacks_are_fifo() {
        let chosen = |mode, can_tear| {
            let desc = SwapchainDesc::new([8, 8]);
            let chosen = Settings::of(&desc.clone().mode(mode), can_tear, |_| true).unwrap();
            let may_tear = chosen.flags().0 & DXGI_SWAP_CHAIN_FLAG_ALLOW_TEARING.0 != 0;
            assert_eq!(may_tear, can_tear, "also for a later change of the mode");
            let (interval, flags) = chosen.present();
            let mut changed = Settings::of(&desc, can_tear, |_| true).unwrap();
            changed.choose_mode(&desc.mode(mode));
            assert_eq!(changed, chosen);
            (chosen.mode, interval, flags == DXGI_PRESENT_ALLOW_TEARING)
        };
        assert_eq!(chosen(PresentMode::Fifo, true), (PresentMode::Fifo, 1, false));
        assert_eq!(chosen(PresentMode::FifoRelaxed, true), (PresentMode::Fifo, 1, false));
        assert_eq!(chosen(PresentMode::Mailbox, true), (PresentMode::Mailbox, 0, false));
        assert_eq!(chosen(PresentMode::Immediate, true), (PresentMode::Immediate, 0, true));
        assert_eq!(chosen(PresentMode::Immediate, false), (PresentMode::Fifo, 1, false));
    }

    /// A wish is for the colour spaces of the screen, the format itself for any.
    #[test]
    fn formats_are_chosen_by_the_color_spaces_of_the_screen() {
        use ColorSpace::{ExtendedSrgbLinear, Hdr10};
        let plain = SwapchainDesc::new([8, 8]);
        let hdr = plain.clone().formats(&[SurfaceFormat::HDR10, SurfaceFormat::SC_RGB]);
        let strange = SurfaceFormat::new(Format::Rgba8Unorm, Hdr10);
        let table: [(&SwapchainDesc, &[ColorSpace], SurfaceFormat); 6] = [
            (&hdr, &[Hdr10, ExtendedSrgbLinear], SurfaceFormat::HDR10),
            (&hdr, &[ExtendedSrgbLinear], SurfaceFormat::SC_RGB),
            (&hdr, &[], FORMATS[0]),
            (&plain.clone().formats(&[strange]), &[Hdr10], FORMATS[0]),
            (&plain.clone().format(SurfaceFormat::HDR10), &[], SurfaceFormat::HDR10),
            (&hdr.clone().format(Format::Rgba8Unorm), &[], FORMATS[3]),
        ];
        for (row, (desc, screen, chosen)) in table.into_iter().enumerate() {
            let settings = Settings::of(desc, true, |space| screen.contains(&space)).unwrap();
            assert_eq!(settings.format, chosen, "row {row}");
        }
        let p3 = plain.format(SurfaceFormat::new(Format::Rgba8Srgb, ColorSpace::DisplayP3));
        assert!(Settings::of(&p3, true, |_| true).is_err());
        assert!(FORMATS.iter().all(|one| buffer_format(one.format).is_some()
            && dxgi_space(one.color_space) != DXGI_COLOR_SPACE_CUSTOM));
    }

    #[test]
    fn metadata_is_in_dxgis_units() {
        let metadata = HdrMetadata {
            max_content_light: 999.6,
            max_frame_average_light: 10_000.0,
            ..HdrMetadata::new(0.0005, 10_000.0)
        };
        let wanted = DXGI_HDR_METADATA_HDR10 {
            RedPrimary: [35_400, 14_600],
            GreenPrimary: [8_500, 39_850],
            BluePrimary: [6_550, 2_300],
            WhitePoint: [15_635, 16_450],
            MaxMasteringLuminance: 10_000,
            MinMasteringLuminance: 5,
            MaxContentLightLevel: 1_000,
            MaxFrameAverageLightLevel: 10_000,
        };
        assert_eq!(dxgi_metadata(&metadata), wanted);
        let corner = HdrMetadata { white_point: [1.0, 0.0], ..metadata };
        assert_eq!(dxgi_metadata(&corner).WhitePoint, [50_000, 0]);
    }

    #[test]
    fn the_number_of_images_is_dxgis() {
        let images = |images| Settings::of(&SwapchainDesc::new([8, 8]).images(images), true, |_| true);
        assert_eq!([0, 2, 16].map(|asked| images(asked).unwrap().images), [2, 2, 16]);
        let refused = images(17).unwrap_err();
        assert_eq!(refused.to_string(), "swap chain: 17 images: must be 2 to 16");
    }

    #[test]
    fn sizes_end_where_textures_do() {
        let desc = SwapchainDesc::new([8, 8]).name("main");
        check_size(&desc, [16_384, 1]).unwrap();
        let refused = check_size(&desc, [1, 16_385]).unwrap_err().to_string();
        assert!(refused.starts_with("main: ") && refused.contains("16385"), "{refused}");
    }

    #[test]
    fn usages_are_asked_of_the_chain() {
        let usage = settings(&SwapchainDesc::new([8, 8]).usage(Usage::SHADER_READ | Usage::COPY_SRC)).usage;
        assert!(usage.contains(Usage::PRESENT | Usage::RENDER_TARGET | Usage::COPY_SRC));
        assert_eq!(buffer_usage(usage), DXGI_USAGE_RENDER_TARGET_OUTPUT | DXGI_USAGE_SHADER_INPUT);
    }
}
